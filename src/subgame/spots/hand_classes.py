"""A decision by classes of hands: the squares of the grid, and the colour of each action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.ranges import class_names, class_numbers
from subgame.show.grid import ALL_IN, BETS, CALL, FOLD, Rgb, Square, blend, grid, legend
from subgame.show.html import block
from subgame.spots.lines import SEATS, is_all_in

if TYPE_CHECKING:
    from subgame.games.holdem.rules import Betting
    from subgame.tree.ranges.tree import RangeTree

    Floats = NDArray[np.float64]


class Shown(Protocol):
    """A decision whose actions are shown."""

    @property
    def actions(self) -> Sequence[str]: ...
    @property
    def betting(self) -> Betting: ...


class ByHand(Shown, Protocol):
    """A decision by hands, such as `subgame.spots.decisions.Decision`."""

    @property
    def tree(self) -> RangeTree: ...
    @property
    def board(self) -> tuple[int, ...]: ...
    @property
    def player(self) -> int: ...
    @property
    def words(self) -> str: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def hands(self) -> NDArray[np.int64]: ...
    @property
    def probs(self) -> Floats: ...
    @property
    def reach(self) -> Floats: ...
    @property
    def chance(self) -> Floats: ...
    @property
    def frequency(self) -> Floats: ...


class Look(NamedTuple):
    """How one action is shown."""

    colour: Rgb
    letter: str  # shown where there are no colours


def looks(decision: Shown) -> list[Look]:
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


def squares(decision: ByHand) -> list[list[Square]]:
    """The grid: pairs on the diagonal, suited hands above it, offsuit hands below.

    Weights are shares of the largest one.
    """
    deck = decision.tree.holdem.deck
    free, held = deck.compatible(decision.board), decision.hands
    reach, chance = np.zeros(deck.num_hands), np.zeros(deck.num_hands)
    probs = np.zeros((deck.num_hands, len(decision.actions)))
    reach[held], chance[held], probs[held] = decision.reach, decision.chance, decision.probs
    ranks = range(deck.num_ranks - 1, -1, -1)
    of, size = class_numbers(deck), deck.num_ranks**2
    likely, there, many = (
        np.bincount(of, weights, size) for weights in (chance, reach * free, free)
    )
    mixed = [np.bincount(of, chance * share, size) for share in probs.T]
    mix = np.divide(mixed, likely, out=np.zeros((len(mixed), size)), where=likely > 0)
    weight = np.divide(there, many, out=np.zeros(size), where=likely > 0)
    weights, mixes = (weight / (weight.max() or 1.0)).tolist(), mix.T.tolist()
    names = class_names(deck)
    at = [[row * deck.num_ranks + column for column in ranks] for row in ranks]
    return [[Square(names[k], weights[k], mixes[k]) for k in line] for line in at]


def as_html(decision: ByHand, picture: str = "") -> str:
    """The decision for notebooks: the grid, or another picture, and how often actions are taken."""
    colours = [look.colour for look in looks(decision)]
    where = f"after {decision.words}" if decision.words else "at the root"
    title = f"{SEATS[decision.player].upper()} {where}"
    drawn = picture or grid(squares(decision), colours, title)
    return block(title, drawn, legend(decision.names, colours, decision.frequency.tolist()))
