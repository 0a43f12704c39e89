"""Buckets: a card abstraction of some streets of a hold'em tree.

On a bucketed street a player's infosets are (betting, bucket) instead of (betting, board, hand).
Hands on different boards and with different pasts may share a bucket (imperfect recall). The result
is still a strategy of the whole tree, in which all hands of a bucket have the same probabilities.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.holdem.nlfh(3, 1, 2, "preflop: a; flop: a", "JQKA", "hs"))
    >>> Buckets.by_strength(tree, "flop", 5)
    flop: 5 buckets for 280 hands on 28 boards
    >>> Buckets.lossless(tree)
    preflop: 16 buckets for 28 hands on 1 boards; flop: 280 buckets for 280 hands on 28 boards
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.bets import STREETS
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.equity import equities
from subgame.tree.ranges.hand_order import BATCH, suit_classes
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

    def __init__(self, tree: RangeTree, maps: Mapping[str, Any]) -> None:
        check_not_merged(tree)
        self.tree = tree
        self.groupings: dict[int, Grouping] = {}
        """Buckets of each bucketed street, by its number in the tree."""
        self._places: dict[tuple[int, int, int], Map] = {}
        for name, given in maps.items():
            s = _street(tree, name)
            self.groupings[s] = _grouping(tree, s, name, np.asarray(given))

    @classmethod
    def lossless(cls, tree: RangeTree, streets: Iterable[str] | None = None) -> Buckets:
        """A bucket of its own for each hand on each board, up to suit symmetry: no abstraction."""
        chosen = _names(tree) if streets is None else streets
        return cls(tree, {name: _lossless(tree, _street(tree, name)) for name in chosen})

    @classmethod
    def by_strength(cls, tree: RangeTree, street: str, count: int) -> Buckets:
        """`count` buckets of equal mass, by the probability to win against a random hand.

        On a street with cards to come that is the mean over all boards to come. Hands of equal
        strength are ordered by board.
        """
        if count < 1:
            raise SubgameError(f"count must be a whole number of at least 1, not {count}.")
        s = _street(tree, street)
        return cls(tree, {street: _equal_mass(tree, s, strengths(tree, street), count)})

    def __or__(self, other: Buckets) -> Buckets:
        """The buckets of both; where both have a street, those of `other`."""
        if other.tree is not self.tree:
            raise SubgameError("Buckets can be combined only if they belong to the same tree.")
        both = Buckets(self.tree, {})
        both.groupings = {**self.groupings, **other.groupings}
        return both

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
        for s, found in sorted(self.groupings.items()):
            hands, boards = int((found.of >= 0).sum()), len(found.of)
            said.append(
                f"{names[s]}: {found.count:,} buckets for {hands:,} hands on {boards:,} boards"
            )
        return "; ".join(said)


def strengths(tree: RangeTree, street: str) -> Floats:
    """[board, hand] the probability to win against a random hand, ties counting half; 0 if blocked.

    On a street with cards to come it is the mean over all boards to come.
    """
    return _strengths(tree, _street(tree, street))


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


def _chance(tree: RangeTree, s: int) -> Floats:
    """[board] its probability from the start of the tree, times the boards it represents."""
    weight = tree.units.dealt[0].weight
    for street in tree.units.dealt[1 : s + 1]:
        weight = weight[street.parent] * street.weight
    return weight


def _grouping(tree: RangeTree, s: int, name: str, given: NDArray[Any]) -> Grouping:
    """The buckets of a street from a map, after checking it."""
    held = _held_mask(tree, s)
    if given.shape != held.shape or given.dtype.kind not in "iu":
        raise SubgameError(
            f"Buckets on the {name} must be whole numbers, one for each of {held.shape[0]:,} "
            f"boards and {held.shape[1]:,} hands; an array of shape {given.shape} and type "
            f"{given.dtype} was given."
        )
    top = int(given.max(where=held, initial=-1))
    if not held.any() or given.min(where=held, initial=0) < 0 or top > np.iinfo(np.int32).max:
        raise SubgameError(
            f"Buckets on the {name} must count from 0, and every hand must have one."
        )
    of = np.where(held, given, -1).astype(np.int32)
    for rows, classes in _kinds(tree, s):
        torn = np.argwhere(of[rows] != of[rows][:, classes])
        if len(torn):
            deck, (k, hand) = tree.holdem.deck, torn[0].tolist()
            board = tree.units[tree.units.first[s] + int(rows[k])]
            raise SubgameError(
                f"On '{deck.name(board.cards)}' a suit symmetry exchanges {deck.hand_name(hand)} "
                f"with {deck.hand_name(int(classes[hand]))}, so they must share a bucket."
            )
    return Grouping(of, top + 1, _chance(tree, s))


def _lossless(tree: RangeTree, s: int) -> Map:
    held = _held_mask(tree, s)
    first = held.copy()
    for rows, classes in _kinds(tree, s):
        first[rows] &= classes == np.arange(len(classes))
    found: Map = np.cumsum(first.ravel(), dtype=np.int32).reshape(first.shape) - np.int32(1)
    return _alike(tree, s, found)


def _alike(tree: RangeTree, s: int, found: Map) -> Map:
    """Give hands that a suit symmetry exchanges the bucket of the first of them."""
    for rows, classes in _kinds(tree, s):
        found[rows] = found[rows][:, classes]
    return found


# Strength ------------------------------------------------------------------------------------


def _strengths(tree: RangeTree, s: int) -> Floats:
    deck, cards = tree.holdem.deck, tree.units.dealt[s].cards
    if s == len(tree.streets) - 1:
        made = [_shown(deck, cards[at : at + BATCH]) for at in range(0, len(cards), BATCH)]
        return np.concatenate(made)
    below, (deals, parent, weight, _) = _strengths(tree, s + 1), tree.units.dealt[s + 1]
    free, ends = ~deck.blocked(deals), np.searchsorted(parent, np.arange(len(cards) + 1))
    total, count = np.empty((2, len(cards), below.shape[1]))
    for u in range(len(cards)):
        some = slice(ends[u], ends[u + 1])
        total[u], count[u] = weight[some] @ below[some], weight[some] @ free[some]
    for rows, classes in _kinds(tree, s):  # a child represents all boards of its class
        for table in (total, count):
            sums = np.zeros((len(rows), len(classes)))
            np.add.at(sums.T, classes, table[rows].T)
            table[rows] = sums[:, classes]
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0)


def _shown(deck: Deck, cards: Ints) -> Floats:
    """[u, hand] strength on the last street."""
    won, met = equities(cards, deck, np.ones((1, deck.num_hands)))
    return np.divide(won, met, out=won, where=met > 0)[..., 0]


def _equal_mass(tree: RangeTree, s: int, strength: Floats, count: int) -> Map:
    """Buckets in order of strength, of mass as equal as possible."""
    held = _held_mask(tree, s)
    at = np.flatnonzero(held)
    mass = np.repeat(_chance(tree, s), held.sum(1))
    order = np.argsort(strength.ravel()[at], kind="stable")
    middle = np.cumsum(mass[order]) - mass[order] / 2
    found = np.full(held.shape, -1, np.int32)
    found.ravel()[at[order]] = np.minimum(count * middle / mass.sum(), count - 1)
    found = _alike(tree, s, found)
    number = np.zeros(count + 1, np.int32)  # the last is for hands outside both ranges
    number[found[held]] = 1
    number = np.cumsum(number, dtype=np.int32) - np.int32(1)
    return number[found]
