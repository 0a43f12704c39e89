"""Equity at the showdown: how often a hand wins against the hands of a group, ties counting half.

>>> from subgame.games.holdem.cards import DECK
>>> board = np.array([DECK.parse("Qs Js Ts 2h 2d")])
>>> won, met = equities(board, DECK, np.ones((1, DECK.num_hands)))
>>> hand = DECK.parse_hand("AsKs")
>>> float(won[0, hand, 0] / met[0, hand, 0]), int(met[0, hand, 0])
(1.0, 990)
"""

from __future__ import annotations

from typing import Any

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

    """
    rank, _ = dense_ranks(rank_hands(boards, deck), np.arange(deck.num_hands))
    masses = [beaten(np, rank.astype(np.int64), deck.hands, deck.size, group) for group in groups]
    won, met = (np.stack(by_group, axis=-1) for by_group in zip(*masses, strict=True))
    return won, met


def beaten(xp: Any, rank: Any, hands: Any, cards: int, group: Any) -> tuple[Any, Any]:
    """[board, hand] mass of a group that each hand beats, and mass that it meets; 0 if blocked.

    `rank` [board, hand] is that of `dense_ranks` in 64 bits, `hands` [hand, 2] are cards below
    `cards`, and `group` [hand] has the mass. All are arrays of the library `xp`, NumPy or PyTorch.

    Weaker hands count twice and equal hands once: the sum by rank over all hands, minus the sums
    over the hands with either card. Both subtract the hand itself, so it is added back once.
    """
    many, free = len(rank), rank >= 0
    lines, board = int(rank.max()) + 2, xp.cumsum(rank[:, :1] * 0 + 1, 0) - 1
    line = xp.where(free, rank, lines - 1) * many + board  # blocked ones last
    low, high = hands.T
    mass = xp.where(free, group, 0.0)

    def below(places: list[Any], bins: int) -> tuple[Any, Any]:
        """By rank: weaker hands twice and equal hands once; and all hands."""
        size = lines * many * bins
        counts = [xp.bincount(place.reshape(-1), mass.reshape(-1), size) for place in places]
        table = sum(counts[1:], counts[0]).reshape(lines, many * bins)
        return (2 * xp.cumsum(table, 0) - table).reshape(-1), table.sum(0)

    both = [line * cards + card for card in (low, high)]
    every, total = below([line], 1)
    shared, by_card = below(both, cards)
    score = every[line] - shared[both[0]] - shared[both[1]] + mass
    blocked = by_card[board * cards + low] + by_card[board * cards + high]
    met = xp.where(free, total[:, None] - blocked + mass, 0.0)
    return xp.where(free, score / 2, 0.0), met


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
