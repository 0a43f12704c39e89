"""Folds and showdowns of hold'em trees: a chunk of terminals on one board, one in each lane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subgame.engines.numba.range_scratch import Numbers
from subgame.engines.numba.simd import (
    Lanes,
    any_above,
    choose,
    larger,
    load,
    part,
    rounding,
    small,
    splat,
    store,
)
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.boards import CARD_BITS, CARD_MASK, BoardArrays

CROWDED = 0.49
"""The share of the hands that arrive from which on a card counts as being in half of them: less
than a half, because sums are rounded."""


class Ends(NamedTuple):
    """The arrays of some terminals, one in each lane: ``[chunk, place, LANES]``."""

    reach: Numbers  # the opponent's
    shown: Numbers  # values at showdowns
    folded: Numbers  # values after folds
    sums: Numbers  # [card, LANES] workspace
    deck: int  # number of different cards


@small
def pour(
    b: BoardArrays, u: int, o: int, first: int, last: int, at: int, e: Ends, total: Lanes
) -> Lanes:
    """Add the reach of some runs of player `o`'s hands to the sums per card and to the total.

    If a and b cards equivalent to A and B are left, there are a b hands AB, and b of them contain a
    given A. There are a (a - 1) / 2 hands AA, and a - 1 of them contain a given A. If no cards are
    equivalent (`size` is negative), all these numbers are one.
    """
    x, sums, size, hands = e.reach, e.sums, b.size_at[u], b.hand_at[2 * u + o]
    like = sums[0]
    for r in range(first, last):
        run = splat(0.0, like)
        card = np.int64(b.run_card[r])
        if size < 0:
            for h in range(np.int64(b.run_start[r]), np.int64(b.run_start[r + 1])):
                a = load(x, at + h * LANES, like)
                c = (np.int64(b.cards[hands + h]) & CARD_MASK) * LANES
                store(sums, c, load(sums, c, like) + a)
                run = run + a
            c = card * LANES
            store(sums, c, load(sums, c, like) + run)
            total = total + run
            continue
        often = b.size[size + card]
        times = splat(often, like)
        for h in range(np.int64(b.run_start[r]), np.int64(b.run_start[r + 1])):
            a = load(x, at + h * LANES, like)
            other = np.int64(b.cards[hands + h]) & CARD_MASK
            c = other * LANES
            if other == card:
                a = splat((often - 1) / 2, like) * a
                store(sums, c, load(sums, c, like) + a)
                run = run + a
            else:
                store(sums, c, load(sums, c, like) + times * a)
                run = run + splat(b.size[size + other], like) * a
        c = card * LANES
        store(sums, c, load(sums, c, like) + run)
        total = total + times * run
    return total


@small
def others(b: BoardArrays, h: int, total: Lanes, sums: Numbers) -> Lanes:
    """Of the reach in `total`, that of hands with neither card of hand `h`, less that of `h`."""
    both = np.int64(b.cards[h])
    card, other = both >> CARD_BITS, both & CARD_MASK
    return total - load(sums, card * LANES, sums[0]) - load(sums, other * LANES, sums[0])


@small
def crowded(total: Lanes, e: Ends) -> int:
    """The cards, as bits, that are in about half of the hands that arrive, or in more, in any lane.

    Only a hand with such a card may meet nobody: every hand that arrives has one of its two cards
    then, so that one of the two is in half of them. For any other hand ``all - card - card`` is far
    from zero.
    """
    like = e.sums[0]
    most, half = splat(0.0, like), total * splat(CROWDED, like)
    for c in range(e.deck):
        most = larger(most, load(e.sums, c * LANES, like))
    cards = 0
    if any_above(most, half):
        for c in range(e.deck):
            if any_above(load(e.sums, c * LANES, like), half):
                cards |= 1 << c
    return cards


@small
def finish(b: BoardArrays, side: int, kind: int, at: int, e: Ends, total: Lanes) -> None:
    """What folds and showdowns pay every hand, when all hands that arrive are in the sums.

    Where a fold would pay no more than what rounding may leave of zero, no hand that arrives can be
    there beside it: neither pays anything.
    """
    x, shown, folded, sums, _ = e
    ours, mine, like = b.hands[side], b.hand_at[side], sums[0]
    least, zero, cards = rounding(total), splat(0.0, like), crowded(total, e)
    for h in range(ours):
        every = others(b, mine + h, total, sums)
        own = at + np.int64(b.same[mine + h]) * LANES
        if kind & 2:
            store(folded, at + h * LANES, every + load(x, own, like))
        if kind & 1:
            store(shown, at + h * LANES, load(shown, at + h * LANES, like) - every)
        both = np.int64(b.cards[mine + h])
        if (cards >> (both >> CARD_BITS) | cards >> (both & CARD_MASK)) & 1:
            paid = every + load(x, own, like)
            if kind & 2:
                store(folded, at + h * LANES, choose(paid, least, paid, zero))
            if kind & 1:
                won = load(shown, at + h * LANES, like)
                store(shown, at + h * LANES, choose(paid, least, won, zero))


@part
def evaluate(b: BoardArrays, u: int, p: int, kind: int, at: int, e: Ends) -> None:
    """One chunk of terminals on one board for player `p`, from the opponent's reach at `at`.

    Let w(h) be the reach of weaker hands that share no card with h, s(h) that of stronger ones and
    t(h) that of equal ones. A showdown pays w - s. The kernel goes up through the ranks with sums
    per card. Then ``all - card - card`` is w just before h's group is added, and w + t just after.
    At the end it is w + s + t, which a fold pays; the difference is w - s. The hand h itself
    cancels out of it, and is added to the pay of a fold.
    """
    x, shown, folded, sums, deck = e
    o, like = 1 - p, sums[0]
    n, ours, mine = b.hands[2 * u + o], b.hands[2 * u + p], b.hand_at[2 * u + p]
    run_o, run_p = b.run_at[2 * u + o], b.run_at[2 * u + p]
    group_o, group_p = b.group_at[2 * u + o], b.group_at[2 * u + p]
    groups, total, zero = b.groups[u], splat(0.0, like), splat(0.0, like)
    for h in range(ours, (ours + LANES - 1) // LANES * LANES):  # padding has value 0
        if kind & 1:
            store(shown, at + h * LANES, zero)
        if kind & 2:
            store(folded, at + h * LANES, zero)
    for c in range(deck):
        store(sums, c * LANES, zero)
    end_o = run_o + np.int64(b.group_run[group_o + groups])
    if not kind & 1:
        total = pour(b, u, o, run_o, end_o, at, e, total)
    first_o, first_p = run_o, run_p
    for g in range(groups if kind & 1 else 0):
        last_o = run_o + np.int64(b.group_run[group_o + g + 1])
        last_p = run_p + np.int64(b.group_run[group_p + g + 1])
        tied = last_o > first_o
        begin, stop = np.int64(b.run_start[first_p]), np.int64(b.run_start[last_p])
        often = splat(1.0 if tied else 2.0, like)
        for h in range(begin, stop):
            store(shown, at + h * LANES, others(b, mine + h, total, sums) * often)
        if tied:
            total = pour(b, u, o, first_o, last_o, at, e, total)
            for h in range(begin, stop):
                won = others(b, mine + h, total, sums)
                store(shown, at + h * LANES, load(shown, at + h * LANES, like) + won)
        first_o, first_p = last_o, last_p
    # One more place holds the reach 0 of hands outside the opponent's range.
    store(x, at + (n + LANES - 1) // LANES * LANES * LANES, zero)
    finish(b, 2 * u + p, kind, at, e, total)
