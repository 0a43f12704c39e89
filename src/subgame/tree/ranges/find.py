"""Finding infosets of a range tree by name, without a table of all names.

A tree keeps one of the boards that differ only by a permutation of suits. `Finder` takes any of
them: it looks for a permutation that turns the board into one that the tree has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.isomorphism import card_permutations, hand_permutations
from subgame.tree.ranges.betting_tree import LANES

if TYPE_CHECKING:
    from subgame.tree.ranges.tree import RangeSide

Ints = NDArray[np.int64]
Cards = tuple[int, ...]


class Finder:
    """Sequences of one player's infosets by hand, board and betting."""

    def __init__(self, side: RangeSide) -> None:
        self.side, deck = side, side.holdem.deck
        self.cards = {deck.card_name(card): card for card in range(deck.size)}
        self.hands = {deck.hand_name(hand): hand for hand in range(deck.num_hands)}
        suits = side.holdem.symmetries
        self.card_maps = card_permutations(deck)[suits].tolist()
        self.hand_maps = hand_permutations(deck)[suits]
        self.boards: dict[Cards, int] = {}
        for s, street in enumerate(side.units.dealt):
            first = side.units.first[s]
            for k, cards in enumerate(street.cards.tolist()):
                self.boards[board_key(cards)] = first + k
        self.decisions = [
            {str(state): j for j, state in enumerate(street.states[side.player])}
            for street in side.streets
        ]
        self.found: dict[Cards, tuple[int, Ints]] = {}

    def board(self, cards: Sequence[int]) -> tuple[int, Ints]:
        """The tree's board, and the index there of each hand on `cards`: [hand], -1 for no hand.

        It raises a KeyError if the tree has no such board.
        """
        key = board_key(cards)
        if key not in self.found:
            images = (board_key([image[card] for card in cards]) for image in self.card_maps)
            k, u = next(
                ((k, self.boards[image]) for k, image in enumerate(images) if image in self.boards),
                (-1, -1),
            )
            if k < 0:
                raise KeyError(cards)
            held, places = self.side.units[u].held(self.side.player)
            at = np.full(self.side.holdem.deck.num_hands, -1)
            at[held] = places
            self.found[key] = u, at[self.hand_maps[k]]
        return self.found[key]

    def cells(self, cards: Sequence[int], line: str) -> tuple[tuple[str, ...], Ints, int]:
        """The actions of a decision, each hand's first sequence [hand], and the stride of actions.

        A hand that the player cannot hold has -1.
        """
        u, at = self.board(cards)
        side, p = self.side, self.side.player
        s = int(side.units.boards.street[u])
        street = side.streets[s]
        j = self.decisions[s][line]
        edges = street.rows[p] - len(street.roots)
        start = int(side.units.boards.store_at[2 * u + p])
        start += (street.first[p][j] - len(street.roots)) * LANES
        first = np.where(at < 0, -1, start + at // LANES * (edges * LANES) + at % LANES)
        return street.actions[p][j], first, LANES

    def parse(self, name: str) -> tuple[int, Cards, str]:
        """Hand, board and betting that an infoset's name consists of, or a KeyError."""
        parts = name.split(" | ")
        if len(parts) != 3:
            raise KeyError(name)
        return self.hands[parts[0]], tuple(self.cards[card] for card in parts[1].split()), parts[2]

    def sequences(self, name: str) -> tuple[tuple[str, ...], Ints]:
        """The actions of an infoset and its sequences, or a KeyError."""
        hand, board, line = self.parse(name)
        actions, first, stride = self.cells(board, line)
        if first[hand] < 0:
            raise KeyError(name)
        return actions, first[hand] + stride * np.arange(len(actions))


def board_key(cards: Sequence[int]) -> Cards:
    """A board in one order: the flop's cards were dealt together."""
    return (*sorted(cards[:3]), *cards[3:])
