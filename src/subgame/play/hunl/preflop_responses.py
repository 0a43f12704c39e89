"""Continuations before the flop by self-play: responses to the solutions of that round.

Brown, Sandholm & Amos 2018, Sec. 4, the *self-generative* approach: the opponent's first
continuation is the blueprint. The round is solved with the continuations found so far. Against that
solution, followed by the blueprint, the opponent learns a response in the blueprint's buckets,
which is the next continuation. Modicum has ten of them before the flop (Sec. 6.2).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subgame.blueprints.compare import HeadToHead, facing, learn, mean_of, table_of, values
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer, group, host
from subgame.engines.sampled import Table
from subgame.errors import ArgumentError, reading
from subgame.play.hunl.below import Continuation
from subgame.play.hunl.preflop import solve_before_flop
from subgame.play.hunl.preflop_values import (
    PreflopSums,
    PreflopValues,
    Progress,
    digest,
    draw,
    trainer_of,
)
from subgame.play.hunl.street import LimitedStreet
from subgame.refine.continuations import self_generation
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.solver import Limits
from subgame.tree.files import check_replaceable, read_tensors, write_tensors

FORMAT = "subgame-preflop-checkpoint-1"
WANTED = "a checkpoint of a table of values before the flop"
RESPONSES = 9
"""With the blueprint, ten continuations, as the paper has."""
ITERATIONS = 300
"""Of learning a response."""
SOLVED = 500
"""Iterations of a solution of the round."""
STEP = 20
"""Iterations of learning between two reports of progress."""
BATCHES = 32
"""Iterations' boards on which a response is evaluated."""
FAINT = 1e-3
"""Chips of regret that each action starts with, in proportion to the blueprint, so that a response
is the blueprint where no solution has come."""


class Generation(NamedTuple):
    """What a response won from the solution to which it was learned, followed by the blueprint."""

    continuations: int
    """Of the opponent, in the solution."""
    mean: float
    """In thousandths of a big blind per hand, both seats: a lower bound of its exploitability."""
    interval95: float


Watch = Callable[[PreflopValues, list[Generation]], None]


@dataclass(frozen=True)
class Grown:
    """A table with the continuations so far, and what each response won."""

    table: PreflopValues
    generations: list[Generation]

    def __len__(self) -> int:
        return self.table.choices


@dataclass(frozen=True)
class Kept:
    """A file with all that is needed to go on; `asked` says of what, so that no other is read."""

    path: Path
    asked: dict[str, str]

    def save(self, grown: Grown, learning: PreflopLearning) -> None:
        """Write the table in full precision, and what the opponents have learned."""
        table, regrets = grown.table, learning.regrets
        arrays: dict[str, Any] = {"values": table.values, "ahead": table.ahead}
        arrays |= {f"regret {o}": host(regret) for o, regret in enumerate(regrets)}
        head = {"format": FORMAT, **self.asked, "seen": str(table.boards)}
        head["generations"] = json.dumps(grown.generations)
        write_tensors(self.path, arrays, head)

    def load(self, learning: PreflopLearning, most: int) -> Grown | None:
        """The table so far, and the opponents as they were; None if the file is of another table.

        Of its continuations the first `most` are read.
        """
        if not self.path.exists():
            return None
        head, arrays = read_tensors(self.path, WANTED)
        if any(head.get(name) != value for name, value in self.asked.items()):
            return None
        with reading(self.path, WANTED):
            generations = [Generation(*row) for row in json.loads(head["generations"])]
            for o, regret in enumerate(learning.regrets):
                regret[:] = learning.trainer.put(np.array(arrays[f"regret {o}"]))
            values, ahead = np.array(arrays["values"][:, :most]), np.array(arrays["ahead"])
            table = PreflopValues(learning.blueprint, values, ahead, int(head["seen"]))
        return Grown(table, generations[: most - 1])


