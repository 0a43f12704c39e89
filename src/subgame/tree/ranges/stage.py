"""Boards of a hold'em tree as a tree of their own.

`stage_tree` takes the boards of the last streets, with other betting. `tree_below` takes one board
and all boards below it, which is how a decision deep in a tree is evaluated: only the numbers of
these boards are read, so that a strategy may lie in a file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.tree.public_tree import Reals
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.boards import BoardArrays, store_at
from subgame.tree.ranges.tree import BoardList, RangeTree, put_together

BY_BOARD = ("street", "weight", "groups", "size_at", "dealt", "share")
"""Fields of `BoardArrays` with one entry per board."""
BY_PLAYER = ("hands", "hand_at", "run_at", "group_at", "orbit_at", "orbits")
"""Fields with one entry per board and player."""


def stage_tree(tree: RangeTree, streets: list[Street], units: slice | None = None) -> RangeTree:
    """A tree of the boards of the last ``len(streets)`` streets of a tree, with betting `streets`.

    If there is one street, it may have only some of the boards, `units`.

    Its roots are the roots of the first of `streets`, on every board of that street. Every hand has
    reach 1 there. Values at the roots are not multiplied by the probability of the board
    (`BoardArrays.weight`); the caller does that when the values go up to the street before. `deals`
    is that of the given tree.
    """
    if tree.merged:
        raise SubgameError(
            "Hands are merged by suit symmetry in this tree, so its last streets cannot be solved "
            "as a tree of their own; compile the game with merge=False."
        )
    top = len(tree.streets) - len(streets)
    if [street.index for street in streets] != [
        street.index for street in tree.streets[max(top, 0) :]
    ]:
        raise SubgameError("The betting given must be that of the tree's last streets.")
    before = tree.units
    dealt = before.dealt[top:]
    some = slice(0, before.first[-1] - before.first[top])
    if units is not None:
        if len(streets) > 1:
            raise SubgameError("Only the last street alone can have some of its boards.")
        some, dealt[0] = units, dealt[0].some(units)
    dealt[0] = dealt[0]._replace(parent=np.full(len(dealt[0].cards), -1))
    boards = _some_boards(tree.boards, before.first[top], some, top, streets)
    last = BoardList(before.deck, dealt, boards, before.cards)
    one, two = (np.ones(len(hands)) for hands in last[0].hands)
    return put_together(tree.holdem, streets, last, (one, two), tree.deals)


def first_streets(tree: RangeTree, count: int = 1) -> RangeTree:
    """The first streets of a tree alone, to lay strategies over; their betting leads nowhere.

    Its numbers are the first ones of the whole tree's.
    """
    before, end = tree.units, tree.units.first[count]
    cut = {name: getattr(tree.boards, name)[:end] for name in BY_BOARD}
    cut |= {name: getattr(tree.boards, name)[: 2 * end] for name in (*BY_PLAYER, "store_at")}
    cut["child_at"] = np.minimum(tree.boards.child_at[: end + 1], end)
    boards = tree.boards._replace(**cut)
    units = BoardList(before.deck, before.dealt[:count], boards, before.cards)
    one, two = (side.reach for side in tree.players)
    name = f"{tree.game_name} · first " + ("street" if count == 1 else f"{count} streets")
    return put_together(tree.holdem, tree.streets[:count], units, (one, two), tree.deals, name)


def _some_boards(
    b: BoardArrays, first: int, some: slice, top: int, streets: list[Street]
) -> BoardArrays:
    """The arrays of some boards, counted from number `first`, the first board of street `top`.

    Boards are stored street by street, so all from there on are the ends of the arrays. The arrays
    of hands are not cut.
    """
    begin, end = first + some.start, first + some.stop
    cut = {name: getattr(b, name)[begin:end] for name in BY_BOARD}
    cut |= {name: getattr(b, name)[2 * begin : 2 * end] for name in BY_PLAYER}
    cut["street"] = cut["street"] - top
    # The last street has no boards below; they would begin where its own end.
    alone = len(streets) == 1
    cut["child_at"] = np.full(end - begin + 1, end - begin) if alone else b.child_at[begin:] - first
    cut["store_at"] = store_at(streets, cut["street"], cut["hands"])
    above = b.above.copy()  # on the first street a hand's place above is its own
    many = 2 * int(cut["child_at"][0])
    hands, at = cut["hands"][:many], cut["hand_at"][:many]
    own = np.arange(int(hands.sum())) - np.repeat(np.cumsum(hands) - hands, hands)
    above[np.repeat(at, hands) + own] = own
    return b._replace(above=above, **cut)


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
    return Below(put_together(tree.holdem, streets, boards, reach, tree.deals, tree.of_game), where)
