"""All subgames after the last deal of a blueprint in buckets, solved together on all boards.

Arrays are ``[way, board, hand]``: a way is a line of betting that leads to the street. Values are
those of `subgame.refine.gadgets`; what a gadget needs comes from the blueprint as it stands on the
device, so that nothing large leaves it.

Given the blueprint's ranges and values, subgames on different boards do not depend on each other.
So boards are solved in batches, as many at a time as fit into memory, and `LastStreet.evaluate`
keeps of each batch only what the best response needs: the opponent's values at its roots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.blueprint import Blueprint
from subgame.engines.arrays import normalise
from subgame.engines.contract import Mode
from subgame.engines.rounding import WIDTH
from subgame.engines.torch.batch import RangeBatch, room
from subgame.engines.torch.blocks import Blocks, matched
from subgame.engines.torch.torch_ops import StreetNumbers, Task, TorchOps
from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.memory import parse_bytes
from subgame.refine.accept import SHARES, lost
from subgame.refine.behind import solve_behind
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.ranges.subgames import carried_gifts, entered_gifts
from subgame.refine.subgame import received_gift, reliable
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule, parse

Floats = NDArray[np.float64]


Tensor = Any


LEAST = 1e-100


KEPT = 9
"""Arrays of all boards in double precision: reach of both, weights, values, estimates, gifts, what
is left, and two that come and go."""


FREE = 0.85
"""What is taken of free memory at most, for allocators leave gaps."""


WORKING = 36
"""Arrays of a batch's boards in single precision that a gadget has, with what it works with."""


class Outcome(NamedTuple):
    """What is known of solved subgames."""

    won: float
    """What a best response wins against the blueprint with these subgames."""
    margin: float
    """The smallest margin over root infosets that can be reached (2017, eq. 1)."""
    share: float = 1.0
    """Of the solutions in what is played, the mean over subgames (`subgame.refine.accept`)."""
    solution: float | None = None
    """What a best response wins if all of the solutions is played."""


