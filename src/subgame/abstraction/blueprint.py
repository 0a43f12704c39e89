"""`Blueprint`: a hold'em tree solved in buckets, by any schedule, on a GPU or on the CPU.

    >>> import subgame as sg
    >>> game = sg.holdem.nlfh(2000, 50, 100, "preflop: none; flop: 1x / cap 1", "TJQKA", "hs")
    >>> tree = sg.compile(game, merge="boards")
    >>> made = Blueprint(sg.abstraction.abstract(tree, {"flop": 10}).buckets, "dcfr")
    >>> made.advance(10)
    >>> made.iterations, made.exploitability().mean > 1
    (10, True)

A bucket's regret is the sum over its hands on all boards. Regrets are floored once per iteration,
after that sum. The average strategy and the last iterate are strategies of the whole tree in which
all hands of a bucket do the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subgame.engines.rounding import WIDTH
from subgame.engines.torch import engine_on
from subgame.engines.torch.batch import RangeBatch
from subgame.engines.torch.blocks import Blocks
from subgame.engines.torch.buckets import Bucketed
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.torch_ops import StreetNumbers, Task, TorchOps
from subgame.errors import ArgumentError, SubgameError
from subgame.solve.cfr import Cfr
from subgame.solve.evaluate import Exploitability
from subgame.solve.schedule import Schedule, parse
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.strategy import Strategy

Tensor = Any


class Blueprint:
    """A solve in buckets: regrets and averages on a device, and what subgames need of them."""

    def __init__(
        self, buckets: Buckets, schedule: Schedule | str = "dcfr", *, device: str = "torch"
    ) -> None:
        self.buckets, self.schedule, self.iterations = buckets, parse(schedule), 0
        self.tree: RangeTree = buckets.tree
        range_engine = self.tree.engines.get(device)
        if not isinstance(range_engine, TorchRangeEngine):
            range_engine = self.tree.engines[device] = engine_on(self.tree, device)
        assert isinstance(range_engine, TorchRangeEngine)
        self.engine: TorchRangeEngine = range_engine
        """The engine of the tree without buckets."""
        self.batch: RangeBatch = self.engine.stage(self.tree.streets, buckets=buckets)
        one, two = (side.reach[None].copy() for side in self.tree.players)
        self.reach = one, two  # [1, hand]
        plan = self.schedule
        if plan.sampling != "none":
            raise SubgameError(f"{plan} samples; a blueprint in buckets needs a schedule without.")
        self.cfr = Cfr(
            self.batch,
            predictive=plan.predictive,
            alternating=plan.alternating,
            responder=plan.responder,
            reach=self.reach,
        )

    def advance(self, count: int) -> None:
        """Run so many iterations more."""
        if count < 0:
            raise ArgumentError("count", f"must be at least 0, not {count}.")
        begin = self.iterations + 1
        self.cfr.advance(self.schedule.discounts(begin, count + 1), begin)
        self.iterations += count

    # Strategies --------------------------------------------------------------------------------
    def average(self, p: int) -> Blocks:
        """Player `p`'s average, in proportion to which kernels play."""
        average = self.cfr.pair[p].average
        assert isinstance(average, Blocks)
        return average

    def last(self, p: int) -> Blocks:
        """Player `p`'s strategy of the coming iteration.

        It converges to a counterfactual best response within the abstraction, and its values are
        the estimates of the experiments in Brown & Sandholm 2017 (App. C).
        """
        regrets = self.cfr.pair[p]
        if regrets.instant is None:
            regret: Blocks = regrets.regret  # regret matching plays in proportion to them
            return regret
        discounts = self.schedule.discounts(self.iterations + 1, 1)
        ahead = self.batch.rates(discounts, self.iterations + 1)
        return self.batch.current(p, regrets, ahead[0])

    def response(self, p: int) -> Blocks:
        """Player `p`'s counterfactual best response within the abstraction, as probabilities.

        At each decision, from the last to the first, a bucket takes the action that is best for all
        its hands together, as its regrets count them (the C~BR of Brown & Sandholm 2017, App. C).
        """
        batch, o, plain = self.batch, 1 - p, TorchOps(self.batch.device)
        rates = batch.torch.zeros(WIDTH, device=batch.device)  # nothing is learnt, no trembles
        one, two = (batch.array(reach) for reach in self.reach)
        batch.prepare((one, two))
        entry, lanes = batch.inside(o, (one, two)[o]), list[Tensor]()
        for place, block in zip(batch.places, self.average(o).blocks, strict=True):
            lane, entry = plain.descend(Task(place, o, StreetNumbers(block), rates, entry))
            lanes.append(lane)
        out, below = batch.blank(p), None
        for s in range(len(batch.places) - 1, -1, -1):
            shown, folded = plain.terminals(batch.places[s], p, lanes.pop())
            value = self._answer(s, p, out, plain, (shown, folded, below))
            if s > 0:
                below = plain.rise(batch.places[s - 1], batch.places[s], p, value)
        return out

    def _answer(
        self, s: int, p: int, out: Blocks, plain: TorchOps, paid: tuple[Tensor, Tensor, Any]
    ) -> Tensor:
        """[root, board, hand] values of the best answer on one street, which goes into `out`."""
        torch, place, block = self.batch.torch, self.batch.places[s], out.blocks[s]
        bet = place.level.bets[p]
        value = _payoffs(place, p, paid)
        for node in reversed(bet.infosets):
            rows = slice(node.first, node.first + node.actions)
            edges = slice(rows.start - bet.roots, rows.stop - bet.roots)
            if not isinstance(block, Bucketed):
                first = value[rows].argmax(0)
                chosen = torch.nn.functional.one_hot(first, node.actions).permute(2, 0, 1)
                block[edges] = chosen = chosen.to(value.dtype)
            else:
                shares = block.shares
                sums = shares.seats.sums(slice(0, place.level.units))
                weight, row = shares.weight.flatten(1), shares.by_root[edges]
                total = sums.of(plain, value[rows].flatten(1).contiguous(), weight, row)
                best = torch.nn.functional.one_hot(total.argmax(0), node.actions).T
                block.values[edges.start : edges.stop, sums.where] = best.to(value.dtype)
                chosen = block.load(edges, value.dtype)
            value[node.parent] += (chosen * value[rows]).sum(0)
        return value[: bet.roots]

    # Evaluation --------------------------------------------------------------------------------
    def wins(self, p: int, sigma: Any, opponent: Any = None) -> float:
        """What the opponent of player `p` wins against `sigma`.

        The opponent plays `opponent`, or a best response if that is None. Both are blocks of the
        whole tree.
        """
        values = self.batch.evaluate(1 - p, opponent, sigma, self.reach[p])
        theirs = self.batch.torch.as_tensor(self.reach[1 - p], device=values.device)
        return float((values[:, : theirs.shape[1]] * theirs).sum())

    def exploitability(self) -> Exploitability:
        """Of the average strategy, in the whole game: against opponents who see every card."""
        one, two = (self.wins(p, self.average(p)) for p in (0, 1))
        return Exploitability((one, two))

    def value(self) -> float:
        """What player 0 wins when both play their averages."""
        return -self.wins(0, self.average(0), self.average(1))

    def strategy(self) -> Strategy:
        """The average strategy, over the whole tree."""
        one, two = (np.asarray(self.batch.behaviour(p, self.average(p))) for p in (0, 1))
        notes = {"schedule": str(self.schedule), "iterations": str(self.iterations)}
        return Strategy(self.tree, (one, two), {**notes, "abstraction": repr(self.buckets)})


def _payoffs(place: Any, p: int, paid: tuple[Tensor, Tensor, Any]) -> Tensor:
    """[row, board, hand] what terminals and streets to come pay into each of a player's rows."""
    bet, (shown, folded, below) = place.level.bets[p], paid
    value = shown.new_zeros((bet.rows, place.boards, place.level.hands[p].wide))
    for end in bet.ends:
        value[end.row] += end.scale * (shown if end.showdown else folded)[end.lane]
    for k, row in enumerate(bet.leaves):
        value[row] += below[k]
    return value
