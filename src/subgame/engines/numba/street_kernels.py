"""Kernels of `StreetEngine` and of its leaves on the CPU.

The street's arrays are small, [row, hand]: NumPy spends most of its time on passing over them again
and again. Here the hands of a row are the inner loop, and each decision is passed over once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.tree.public_tree import Reals

Floats = NDArray[np.float64]
LANES = 16
"""Buckets that are passed over together."""


@njit(cache=True, nogil=True, error_model="numpy")
def match(weights, decisions, past, out):
    """[own action, hand] regret matching; `decisions` [d, 3] are parent, first and end row."""
    hands = weights.shape[1]
    total, none = np.empty(hands), np.float64(0.0)
    for d in range(len(decisions)):
        first, stop = decisions[d, 1] - past, decisions[d, 2] - past
        total[:] = 0.0
        for row in range(first, stop):
            for h in range(hands):
                total[h] += max(weights[row, h], none)
        even = 1.0 / (stop - first)
        for h in range(hands):
            total[h] = 1.0 / total[h] if total[h] > 0 else none
        for row in range(first, stop):
            for h in range(hands):
                share = max(weights[row, h], none) * total[h]
                out[row, h] = share if total[h] > 0 else even


@njit(cache=True, nogil=True, error_model="numpy")
def descend(sigma, decisions, past, out):
    """[row, hand] a player's reach, that of the rows before the `past` first ones is there."""
    for d in range(len(decisions)):
        parent = decisions[d, 0]
        for row in range(decisions[d, 1], decisions[d, 2]):
            for h in range(out.shape[1]):
                out[row, h] = out[parent, h] * sigma[row - past, h]


@njit(cache=True, nogil=True, error_model="numpy")
def ascend(sigma, decisions, past, value):
    """Add to the value of each decision's parent what the strategy wins there, from the end up."""
    for d in range(len(decisions) - 1, -1, -1):
        parent = decisions[d, 0]
        for row in range(decisions[d, 1], decisions[d, 2]):
            for h in range(value.shape[1]):
                value[parent, h] += sigma[row - past, h] * value[row, h]


@njit(cache=True, nogil=True, error_model="numpy")
def learn(sigma, decisions, past, value, regret, positive, negative):
    """`ascend`, which adds to regrets that are discounted."""
    hands = value.shape[1]
    best = np.empty(hands)
    for d in range(len(decisions) - 1, -1, -1):
        parent, first, stop = decisions[d, 0], decisions[d, 1], decisions[d, 2]
        best[:] = 0.0
        for row in range(first, stop):
            for h in range(hands):
                best[h] += sigma[row - past, h] * value[row, h]
        for h in range(hands):
            value[parent, h] += best[h]
        for row in range(first, stop):
            for h in range(hands):
                old = regret[row - past, h]
                kept = old * (positive if old > 0 else negative)
                regret[row - past, h] = kept + (value[row, h] - best[h])


@njit(cache=True, nogil=True, error_model="numpy")
def average(plan, past, kept, out):
    """Add a plan [row, hand] to an average [own action, hand] that is discounted."""
    for row in range(len(out)):
        for h in range(out.shape[1]):
            out[row, h] = out[row, h] * kept + plan[row + past, h]


@njit(cache=True, nogil=True, error_model="numpy")
def summed(reach, cards, buckets, by_card, by_bucket):
    """[row, card] and [row, bucket] the sums of the reach [row, hand] of hands with it."""
    by_card[:] = 0.0
    by_bucket[:] = 0.0
    for row in range(len(reach)):
        for h in range(reach.shape[1]):
            weight = reach[row, h]
            by_card[row, cards[0, h]] += weight
            by_card[row, cards[1, h]] += weight
            by_bucket[row, buckets[h]] += weight


@njit(cache=True, nogil=True, error_model="numpy")
def paid(won, total, by_card, cards, buckets, same, reach, out):
    """[leaf, k, hand] what a hand's bucket wins, times the reach that shares no card with it.

    `won` is [k, leaf, bucket]. The other player's reach and its sums are [leaf, k, ...], or
    [leaf, 1, ...] for all k; where `out` is [leaf, 1, hand], it is summed over k. `same` is the
    number of the hand among the other player's, or -1.
    """
    met = np.empty(out.shape[2])
    out[:] = 0.0
    for l in range(out.shape[0]):
        for j in range(reach.shape[1]):
            for h in range(out.shape[2]):
                met[h] = total[l, j] - by_card[l, j, cards[0, h]] - by_card[l, j, cards[1, h]]
                if same[h] >= 0:
                    met[h] += reach[l, j, same[h]]
            for k in range(j, len(won), reach.shape[1]):
                i = k % out.shape[1]
                for h in range(out.shape[2]):
                    out[l, i, h] += won[k, l, buckets[h]] * met[h]


