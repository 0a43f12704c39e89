"""Strength at the showdown by Numba; `subgame.engines.torch.strengths` says what is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.games.holdem.cards import Deck

Ranks = NDArray[np.int16]
Bytes = NDArray[np.uint8]
BINS = 256


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
def _quantiles(rows, images, bins, at, out):
    """Quantiles by counting the bins of each hand."""
    counts = np.zeros((images.shape[1], BINS), np.int32)
    for b in range(rows.shape[0]):
        counts[:] = 0
        for r in range(rows.shape[1]):
            for h in range(images.shape[1]):
                counts[h, bins[rows[b, r, 0], images[rows[b, r, 1], h]]] += 1
        for h in range(images.shape[1]):
            seen, each = 0, 0
            for q in range(len(at)):
                while seen + counts[h, each] <= at[q]:
                    seen += counts[h, each]
                    each += 1
                out[b, h, q] = each


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


def score_bins(found: Ranks, most: int) -> Bytes:
    """Scores from 0 to `most` as bytes; the highest byte where the hand is blocked."""
    share = found.astype(np.int32) * BINS // (most + 1)
    share[found < 0] = BINS - 1
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
    out = np.empty(len(rows), np.int16)
    _nearest(rows, np.ascontiguousarray(centres.T.astype(np.int32)), unit, out)
    return out
