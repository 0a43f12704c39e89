"""Makes ``subgame/data/preflop.npz``: exact equities before the flop.

    python tools/preflop_data.py FOLDER

It takes 77 seconds on one core of 2.6 GHz. `make` also has the equities on every flop, which
`tools/flop_subsets.py` needs.

It goes through the 134,459 boards of five cards that differ not only by suit. On each, the 1,081
hands are sorted by rank. What a class of hands wins from another is the sum over all pairs of their
hands, less the pairs that share a card.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.isomorphism import canonical_boards, canonicalise
from subgame.games.holdem.ranges import class_of

Ints = NDArray[np.int64]
BATCH = 512
CLASSES = 169
RUNOUTS = 1_712_304
"""Boards that are left for two hands."""


@njit(cache=True)
def _count(boards: Any, hands: Any, sums: Any) -> None:
    """Add some boards (ranks, order, weight, flops) to the sums, with tables of the hands."""
    ranks, order, weight, flops = boards
    classes, cards, with_card = hands
    score, won, met = sums
    for b in range(len(ranks)):
        table = np.zeros((CLASSES, CLASSES), np.int64)
        below, level = np.zeros(CLASSES, np.int64), np.zeros(CLASSES, np.int64)
        cards_below, cards_level = np.zeros(52, np.int64), np.zeros(52, np.int64)
        beaten, mine, count = 0, np.zeros(CLASSES, np.int64), np.zeros(CLASSES, np.int64)
        first = 0
        while ranks[b, order[b, first]] < 0:  # the board blocks these hands
            first += 1
        while first < ranks.shape[1]:
            last = first
            rank = ranks[b, order[b, first]]
            level[:] = 0
            cards_level[:] = 0
            while last < ranks.shape[1] and ranks[b, order[b, last]] == rank:
                hand = order[b, last]
                level[classes[hand]] += 1
                cards_level[cards[hand, 0]] += 1
                cards_level[cards[hand, 1]] += 1
                last += 1
            for k in range(first, last):
                hand = order[b, k]
                c, one, two = classes[hand], cards[hand, 0], cards[hand, 1]
                for j in range(CLASSES):
                    table[c, j] += 2 * below[j] + level[j]
                # Weaker hands twice and equal ones once, less those with a card of this hand.
                shared = 2 * (cards_below[one] + cards_below[two])
                shared += cards_level[one] + cards_level[two] - 1
                mine[c] += 2 * beaten + (last - first) - shared
                count[c] += 1
            for j in range(CLASSES):
                below[j] += level[j]
            for j in range(52):
                cards_below[j] += cards_level[j]
            beaten += last - first
            first = last
        for card in range(52):  # pairs that share a card
            for i in range(51):
                one = with_card[card, i]
                if ranks[b, one] < 0:
                    continue
                for j in range(i):
                    two = with_card[card, j]
                    if ranks[b, two] < 0:
                        continue
                    a, z = classes[one], classes[two]
                    if ranks[b, one] == ranks[b, two]:
                        table[a, z] -= 1
                        table[z, a] -= 1
                    elif ranks[b, one] > ranks[b, two]:
                        table[a, z] -= 2
                    else:
                        table[z, a] -= 2
        for i in range(CLASSES):
            table[i, i] -= count[i]  # each hand with itself
            for j in range(CLASSES):
                score[i, j] += weight[b] * table[i, j]
        for flop in flops[b]:
            for i in range(CLASSES):
                won[flop, i] += weight[b] * mine[i]
                met[flop, i] += weight[b] * count[i]


def make(limit: int | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of the file; `limit` takes only the first boards, to try it out."""
    boards, flops = canonical_boards((5,)), canonical_boards((3,))
    keys = flops.cards @ np.array([1 << 12, 1 << 6, 1])
    with_card = np.array(
        [[h for h in range(DECK.num_hands) if card in DECK.hands[h]] for card in range(52)]
    )
    score = np.zeros((CLASSES, CLASSES), dtype=np.int64)
    won, met = np.zeros((2, len(keys), CLASSES), dtype=np.int64)
    below = np.array(list(itertools.combinations(range(5), 3)))
    began = time.perf_counter()
    for at in range(0, len(boards.cards) if limit is None else limit, BATCH):
        cards = boards.cards[at : at + BATCH]
        ranks = rank_hands(cards)
        form, _ = canonicalise(cards[:, below], (3,))
        place = np.searchsorted(keys, form @ np.array([1 << 12, 1 << 6, 1]))
        order = np.argsort(ranks, axis=1, kind="stable")
        arguments = (ranks, order, boards.weights[at : at + BATCH], place)
        _count(arguments, (class_of(DECK), DECK.hands, with_card), (score, won, met))
        if at % (64 * BATCH) == 0:
            print(f"{at:,} boards, {time.perf_counter() - began:.0f} s", file=sys.stderr)
    upper = np.triu_indices(CLASSES)
    equity = won / np.maximum(2 * 990 * met, 1)
    return {"score": score[upper].astype(np.int32), "flop_equity": equity.astype(np.float32)}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    tables = make()
    np.savez_compressed(folder / "preflop.npz", score=tables["score"])
