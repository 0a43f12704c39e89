"""The CPU kernels of sequence trees: Numba functions over the arrays of a `SequenceTree`.

The kernels mutate the arrays they are given and allocate nothing in an iteration. One CFR iteration
for a player evaluates the terminals against the opponent's reach, goes up the player's treeplex
(values, regrets, average), and goes down it (regret matching, reach).

Python calls only the functions named ``run_...``, each through a `native.Kernel`, with plain
tuples, of which the kernels make named tuples. Helpers are inlined by force, because a call would
pass every array of a named tuple as seven words.
"""

from __future__ import annotations

import numpy as np
from numba import uint64 as U  # noqa: N812
from numpy.typing import NDArray

from subgame.engines.contract import Mode
from subgame.engines.numba.compiling import njit
from subgame.engines.numba.sequence_state import LANES, State
from subgame.engines.numba.subnormals import flush_subnormals, restore
from subgame.tree.sequence.tree import Plex, Terminals

Floats = NDArray[np.float64]

LEARN, EVALUATE, BEST, RESPOND, _ = map(int, Mode)


@njit(forceinline=True, fastmath={"contract"}, error_model="numpy")
def evaluate(t: Terminals, player: int, reach: Floats, value: Floats, x: Floats) -> None:
    """Add every terminal's ``M r`` to `value`: v0 = M r1 for player 0, v1 = -M' r0 for player 1.

    The lanes of a group are consecutive in the workspace `x` (see `scratch`), so that one entry of
    M is applied to a contiguous range of memory. Unsigned indices avoid Numba's check for negative
    ones.
    """
    ours = (t.rows, t.row_sequence, t.row_sequence_at)
    theirs = (t.cols, t.col_sequence, t.col_sequence_at)
    ptr, ptr_at, index, weight, sign = t.row_ptr, t.row_ptr_at, t.row_col, t.row_value, 1.0
    if player == 1:
        ours, theirs = theirs, ours
        ptr, ptr_at, index, weight, sign = t.col_ptr, t.col_ptr_at, t.col_row, t.col_value, -1.0
    (rows, out, out_at), (cols, into, into_at) = ours, theirs
    y = x[-LANES:]
    for g in range(len(rows)):
        lanes, m, n = U(t.lanes[g]), U(rows[g]), U(cols[g])
        start, scale_at = U(ptr_at[g]), U(t.scale_at[g])
        if lanes == U(1):  # a matrix of its own: plain sparse rows
            at, scale = U(into_at[g]), sign * t.scale[scale_at]
            for j in range(n):
                x[j] = reach[U(into[at + j])] * scale
            at, e = U(out_at[g]), U(ptr[start])
            for i in range(m):
                stop, total = U(ptr[start + i + U(1)]), 0.0
                while e < stop:
                    total += weight[e] * x[U(index[e])]
                    e += U(1)
                value[U(out[at + i])] += total
            continue
        for lo in range(U(0), lanes, U(LANES)):
            size = min(U(LANES), lanes - lo)
            at = U(into_at[g]) + lo
            for j in range(n):
                for k in range(size):
                    scale = sign * t.scale[scale_at + lo + k]
                    x[j * U(LANES) + k] = reach[U(into[at + k])] * scale
                at += lanes
            at, e = U(out_at[g]) + lo, U(ptr[start])
            for i in range(m):
                stop = U(ptr[start + i + U(1)])
                for k in range(size):
                    y[k] = 0.0
                while e < stop:
                    w, row = weight[e], U(index[e]) * U(LANES)
                    for k in range(size):
                        y[k] += w * x[row + k]
                    e += U(1)
                for k in range(size):
                    value[U(out[at + k])] += y[k]
                at += lanes


@njit(forceinline=True, error_model="numpy")
def propagate(plex: Plex, sigma: Floats, reach: Floats) -> None:
    """Realisation plan of a strategy; `reach` is given at the root infosets."""
    for b in range(len(plex.block_actions)):
        lo, hi = U(plex.block_infoset[b]), U(plex.block_infoset[b + 1])
        q = U(plex.block_sequence[b])
        for _ in range(plex.block_actions[b]):
            for i in range(lo, hi):
                reach[q + i - lo] = reach[U(plex.parent[i])] * sigma[q + i - lo]
            q += hi - lo


@njit(forceinline=True, error_model="numpy")
def match(plex: Plex, m: State, b: int, positive: float, negative: float) -> None:
    """Regret matching in block `b`.

    With a prediction (Farina et al. 2021) the regrets are first discounted as the next iteration
    will discount them, and the last instantaneous regret is added.
    """
    predict = len(m.instant) > 0
    regret, instant, sigma, total = m.regret, m.instant, m.sigma, m.total
    actions = U(plex.block_actions[b])
    size = U(plex.block_infoset[b + 1] - plex.block_infoset[b])
    start = U(plex.block_sequence[b])
    for k in range(size):
        total[k] = 0.0
    for a in range(actions):
        q = start + a * size
        if predict:
            for k in range(size):
                r = regret[q + k]
                r = max(r * (positive if r > 0.0 else negative) + instant[q + k], 0.0)
                sigma[q + k] = r
                total[k] += r
        else:
            for k in range(size):
                r = max(regret[q + k], 0.0)
                sigma[q + k] = r
                total[k] += r
    uniform = 1.0 / actions
    for k in range(size):  # one division per infoset
        total[k] = 1.0 / total[k] if total[k] > 0.0 else 0.0
    for a in range(actions):
        q = start + a * size
        for k in range(size):
            sigma[q + k] = sigma[q + k] * total[k] if total[k] > 0.0 else uniform


