"""Kernels of hold'em trees within one tile: `LANES` hands of one player on one board.

Everything about a tile is one vector per row and stays in the nearest cache. Regrets and averages
are float32, or int16 with scales, ``[unit][tile][action][LANES]``. Everything else is scratch, in
float32 to solve and in float64 to evaluate: kernels take their type from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from subgame.engines.contract import Mode
from subgame.engines.numba.simd import (
    choose,
    kind_of,
    larger,
    load,
    note,
    recall,
    splat,
    store,
)
from subgame.tree.ranges.betting_tree import LANES, BettingTree

Ints = NDArray[np.int64]
Numbers = NDArray[Any]  # float32 or float64
Stored = NDArray[np.float32]
Rates = tuple[float, float, float, float]
"""What positive regrets, negative regrets and the average are multiplied by; the iteration."""
REGRET, AVERAGE, INSTANT = 0, 1, 2
"""What is rounded draws its chance apart."""

LEARN, EVALUATE, BEST, RESPOND = (int(mode) for mode in Mode)
TINY = 1e-30
"""Sums of weights below this are rounding."""


class PlayerNumbers(NamedTuple):
    """What one player plays and remembers. All flat ``[unit][tile][action][LANES]``."""

    weights: Stored  # regrets, or an average, or probabilities: played in proportion if positive
    average: Stored  # of length one where none is kept
    instant: Stored  # last regrets of predictive schedules; else of length one
    flags: Ints  # [2] whether an average is kept, and whether regrets are foreseen
    scale: Stored  # of the three above where they are int16, per `LANES` numbers
    average_scale: Stored
    instant_scale: Stored


class Scratch(NamedTuple):
    """What one thread works with. Levels are streets; [level] gives where each starts."""

    reach: Numbers  # rows of one tile
    value: Numbers  # rows of one tile
    block: Numbers  # one transposed chunk of a tile
    sums: Numbers  # [card, LANES]
    lanes: Numbers  # opponent's reach [chunk, place, LANES]
    shown: Numbers  # values at showdowns, and after folds, the same shape
    folded: Numbers
    lanes_at: Ints  # [level]
    way: Numbers  # [player][place, root] reach into a street, by places in the unit above it;
    # into the first street [player][board, root, place]
    way_at: Ints  # [2 level + player]
    paid: Numbers  # [place, root of the next] the traverser's values at the leaves
    paid_at: Ints  # [level]
    result: Numbers  # [place, root] the traverser's values at the roots; on level 0 [root, place]
    result_at: Ints
    rows: Numbers  # [row, board, place] the traverser's values of every row, where wanted
    rows_at: Ints  # [level] -1: not wanted
    first: Ints  # [level + 1] the first board of each street
    ways: Ints  # [level + 1] roots, up to a multiple of four except on level 0
    wide: Ints  # [level] places of the widest unit
    tall: Ints  # [level] places per chunk, with one for the hand nobody holds
    deck: Ints  # [1] how many different cards it has


# One tile of one player ----------------------------------------------------------------------


@njit(cache=True, error_model="numpy", forceinline=True)
def add(numbers: Stored, scales: Stored, at: int, kept: Any, more: Any, seed: int) -> None:
    """S <- kept S + more."""
    note(numbers, scales, at, recall(numbers, scales, at, kind_of(more)) * kept + more, seed)


@njit(cache=True, error_model="numpy", forceinline=True)
def learn_from(
    numbers: Stored, scales: Stored, at: int, positive: Any, negative: Any, gain: Any, seed: int
) -> None:
    """R <- R discounted by its sign, plus a gain."""
    old = recall(numbers, scales, at, kind_of(gain))
    kept = choose(old, splat(0.0, kind_of(gain)), positive, negative)
    note(numbers, scales, at, old * kept + gain, seed)


@njit(cache=True, error_model="numpy", forceinline=True)
def weight_of(mind: PlayerNumbers, e: int, positive: Any, negative: Any, foreseen: bool) -> Any:
    """What an action is played in proportion to: a regret, or what it will be if foreseen."""
    like = kind_of(positive)
    w = recall(mind.weights, mind.scale, e, like)
    if foreseen:
        w = w * choose(w, splat(0.0, like), positive, negative)
        w = w + recall(mind.instant, mind.instant_scale, e, like)
    return larger(w, splat(TINY, like))


@njit(cache=True, error_model="numpy", forceinline=True)
def share_of(
    mind: PlayerNumbers, e: int, n: int, positive: Any, negative: Any, foreseen: bool
) -> Any:
    """One by the weights of all actions: to read them again costs less than to keep them."""
    like = kind_of(positive)
    total = splat(0.0, like)
    for k in range(n):
        total = total + weight_of(mind, e + k * LANES, positive, negative, foreseen)
    return splat(1.0, like) / total


@njit(cache=True, error_model="numpy")
def descend(
    f: BettingTree, sp: int, mind: PlayerNumbers, at: int, ahead: Rates, kept: bool, s: Scratch
) -> None:
    """Reach of every row of a tile; `at` is where its weights start.

    Regret matching, where every action weighs `TINY` at least: uniform if no regret is positive.
    With a prediction (Farina et al. 2021) regrets are first carried on to the next iteration.
    Where it is `kept`, reach is also added to the average, ``S <- kept S + reach``. Two and three
    actions, nearly all there are, stay in registers.
    """
    weights, average, reach = mind.weights, mind.average, s.reach
    scale, weigh = mind.scale, mind.average_scale
    like = reach[0]
    fading = splat(ahead[2], like)
    one, tiny = splat(1.0, like), splat(TINY, like)
    positive, negative = splat(ahead[0], like), splat(ahead[1], like)
    at -= f.roots[sp // 2] * LANES
    foreseen, seed = mind.flags[1] != 0, 4 * np.int64(ahead[3]) + AVERAGE
    for i in range(f.infoset_at[sp], f.infoset_at[sp + 1]):
        n, to = f.actions[i], f.first[i] * LANES
        here, e = load(reach, f.parent[i] * LANES, like), at + to
        if n == 2 and not foreseen:
            a = larger(recall(weights, scale, e, like), tiny)
            b = larger(recall(weights, scale, e + LANES, like), tiny)
            share = one / (a + b)
            a, b = here * (a * share), here * (b * share)
            store(reach, to, a)
            store(reach, to + LANES, b)
            if kept:
                add(average, weigh, e, fading, a, seed)
                add(average, weigh, e + LANES, fading, b, seed)
            continue
        if n == 3 and not foreseen:
            a = larger(recall(weights, scale, e, like), tiny)
            b = larger(recall(weights, scale, e + LANES, like), tiny)
            c = larger(recall(weights, scale, e + 2 * LANES, like), tiny)
            share = one / (a + b + c)
            a, b, c = here * (a * share), here * (b * share), here * (c * share)
            store(reach, to, a)
            store(reach, to + LANES, b)
            store(reach, to + 2 * LANES, c)
            if kept:
                add(average, weigh, e, fading, a, seed)
                add(average, weigh, e + LANES, fading, b, seed)
                add(average, weigh, e + 2 * LANES, fading, c, seed)
            continue
        share = share_of(mind, e, n, positive, negative, foreseen)
        for k in range(n):
            w = weight_of(mind, e + k * LANES, positive, negative, foreseen)
            a = here * (w * share)
            store(reach, to + k * LANES, a)
            if kept:
                add(average, weigh, e + k * LANES, fading, a, seed)


@njit(cache=True, error_model="numpy")
def learn(f: BettingTree, sp: int, mind: PlayerNumbers, at: int, rates: Rates, s: Scratch) -> None:
    """Values of every row from those of the leaves and ends; regrets, discounted and increased.

    The strategy is matched to the regrets once more, as they are read anyway.
    """
    weights, scale, value = mind.weights, mind.scale, s.value
    like = value[0]
    one, tiny = splat(1.0, like), splat(TINY, like)
    positive, negative = splat(rates[0], like), splat(rates[1], like)
    at -= f.roots[sp // 2] * LANES
    foreseen, seed = mind.flags[1] != 0, 4 * np.int64(rates[3]) + REGRET
    for i in range(f.infoset_at[sp + 1] - 1, f.infoset_at[sp] - 1, -1):
        n, to, up = f.actions[i], f.first[i] * LANES, f.parent[i] * LANES
        e = at + to
        if n == 3 and not foreseen:
            u = larger(recall(weights, scale, e, like), tiny)
            v = larger(recall(weights, scale, e + LANES, like), tiny)
            w = larger(recall(weights, scale, e + 2 * LANES, like), tiny)
            share = one / (u + v + w)
            a, b = load(value, to, like), load(value, to + LANES, like)
            c = load(value, to + 2 * LANES, like)
            mean = (u * share) * a + (v * share) * b
            mean = mean + (w * share) * c
            store(value, up, load(value, up, like) + mean)
            learn_from(weights, scale, e, positive, negative, a - mean, seed)
            learn_from(weights, scale, e + LANES, positive, negative, b - mean, seed)
            learn_from(weights, scale, e + 2 * LANES, positive, negative, c - mean, seed)
            continue
        if n == 2 and not foreseen:
            u = larger(recall(weights, scale, e, like), tiny)
            v = larger(recall(weights, scale, e + LANES, like), tiny)
            share = one / (u + v)
            a, b = load(value, to, like), load(value, to + LANES, like)
            mean = (u * share) * a + (v * share) * b
            store(value, up, load(value, up, like) + mean)
            learn_from(weights, scale, e, positive, negative, a - mean, seed)
            learn_from(weights, scale, e + LANES, positive, negative, b - mean, seed)
            continue
        mean = played(mind, e, n, positive, negative, foreseen, value, to)
        store(value, up, load(value, up, like) + mean)
        for k in range(n):
            gain = load(value, to + k * LANES, like) - mean
            learn_from(weights, scale, e + k * LANES, positive, negative, gain, seed)
            if foreseen:
                note(mind.instant, mind.instant_scale, e + k * LANES, gain, seed + INSTANT)


@njit(cache=True, error_model="numpy", forceinline=True)
def played(
    mind: PlayerNumbers,
    e: int,
    n: int,
    positive: Any,
    negative: Any,
    foreseen: bool,
    value: Numbers,
    to: int,
) -> Any:
    """The value of a decision with any number of actions, played in proportion to the weights."""
    like = kind_of(positive)
    share, mean = share_of(mind, e, n, positive, negative, foreseen), splat(0.0, like)
    for k in range(n):
        w = weight_of(mind, e + k * LANES, positive, negative, foreseen)
        mean = mean + (w * share) * load(value, to + k * LANES, like)
    return mean


@njit(cache=True, error_model="numpy")
def follow(
    f: BettingTree, sp: int, mind: PlayerNumbers, at: int, mode: int, rates: Rates, s: Scratch
) -> None:
    """Values of every row under the traverser's strategy, or a best response to the opponent's."""
    value = s.value
    like = value[0]
    zero, one = splat(0.0, like), splat(1.0, like)
    positive, negative = splat(rates[0], like), splat(rates[1], like)
    at -= f.roots[sp // 2] * LANES
    foreseen = mind.flags[1] != 0
    for i in range(f.infoset_at[sp + 1] - 1, f.infoset_at[sp] - 1, -1):
        first, last = f.first[i], f.first[i] + f.actions[i]
        best = load(value, first * LANES, like)
        if mode == EVALUATE:
            to = first * LANES
            best = played(mind, at + to, last - first, positive, negative, foreseen, value, to)
        else:
            for row in range(first + 1, last):
                best = larger(best, load(value, row * LANES, like))
        up = f.parent[i] * LANES
        store(value, up, load(value, up, like) + best)
        if mode == RESPOND:
            left = one
            for row in range(first, last):
                chosen = choose(best, load(value, row * LANES, like), zero, left)
                note(mind.weights, mind.scale, at + row * LANES, chosen, 0)
                left = left - chosen