@njit(cache=True, nogil=True, error_model="numpy")
def shown(reach, ahead, out):
    """[leaf, hand] what showdowns win; `ahead` [other hand, hand] is passed over once for all."""
    out[:] = 0
    for j in range(len(ahead)):
        for l in range(len(out)):
            if reach[l, j] != 0:
                for h in range(out.shape[1]):
                    out[l, h] += reach[l, j] * ahead[j, h]


@njit(cache=True, nogil=True, error_model="numpy")
def reached(weights, place, first, parent, last, out):
    """[bucket, z] a player's reach of the ends z by the actions of one street.

    Actions come after those before them, those of a decision in a row; `first` is where decisions
    begin, with the end. `place` is an action's row of the `weights` [row, bucket], -1 on other
    streets. `parent` and `last` are the actions before an action or an end, plus one; 0: none.
    """
    reach, total = np.ones((1 + len(place), LANES), np.float32), np.empty(LANES, np.float32)
    for start in range(0, weights.shape[1], LANES):  # so few stay in the cache for all actions
        many = min(LANES, weights.shape[1] - start)
        for d in range(len(first) - 1):
            total[:] = 0
            for q in range(first[d], first[d + 1]):
                row = place[q]
                if row < 0:
                    reach[1 + q] = reach[parent[q]]
                    continue
                for b in range(many):
                    reach[1 + q, b] = weights[row, start + b]
                    total[b] += reach[1 + q, b]
            if place[first[d]] >= 0:
                for b in range(LANES):
                    total[b] = 1 / max(total[b], np.float32(1e-9))
                for q in range(first[d], first[d + 1]):
                    for b in range(LANES):
                        reach[1 + q, b] *= total[b] * reach[parent[q], b]
        for b in range(many):
            for z in range(len(last)):
                out[start + b, z] = reach[last[z], b]


def contiguous(array: Reals) -> Floats:
    """The array as the kernels are compiled for."""
    return np.ascontiguousarray(array, np.float64)


class KernelRows:
    """The rows of one player of a street, by kernels; see `engines.street.Rows`."""

    def __init__(self, decisions: NDArray[np.int64], past: int) -> None:
        """`decisions` [d, 3] are parent, first and end row; actions begin at row `past`."""
        self.decisions, self.past = decisions, past

    def match(self, weights: Floats) -> Floats:
        out = np.empty(weights.shape)
        match(contiguous(weights), self.decisions, self.past, out)
        return out

    def descend(self, sigma: Floats, out: Floats) -> None:
        descend(contiguous(sigma), self.decisions, self.past, out)

    def ascend(self, sigma: Floats, value: Floats) -> None:
        ascend(contiguous(sigma), self.decisions, self.past, value)

    def learn(self, sigma: Floats, value: Floats, regret: Floats, rates: Floats) -> None:
        learn(sigma, self.decisions, self.past, value, regret, float(rates[0]), float(rates[1]))

    def average(self, plan: Floats, kept: float, out: Floats) -> None:
        average(plan, self.past, float(kept), out)


def load() -> None:
    """Compile the kernels, or read them from the cache."""
    one, rows = np.ones((2, 1)), KernelRows(np.array([[0, 1, 2]]), 1)
    rows.descend(rows.match(one[1:]), one)
    rows.ascend(one[1:], one)
    rows.learn(one[1:], one, np.ones((1, 1)), np.ones(2))
    rows.average(one, 1.0, np.ones((1, 1)))
    none = np.zeros(1, np.int64)
    summed(one, none[:, None].repeat(2, 0), none, np.ones((2, 1)), np.ones((2, 1)))
    single = np.ones((1, 1), np.float32)
    shown(single, single, single.copy())
    reach, won = one[:, None], np.ones((1, 2, 1), np.float32)
    paid(won, reach[..., 0], reach, none[:, None].repeat(2, 0), none, none, reach, reach.copy())
    reached(single, none, np.arange(2), none, none, single.copy())