@njit(forceinline=True, error_model="numpy")
def begin(plex: Plex, m: State, positive: float, negative: float) -> None:
    """Compute the current strategy and its reach from the regrets."""
    for b in range(len(plex.block_actions)):
        match(plex, m, b, positive, negative)
    propagate(plex, m.sigma, m.reach)


@njit(forceinline=True, error_model="numpy")
def learn(plex: Plex, m: State, now: Floats, then: Floats, onward: bool) -> None:
    """Go up the treeplex: values, then regrets and average with the schedule's discounts.

    `now` and `then` are this and the next iteration's (positive, negative, kept):
    ``R <- d R + r`` with d by the sign of R (Brown & Sandholm 2019); ``S <- kept S + reach``.
    If `onward`, the next strategy is computed as well.
    """
    positive, negative, kept = now[0], now[1], now[2]
    regret, instant, average, parent = m.regret, m.instant, m.average, plex.parent
    sigma, reach, value, total = m.sigma, m.reach, m.value, m.total
    for b in range(len(plex.block_actions) - 1, -1, -1):
        lo, actions = U(plex.block_infoset[b]), U(plex.block_actions[b])
        size = U(plex.block_infoset[b + 1]) - lo
        start = U(plex.block_sequence[b])
        if actions == U(1):  # a single action has no regret and needs no average
            for k in range(size):
                value[U(parent[lo + k])] += value[start + k]
            continue
        for k in range(size):
            total[k] = 0.0
        for a in range(actions):
            q = start + a * size
            for k in range(size):
                total[k] += sigma[q + k] * value[q + k]
        for k in range(size):
            value[U(parent[lo + k])] += total[k]
        for a in range(actions):
            q = start + a * size
            for k in range(size):
                old = regret[q + k]
                old *= positive if old > 0.0 else negative
                regret[q + k] = old + (value[q + k] - total[k])
                average[q + k] = average[q + k] * kept + reach[q + k]
            if len(instant) > 0:
                for k in range(size):
                    instant[q + k] = value[q + k] - total[k]
        if onward:
            match(plex, m, b, then[0], then[1])


@njit(forceinline=True, error_model="numpy")
def climb(plex: Plex, best: bool, sigma: Floats, value: Floats, infoset: Floats) -> None:
    """Go up under a strategy: counterfactual values of every sequence and root infoset.

    If `best`, the best action is taken everywhere and its probability is set to 1. The values of
    infosets [i] are written too, unless `infoset` is empty.
    """
    for b in range(len(plex.block_actions) - 1, -1, -1):
        lo, hi, actions = plex.block_infoset[b], plex.block_infoset[b + 1], plex.block_actions[b]
        size, start = hi - lo, plex.block_sequence[b]
        for i in range(lo, hi):
            first, total = start + i - lo, 0.0
            if best:
                at, total = first, value[first]
                for a in range(1, actions):
                    if value[first + a * size] > total:
                        at, total = first + a * size, value[first + a * size]
                sigma[at] = 1.0
            else:
                for a in range(actions):
                    total += sigma[first + a * size] * value[first + a * size]
            value[plex.parent[i]] += total
            if len(infoset) > 0:
                infoset[i] = total


@njit(forceinline=True, error_model="numpy")
def respond(plex: Plex, m: State) -> None:
    """Go up taking the best action everywhere, and play it (CFR-BR, Johanson et al. 2012).

    It is written into the regrets, so that regret matching plays it from now on. It is also written
    into the prediction, because the discount of the regrets may be 0.
    """
    for b in range(len(plex.block_actions)):
        start = plex.block_sequence[b]
        size = plex.block_infoset[b + 1] - plex.block_infoset[b]
        m.sigma[start : start + plex.block_actions[b] * size] = 0.0
    climb(plex, True, m.sigma, m.value, m.total[:0])
    for b in range(len(plex.block_actions)):
        size, actions = plex.block_infoset[b + 1] - plex.block_infoset[b], plex.block_actions[b]
        start = plex.block_sequence[b]
        for q in range(start, start + actions * size if actions > 1 else start):
            m.regret[q] = m.sigma[q]
            if len(m.instant) > 0:
                m.instant[q] = m.sigma[q]


@njit(forceinline=True)
def collect(m: State, kept: float) -> None:
    """Add the current reach to the average."""
    for q in range(len(m.average)):
        m.average[q] = m.average[q] * kept + m.reach[q]


