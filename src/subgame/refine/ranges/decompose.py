"""Trunks of hold'em: the first streets are kept, all that follows them is one batch of subgames.

The trunk of CFR-D is the first street; `compact_ranges` keeps any number of streets.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self, Unpack

import numpy as np

from subgame.engines.arrays import Array, Floats, as_numpy
from subgame.engines.contract import Mode, RangeEngine
from subgame.engines.factory import engine
from subgame.engines.street import GivenLeaves, StreetEngine
from subgame.errors import SubgameError, brief
from subgame.games.holdem.sizes import STREETS
from subgame.refine.behind import GadgetRun, Solving
from subgame.refine.compact import (
    CfrD,
    Compact,
    Reconstruction,
    ReconstructOptions,
    Tensors,
    fresh_values,
)
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.ranges.limit import check_limit
from subgame.refine.ranges.subgames import RangeSubgame, Spot, flat, some_pair, spot_name
from subgame.refine.subgame import Subgame, Trunk
from subgame.solve.limits import with_options
from subgame.solve.schedule import Schedule
from subgame.solve.solver import complete, whole_solves
from subgame.tree.public_tree import Numbers, PublicTree, both
from subgame.tree.ranges.merging import unmerged
from subgame.tree.ranges.stage import first_streets
from subgame.tree.ranges.tree import RangeTree, range_tree
from subgame.tree.strategy import Strategy


@dataclass(frozen=True, eq=False)
class RangeCompact(Compact):
    """What is kept of a hold'em strategy: its first streets, and values at the boards after."""

    __repr__ = brief

    values: tuple[Any, Any]
    """Per player [way out, board, hand]: counterfactual values, unnormalised. An array, or what can
    be made one and has the hands of a way out and a board, `compact_spots.Packed`."""
    tree: RangeTree = field(kw_only=True)
    """The whole game, with every hand for itself."""
    street: int = field(default=1, kw_only=True)
    """How many streets the trunk has: the subgames begin on the next one."""
    device: str | None = field(default=None, kw_only=True)

    @property
    def made_for(self) -> RangeTree:
        return self.tree

    @staticmethod
    def kept_for(tree: PublicTree) -> RangeTree:
        return unmerged(range_tree(tree)).tree

    @cached_property
    def _spots(self) -> list[Spot]:
        units, roots = self.tree.units, self.tree.streets[self.street].roots
        boards = range(units.first[self.street], units.first[self.street + 1])
        return [
            Spot(u, state)
            for u in boards
            if some_pair(self.tree, u)
            for state in roots
            if not state.is_over
        ]

    def names(self) -> list[str]:
        return [spot_name(self.tree, spot) for spot in self._spots]

    def subgame(self, k: int) -> RangeSubgame:
        return RangeSubgame.at(self.tree, self._spots[k])

    def inputs(self, k: int, subgame: Subgame, opponent: int) -> GadgetInputs:
        assert isinstance(subgame, RangeSubgame)
        o, (u, state), units = opponent, subgame.spot, self.tree.units
        one, two = (subgame.reach(p, Trunk(self.strategy, o)) for p in (1 - o, o))
        weight = subgame.weight(o, one)
        by_hand = np.zeros(self.tree.holdem.deck.num_hands)
        way, held = self.tree.streets[self.street].roots.index(state), units[u].hands[o]
        by_hand[held] = self.values[o][way, u - units.first[self.street]][: len(held)]
        # Values on a street count as if its board were certain; those of the subgame do not.
        kept = by_hand[subgame.hands(o)] * units.chance[u]
        return GadgetInputs.of_values(o, (one, two), weight, kept)

    @with_options(ReconstructOptions)
    @whole_solves()
    def reconstruct_at(self, spot: Spot, **options: Unpack[ReconstructOptions]) -> Reconstruction:
        """As `reconstruct`, by a board and the betting at its root: no names are made."""
        return self._solved(-1, RangeSubgame.at(self.tree, spot), options)

    def solving(self, options: ReconstructOptions) -> tuple[Gadget, Solving]:
        gadget, solving = super().solving(options)
        return gadget, replace(solving, device=solving.device or self.device)

    @with_options(ReconstructOptions)
    @whole_solves()
    def whole(self, tree: PublicTree, **options: Unpack[ReconstructOptions]) -> Strategy:
        """Reconstruct all subgames together behind the re-solving gadget; a strategy of `tree`."""
        gadget, solving = self.solving(options)
        how = solving.technique(gadget, self.tree, 2)
        if not isinstance(how.schedule, Schedule):
            raise SubgameError("There is no linear program for hold'em trees; use a CFR schedule.")
        run = engine(self.tree, device=solving.device)
        batch, plain = run.stage(self.tree.streets[self.street :]), unmerged(range_tree(tree))
        entry = both(lambda p: _entered(batch, self.tree, p, self.strategy.probs[p], self.street))
        probs = []
        for p in (0, 1):
            weight = as_numpy(batch.opposing(1 - p, entry[p], 0))
            kept = _widened(self.values[1 - p], weight.shape[-1])
            ours, theirs, weight, kept = (flat(e) for e in (entry[p], entry[1 - p], weight, kept))
            inputs = GadgetInputs.of_values(1 - p, (ours, theirs), weight, kept)
            solve = GadgetRun(batch.tree, how.schedule, how.gadget, inputs, on=batch)
            complete(solve, how.limits)
            below = np.asarray(solve.played()[p], np.float32)
            probs.append(plain.gather(p, np.concatenate([self.strategy.probs[p], below])))
        return Strategy(tree, (probs[0], probs[1]))

    def tensors(self) -> dict[str, Numbers]:
        out = {f"trunk{p}": array for p, array in enumerate(self.strategy.probs)}
        return out | {f"values{p}": values for p, values in enumerate(self.values)}

    @classmethod
    def of_tensors(
        cls, tree: RangeTree, count: int, tensors: Tensors, notes: dict[str, Any]
    ) -> Self:
        plain = unmerged(tree).tree
        sizes = [len(tensors["trunk0"]), len(tensors["trunk1"])]
        trunks = [first_streets(plain, count) for count in range(1, len(plain.streets))]
        fits = (trunk for trunk in trunks if [trunk.stored(p) for p in (0, 1)] == sizes)
        if (trunk := next(fits, None)) is None:
            raise SubgameError("Its trunk is that of another tree.")
        street, units = len(trunk.streets), plain.units
        ways, boards = len(plain.streets[street].roots), len(units.dealt[street].cards)
        values = tensors["values0"], tensors["values1"]
        for tensor in values:
            if (
                tensor.ndim != 3
                or tensor.shape[:2] != (ways, boards)
                or not np.isfinite(tensor).all()
            ):
                raise SubgameError("It lacks values at the roots of some subgames.")
        strategy = Strategy(trunk, (tensors["trunk0"], tensors["trunk1"]))
        return cls(strategy, values, notes, tree=plain, street=street)


