"""Trees with hands merged by suit symmetry, compiled again with suits distinguished."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.public_tree import Reals, both, embed, restrict
from subgame.tree.ranges.find import Finder
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

Ints = NDArray[np.int64]


class Unmerged(NamedTuple):
    """A tree with every hand for itself, and the merged tree's sequence for each of its own."""

    tree: RangeTree
    merged: RangeTree
    where: tuple[Ints, Ints] | None  # [q] merged tree's sequence, -1 in padding; None: same tree
    slots: tuple[Ints, Ints]  # [s] the merged tree's root infoset for each of this tree's

    def spread(self, p: int, weights: Reals) -> NDArray[Any]:
        """[q] numbers of this tree, from those of the merged tree."""
        if self.where is None:
            return weights
        return restrict(weights, self.where[p], elsewhere=0.0)

    def gather(self, p: int, weights: Reals) -> NDArray[Any]:
        """[q] numbers of the merged tree, from those of one hand out of each merged class."""
        if self.where is None:
            return weights
        out = np.zeros(self.merged.stored(p), dtype=weights.dtype)
        embed(weights, self.where[p], out)
        return out


def unmerged(tree: RangeTree) -> Unmerged:
    """The tree with every hand for itself; the same tree if no hands are merged in it."""
    if not tree.merged:
        return Unmerged(tree, tree, None, both(lambda p: np.arange(len(tree.players[p].slots))))
    plain = compile_range_tree(tree.holdem)

    def slots(p: int) -> Ints:
        index = {name: s for s, name in enumerate(tree.players[p].slots)}
        return np.array([index[name] for name in plain.players[p].slots])

    return Unmerged(plain, tree, both(lambda p: places(plain, tree, p)), both(slots))


def places(part: RangeTree, whole: RangeTree, p: int) -> Ints:
    """[q] where each of a part's sequences stands in a tree whose boards may be merged; -1: not."""
    out, side = np.full(part.stored(p), -1, dtype=np.int64), part.players[p]
    finder = Finder(whole.players[p])  # one that is not kept, because it remembers all boards
    for u, unit in enumerate(part.units):
        hands = unit.hands[p]
        for j, state in enumerate(part.streets[unit.street].states[p]):
            actions, first, stride = finder.cells(unit.cards, str(state))
            at = first[hands][:, None]
            at = np.where(at < 0, -1, at + stride * np.arange(len(actions)))
            out[side.cells(u, j)] = at
    return out