@njit(cache=True, error_model="numpy", nogil=True)
def run_iterations(
    plexes, terminals, states, discounts: Floats, alternating: bool, responder: int
) -> None:
    """Run ``len(discounts) - 1`` iterations; ``discounts[t]`` is (positive, negative, kept).

    Player `responder`, if any, plays a best response on each of them instead of learning. The
    two players are a loop, not two copies: every kernel has one call site to compile.
    """
    word = flush_subnormals()
    ends, count = Terminals(*terminals), len(discounts) - 1
    sides = (Plex(*plexes[0]), Plex(*plexes[1]))
    both = (State(*states[0]), State(*states[1]))
    for p in range(2):
        begin(sides[p], both[p], discounts[0, 0], discounts[0, 1])
    # Player 1 responds before the first iteration as it does at the end of every one.
    for t in range(-1 if responder == 1 and count > 0 else 0, count):
        for p in range(1 if t < 0 else 0, 2):
            for side in range(2):  # alternating: own values now; else both before any update
                if side == p if alternating else p == 0:
                    me = both[side]
                    for q in range(len(me.value)):
                        me.value[q] = 0.0
                    evaluate(ends, side, both[1 - side].reach, me.value, me.lanes)
            me = both[p]
            if responder == p:
                if t >= 0:
                    collect(me, discounts[t, 2])
                respond(sides[p], me)
            else:
                learn(sides[p], me, discounts[t], discounts[t + 1], True)
            propagate(sides[p], me.sigma, me.reach)
    restore(word)


@njit(cache=True, error_model="numpy", nogil=True)
def run_sweep(plexes, terminals, states, traverser, mode, rates):
    """One traversal; see `contract.Engine.sweep`.

    Plexes, states and rates are first the traverser's, then the opponent's. Both reaches are given
    at the root infosets. The traverser's `value` holds values to add to those of the terminals.
    """
    word = flush_subnormals()
    side, me, now = Plex(*plexes[0]), State(*states[0]), rates[0]
    for k in range(2):
        if k == 1 or mode != BEST:
            begin(Plex(*plexes[k]), State(*states[k]), rates[k][0], rates[k][1])
    evaluate(Terminals(*terminals), traverser, State(*states[1]).reach, me.value, me.lanes)
    if mode == LEARN:
        learn(side, me, now, now, False)
    elif mode == RESPOND:
        collect(me, now[2])
        respond(side, me)
    else:
        climb(side, mode == BEST, me.sigma, me.value, me.total[:0])
    restore(word)


@njit(cache=True, error_model="numpy", nogil=True)
def run_match(plex, state, rates):
    """Write the strategy that regret matching plays into the state's `sigma`."""
    word = flush_subnormals()
    begin(Plex(*plex), State(*state), rates[0], rates[1])
    restore(word)


@njit(cache=True, error_model="numpy", nogil=True)
def run_values(plex, terminals, player, reach, best, sigma, value, infoset, lanes):
    """Counterfactual values of `player` against the opponent's `reach`; see `climb`."""
    word = flush_subnormals()
    for q in range(len(value)):
        value[q] = 0.0
    evaluate(Terminals(*terminals), player, reach, value, lanes)
    climb(Plex(*plex), best, sigma, value, infoset)
    restore(word)


@njit(cache=True, error_model="numpy", nogil=True)
def run_responses(plexes, terminals, states, roots, sigmas, won):
    """Write what a best response to each player's `sigma` wins into `won` [2].

    `roots` are both players' reach at the root infosets.
    """
    word = flush_subnormals()
    sides, ends = (Plex(*plexes[0]), Plex(*plexes[1])), Terminals(*terminals)
    both = (State(*states[0]), State(*states[1]))
    for p in range(2):
        for k in range(len(roots[p])):
            both[p].reach[k] = roots[p][k]
        propagate(sides[p], sigmas[p], both[p].reach)
    for p in range(2):
        me = both[p]
        for q in range(len(me.value)):
            me.value[q] = 0.0
        evaluate(ends, p, both[1 - p].reach, me.value, me.lanes)
        climb(sides[p], True, me.sigma, me.value, me.total[:0])
        won[1 - p] = 0.0
        for k in range(len(roots[p])):
            won[1 - p] += roots[p][k] * me.value[k]
    restore(word)


@njit(cache=True, error_model="numpy", nogil=True)
def run_propagate(plex, sigma, reach):
    """Realisation plan of `sigma`; `reach` is given at the root infosets."""
    word = flush_subnormals()
    propagate(Plex(*plex), sigma, reach)
    restore(word)


@njit(cache=True, error_model="numpy", nogil=True)
def run_normalise(plex, average, sigma):
    """Behaviour strategy of a realisation plan; uniform where the plan is zero."""
    word = flush_subnormals()
    blocks = Plex(*plex)
    for b in range(len(blocks.block_actions)):
        size = blocks.block_infoset[b + 1] - blocks.block_infoset[b]
        start, actions = blocks.block_sequence[b], blocks.block_actions[b]
        for k in range(start, start + size):
            total = 0.0
            for a in range(actions):
                total += average[k + a * size]
            for a in range(actions):
                q = k + a * size
                sigma[q] = average[q] / total if total > 0.0 else 1.0 / actions
    restore(word)
