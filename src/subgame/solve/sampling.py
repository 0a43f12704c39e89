"""Monte Carlo CFR on the CPU: the same regrets and averages, estimated from samples.

* external: chance and the opponent are sampled (Lanctot et al. 2009, Sec. 3.2);
* chance: all of chance is sampled, both players' actions are all walked (Zinkevich et al. 2007);
* public: only public chance events are sampled, private ones stay exact vectors (Johanson et al.
  2012, "Efficient Nash equilibrium approximation through Monte Carlo CFR", PCS).

The first two walk histories, the third the public tree. Every sampled quantity is divided by the
probability of being sampled, so its expectation is what `kernels` computes exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL
from subgame.solve.kernels import Memory, begin
from subgame.tree.public_tree import Plex, PublicTree

Floats = NDArray[np.float64]
Index = NDArray[np.int32]
Words = NDArray[np.uint64]


class Walk(NamedTuple):
    """Histories as a walk needs them. Axis: h = history, c = child."""

    player: NDArray[np.int8]  # [h]
    payoff: Floats  # [h] to player 0
    first: Index  # [h] sequence of the first action of whoever acts here
    stride: Index  # [h]
    child_at: Index  # [h + 1] offsets into child and chance
    child: NDArray[np.int64]  # [c] as wide as the walks' own h, see `external`
    chance: Floats  # [c] probability of the edge where chance acts


class Places(NamedTuple):
    """The public tree as a sampler of public chance needs it. Axis: n = public node."""

    child_at: Index  # [n + 1]
    child: Index  # children, those entered by a player's action before those entered by chance
    chance: Floats  # probability of sampling the child; 0 where a player's action leads there
    infoset_at: tuple[Index, Index]  # [n + 1] per player
    infoset: tuple[Index, Index]
    first: tuple[Index, Index]  # [i]
    stride: tuple[Index, Index]  # [i]
    actions: tuple[Index, Index]  # [i]
    entry_at: Index  # [n + 1] terminals as coordinates
    row: Index
    col: Index
    value: Floats


@njit(cache=True)
def uniform(random: Words) -> float:
    """The next number in [0, 1): splitmix64 (Steele, Lea, Flood 2014); its state is one word."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def chance_child(w: Walk, h: int, random: Words) -> int:
    """A child of chance history `h`, drawn by its probability."""
    u, last = uniform(random), w.child_at[h + 1] - 1
    for c in range(w.child_at[h], last):
        u -= w.chance[c]
        if u < 0.0:
            return w.child[c]
    return w.child[last]


@njit(cache=True, error_model="numpy")
def matched(m: Memory, first: int, stride: int, actions: int) -> None:
    """Regret matching at one infoset, into sigma."""
    total = 0.0
    for a in range(actions):
        total += max(m.regret[first + a * stride], 0.0)
    for a in range(actions):
        q = first + a * stride
        m.sigma[q] = max(m.regret[q], 0.0) / total if total > 0.0 else 1.0 / actions


