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
    load_each,
    load_item,
    part,
    rounding,
    small,
    splat_each,
    store_each,
    store_item,
)
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.boards import CARD_BITS, CARD_MASK, BoardArrays

CROWDED = 0.49
"""The share of the hands that arrive from which on a card counts as being in half of them: less
than a half, because sums are rounded."""


class Ends(NamedTuple):
    """The arrays of one, two or four chunks of terminals: ``[chunk, place, LANES]``.

    Several at once take less time each, because hands and cards are looked up once.
    """

    reach: Numbers  # the opponent's
    shown: Numbers  # values at showdowns
    folded: Numbers  # values after folds
    sums: Numbers  # [card, chunk, LANES] workspace
    deck: int  # number of different cards
    far: tuple[int, ...]  # from the first chunk to each other one


@small
def pour(
    b: BoardArrays, u: int, o: int, first: int, last: int, at: int, e: Ends, total: Lanes
) -> Lanes:
    """Add the reach of some runs of player `o`'s hands to the sums per card and to the total.

    If a and b cards equivalent to A and B are left, there are a b hands AB, and b of them contain a
    given A. There are a (a - 1) / 2 hands AA, and a - 1 of them contain a given A. If no cards are
    equivalent (`size` is negative), all these numbers are one.
    """
    x, sums, far, size, hands = e.reach, e.sums, e.far, b.size_at[u], b.hand_at[2 * u + o]
    like = sums[0]
    for r in range(first, last):
        run = splat_each(0.0, like, far)
        card = np.int64(b.run_card[r])
        if size < 0:
            for h in range(np.int64(b.run_start[r]), np.int64(b.run_start[r + 1])):
                a = load_each(x, at + h * LANES, far)
                c = np.int64(b.cards[hands + h]) & CARD_MASK
                store_item(sums, c, far, load_item(sums, c, far) + a)
                run = run + a
            store_item(sums, card, far, load_item(sums, card, far) + run)
            total = total + run
            continue
        often = b.size[size + card]
        times = splat_each(often, like, far)
        for h in range(np.int64(b.run_start[r]), np.int64(b.run_start[r + 1])):
            a = load_each(x, at + h * LANES, far)
            c = np.int64(b.cards[hands + h]) & CARD_MASK
            if c == card:
                a = splat_each((often - 1) / 2, like, far) * a
                store_item(sums, c, far, load_item(sums, c, far) + a)
                run = run + a
            else:
                store_item(sums, c, far, load_item(sums, c, far) + times * a)
                run = run + splat_each(b.size[size + c], like, far) * a
        store_item(sums, card, far, load_item(sums, card, far) + run)
        total = total + times * run
    return total


@small
def others(b: BoardArrays, h: int, total: Lanes, e: Ends) -> Lanes:
    """Of the reach in `total`, that of hands with neither card of hand `h`, less that of `h`."""
    both, sums, far = np.int64(b.cards[h]), e.sums, e.far
    card, other = both >> CARD_BITS, both & CARD_MASK
    return total - load_item(sums, card, far) - load_item(sums, other, far)


@small
def crowded(total: Lanes, e: Ends) -> int:
    """The cards, as bits, that are in about half of the hands that arrive, or in more, in any lane.

    Only a hand with such a card may meet nobody: every hand that arrives has one of its two cards
    then, so that one of the two is in half of them. For any other hand ``all - card - card`` is far
    from zero.
    """
    like, far = e.sums[0], e.far
    most, half = splat_each(0.0, like, far), total * splat_each(CROWDED, like, far)
    for c in range(e.deck):
        most = larger(most, load_item(e.sums, c, far))
    cards = 0
    if any_above(most, half):
        for c in range(e.deck):
            if any_above(load_item(e.sums, c, far), half):
                cards |= 1 << c
    return cards


