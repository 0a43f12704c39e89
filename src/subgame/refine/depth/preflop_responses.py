"""Continuations before the flop by self-play: responses to the solutions of that round.

Brown, Sandholm & Amos 2018, Sec. 4, the *self-generative* approach: the opponent's first
continuation is the blueprint. The round is solved with the continuations found so far. Against that
solution, followed by the blueprint, the opponent learns a response in the blueprint's buckets,
which is the next continuation. Modicum has ten of them before the flop (Sec. 6.2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from subgame.blueprints.compare import facing, learn, mean_of, table_of, values
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.engines.sampled import Table
from subgame.errors import ArgumentError
from subgame.refine.depth.blueprint_below import Continuation
from subgame.refine.depth.preflop import solve_before_flop
from subgame.refine.depth.preflop_values import (
    PreflopSums,
    PreflopValues,
    Progress,
    Seen,
    dealt,
    draw,
    trainer_of,
)
from subgame.refine.depth.rollouts import StreetPlan
from subgame.refine.live.ranges import ReachedRanges
from subgame.solve.solver import Limits
from subgame.tree.ranges.betting_tree import grow_street

ITERATIONS = 300
"""Of learning a response."""
SOLVED = 500
"""Iterations of a solution of the round."""
BATCHES = 32
"""Iterations' boards on which a response is evaluated."""
FAINT = 1e-3
"""Chips of regret that each action starts with, in proportion to the blueprint, so that a response
is the blueprint where the solution never comes."""


class Generation(NamedTuple):
    """What a response won from the solution to which it was learned, followed by the blueprint."""

    continuations: int
    """Of the opponent, in the solution."""
    mean: float
    """In thousandths of a big blind per hand, both seats: a lower bound of its exploitability."""
    interval95: float


Told = Callable[[PreflopValues, list[Generation]], None]


def self_generated(
    blueprint: StoredBlueprint,
    count: int,
    boards: int,
    *,
    iterations: int = ITERATIONS,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
    told: Told | None = None,
) -> tuple[PreflopValues, list[Generation]]:
    """A table with the blueprint and `count` responses to choose from, and what those won.

    Learning goes on from one response to the next; the schedule forgets the older solutions.
    `told` is given the table and the generations after each.

    >>> from subgame.blueprints.recipe import Recipe
    >>> recipe = Recipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, ranks="9TJQKA", suits="cd")
    >>> table, found = self_generated(StoredBlueprint.of(Trainer(recipe)), 1, 3, iterations=2)
    >>> table.choices, found[0].continuations
    (2, 1)
    """
    for name, given in (("count", count), ("boards", boards), ("iterations", iterations)):
        if given < 1:
            raise ArgumentError(name, f"must be at least 1, not {given}.")
    trainer = trainer_of(blueprint, seed, device, progress)
    making = _Generating(blueprint, trainer, boards, seed)
    table, found = making.table(Continuation(blueprint)), list[Generation]()
    for k in range(count):
        if progress is not None:
            progress("Responses before the flop", k / count)
        response, won = making.response(table, k * iterations, iterations)
        found.append(Generation(1 + k, *won))
        table = table.with_more(making.table(Continuation(response)))
        if told is not None:
            told(table, found)
    return table, found


class _Generating:
    """Responses that are being learned, one after the other."""

    def __init__(
        self, blueprint: StoredBlueprint, trainer: Trainer, boards: int, seed: int
    ) -> None:
        self.blueprint, self.trainer, self.boards = blueprint, trainer, boards
        seen: Iterable[Seen] = draw(blueprint, boards, seed)
        if trainer.device != "cpu":
            seen = itertools.islice(dealt(trainer), boards)
        self.seen = list(seen)
        self.plain = table_of(trainer.engine, blueprint)
        self.regrets = self.plain * FAINT, self.plain * FAINT

    def table(self, continuation: Continuation) -> PreflopValues:
        """The values of one continuation."""
        sums = PreflopSums(self.blueprint, [continuation], self.trainer._put)
        return sums.added(self.seen, self.boards)

    def response(
        self, table: PreflopValues, done: int, iterations: int
    ) -> tuple[StoredBlueprint, tuple[float, float]]:
        """Both players' responses to the solutions of a table, in one blueprint; what they win."""
        engine, start = self.trainer.engine, ReachedRanges.start(self.blueprint.game)
        learned, won = [], []
        for o in (0, 1):
            plan = solve_before_flop(table, start, start.betting, 1 - o, Limits(SOLVED))
            fixed = self._following(plan, table)
            learned.append(learn(self.trainer, o, fixed, self.regrets[o], done, iterations))
            won.append(values(self.trainer, learned[o], o, BATCHES))
        both = facing(engine, 0, *learned)
        found = mean_of((won[0] + won[1]) / 2 * self.blueprint.game.unit[1])
        counts = self.blueprint.cards.counts
        rows: list[Any] = [engine.street(both, s)[:, :n] for s, n in enumerate(counts)]
        units = [each if isinstance(each, np.ndarray) else each.cpu().numpy() for each in rows]
        recipe, tree = self.blueprint.recipe, self.blueprint.tree
        response = StoredBlueprint(recipe, tree, self.blueprint.cards, units, {})
        return response, found[:2]

    def _following(self, plan: StreetPlan, table: PreflopValues) -> Table:
        """The blueprint after a solution of the round before the flop."""
        out, first = self.plain * 1, np.unique(table.classes, return_index=True)[1]
        rows, game = self.trainer.engine.street(out, 0), self.blueprint.game
        for state in itertools.chain(*grow_street(game, [game.start()]).states):
            d, here = self.blueprint.decision(state), plan.rows[state.history]
            assert self.blueprint.tree.actions(d) == here.actions
            at, new = int(self.blueprint.tree.row[d]), here.probabilities[first].T
            rows[at : at + len(new), : len(first)] = self.trainer._put(new)
        return out
