"""Kernels of hold'em trees within one tile: `LANES` hands of one player on one board.

A tile needs one vector per row and stays in the first-level cache. A row is one of the player's
sequences on a street, as a vector over hands (see `tree.ranges.betting_tree`). Regrets and averages
are float32, or int16 with scales, ``[board][tile][action][LANES]``. All other arrays are workspace,
in float32 to solve and in float64 to evaluate; kernels take their type from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Mode
from subgame.engines.numba.range_scratch import Numbers, Scratch
from subgame.engines.numba.simd import (
    Lanes,
    choose,
    columns,
    kind_of,
    larger,
    load,
    part,
    prefetch,
    small,
    smaller,
    splat,
    store,
)
from subgame.engines.numba.stored import drawn, note, recall
from subgame.tree.ranges.betting_tree import LANES, BettingTree

Ints = NDArray[np.int64]
Stored = NDArray[np.float32]
Rates = tuple[float, float, float, float, float, float, float, float, float, float]
"""A row of `engines.rounding.dithered`, with iterations counted from 1."""
REGRET, AVERAGE, INSTANT = 0, 1, 2
"""Seeds, so that regrets, averages and instantaneous regrets are rounded independently."""

LEARN, EVALUATE, BEST, RESPOND, WITHIN = (int(mode) for mode in Mode)


class PlayerNumbers(NamedTuple):
    """The numbers of one player: `contract.Regrets`, flat ``[board][tile][action][LANES]``."""

    weights: Stored  # regrets, an average or probabilities; the strategy is in proportion to them
    average: Stored  # of length 1 where no average is kept
    instant: Stored  # regrets of the last iteration, for predictive schedules; else of length 1
    flags: Ints  # [2] whether an average is kept, and whether regrets are predicted
    scale: Stored  # scales of the three above where they are int16, one per `LANES` numbers
    average_scale: Stored
    instant_scale: Stored


@small
def averaged(numbers: PlayerNumbers, plain: Ints) -> PlayerNumbers:
    """A player who plays the average, which is `plain`: it has no average or prediction itself."""
    x = numbers
    return PlayerNumbers(
        x.average, x.average, x.instant, plain, x.average_scale, x.average_scale, x.instant_scale
    )


class Side(NamedTuple):
    """One player in a sweep."""

    p: int
    numbers: PlayerNumbers
    rates: Rates  # discounts; the opponent's are those of the predicted regrets
    kept: bool  # whether the player's reach is added to the average, if there is one


# One tile of one player ----------------------------------------------------------------------


@small
def added(numbers: Stored, scales: Stored, at: int, fade: Lanes, more: Lanes) -> Lanes:
    """S + (fade S + more), the next average; see `engines.rounding`."""
    old = recall(numbers, scales, at, kind_of(more))
    return old + (old * fade + more)


@small
def learned(old: Lanes, gain: Lanes, rates: Rates) -> Lanes:
    """Base R + (fade R + gain): discounts by the sign of R, and the instantaneous regret.

    A base of 0 is needed where R is dropped: R - R + gain would leave the rounding of R in it. One
    of the positive and the negative part of R is 0, so that this takes no comparison.
    """
    like = kind_of(gain)
    zero = splat(0.0, like)
    more, less = larger(old, zero), smaller(old, zero)
    change = less * splat(rates[7], like) + (more * splat(rates[6], like) + gain)
    return less * splat(rates[5], like) + (more * splat(rates[4], like) + change)


class Matching(NamedTuple):
    """How a player's weights follow from regrets."""

    player: PlayerNumbers
    positive: Lanes  # the discounts of positive and negative regrets
    negative: Lanes
    predicted: bool


@small
def matching(side: Side, like: float) -> Matching:
    """Regret matching with the discounts of an iteration, in the precision of `like`."""
    positive, negative = splat(side.rates[0], like), splat(side.rates[1], like)
    return Matching(side.numbers, positive, negative, side.numbers.flags[1] != 0)


@small
def weight_of(m: Matching, e: int) -> Lanes:
    """The weight of an action in regret matching: the regret, or its prediction."""
    like, player = kind_of(m.positive), m.player
    w = recall(player.weights, player.scale, e, like)
    if m.predicted:
        w = w * choose(w, splat(0.0, like), m.positive, m.negative)
        w = w + recall(player.instant, player.instant_scale, e, like)
    return larger(w, splat(0.0, like))


@small
def shares(total: Lanes, n: int) -> tuple[Lanes, Lanes]:
    """Regret matching, given the sum of the weights of all `n` actions: (share, even).

    An action with weight w has the probability ``w share + even``: in proportion to the weights
    where their sum is positive, and as much as the others where it is zero. Probabilities come
    first and are multiplied by reaches and values: these wait for those of another decision.
    """
    like = kind_of(total)
    zero, one, nth = splat(0.0, like), splat(1.0, like), splat(1.0 / n, like)
    return choose(total, zero, one / total, zero), choose(total, zero, zero, nth)


