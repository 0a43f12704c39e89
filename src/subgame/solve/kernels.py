"""The CPU kernels: Numba over the arrays of a `PublicTree`. They see arrays only.

Everything here mutates the arrays it is handed and allocates nothing in the iteration. One CFR
iteration for a player is: evaluate the terminals against the opponent's reach, walk her treeplex
upwards (values, regrets, average), walk it downwards (regret matching, reach).

Called from Python are only the functions named ``run_...``, with plain tuples: Numba recognises
those at once, while typing a named tuple anew costs 10 µs per field at every call. Inside,
everything has its name again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from subgame.tree.public_tree import Plex, Terminals

Floats = NDArray[np.float64]

LANES = 32
"""Terminals of one group evaluated together; their vectors stay in the first-level cache."""
HERMITE_X, _weights = np.polynomial.hermite.hermgauss(64)
HERMITE_W = _weights / math.sqrt(math.pi)
_nodes, _weights = np.polynomial.legendre.leggauss(64)
LEGENDRE_U, LEGENDRE_W = (_nodes + 1) / 2, _weights / 2


class Memory(NamedTuple):
    """What a solver remembers of one player. Axis: q = sequence."""

    regret: Floats  # [q] discounted cumulative counterfactual regret
    average: Floats  # [q] discounted cumulative realisation plan
    instant: Floats  # [q] last iteration's regret, the prediction of PCFR+; empty if not used
    sigma: Floats  # [q] current strategy
    reach: Floats  # [q] current realisation plan
    value: Floats  # [q] counterfactual values
    total: Floats  # [widest block] scratch


class Root(NamedTuple):
    """What chooses a player's reach into a subgame on every iteration. Axis: s = root slot.

    Nothing (`player` -1), a tremble (her first block keeps every action at least this likely), or
    random alternative payoffs: she enters by how likely they lie below the value of entering.
    """

    player: int
    rule: int  # FIXED, RESPOND or HEDGE
    tremble: Floats  # [t] least probability of each action in her first block
    mean: Floats  # [s] of the normal alternative payoff
    spread: Floats  # [s] its standard deviation
    weight: Floats  # [s] pi_{-i}: turns counterfactual values into values
    seen: Floats  # [3, s] count, sum and sum of squares of the values of entering


FIXED, RESPOND, HEDGE = 0, 1, 2


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def evaluate(t: Terminals, player: int, reach: Floats, value: Floats) -> None:
    """Add every terminal's ``M r`` to `value`: v0 = M r1 for player 0, v1 = -M' r0 for player 1."""
    if player == 0:
        m, n = t.rows, t.cols
        out, out_at, into, into_at = (
            t.row_sequence,
            t.row_sequence_at,
            t.col_sequence,
            t.col_sequence_at,
        )
        ptr, ptr_at, index, weight, sign = t.row_ptr, t.row_ptr_at, t.row_col, t.row_value, 1.0
    else:
        m, n = t.cols, t.rows
        out, out_at, into, into_at = (
            t.col_sequence,
            t.col_sequence_at,
            t.row_sequence,
            t.row_sequence_at,
        )
        ptr, ptr_at, index, weight, sign = t.col_ptr, t.col_ptr_at, t.col_row, t.col_value, -1.0
    widest = 1
    for g in range(len(n)):
        widest = max(widest, n[g])
    x = np.empty((widest, LANES))
    y = np.empty(LANES)
    for g in range(len(m)):
        lanes = t.lanes[g]
        for lo in range(0, lanes, LANES):
            size = min(LANES, lanes - lo)
            for j in range(n[g]):
                at = into_at[g] + j * lanes + lo
                for k in range(size):
                    x[j, k] = reach[into[at + k]] * (sign * t.scale[t.scale_at[g] + lo + k])
            for i in range(m[g]):
                y[:size] = 0.0
                for e in range(ptr[ptr_at[g] + i], ptr[ptr_at[g] + i + 1]):
                    w, j = weight[e], index[e]
                    for k in range(size):
                        y[k] += w * x[j, k]
                at = out_at[g] + i * lanes + lo
                for k in range(size):
                    value[out[at + k]] += y[k]


@njit(cache=True, error_model="numpy")
def propagate(plex: Plex, sigma: Floats, reach: Floats) -> None:
    """Realisation plan of a strategy; the root slots of `reach` are given."""
    for b in range(len(plex.block_actions)):
        lo, hi = plex.block_infoset[b], plex.block_infoset[b + 1]
        q = plex.block_sequence[b]
        for _ in range(plex.block_actions[b]):
            for i in range(lo, hi):
                reach[q] = reach[plex.parent[i]] * sigma[q]
                q += 1


@njit(cache=True, error_model="numpy")
def match(plex: Plex, m: Memory, positive: float, negative: float, tremble: float = 0.0) -> None:
    """Regret matching, and the reach that follows.

    With a prediction (Farina et al. 2021) the regrets are first carried to the next iteration:
    discounted as it will discount them, plus the last instantaneous regret. Actions of the first
    block are played with probability `tremble` at least.
    """
    predict = len(m.instant) > 0
    for b in range(len(plex.block_actions)):
        lo, actions = plex.block_infoset[b], plex.block_actions[b]
        size = plex.block_infoset[b + 1] - lo
        start = plex.block_sequence[b]
        total = m.total[:size]
        total[:] = 0.0
        for a in range(actions):
            regret = m.regret[start + a * size : start + (a + 1) * size]
            sigma = m.sigma[start + a * size : start + (a + 1) * size]
            if predict:
                instant = m.instant[start + a * size : start + (a + 1) * size]
                for k in range(size):
                    r = regret[k]
                    r = r * (positive if r > 0.0 else negative) + instant[k]
                    sigma[k] = max(r, 0.0)
                    total[k] += sigma[k]
            else:
                for k in range(size):
                    sigma[k] = max(regret[k], 0.0)
                    total[k] += sigma[k]
        uniform = 1.0 / actions
        least = tremble if b == 0 else 0.0
        for a in range(actions):
            sigma = m.sigma[start + a * size : start + (a + 1) * size]
            reach = m.reach[start + a * size : start + (a + 1) * size]
            for k in range(size):
                p = sigma[k] / total[k] if total[k] > 0.0 else uniform
                sigma[k] = least + (1.0 - least * actions) * p
                reach[k] = m.reach[plex.parent[lo + k]] * sigma[k]


@njit(cache=True, error_model="numpy")
def learn(
    plex: Plex, m: Memory, positive: float, negative: float, kept: float, tremble: float = 0.0
) -> None:
    """Walk up: values, then regrets and average, discounted as the schedule says.

    ``R <- d R + r`` with d by the sign of R (Brown & Sandholm 2019); ``S <- kept S + reach``.
    Regrets are those of the choice left to the player, without its tremble.
    """
    predict = len(m.instant) > 0
    for b in range(len(plex.block_actions) - 1, -1, -1):
        lo, actions = plex.block_infoset[b], plex.block_actions[b]
        size = plex.block_infoset[b + 1] - lo
        start = plex.block_sequence[b]
        total = m.total[:size]
        total[:] = 0.0
        for a in range(actions):
            sigma = m.sigma[start + a * size : start + (a + 1) * size]
            value = m.value[start + a * size : start + (a + 1) * size]
            for k in range(size):
                total[k] += sigma[k] * value[k]
        for k in range(size):
            m.value[plex.parent[lo + k]] += total[k]
        if b == 0 and tremble > 0.0:
            for k in range(size):
                for a in range(actions):
                    total[k] -= tremble * m.value[start + a * size + k]
                total[k] /= 1.0 - tremble * actions
        for a in range(actions):
            at = start + a * size
            value, regret = m.value[at : at + size], m.regret[at : at + size]
            average, reach = m.average[at : at + size], m.reach[at : at + size]
            for k in range(size):
                r = value[k] - total[k]
                old = regret[k]
                regret[k] = old * (positive if old > 0.0 else negative) + r
                average[k] = average[k] * kept + reach[k]
            if predict:
                instant = m.instant[at : at + size]
                for k in range(size):
                    instant[k] = value[k] - total[k]


@njit(cache=True, error_model="numpy")
def best_response(plex: Plex, value: Floats, best: Floats, choice: NDArray[np.int32]) -> None:
    """Walk up taking the best action everywhere: counterfactual best-response values [i]."""
    for b in range(len(plex.block_actions) - 1, -1, -1):
        lo, hi = plex.block_infoset[b], plex.block_infoset[b + 1]
        size, start = hi - lo, plex.block_sequence[b]
        for i in range(lo, hi):
            q = start + i - lo
            top, at = value[q], 0
            for a in range(1, plex.block_actions[b]):
                if value[q + a * size] > top:
                    top, at = value[q + a * size], a
            best[i], choice[i] = top, at
            value[plex.parent[i]] += top


@njit(cache=True, error_model="numpy")
def strategy_values(plex: Plex, sigma: Floats, value: Floats) -> None:
    """Walk up under a fixed strategy: counterfactual values of every sequence and root slot."""
    for b in range(len(plex.block_actions) - 1, -1, -1):
        lo, hi = plex.block_infoset[b], plex.block_infoset[b + 1]
        size, start = hi - lo, plex.block_sequence[b]
        for i in range(lo, hi):
            for a in range(plex.block_actions[b]):
                q = start + a * size + i - lo
                value[plex.parent[i]] += sigma[q] * value[q]


@njit(cache=True, error_model="numpy")
def below_normal(x: float) -> float:
    """P(N <= x) for a standard normal N."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@njit(cache=True, error_model="numpy")
