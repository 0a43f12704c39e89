"""Buckets: a card abstraction of some streets of a hold'em tree.

On a bucketed street a player's infosets are (betting, bucket) instead of (betting, board, hand).
Hands on different boards and with different pasts may share a bucket (imperfect recall). The result
is still a strategy of the whole tree, in which all hands of a bucket have the same probabilities.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.holdem.nlfh(3, 1, 2, "preflop: a; flop: a", "JQKA", "hs"))
    >>> Buckets(tree, {"flop": np.zeros((28, 28), int)})
    flop: 1 buckets for 280 hands on 28 boards
    >>> Buckets.lossless(tree)
    preflop: 16 buckets for 28 hands on 1 boards; flop: 280 buckets for 280 hands on 28 boards
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.sizes import STREETS
from subgame.tree.ranges.boards import suit_classes
from subgame.tree.ranges.tree import RangeTree

Ints = NDArray[np.int64]
Map = NDArray[np.int32]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Grouping:
    """The buckets of one street."""

    of: Map  # [board, hand in the deck's order]; -1 where it is blocked or in nobody's range
    count: int
    weight: Floats  # [board] its probability: the product of `BoardArrays.weight` down to it


class Buckets:
    """The bucket of each hand on each board, street by street.

    `maps` has an array ``[board, hand]`` for each bucketed street, by the street's name: boards are
    in the order of ``tree.units``, hands in the deck's order, and buckets count from 0. Entries of
    hands outside both ranges are ignored. Hands that a suit symmetry of the board exchanges must
    share a bucket, because the tree keeps one board for all boards that suit symmetry makes equal.
    Trees with merged hands cannot have buckets: compile them with ``merge="boards"``.
    """

    def __init__(self, tree: RangeTree, maps: Mapping[str, ArrayLike]) -> None:
        check_not_merged(tree)
        self.tree = tree
        self.groupings: dict[int, Grouping] = {}
        """Buckets of each bucketed street, by its number in the tree."""
        self._places: dict[tuple[int, int, int], Map] = {}
        for name, labels in maps.items():
            s = _street(tree, name)
            self.groupings[s] = _grouping(tree, s, name, np.asarray(labels))

    @classmethod
    def lossless(cls, tree: RangeTree, streets: Iterable[str] | None = None) -> Buckets:
        """A bucket of its own for each hand on each board, up to suit symmetry: no abstraction."""
        chosen = _names(tree) if streets is None else streets
        return cls(tree, {name: _lossless(tree, _street(tree, name)) for name in chosen})

    def places(self, s: int, p: int, wide: int) -> Map:
        """[board, h] the bucket of each hand in player `p`'s order; -1 past the last hand."""
        key = s, p, wide
        if key in self._places:
            return self._places[key]
        grouping = self.groupings[s]
        out = np.full((len(grouping.of), wide), -1, np.int32)
        board, player, place, hand = _held(self.tree, s)
        mine = player == p
        out[board[mine], place[mine]] = grouping.of[board[mine], hand[mine]]
        self._places[key] = out
        return out

    def __repr__(self) -> str:
        names, said = _names(self.tree), []
        for s, grouping in sorted(self.groupings.items()):
            hands, boards = int((grouping.of >= 0).sum()), len(grouping.of)
            said.append(
                f"{names[s]}: {grouping.count:,} buckets for {hands:,} hands on {boards:,} boards"
            )
        return "; ".join(said)


def check_not_merged(tree: RangeTree) -> None:
    """Raise an error if a tree cannot have buckets."""
    if not isinstance(tree, RangeTree):
        raise SubgameError(
            "Buckets need a hold'em tree; for other games, abstract the infosets of the game."
        )
    if tree.merged:
        raise SubgameError(
            "Hands are merged by suit symmetry in this tree, but buckets need every hand for "
            'itself; compile the game with merge="boards".'
        )


def _names(tree: RangeTree) -> list[str]:
    check_not_merged(tree)
    return [STREETS[street.index] for street in tree.streets]


def _street(tree: RangeTree, name: str) -> int:
    names = _names(tree)
    if name not in names:
        raise did_you_mean("street of this tree", str(name), names)
    return names.index(name)


def _held(tree: RangeTree, s: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Board, player, place and hand of all hands that can be held on a street."""
    b, (first, last) = tree.boards, tree.units.first[s : s + 2]
    both = slice(2 * first, 2 * last)
    many = b.hands[both]
    row = np.repeat(np.arange(len(many)), many)
    place = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    begin = int(b.hand_at[both.start])
    hand = b.hand[begin : begin + len(row)].astype(np.int64)
    return row // 2, row % 2, place, hand


def _held_mask(tree: RangeTree, s: int) -> Mask:
    """[board, hand] whether either player can hold it."""
    mask = np.zeros((len(tree.units.dealt[s].cards), tree.holdem.deck.num_hands), dtype=np.bool_)
    board, _, _, hand = _held(tree, s)
    mask[board, hand] = True
    return mask


def _kinds(tree: RangeTree, s: int) -> Iterator[tuple[Ints, Ints]]:
    """Boards with the same suit symmetries, and [hand] the first hand equivalent under them."""
    bits = tree.units.dealt[s].symmetries
    for kind in np.unique(bits):
        if kind > 1:
            yield np.flatnonzero(bits == kind), suit_classes(tree.holdem.deck, int(kind))


def _grouping(tree: RangeTree, s: int, name: str, buckets: NDArray[np.generic]) -> Grouping:
    """The buckets of a street from a map, after checking it."""
    held = _held_mask(tree, s)
    if buckets.shape != held.shape or buckets.dtype.kind not in "iu":
        raise SubgameError(
            f"Buckets on the {name} must be whole numbers, one for each of {held.shape[0]:,} "
            f"boards and {held.shape[1]:,} hands; an array of shape {buckets.shape} and type "
            f"{buckets.dtype} was given."
        )
    top = int(buckets.max(where=held, initial=-1))
    if not held.any() or buckets.min(where=held, initial=0) < 0 or top > np.iinfo(np.int32).max:
        raise SubgameError(
            f"Buckets on the {name} must count from 0, and every hand must have one."
        )
    of = np.where(held, buckets, -1).astype(np.int32)
    for rows, classes in _kinds(tree, s):
        torn = np.argwhere(of[rows] != of[rows][:, classes])
        if len(torn):
            deck, (k, hand) = tree.holdem.deck, torn[0].tolist()
            board = tree.units[tree.units.first[s] + int(rows[k])]
            raise SubgameError(
                f"On '{deck.name(board.cards)}' a suit symmetry exchanges {deck.hand_name(hand)} "
                f"with {deck.hand_name(int(classes[hand]))}, so they must share a bucket."
            )
    first, last = tree.units.first[s : s + 2]
    return Grouping(of, top + 1, tree.units.chance[first:last])


def _lossless(tree: RangeTree, s: int) -> Map:
    """[board, hand] the number of the first hand that a suit symmetry exchanges with it."""
    first, kinds = _held_mask(tree, s), list(_kinds(tree, s))
    for rows, classes in kinds:
        first[rows] &= classes == np.arange(len(classes))
    result: Map = np.cumsum(first.ravel(), dtype=np.int32).reshape(first.shape) - np.int32(1)
    for rows, classes in kinds:
        result[rows] = result[rows][:, classes]
    return result