@small
def total_of(m: Matching, e: int, n: int) -> Lanes:
    """The sum of the weights of a decision, which start at `e`.

    Reading the weights again later costs less than storing them.
    """
    total = splat(0.0, kind_of(m.positive))
    for k in range(n):
        total = total + weight_of(m, e + k * LANES)
    return total


@small
def ahead_of(f: BettingTree, sp: int) -> int:
    """How far the numbers of the next tile are from those of a tile; 0: they are in the cache.

    While a tile is worked on, the next one comes from memory, a few lines at a time: many at once
    would wait for one another. The next tile may be that of the next board.
    """
    return (f.rows[sp] - f.roots[sp // 2]) * LANES if sp > 1 else 0


@small
def fetch(numbers: Stored, e: int, far: int, n: int) -> None:
    """Start to bring the numbers of `n` actions that are `far` behind `e` into the cache."""
    if far > 0:
        for k in range(n):
            prefetch(numbers, e + far + k * LANES)


@part
def descend(f: BettingTree, sp: int, side: Side, at: int, s: Scratch) -> None:
    """The reach of every row of a tile; `at` is where its weights start.

    The strategy is regret matching (`shares`). With a prediction (Farina et al. 2021) the regrets
    are first discounted and the last instantaneous regrets are added. If `kept`, reach is also
    added to the average, ``S <- kept S + reach``. Decisions with two and three actions, nearly all,
    stay in registers. In a game with trembles (``ahead[9]``) every action is played at least that
    often.
    """
    player, ahead, reach = side.numbers, side.rates, s.reach
    weights, average, scale, weigh = (
        player.weights,
        player.average,
        player.scale,
        player.average_scale,
    )
    like, kept = reach[0], side.kept and player.flags[0] != 0
    fade = splat(ahead[8], like)
    zero, seed = splat(0.0, like), 4 * np.int64(ahead[3]) + AVERAGE
    at -= f.roots[sp // 2] * LANES
    m = matching(side, like)
    plain, far = not m.predicted and ahead[9] == 0, ahead_of(f, sp)
    for i in range(f.infoset_at[sp], f.infoset_at[sp + 1]):
        n, to = f.actions[i], f.first[i] * LANES
        here, e = load(reach, f.parent[i] * LANES, like), at + to
        luck = drawn(e, seed)
        if n == 2 and plain:
            fetch(weights, e, far, 2)
            a = larger(recall(weights, scale, e, like), zero)
            b = larger(recall(weights, scale, e + LANES, like), zero)
            share, even = shares(a + b, 2)
            a, b = here * (a * share + even), here * (b * share + even)
            store(reach, to, a)
            store(reach, to + LANES, b)
            if kept:
                fetch(average, e, far, 2)
                a = added(average, weigh, e, fade, a)
                b = added(average, weigh, e + LANES, fade, b)
                note(average, weigh, e, 0, (a, b), luck)
            continue
        if n == 3 and plain:
            fetch(weights, e, far, 3)
            a = larger(recall(weights, scale, e, like), zero)
            b = larger(recall(weights, scale, e + LANES, like), zero)
            c = larger(recall(weights, scale, e + 2 * LANES, like), zero)
            share, even = shares(a + b + c, 3)
            a, b = here * (a * share + even), here * (b * share + even)
            c = here * (c * share + even)
            store(reach, to, a)
            store(reach, to + LANES, b)
            store(reach, to + 2 * LANES, c)
            if kept:
                fetch(average, e, far, 3)
                a = added(average, weigh, e, fade, a)
                b = added(average, weigh, e + LANES, fade, b)
                c = added(average, weigh, e + 2 * LANES, fade, c)
                note(average, weigh, e, 0, (a, b, c), luck)
            continue
        fetch(weights, e, far, n)
        if kept:
            fetch(average, e, far, n)
        least = splat(ahead[9], like) * here
        free = here * splat(1 - n * ahead[9], like)
        share, even = shares(total_of(m, e, n), n)
        for k in range(n):
            a = free * (weight_of(m, e + k * LANES) * share + even) + least
            store(reach, to + k * LANES, a)
            if kept:
                a = added(average, weigh, e + k * LANES, fade, a)
                note(average, weigh, e, k, (a,), luck)


@small
def win(s: Scratch, part: int, values: Numbers, at: int) -> None:
    """Pay the terminals of one kind in a chunk; their values are ``[hand, LANES]`` from `at` on."""
    for table in range(s.table_at[part], s.table_at[part + 1]):
        for q in range(0, LANES, 4):
            if s.any_of[(table * LANES + q) // 4]:
                four, e = columns(values, at + q, LANES), table * LANES + q
                win_one(s, e, four[0])
                win_one(s, e + 1, four[1])
                win_one(s, e + 2, four[2])
                win_one(s, e + 3, four[3])


@small
def win_one(s: Scratch, e: int, values: Lanes) -> None:
    """Pay a terminal into its row, without a question whether it is the first there."""
    row, like = s.paid_row[e] * LANES, s.value[0]
    before = splat(s.adds[e], like) * load(s.value, row, like)
    store(s.value, row, before + splat(s.pays[e], like) * values)


@part
def learn(f: BettingTree, sp: int, side: Side, at: int, s: Scratch) -> None:
    """Values of every row from those of leaves and terminals; regrets are updated.

    Regret matching is done once more here, because the regrets are read anyway. Trembles
    (``rates[9]``) change the value of a decision, but regrets are those of the free choice.
    """
    player, rates, value = side.numbers, side.rates, s.value
    weights, scale, like = player.weights, player.scale, value[0]
    zero = splat(0.0, like)
    at -= f.roots[sp // 2] * LANES
    m, seed = matching(side, like), 4 * np.int64(rates[3]) + REGRET
    plain, far = not m.predicted and rates[9] == 0, ahead_of(f, sp)
    for i in range(f.infoset_at[sp + 1] - 1, f.infoset_at[sp] - 1, -1):
        n, to, up = f.actions[i], f.first[i] * LANES, f.parent[i] * LANES
        e = at + to
        luck = drawn(e, seed)
        if n == 3 and plain:
            fetch(weights, e, far, 3)
            x, y = recall(weights, scale, e, like), recall(weights, scale, e + LANES, like)
            z = recall(weights, scale, e + 2 * LANES, like)
            u, v, w = larger(x, zero), larger(y, zero), larger(z, zero)
            a, b = load(value, to, like), load(value, to + LANES, like)
            c = load(value, to + 2 * LANES, like)
            share, even = shares(u + v + w, 3)
            u, v, w = u * share + even, v * share + even, w * share + even
            mean = u * a + v * b + w * c
            x, y = learned(x, a - mean, rates), learned(y, b - mean, rates)
            note(weights, scale, e, 0, (x, y, learned(z, c - mean, rates)), luck)
            store(value, up, load(value, up, like) + mean)
            continue
        if n == 2 and plain:
            fetch(weights, e, far, 2)
            x, y = recall(weights, scale, e, like), recall(weights, scale, e + LANES, like)
            u, v = larger(x, zero), larger(y, zero)
            a, b = load(value, to, like), load(value, to + LANES, like)
            share, even = shares(u + v, 2)
            mean = (u * share + even) * a + (v * share + even) * b
            x, y = learned(x, a - mean, rates), learned(y, b - mean, rates)
            note(weights, scale, e, 0, (x, y), luck)
            store(value, up, load(value, up, like) + mean)
            continue
        fetch(weights, e, far, n)
        mean = played(m, e, n, value, to)
        paid = mean
        if rates[9] != 0:
            paid = mean * splat(1 - n * rates[9], like)
            for k in range(n):
                paid = paid + load(value, to + k * LANES, like) * splat(rates[9], like)
        store(value, up, load(value, up, like) + paid)
        for k in range(n):
            gain = load(value, to + k * LANES, like) - mean
            x = recall(weights, scale, e + k * LANES, like)
            note(weights, scale, e, k, (learned(x, gain, rates),), luck)
            if m.predicted:
                other = drawn(e, seed + INSTANT)
                note(player.instant, player.instant_scale, e, k, (gain,), other)


@small
def played(m: Matching, e: int, n: int, value: Numbers, to: int) -> Lanes:
    """The value of a decision with any number of actions, played in proportion to the weights."""
    mean = splat(0.0, kind_of(m.positive))
    share, even = shares(total_of(m, e, n), n)
    for k in range(n):
        w, v = weight_of(m, e + k * LANES), load(value, to + k * LANES, kind_of(mean))
        mean = mean + (w * share + even) * v
    return mean


@part
def follow(f: BettingTree, sp: int, side: Side, at: int, mode: int, s: Scratch) -> None:
    """Values of every row under the traverser's strategy or best response."""
    player, value, like = side.numbers, s.value, s.value[0]
    zero, one, m = splat(0.0, like), splat(1.0, like), matching(side, like)
    at -= f.roots[sp // 2] * LANES
    for i in range(f.infoset_at[sp + 1] - 1, f.infoset_at[sp] - 1, -1):
        first, last = f.first[i], f.first[i] + f.actions[i]
        best = load(value, first * LANES, like)
        if mode == EVALUATE:
            best = played(m, at + first * LANES, last - first, value, first * LANES)
        else:
            for row in range(first + 1, last):
                best = larger(best, load(value, row * LANES, like))
        if mode == WITHIN:  # the weights are the probabilities of locked hands, 0 elsewhere
            total, mean = zero, zero
            for row in range(first, last):
                w = recall(player.weights, player.scale, at + row * LANES, like)
                total, mean = total + w, mean + w * load(value, row * LANES, like)
            best = choose(total, zero, mean, best)
        up = f.parent[i] * LANES
        store(value, up, load(value, up, like) + best)
        if mode == RESPOND:
            left = one
            for row in range(first, last):
                chosen = choose(best, load(value, row * LANES, like), zero, left)
                note(player.weights, player.scale, at + row * LANES, 0, (chosen,), 0)
                left = left - chosen