def hedged(v: float, mean: float, spread: float, rate: float) -> float:
    """Brown & Sandholm 2017, eq. (3): mean of 1 / (1 + e^{rate (X - v)}), X ~ N(mean, spread^2).

    The integral runs over whichever of the two distributions is the wider: over the normal by
    Gauss-Hermite, or over the logistic, whose quantile is ``log(u / (1 - u)) / rate``, by
    Gauss-Legendre; the integrand is then smooth.
    """
    if spread <= 0.0:
        return 1.0 / (1.0 + math.exp(min(rate * (mean - v), 700.0)))
    if rate * spread < 2.0:
        total = 0.0
        for k in range(len(HERMITE_X)):
            x = rate * (mean + math.sqrt(2.0) * spread * HERMITE_X[k] - v)
            total += HERMITE_W[k] / (1.0 + math.exp(min(max(x, -700.0), 700.0)))
        return total
    total = 0.0
    for k in range(len(LEGENDRE_U)):
        u = LEGENDRE_U[k]
        total += LEGENDRE_W[k] * below_normal((v - mean + math.log(u / (1.0 - u)) / rate) / spread)
    return total


@njit(cache=True, error_model="numpy")
def enter(root: Root, m: Memory) -> None:
    """Reach into each root slot under random alternative payoffs (2017, Theorem 2 and App. D)."""
    for s in range(len(root.mean)):
        if root.weight[s] <= 0.0:
            continue
        v = m.value[s] / root.weight[s]
        if root.rule == RESPOND:
            if root.spread[s] > 0.0:
                m.reach[s] = below_normal((v - root.mean[s]) / root.spread[s])
            else:
                m.reach[s] = 1.0 if v > root.mean[s] else (0.5 if v == root.mean[s] else 0.0)
            continue
        root.seen[0, s] += 1.0
        root.seen[1, s] += v
        root.seen[2, s] += v * v
        t = root.seen[0, s]
        average = root.seen[1, s] / t
        variance = max(root.seen[2, s] / t - average * average, 1e-12)
        # eta_t of App. D with two actions; the exponent holds the sum of t payoffs.
        rate = t * math.sqrt(math.log(2.0)) / (3.0 * math.sqrt(variance) * math.sqrt(t))
        m.reach[s] = hedged(average, root.mean[s], root.spread[s], rate)


