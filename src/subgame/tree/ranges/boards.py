"""The boards of a hold'em tree, and what can be asked of one player's part of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import Holdem
from subgame.tree.public_tree import OnDemand, Reals
from subgame.tree.ranges import deal
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.deal import Dealt
from subgame.tree.ranges.hand_order import BoardArrays

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Board:
    """One board of a tree; its hands are looked up on demand."""

    cards: tuple[int, ...]
    street: int
    parent: int
    weight: float
    number: int
    of: BoardList = field(repr=False, compare=False)

    @property
    def symmetries(self) -> Ints:
        """The suit permutations that change neither the board nor the ranges."""
        place = self.number - self.of.first[self.street]
        bits = int(self.of.dealt[self.street].symmetries[place])
        return np.array([k for k in range(bits.bit_length()) if bits >> k & 1], dtype=np.int64)

    @property
    def hands(self) -> tuple[Ints, Ints]:
        """[h] each player's hands in the kernels' order; merged hands are next to each other."""
        return self.held(0)[0], self.held(1)[0]

    def held(self, p: int) -> tuple[Ints, Ints]:
        """[h] player `p`'s hands, and the index that each has in the kernels' order."""
        b, cards = self.of.boards, self.of.cards
        at = int(b.hand_at[2 * self.number + p])
        hands = b.hand[at : at + int(b.hands[2 * self.number + p])].astype(np.int64)
        places = np.arange(len(hands))
        if not cards.merged:
            return hands, places
        of = np.zeros(self.of.deck.num_hands, dtype=np.int64)
        of[hands] = places
        every = cards.kept[p]
        every = every[self.of.deck.hand_masks[every] & self.of.deck.mask(self.cards) == 0]
        places = of[cards.first[every]]
        order = np.argsort(places, kind="stable")
        return every[order], places[order]

    @property
    def ranks(self) -> NDArray[np.int16]:
        """[hand] strength ranks; all equal before the last street. Computed on each call."""
        if self.street == len(self.of.dealt) - 1:
            return rank_hands(self.cards, self.of.deck)
        return np.zeros(self.of.deck.num_hands, dtype=np.int16)


class BoardList(OnDemand[Board]):
    """All boards of a tree, street by street; a `Board` is created on demand."""

    def __init__(
        self, deck: Deck, dealt: list[Dealt], boards: BoardArrays, cards: deal.Cards
    ) -> None:
        self.deck, self.dealt, self.boards, self.cards = deck, dealt, boards, cards
        self.first = [0, *itertools.accumulate(len(street.cards) for street in dealt)]
        super().__init__(self.first[-1], self._board)

    @cached_property
    def chance(self) -> Floats:
        """[u] the probability of a board's cards given both hands, times the boards it represents.

        That is the product of `BoardArrays.weight` down to it.
        """
        chances = [self.dealt[0].weight]
        for street in self.dealt[1:]:
            chances.append(chances[-1][street.parent] * street.weight)
        return np.concatenate(chances)

    def _board(self, u: int) -> Board:
        s = int(self.boards.street[u])
        k, street = u - self.first[s], self.dealt[s]
        above = int(street.parent[k])
        parent = above if above < 0 else above + self.first[s - 1]
        cards = tuple(street.cards[k].tolist())
        return Board(cards, s, parent, float(street.weight[k]), u, self)


class Seat(Protocol):
    """One player's part of a tree: `subgame.tree.ranges.tree.RangeSide`."""

    @property
    def player(self) -> int: ...
    @property
    def holdem(self) -> Holdem: ...
    @property
    def streets(self) -> list[Street]: ...
    @property
    def units(self) -> BoardList: ...
    @property
    def names(self) -> Sequence[str]: ...

    def name(self, i: int) -> str: ...

    def number(self, u: int, j: int, h: int) -> int: ...

    def cells(self, u: int, j: int) -> Ints: ...

    def street_block(self, numbers: Reals, s: int) -> Reals: ...
