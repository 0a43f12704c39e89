"""Kernels of hold'em trees: whole ranges at once, `LANES` hands or terminals to a vector.

A *sweep* is half an iteration: the opponent's reach goes down, every terminal is evaluated for one
player, her values come up and her regrets change. Hands are dealt with in tiles of `LANES`, one
vector per row: everything about a tile stays in the nearest cache. Between two tiles stands only
what couples hands, the terminals, which are evaluated for `LANES` of them side by side: the work
is transposed on the way in and out.

Regrets and averages are float32, or int16 with scales, ``[unit][tile][action][LANES]``. Everything
else is scratch, in float32 to solve and in float64 to judge: kernels take their type from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from subgame.engines.numba.range_terminals import evaluate
from subgame.engines.numba.simd import (
    choose,
    fetch_add,
    gather,
    give_way,
    kind_of,
    larger,
    load,
    note,
    pay,
    peek,
    recall,
    splat,
    store,
    turn,
    views,
)
from subgame.tree.ranges.betting_tree import LANES, BettingTree
from subgame.tree.ranges.hand_order import Boards

Ints = NDArray[np.int64]
Numbers = NDArray[Any]  # float32 or float64
Stored = NDArray[np.float32]
Rates = tuple[float, float, float, float]
"""What positive regrets, negative regrets and the average are multiplied by; the iteration."""
REGRET, AVERAGE, INSTANT = 0, 1, 2
"""What is rounded draws its chance apart."""

LEARN, FOLLOW, BEST, RESPOND = 0, 1, 2, 3
"""What the sweeping player does: CFR; play a strategy; best-respond; best-respond from now on."""
PATIENCE = 1000
"""How often a barrier is looked at before the core is given to somebody else."""
NOBODY, THEIRS, BOTH = 0, 1, 2
"""Whose averages a sweep adds to. A player's reach is needed when her opponent sweeps, and is what
her next own sweep would add; only before the first of them there was no such sweep."""
TINY = 1e-30
"""Sums of weights below this are rounding."""


class Mind(NamedTuple):
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
    way: Numbers  # [player][place, root] reach into a street, by places in the unit above it
    way_at: Ints  # [2 level + player]
    paid: Numbers  # [place, root of the next] the sweeping player's values at the leaves
    paid_at: Ints  # [level]
    result: Numbers  # [place, root] her values at the roots
    result_at: Ints
    ways: Ints  # [level + 1] roots, up to a multiple of four; the first street has one
    wide: Ints  # [level] places of the widest unit
    tall: Ints  # [level] places per chunk, with one for the hand nobody holds
    deck: Ints  # [1] how many different cards it has


class Team(NamedTuple):
    """What threads share."""

    counters: Ints  # barrier, next board
    results: Numbers  # [child of the top unit][place, root]


@njit(cache=True, error_model="numpy")
def wait(counters: Ints, threads: int) -> None:
    """A barrier: nobody goes on before everybody is here."""
    if threads == 1:
        return
    ticket = fetch_add(counters, 0, 1)
    goal = (ticket // threads + 1) * threads
    spins = 0
    while peek(counters, 0) < goal:
        spins += 1
        if spins > PATIENCE:  # whoever is missing may be waiting for this very core
            give_way()


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
def weight_of(mind: Mind, e: int, positive: Any, negative: Any, foreseen: bool) -> Any:
    """What an action is played in proportion to: a regret, or what it will be if foreseen."""
    like = kind_of(positive)
    w = recall(mind.weights, mind.scale, e, like)
    if foreseen:
        w = w * choose(w, splat(0.0, like), positive, negative)
        w = w + recall(mind.instant, mind.instant_scale, e, like)
    return larger(w, splat(TINY, like))


@njit(cache=True, error_model="numpy", forceinline=True)
def share_of(mind: Mind, e: int, n: int, positive: Any, negative: Any, foreseen: bool) -> Any:
    """One by the weights of all actions: to read them again costs less than to keep them."""
    like = kind_of(positive)
    total = splat(0.0, like)
    for k in range(n):
        total = total + weight_of(mind, e + k * LANES, positive, negative, foreseen)
    return splat(1.0, like) / total


@njit(cache=True, error_model="numpy")
def descend(
    f: BettingTree, sp: int, mind: Mind, at: int, ahead: Rates, kept: bool, s: Scratch
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
def learn(f: BettingTree, sp: int, mind: Mind, at: int, rates: Rates, s: Scratch) -> None:
    """Values of every row from those of the leaves and ends; regrets, discounted and increased.

    Her strategy is matched to the regrets once more, as they are read anyway.
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
    mind: Mind,
    e: int,
    n: int,
    positive: Any,
    negative: Any,
    foreseen: bool,
    value: Numbers,
    to: int,
) -> Any:
    """The value of a decision with any number of actions, played as her weights have it."""
    like = kind_of(positive)
    share, mean = share_of(mind, e, n, positive, negative, foreseen), splat(0.0, like)
    for k in range(n):
        w = weight_of(mind, e + k * LANES, positive, negative, foreseen)
        mean = mean + (w * share) * load(value, to + k * LANES, like)
    return mean


