"""Monte Carlo CFR on the CPU: regrets and averages estimated from samples.

* external: chance and the opponent are sampled (Lanctot et al. 2009, Sec. 3.2);
* chance: chance is sampled, all actions of both players are visited (Zinkevich et al. 2007);
* public: only public chance is sampled; private chance is exact, as vectors (Johanson et al.
  2012, "Efficient Nash equilibrium approximation through Monte Carlo CFR", PCS).

The first two traverse histories, the third the public tree. Every sampled quantity is divided by
its probability of being sampled, so its expectation is what `sequence_kernels` computes exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64 as U  # noqa: N812
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.engines.numba.sequence_kernels import begin
from subgame.engines.numba.sequence_state import State
from subgame.engines.numba.subnormals import flush_subnormals, restore
from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL
from subgame.tree.sequence.tree import Plex, SequenceTree

Floats = NDArray[np.float64]
Index = NDArray[np.int32]
Words = NDArray[np.uint64]
Pair = tuple[State, State]


class Walk(NamedTuple):
    """The histories as a sampler needs them. Axes: h = history, c = child."""

    player: NDArray[np.int8]  # [h]
    payoff: Floats  # [h] to player 0
    first: Index  # [h] sequence of the acting player's first action
    stride: Index  # [h]
    child_at: Index  # [h + 1] offsets into child and chance
    child: NDArray[np.int64]  # [c] int64 as the argument `h` of `external`, see there
    chance: Floats  # [c] probability of the edge where chance acts


class Seat(NamedTuple):
    """A player's infosets in the order of public nodes. Axes: n = node, e = infoset."""

    at: Index  # [n + 1]
    first: Index  # [e] sequence of the first action
    stride: Index  # [e]
    actions: Index  # [e]
    parent: Index  # [e] the sequence that leads to it


class Places(NamedTuple):
    """The public tree as public chance sampling needs it. Axis: n = public node."""

    child_at: Index  # [n + 1]
    child: Index  # children, those entered by a player's action before those entered by chance
    chance: Floats  # probability of sampling the child; 0 where a player's action leads there
    entry_at: Index  # [n + 1] terminals as coordinates
    row: Index
    col: Index
    value: Floats


