"""CFR-D on hold'em: the first street is the trunk, all that follows it is one batch of subgames."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from subgame.engines.arrays import Floats, as_numpy, normalise
from subgame.engines.contract import Engine, Mode, RangeEngine
from subgame.engines.factory import engine
from subgame.engines.street import GivenLeaves, StreetEngine
from subgame.errors import SubgameError, brief
from subgame.refine.depth.ranges import check_limit
from subgame.refine.gadgets import Gadget, GadgetInputs, Resolve
from subgame.refine.nested.ranges import flat
from subgame.refine.solve_gadget import GadgetRun, Solving
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule
from subgame.solve.solver import complete, whole_solves
from subgame.tree.ranges.merging import unmerged
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.refine.decompose import CfrD

TRACE = 1e-12
"""Reach that is left where the trunk never comes, see `decompose`."""


@dataclass(frozen=True, eq=False)
class RangeCompact:
    """A hold'em strategy kept as its first street and the values at the roots of what follows."""

    __repr__ = brief

    tree: RangeTree
    """The whole game, with every hand for itself."""
    trunk: tuple[Floats, Floats]  # [own action, hand] both players' strategies of the first street
    values: tuple[Floats, Floats]  # [way, board, hand] counterfactual values, unnormalised
    notes: dict[str, Any] = field(default_factory=dict)
    device: str | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return sum(each.nbytes for each in (*self.trunk, *self.values))

    @whole_solves()
    def whole(
        self,
        tree: RangeTree,
        *,
        technique: Gadget | None = None,
        schedule: Schedule | str | None = None,
        iterations: int | None = None,
        gap: float | None = None,
    ) -> Strategy:
        """Reconstruct every subgame behind the re-solving gadget; a strategy over `tree`."""
        solving = Solving(schedule, iterations, None, gap)
        how = solving.technique(technique or Resolve(), self.tree)
        if not isinstance(how.schedule, Schedule):
            raise SubgameError("There is no linear program for hold'em trees; use a CFR schedule.")
        run = engine(self.tree, device=self.device)
        batch = run.stage(self.tree.streets[1:])
        street = StreetEngine(run, self.tree.streets[0], GivenLeaves())
        entry = [_entry(run, street, p, street.array(self.trunk[p])) for p in (0, 1)]
        plain = unmerged(tree)
        probs = []
        for p in (0, 1):
            weight = as_numpy(batch.opposing(1 - p, entry[p], 0))
            kept = normalise(self.values[1 - p], weight)
            ours, theirs, weight, kept = (flat(e) for e in (entry[p], entry[1 - p], weight, kept))
            inputs = GadgetInputs(1 - p, ours, theirs, weight, kept, kept)
            solve = GadgetRun(batch.tree, how.schedule, how.gadget, inputs, on=batch)
            complete(solve, how.limits)
            below = np.asarray(solve.played()[p])
            probs.append(plain.gather(p, street.over(self.tree, p, self.trunk[p], below)))
        return Strategy(tree, (probs[0], probs[1]))


def cfr_d_ranges(tree: RangeTree, how: CfrD) -> RangeCompact:
    """CFR-D (Burch et al. 2014) with the first street as trunk; see `decompose.cfr_d`."""
    check_limit(tree, how.at, "after")
    plan, device = how.schedule, how.device
    tree, began = unmerged(tree).tree, time.perf_counter()
    run = engine(tree, device=device)
    batch, leaves = run.stage(tree.streets[1:]), GivenLeaves()
    street = StreetEngine(run, tree.streets[0], leaves)
    one, two = (street.regrets(p, predictive=plan.predictive) for p in (0, 1))
    pair = (one, two)
    reach, total = (street.roots(0), street.roots(1)), 0.0
    kept: list[Any] = [0.0, 0.0]
    held = [as_numpy(batch.roots(p)) for p in (0, 1)]
    inner, count = how.subgame_schedule, how.subgame_iterations
    for t in range(1, how.iterations + 1):
        rates = street.rates(plan.discounts(t, 2), t)
        entry = [_entry(run, street, p, street.current(p, pair[p], rates[0])) for p in (0, 1)]
        found = fresh_values(batch, list(map(flat, entry)), inner, count, held)
        values = [each.reshape(entry[p].shape) for p, each in enumerate(found)]
        keep = float(plan.discounts(t, 1)[0, 2])
        total = total * keep + 1
        for p in (0, 1):
            kept[p] = kept[p] * keep + values[p]
            risen = as_numpy(run.rise(p, values[p], 1))[:, 0, : reach[p].shape[1]]
            leaves.values[p] = street.array(risen) * street.deals
        before = street.snapshot(pair[0])
        for p, theirs in enumerate((pair[1], before)):
            street.sweep(p, Mode.LEARN, (pair[p], theirs), (rates[0], rates[0]), reach)
        how.progress(t, how.iterations)
    trunk = [as_numpy(street.behaviour(p, pair[p].average)) for p in (0, 1)]
    first, second = (np.asarray(each / total) for each in kept)
    return RangeCompact(
        tree, (trunk[0], trunk[1]), (first, second), how.notes(how.iterations, began), device
    )


def _entry(run: RangeEngine, street: StreetEngine, p: int, sigma: Any) -> Floats:
    """[way, board, hand] player `p`'s reach into the subgames by a strategy of the trunk."""
    rows = street.descend(p, sigma, street.roots(p))[street.sides[p].leaves]
    return as_numpy(run.enter(p, rows[:, None], 1))


def fresh_values(
    run: Engine,
    reach: Sequence[Floats],
    schedule: Schedule,
    iterations: int,
    held: Sequence[Floats] | tuple[float, float] = (1.0, 1.0),
) -> tuple[Floats, Floats]:
    """[root, infoset] both players' values in a fresh solution, from their reach at the roots.

    Averages are weighted by own reach; where the trunk never comes a trace of it keeps the average
    a counterfactual best response there too, as CFR-D requires. `held` is 0 where there is no hand.
    """
    one, two = (np.maximum(reach[p], TRACE) * held[p] for p in (0, 1))
    cfr = Cfr(
        run, predictive=schedule.predictive, alternating=schedule.alternating, reach=(one, two)
    )
    cfr.advance(schedule.discounts(1, iterations + 1), 1)
    sigma = [run.behaviour(p, cfr.pair[p].average) for p in (0, 1)]
    plans = [run.plan(p, sigma[p], reach[p]) for p in (0, 1)]
    first, second = (run.values(p, sigma[p], plans[1 - p]).roots for p in (0, 1))
    return first, second