def entries(tree: RangeTree, p: int, probs: Numbers, street: int) -> Floats:
    """[root, board, hand] player `p`'s reach at the roots of a street, by a strategy before it."""
    units, side, many = tree.units, tree.players[p], tree.holdem.deck.num_hands
    start = np.zeros((1, many))
    start[0, units[0].hands[p]] = side.reach
    reach = [start]  # [board][root, hand of the deck]
    for s, betting in enumerate(tree.streets[:street]):
        below = list[Floats]()
        for u, entered in enumerate(reach, units.first[s]):
            held, rows = units[u].hands[p], np.zeros((betting.rows[p], many))
            rows[: len(entered)] = entered
            for j, (above, first) in enumerate(
                zip(betting.parent[p], betting.first[p], strict=True)
            ):
                shares = probs[side.cells(u, j)].T
                rows[first : first + len(shares), held] = rows[above, held] * shares
            left = rows[[at[p] for at in betting.leaf_rows]]
            below += [left] * int(tree.boards.child_at[u + 1] - tree.boards.child_at[u])
        reach = below
    hands = [units[u].hands[p] for u in range(*units.first[street : street + 2])]
    out = np.zeros((len(tree.streets[street].roots), len(hands), max(map(len, hands))))
    for b, (rows, held) in enumerate(zip(reach, hands, strict=True)):
        out[:, b, : len(held)] = rows[:, held]
    return out


