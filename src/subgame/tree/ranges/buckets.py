"""Buckets: hands that a player does not tell apart on some street of a hold'em tree.

On a bucketed street her infosets are (betting, bucket) instead of (betting, board, hand). Hands on
different boards, and with different pasts, may share a bucket: a player may forget. What she plays
is all the same a strategy of the whole tree, in which the hands of a bucket do alike.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.holdem.nlfh(3, 1, 2, "preflop: a; flop: a", "JQKA", "hs"))
    >>> Buckets.by_strength(tree, "flop", 5)
    flop: 5 buckets for 280 hands on 28 boards
    >>> Buckets.lossless(tree)
    preflop: 16 buckets for 28 hands on 1 boards; flop: 280 buckets for 280 hands on 28 boards
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.bets import STREETS
from subgame.games.holdem.evaluate import rank_hands
from subgame.tree.ranges.hand_order import BATCH, dense_ranks, suit_classes
from subgame.tree.ranges.tree import RangeTree

Ints = NDArray[np.int64]
Map = NDArray[np.int32]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Grouping:
    """The buckets of one street."""

    of: Map  # [unit, hand in the deck's order]; -1 where the board blocks it or nobody holds it
    count: int
    weight: (
        Floats  # [unit] how likely its boards are: the product of `BoardArrays.weight` down to it
    )


class Buckets:
    """Per street which bucket each hand on each board belongs to.

    `maps` has an array ``[unit, hand]`` for each street that is bucketed, by its name: units are
    the street's boards in the order of ``tree.units``, hands are in the deck's order, and buckets
    count from 0. What it says of hands that nobody holds there does not matter. Hands that suits
    exchange must share a bucket, for the tree keeps one board for all that suits exchange. Trees
    whose hands are merged have no buckets: compile them with ``merge="boards"``.
    """

    def __init__(self, tree: RangeTree, maps: Mapping[str, Any]) -> None:
        check_not_merged(tree)
        self.tree = tree
        self.groupings: dict[int, Grouping] = {}
        """By the number of the street in the tree."""
        for name, given in maps.items():
            s = _street(tree, name)
            self.groupings[s] = _grouping(tree, s, name, np.asarray(given))

    @classmethod
    def lossless(cls, tree: RangeTree, streets: Iterable[str] | None = None) -> Buckets:
        """A bucket for each hand and board that suits do not exchange: nothing is forgotten."""
        chosen = _names(tree) if streets is None else streets
        return cls(tree, {name: _lossless(tree, _street(tree, name)) for name in chosen})

    @classmethod
    def by_strength(cls, tree: RangeTree, street: str, count: int) -> Buckets:
        """`count` buckets of equal mass by the chance to win against any hand.

        On a street with cards to come that is the mean over all boards to come. Where hands are
        equally strong, buckets keep neighbouring boards together.
        """
        if count < 1:
            raise SubgameError(f"There must be a bucket at least, not {count}.")
        s = _street(tree, street)
        return cls(tree, {street: _equal_mass(tree, s, strengths(tree, street), count)})

    def __or__(self, other: Buckets) -> Buckets:
        """The streets of both; of a street in both, those of `other`."""
        if other.tree is not self.tree:
            raise SubgameError("Only buckets of the same tree go together.")
        both = Buckets(self.tree, {})
        both.groupings = {**self.groupings, **other.groupings}
        return both

    def places(self, s: int, p: int, wide: int) -> Map:
        """[unit, h] the bucket at each place of player `p`'s hand order; -1 beyond her hands."""
        grouping = self.groupings[s]
        out = np.full((len(grouping.of), wide), -1, np.int32)
        unit, player, place, hand = _held(self.tree, s)
        mine = player == p
        out[unit[mine], place[mine]] = grouping.of[unit[mine], hand[mine]]
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
    """[unit, hand] the chance to win (ties count half) against any hand; 0 where it is blocked.

    On a street with cards to come, the mean over all boards to come.
    """
    return _strengths(tree, _street(tree, street))


def check_not_merged(tree: RangeTree) -> None:
    """Refuse trees that have no buckets."""
    if not isinstance(tree, RangeTree):
        raise SubgameError("Buckets are for hold'em trees; other games merge infosets.")
    if tree.merged:
        raise SubgameError(
            "Hands that are the same are one in this tree, and buckets are of hands apart; "
            'compile it with merge="boards".'
        )


def _names(tree: RangeTree) -> list[str]:
    check_not_merged(tree)
    return [STREETS[street.index] for street in tree.streets]


def _street(tree: RangeTree, name: str) -> int:
    names = _names(tree)
    if name not in names:
        raise did_you_mean("street of this tree", str(name), names)
    return names.index(name)


def _units(tree: RangeTree, s: int) -> Ints:
    return np.flatnonzero(tree.boards.street == s)