@njit(cache=True, error_model="numpy")
def external(w: Walk, me: int, one: Memory, two: Memory, h: int, random: Words) -> float:
    """Value of history `h` to player `me`; her regrets and the other's average are updated.

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
    for a in range(actions):  # an own infoset is met once in a walk, so value may hold its results
        v = external(w, me, one, two, w.child[at + a], random)
        m.value[first + a * stride] = v
        total += m.sigma[first + a * stride] * v
    for a in range(actions):
        m.regret[first + a * stride] += m.value[first + a * stride] - total
    return total


@njit(cache=True, error_model="numpy")
def chance_sampled(
    w: Walk, me: int, one: Memory, two: Memory, h: int, mine: float, other: float, random: Words
) -> float:
    """Value of `h` to `me`; the current strategies stay fixed while her regrets collect."""
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


@njit(cache=True)
def fade(m: Memory, positive: float, negative: float, kept: float) -> None:
    """Discount the past before an iteration adds to it."""
    if positive != 1.0 or negative != 1.0:
        for q in range(len(m.regret)):
            m.regret[q] *= positive if m.regret[q] > 0.0 else negative
    if kept != 1.0:
        for q in range(len(m.average)):
            m.average[q] *= kept


@njit(cache=True)
def run_walks(plexes, memories, walk, discounts, outer, random):  # type: ignore[no-untyped-def]
    """One walk per player and iteration, by external (`outer`) or chance sampling."""
    one, two, w = Memory(*memories[0]), Memory(*memories[1]), Walk(*walk)
    start: int = np.int64(0)  # type: ignore[assignment]  # not a literal: see `external`
    for t in range(len(discounts) - 1):
        positive, negative, kept = discounts[t]
        fade(one, positive, negative, kept)
        fade(two, positive, negative, kept)
        for me in range(2):
            if outer:
                external(w, me, one, two, start, random)
            else:
                begin(Plex(*plexes[0]), one, 1.0, 1.0, 0.0)
                begin(Plex(*plexes[1]), two, 1.0, 1.0, 0.0)
                chance_sampled(w, me, one, two, start, 1.0, 1.0, random)
    begin(Plex(*plexes[0]), one, 1.0, 1.0, 0.0)
    begin(Plex(*plexes[1]), two, 1.0, 1.0, 0.0)


@njit(cache=True)
def sample_places(pl: Places, visited: Index, weight: Floats, random: Words) -> int:
    """The public nodes reached under one sample of public chance, parents first."""
    count, at = 1, 0
    visited[0], weight[0] = 0, 1.0
    while at < count:
        n = visited[at]
        u, drawn = uniform(random), False
        for c in range(pl.child_at[n], pl.child_at[n + 1]):
            q = pl.chance[c]
            if q > 0.0:
                u -= q
                if drawn or (u >= 0.0 and c + 1 < pl.child_at[n + 1]):
                    continue
                drawn = True
            visited[count] = pl.child[c]
            weight[pl.child[c]] = weight[n] / (q if q > 0.0 else 1.0)
            count += 1
        at += 1
    return count


@njit(cache=True, error_model="numpy")
def learn_places(  # type: ignore[no-untyped-def]
    pl, p, me: Memory, other: Memory, parents, visited, weight, count
) -> None:
    """A vector iteration for player `p`, confined to the visited nodes."""
    for side in range(2):
        m, parent = (me, parents[p]) if side == 0 else (other, parents[1 - p])
        which = p if side == 0 else 1 - p
        infoset, infoset_at = pl.infoset[which], pl.infoset_at[which]
        for k in range(count):
            for e in range(infoset_at[visited[k]], infoset_at[visited[k] + 1]):
                i = infoset[e]
                first, stride = pl.first[which][i], pl.stride[which][i]
                matched(m, first, stride, pl.actions[which][i])
                for a in range(pl.actions[which][i]):
                    q = first + a * stride
                    m.reach[q] = m.reach[parent[i]] * m.sigma[q]
                    m.value[q] = 0.0
    sign = 1.0 if p == 0 else -1.0
    mine, theirs = (pl.row, pl.col) if p == 0 else (pl.col, pl.row)
    for k in range(count):
        n = visited[k]
        for e in range(pl.entry_at[n], pl.entry_at[n + 1]):
            me.value[mine[e]] += sign * weight[n] * pl.value[e] * other.reach[theirs[e]]
    for k in range(count - 1, -1, -1):
        n = visited[k]
        for e in range(pl.infoset_at[p][n + 1] - 1, pl.infoset_at[p][n] - 1, -1):
            i = pl.infoset[p][e]
            first, stride, actions = pl.first[p][i], pl.stride[p][i], pl.actions[p][i]
            total = 0.0
            for a in range(actions):
                total += me.sigma[first + a * stride] * me.value[first + a * stride]
            for a in range(actions):
                q = first + a * stride
                me.regret[q] += me.value[q] - total
                me.average[q] += me.reach[q]
            me.value[parents[p][i]] += total


@njit(cache=True)
def run_places(plexes, memories, places, discounts, random):  # type: ignore[no-untyped-def]
    """Public chance sampling: one sample of the public tree per player and iteration."""
    one, two, pl = Memory(*memories[0]), Memory(*memories[1]), Places(*places)
    plex0, plex1 = Plex(*plexes[0]), Plex(*plexes[1])
    parents = (plex0.parent, plex1.parent)
    nodes = len(pl.child_at) - 1
    visited, weight = np.empty(nodes, np.int32), np.empty(nodes)
    for t in range(len(discounts) - 1):
        positive, negative, kept = discounts[t]
        fade(one, positive, negative, kept)
        fade(two, positive, negative, kept)
        for p in range(2):
            count = sample_places(pl, visited, weight, random)
            me, other = (one, two) if p == 0 else (two, one)
            learn_places(pl, p, me, other, parents, visited, weight, count)
    begin(plex0, one, 1.0, 1.0, 0.0)
    begin(plex1, two, 1.0, 1.0, 0.0)


# Tables ---------------------------------------------------------------------------------------


def _histories(tree: PublicTree):  # type: ignore[no-untyped-def]
    if tree.histories is None or tree.located is None:
        raise SubgameError(f"{tree!r} keeps no histories to sample from.")
    return tree.histories


def _children(parent: NDArray[np.integer], size: int) -> tuple[Index, Index]:
    """Offsets and members of each parent's list of children, in order; roots have parent -1."""
    order = np.argsort(parent, kind="stable")
    order = order[parent[order] >= 0]
    counts = np.bincount(parent[order], minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), order.astype(np.int32)


