"""Points: what card abstraction clusters, the hands on all boards up to suit symmetry.

    >>> from subgame.games.holdem.cards import DECK
    >>> flop = points(DECK, 3)
    >>> len(flop.boards), len(flop.mass), int(flop.mass.sum())
    (1755, 1286792, 25989600)

The order in which board cards came does not matter: a turn has 13,960,050 points, not the
55,190,538 of a player who remembers which card came last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.isomorphism import (
    canonical_boards,
    canonicalise,
    card_permutations,
    hand_permutations,
)

Ints = NDArray[np.int64]
Index = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Points:
    """All hands on all boards of one number of cards. Axes: b = canonical board, h = hand."""

    deck: Deck
    boards: Ints  # [b, card]
    index: Index  # [b, h] the point of each hand; -1 if the board blocks it
    mass: Ints  # [point] how many deals of a board and a hand it stands for

    @property
    def cards(self) -> int:
        """The number of cards on a board."""
        return int(self.boards.shape[1])

    def __len__(self) -> int:
        return len(self.mass)

    def of(self, cards: Ints) -> Index:
        """[board, h] the points of all hands on any boards ``[board, card]``, in any order."""
        form, permutation = (
            canonicalise(cards, (self.cards,), self.deck)
            if self.cards
            else (cards, np.zeros(len(cards), np.int64))
        )
        at = np.searchsorted(keys(self.boards), keys(form))
        index: Index = self.index[at[:, None], hand_permutations(self.deck)[permutation]]
        return index

    def starts(self) -> Ints:
        """[b + 1] where the points of each board begin."""
        return np.append(0, self.index.max(1).astype(np.int64) + 1)


@lru_cache(maxsize=4)
def points(deck: Deck, cards: int) -> Points:
    """The points of boards with so many cards: none, or from 3 to 5."""
    if cards not in (0, 3, 4, 5):
        raise SubgameError(f"A board of hold'em has 0, 3, 4 or 5 cards, not {cards}.")
    boards = canonical_boards((cards,) if cards else (), deck)
    every = np.arange(deck.num_hands)
    taken = np.bitwise_or.reduce(
        np.uint64(1) << boards.cards.astype(np.uint64), axis=1, initial=0, dtype=np.uint64
    )
    free = (deck.hand_masks & taken[:, None]) == 0
    moved = np.sort(card_permutations(deck)[:, boards.cards], axis=2)  # [permutation, b, card]
    same = (moved == np.sort(boards.cards, axis=1)).all(2)
    kinds, kind = np.unique(same, axis=1, return_inverse=True)
    classes = np.stack([hand_permutations(deck)[permutations].min(0) for permutations in kinds.T])
    first = free & (classes == every)[kind.ravel()]
    number = np.cumsum(first.ravel(), dtype=np.int32).reshape(first.shape) - np.int32(1)
    index = np.take_along_axis(number, classes[kind.ravel()], axis=1)
    index[~free] = -1
    weight = np.broadcast_to(boards.weights[:, None], free.shape)[free]
    mass = np.bincount(index[free], weight).astype(np.int64)
    for array in (index, mass):
        array.flags.writeable = False
    return Points(deck, boards.cards, index, mass)


def keys(cards: Ints) -> Ints:
    """Boards as numbers in the same order."""
    key = np.zeros(len(cards), dtype=np.int64)
    for column in cards.T:
        key = key << 6 | column
    return key