def _held(tree: RangeTree, s: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Unit, player, place and hand of all that is held on a street."""
    b, units = tree.boards, _units(tree, s)
    both = slice(2 * int(units[0]), 2 * int(units[-1]) + 2)
    many = b.hands[both]
    row = np.repeat(np.arange(len(many)), many)
    place = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    begin = int(b.hand_at[both.start])
    hand = b.hand[begin : begin + len(row)].astype(np.int64)
    return row // 2, row % 2, place, hand


def _held_mask(tree: RangeTree, s: int) -> Mask:
    """[unit, hand] whether anybody holds it."""
    mask = np.zeros((len(_units(tree, s)), tree.holdem.deck.num_hands), dtype=np.bool_)
    unit, _, _, hand = _held(tree, s)
    mask[unit, hand] = True
    return mask


def _kinds(tree: RangeTree, s: int) -> Iterator[tuple[Ints, Ints]]:
    """Boards with the same suits to exchange, and [hand] the first that these exchange with it."""
    units: Any = tree.units
    bits = units.dealt[s].symmetries
    for kind in np.unique(bits):
        if kind > 1:
            yield np.flatnonzero(bits == kind), suit_classes(tree.holdem.deck, int(kind))


def _chance(tree: RangeTree, s: int) -> Floats:
    """[unit] boards it stands for, times the probability of each, from the tree's start."""
    weight = tree.boards.weight[_units(tree, 0)]
    for k in range(1, s + 1):
        weight = weight[_parents(tree, k)] * tree.boards.weight[_units(tree, k)]
    return weight


def _parents(tree: RangeTree, s: int) -> Ints:
    units: Any = tree.units
    found: Ints = units.dealt[s].parent
    return found


def _grouping(tree: RangeTree, s: int, name: str, given: NDArray[Any]) -> Grouping:
    """A map that has been looked at."""
    held = _held_mask(tree, s)
    if given.shape != held.shape or given.dtype.kind not in "iu":
        raise SubgameError(
            f"Buckets on the {name} are whole numbers, one for each of {held.shape[0]:,} boards "
            f"and {held.shape[1]:,} hands; what was given has the shape {given.shape} and the "
            f"type {given.dtype}."
        )
    top = int(given.max(where=held, initial=-1))
    if not held.any() or given.min(where=held, initial=0) < 0 or top > np.iinfo(np.int32).max:
        raise SubgameError(f"Buckets on the {name} count from 0, and every hand needs one.")
    of = np.where(held, given, -1).astype(np.int32)
    for rows, classes in _kinds(tree, s):
        torn = np.argwhere(of[rows] != of[rows][:, classes])
        if len(torn):
            deck, (k, hand) = tree.holdem.deck, torn[0].tolist()
            unit: Any = tree.units[int(_units(tree, s)[rows[k]])]
            raise SubgameError(
                f"On '{deck.name(unit.cards)}' suits exchange {deck.hand_name(hand)} with "
                f"{deck.hand_name(int(classes[hand]))}, so that they must share a bucket."
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
    """Hands that suits exchange get what the first of them has."""
    for rows, classes in _kinds(tree, s):
        found[rows] = found[rows][:, classes]
    return found


# Strength ------------------------------------------------------------------------------------


def _strengths(tree: RangeTree, s: int) -> Floats:
    units: Any = tree.units
    cards: Ints = units.dealt[s].cards
    if s == len(tree.streets) - 1:
        made = [_shown(tree, cards[at : at + BATCH]) for at in range(0, len(cards), BATCH)]
        return np.concatenate(made)
    below, weight = _strengths(tree, s + 1), tree.boards.weight[_units(tree, s + 1)]
    free = _free(tree, units.dealt[s + 1].cards)
    ends = np.searchsorted(_parents(tree, s + 1), np.arange(len(cards) + 1))
    total, count = np.empty((2, len(cards), below.shape[1]))
    for u in range(len(cards)):
        some = slice(ends[u], ends[u + 1])
        total[u], count[u] = weight[some] @ below[some], weight[some] @ free[some]
    for rows, classes in _kinds(tree, s):  # a board below stands for those that suits make of it
        for table in (total, count):
            sums = np.zeros((len(rows), len(classes)))
            np.add.at(sums.T, classes, table[rows].T)
            table[rows] = sums[:, classes]
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0)


def _free(tree: RangeTree, cards: Ints) -> Mask:
    """[u, hand] whether the board leaves it."""
    taken = np.bitwise_or.reduce(np.uint64(1) << cards.astype(np.uint64), axis=1, initial=0)
    left: Mask = (tree.holdem.deck.hand_masks & taken[:, None]) == 0
    return left


def _shown(tree: RangeTree, cards: Ints) -> Floats:
    """[u, hand] strength where hands are shown down.

    Hands that are weaker, twice, and equal ones: sums by rank over all hands, less those over the
    hands with either card. The hand itself is in both, so it is put back once.
    """
    deck, boards = tree.holdem.deck, len(cards)
    group, groups = dense_ranks(rank_hands(cards, deck), np.arange(deck.num_hands))
    many, free, unit = int(groups.max()), group >= 0, np.arange(boards)[:, None]
    line = np.where(free, group.astype(np.int64) * boards + unit, many * boards)

    def below(places: list[Ints], bins: int) -> Ints:
        """Weaker twice and equal once, by group."""
        met = sum(
            np.bincount(each.ravel(), minlength=(many + 1) * boards * bins) for each in places
        )
        table: Ints = np.asarray(met).reshape(many + 1, -1)
        return (2 * np.cumsum(table, axis=0) - table).ravel()

    by_card = [line * deck.size + card for card in deck.hands.T]
    every, shared = below([line], 1), below(by_card, deck.size)
    score = every[line] - shared[by_card[0]] - shared[by_card[1]] + 1
    return np.where(free, score, 0) / (2 * math.comb(deck.size - cards.shape[1] - 2, 2))


def _equal_mass(tree: RangeTree, s: int, strength: Floats, count: int) -> Map:
    """Buckets in the order of strength, the same mass in each as near as can be."""
    held = _held_mask(tree, s)
    at = np.flatnonzero(held)
    mass = np.repeat(_chance(tree, s), held.sum(1))
    order = np.argsort(strength.ravel()[at], kind="stable")
    middle = np.cumsum(mass[order]) - mass[order] / 2
    found = np.full(held.shape, -1, np.int32)
    found.ravel()[at[order]] = np.minimum(count * middle / mass.sum(), count - 1)
    found = _alike(tree, s, found)
    number = np.zeros(count + 1, np.int32)  # the last is of hands that nobody holds
    number[found[held]] = 1
    number = np.cumsum(number, dtype=np.int32) - np.int32(1)
    return number[found]