@small
def finish(b: BoardArrays, side: int, kind: int, at: int, e: Ends, total: Lanes) -> None:
    """What folds and showdowns pay every hand, when all hands that arrive are in the sums.

    Where a fold would pay no more than what rounding may leave of zero, no hand that arrives can be
    there beside it: neither pays anything.
    """
    x, shown, folded, sums, _, far = e
    ours, mine, like = b.hands[side], b.hand_at[side], sums[0]
    least, zero, cards = rounding(total), splat_each(0.0, like, far), crowded(total, e)
    for h in range(ours):
        every = others(b, mine + h, total, e)
        own = at + np.int64(b.same[mine + h]) * LANES
        if kind & 2:
            store_each(folded, at + h * LANES, far, every + load_each(x, own, far))
        if kind & 1:
            store_each(shown, at + h * LANES, far, load_each(shown, at + h * LANES, far) - every)
        both = np.int64(b.cards[mine + h])
        if (cards >> (both >> CARD_BITS) | cards >> (both & CARD_MASK)) & 1:
            paid = every + load_each(x, own, far)
            if kind & 2:
                store_each(folded, at + h * LANES, far, choose(paid, least, paid, zero))
            if kind & 1:
                won = load_each(shown, at + h * LANES, far)
                store_each(shown, at + h * LANES, far, choose(paid, least, won, zero))


@part
def evaluate(b: BoardArrays, u: int, p: int, kind: int, at: int, e: Ends) -> None:
    """Terminals on one board for player `p`, from the opponent's reach at `at`.

    Let w(h) be the reach of weaker hands that share no card with h, s(h) that of stronger ones and
    t(h) that of equal ones. A showdown pays w - s. The kernel goes up through the ranks with sums
    per card. Then ``all - card - card`` is w just before h's group is added, and w + t just after.
    At the end it is w + s + t, which a fold pays; the difference is w - s. The hand h itself
    cancels out of it, and is added to the pay of a fold.
    """
    x, shown, folded, sums, deck, far = e
    o, like = 1 - p, sums[0]
    n, ours, mine = b.hands[2 * u + o], b.hands[2 * u + p], b.hand_at[2 * u + p]
    run_o, run_p = b.run_at[2 * u + o], b.run_at[2 * u + p]
    group_o, group_p = b.group_at[2 * u + o], b.group_at[2 * u + p]
    groups, total, zero = b.groups[u], splat_each(0.0, like, far), splat_each(0.0, like, far)
    for h in range(ours, (ours + LANES - 1) // LANES * LANES):  # padding has value 0
        if kind & 1:
            store_each(shown, at + h * LANES, far, zero)
        if kind & 2:
            store_each(folded, at + h * LANES, far, zero)
    for c in range(deck):
        store_item(sums, c, far, zero)
    end_o = run_o + np.int64(b.group_run[group_o + groups])
    if not kind & 1:
        total = pour(b, u, o, run_o, end_o, at, e, total)
    first_o, first_p = run_o, run_p
    for g in range(groups if kind & 1 else 0):
        last_o = run_o + np.int64(b.group_run[group_o + g + 1])
        last_p = run_p + np.int64(b.group_run[group_p + g + 1])
        tied = last_o > first_o
        begin, stop = np.int64(b.run_start[first_p]), np.int64(b.run_start[last_p])
        often = splat_each(1.0 if tied else 2.0, like, far)
        for h in range(begin, stop):
            store_each(shown, at + h * LANES, far, others(b, mine + h, total, e) * often)
        if tied:
            total = pour(b, u, o, first_o, last_o, at, e, total)
            for h in range(begin, stop):
                won = others(b, mine + h, total, e)
                store_each(shown, at + h * LANES, far, load_each(shown, at + h * LANES, far) + won)
        first_o, first_p = last_o, last_p
    # One more place holds the reach 0 of hands outside the opponent's range.
    store_each(x, at + (n + LANES - 1) // LANES * LANES * LANES, far, zero)
    finish(b, 2 * u + p, kind, at, e, total)
