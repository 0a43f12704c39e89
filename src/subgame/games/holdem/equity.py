"""Equity at the showdown: how often a hand wins against the hands of a group, ties counting half.

>>> from subgame.games.holdem.cards import DECK
>>> board = np.array([DECK.parse("Qs Js Ts 2h 2d")])
>>> won, met = equities(board, DECK, np.ones((1, DECK.num_hands)))
>>> hand = DECK.parse_hand("AsKs")
>>> float(won[0, hand, 0] / met[0, hand, 0]), int(met[0, hand, 0])
(1.0, 990)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def equities(boards: Ints, deck: Deck, groups: Floats) -> tuple[Floats, Floats]:
    """[board, hand, group] mass that each hand beats, and mass that it meets; 0 if blocked.

    `boards` is [board, card] with the cards of the showdown; `groups` [group, hand] has the mass of
    every hand in each group. The first divided by the second is the equity.

    Weaker hands count twice and equal hands once: the sum by rank over all hands, minus the sums
    over the hands with either card. Both subtract the hand itself, so it is added back once.
    """
    rank, ranks = dense_ranks(rank_hands(boards, deck), np.arange(deck.num_hands))
    many, free = len(boards), rank >= 0
    lines, board = int(ranks.max(initial=0)) + 1, np.arange(many)[:, None]
    line = np.where(free, rank, lines - 1).astype(np.int64) * many + board  # blocked ones last
    low, high = deck.hands.T
    won, met = np.zeros((2, *rank.shape, len(groups)))

    def below(places: list[Ints], mass: Floats, bins: int) -> tuple[Floats, Floats]:
        """By rank: weaker hands twice and equal hands once; and all hands."""
        size = lines * many * bins
        found = sum(np.bincount(each.ravel(), mass.ravel(), size) for each in places)
        table: Floats = np.asarray(found).reshape(lines, many * bins)
        return (2 * np.cumsum(table, axis=0) - table).ravel(), table.sum(0)

    for k, group in enumerate(groups):
        mass = np.where(free, group, 0.0)
        cards = [line * deck.size + card for card in (low, high)]
        every, total = below([line], mass, 1)
        shared, by_card = below(cards, mass, deck.size)
        score = every[line] - shared[cards[0]] - shared[cards[1]] + mass
        blocked = by_card[board * deck.size + low] + by_card[board * deck.size + high]
        won[..., k] = np.where(free, score / 2, 0)
        met[..., k] = np.where(free, total[:, None] - blocked + mass, 0)
    return won, met


def dense_ranks(ranks: NDArray[np.int16], anyone: Ints) -> tuple[NDArray[np.int16], Ints]:
    """[u, hand] ranks counted from 0 among the hands in `anyone`, and [u] how many there are."""
    width = int(ranks.max(initial=0)) + 2
    at = ranks + (np.arange(len(ranks)) * width + 1)[:, None]
    there = np.zeros(len(ranks) * width, dtype=np.bool_)
    there[at[:, anyone]] = True
    number = there.reshape(len(ranks), width)
    number[:, 0] = False  # blocked
    dense = np.cumsum(number, axis=1, dtype=np.int16) - np.int16(1)
    return dense.take(at), dense[:, -1].astype(np.int64) + 1