def _entered(batch: RangeEngine, tree: RangeTree, p: int, probs: Numbers, street: int) -> Floats:
    """[root, board, hand] as `entries`, with as many hands as the engine of the subgames has."""
    return _widened(entries(tree, p, probs, street), batch.roots(p).shape[-1])


def _widened(array: Array, width: int) -> Floats:
    """[root, board, hand] with zeros for hands that a board does not have, `width` in all."""
    values = np.asarray(array)[..., :width]
    more = width - values.shape[-1]
    return np.pad(values, [(0, 0), (0, 0), (0, more)])


def compact_ranges(tree: RangeTree, strategy: Strategy, at: object) -> RangeCompact:
    """What `decompose.compact` keeps of a hold'em strategy."""
    after = [f"after the {STREETS[street.index]}" for street in tree.streets[1:]]
    if at not in after:
        check_limit(tree, at, "after")
    count, merged = 1 + after.index(str(at)), unmerged(tree)
    plain = merged.tree
    batch = engine(plain).stage(plain.streets[count:])
    sigma = both(lambda p: merged.spread(p, strategy.probs[p]))
    entry = both(lambda p: _entered(batch, plain, p, sigma[p], count))
    plans = both(lambda p: batch.plan(p, _below(batch, p, sigma[p]), flat(entry[p])))
    values = both(lambda o: batch.respond(o, plans[1 - o]).roots.reshape(entry[o].shape))
    trunk = first_streets(plain, count)
    kept = both(lambda p: np.array(sigma[p][: trunk.stored(p)]))
    return RangeCompact(Strategy(trunk, kept), values, tree=plain, street=count)


def _below(batch: RangeEngine, p: int, sigma: Numbers) -> Numbers:
    """[q] what of a strategy follows the first street: the end of its numbers."""
    return sigma[-batch.tree.stored(p) :]


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
    first = first_streets(tree)

    def result(t: int) -> RangeCompact:
        values = both(lambda p: np.asarray(kept[p] / total))
        none = both(lambda p: np.zeros(0, np.float32))
        played = both(lambda p: as_numpy(street.behaviour(p, pair[p].average)))
        probs = both(lambda p: street.over(first, p, played[p], none[p]))
        notes = how.notes(t, began)
        return RangeCompact(Strategy(first, probs), values, notes, tree=tree, device=device)

    for t in range(1, how.iterations + 1):
        rates = street.rates(plan.discounts(t, 2), t)
        entry = [_entry(run, street, p, street.current(p, pair[p], rates[0])) for p in (0, 1)]
        fresh = fresh_values(batch, list(map(flat, entry)), inner, count, held)
        values = [values.reshape(entry[p].shape) for p, values in enumerate(fresh)]
        keep = float(plan.discounts(t, 1)[0, 2])
        total = total * keep + 1
        for p in (0, 1):
            kept[p] = kept[p] * keep + values[p]
            risen = as_numpy(run.rise(p, values[p], 1))[:, 0, : reach[p].shape[1]]
            leaves.values[p] = street.array(risen) * street.deals
        before = street.snapshot(pair[0])
        for p, theirs in enumerate((pair[1], before)):
            street.sweep(p, Mode.LEARN, (pair[p], theirs), (rates[0], rates[0]), reach)
        how.watch(t, partial(result, t))
        how.progress(t, how.iterations)
    return result(how.iterations)


def _entry(run: RangeEngine, street: StreetEngine, p: int, sigma: Any) -> Floats:
    """[way, board, hand] player `p`'s reach into the subgames by a strategy of the trunk."""
    rows = street.descend(p, sigma, street.roots(p))[street.sides[p].leaves]
    return as_numpy(run.enter(p, rows[:, None], 1))
