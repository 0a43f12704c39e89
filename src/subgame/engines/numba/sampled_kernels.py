"""Kernels of CFR in buckets over sampled boards: `sweep` by vectors, `external` by samples.

`subgame.engines.sampled` says what a table is. Hands of a board are sorted by rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.engines.numba.sampling import uniform
from subgame.engines.numba.simd import (
    WIDTH,
    cleared,
    gather,
    load,
    pay,
    rounding,
    splat,
    store,
    turn,
    views,
)
from subgame.tree.betting_arrays import SHOWN

NO_SUMS = np.zeros(0, np.float32)
"""The `out` of `sweep` where only values are wanted."""


class Flat(NamedTuple):
    """A betting tree. Axes: d = decision, e = action, z = terminal, as in `BettingArrays`."""

    player: np.ndarray  # [d]
    street: np.ndarray  # [d]
    first: np.ndarray  # [d + 1]
    child: np.ndarray  # [e]
    stake: np.ndarray  # [e] to player 0
    parent: np.ndarray  # [d]
    base: np.ndarray  # [player] action e of a player is sequence e - base
    cell: np.ndarray  # [d] where the decision's numbers begin in a table
    counts: np.ndarray  # [street] buckets
    fold_at: np.ndarray  # [player, z] sequences
    fold_stake: np.ndarray  # [z]
    show_at: np.ndarray  # [player, z]
    show_stake: np.ndarray  # [z]


class Hands(NamedTuple):
    """The hands of a board, from the weakest to the strongest. Axis: h = hand."""

    cards: np.ndarray  # [h, 2]
    tie: np.ndarray  # [class + 1] where each class of equal hands begins
    tie_of: np.ndarray  # [h] its class
    bucket: np.ndarray  # [street, h]


def rows(sequences: int, hands: int) -> NDArray[np.float32]:
    """Scratch of `sweep` ``[sequence, h]``; rows are padded, as kernels take four hands at once."""
    return np.empty((sequences, -(-hands // 4) * 4), np.float32)


@njit(cache=True, nogil=True, error_model="numpy")
def add_fold(reach, stake, hands, with_card, value):
    """Add what a fold pays: the stake for each hand of the opponent that can be dealt."""
    total = np.float32(0.0)
    with_card[:] = 0
    for h in range(len(reach)):
        total += reach[h]
        with_card[hands.cards[h, 0]] += reach[h]
        with_card[hands.cards[h, 1]] += reach[h]
    for h in range(len(reach)):
        shared = with_card[hands.cards[h, 0]] + with_card[hands.cards[h, 1]]
        value[h] += stake * (total - shared + reach[h])


@njit(cache=True, nogil=True, error_model="numpy")
def add_showdown(reach, stake, hands, with_card, value):
    """Add what a showdown pays: the stake for weaker hands minus that for stronger ones.

    From the weakest to the strongest for those below, and back for those above; hands that share a
    card are subtracted.
    """
    for way in range(2):
        total = np.float32(0.0)
        with_card[:] = 0
        pay = stake if way == 0 else -stake
        classes = len(hands.tie) - 1
        for k in range(classes):
            c = k if way == 0 else classes - 1 - k
            begin, end = hands.tie[c], hands.tie[c + 1]
            for h in range(begin, end):
                shared = with_card[hands.cards[h, 0]] + with_card[hands.cards[h, 1]]
                value[h] += pay * (total - shared)
            for h in range(begin, end):
                total += reach[h]
                with_card[hands.cards[h, 0]] += reach[h]
                with_card[hands.cards[h, 1]] += reach[h]


@njit(cache=True, nogil=True, error_model="numpy")
def add_ends(p, at, stake, shown, hands, reach, value):
    """Add what some ends of the betting pay: all showdowns, or all folds.

    `at` is their sequence of either player, ``[player, z]``. Ends are taken `WIDTH` at a time, one
    in each lane of a vector, from the weakest hand to the strongest, with sums by card of the hands
    so far. `range_terminals.evaluate` says why the differences are those of weaker and stronger
    hands. What rounding leaves of zero is cleared: regret matching would play it.
    """
    o, width, stride, like = 1 - p, len(hands.cards), reach.shape[1], np.float32(0)
    cards, tie, zero = hands.cards, hands.tie, splat(0.0, like)
    scratch = (
        np.empty(64 * WIDTH, np.float32),
        np.empty(stride * WIDTH, np.float32),
        np.zeros(stride * WIDTH, np.float32),
        np.empty(4 * WIDTH, np.float32),
        reach,
        value,
    )
    sums, ours, paid, four, x, v = views(scratch)
    row = np.zeros(WIDTH, np.int64)
    for start in range(0, len(stake), WIDTH):
        lanes = min(WIDTH, len(stake) - start)
        for lane in range(lanes):
            row[lane] = at[o, start + lane] * stride
        for lane in range(0, lanes, 4):
            a, b, c, d = row[lane], row[lane + 1], row[lane + 2], row[lane + 3]
            for h in range(0, width, 4):
                gather(x, a + h, b + h, c + h, d + h, ours, h * WIDTH + lane)
        for card in range(64):
            store(sums, card * WIDTH, zero)
        total = zero
        for k in range(len(tie) - 1):
            if shown:
                for h in range(tie[k], tie[k + 1]):
                    a, b = cards[h, 0] * WIDTH, cards[h, 1] * WIDTH
                    weaker = total - load(sums, a, like) - load(sums, b, like)
                    store(paid, h * WIDTH, weaker)
            for h in range(tie[k], tie[k + 1]):
                a, b, more = cards[h, 0] * WIDTH, cards[h, 1] * WIDTH, load(ours, h * WIDTH, like)
                total = total + more
                store(sums, a, load(sums, a, like) + more)
                store(sums, b, load(sums, b, like) + more)
            if shown:
                for h in range(tie[k], tie[k + 1]):
                    a, b = cards[h, 0] * WIDTH, cards[h, 1] * WIDTH
                    so_far = total - load(sums, a, like) - load(sums, b, like)
                    store(paid, h * WIDTH, load(paid, h * WIDTH, like) + so_far)
        least = rounding(total)
        for h in range(width):
            a, b = cards[h, 0] * WIDTH, cards[h, 1] * WIDTH
            every = total - load(sums, a, like) - load(sums, b, like)
            if shown:
                won = load(paid, h * WIDTH, like) - every
            else:  # the hand itself was subtracted twice
                won = every + load(ours, h * WIDTH, like)
            store(paid, h * WIDTH, cleared(won, least))
        for h in range(0, width, 4):
            a = h * WIDTH
            turn(paid, a, a + WIDTH, a + 2 * WIDTH, a + 3 * WIDTH, four, 0, 4)
            for lane in range(lanes):
                z = start + lane
                pay(v, at[p, z] * stride + h, four, 4 * lane, stake[z])


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(p, f, sigma, hands, reach, value, out):
    """One board, exact over hands: reach of the opponent down, terminals, values up.

    `reach` and `value` are scratch made by `rows`. The sums for regrets and averages go into `out`;
    where it is empty, only values are computed.
    """
    o, width, sums = 1 - p, len(hands.cards), len(out) > 0
    reach[0] = 1
    value[:] = 0
    for d in range(len(f.player)):
        if f.player[d] != o:
            continue
        bucket, k = hands.bucket[f.street[d]], f.counts[f.street[d]]
        above = reach[f.parent[d]]
        for e in range(f.first[d], f.first[d + 1]):
            at, into = f.cell[d] + (e - f.first[d]) * k, reach[e - f.base[o]]
            for h in range(width):
                into[h] = above[h] * sigma[at + bucket[h]]
            for h in range(width if sums else 0):
                out[at + bucket[h]] += into[h]
    fold_stake = f.fold_stake if p == 0 else -f.fold_stake
    add_ends(p, f.fold_at, fold_stake, False, hands, reach, value)
    add_ends(p, f.show_at, f.show_stake, True, hands, reach, value)
    here = np.empty(width, np.float32)
    for d in range(len(f.player) - 1, -1, -1):
        if f.player[d] != p:
            continue
        bucket, k = hands.bucket[f.street[d]], f.counts[f.street[d]]
        here[:] = 0
        for e in range(f.first[d], f.first[d + 1]):
            at, rows = f.cell[d] + (e - f.first[d]) * k, value[e - f.base[p]]
            for h in range(width):
                here[h] += sigma[at + bucket[h]] * rows[h]
        for e in range(f.first[d], f.first[d + 1] if sums else f.first[d]):
            at, rows = f.cell[d] + (e - f.first[d]) * k, value[e - f.base[p]]
            for h in range(width):
                out[at + bucket[h]] += rows[h] - here[h]
        value[f.parent[d], :width] += here


@njit(cache=True, nogil=True, error_model="numpy")
def payoff(p, f, e, pair, tie_of):
    """What player `p` is paid when the hand is over after action `e`."""
    paid = f.stake[e]
    if f.child[e] == SHOWN:
        paid *= np.sign(tie_of[pair[0]] - tie_of[pair[1]])
    return np.float32(paid if p == 0 else -paid)


@njit(cache=True, nogil=True, error_model="numpy")
def external(p, f, sigma, hands, pair, d, random, out):
    """The value of a decision to player `p` for one pair of hands; the opponent is sampled.

    External sampling (Lanctot et al. 2009). `d` is always int64: see `sampling.external`.
    """
    player, street = f.player[d], f.street[d]
    first, actions = f.first[d], f.first[d + 1] - f.first[d]
    k = f.counts[street]
    at = f.cell[d] + hands.bucket[street, pair[player]]
    if player != p:
        u, chosen = uniform(random), actions - 1
        for a in range(actions):
            out[at + a * k] += sigma[at + a * k]
        for a in range(actions - 1):
            u -= sigma[at + a * k]
            if u < 0.0:
                chosen = a
                break
        e = first + chosen
        if f.child[e] < 0:
            return payoff(p, f, e, pair, hands.tie_of)
        return external(p, f, sigma, hands, pair, np.int64(f.child[e]), random, out)
    values = np.empty(actions, np.float32)
    value = np.float32(0.0)
    for a in range(actions):
        e = first + a
        if f.child[e] < 0:
            values[a] = payoff(p, f, e, pair, hands.tie_of)
        else:
            values[a] = external(p, f, sigma, hands, pair, np.int64(f.child[e]), random, out)
        value += sigma[at + a * k] * values[a]
    for a in range(actions):
        out[at + a * k] += values[a] - value
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def sample(p, f, sigma, hands, root, count, random, out):
    """`count` pairs of hands of one board, drawn uniformly, by external sampling."""
    width, pair = len(hands.cards), np.zeros(2, np.int64)
    for _ in range(count):
        while True:
            for i in range(2):
                pair[i] = int(uniform(random) * width)
            one, two = hands.cards[pair[0]], hands.cards[pair[1]]
            if one[0] != two[0] and one[0] != two[1] and one[1] != two[0] and one[1] != two[1]:
                break
        external(p, f, sigma, hands, pair, root, random, out)