class LastStreet:
    """The subgames on the last street in which player `p` plays better than the blueprint.

    `estimate` are both players' blocks whose values stand for the opponent's true ones (Brown &
    Sandholm 2017, App. C): `Blueprint.last` or `Blueprint.response`, by default the last iterate.

    `doubts` are the shares by ways with which the opponent's range is doubted there: so much of its
    reach is added, as much for each hand that it may have (`subgame.play.hunl.early.doubt`).

    `memory_limit` is what may be taken on the device beside the blueprint, by default what is free
    there. Boards are solved in batches that keep within it; `memory` is the estimate.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        p: int,
        estimate: Blocks | None = None,
        *,
        doubts: Sequence[float] | None = None,
        memory_limit: str | float | None = None,
    ) -> None:
        tree, run = blueprint.tree, blueprint.engine
        if len(tree.streets) < 2:
            raise SubgameError(f"{tree!r} has one street, so no cards are dealt after its start.")
        self.blueprint, self.p, self.o, self.run = blueprint, p, 1 - p, run
        self.street, self.ops = len(tree.streets) - 1, TorchOps(run.device)
        blueprint.batch.release()
        self.bucketed = run.stage(tree.streets[-1:], buckets=blueprint.buckets)
        limit = FREE * room(run.device) if memory_limit is None else parse_bytes(memory_limit)
        step, self.memory = self._fitting(limit)
        self.batches = list(self._batches(step))
        """Some boards, and the engine that solves their subgames."""
        self.estimate = blueprint.last(self.o) if estimate is None else estimate
        self.rows = [self._reach(q) for q in (0, 1)]
        """Per player and street before the last: [row, board, hand] reach."""
        one, two = (self._entry(q, doubts) for q in (0, 1))
        self.entry = one, two
        self.weight = reliable(run.opposing(self.o, self.entry[p], self.street))
        self.cbv = self._value(None)
        """[way, board, hand] what the opponent can get against the blueprint, not normalised."""

    # Memory ------------------------------------------------------------------------------------
    def _needed(self, boards: int) -> int:
        """Bytes that subgames take if so many boards are solved at a time."""
        frame = self.run.frames[-1]
        ways, wide = frame.bets[self.o].roots, max(frame.wide)
        some = frame._replace(units=boards, tables=frame.tables * boards // frame.units)
        graphs = self.run.needs.graphs and boards == frame.units
        needs = replace(self.run.needs, frames=[some], graphs=graphs, buckets={})
        kept, working = 8 * KEPT * ways * frame.units * wide, 4 * WORKING * ways * boards * wide
        return needs.estimate("device").device + kept + working

    def _fitting(self, limit: float) -> tuple[int, int]:
        """As many boards at a time as fit, in batches of equal size; and the bytes they take."""
        units = boards = self.run.frames[-1].units
        many = 1
        while boards > 1 and self._needed(boards) > limit:
            many += 1 + many // 16
            boards = -(-units // many)
        if (needed := self._needed(boards)) > limit:
            raise MemoryLimitError(
                f"The subgames of {self.blueprint.tree.game_name} need at least "
                f"{human_bytes(needed)} on {self.run.device}, and only "
                f"{human_bytes(limit)} are free."
            )
        return boards, needed

    def _batches(self, step: int) -> Iterator[tuple[slice, RangeBatch]]:
        units, streets = self.run.frames[-1].units, self.blueprint.tree.streets[-1:]
        for at in range(0, units, step):
            some = slice(at, min(at + step, units))
            part = None if step == units else some
            yield (
                some,
                self.run.stage(streets, placement="device", memory_limit=float("inf"), units=part),
            )

    # The blueprint -----------------------------------------------------------------------------
    def _sigma(self, blocks: Blocks, q: int) -> Blocks:
        """The last street of a strategy."""
        return Blocks(self.bucketed, q, blocks.blocks[-1:])

    def _rates(self) -> Tensor:
        """The factors of an iteration that learns nothing, without trembles."""
        run = self.run
        return run.torch.zeros(WIDTH, dtype=run.torch.float64, device=run.device)

    def _reach(self, q: int) -> list[Tensor]:
        run, out = self.run, list[Tensor]()
        entry = run.inside(q, run.tensor(self.blueprint.reach[q], run.torch.float64))
        blocks = self.blueprint.average(q).blocks
        for place, block in zip(run.places[: self.street], blocks, strict=False):
            bet, here = place.level.bets[q], self.ops.enter(place, q, entry)
            out.append(self.ops.reach(bet, StreetNumbers(block), self._rates(), here)[0])
            entry = out[-1][bet.leaves]
        return out

    def _entry(self, q: int, doubts: Sequence[float] | None) -> Tensor:
        """[way, board, hand] player `q`'s reach into the subgames; the opponent's is doubted."""
        leaves = self.run.places[self.street - 1].level.bets[q].leaves
        known = self.run.enter(q, self.rows[q][-1][leaves], self.street)
        if doubts is None or q == self.p:
            return known
        shares = self.run.tensor(np.array(doubts), known.dtype)[:, None, None]
        held = self._held(q)
        return known + shares * known.sum(2, keepdim=True) * held / held.sum(1, keepdim=True)

    def _held(self, q: int) -> Tensor:
        """[board, hand] 1 for each hand that player `q` may hold."""
        return (self.run.places[-1].tables[q].above >= 0) * 1.0

    def _value(self, sigma: Blocks | None) -> Tensor:
        """[way, board, hand] the opponent's value of entering, by `sigma` or at best."""
        p, o = self.p, self.o
        mine = None if sigma is None else self._sigma(sigma, o)
        ours = self._sigma(self.blueprint.average(p), p)
        reach = self.entry[p].flatten(0, 1)
        return self.bucketed.evaluate(o, mine, ours, reach).view(self.weight.shape)

    @cached_property
    def estimated(self) -> Tensor:
        """[way, board, hand] the same by the estimate."""
        return self._value(self.estimate)

    # Gifts -------------------------------------------------------------------------------------
    def _gifts(self, gadget: Gadget) -> Tensor:
        """[way, board, hand] what the opponent gave up on the way, in units of the alternative."""
        torch, streets = self.run.torch, self.blueprint.tree.streets[: self.street]
        if gadget.gifts == "none":
            return torch.zeros_like(self.weight)
        values = (
            self._trunk_values(self.estimated, self.estimate)
            if gadget.gifts == "estimated"
            else self._trunk_cbv
        )
        run, none = self.run, np.zeros_like(self.blueprint.reach[self.o])
        gifts = carried_gifts(
            run, streets, gadget, self.o, self.rows[self.p], values, none[:, None]
        )
        carried = gifts[-1][[row[self.o] for row in streets[-1].leaf_rows]]
        entered = entered_gifts(run, gadget, self.o, carried, self.street)
        return received_gift(entered, self.weight, gadget)

    def plain(self, gadget: Gadget) -> Gadget:
        """The same technique without gifts, where the opponent made none; else as it is."""
        if gadget.gifts == "none" or bool((self._gifts(gadget) * (self.weight > 0) > 0).any()):
            return gadget
        return replace(gadget, gifts="none", split=True, scale=1.0)

    @cached_property
    def _trunk_cbv(self) -> list[Tensor]:
        return self._trunk_values(self.cbv, None)

    def _trunk_values(self, entering: Tensor, sigma: Blocks | None) -> list[Tensor]:
        """Per street before the last [row, board, hand]: the opponent's value of each row."""
        run, plain, o = self.run, self.ops, self.o
        mode, out = Mode.BEST if sigma is None else Mode.EVALUATE, list[Tensor]()
        result = entering * run.tree.deals
        for s in range(self.street - 1, -1, -1):
            place = run.places[s]
            below = run.ops.rise(place, run.places[s + 1], o, result)
            lanes = self.rows[self.p][s][place.level.bets[self.p].lanes]
            shown, folded = plain.terminals(place, o, lanes)
            own = StreetNumbers(None if sigma is None else sigma.blocks[s])
            task = Task(place, o, own, self._rates(), None)
            rows = plain.climb(task, mode, (shown, folded, below))
            result = rows[: place.level.bets[o].roots]
            out.append(rows / run.tree.deals)
        return out[::-1]

    # Solving -----------------------------------------------------------------------------------
    def inputs(
        self, gadget: Gadget, units: slice = slice(None), gifts: Tensor | None = None
    ) -> GadgetInputs:
        """What the gadget needs on some boards, ``[root, hand]`` on the device.

        Reach is scaled root by root, for kernels like numbers near one: only its shape matters.
        `gifts` [way, board, hand] are found here if they are not given.
        """
        weight = self.weight[:, units]
        cbv = normalise(self.cbv[:, units], weight)
        base = normalise(self.estimated[:, units], weight) if gadget.estimate else cbv
        ours, theirs = self.entry[self.p][:, units], self.entry[self.o][:, units]
        gift = (self._gifts(gadget) if gifts is None else gifts)[:, units]
        inputs = GadgetInputs(
            opponent=self.o,
            our_reach=ours,
            opponent_reach=theirs,
            weight=weight,
            alternative=base + gift,
            cbv=cbv,
            spread=(base - cbv).abs(),
        )
        inputs = inputs.near_one().reached(self._held(self.o)[units])
        entering = inputs.opponent_reach
        largest = entering.amax(2, keepdim=True).clamp(min=LEAST)
        scaled = replace(inputs, opponent_reach=entering / largest)

        def flat(values: Tensor) -> Tensor:
            return values.flatten(0, 1).float()

        return scaled.mapped(flat, flat)

    def solve(self, gadget: Gadget, schedule: Schedule | str, iterations: int) -> Blocks:
        """Player `p`'s strategy of the whole tree: the blueprint, with its subgames solved."""
        made = [block for *_, block in self._solved(gadget, schedule, iterations)]
        last = made[0] if len(made) == 1 else self.run.torch.cat(made, 1)
        before = self.blueprint.average(self.p).blocks[:-1]
        return Blocks(self.blueprint.batch, self.p, [*before, last])

    def evaluate(self, gadget: Gadget, schedule: Schedule | str, iterations: int) -> Outcome:
        """What `solve` comes to; the strategy itself is dropped, batch by batch."""
        best = self.run.torch.empty_like(self.cbv)
        gifts = self._gifts(gadget)
        for units, stage, block in self._solved(gadget, schedule, iterations, gifts):
            best[:, units] = self._against(stage, units, block)
        return Outcome(self._won(best), self._margin(best, gifts))

    def accepted(self, gadget: Gadget, schedule: Schedule | str, iterations: int) -> Outcome:
        """The same with as much of each solution as loses nothing (`subgame.refine.accept`)."""
        torch, best, shares = self.run.torch, self.cbv.clone(), 0.0
        all_played = torch.empty_like(best)
        gifts, held = self._gifts(gadget), matched(self.bucketed, self.p, self._blueprint)
        for units, stage, block in self._solved(gadget, schedule, iterations, gifts):
            inputs = self.inputs(gadget, units, gifts)
            inputs = inputs.mapped(lambda ours: ours, lambda theirs: theirs.double())
            plans = [self._plan(stage, units, some) for some in (block, held.blocks[0][:, units])]
            weight = self.weight[:, units]
            least = lost(gadget, inputs, normalise(best[:, units], weight).flatten(0, 1))
            chosen = torch.zeros_like(least)
            for share in SHARES:
                mixed = share * plans[0] + (1 - share) * plans[1]
                values = self._against(stage, units, mixed.float())
                if share == 1:
                    all_played[:, units] = values
                now = lost(gadget, inputs, normalise(values, weight).flatten(0, 1))
                better = now < least
                least, chosen = (
                    torch.where(better, new, old) for new, old in ((now, least), (share, chosen))
                )
                some = better.view(*weight.shape[:2], 1)
                best[:, units] = torch.where(some, values, best[:, units])
            shares += float(chosen.mean()) * weight.shape[1] / self.weight.shape[1]
        return Outcome(self._won(best), self._margin(best, gifts), shares, self._won(all_played))

    @property
    def _blueprint(self) -> Blocks:
        """Our blueprint on the last street, in buckets."""
        return self._sigma(self.blueprint.average(self.p), self.p)

    def _plan(self, stage: RangeBatch, units: slice, block: Tensor) -> Tensor:
        """[action, board, hand] the realisation plan of our strategy on some boards."""
        bet, entry = stage.places[0].level.bets[self.p], self.entry[self.p][:, units]
        reach = self.ops.reach(bet, StreetNumbers(block), self._rates(), entry)[0]
        return reach[bet.roots :]

    def _solved(
        self,
        gadget: Gadget,
        schedule: Schedule | str,
        iterations: int,
        gifts: Tensor | None = None,
    ) -> Iterator[tuple[slice, RangeBatch, Tensor]]:
        """Batch by batch: its boards, its engine, and player `p`'s average strategy there."""
        plan, gifts = parse(schedule), self._gifts(gadget) if gifts is None else gifts
        for units, stage in self.batches:
            inputs = self.inputs(gadget, units, gifts)
            solve = partial(self._behind, stage, plan, iterations)
            leaves = partial(self._left, stage, units)
            yield units, stage, solve_behind(gadget, inputs, solve, leaves)
            stage.release()

    def _left(self, stage: RangeBatch, units: slice, block: Tensor) -> Tensor:
        """[root, hand] what a strategy leaves the opponent on some boards."""
        values = normalise(self._against(stage, units, block), self.weight[:, units])
        return values.flatten(0, 1).float()

    def _behind(
        self,
        stage: RangeBatch,
        plan: Schedule,
        iterations: int,
        gadget: Gadget,
        inputs: GadgetInputs,
    ) -> Tensor:
        """[action, board, hand] player `p`'s average strategy behind a gadget of one stage."""
        reach = inputs.our_reach, inputs.opponent_reach
        cfr = Cfr(
            stage,
            predictive=plan.predictive,
            alternating=plan.alternating,
            learner=gadget.learner(inputs, predictive=plan.predictive),
            reach=reach if self.p == 0 else reach[::-1],
            averages=(self.p == 0, self.p == 1),
        )
        cfr.advance(plan.discounts(1, iterations + 1), 1)
        solved = cfr.pair[self.p].average
        assert isinstance(solved, Blocks)
        return solved.blocks[0]

    # Evaluation --------------------------------------------------------------------------------
    def _against(self, stage: RangeBatch, units: slice, block: Tensor) -> Tensor:
        """[way, board, hand] what the opponent gets at best on some boards, not normalised."""
        reach = self.entry[self.p][:, units].flatten(0, 1)
        values = stage.evaluate(self.o, None, Blocks(stage, self.p, [block]), reach)
        return values.view(self.weight[:, units].shape)

    def _won(self, best: Tensor) -> float:
        """What a best response wins that gets so much at the roots of the subgames."""
        values = self._trunk_values(best, None)[0][0, 0]
        theirs = self.run.torch.as_tensor(self.blueprint.reach[self.o][0], device=values.device)
        return float((values[: len(theirs)] * theirs).sum())

    def _margin(self, best: Tensor, gifts: Tensor) -> float:
        now, cbv = (normalise(values, self.weight) for values in (best, self.cbv))
        margins = self.run.torch.where(self.weight > 0, cbv - now + gifts, np.inf)
        return float(margins.amin())

    def margin(self, strategy: Blocks, gadget: Gadget) -> float:
        """The smallest margin over root infosets that can be reached (2017, eq. 1)."""
        best, block = self.run.torch.empty_like(self.cbv), strategy.blocks[-1]
        for units, stage in self.batches:
            best[:, units] = self._against(stage, units, block[:, units])
        return self._margin(best, self._gifts(gadget))
