"""A strategy as a grid of hand classes, each coloured by how often its actions are played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from subgame.solve.decisions import class_at
from subgame.solve.lines import is_all_in, share_of_pot

if TYPE_CHECKING:
    from subgame.games.holdem.cards import Deck
    from subgame.solve.decisions import Decision

Rgb = tuple[int, int, int]
Floats = NDArray[np.float64]

FOLD: Rgb = (61, 124, 184)
CALL: Rgb = (92, 184, 102)
BETS: tuple[Rgb, Rgb] = ((250, 178, 102), (201, 48, 44))
"""The smallest bet and the largest; bets between them have colours in between."""
ALL_IN: Rgb = (125, 60, 152)
DARK: Rgb = (30, 30, 34)
"""The colour of a class fades to this where little of it is in the range."""
FAINTEST = 0.35
"""The share of its colour that the rarest class keeps."""
MOST, LEAST = 6, 3
"""The widest and the narrowest cell, in columns."""
SECOND = 0.15
"""Without colours, a second action is shown from this frequency on."""
SUITS = {"c": ("♣", "green"), "d": ("♦", "blue"), "h": ("♥", "red"), "s": ("♠", "")}


class Look(NamedTuple):
    """How one action is shown."""

    colour: Rgb
    letter: str  # shown where there are no colours


class Cell(NamedTuple):
    """One class of hands."""

    name: str
    weight: float  # how much of it is in the range, 0 to 1
    mix: Floats  # [action]


def looks(decision: Decision) -> list[Look]:
    """Colour and letter of each action."""
    bets = [a for a in decision.actions if a[0] == "r" and not is_all_in(decision.betting, a)]
    shown = []
    for action in decision.actions:
        if action == "f":
            shown.append(Look(FOLD, "f"))
        elif action == "c":
            shown.append(Look(CALL, "c" if decision.betting.to_call else "x"))
        elif action in bets:
            at = bets.index(action)
            share = at / (len(bets) - 1) if len(bets) > 1 else 0.5
            shown.append(Look(blend(*BETS, share), str(at + 1) if at < 9 else "9"))
        else:
            shown.append(Look(ALL_IN, "a"))
    return shown


def cells(decision: Decision) -> list[list[Cell]]:
    """The grid: pairs on the diagonal, suited hands above it, offsuit hands below."""
    deck = decision.tree.holdem.deck
    free, held = deck.compatible(decision.board), decision.hands
    reach, chance = np.zeros(deck.num_hands), np.zeros(deck.num_hands)
    probs = np.zeros((deck.num_hands, len(decision.actions)))
    reach[held], chance[held], probs[held] = decision.reach, decision.chance, decision.probs
    ranks = range(deck.num_ranks - 1, -1, -1)
    grid: list[list[Cell]] = []
    for row in ranks:
        grid.append([])
        for column in ranks:
            name, hands = class_at(deck, row, column)
            hands = hands[free[hands]]
            likely = float(chance[hands].sum())
            mix = chance[hands] @ probs[hands] / likely if likely > 0 else np.zeros(probs.shape[1])
            weight = float(reach[hands].mean()) if likely > 0 else 0.0
            grid[-1].append(Cell(name, weight, mix))
    fullest = max(cell.weight for line in grid for cell in line) or 1.0
    return [[cell._replace(weight=cell.weight / fullest) for cell in line] for line in grid]


# Drawing -------------------------------------------------------------------------------------
def coloured(console: Console) -> bool:
    """Whether the console shows colours."""
    return console.color_system is not None and not console.no_color


def cell_width(console: Console, columns: int = 13) -> int:
    """The widest cell that fits, with one column between cells."""
    return int(np.clip((console.width + 1) // columns - 1, LEAST, MOST))


def beside(console: Console, columns: int = 13) -> bool:
    """Whether two grids fit side by side."""
    return console.width >= 2 * columns * MOST + 4


def draw(decision: Decision, title: Text, console: Console, width: int) -> RenderableType:
    """A grid with its title above and its legend below."""
    shown, colours = looks(decision), coloured(console)
    lines = []
    for line in cells(decision):
        parts = [
            _cell(cell, shown, width) if colours else _letters(cell, shown, width) for cell in line
        ]
        lines.append(Text(" ").join(parts))
    across = len(lines) * (width + 1) - 1
    return Group(title, *lines, Text(), legend(decision, shown, colours, across))


def legend(decision: Decision, shown: list[Look], colours: bool, across: int) -> Text:
    """Each action with its colour, its name and how often it is played, in lines of `across`."""
    text, used = Text(), 0
    rows = zip(shown, decision.names, decision.actions, decision.frequency, strict=True)
    for look, name, action, share in rows:
        mark = ("██", _style(look.colour)) if colours else (look.letter, "bold")
        of_pot, often = _of_pot(decision, action), f"{100 * share:.1f} %"
        entry = Text.assemble(mark, f" {name}", (of_pot, "dim"), " ", (often, "bold"))
        if used and used + 4 + len(entry) > across:
            text.append("\n")
            used = 0
        elif used:
            text.append(" " * 4)
        text.append_text(entry)
        used += 4 * (used > 0) + len(entry)
    return text


def _of_pot(decision: Decision, action: str) -> str:
    """The size of a bet or raise as a share of the pot once it has been matched."""
    return f" ({100 * share_of_pot(decision.betting, action):.0f} %)" if action[0] == "r" else ""


def _cell(cell: Cell, shown: list[Look], width: int) -> Text:
    """A class on a background split by its actions, the largest bets on the left."""
    label = f" {cell.name}" if width > len(cell.name) + 1 else cell.name
    if not cell.weight:
        return Text(f"{label:<{width}}", style="dim")
    strength = FAINTEST + (1 - FAINTEST) * cell.weight
    colours = [blend(DARK, look.colour, strength) for look in shown][::-1]
    ends = np.cumsum(cell.mix[::-1])

    def at(place: float) -> Rgb:
        return colours[min(int(np.searchsorted(ends, place, side="right")), len(colours) - 1)]

    text = Text()
    for i, char in enumerate(f"{label:<{width}}"):
        left, right = at((i + 0.25) / width), at((i + 0.75) / width)
        if char != " ":
            middle = at((i + 0.5) / width)
            text.append(char, _style(_ink(middle), middle, bold=True))
        elif left == right:
            text.append(" ", _style(None, left))
        else:
            text.append("▌", _style(left, right))
    return text


def _letters(cell: Cell, shown: list[Look], width: int) -> Text:
    """A class with the letters of its most frequent actions."""
    if not cell.weight:
        return Text(f"{'·':^3}".ljust(width))
    order = np.argsort(-cell.mix, kind="stable")[:2]
    letters = [shown[a].letter for k, a in enumerate(order) if k == 0 or cell.mix[a] >= SECOND]
    return Text(f"{cell.name:<3} {''.join(letters)}"[:width].ljust(width))


def blend(one: Rgb, two: Rgb, share: float) -> Rgb:
    """A colour between two.

    >>> blend((0, 0, 0), (100, 200, 50), 0.5)
    (50, 100, 25)
    """
    r, g, b = (round(a + (z - a) * share) for a, z in zip(one, two, strict=True))
    return r, g, b


def _ink(paper: Rgb) -> Rgb:
    """Black or white, whichever is readable on a colour."""
    light = 0.299 * paper[0] + 0.587 * paper[1] + 0.114 * paper[2]
    return (0, 0, 0) if light > 135 else (255, 255, 255)


def _style(ink: Rgb | None, paper: Rgb | None = None, *, bold: bool = False) -> Style:
    front, back = (None if c is None else Color.from_rgb(*c) for c in (ink, paper))
    return Style(color=front, bgcolor=back, bold=bold or None)


def cards_text(deck: Deck, cards: tuple[int, ...]) -> Text:
    """Cards with suit symbols, in four colours."""

    def parts() -> Iterator[tuple[str, str]]:
        for card in cards:
            name = deck.card_name(card)
            sign, colour = SUITS[name[1]]
            yield f"{name[0]}{sign} ", f"bold {colour}".strip()

    text = Text.assemble(*parts())
    text.rstrip()
    return text
