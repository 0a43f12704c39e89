"""`stage_tree`: the boards of a hold'em tree's last streets, with other betting, as a new tree."""

from __future__ import annotations

import numpy as np

from subgame.errors import SubgameError
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.hand_order import BoardArrays
from subgame.tree.ranges.tree import BoardList, RangeTree, put_together

BY_BOARD = ("street", "weight", "groups", "size_at", "dealt", "share")
"""Fields of `BoardArrays` with one entry per board."""
BY_PLAYER = ("hands", "hand_at", "run_at", "group_at", "orbit_at", "orbits")
"""Fields with one entry per board and player."""


def stage_tree(tree: RangeTree, streets: list[Street]) -> RangeTree:
    """A tree of the boards of the last ``len(streets)`` streets of a tree, with betting `streets`.

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
    if [each.index for each in streets] != [each.index for each in tree.streets[max(top, 0) :]]:
        raise SubgameError("The betting given must be that of the tree's last streets.")
    before = tree.units
    dealt = before.dealt[top:]
    dealt[0] = dealt[0]._replace(parent=np.full(len(dealt[0].cards), -1))
    boards = _last_boards(tree.boards, before.first[top], top, streets)
    last = BoardList(before.deck, dealt, boards, before.cards)
    one, two = (np.ones(len(hands)) for hands in last[0].hands)
    return put_together(tree.holdem, streets, last, (one, two), tree.deals)


def _last_boards(b: BoardArrays, first: int, top: int, streets: list[Street]) -> BoardArrays:
    """The arrays of all boards from number `first` on, which is the first board of street `top`.

    Boards are stored street by street, so these are the ends of the arrays. The arrays of hands are
    not cut.
    """
    cut = {name: getattr(b, name)[first:] for name in BY_BOARD}
    cut |= {name: getattr(b, name)[2 * first :] for name in BY_PLAYER}
    cut["street"] = cut["street"] - top
    cut["child_at"] = b.child_at[first:] - first
    edges = np.array([[each.rows[p] - len(each.roots) for p in (0, 1)] for each in streets])
    stored = edges[cut["street"]] * padded(cut["hands"]).reshape(-1, 2)
    cut["store_at"] = (np.cumsum(stored, axis=0) - stored).ravel()
    above = b.above.copy()  # on the first street a hand's place above is its own
    many = 2 * int(cut["child_at"][0])
    hands, at = cut["hands"][:many], cut["hand_at"][:many]
    own = np.arange(int(hands.sum())) - np.repeat(np.cumsum(hands) - hands, hands)
    above[np.repeat(at, hands) + own] = own
    return b._replace(above=above, **cut)
