"""What follows a street in a stored blueprint, and how its continuations are biased.

Brown, Sandholm & Amos 2018, Sec. 4 and 6: at a depth limit the opponent chooses among
continuations: the blueprint, and the blueprint biased towards folding, calling and raising, or
other strategies in the same buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.arrays import Array
from subgame.engines.numba.street_kernels import reached
from subgame.games.holdem.game import BOARD_CARDS
from subgame.tree.betting_arrays import FOLD, SHOWN, BettingArrays

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
FACTOR = 10.0
"""How much a biased continuation prefers its kind of action (2018, Sec. 6)."""
CHOICES = 4
"""Continuations: the blueprint, and more folds, more calls, more raises."""


class Continuation(NamedTuple):
    """How a player may go on: by a blueprint, with more folds, calls or raises if biased."""

    blueprint: StoredBlueprint
    bias: int = 0
    """1: towards folding, 2: calling, 3: raising."""


def more_of_each(blueprint: StoredBlueprint, choices: int = CHOICES) -> list[Continuation]:
    """The blueprint, and the first few of those biased towards folding, calling and raising."""
    return [Continuation(blueprint, bias) for bias in range(choices)]


class _Side(NamedTuple):
    """One player's actions below a leaf in the blueprint. Axis: q = action, decisions in a row."""

    street: Ints  # [q]
    row: Ints  # [q] of the blueprint's table of the street
    code: Ints  # [q]
    first: Ints  # [decision + 1] its first action; at last the number of actions
    parent: Ints  # [q] the action before it, plus one; 0: none


class _End(NamedTuple):
    """A terminal: both players' last actions, plus one, and what player 0 wins."""

    last: tuple[int, int]
    stake: float
    shown: bool


class Below:
    """All that follows a decision of the blueprint. Axis: z = terminal, folds first.

    A hand's reach of a terminal is a product of one factor a street, which its bucket there gives.
    """

    def __init__(self, blueprint: StoredBlueprint, first: int) -> None:
        self.blueprint = blueprint
        self.sides, ends = _walk(blueprint.tree, first)
        ends.sort(key=lambda end: end.shown)
        self.last = tuple(np.array([end.last[p] for end in ends]) for p in (0, 1))
        """[player][z] each player's last action, plus one."""
        self.stake = np.array([end.stake for end in ends])
        """[z] what player 0 wins in the blueprint; at a showdown with the better hand."""
        self.folds = sum(not end.shown for end in ends)
        self._factors: dict[tuple[int, int], list[tuple[int, Singles]]] = {}

    def factors(self, p: int, among: Sequence[Continuation]) -> list[tuple[int, Singles]]:
        """Streets with decisions, and [k, bucket, z] a player's reach by actions there.

        The continuations are those of the same betting tree.
        """
        return [(s, self._factor(p, among, s)) for s in np.unique(self.sides[p].street).tolist()]

    def chips(self, o: int) -> Floats:
        """[z] what player `o` wins; at a showdown with the better hand, as the other would."""
        out = self.stake.copy()
        if o == 1:
            out[: self.folds] *= -1
        return out

    def reach(self, p: int, choices: int, board: tuple[int, ...], hands: Ints) -> Singles:
        """[k, hand, z] a player's reach of the terminals on a board, by continuation."""
        if (p, choices) not in self._factors:
            self._factors[p, choices] = self.factors(p, more_of_each(self.blueprint, choices))
        out = np.ones((1, 1, 1), np.float32)
        for s, factor in self._factors[p, choices]:
            buckets = self.blueprint.cards.of(board[: BOARD_CARDS[s]])[hands]
            here = factor.take(np.maximum(buckets, 0), axis=1)
            out = np.multiply(out, here, out=here)
        return out

    def _factor(self, p: int, among: Sequence[Continuation], street: int) -> Singles:
        """[k, bucket, z] a player's reach of the terminals by the actions of one street."""
        side = self.sides[p]
        here = np.flatnonzero(side.street == street)
        rows, kind = side.row[here], np.minimum(np.maximum(side.code[here], FOLD), 1) + 2
        place = np.full(len(side.row), -1)
        place[here] = np.arange(len(here))
        buckets = among[0].blueprint.probabilities[street].shape[1]
        out = np.empty((len(among), buckets, len(self.stake)), np.float32)
        for reach, going_on in zip(out, among, strict=True):
            weights = going_on.blueprint.probabilities[street][rows].astype(np.float32)
            if going_on.bias > 0:
                weights[kind == going_on.bias] *= FACTOR
            reached(weights, place, side.first, side.parent, self.last[p], reach)
        return out


@lru_cache(maxsize=32)
def what_follows(blueprint: StoredBlueprint, first: int) -> Below:
    """What follows a decision; it is kept, since many flops come after few bettings."""
    return Below(blueprint, first)


def by_pair(theirs: Array, ours: Array, folds: int, ahead: Array) -> Array:
    """[k, h, j] what the opponent wins, from both players' reach [k, h, z] and [j, z].

    Ours is times what the opponent wins; `ahead` [h, j] is 1 where h beats j. Folds come first.
    """
    paid = (theirs[..., folds:] @ ours[:, folds:].T) * ahead
    paid += theirs[..., :folds] @ ours[:, :folds].T
    return paid


def by_bucket(
    theirs: Singles, ours: Singles, folds: int, ahead: Singles, counts: tuple[Singles, Singles]
) -> Singles:
    """[k, b, c] the sums of `by_pair` over hands of buckets; `counts` are [b, h] and [c, j].

    After a fold nobody is ahead, so that each player's hands can be summed alone.
    """
    mine, yours = counts
    hands = theirs.shape[:2]
    every = theirs.reshape(-1, theirs.shape[2])  # one product of all continuations is faster
    shown: Singles = (every[:, folds:] @ ours[:, folds:].T).reshape(*hands, -1)
    shown *= ahead
    paid: Singles = mine @ (shown.reshape(len(every), -1) @ yours.T).reshape(*hands, -1)
    paid += (mine @ theirs[..., :folds]) @ (yours @ ours[:, :folds]).T
    return paid


def _walk(tree: BettingArrays, first: int) -> tuple[tuple[_Side, _Side], list[_End]]:
    """All actions below a decision, by player, and all terminals."""
    actions: tuple[list[tuple[int, int, int, int]], ...] = ([], [])
    starts: tuple[list[int], list[int]] = ([], [])
    ends: list[_End] = []
    stack = [(first, (0, 0))]
    while stack:
        d, last = stack.pop()
        p, s = int(tree.player[d]), int(tree.street[d])
        begin, lo, hi = len(actions[p]), int(tree.first[d]), int(tree.first[d + 1])
        starts[p].append(begin)
        for a, e in enumerate(range(lo, hi)):
            actions[p].append((s, int(tree.row[d]) + a, int(tree.code[e]), last[p]))
            now = begin + a + 1
            both = (now, last[1]) if p == 0 else (last[0], now)
            child = int(tree.child[e])
            if child >= 0:
                stack.append((child, both))
            else:
                ends.append(_End(both, float(tree.stake[e]), child == SHOWN))
    one, two = (_side(actions[p], starts[p]) for p in (0, 1))
    return (one, two), ends


def _side(actions: Sequence[tuple[int, int, int, int]], starts: Sequence[int]) -> _Side:
    street, row, code, parent = np.array(actions, np.int64).reshape(-1, 4).T
    return _Side(street, row, code, np.array([*starts, len(actions)], np.int64), parent)
