"""All subgames after the last deal of a blueprint in buckets, solved together on all boards.

Arrays are ``[way, board, hand]``: a way is a line of betting that leads to the street. Values are
those of `subgame.refine.payoffs`; what a gadget needs comes from the blueprint as it stands on the
device, so that nothing large leaves it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.blueprint import Blueprint
from subgame.engines.arrays import as_numpy, normalise
from subgame.engines.contract import Mode, RangeEngine
from subgame.engines.torch.blocks import Blocks
from subgame.engines.torch.torch_ops import StreetNumbers, TorchOps
from subgame.errors import SubgameError
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.refine.payoffs import carried_gifts, entered_gifts, received_gift, reliable
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule, parse

Floats = NDArray[np.float64]
Tensor = Any
LEAST = 1e-100


class LastStreet:
    """The subgames on the last street in which player `p` plays better than the blueprint.

    `estimate` are both players' blocks whose values stand for the opponent's true ones (Brown &
    Sandholm 2017, App. C): `Blueprint.last` or `Blueprint.response`, by default the last iterate.
    """

    def __init__(self, blueprint: Blueprint, p: int, estimate: Blocks | None = None) -> None:
        tree, run = blueprint.tree, blueprint.engine
        if len(tree.streets) < 2:
            raise SubgameError(f"{tree!r} has one street, so no cards are dealt after its start.")
        self.blueprint, self.p, self.o, self.run = blueprint, p, 1 - p, run
        self.street, self.plain = len(tree.streets) - 1, TorchOps(run.device)
        self.stage = run.stage(tree.streets[-1:])
        self.bucketed = run.stage(tree.streets[-1:], buckets=blueprint.buckets)
        self.estimate = blueprint.last(self.o) if estimate is None else estimate
        self.rows = [self._reach(q) for q in (0, 1)]
        """Per player and street before the last: [row, board, hand] reach."""
        one, two = (self._entry(q) for q in (0, 1))
        self.entry = one, two
        self.weight = reliable(self.stage.opposing(self.o, self.entry[p], 0))
        self.cbv = self._value(None)
        """[way, board, hand] what the opponent can get against the blueprint, not normalised."""

    def _sigma(self, blocks: Blocks, q: int) -> Blocks:
        """The last street of a strategy."""
        return Blocks(self.bucketed, q, blocks.blocks[-1:])

    def _ones(self) -> Tensor:
        kind = self.run.torch.float64
        return self.run.torch.ones(4, dtype=kind, device=self.run.device)

    def _reach(self, q: int) -> list[Tensor]:
        run, out = self.run, list[Tensor]()
        entry = run._inside(q, run._tensor(self.blueprint.reach[q], run.torch.float64))
        blocks = self.blueprint.average(q).blocks
        for place, block in zip(run.places[: self.street], blocks, strict=False):
            bet, here = place.level.bets[q], self.plain.enter(place, q, entry)
            out.append(self.plain.reach(bet, StreetNumbers(block), self._ones(), here)[0])
            entry = out[-1][bet.leaves]
        return out

    def _entry(self, q: int) -> Tensor:
        """[way, board, hand] player `q`'s reach into the subgames."""
        leaves = self.run.places[self.street - 1].level.bets[q].leaves
        return self.run.enter(q, self.rows[q][-1][leaves], self.street)

    def _value(self, sigma: Blocks | None) -> Tensor:
        """[way, board, hand] the opponent's value of entering, by `sigma` or at best."""
        p, o = self.p, self.o
        mine = None if sigma is None else self._sigma(sigma, o)
        ours = self._sigma(self.blueprint.average(p), p)
        reach = self.entry[p].flatten(0, 1)
        return self.bucketed.evaluate(o, mine, ours, reach).view(self.weight.shape)

    # Gifts -------------------------------------------------------------------------------------
    def _gifts(self, gadget: Gadget) -> Tensor:
        """[way, board, hand] what the opponent gave up on the way, in units of the alternative."""
        torch, streets = self.run.torch, self.blueprint.tree.streets[: self.street]
        if gadget.gifts == "none":
            return torch.zeros_like(self.weight)
        sigma = self.estimate if gadget.gifts == "estimated" else None
        values = self._trunk_values(self.cbv if sigma is None else self._value(sigma), sigma)
        run, none = cast(RangeEngine, self.run), np.zeros_like(self.blueprint.reach[self.o])
        found = carried_gifts(
            run, streets, gadget, self.o, self.rows[self.p], values, none[:, None]
        )
        carried = found[-1][[row[self.o] for row in streets[-1].leaf_rows]]
        entered = entered_gifts(run, gadget, self.o, carried, self.street)
        return received_gift(torch.from_numpy(entered).to(self.weight), self.weight, gadget)

    def _trunk_values(self, entering: Tensor, sigma: Blocks | None) -> list[Tensor]:
        """Per street before the last [row, board, hand]: the opponent's value of each row."""
        run, plain, o = self.run, self.plain, self.o
        mode, out = Mode.BEST if sigma is None else Mode.EVALUATE, list[Tensor]()
        result = entering * run.tree.deals
        for s in range(self.street - 1, -1, -1):
            place = run.places[s]
            below = plain.rise(place, run.places[s + 1], o, result)
            lanes = self.rows[self.p][s][place.level.bets[self.p].lanes]
            shown, folded = plain.terminals(place, o, lanes)
            own = StreetNumbers(None if sigma is None else sigma.blocks[s])
            rows = plain.climb(place, o, mode, own, self._ones(), None, (shown, folded, below))
            result = rows[: place.level.bets[o].roots]
            out.append(rows / run.tree.deals)
        return out[::-1]

    # Solving -----------------------------------------------------------------------------------
    def inputs(self, gadget: Gadget) -> GadgetInputs:
        """What the gadget needs, ``[root, hand]`` on the device.

        Reach is scaled root by root, for kernels like numbers near one: only its shape matters.
        """
        torch, weight = self.run.torch, self.weight
        cbv = normalise(self.cbv, weight)
        base = normalise(self._value(self.estimate), weight) if gadget.estimate else cbv
        ours, theirs = self.entry[self.p], self.entry[self.o]
        size = ours.amax(2, keepdim=True).clamp(min=LEAST)
        # Where the blueprint never comes, every root infoset is taken to be as likely.
        never = (theirs * (weight > 0)).sum(2, keepdim=True) <= 0
        theirs = torch.where(never, (self.stage.places[0].tables[self.o].above >= 0) * 1.0, theirs)
        theirs = theirs / theirs.amax(2, keepdim=True).clamp(min=LEAST)

        def flat(values: Tensor) -> Tensor:
            return values.flatten(0, 1).float()

        return GadgetInputs(
            opponent=self.o,
            our_reach=flat(ours / size),
            opponent_reach=flat(theirs),
            weight=flat(weight / size),
            alternative=flat(base + self._gifts(gadget)),
            cbv=flat(cbv),
            spread=flat((base - cbv).abs()),
        )

    def solve(self, gadget: Gadget, schedule: Schedule | str, iterations: int) -> Blocks:
        """Player `p`'s strategy of the whole tree: the blueprint, with its subgames solved."""
        *first, last = gadget.stages
        given = self.inputs(gadget)
        for stage in first:
            given = given.raised(
                self._left(self._solved(stage, given, schedule, iterations)).float()
            )
        return self._solved(last, given, schedule, iterations)

    def _solved(
        self, gadget: Gadget, given: GadgetInputs, schedule: Schedule | str, iterations: int
    ) -> Blocks:
        """`solve` for a gadget of one stage."""
        plan, reach = parse(schedule), (given.our_reach, given.opponent_reach)
        cfr = Cfr(
            self.stage,
            predictive=plan.predictive,
            alternating=plan.alternating,
            learner=gadget.learner(given, predictive=plan.predictive),
            reach=reach if self.p == 0 else reach[::-1],
        )
        cfr.advance(plan.discounts(1, iterations + 1), 1)
        solved = cfr.pair[self.p].average
        assert isinstance(solved, Blocks)
        before = self.blueprint.average(self.p).blocks[:-1]
        return Blocks(self.blueprint.batch, self.p, [*before, *solved.blocks])

    def _left(self, strategy: Blocks) -> Tensor:
        """[root, hand] what the opponent gets at best against a strategy."""
        ours = Blocks(self.stage, self.p, strategy.blocks[-1:])
        reach = self.entry[self.p].flatten(0, 1)
        won = self.stage.evaluate(self.o, None, ours, reach).view(self.weight.shape)
        return normalise(won, self.weight).flatten(0, 1)

    def margin(self, strategy: Blocks, gadget: Gadget) -> float:
        """The smallest margin over root infosets that can be reached (2017, eq. 1)."""
        now = self._left(strategy).view(self.weight.shape)
        margins = normalise(self.cbv, self.weight) - now + self._gifts(gadget)
        return float(as_numpy(margins[self.weight > 0]).min(initial=np.inf))
