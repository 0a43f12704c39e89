"""Boards and hands that differ only in the names of the suits.

Cards come in **groups**: within a group the order does not matter, between groups it does. A flop
is the groups ``(3,)``, a flop and a turn ``(3, 1)``, a flop, a turn and a river ``(3, 1, 1)``; a
hand on a flop is ``(3, 2)``, the board first so that the hand's names follow the board's.

The permutations of the suits turn a set of cards into others. The **canonical** one among them is
the smallest in lexicographic order, with each group sorted upwards.

    >>> flops = canonical_boards((3,))
    >>> len(flops.cards), int(flops.weights.sum())
    (1755, 22100)
    >>> count_classes((2,)), count_classes((3, 1)), count_classes((3, 1, 2))
    (169, 63193, 55190538)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK, Deck, frozen
from subgame.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_CARD_BITS = 6
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Boards:
    """The canonical boards of a deck, sorted, with how many boards each stands for."""

    cards: npt.NDArray[np.int64]  # [board, card]
    weights: npt.NDArray[np.int64]  # [board]


@lru_cache(maxsize=8)
def suit_permutations(deck: Deck = DECK) -> Ints:
    """Every permutation of the suits, the identity first: [permutation, suit] -> suit."""
    return frozen(np.array(list(itertools.permutations(range(deck.num_suits)))))


@lru_cache(maxsize=8)
def card_permutations(deck: Deck = DECK) -> Ints:
    """What each permutation of the suits makes of a card: [permutation, card] -> card."""
    rank, suit = np.divmod(np.arange(deck.size), deck.num_suits)
    return frozen(rank * deck.num_suits + suit_permutations(deck)[:, suit])


@lru_cache(maxsize=8)
def hand_permutations(deck: Deck = DECK) -> Ints:
    """What each permutation of the suits makes of a hand: [permutation, hand] -> hand.

    Values of the canonical board's hands are those of any board it stands for, renamed: with the
    permutation p that `canonicalise` gives, ``values = canonical_values[hand_permutations()[p]]``.
    """
    cards = card_permutations(deck)[:, deck.hands]
    return frozen(deck.hand_index(cards[..., 0], cards[..., 1]))


def canonicalise(
    cards: npt.ArrayLike, groups: Sequence[int], deck: Deck = DECK
) -> tuple[Ints, Ints]:
    """The canonical form of each set of cards, and a permutation of the suits that leads to it.

    ``cards`` is [..., card] with the cards of each group side by side; the answers are [..., card]
    and, as indices into `suit_permutations`, [...].

    >>> form, permutation = canonicalise(DECK.parse("2h Js Qs 2s"), (3, 1))
    >>> DECK.name(form)
    '2cJdQd2d'
    """
    array = np.asarray(cards, dtype=np.int64)
    _check_groups(groups, deck)
    if array.ndim == 0 or array.shape[-1] != sum(groups):
        raise SubgameError(
            f"The groups {tuple(groups)} take {sum(groups)} cards along the last axis; "
            f"the array has the shape {array.shape}."
        )
    deck.check_range(array)
    shape = array.shape[:-1]
    best, permutation = _least(array.reshape(math.prod(shape), array.shape[-1]), groups, deck)
    return _unpack(best, sum(groups)).reshape(array.shape), permutation.reshape(shape)


@lru_cache(maxsize=16)
def canonical_boards(groups: tuple[int, ...], deck: Deck = DECK) -> Boards:
    """All the canonical boards whose cards come in these groups, and their multiplicities.

    1,755 for ``(3,)``; 63,193 for ``(3, 1)``, in half a second; 2,554,656 for ``(3, 1, 1)``.
    """
    _check_groups(groups, deck)
    if not groups:
        return Boards(frozen(np.zeros((1, 0), dtype=np.int64)), frozen(np.ones(1, np.int64)))
    above = canonical_boards(groups[:-1], deck)
    count = math.comb(deck.size, groups[-1])
    every = itertools.combinations(range(deck.size), groups[-1])
    added: Ints = np.fromiter(every, dtype=np.dtype((np.int64, groups[-1])), count=count)
    added_bits, above_bits = deck.masks(added), deck.masks(above.cards)
    batches: list[Ints] = []
    found_weights: list[Ints] = []
    step = max(1, _CHUNK // count)
    # Deals below different boards are never the same.
    for start in range(0, len(above.cards), step):
        free = (above_bits[start : start + step, None] & added_bits[None, :]) == 0
        board, card = np.nonzero(free)
        cards = np.concatenate([above.cards[start + board], added[card]], axis=1)
        keys, back = np.unique(_least(cards, groups, deck)[0], return_inverse=True)
        batches.append(keys)
        weights = np.bincount(back, weights=above.weights[start + board])
        found_weights.append(np.rint(weights).astype(np.int64))
    cards = _unpack(np.concatenate(batches), sum(groups))
    return Boards(frozen(cards), frozen(np.concatenate(found_weights)))


def count_classes(groups: Sequence[int], deck: Deck = DECK) -> int:
    """How many sets of cards in these groups there are, up to the names of the suits.

    >>> count_classes((3, 2)), count_classes((3, 1, 1, 2))
    (1286792, 2428287420)
    """
    _check_groups(groups, deck)
    return count_orbits(card_permutations(deck), (), groups)


def count_orbits(permutations: Ints, without: Sequence[int], groups: Sequence[int]) -> int:
    """How many sets of cards in these groups there are, up to some permutations of the cards.

    Burnside's lemma: the mean, over the permutations, of how many sets each leaves as they are.
    Such a set takes the cycles of the permutation whole, so that their number is the coefficient
    of x₁^g₁ x₂^g₂ ... in the product over the cycles of (1 + x₁^length + x₂^length + ...). The
    permutations map the cards that are left out to themselves.
    """
    total = 0
    for permutation in permutations.tolist():
        ways = {(0,) * len(groups): 1}
        left = set(range(len(permutation))) - set(without)
        while left:
            length, at = 0, min(left)
            while at in left:
                left.remove(at)
                at, length = permutation[at], length + 1
            after = dict(ways)
            for taken, count in ways.items():
                for group, size in enumerate(groups):
                    if taken[group] + length <= size:
                        key = (*taken[:group], taken[group] + length, *taken[group + 1 :])
                        after[key] = after.get(key, 0) + count
            ways = after
        total += ways.get(tuple(groups), 0)
    return total // len(permutations)


def _check_groups(groups: Sequence[int], deck: Deck) -> None:
    if any(size < 1 for size in groups) or sum(groups) > min(deck.size, 63 // _CARD_BITS):
        raise SubgameError(
            f"Groups of cards are positive and add up to at most {min(deck.size, 63 // _CARD_BITS)}"
            f" cards; {tuple(groups)} do not."
        )


def _least(cards: Ints, groups: Sequence[int], deck: Deck) -> tuple[Ints, Ints]:
    """The least key of each set of cards and the permutation that gives it: [set], [set]."""
    least, permutation = np.empty((2, len(cards)), dtype=np.int64)
    for start in range(0, len(cards), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        keys = _all_keys(cards[chunk], groups, deck)
        permutation[chunk] = keys.argmin(0)
        least[chunk] = keys.min(0)
    return least, permutation


def _all_keys(cards: Ints, groups: Sequence[int], deck: Deck) -> Ints:
    """What every permutation makes of the cards, packed into a sortable key: [permutation, set]."""
    moved = card_permutations(deck)[:, cards]
    key = np.zeros(moved.shape[:-1], dtype=np.int64)
    start = 0
    for size in groups:
        group = moved[..., start : start + size]
        if size > 1:
            group = np.sort(group, axis=-1)
        for i in range(size):
            key = key << _CARD_BITS | group[..., i]
        start += size
    return key


def _unpack(keys: Ints, count: int) -> Ints:
    """The cards of packed keys: [..., card]."""
    shifts = _CARD_BITS * np.arange(count - 1, -1, -1)
    cards: Ints = keys[..., None] >> shifts & ((1 << _CARD_BITS) - 1)
    return cards


def same_cards(
    board: Sequence[int],
    to_come: int,
    ranges: Iterable[npt.NDArray[np.float64]],
    deck: Deck = DECK,
) -> Ints:
    """[card] the lowest card that each card is equivalent to.

    Two cards of one rank are the same if no flush is possible in their suits, with `to_come`
    cards yet to be dealt, and exchanging them leaves the ranges (weights by hand) unchanged. Two
    suits are the same in all ranks or in none.

    >>> same = same_cards(DECK.parse("Qs Jh 2h 8d 3c"), 0, [np.ones(DECK.num_hands)])
    >>> len(set(same.tolist())) - 5, len(set(same_cards((), 5, []).tolist()))
    (13, 52)
    """
    suits = deck.num_suits
    suit = np.arange(deck.size) % suits
    there = np.isin(np.arange(deck.size), board)
    held = np.bincount(suit[there], minlength=suits)
    dead = np.flatnonzero(held + to_come + 2 < 5)
    ranges = [np.where(np.isin(deck.hands, board).any(1), 0.0, weights) for weights in ranges]
    groups: list[list[int]] = []
    for one in dead.tolist():
        for group in groups:
            if all(_exchangeable(deck, there, one, other, ranges) for other in group):
                group.append(one)
                break
        else:
            groups.append([one])
    same = np.arange(deck.size)
    for group in groups:
        first: dict[int, int] = {}
        for card in np.flatnonzero(np.isin(suit, group) & ~there).tolist():
            same[card] = first.setdefault(card // suits, card)
    return same


def _exchangeable(
    deck: Deck,
    there: npt.NDArray[np.bool_],
    one: int,
    other: int,
    ranges: Iterable[npt.NDArray[np.float64]],
) -> bool:
    """Whether every two cards of one rank and these suits, off the board, can change places."""
    first = np.arange(0, deck.size, deck.num_suits)
    first = first[~there[first + one] & ~there[first + other]]
    rows = np.arange(len(first))
    for weights in ranges:
        with_card = weights[deck.hand_table]  # [card, card] the weight of the hand
        same = with_card[first + one] == with_card[first + other]
        for suit in (one, other):  # both cards, or one of them twice
            same[rows, first + suit] = True
        if not same.all():
            return False
    return True
