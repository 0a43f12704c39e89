"""Kernels of hold'em trees beside the sweep: probabilities, reach of every row, card removal."""

from __future__ import annotations

import numpy as np
from numba import njit

from subgame.engines.numba.range_kernels import tile_of, tiles
from subgame.engines.numba.range_terminals import evaluate
from subgame.engines.numba.range_tiles import (
    TINY,
    Numbers,
    PlayerNumbers,
    Rates,
    Scratch,
    descend,
    weight_of,
)
from subgame.engines.numba.simd import choose, larger, load, splat, store, views
from subgame.tree.ranges.betting_tree import FOLD, LANES, BettingTree
from subgame.tree.ranges.hand_order import BoardArrays


@njit(cache=True, error_model="numpy")
def match(
    f: BettingTree, sp: int, mind: PlayerNumbers, at: int, rates: Rates, into: Numbers
) -> None:
    """The probabilities of a tile: regret matching, uniform where no weight is positive."""
    like = into[0]
    zero, one, tiny = splat(0.0, like), splat(1.0, like), splat(TINY, like)
    positive, negative = splat(rates[0], like), splat(rates[1], like)
    at -= f.roots[sp // 2] * LANES
    foreseen = mind.flags[1] != 0
    for i in range(f.infoset_at[sp], f.infoset_at[sp + 1]):
        n, e = f.actions[i], at + f.first[i] * LANES
        most = tiny
        for k in range(e, e + n * LANES, LANES):
            most = larger(most, weight_of(mind, k, positive, negative, foreseen))
        least, total = choose(most, tiny, zero, tiny), zero
        for k in range(e, e + n * LANES, LANES):
            w = weight_of(mind, k, positive, negative, foreseen)
            w = choose(w, tiny, w, least)
            store(into, k, w)
            total = total + w
        share = one / total
        for k in range(e, e + n * LANES, LANES):
            store(into, k, load(into, k, like) * share)


@njit(cache=True, error_model="numpy", nogil=True)
def run_match(  # type: ignore[no-untyped-def]
    betting_tree, boards, p, mind, rates, out, me, threads
) -> None:
    """The probabilities that player `p`'s weights are played with, as they are stored."""
    f, b, m = (
        BettingTree(*views(betting_tree)),
        BoardArrays(*views(boards)),
        PlayerNumbers(*views(mind)),
    )
    into, now = views((out,))[0], (rates[0], rates[1], rates[2], rates[3])
    for u in range(me, len(boards[0]), threads):
        for tile in range(tiles(b, u, p)):
            match(f, 2 * b.street[u] + p, m, tile_of(f, b, u, p, tile), now, into)


@njit(cache=True, error_model="numpy", nogil=True)
def run_reach(  # type: ignore[no-untyped-def]
    betting_tree, boards, p, street, first, mind, out, me, threads, own
) -> None:
    """Player `p`'s reach of every row of a street, ``out[row, board, place]``, whose roots are in.

    `first` is the first board of the street.
    """
    f, b, m = (
        BettingTree(*views(betting_tree)),
        BoardArrays(*views(boards)),
        PlayerNumbers(*views(mind)),
    )
    s, into, still = Scratch(*views(own)), views((out,))[0], (1.0, 1.0, 1.0, 1.0)
    rows, units, wide = out.shape
    sp, like = 2 * street + p, s.reach[0]
    for u in range(me, units, threads):
        for tile in range(tiles(b, first + u, p)):
            at, step = u * wide + tile * LANES, units * wide
            for row in range(f.roots[street]):
                store(s.reach, row * LANES, load(into, at + row * step, like))
            descend(f, sp, m, tile_of(f, b, first + u, p, tile), still, False, s)
            for row in range(f.roots[street], rows):
                store(into, at + row * step, load(s.reach, row * LANES, like))


@njit(cache=True, error_model="numpy", nogil=True)
def run_opposing(boards, p, first, reach, out, me, threads, work) -> None:  # type: ignore[no-untyped-def]
    """The reach of all hands that share no card with each of player `p`'s.

    `reach` is the opponent's, ``[k, board, place]``, `out` the same by player `p`'s hands. `work`
    are three arrays: ``[place, LANES]`` twice, and ``[card, LANES]``.
    """
    b, (x, folded, sums) = BoardArrays(*views(boards)), work
    px, pf, ps = views((x, folded, sums))
    deck = len(sums) // LANES
    for u in range(me, reach.shape[1], threads):
        theirs, mine = b.hands[2 * (first + u) + 1 - p], b.hands[2 * (first + u) + p]
        for at in range(0, len(reach), LANES):
            many = min(LANES, len(reach) - at)
            for h in range(theirs):
                for k in range(many):
                    x[h * LANES + k] = reach[at + k, u, h]
            evaluate(b, first + u, p, FOLD, px, pf, pf, np.int64(0), ps, deck)
            for h in range(mine):
                for k in range(many):
                    out[at + k, u, h] = folded[h * LANES + k]
