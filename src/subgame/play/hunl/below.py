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
    first: Ints  # [decision] its first action
    parent: Ints  # [q] the action before it, plus one; 0: none
    levels: list[Ints]  # actions by how many come before them


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
        return [
            (s, np.stack([self._factor(p, continuation, s) for continuation in among]))
            for s in np.unique(self.sides[p].street).tolist()
        ]

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

    def _factor(self, p: int, going_on: Continuation, street: int) -> Singles:
        """[bucket, z] a player's reach of the terminals by the actions of one street."""
        side = self.sides[p]
        units = np.asarray(going_on.blueprint.probabilities[street])
        sigma = np.ones((len(side.row), units.shape[1]), np.float32)
        here = side.street == street
        sigma[here] = units[side.row[here]]
        if going_on.bias > 0:
            liked = np.minimum(np.maximum(side.code, FOLD), 1) + 2 == going_on.bias
            sigma[liked] *= FACTOR
        sums = np.add.reduceat(sigma, side.first, axis=0)
        width = np.diff(np.append(side.first, len(sigma)))
        sigma /= np.repeat(np.maximum(sums, 1e-9), width, axis=0)
        sigma[~here] = 1
        out = np.ones((1 + len(sigma), units.shape[1]), np.float32)
        for level in side.levels:
            out[1 + level] = sigma[level] * out[side.parent[level]]
        return np.ascontiguousarray(out[self.last[p]].T)


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
    depth = np.zeros(1 + len(actions), np.int64)
    for q, above in enumerate(parent.tolist()):  # an action comes after those before it
        depth[q + 1] = depth[above] + 1
    levels = [np.flatnonzero(depth[1:] == n) for n in range(1, int(depth.max()) + 1)]
    return _Side(street, row, code, np.array(starts, np.int64), parent, levels)
