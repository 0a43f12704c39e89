"""`tree_below`: one board of a hold'em tree and all boards below it, as a tree of its own.

It is how a decision deep in a tree is evaluated: only the numbers of these boards are read, so that
a strategy may lie in a file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.public_tree import Reals
from subgame.tree.ranges.stage import BY_BOARD, BY_PLAYER
from subgame.tree.ranges.tree import BoardList, RangeTree, put_together

Ints = NDArray[np.int64]


class Below(NamedTuple):
    """A part of a tree, and where its numbers are in the whole tree's."""

    tree: RangeTree
    """Its first street has the betting of the board's street, with every root."""
    where: tuple[list[slice], list[slice]]
    """[street] for each player: the numbers of the part in an array of the whole tree."""

    def numbers(self, p: int, whole: Reals) -> NDArray[np.float32]:
        """Player `p`'s numbers in the part."""
        return np.concatenate([whole[at] for at in self.where[p]]).astype(np.float32, copy=False)


def tree_below(tree: RangeTree, u: int) -> Below:
    """Board `u` of a tree and the boards below it; merged hands and boards stay merged."""
    b, units, top = tree.boards, tree.units, int(tree.boards.street[u])
    spans, first, last = list[tuple[int, int]](), u, u + 1
    for _ in tree.streets[top:]:  # boards with the same parent are consecutive
        spans.append((first, last))
        first, last = int(b.child_at[first]), int(b.child_at[last])
    at: Ints = np.concatenate([np.arange(*span) for span in spans])
    both: Ints = (2 * at[:, None] + np.arange(2)).ravel()
    cut: dict[str, Any] = {name: getattr(b, name)[at] for name in BY_BOARD}
    cut |= {name: getattr(b, name)[both] for name in BY_PLAYER}
    cut["street"] = cut["street"] - top
    children = (b.child_at[at + 1] - b.child_at[at]) * (cut["street"] < len(spans) - 1)
    cut["child_at"] = 1 + np.append(0, np.cumsum(children))
    where: tuple[list[slice], list[slice]] = ([], [])
    store: Ints = np.zeros((len(at), 2), dtype=np.int64)
    for p in (0, 1):
        size = 0
        for first, last in spans:
            begin = int(b.store_at[2 * first + p])
            end = tree.stored(p) if last == len(units) else int(b.store_at[2 * last + p])
            where[p].append(slice(begin, end))
            mine = (at >= first) & (at < last)
            store[mine, p] = b.store_at[2 * at[mine] + p] - begin + size
            size += end - begin
    cut["store_at"] = store.ravel()
    dealt = []
    for s, (first, last) in enumerate(spans, top):
        street = units.dealt[s].some(slice(first - units.first[s], last - units.first[s]))
        above = spans[s - top - 1][0] - units.first[s - 1] if s > top else 0
        parent = street.parent - above if s > top else np.full(1, -1)
        dealt.append(street._replace(parent=parent))
    boards = BoardList(units.deck, dealt, b._replace(**cut), units.cards)
    reach = np.ones(len(boards[0].hands[0])), np.ones(len(boards[0].hands[1]))
    streets = tree.streets[top:]
    return Below(
        put_together(tree.holdem, streets, boards, reach, tree.deals, tree.game_name), where
    )
