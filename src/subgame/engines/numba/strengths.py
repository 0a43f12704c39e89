"""Strength at the showdown by Numba; `subgame.engines.torch.strengths` says what is computed."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.engines.numba.simd import (
    WIDTH,
    counted,
    load_item,
    store_item,
    views,
    zeros_like,
)
from subgame.games.holdem import evaluate
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import LOW_BITS, SUIT_BITS, SUIT_SHIFT

Ranks = NDArray[np.int16]
Bytes = NDArray[np.uint8]
BINS = 256
LOW = (1 << LOW_BITS) - 1
HIGH = (1 << evaluate.HIGH_BITS) - 1
SUIT = (1 << SUIT_BITS) - 1
FAR = (0, 0, 0)
HANDS, TILE = 4, WIDTH * (1 + len(FAR))
"""Hands that are compared with as many others at a time: their sums stay in registers."""
MOST = np.iinfo(np.int16).max


@njit(cache=True, nogil=True)
def _ranks(boards, keys, hands, of, pairs, starts, place, plain, flush, out):
    """Ranks of hands on boards; `subgame.games.holdem.evaluate` explains the two keys.

    Flushes aside, hands of the same two ranks have the same rank: that of `pairs`. A flush has at
    least three cards of its suit on the board.
    """
    known = np.empty(len(pairs), np.int16)
    for b in range(len(boards)):
        where, what = 0, 0
        for card in boards[b]:
            where |= keys[0, card]
            what += keys[1, card]
        for p in range(len(pairs)):
            # Five cards of one rank would be past the end; every hand of these ranks is blocked.
            code = what + pairs[p]
            high = min((code >> LOW_BITS) & HIGH, len(starts) - 1)
            at = starts[high] + place[min(code & LOW, len(place) - 1)]
            known[p] = plain[min(at, len(plain) - 1)]
        shift = -1
        for suit in range(4):
            if (what >> (SUIT_SHIFT + 4 * suit)) & 15 >= 3:
                shift = SUIT_BITS * suit
        for h in range(len(of)):
            rank = known[of[h]]
            if shift >= 0:
                rank = max(rank, flush[((where | hands[h]) >> shift) & SUIT])
            out[b, h] = -1 if where & hands[h] else rank


@njit(cache=True, nogil=True)
def _hand_score(ranks, hand, hands, table):
    """The score of one hand that is not blocked on a board, as `_scores` has it.

    Without a sign, a blocked hand's rank is the highest: it is neither below nor a tie.
    """
    unsigned = ranks.view(np.uint16)
    mine, score = unsigned[hand], np.uint16(1)  # the hand itself is taken out twice below
    for h in range(len(unsigned)):
        score += np.uint16(unsigned[h] < mine) + np.uint16(unsigned[h] <= mine)
    for card in hands[hand]:
        for other in range(len(table)):
            if other != card:
                rank = unsigned[table[card, other]]
                score -= np.uint16(rank < mine) + np.uint16(rank <= mine)
    return np.int64(score)


@njit(cache=True, nogil=True)
def _hand_quantiles(ranks, hand, hands, table, most, at, out):
    """The quantiles of one hand from the ranks ``[board to come, hand]``, as `_quantiles`."""
    counts = np.zeros(BINS, np.int32)
    for b in range(len(ranks)):
        if ranks[b, hand] >= 0:
            counts[_hand_score(ranks[b], hand, hands, table) * BINS // (most + 1)] += 1
    seen, level = 0, 0
    for q in range(len(at)):
        while seen + counts[level] <= at[q]:
            seen += counts[level]
            level += 1
        out[q] = level


@njit(cache=True, nogil=True)
def _scores(ranks, order, hands, cards, out):
    """Scores of hands from the weakest to the strongest: those below count twice, ties once."""
    with_card = np.zeros((2, cards), np.int64)  # hands below the ties, and up to their end
    for b in range(len(ranks)):
        with_card[:] = 0
        many, below = order.shape[1], 0
        at = 0
        while at < many and ranks[b, order[b, at]] < 0:
            out[b, order[b, at]] = -1
            at += 1
        while at < many:
            end = at
            rank = ranks[b, order[b, at]]
            while end < many and ranks[b, order[b, end]] == rank:
                h = order[b, end]
                with_card[1, hands[h, 0]] += 1
                with_card[1, hands[h, 1]] += 1
                end += 1
            upto = below + end - at
            for k in range(at, end):
                h = order[b, k]
                one, two = hands[h, 0], hands[h, 1]
                # A hand is counted in both of its cards; below it is never itself.
                less = below - with_card[0, one] - with_card[0, two]
                most = upto - with_card[1, one] - with_card[1, two] + 1
                out[b, h] = less + most
            for k in range(at, end):
                h = order[b, k]
                with_card[0, hands[h, 0]] += 1
                with_card[0, hands[h, 1]] += 1
            below, at = upto, end


@njit(cache=True, nogil=True)
def _wins(mine, theirs, wins):
    """On how many boards each hand beats each other one.

    `mine` is [i // HANDS, board, i % HANDS], so that each load of `theirs`, which is
    [j // TILE, board, j % TILE], serves several hands. Sums stay in registers.
    """
    tiles, boards = len(theirs), mine.shape[1]
    them, out = views((theirs, wins))
    for tile in range(tiles):
        for block in range(len(mine)):
            a = b = c = d = zeros_like(load_item(them, 0, FAR))
            for board in range(boards):
                one, two, three, four = mine[block, board]
                other = load_item(them, tile * boards + board, FAR)
                a = counted(a, one, other)
                b = counted(b, two, other)
                c = counted(c, three, other)
                d = counted(d, four, other)
            row = HANDS * block * tiles + tile
            store_item(out, row, FAR, a)
            store_item(out, row + tiles, FAR, b)
            store_item(out, row + 2 * tiles, FAR, c)
            store_item(out, row + 3 * tiles, FAR, d)


@njit(cache=True, nogil=True)
def _ahead(wins, hands, cards, scale, out):
    """[hand, hand] how often one wins minus how often it loses; 0 where they share a card."""
    n = len(hands)
    for i0 in range(0, n, TILE):  # square by square, for one side is read and written by columns
        for j0 in range(0, i0 + 1, TILE):
            for i in range(i0, min(i0 + TILE, n)):
                one, two = cards[hands[i]]
                for j in range(j0, min(j0 + TILE, i)):
                    c, d = cards[hands[j]]
                    if one != c and one != d and two != c and two != d:
                        share = scale * np.float32(np.int32(wins[i, j]) - np.int32(wins[j, i]))
                        out[hands[i], hands[j]] = share
                        out[hands[j], hands[i]] = -share


@njit(cache=True, nogil=True)
def _quantiles(rows, images, bins, at, out):
    """Quantiles by counting the bins of each hand."""
    counts = np.zeros((images.shape[1], BINS), np.int32)
    for b in range(rows.shape[0]):
        counts[:] = 0
        for r in range(rows.shape[1]):
            for h in range(images.shape[1]):
                counts[h, bins[rows[b, r, 0], images[rows[b, r, 1], h]]] += 1
        for h in range(images.shape[1]):
            seen, level = 0, 0
            for q in range(len(at)):
                while seen + counts[h, level] <= at[q]:
                    seen += counts[h, level]
                    level += 1
                out[b, h, q] = level


@njit(cache=True, nogil=True)
def _nearest(rows, centres, unit, out):
    """The nearest centre ``[d, k]`` of each row; the first of several."""
    distance = np.empty(centres.shape[1], np.int32)
    for i in range(len(rows)):
        distance[:] = 0
        for d in range(rows.shape[1]):
            here = np.int32(unit * rows[i, d])
            for k in range(len(distance)):
                apart = np.int32(here - centres[d, k])
                distance[k] += apart * apart
        out[i] = np.argmin(distance)


def scores(ranks: Ranks, deck: Deck) -> Ranks:
    """[board, hand] the score of each hand from the ranks, -1 where it is blocked."""
    order = np.argsort(ranks, axis=1, kind="stable").astype(np.int32)
    out = np.empty_like(ranks)
    _scores(ranks, order, deck.hands, deck.size, out)
    return out


def ranks(boards: NDArray[np.int64], deck: Deck) -> Ranks:
    """[board, hand] as `rank_hands`, without its checks and many times as fast."""
    table, n = evaluate.tables(deck.ranking), boards.shape[1] + 2
    keys = _stacked(deck)
    out = np.empty((len(boards), deck.num_hands), np.int16)
    _ranks(boards, *keys, table.start[n - 5], table.place, table.plain, table.flush, out)
    return out


@lru_cache(maxsize=4)
def mean_ahead(board: tuple[int, ...], final: int, deck: Deck) -> NDArray[np.float32]:
    """[hand, hand] how often a hand wins minus how often it loses, on all boards of `final` cards.

    0 for pairs of hands that share a card with each other or with the board.

    >>> from subgame.games.holdem.cards import DECK
    >>> found = mean_ahead(tuple(DECK.parse("AcKdQh7s")), 5, DECK)
    >>> round(float(found[DECK.parse_hand("AsAh"), DECK.parse_hand("KsKh")]), 3)  # all but one king
    0.955
    """
    return ahead(board, final, deck)


def ahead(
    board: tuple[int, ...], final: int, deck: Deck, strong: float = 1.0, step: int = 1
) -> NDArray[np.float32]:
    """`mean_ahead` over every `step`-th board, counting boards on which both hands are strong.

    Strong hands are the best ones on a board, a share `strong` of all. Where one of the two is not,
    neither counts as ahead.

    >>> from subgame.games.holdem.cards import DECK
    >>> found = ahead(tuple(DECK.parse("AcKdQh7s")), 5, DECK, strong=0.1)
    >>> round(float(found[DECK.parse_hand("AsAh"), DECK.parse_hand("KsKh")]), 3)
    0.773
    >>> float(found[DECK.parse_hand("AsAh"), DECK.parse_hand("3s2h")])
    0.0
    """
    left = [card for card in range(deck.size) if card not in board]
    more = final - len(board)
    boards = np.array([(*board, *cards) for cards in combinations(left, more)], np.int64)
    met = ranks(boards[::step], deck)
    if strong < 1:
        weaker = deck.num_hands - max(1, int(strong * comb(deck.size - final, 2)))
        least = np.partition(met, weaker, axis=1)[:, weaker]
        met[met < np.maximum(least, 0)[:, None]] = -1
    free = np.flatnonzero(deck.compatible(board))
    out = np.zeros((deck.num_hands, deck.num_hands), np.float32)
    scale = np.float32(step / comb(len(left) - 4, more))
    _ahead(_beaten(met[:, free]), free, deck.hands, scale, out)
    return out


def _beaten(ranks: Ranks) -> Ranks:
    """[i, j] on how many boards hand i beats hand j; a blocked hand neither wins nor loses."""
    boards, hands = ranks.shape
    wide = np.full((boards, -(-hands // TILE) * TILE), -1, np.int16)
    wide[:, :hands] = ranks

    def tiles(ranks: Ranks, size: int) -> Ranks:
        return np.ascontiguousarray(ranks.reshape(boards, -1, size).transpose(1, 0, 2))

    wins = np.empty((wide.shape[1], wide.shape[1]), np.int16)
    _wins(tiles(wide, HANDS), tiles(np.where(wide < 0, MOST, wide), TILE), wins)
    return wins[:hands, :hands]


@lru_cache(maxsize=8)
def _stacked(deck: Deck) -> tuple[NDArray[Any], ...]:
    """[key, card], [hand] where, [hand] which two ranks it has, and [two ranks] what."""
    where, what = evaluate.hand_keys(deck)
    pairs, of = np.unique(what & ((1 << SUIT_SHIFT) - 1), return_inverse=True)
    return np.stack(evaluate.card_keys(deck)), where, of.astype(np.uint8), pairs


def hand_score(ranks: Ranks, hand: int, deck: Deck) -> int:
    """The score of one hand from the ranks ``[hand]`` of all; the board does not block it."""
    return int(_hand_score(ranks, hand, deck.hands, deck.hand_table))


def hand_quantiles(ranks: Ranks, hand: int, deck: Deck, most: int, at: list[int]) -> Bytes:
    """[quantile] of one hand from the ranks ``[board to come, hand]``; see `quantiles`."""
    out = np.empty(len(at), np.uint8)
    _hand_quantiles(ranks, hand, deck.hands, deck.hand_table, most, np.array(at), out)
    return out


def score_bins(scores: Ranks, most: int) -> Bytes:
    """Scores from 0 to `most` as bytes; the highest byte where the hand is blocked."""
    share = scores.astype(np.int32) * BINS // (most + 1)
    share[scores < 0] = BINS - 1
    return share.astype(np.uint8)


def quantiles(
    rows: NDArray[np.int32], images: NDArray[np.int64], bins: Bytes, at: list[int]
) -> Bytes:
    """[board, hand, quantile] the bins at some places of each hand's sorted boards to come.

    `rows` is [board, board to come, 2]: the row of `bins` and the permutation of the hands.
    """
    out = np.empty((len(rows), images.shape[1], len(at)), np.uint8)
    _quantiles(rows, images, bins, np.array(at), out)
    return out


def nearest(rows: Bytes, centres: Ranks, unit: int) -> Ranks:
    """[point] the nearest centre of each row ``[point, d]``, whose numbers are `unit` centres'."""
    _, first, same = np.unique(  # many hands are alike
        np.ascontiguousarray(rows).view(f"u{rows.shape[1]}")[:, 0],
        return_index=True,
        return_inverse=True,
    )
    out = np.empty(len(first), np.int16)
    _nearest(rows[first], np.ascontiguousarray(centres.T.astype(np.int32)), unit, out)
    return out[same]