@njit(cache=True, error_model="numpy")
def run_iterations(  # type: ignore[no-untyped-def]
    plexes, terminals, memories, discounts: Floats, alternating: bool, root
) -> None:
    """Run ``len(discounts) - 1`` iterations; ``discounts[t]`` is (positive, negative, kept)."""
    plex0, plex1 = Plex(*plexes[0]), Plex(*plexes[1])
    one, two, ends = Memory(*memories[0]), Memory(*memories[1]), Terminals(*terminals)
    door = Root(*root)
    shake = len(door.tremble) > 0
    now0 = door.tremble[0] if shake and door.player == 0 else 0.0
    now1 = door.tremble[0] if shake and door.player == 1 else 0.0
    match(plex0, one, discounts[0, 0], discounts[0, 1], now0)
    match(plex1, two, discounts[0, 0], discounts[0, 1], now1)
    for t in range(len(discounts) - 1):
        positive, negative, kept = discounts[t]
        then, below = discounts[t + 1, 0], discounts[t + 1, 1]
        was0, was1 = now0, now1
        now0 = door.tremble[t + 1] if shake and door.player == 0 else 0.0
        now1 = door.tremble[t + 1] if shake and door.player == 1 else 0.0
        one.value[:] = 0.0
        evaluate(ends, 0, two.reach, one.value)
        if not alternating:
            two.value[:] = 0.0
            evaluate(ends, 1, one.reach, two.value)
        learn(plex0, one, positive, negative, kept, was0)
        if door.rule != FIXED and door.player == 0:
            enter(door, one)
        match(plex0, one, then, below, now0)
        if alternating:
            two.value[:] = 0.0
            evaluate(ends, 1, one.reach, two.value)
        learn(plex1, two, positive, negative, kept, was1)
        if door.rule != FIXED and door.player == 1:
            enter(door, two)
        match(plex1, two, then, below, now1)


@njit(cache=True, error_model="numpy")
def run_best_response(plex, terminals, player, reach, value, best, choice):  # type: ignore[no-untyped-def]
    """Counterfactual best-response values of `player` against the opponent's `reach`."""
    value[:] = 0.0
    evaluate(Terminals(*terminals), player, reach, value)
    best_response(Plex(*plex), value, best, choice)


@njit(cache=True, error_model="numpy")
def run_values(plex, terminals, player, reach, sigma, value):  # type: ignore[no-untyped-def]
    """Counterfactual values of `player` playing `sigma` against the opponent's `reach`."""
    value[:] = 0.0
    evaluate(Terminals(*terminals), player, reach, value)
    strategy_values(Plex(*plex), sigma, value)


@njit(cache=True, error_model="numpy")
def run_propagate(plex, sigma, reach):  # type: ignore[no-untyped-def]
    """Realisation plan of `sigma`; the root slots of `reach` are given."""
    propagate(Plex(*plex), sigma, reach)


@njit(cache=True, error_model="numpy")
def run_normalise(plex, average, sigma):  # type: ignore[no-untyped-def]
    """Behaviour strategy of a realisation plan; uniform where the plan never comes."""
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
