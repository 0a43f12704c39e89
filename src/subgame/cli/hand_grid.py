"""A strategy as a grid of hand classes, each coloured by how often its actions are played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.color import Color
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from subgame.show.grid import Rgb, Square, blend
from subgame.spots.hand_classes import Look, looks
from subgame.spots.lines import share_of_pot

if TYPE_CHECKING:
    from subgame.games.holdem.cards import Deck
    from subgame.spots.decisions import Decision
    from subgame.spots.preflop import PreflopDecision

DARK: Rgb = (30, 30, 34)
"""The colour of a class fades to this where little of it is in the range."""
FAINTEST = 0.35
"""The share of its colour that the rarest class keeps."""
MOST, LEAST = 6, 3
"""The widest and the narrowest cell, in columns."""
SECOND = 0.15
"""Without colours, a second action is shown from this frequency on."""
SUITS = {"c": ("♣", "green"), "d": ("♦", "blue"), "h": ("♥", "red"), "s": ("♠", "")}


# Drawing -------------------------------------------------------------------------------------
def coloured(console: Console) -> bool:
    """Whether the console shows colours."""
    return console.color_system is not None and not console.no_color


def cell_width(console: Console, columns: int = 13) -> int:
    """The widest cell that fits, with one column between cells."""
    return min(max((console.width + 1) // columns - 1, LEAST), MOST)


def beside(console: Console, columns: int = 13) -> bool:
    """Whether two grids fit side by side."""
    return console.width >= 2 * columns * MOST + 4


def draw(
    decision: Decision | PreflopDecision, title: Text, console: Console, width: int
) -> RenderableType:
    """A grid with its title above and its legend below."""
    shown, colours = looks(decision.actions, decision.betting), coloured(console)
    lines = [
        Text(" ").join(_cell(cell, shown, width) for cell in row)
        if colours
        else Text(" ".join(_letters(cell, shown, width) for cell in row))
        for row in decision.squares()
    ]
    across = len(lines) * (width + 1) - 1
    return Group(title, *lines, Text(), legend(decision, shown, colours, across))


def legend(
    decision: Decision | PreflopDecision, shown: list[Look], colours: bool, across: int
) -> Text:
    """Each action with its colour, its name and how often it is played, in lines of `across`."""
    text, used = Text(), 0
    rows = zip(shown, decision.names, decision.actions, decision.frequency, strict=True)
    for look, name, action, share in rows:
        mark = ("██", _style(look.colour)) if colours else (look.letter, "bold")
        often, of_pot = f"{100 * share:.1f} %", ""
        if action[0] == "r":
            of_pot = f" ({100 * share_of_pot(decision.betting, action):.0f} %)"
        entry = Text.assemble(mark, f" {name}", (of_pot, "dim"), " ", (often, "bold"))
        if used and used + 4 + len(entry) > across:
            text.append("\n")
            used = 0
        elif used:
            text.append(" " * 4)
        text.append_text(entry)
        used += 4 * (used > 0) + len(entry)
    return text


def _cell(cell: Square, shown: list[Look], width: int) -> Text:
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


def _letters(cell: Square, shown: list[Look], width: int) -> str:
    """A class with the letters of its most frequent actions."""
    if not cell.weight:
        return f"{'·':^3}".ljust(width)
    order = sorted(range(len(shown)), key=lambda a: -cell.mix[a])[:2]
    letters = [shown[a].letter for k, a in enumerate(order) if k == 0 or cell.mix[a] >= SECOND]
    return f"{cell.name:<3} {''.join(letters)}"[:width].ljust(width)


def _ink(paper: Rgb) -> Rgb:
    """Black or white, whichever is readable on a colour."""
    light = 0.299 * paper[0] + 0.587 * paper[1] + 0.114 * paper[2]
    return (0, 0, 0) if light > 135 else (255, 255, 255)


def _style(ink: Rgb | None, paper: Rgb | None = None, *, bold: bool = False) -> Style:
    front, back = (None if c is None else Color.from_rgb(*c) for c in (ink, paper))
    return Style(color=front, bgcolor=back, bold=bold or None)


def cards_text(deck: Deck, cards: tuple[int, ...]) -> Text:
    """Cards with suit symbols, in four colours."""
    text = Text()
    for name in map(deck.card_name, cards):
        sign, colour = SUITS[name[1]]
        text.append(f"{name[0]}{sign} ", f"bold {colour}".strip())
    text.rstrip()
    return text
