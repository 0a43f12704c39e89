"""More kernels of hold'em trees: probabilities, the reach of every row, card removal."""

from __future__ import annotations

import numpy as np

from subgame.engines.numba.range_kernels import row_of, tile_of, tiles
from subgame.engines.numba.range_scratch import Numbers, Scratch
from subgame.engines.numba.range_terminals import Ends, evaluate
from subgame.engines.numba.range_tiles import (
    PlayerNumbers,
    Side,
    descend,
    matching,
    shares,
    total_of,
    weight_of,
)
from subgame.engines.numba.simd import (
    kernel,
    load,
    part,
    store,
    views,
)
from subgame.engines.numba.subnormals import flush_subnormals, restore
from subgame.tree.ranges.betting_tree import FOLD, LANES, BettingTree
from subgame.tree.ranges.boards import BoardArrays


@part
def match(f: BettingTree, sp: int, side: Side, at: int, into: Numbers) -> None:
    """The probabilities of a tile: regret matching, uniform where no weight is positive."""
    at -= f.roots[sp // 2] * LANES
    m = matching(side, into[0])
    for i in range(f.infoset_at[sp], f.infoset_at[sp + 1]):
        n, e = f.actions[i], at + f.first[i] * LANES
        share, even = shares(total_of(m, e, n), n)
        for k in range(e, e + n * LANES, LANES):
            store(into, k, weight_of(m, k) * share + even)


@kernel
def run_match(betting_tree, boards, p, player, rates, out, work) -> None:
    """The probabilities that regret matching plays with player `p`'s weights, in their layout."""
    word = flush_subnormals()
    f, b = BettingTree(*views(betting_tree)), BoardArrays(*views(boards))
    side = Side(p, PlayerNumbers(*views(player)), row_of(rates, 0), False)
    into, me, threads = views((out,))[0], work[0], work[1]
    for u in range(me, len(boards[0]), threads):
        for tile in range(tiles(b, u, p)):
            match(f, 2 * b.street[u] + p, side, tile_of(f, b, u, p, tile), into)
    restore(word)


@kernel
def run_reach(betting_tree, boards, at, player, rates, out, work) -> None:
    """Player `p`'s reach of every row of a street, into ``out[row, board, place]``.

    The rows of the roots are given in `out`. `at` is (player, street, its first board).
    """
    word = flush_subnormals()
    f, b = BettingTree(*views(betting_tree)), BoardArrays(*views(boards))
    (me, threads, _, _, own), (p, street, first) = work, at
    side = Side(p, PlayerNumbers(*views(player)), row_of(rates, 0), False)
    s, into = Scratch(*views(own)), views((out,))[0]
    rows, count, wide = out.shape
    sp, like = 2 * street + p, s.reach[0]
    for u in range(me, count, threads):
        for tile in range(tiles(b, first + u, p)):
            at, step = u * wide + tile * LANES, count * wide
            for row in range(f.roots[street]):
                store(s.reach, row * LANES, load(into, at + row * step, like))
            descend(f, sp, side, tile_of(f, b, first + u, p, tile), s)
            for row in range(f.roots[street], rows):
                store(into, at + row * step, load(s.reach, row * LANES, like))
    restore(word)


@kernel
def run_opposing(betting_tree, boards, at, reach, out, space, work) -> None:
    """The opponent's reach summed over the hands that share no card with each of player `p`'s.

    `reach` is ``[k, board, place]`` by the opponent's hands, `out` the same by player `p`'s hands.
    `space` is three arrays of each thread: ``[place, LANES]`` twice, and ``[card, LANES]``. `at` is
    (player, the street's first board).
    """
    word = flush_subnormals()
    b, (p, first), me, threads = BoardArrays(*views(boards)), at, work[0], work[1]
    x, folded, sums = space[0][me], space[1][me], space[2][me]
    px, pf, ps = views((x, folded, sums))
    ends = Ends(px, pf, pf, ps, len(sums) // LANES, ())
    for u in range(me, reach.shape[1], threads):
        theirs, mine = b.hands[2 * (first + u) + 1 - p], b.hands[2 * (first + u) + p]
        for at in range(0, len(reach), LANES):
            many = min(LANES, len(reach) - at)
            for h in range(theirs):
                for k in range(many):
                    x[h * LANES + k] = reach[at + k, u, h]
            evaluate(b, first + u, p, FOLD, np.int64(0), ends)
            for h in range(mine):
                for k in range(many):
                    out[at + k, u, h] = folded[h * LANES + k]
    restore(word)
