"""`BoardIndex`: the canonical form of every board of a number of cards, by one look-up.

    >>> from subgame.games.holdem.cards import DECK
    >>> flops = BoardIndex.of(DECK, 3)
    >>> len(flops.boards), len(flops.form)
    (1755, 22100)

A table ``[canonical board, hand]`` then has a row for every board: hands are renamed by the suit
permutation that leads to the canonical one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.isomorphism import canonicalise, hand_permutations

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BoardIndex:
    """All boards of one number of cards, in any order of the cards. Axis: c = combination."""

    deck: Deck
    boards: Ints  # [canonical board, card]
    weight: Ints  # [canonical board] how many boards it stands for
    form: NDArray[np.int32]  # [c] the canonical board
    permutation: NDArray[np.uint8]  # [c] of the suits, that leads to it

    @classmethod
    def of(cls, deck: Deck, cards: int) -> BoardIndex:
        """The index of boards of so many cards; kept for later calls."""
        return _index(deck, cards)

    def combination(self, cards: Array) -> Array:
        """[...] the number of each board ``[..., card]``, of NumPy or PyTorch."""
        ordered = np.sort(cards, -1) if isinstance(cards, np.ndarray) else cards.sort(-1).values
        return _ranked(ordered)

    def rows(self, cards: Ints) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """[board] the canonical board, and [board, hand] the hand there of each hand."""
        at = self.combination(cards)
        return self.form[at], hand_permutations(self.deck)[self.permutation[at]]

    def row(self, board: tuple[int, ...], hand: int) -> tuple[int, int]:
        """The canonical board of an ascending board, and the hand there of a hand."""
        at = sum(math.comb(card, place) for place, card in enumerate(board, 1))
        return int(self.form[at]), int(hand_permutations(self.deck)[self.permutation[at], hand])


def _ranked(cards: Array) -> Array:
    """The number of each ascending combination: the sum of C(card, place + 1)."""
    total = 0
    for place in range(cards.shape[-1]):
        product, card = 1, cards[..., place]
        for k in range(place + 1):
            product = product * (card - k)
        total = total + product // math.factorial(place + 1)
    return total


@lru_cache(maxsize=8)
def _index(deck: Deck, cards: int) -> BoardIndex:
    if not cards:
        one = np.zeros(1, dtype=np.int64)
        return BoardIndex(
            deck, np.zeros((1, 0), np.int64), one + 1, one.astype(np.int32), one.astype(np.uint8)
        )
    count = math.comb(deck.size, cards)
    pairs = np.dtype((np.int64, cards))
    every = np.fromiter(itertools.combinations(range(deck.size), cards), dtype=pairs, count=count)
    form, permutation = canonicalise(every, (cards,), deck)
    boards, number, weight = np.unique(
        _ranked(form), return_index=True, return_inverse=False, return_counts=True
    )
    place = np.empty(count, dtype=np.int32)
    at = _ranked(every)
    place[at] = np.searchsorted(boards, _ranked(form))
    moved = np.empty(count, dtype=np.uint8)
    moved[at] = permutation
    return BoardIndex(deck, form[number], weight, place, moved)
