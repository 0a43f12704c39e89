"""The betting before the flop to a depth limit, with values from a table of a stored blueprint.

Brown, Sandholm & Amos 2018, Sec. 6: the values are those of `PreflopValues`. Hands that differ only
by suit play alike before the flop, so all numbers are by class. Reach is that of one hand of a
class, and values are sums over the hands of a class.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import FollowedBetting
from subgame.engines.street import ClassHands, LeafTable, StreetEngine
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.translation import mapping
from subgame.play.hunl.laid import warm
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.play.hunl.street import (
    COMPARING,
    SCHEDULE,
    LimitedStreet,
    StreetPlan,
    mixture,
    planned,
    too_little,
)
from subgame.solve.cfr import Cfr
from subgame.solve.limits import Pace
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits
from subgame.tree.public_tree import both

Floats = NDArray[np.float64]
SPREAD = mapping("pseudo-harmonic")
"""How much of a blueprint's leaf is in a real one between two of them."""
STEP = 5
"""The most iterations between two looks at the clock."""
ITERATIONS = 1000


def solve_before_flop(
    table: PreflopValues,
    at: LimitedStreet,
    limits: Limits,
    choices: int | None = None,
    now: Callable[[], float] = time.perf_counter,
) -> StreetPlan:
    """Solve the rest of the betting before the flop, with both players' ranges.

    See `subgame.play.hunl.street.solve_street`. The opponent has the first few `choices` of
    the table, or all of them. A leaf between two of the blueprint's has the mean of their values,
    in pots (2018, Sec. 6.1).
    """
    pace = Pace(limits.seconds, now, COMPARING)
    street, o = at.street, at.opponent
    values = np.stack([_leaf(table, at.hand, leaf, o) for leaf in street.leaves], axis=1)[:choices]
    on = StreetEngine(
        ClassHands(table.pairs),
        street,
        LeafTable((values * table.pairs).astype(np.float32), o),
    )
    first = np.unique(table.classes, return_index=True)[1]
    one, two = (reach[None, first] for reach in at.reached.reach)
    schedule, most = parse(SCHEDULE), limits.iterations or ITERATIONS
    cfr, us = Cfr(on, reach=(one, two)), at.player
    laid = at.laid.over_street(street, on, (), (first, first))
    cfr.begin_with(warm(on, laid, (one, two), float(at.reached.betting.pot)))

    def advance(done: int, count: int) -> None:
        cfr.advance(schedule.discounts(done + 1, count + 1), done + 1)

    done = pace.run(most, STEP, advance)
    played = both(lambda p: on.behaviour(p, cfr.pair[p].average))
    rejected, share = too_little("" if done == most else "seconds", done), 1.0
    if not rejected:
        played, share = mixture(on, us, (one, two), played, laid)
        rejected = "" if share else f"after {done:,} iterations it loses more than the blueprint"
    rows = planned(street, on, played, lambda *row: np.ascontiguousarray(row[2][table.classes]))
    return StreetPlan(rows, table.boards, done, rejected, share)


def _leaf(table: PreflopValues, hand: FollowedBetting, leaf: Betting, o: int) -> Floats:
    """[k, their class, our class] what the opponent wins at a leaf, in chips."""
    standing = hand.standing_for(leaf, table.blueprint.actions, SPREAD)
    shares = {str(abstract): share for abstract, share in standing.items()}
    total = sum(shares.values())
    if total <= 0:  # all-in, or nothing that the blueprint knows: both check
        return np.repeat(float(leaf.at_stake) * table.equity[None], table.choices, axis=0)
    most = float(min(leaf.rules.stacks))
    values: Floats = np.zeros(table.values.shape[1:2] + table.values.shape[3:])
    for l, there in enumerate(table.leaves):
        if (share := shares.get(str(there), 0.0)) > 0:
            values += table.values[o, :, l] * (share / total * float(leaf.pot))
    return np.clip(values, -most, most, out=values)