def walk_of(tree: PublicTree) -> Walk:
    """The tree's histories as a sampler walks them."""
    h = _histories(tree)
    first = np.zeros(len(h), dtype=np.int32)
    stride = np.zeros(len(h), dtype=np.int32)
    for p, side in enumerate(tree.players):
        rank = np.empty(len(side.origin), dtype=np.int64)
        rank[side.origin] = np.arange(len(side.origin))
        here = np.flatnonzero(h.player == p)
        infoset = rank[h.infoset[here]]
        first[here], stride[here] = side.first[infoset], side.stride[infoset]
    at, child = _children(h.parent, len(h))
    above = h.chance[h.parent[child]]
    edge = np.divide(h.chance[child], above, out=np.zeros(len(child)), where=above > 0)
    return Walk(h.player, h.payoff, first, stride, at, child.astype(np.int64), edge)


def places_of(tree: PublicTree) -> Places:
    """The public tree as a sampler of public chance walks it."""
    h, nodes = _histories(tree), tree.num_nodes
    top = np.flatnonzero(h.parent >= 0)
    top = top[h.node[top] != h.node[h.parent[top]]]
    by_chance = h.player[h.parent[top]] == CHANCE
    mass = np.bincount(h.node[top], weights=h.chance[top] * by_chance, minlength=nodes)
    by_player = np.bincount(h.node[top], weights=~by_chance, minlength=nodes) > 0
    mass[by_player] = 0.0
    parent = tree.node_parent
    total = np.bincount(parent[1:], weights=mass[1:], minlength=nodes)
    at, child = _children(parent, nodes)
    order = np.lexsort((mass[child] > 0, parent[child]))  # players' children first
    child = child[order]
    above = total[parent[child]]
    chance = np.divide(mass[child], above, out=np.zeros(len(child)), where=above > 0)
    lists = [_by_node(side.node, nodes) for side in tree.players]
    ends = np.flatnonzero(h.player == TERMINAL)
    located = [tree.located[p][ends] for p in (0, 1)]  # type: ignore[index]
    entry_at, entry = _by_node(h.node[ends], nodes)
    return Places(
        child_at=at, child=child, chance=chance,
        infoset_at=(lists[0][0], lists[1][0]), infoset=(lists[0][1], lists[1][1]),
        first=(tree.players[0].first, tree.players[1].first),
        stride=(tree.players[0].stride, tree.players[1].stride),
        actions=(_sizes(tree, 0), _sizes(tree, 1)),
        entry_at=entry_at, row=located[0][entry], col=located[1][entry],
        value=(h.chance[ends] * h.payoff[ends])[entry],
    )  # fmt: skip


def _by_node(node: NDArray[np.integer], nodes: int) -> tuple[Index, Index]:
    counts = np.bincount(node, minlength=nodes)
    order = np.argsort(node, kind="stable").astype(np.int32)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), order


def _sizes(tree: PublicTree, p: int) -> Index:
    return np.array([len(actions) for actions in tree.players[p].actions], dtype=np.int32)