def self_generated(
    blueprint: StoredBlueprint,
    count: int,
    boards: int,
    *,
    iterations: int = ITERATIONS,
    seed: int = 0,
    progress: Progress | None = None,
    watch: Watch | None = None,
    checkpoint: str | Path | None = None,
    **options: Any,
) -> tuple[PreflopValues, list[Generation]]:
    """A table with the blueprint and `count` responses to choose from, and what those won.

    Learning begins with the response before, which counts as one iteration. `watch` is given the
    table and the generations after each, and the file `checkpoint` is written. A table goes on from
    a checkpoint of the same blueprint, boards, iterations and seed, and then is what it would have
    been without the interruption. `options` are those of `Trainer`, `device` among them.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> table, found = self_generated(StoredBlueprint.of(Trainer(recipe)), 1, 3, iterations=2)
    >>> table.choices, found[0].continuations
    (2, 1)
    """
    for name, value in (("count", count), ("boards", boards), ("iterations", iterations)):
        if value < 1:
            raise ArgumentError(name, f"must be at least 1, not {value}.")
    kept = _kept(checkpoint, blueprint, boards, iterations, seed)
    trainer = trainer_of(blueprint, seed, progress=progress, **options)
    seen = list(draw(blueprint, boards, seed, trainer))
    learning = PreflopLearning(blueprint, trainer)
    begun = None if kept is None else kept.load(learning, 1 + count)

    def valued(going_on: StoredBlueprint, tell: Progress | None) -> PreflopValues:
        sums = PreflopSums(blueprint, [Continuation(going_on)], trainer)
        return sums.added(seen, len(seen), tell)

    def respond(grown: Grown) -> Grown:
        k = len(grown)

        def tell(what: str, share: float) -> None:
            if progress is not None:
                progress(f"{what}, response {k} of {count}", share)

        learned, won = learning.respond(grown.table, (k - 1) * iterations, iterations, tell)
        generations = [*grown.generations, Generation(k, won.mean, won.interval95)]
        more = Grown(grown.table.with_more(valued(learning.stored(learned), tell)), generations)
        if kept is not None and group()[0] == 0:
            kept.save(more, learning)
        if watch is not None:
            watch(more.table, more.generations)
        return more

    first = Grown(valued(blueprint, progress), []) if begun is None else begun
    grown = self_generation(first, 1 + count, respond)
    return grown.table, grown.generations


def _kept(
    path: str | Path | None, blueprint: StoredBlueprint, boards: int, iterations: int, seed: int
) -> Kept | None:
    """The file of a table; refuses one that is something else."""
    if path is None:
        return None
    check_replaceable(Path(path), FORMAT, WANTED)
    asked = {"boards": str(boards), "iterations": str(iterations), "seed": str(seed)}
    return Kept(Path(path), {"blueprint": digest(blueprint), **asked})


class PreflopLearning:
    """Opponents who learn against a solution of the round before the flop, then the blueprint."""

    def __init__(self, blueprint: StoredBlueprint, trainer: Trainer) -> None:
        """The `trainer` has the blueprint's recipe and buckets."""
        self.blueprint, self.trainer = blueprint, trainer
        self.plain = table_of(trainer.engine, blueprint)
        self.regrets = self.plain * FAINT, self.plain * FAINT

    def respond(
        self,
        table: PreflopValues | None,
        done: int,
        iterations: int,
        tell: Progress | None = None,
    ) -> tuple[Table, HeadToHead]:
        """Both players' responses to the solutions of a table, and what they win.

        Without a table they respond to the blueprint. So many iterations were `done` before.
        """
        learned, won = [], []
        for o in (0, 1):
            fixed = self.plain if table is None else self._following(table, 1 - o)
            for k in range(0, iterations, STEP):
                if tell is not None:
                    tell("Learning", (o + k / iterations) / 2)
                more = min(STEP, iterations - k)
                # What was learned before counts as one iteration.
                sigma = learn(self.trainer, o, fixed, self.regrets[o], 1 + k, more, boards=done)
            learned.append(sigma)
            won.append(values(self.trainer, sigma, o, BATCHES))
        mean = mean_of((won[0] + won[1]) / 2 * self.blueprint.game.unit[1])
        return facing(self.trainer.engine, 0, *learned), mean

    def _following(self, table: PreflopValues, player: int) -> Table:
        """The blueprint after a player's solution of the round before the flop."""
        start = ReachedRanges.start(self.blueprint.game)
        limited = LimitedStreet(table.blueprint, start, start.betting, player)
        plan = solve_before_flop(table, limited, Limits(SOLVED))
        out, first = self.plain * 1, np.unique(table.classes, return_index=True)[1]
        rows = self.trainer.engine.street(out, 0)
        for state in itertools.chain(*limited.street.states):
            d, here = self.blueprint.decision(state), plan.rows[state.history]
            assert self.blueprint.tree.actions(d) == here.actions
            at, new = int(self.blueprint.tree.row[d]), here.probabilities[first].T
            rows[at : at + len(new), : len(first)] = self.trainer.put(new)
        return out

    def stored(self, table: Table) -> StoredBlueprint:
        """A table as a blueprint of the same recipe."""
        engine, made = self.trainer.engine, self.blueprint
        rows = [host(engine.street(table, s)) for s in range(len(made.cards.counts))]
        return StoredBlueprint(made.recipe, made.tree, made.cards, rows, {})
