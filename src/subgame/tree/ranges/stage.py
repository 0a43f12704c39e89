"""The boards of a hold'em tree's last streets, with other betting, as a tree of their own."""

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
"""Fields with two."""


def stage_tree(tree: RangeTree, streets: list[Street]) -> RangeTree:
    """All boards of the last ``len(streets)`` streets of a tree, with the betting `streets`.

    Its roots are the ways into the first of `streets`, on every board of that street. Every hand
    has reach 1 there. Values at the roots do not count the chance of the board: whoever passes
    them on to the street above does, as within one tree (`BoardArrays.weight`). `deals` are the tree's.
    """
    if tree.merged:
        raise SubgameError(
            "Hands that differ only in suits are one in this tree, so its streets cannot be "
            "solved by themselves; compile it with merge=False."
        )
    top = len(tree.streets) - len(streets)
    if [each.index for each in streets] != [each.index for each in tree.streets[max(top, 0) :]]:
        raise SubgameError("The betting of a stage must be that of the tree's last streets.")
    units = tree.units
    dealt = units.dealt[top:]
    dealt[0] = dealt[0]._replace(parent=np.full(len(dealt[0].cards), -1))
    boards = _last_boards(tree.boards, units.first[top], top, streets)
    last = BoardList(units.deck, dealt, boards, units.cards)
    one, two = (np.ones(len(hands)) for hands in last[0].hands)
    return put_together(tree.holdem, streets, last, (one, two), tree.deals)


def _last_boards(b: BoardArrays, first: int, top: int, streets: list[Street]) -> BoardArrays:
    """Boards from number `first` on, which is the first of street `top`; hands stay where they are.

    Boards are kept street by street, so these are the ends of the arrays.
    """
    cut = {name: getattr(b, name)[first:] for name in BY_BOARD}
    cut |= {name: getattr(b, name)[2 * first :] for name in BY_PLAYER}
    cut["street"] = cut["street"] - top
    cut["child_at"] = b.child_at[first:] - first
    edges = np.array([[each.rows[p] - len(each.roots) for p in (0, 1)] for each in streets])
    stored = edges[cut["street"]] * padded(cut["hands"]).reshape(-1, 2)
    cut["store_at"] = (np.cumsum(stored, axis=0) - stored).ravel()
    above = b.above.copy()  # what nothing lies above enters as it is
    many = 2 * int(cut["child_at"][0])
    hands, at = cut["hands"][:many], cut["hand_at"][:many]
    own = np.arange(int(hands.sum())) - np.repeat(np.cumsum(hands) - hands, hands)
    above[np.repeat(at, hands) + own] = own
    return b._replace(above=above, **cut)
