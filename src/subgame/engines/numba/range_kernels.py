"""Kernels of hold'em trees: whole ranges at once, with `LANES` hands or terminals in a vector.

A *sweep* is half an iteration: the opponent's reach goes down, every terminal is evaluated for the
traverser, the traverser's values go up and regrets are updated. Hands are processed in tiles of
`LANES` (see `range_tiles`). Only terminals couple the hands. They are evaluated for `LANES`
terminals at once, so arrays are transposed before and after.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.range_scratch import BOTH, NOBODY, OWN, THEIRS, Numbers, Scratch, Team
from subgame.engines.numba.range_terminals import Ends, evaluate
from subgame.engines.numba.range_tiles import (
    BEST,
    LEARN,
    RESPOND,
    PlayerNumbers,
    Rates,
    Side,
    averaged,
    descend,
    follow,
    learn,
    win,
)
from subgame.engines.numba.simd import (
    Lanes,
    blank,
    columns,
    fetch_add,
    gather,
    give_way,
    kernel,
    load,
    part,
    pay,
    peek,
    small,
    splat,
    store,
    turn,
    views,
)
from subgame.engines.numba.subnormals import flush_subnormals, restore
from subgame.tree.ranges.betting_tree import LANES, BettingTree
from subgame.tree.ranges.boards import CARD_MASK, BoardArrays

Ints = NDArray[np.int64]
Kind = tuple[int, int, int]
"""The traverser, a `contract.Mode`, and whose averages are updated: NOBODY, THEIRS, BOTH or OWN."""
PATIENCE = 1000
"""How often a barrier is checked before the thread gives up its core."""


class Sweep(NamedTuple):
    """The tree, and what the players do in a sweep."""

    f: BettingTree
    b: BoardArrays
    mode: int  # `contract.Mode`
    mine: Side  # the traverser
    theirs: Side  # the opponent


@part
def wait(counters: Ints, threads: int) -> None:
    """A barrier: returns when all threads have called it."""
    if threads == 1:
        return
    ticket = fetch_add(counters, 0, 1)
    goal = (ticket // threads + 1) * threads
    spins = 0
    while peek(counters, 0) < goal:
        spins += 1
        if spins > PATIENCE:  # a missing thread may be waiting for this core
            give_way()


# One board -----------------------------------------------------------------------------------


@small
def tile_of(f: BettingTree, b: BoardArrays, u: int, p: int, tile: int) -> int:
    """The index of a tile's first weight."""
    sp = 2 * b.street[u] + p
    return b.store_at[2 * u + p] + tile * (f.rows[sp] - f.roots[sp // 2]) * LANES


@small
def enter(b: BoardArrays, u: int, p: int, place: int, above: Scratch, s: Scratch) -> None:
    """Reach at the roots of a board, for the tile at `place`, from the parent board."""
    street, hands, first = b.street[u], b.hands[2 * u + p], b.hand_at[2 * u + p]
    at, ways, nobody = above.way_at[2 * street + p], s.ways[street], s.wide[street - 1]
    for h in range(place, place + LANES, 4):
        h0 = at + (np.int64(b.above[first + h]) if h < hands else nobody) * ways
        h1 = at + (np.int64(b.above[first + h + 1]) if h + 1 < hands else nobody) * ways
        h2 = at + (np.int64(b.above[first + h + 2]) if h + 2 < hands else nobody) * ways
        h3 = at + (np.int64(b.above[first + h + 3]) if h + 3 < hands else nobody) * ways
        for k in range(0, ways, 4):
            gather(above.way, h0 + k, h1 + k, h2 + k, h3 + k, s.reach, k * LANES + h - place)


@part
def bring(w: Sweep, u: int, side: Side, tile: int, above: Scratch, s: Scratch) -> None:
    """Reach of a player down through a board, in one tile; `above` has the reach into it."""
    f, b = w.f, w.b
    p, street = side.p, b.street[u]
    sp, place, leaves, like = 2 * street + p, tile * LANES, f.roots[street + 1], s.reach[0]
    at = tile_of(f, b, u, p, tile)
    if street == 0:  # the first street has the hands in its own order
        source = above.way_at[p] + u * f.roots[0] * s.wide[0] + place
        for k in range(f.roots[0]):
            store(s.reach, k * LANES, load(above.way, source + k * s.wide[0], like))
    else:
        enter(b, u, p, place, above, s)
    descend(f, sp, side, at, s)
    if leaves == 0:
        return
    ways, leaf, last = s.ways[street + 1], f.leaf_at[sp], f.leaf_at[sp] + leaves - 1
    into = s.way_at[sp + 2] + place * ways
    for k in range(leaf, leaf + leaves, 4):  # padding repeats the last root
        row0, row1 = f.leaf_row[k] * LANES, f.leaf_row[min(k + 1, last)] * LANES
        row2, row3 = f.leaf_row[min(k + 2, last)] * LANES, f.leaf_row[min(k + 3, last)] * LANES
        turn(s.reach, row0, row1, row2, row3, s.way, into + k - leaf, ways)


@part
def face(f: BettingTree, b: BoardArrays, u: int, o: int, tile: int, s: Scratch) -> None:
    """The opponent's reach in one tile, transposed for the terminals: one lane per row."""
    street = b.street[u]
    so = 2 * street + o
    for c in range(f.chunk_at[so + 1] - f.chunk_at[so]):
        lane = (f.chunk_at[so] + c) * LANES
        into = s.lanes_at[street] + (c * s.tall[street] + tile * LANES) * LANES
        for q in range(lane, lane + LANES, 4):
            row0, row1 = f.lane_row[q] * LANES, f.lane_row[q + 1] * LANES
            row2, row3 = f.lane_row[q + 2] * LANES, f.lane_row[q + 3] * LANES
            turn(s.reach, row0, row1, row2, row3, s.lanes, into + q - lane, LANES)


@small
def tiles(b: BoardArrays, u: int, p: int) -> int:
    """The number of tiles of a board."""
    return (b.hands[2 * u + p] + LANES - 1) // LANES


@part
def arrive(w: Sweep, u: int, above: Scratch, s: Scratch, me: int, threads: int) -> None:
    """Reach down through a board: the opponent's, and the traverser's where it is kept."""
    for tile in range(me, tiles(w.b, u, w.theirs.p), threads):
        bring(w, u, w.theirs, tile, above, s)
        face(w.f, w.b, u, w.theirs.p, tile, s)
    if w.mine.kept:
        for tile in range(me, tiles(w.b, u, w.mine.p), threads):
            bring(w, u, w.mine, tile, above, s)


@small
def copy_to(into: Numbers, at: int, source: Numbers, start: int, size: int) -> None:
    """Copy `size` numbers, a multiple of `LANES`."""
    for j in range(0, size, LANES):
        store(into, at + j, load(source, start + j, into[0]))


@part
def copy_rows(f: BettingTree, b: BoardArrays, u: int, p: int, place: int, s: Scratch) -> None:
    """Copy the values of all rows of a tile into `Scratch.rows` for the caller."""
    street = b.street[u]
    wide, boards = s.wide[street], s.first[street + 1] - s.first[street]
    into = s.rows_at[street] + (u - s.first[street]) * wide + place
    for row in range(f.rows[2 * street + p]):
        store(s.rows, into + row * boards * wide, load(s.value, row * LANES, s.value[0]))


@small
def gain(f: BettingTree, sp: int, k: int, values: Lanes, into: Numbers) -> None:
    """Add the values at leaf `k` of a street, which padding does not have."""
    if k < f.roots[sp // 2 + 1]:
        row = f.leaf_row[f.leaf_at[sp] + k] * LANES
        store(into, row, load(into, row, into[0]) + values)


@part
def settle(w: Sweep, u: int, s: Scratch, me: int, threads: int) -> None:
    """The traverser's values up through a board."""
    f, b = w.f, w.b
    street, p = b.street[u], w.mine.p
    sp, so = 2 * street + p, 2 * street + 1 - p
    like = s.value[0]
    lanes, size = s.lanes_at[street], s.tall[street] * LANES
    ways, below = s.ways[street], s.ways[street + 1]
    zero = splat(0.0, like)
    for tile in range(me, tiles(b, u, p), threads):
        place = tile * LANES
        at = tile_of(f, b, u, p, tile)
        for k in range(f.blank_at[sp], f.blank_at[sp + 1]):
            store(s.value, f.blank_row[k] * LANES, zero)
        for c in range(f.chunk_at[so], f.chunk_at[so + 1]):
            source = lanes + (c - f.chunk_at[so]) * size + place * LANES
            win(s, 2 * c, s.shown, source)
            win(s, 2 * c + 1, s.folded, source)
        paid = s.paid_at[street] + place * below
        for k in range(0, below, 4):
            four = columns(s.paid, paid + k, below)
            gain(f, sp, k, four[0], s.value)
            gain(f, sp, k + 1, four[1], s.value)
            gain(f, sp, k + 2, four[2], s.value)
            gain(f, sp, k + 3, four[3], s.value)
        if w.mode == LEARN:
            learn(f, sp, w.mine, at, s)
        else:
            follow(f, sp, w.mine, at, w.mode, s)
        if s.rows_at[street] >= 0:
            copy_rows(f, b, u, p, place, s)
        if street == 0:
            for k in range(f.roots[0]):
                into = s.result_at[0] + k * s.wide[0] + place
                store(s.result, into, load(s.value, k * LANES, like))
            continue
        for k in range(0, ways, 4):
            row, into = k * LANES, s.result_at[street] + place * ways + k
            turn(s.value, row, row + LANES, row + 2 * LANES, row + 3 * LANES, s.result, into, ways)


@small
def pay_all(
    s: Scratch, into: int, result: Numbers, source: int, begin: int, stop: int, times: float
) -> None:
    """Add the values of one hand at some roots, multiplied by `times`."""
    for k in range(begin, stop, 4):
        pay(s.paid, into + k, result, source + k, times)


@part
def hand_up(
    b: BoardArrays, c: int, p: int, begin: int, stop: int, result: Numbers, source: int, s: Scratch
) -> None:
    """Add the values at some roots of child `c` to the leaves of its parent board.

    The card dealt represents its equivalent cards; a hand meets those that it does not hold itself.
    """
    street = b.street[c]
    at, weight, dealt = b.hand_at[2 * c + p], b.weight[c], b.dealt[c]
    less = weight * b.share[c]
    into, ways = s.paid_at[street - 1], s.ways[street]
    if b.size_at[c] < 0:  # no equivalent cards, and no hand holds the card dealt
        for h in range(b.hands[2 * c + p]):
            up = into + np.int64(b.above[at + h]) * ways
            pay_all(s, up, result, source + h * ways, begin, stop, weight)
        return
    first = b.run_at[2 * c + p]
    for r in range(first, first + np.int64(b.group_run[b.group_at[2 * c + p] + b.groups[c]])):
        often = weight - less if np.int64(b.run_card[r]) == dealt else weight
        for h in range(np.int64(b.run_start[r]), np.int64(b.run_start[r + 1])):
            times = often - less if (np.int64(b.cards[at + h]) & CARD_MASK) == dealt else often
            up = into + np.int64(b.above[at + h]) * ways
            pay_all(s, up, result, source + h * ways, begin, stop, times)


@part
def even_out(b: BoardArrays, u: int, p: int, begin: int, stop: int, s: Scratch) -> None:
    """Average the values at some leaves over hands that suit symmetry exchanges."""
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


@part
def clear(b: BoardArrays, u: int, begin: int, stop: int, s: Scratch) -> None:
    """Set the values at some leaves to 0."""
    street = b.street[u]
    into, ways = s.paid_at[street], s.ways[street + 1]
    for h in range(s.wide[street]):
        for k in range(into + h * ways + begin, into + h * ways + stop, 4):
            blank(s.paid, k)


@part
def end(w: Sweep, u: int, s: Scratch, me: int, threads: int) -> None:
    """Evaluate all terminals of a board for the traverser, several chunks at once."""
    f, b, p, street = w.f, w.b, w.mine.p, w.b.street[u]
    so, size, kinds = 2 * street + w.theirs.p, s.tall[street] * LANES, f.chunk_kind
    four = Ends(s.lanes, s.shown, s.folded, s.sums, s.deck[0], (size, 2 * size, 3 * size))
    two = Ends(s.lanes, s.shown, s.folded, s.sums, s.deck[0], (size,))
    one = Ends(s.lanes, s.shown, s.folded, s.sums, s.deck[0], ())
    most = s.at_once[0] if threads == 1 else 2
    c, at, step = f.chunk_at[so], s.lanes_at[street], np.int64(0)
    while c < f.chunk_at[so + 1]:
        left = min(most, f.chunk_at[so + 1] - c)
        many = 4 if left >= 4 else 2 if left >= 2 else 1
        if step % threads == me:
            if many == 4:
                kind = kinds[c] | kinds[c + 1] | kinds[c + 2] | kinds[c + 3]
                evaluate(b, u, p, kind, at, four)
            elif many == 2:
                evaluate(b, u, p, kinds[c] | kinds[c + 1], at, two)
            else:
                evaluate(b, u, p, kinds[c], at, one)
        c, at, step = c + many, at + many * size, step + 1


@part
def visit(w: Sweep, u: int, above: Scratch, s: Scratch) -> None:
    """Sweep a board and its descendants on one thread: from the reach in `above` to `s.result`."""
    b, street, leaves = w.b, w.b.street[u], s.ways[w.b.street[u] + 1]
    me, threads = np.int64(0), np.int64(1)  # Numba compiles literals as other types
    arrive(w, u, above, s, me, threads)
    if leaves > 0:
        clear(b, u, me, leaves, s)
        for c in range(b.child_at[u], b.child_at[u + 1]):
            visit(w, c, s, s)
            hand_up(b, c, w.mine.p, me, leaves, s.result, s.result_at[street + 1], s)
        even_out(b, u, w.mine.p, me, leaves, s)
    end(w, u, s, me, threads)
    settle(w, u, s, me, threads)


@part
def sweep_boards(w: Sweep, threads: int, team: Team, top: Scratch, s: Scratch) -> None:
    """Sweep a tree with several boards on its first street: each thread takes the next one."""
    size = w.f.roots[0] * s.wide[0]
    u = fetch_add(team.counters, 1, 1)
    while u < w.b.child_at[0]:
        visit(w, u, top, s)
        copy_to(top.result, top.result_at[0] + u * size, s.result, s.result_at[0], size)
        u = fetch_add(team.counters, 1, 1)
    wait(team.counters, threads)


@part
def sweep(w: Sweep, me: int, threads: int, team: Team, top: Scratch, s: Scratch) -> None:
    """Sweep the whole tree with all threads: they share `top`; `s` belongs to this thread.

    Threads share the tiles and chunks of the first board; then each takes the next board below it.
    The values of these boards are stored separately and added in order, so the results do not
    depend on the number of threads.
    """
    b, p, leaves = w.b, w.mine.p, top.ways[1]
    root, first, last = np.int64(0), b.child_at[0], b.child_at[1]
    if me == 0:
        team.counters[1] = 0
    if first > 1:
        wait(team.counters, threads)
        sweep_boards(w, threads, team, top, s)
        return
    arrive(w, root, top, top, me, threads)
    wait(team.counters, threads)
    if leaves > 0:
        size = leaves * s.wide[1]
        c = first + fetch_add(team.counters, 1, 1)
        while c < last:
            visit(w, c, top, s)
            copy_to(team.results, (c - first) * size, s.result, s.result_at[1], size)
            c = first + fetch_add(team.counters, 1, 1)
        wait(team.counters, threads)
        # Each thread writes to cache lines of its own.
        for k in range(me * LANES, leaves, threads * LANES):
            stop = min(k + LANES, leaves)
            clear(b, root, k, stop, top)
            for c in range(first, last):
                hand_up(b, c, p, k, stop, team.results, (c - first) * size, top)
            even_out(b, root, p, k, stop, top)
    end(w, root, top, me, threads)
    wait(team.counters, threads)
    settle(w, root, top, me, threads)
    wait(team.counters, threads)


@small
def row_of(rates: NDArray[np.float64], t: int) -> Rates:
    """The rates of one iteration; kernels count iterations from 1."""
    r = rates[t]
    return r[0], r[1], r[2], r[3] + 1, r[4], r[5], r[6], r[7], r[8], r[9]


@small
def sweep_of(
    f: BettingTree,
    b: BoardArrays,
    kind: Kind,
    both: tuple[PlayerNumbers, PlayerNumbers],
    rates: tuple[Rates, Rates],
) -> Sweep:
    """A sweep of a `kind`; numbers and rates are first the traverser's, then the opponent's."""
    p, mode, keep = kind
    mine = Side(p, both[0], rates[0], keep in (BOTH, OWN))
    return Sweep(f, b, mode, mine, Side(1 - p, both[1], rates[1], keep in (THEIRS, BOTH)))


@part
def keeping(turn: int, count: int) -> int:
    """Whose averages player p's sweep updates on iteration t of `count`, where ``turn = t + p``.

    Player 1 sweeps against the strategy that player 0 plays on the next iteration, so player 0's
    average is one iteration ahead until the last iteration.
    """
    if turn == 0:
        return BOTH
    return NOBODY if turn == count else THEIRS


@kernel
def run_iterations(betting_tree, boards, pair, discounts, check, work) -> None:
    """Run ``len(discounts) - 1`` iterations with alternating updates.

    `check` is (responder, (weights of each player's places, result, flags)). With weights, the
    result [2] is what best responses to the averages win, which are played by these flags.
    `work` is an item of `range_scratch.Workspace.packed`.
    """
    word = flush_subnormals()
    f, b = BettingTree(*views(betting_tree)), BoardArrays(*views(boards))
    me, threads, team, top, own = work
    shared, up, s = Team(*views(team)), Scratch(*views(top)), Scratch(*views(own))
    both = (PlayerNumbers(*views(pair[0])), PlayerNumbers(*views(pair[1])))
    count, (responder, (weights, won, plain)) = len(discounts) - 1, check
    flags = views((plain,))[0]
    last = (averaged(both[0], flags), averaged(both[1], flags))
    for t in range(count + min(len(weights[0]), 1)):
        now, checked = row_of(discounts, t), t == count
        for p in range(2):
            mode, keep = RESPOND if responder == p else LEARN, keeping(t + p, count)
            mine, theirs = both[p], both[1 - p]
            if checked:
                mode, keep, mine, theirs = BEST, NOBODY, last[p], last[1 - p]
            ahead = row_of(discounts, min(t + p, count))
            w = sweep_of(f, b, (p, mode, keep), (mine, theirs), (now, ahead))
            sweep(w, me, threads, shared, up, s)
            if checked and me == 0:
                won[p] = 0
                for h in range(len(weights[p])):
                    won[p] += weights[p][h] * up.result[up.result_at[0] + h]
    restore(word)


@kernel
def run_sweep(betting_tree, boards, kind, pair, rates, work) -> None:
    """One sweep; it leaves the root values in `result` of the shared workspace.

    `kind` is a `Kind`. `pair` are the traverser's and
    the opponent's numbers. `rates` ``[2, 10]`` are the traverser's discounts, and those of the
    opponent's predicted regrets.
    """
    word = flush_subnormals()
    f, b = BettingTree(*views(betting_tree)), BoardArrays(*views(boards))
    me, threads, team, top, own = work
    shared, up, s = Team(*views(team)), Scratch(*views(top)), Scratch(*views(own))
    both = (PlayerNumbers(*views(pair[0])), PlayerNumbers(*views(pair[1])))
    w = sweep_of(f, b, kind, both, (row_of(rates, 0), row_of(rates, 1)))
    sweep(w, me, threads, shared, up, s)
    restore(word)