@njit(cache=True, error_model="numpy")
def follow(f: BettingTree, sp: int, mind: Mind, at: int, mode: int, s: Scratch) -> None:
    """Values of every row under the player's strategy, or her best response to the opponent's."""
    value = s.value
    like = value[0]
    zero, one = splat(0.0, like), splat(1.0, like)
    at -= f.roots[sp // 2] * LANES
    for i in range(f.infoset_at[sp + 1] - 1, f.infoset_at[sp] - 1, -1):
        first, last = f.first[i], f.first[i] + f.actions[i]
        best = load(value, first * LANES, like)
        if mode == FOLLOW:
            to = first * LANES
            best = played(mind, at + to, last - first, one, one, False, value, to)
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


# One board -----------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy", forceinline=True)
def tile_of(f: BettingTree, b: Boards, u: int, p: int, tile: int) -> int:
    """Where a tile's weights start."""
    sp = 2 * b.street[u] + p
    return b.store_at[2 * u + p] + tile * (f.rows[sp] - f.roots[sp // 2]) * LANES


@njit(cache=True, error_model="numpy", forceinline=True)
def across(
    source: Numbers, a: int, b: int, c: int, d: int, into: Numbers, at: int, apart: int
) -> None:
    """Transpose four rows of `LANES` numbers, to where four numbers each are `apart`."""
    like = source[0]
    turn(
        load(source, a, like),
        load(source, b, like),
        load(source, c, like),
        load(source, d, like),
        into,
        at,
        apart,
    )


@njit(cache=True, error_model="numpy", forceinline=True)
def enter(
    b: Boards,
    u: int,
    p: int,
    place: int,
    ways: int,
    way: Numbers,
    at: int,
    nobody: int,
    reach: Numbers,
) -> None:
    """Reach at the roots of a unit, for a tile from `place` on: from the unit above."""
    hands, above = b.hands[2 * u + p], b.hand_at[2 * u + p]
    for h in range(place, place + LANES, 4):
        h0 = at + (np.int64(b.above[above + h]) if h < hands else nobody) * ways
        h1 = at + (np.int64(b.above[above + h + 1]) if h + 1 < hands else nobody) * ways
        h2 = at + (np.int64(b.above[above + h + 2]) if h + 2 < hands else nobody) * ways
        h3 = at + (np.int64(b.above[above + h + 3]) if h + 3 < hands else nobody) * ways
        for k in range(0, ways, 4):
            gather(way, h0 + k, h1 + k, h2 + k, h3 + k, reach, k * LANES + h - place)


@njit(cache=True, error_model="numpy")
def bring(
    f: BettingTree,
    b: Boards,
    u: int,
    p: int,
    tile: int,
    mind: Mind,
    ahead: Rates,
    kept: bool,
    way: Numbers,
    way_at: Ints,
    s: Scratch,
) -> None:
    """Reach of player `p` down through a unit, in one tile, from the `way` above it."""
    street = b.street[u]
    sp, place, leaves, like = 2 * street + p, tile * LANES, f.roots[street + 1], s.reach[0]
    if street == 0:  # one root, and hands as they are
        store(s.reach, 0, load(way, way_at[p] + place, like))
    else:
        nobody = s.wide[street - 1]
        enter(b, u, p, place, s.ways[street], way, way_at[sp], nobody, s.reach)
    kept = kept and mind.flags[0] != 0
    descend(f, sp, mind, tile_of(f, b, u, p, tile), ahead, kept, s)
    if leaves == 0:
        return
    ways, leaf, last = s.ways[street + 1], f.leaf_at[sp], f.leaf_at[sp] + leaves - 1
    into = s.way_at[sp + 2] + place * ways
    for k in range(leaf, leaf + leaves, 4):  # what is no root any more repeats the last
        row0, row1 = f.leaf_row[k] * LANES, f.leaf_row[min(k + 1, last)] * LANES
        row2, row3 = f.leaf_row[min(k + 2, last)] * LANES, f.leaf_row[min(k + 3, last)] * LANES
        across(s.reach, row0, row1, row2, row3, s.way, into + k - leaf, ways)


@njit(cache=True, error_model="numpy")
def face(f: BettingTree, b: Boards, u: int, o: int, tile: int, s: Scratch) -> None:
    """The opponent's reach in one tile, laid out for the terminals: one lane per row that ends."""
    street = b.street[u]
    so = 2 * street + o
    for c in range(f.chunk_at[so + 1] - f.chunk_at[so]):
        lane = (f.chunk_at[so] + c) * LANES
        into = s.lanes_at[street] + (c * s.tall[street] + tile * LANES) * LANES
        for q in range(lane, lane + LANES, 4):
            row0, row1 = f.lane_row[q] * LANES, f.lane_row[q + 1] * LANES
            row2, row3 = f.lane_row[q + 2] * LANES, f.lane_row[q + 3] * LANES
            across(s.reach, row0, row1, row2, row3, s.lanes, into + q - lane, LANES)


@njit(cache=True, error_model="numpy", forceinline=True)
def tiles(b: Boards, u: int, p: int) -> int:
    return (b.hands[2 * u + p] + LANES - 1) // LANES


@njit(cache=True, error_model="numpy")
def arrive(
    f: BettingTree,
    b: Boards,
    u: int,
    p: int,
    mine: Mind,
    theirs: Mind,
    rates: Rates,
    ahead: Rates,
    keep: int,
    way: Numbers,
    way_at: Ints,
    s: Scratch,
    me: int,
    threads: int,
) -> None:
    """Reach down through a unit: the opponent's, and ours where our average is kept."""
    for tile in range(me, tiles(b, u, 1 - p), threads):
        bring(f, b, u, 1 - p, tile, theirs, ahead, keep != NOBODY, way, way_at, s)
        face(f, b, u, 1 - p, tile, s)
    if keep == BOTH:
        for tile in range(me, tiles(b, u, p), threads):
            bring(f, b, u, p, tile, mine, rates, True, way, way_at, s)


@njit(cache=True, error_model="numpy")
def settle(
    f: BettingTree,
    b: Boards,
    u: int,
    p: int,
    mode: int,
    mind: Mind,
    rates: Rates,
    s: Scratch,
    me: int,
    threads: int,
) -> None:
    """Values of player `p` up through a unit."""
    street = b.street[u]
    sp, so = 2 * street + p, 2 * street + 1 - p
    like = s.value[0]
    tall, ways, below = s.tall[street], s.ways[street], s.ways[street + 1]
    zero = splat(0.0, like)
    for tile in range(me, tiles(b, u, p), threads):
        place = tile * LANES
        for k in range(f.blank_at[sp], f.blank_at[sp + 1]):
            store(s.value, f.blank_row[k] * LANES, zero)
        for c in range(f.chunk_at[so + 1] - f.chunk_at[so]):
            chunk = f.chunk_at[so] + c
            source = s.lanes_at[street] + (c * tall + place) * LANES
            for kind in range(2):
                if f.end_at[2 * chunk + kind] == f.end_at[2 * chunk + kind + 1]:
                    continue
                lanes = s.shown if kind == 0 else s.folded
                for h in range(0, LANES, 4):
                    row = source + h * LANES
                    across(
                        lanes, row, row + LANES, row + 2 * LANES, row + 3 * LANES, s.block, h, LANES
                    )
                for e in range(f.end_at[2 * chunk + kind], f.end_at[2 * chunk + kind + 1]):
                    row = f.end_row[e] * LANES
                    chips = splat(f.end_scale[e], like)
                    won = chips * load(s.block, f.end_lane[e] * LANES, like)
                    if f.end_first[e] == 0:
                        won = won + load(s.value, row, like)
                    store(s.value, row, won)
        for k in range(0, below, 4):
            for h in range(0, LANES, 4):
                paid = s.paid_at[street] + (place + h) * below + k
                gather(s.paid, paid, paid + below, paid + 2 * below, paid + 3 * below, s.block, h)
            for j in range(k, min(k + 4, f.roots[street + 1])):
                row = f.leaf_row[f.leaf_at[sp] + j] * LANES
                more = load(s.block, (j - k) * LANES, like)
                store(s.value, row, load(s.value, row, like) + more)
        at = tile_of(f, b, u, p, tile)
        if mode == LEARN:
            learn(f, sp, mind, at, rates, s)
        else:
            follow(f, sp, mind, at, mode, s)
        if street == 0:
            store(s.result, s.result_at[0] + place, load(s.value, 0, like))
            continue
        for k in range(0, ways, 4):
            row, into = k * LANES, s.result_at[street] + place * ways + k
            across(
                s.value, row, row + LANES, row + 2 * LANES, row + 3 * LANES, s.result, into, ways
            )


@njit(cache=True, error_model="numpy", forceinline=True)
def pay_all(
    s: Scratch, into: int, result: Numbers, source: int, begin: int, stop: int, times: float
) -> None:
    """Values of one hand at some roots, so many times."""
    for k in range(begin, stop, 4):
        pay(s.paid, into + k, result, source + k, times)


@njit(cache=True, error_model="numpy")
def hand_up(
    b: Boards, c: int, p: int, begin: int, stop: int, result: Numbers, source: int, s: Scratch
) -> None:
    """Values at some roots of child `c` are added to the leaves of the unit above.

    Of the cards that the one dealt stands for, a hand meets those that it does not hold.
    """
    street = b.street[c]
    at, weight, dealt = b.hand_at[2 * c + p], b.weight[c], b.dealt[c]
    less = weight * b.share[c]
    into, ways = s.paid_at[street - 1], s.ways[street]
    if b.size_at[c] < 0:  # every card is there once, and no hand holds the one dealt
        for h in range(b.hands[2 * c + p]):
            up = into + np.int64(b.above[at + h]) * ways
            pay_all(s, up, result, source + h * ways, begin, stop, weight)
        return
    first = b.run_at[2 * c + p]
    for r in range(first, first + np.int64(b.group_run[b.group_at[2 * c + p] + b.groups[c]])):
        often = weight - less if np.int64(b.run_card[r]) == dealt else weight
        for h in range(np.int64(b.run_start[r]), np.int64(b.run_start[r + 1])):
            times = often - less if np.int64(b.other[at + h]) == dealt else often
            up = into + np.int64(b.above[at + h]) * ways
            pay_all(s, up, result, source + h * ways, begin, stop, times)


@njit(cache=True, error_model="numpy")
def even_out(b: Boards, u: int, p: int, begin: int, stop: int, s: Scratch) -> None:
    """Average the values at some leaves over hands that suits exchange."""
    street = b.street[u]
    into, ways = s.paid_at[street], s.ways[street + 1]
    at = b.orbit_at[2 * u + p]
    for o in range(at, at + b.orbits[2 * u + p]):
        first, last = b.orbit_start[o], b.orbit_start[o + 1]
        if last - first > 1:
            for k in range(into + begin, into + stop):
                total = s.paid[k] * 0
                for j in range(first, last):
                    total += s.paid[k + np.int64(b.orbit_hand[j]) * ways]
                total /= last - first
                for j in range(first, last):
                    s.paid[k + np.int64(b.orbit_hand[j]) * ways] = total


@njit(cache=True, error_model="numpy")
def clear(b: Boards, u: int, begin: int, stop: int, s: Scratch) -> None:
    """Nothing is paid at some leaves yet."""
    street = b.street[u]
    into, ways = s.paid_at[street], s.ways[street + 1]
    for h in range(s.wide[street]):
        for k in range(begin, stop):
            s.paid[into + h * ways + k] = 0


@njit(cache=True, error_model="numpy")
def end(f: BettingTree, b: Boards, u: int, p: int, s: Scratch, me: int, threads: int) -> None:
    """All terminals of a unit for player `p`."""
    street = b.street[u]
    so = 2 * street + 1 - p
    for c in range(me, f.chunk_at[so + 1] - f.chunk_at[so], threads):
        at = s.lanes_at[street] + c * s.tall[street] * LANES
        kind = f.chunk_kind[f.chunk_at[so] + c]
        evaluate(b, u, p, kind, s.lanes, s.shown, s.folded, at, s.sums, s.deck[0])


@njit(cache=True, error_model="numpy")
def visit(
    f: BettingTree,
    b: Boards,
    u: int,
    p: int,
    mode: int,
    mine: Mind,
    theirs: Mind,
    rates: Rates,
    ahead: Rates,
    keep: int,
    way: Numbers,
    way_at: Ints,
    s: Scratch,
) -> None:
    """Sweep a unit and all below it, alone: from the `way` above it to `s.result`."""
    street, leaves = b.street[u], s.ways[b.street[u] + 1]
    me, threads = np.int64(0), np.int64(1)  # literals would be types of their own
    arrive(f, b, u, p, mine, theirs, rates, ahead, keep, way, way_at, s, me, threads)
    if leaves > 0:
        clear(b, u, me, leaves, s)
        for c in range(b.child_at[u], b.child_at[u + 1]):
            visit(f, b, c, p, mode, mine, theirs, rates, ahead, keep, s.way, s.way_at, s)
            hand_up(b, c, p, me, leaves, s.result, s.result_at[street + 1], s)
        even_out(b, u, p, me, leaves, s)
    end(f, b, u, p, s, me, threads)
    settle(f, b, u, p, mode, mine, rates, s, me, threads)


@njit(cache=True, error_model="numpy")
def sweep(
    f: BettingTree,
    b: Boards,
    p: int,
    mode: int,
    mine: Mind,
    theirs: Mind,
    rates: Rates,
    ahead: Rates,
    keep: int,
    me: int,
    threads: int,
    team: Team,
    top: Scratch,
    s: Scratch,
) -> None:
    """Sweep the whole tree, together: `top` is shared, `s` is this thread's own.

    Threads share the first board's tiles and chunks, and hand out the boards below one by one. As
    their values are kept apart and added in order, results do not depend on who did what.
    """
    leaves, first, last = top.ways[1], b.child_at[0], b.child_at[1]
    root = np.int64(0)
    if me == 0:
        team.counters[1] = 0
    arrive(f, b, root, p, mine, theirs, rates, ahead, keep, top.way, top.way_at, top, me, threads)
    wait(team.counters, threads)
    if leaves > 0:
        size = leaves * s.wide[1]
        c = first + fetch_add(team.counters, 1, 1)
        while c < last:
            visit(f, b, c, p, mode, mine, theirs, rates, ahead, keep, top.way, top.way_at, s)
            for j in range(size):
                team.results[(c - first) * size + j] = s.result[s.result_at[1] + j]
            c = first + fetch_add(team.counters, 1, 1)
        wait(team.counters, threads)
        for k in range(me * LANES, leaves, threads * LANES):  # no two write to the same line
            stop = min(k + LANES, leaves)
            clear(b, root, k, stop, top)
            for c in range(first, last):
                hand_up(b, c, p, k, stop, team.results, (c - first) * size, top)
            even_out(b, root, p, k, stop, top)
    end(f, b, root, p, top, me, threads)
    wait(team.counters, threads)
    settle(f, b, root, p, mode, mine, rates, top, me, threads)
    wait(team.counters, threads)


@njit(cache=True, error_model="numpy")
def keeping(turn: int, count: int) -> int:
    """Whose averages player p's sweep adds to on iteration t of `count`: ``turn = t + p``.

    Player 1 sweeps against the strategy that player 0 plays on the next iteration, so that player
    0's average is one iteration ahead until the last.
    """
    if turn == 0:
        return BOTH
    return NOBODY if turn == count else THEIRS


@njit(cache=True, error_model="numpy", nogil=True)
def run_iterations(  # type: ignore[no-untyped-def]
    betting_tree, boards, first, second, discounts, responder, me, threads, team, top, own
) -> None:
    """Run ``len(discounts) - 1`` iterations, the players taking turns."""
    f, b, shared = BettingTree(*views(betting_tree)), Boards(*views(boards)), Team(*views(team))
    up, s = Scratch(*views(top)), Scratch(*views(own))
    both = (Mind(*views(first)), Mind(*views(second)))
    count = len(discounts) - 1
    for t in range(count):
        now = (discounts[t, 0], discounts[t, 1], discounts[t, 2], discounts[t, 3])
        for p in range(2):
            next = discounts[t + p]
            ahead = (next[0], next[1], next[2], next[3])
            mode = RESPOND if responder == p else LEARN
            keep = keeping(t + p, count)
            sweep(f, b, p, mode, both[p], both[1 - p], now, ahead, keep, me, threads, shared, up, s)


@njit(cache=True, error_model="numpy", nogil=True)
def run_sweep(  # type: ignore[no-untyped-def]
    betting_tree, boards, p, mode, mine, theirs, rates, ahead, keep, me, threads, team, top, own
) -> None:
    """One sweep; root values are in the shared scratch's `result`."""
    f, b, shared = BettingTree(*views(betting_tree)), Boards(*views(boards)), Team(*views(team))
    up, s = Scratch(*views(top)), Scratch(*views(own))
    now = (rates[0], rates[1], rates[2], rates[3])
    then = (ahead[0], ahead[1], ahead[2], ahead[3])
    sweep(
        f,
        b,
        p,
        mode,
        Mind(*views(mine)),
        Mind(*views(theirs)),
        now,
        then,
        keep,
        me,
        threads,
        shared,
        up,
        s,
    )