@njit(cache=True, forceinline=True)
def uniform(random: Words) -> float:
    """The next number in [0, 1): splitmix64 (Steele, Lea, Flood 2014); its state is one word."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, forceinline=True)
def chance_child(w: Walk, h: int, random: Words) -> int:
    """A child of chance history `h`, drawn by its probability."""
    u, last = uniform(random), w.child_at[h + 1] - 1
    for c in range(w.child_at[h], last):
        u -= w.chance[c]
        if u < 0.0:
            return w.child[c]
    return w.child[last]


@njit(cache=True, forceinline=True, error_model="numpy")
def matched(m: State, first: int, stride: int, actions: int) -> None:
    """Regret matching at one infoset, into sigma."""
    total = 0.0
    for a in range(actions):
        total += max(m.regret[first + a * stride], 0.0)
    if total > 0.0:
        total = 1.0 / total
        for a in range(actions):
            m.sigma[first + a * stride] = max(m.regret[first + a * stride], 0.0) * total
    else:
        for a in range(actions):
            m.sigma[first + a * stride] = 1.0 / actions


@njit(cache=True, error_model="numpy")
def external(w: Walk, me: int, one: State, two: State, h: int, random: Words) -> float:
    """Value of history `h` to player `me`; updates the player's regrets and the opponent's average.

    A recursive function crashes when loaded from Numba's cache unless it is only ever called with
    the types it calls itself with (numba/numba#6713): `h` is always int64, and no literal.
    """
    player = w.player[h]
    if player == TERMINAL:
        return w.payoff[h] if me == 0 else -w.payoff[h]
    if player == CHANCE:
        return external(w, me, one, two, chance_child(w, h, random), random)
    m = one if player == 0 else two
    first, stride = w.first[h], w.stride[h]
    at, actions = w.child_at[h], w.child_at[h + 1] - w.child_at[h]
    matched(m, first, stride, actions)
    if player != me:
        u, chosen = uniform(random), actions - 1
        for a in range(actions):
            m.average[first + a * stride] += m.sigma[first + a * stride]
        for a in range(actions - 1):
            u -= m.sigma[first + a * stride]
            if u < 0.0:
                chosen = a
                break
        return external(w, me, one, two, w.child[at + chosen], random)
    total = 0.0
    for a in range(actions):  # a walk visits an own infoset once, so `value` can hold its results
        v = external(w, me, one, two, w.child[at + a], random)
        m.value[first + a * stride] = v
        total += m.sigma[first + a * stride] * v
    for a in range(actions):
        m.regret[first + a * stride] += m.value[first + a * stride] - total
    return total


@njit(cache=True, error_model="numpy")
def chance_sampled(
    w: Walk, me: int, one: State, two: State, h: int, mine: float, other: float, random: Words
) -> float:
    """Value of `h` to player `me`; strategies stay fixed while regrets are added up."""
    player = w.player[h]
    if player == TERMINAL:
        return w.payoff[h] if me == 0 else -w.payoff[h]
    if player == CHANCE:
        h = chance_child(w, h, random)
        return chance_sampled(w, me, one, two, h, mine, other, random)
    m = one if player == 0 else two
    first, stride, at = w.first[h], w.stride[h], w.child_at[h]
    actions = w.child_at[h + 1] - at
    total = 0.0
    for a in range(actions):
        q = first + a * stride
        p = m.sigma[q]
        x, y = (mine * p, other) if player == me else (mine, other * p)
        v = chance_sampled(w, me, one, two, w.child[at + a], x, y, random)
        total += p * v
        if player == me:
            m.regret[q] += other * v
    if player == me:
        for a in range(actions):
            q = first + a * stride
            m.regret[q] -= other * total
            m.average[q] += mine * m.sigma[q]
    return total


@njit(cache=True, forceinline=True)
def fade(m: State, positive: float, negative: float, kept: float) -> None:
    """Discount regrets and average before an iteration adds to them."""
    if positive != 1.0 or negative != 1.0:
        for q in range(len(m.regret)):
            m.regret[q] *= positive if m.regret[q] > 0.0 else negative
    if kept != 1.0:
        for q in range(len(m.average)):
            m.average[q] *= kept


@njit(cache=True)
def run_walks(plexes, states, walk, discounts, outer, random):
    """One walk per player and iteration, by external (`outer`) or chance sampling."""
    word = flush_subnormals()
    one, two, w = State(*states[0]), State(*states[1]), Walk(*walk)
    start: Any = np.int64(0)  # not a literal: see `external`
    for t in range(len(discounts) - 1):
        positive, negative, kept = discounts[t]
        fade(one, positive, negative, kept)
        fade(two, positive, negative, kept)
        for me in range(2):
            if outer:
                external(w, me, one, two, start, random)
            else:
                begin(Plex(*plexes[0]), one, 1.0, 1.0)
                begin(Plex(*plexes[1]), two, 1.0, 1.0)
                chance_sampled(w, me, one, two, start, 1.0, 1.0, random)
    restore(word)


@njit(cache=True, forceinline=True)
def sample_places(pl: Places, visited: Index, weight: Floats, random: Words) -> int:
    """The public nodes reached under one sample of public chance, parents first."""
    count, at = 1, 0
    visited[0], weight[0] = 0, 1.0
    while at < count:
        n = visited[at]
        lo, hi = pl.child_at[n], pl.child_at[n + 1]
        u, drawn = 0.0, False
        if hi > lo and pl.chance[hi - 1] > 0.0:
            u = uniform(random)
        for c in range(lo, hi):
            q = pl.chance[c]
            if q > 0.0:
                u -= q
                if drawn or (u >= 0.0 and c + 1 < hi):
                    continue
                drawn = True
            visited[count] = pl.child[c]
            weight[pl.child[c]] = weight[n] / (q if q > 0.0 else 1.0)
            count += 1
        at += 1
    return count


@njit(cache=True, forceinline=True, error_model="numpy")
def descend(seat: Seat, m: State, visited: Index, count: int) -> None:
    """Regret matching and reach in the visited nodes; values are set to 0."""
    for k in range(count):
        for e in range(seat.at[visited[k]], seat.at[visited[k] + 1]):
            first, stride, actions = U(seat.first[e]), U(seat.stride[e]), U(seat.actions[e])
            matched(m, first, stride, actions)
            above = m.reach[U(seat.parent[e])]
            for a in range(actions):
                q = first + a * stride
                m.reach[q] = above * m.sigma[q]
                m.value[q] = 0.0


@njit(cache=True, forceinline=True, error_model="numpy")
def ascend(seat: Seat, m: State, visited: Index, count: int) -> None:
    """Values, regrets and average in the visited nodes."""
    for k in range(count - 1, -1, -1):
        for e in range(seat.at[visited[k] + 1] - 1, seat.at[visited[k]] - 1, -1):
            first, stride, actions = U(seat.first[e]), U(seat.stride[e]), U(seat.actions[e])
            total = 0.0
            for a in range(actions):
                total += m.sigma[first + a * stride] * m.value[first + a * stride]
            for a in range(actions):
                q = first + a * stride
                m.regret[q] += m.value[q] - total
                m.average[q] += m.reach[q]
            m.value[U(seat.parent[e])] += total


@njit(cache=True, forceinline=True, error_model="numpy")
def pay(pl: Places, p: int, both: Pair, visited: Index, weight: Floats, count: int) -> None:
    """Terminals of the visited nodes, divided by the probability of visiting them."""
    value, reach = both[p].value, both[1 - p].reach
    mine, theirs, sign = (pl.row, pl.col, 1.0) if p == 0 else (pl.col, pl.row, -1.0)
    for k in range(count):
        n = visited[k]
        w = sign * weight[n]
        for e in range(pl.entry_at[n], pl.entry_at[n + 1]):
            value[U(mine[e])] += w * pl.value[e] * reach[U(theirs[e])]


@njit(cache=True)
def run_places(states, places, seats, discounts, random):
    """Public chance sampling: one sample of the public tree per iteration, for both players."""
    word = flush_subnormals()
    pl, both = Places(*places), (State(*states[0]), State(*states[1]))
    chairs = (Seat(*seats[0]), Seat(*seats[1]))
    nodes = len(pl.child_at) - 1
    visited, weight = np.empty(nodes, np.int32), np.empty(nodes)
    for t in range(len(discounts) - 1):
        for p in range(2):
            fade(both[p], discounts[t, 0], discounts[t, 1], discounts[t, 2])
        count = sample_places(pl, visited, weight, random)
        descend(chairs[1], both[1], visited, count)
        for p in range(2):
            descend(chairs[0], both[0], visited, count)
            pay(pl, p, both, visited, weight, count)
            ascend(chairs[p], both[p], visited, count)
    restore(word)


# Tables ---------------------------------------------------------------------------------------


def _lists(of: NDArray[np.integer], count: int) -> tuple[Index, Index]:
    """Offsets and members of `count` lists, in order; `of` has the list of each, or -1 for none."""
    order = np.argsort(of, kind="stable")
    order = order[of[order] >= 0]
    sizes = np.bincount(of[order], minlength=count)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), order.astype(np.int32)


def walk_of(tree: SequenceTree) -> Walk:
    """The tree's histories as arrays for sampling."""
    h = tree.histories
    if h is None:
        raise SubgameError(
            f"{tree!r} keeps no histories to sample from; use public chance sampling instead."
        )
    first = np.zeros(len(h), dtype=np.int32)
    stride = np.zeros(len(h), dtype=np.int32)
    for p, side in enumerate(tree.players):
        rank = np.empty(len(side.origin), dtype=np.int64)
        rank[side.origin] = np.arange(len(side.origin))
        here = np.flatnonzero(h.player == p)
        infoset = rank[h.infoset[here]]
        first[here], stride[here] = side.first[infoset], side.stride[infoset]
    at, child = _lists(h.parent, len(h))
    above = h.chance[h.parent[child]]
    edge = np.divide(h.chance[child], above, out=np.zeros(len(child)), where=above > 0)
    return Walk(h.player, h.payoff, first, stride, at, child.astype(np.int64), edge)


def places_of(tree: SequenceTree) -> Places:
    """The public tree as arrays for public chance sampling."""
    nodes, parent, entries = tree.num_nodes, tree.node_parent, tree.entries
    at, child = _lists(parent, nodes)
    child = child[np.lexsort((tree.node_chance[child] > 0, parent[child]))]
    entry_at, e = _lists(entries.node, nodes)
    ends = entries.row[e], entries.col[e], entries.value[e]
    return Places(at, child, tree.node_chance[child], entry_at, *ends)


def seat_of(tree: SequenceTree, p: int) -> Seat:
    """A player's infosets by public node; within a node parents come first."""
    side = tree.players[p]
    sizes = np.array([len(actions) for actions in side.actions], dtype=np.int32)
    at, e = _lists(side.node, tree.num_nodes)
    return Seat(at, side.first[e], side.stride[e], sizes[e], side.plex.parent[e])
