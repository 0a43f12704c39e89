"""The round before the flop to a depth limit: one value, biased and self-generated values.

Brown, Sandholm & Amos 2018, Sec. 4 has two ways to the opponent's continuations, and Modicum takes
the self-generative one before the flop, with ten values (Sec. 6.2). Here the round is solved from
the first blind on with each of them, in whole hold'em, and an opponent learns what it can win.

Notes:

* The paper has no such table. Each figure is what an opponent wins who learns in the blueprint's
  buckets against the solution of the round, then the blueprint: the mean of both seats, on boards
  that nobody has learned on. It is a lower bound of what a best response in the buckets wins.
* The blueprint itself was trained for this round, too. So a depth limit is not expected to beat it
  here; it is for bets that the blueprint does not know.
* Responses win more from the blueprint than the blueprint does. The paper weakens such ones, or
  lets the player choose among continuations, too (Sec. 4); neither is done here.
* Self-generated values are those that come with the package, of which the first few or all are
  taken (`subgame blueprint hunl-default --preflop 3000` makes them).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.papers.cells import Cells, cells_of, made_by
from subgame.papers.report import Found, Progress, Record, device, marks, panel, row
from subgame.play.hunl.preflop_responses import SOLVED, PreflopLearning, self_generated
from subgame.play.hunl.preflop_values import PreflopValues, trainer_of

BLUEPRINT, ONE, BIASED = "the blueprint alone", "one value", "4 values, biased"


@dataclass(frozen=True)
class Steps:
    """What a run computes with."""

    iterations: int = 900
    """Of learning, for each seat."""
    boards: int = 1500
    """Of the biased values."""
    counts: tuple[int, ...] = (4, 6, 10)
    """How many self-generated values there are."""
    seed: int = 0
    quick: bool = False

    @property
    def names(self) -> list[str]:
        """The rows."""
        return [BLUEPRINT, ONE, BIASED, *(f"{k} values, self-generated" for k in self.counts)]

    def key(self, name: str) -> str:
        """The name of a cell."""
        return f"{name} | {self.iterations} | {self.boards} | {self.seed} | {self.quick}"


FULL, QUICK = Steps(), Steps(20, 10, (2, 3), quick=True)


def trained() -> StoredBlueprint:
    """A blueprint of a deck of twelve cards, trained for a moment."""
    bets, buckets = "all: 1x / cap 1", (None, 6, 6, 6)
    trainer = Trainer(
        BlueprintRecipe("quick", bets, buckets, 600, ranks="9TJQKA", suits="cd", boards=2)
    )
    trainer.advance(20)
    return StoredBlueprint.of(trainer)


def compute(steps: Steps, cells: Cells, where: str, tell: Progress) -> None:
    """Compute the cells that are missing."""
    missing = [name for name in steps.names if steps.key(name) not in cells.results]
    if not missing:
        return
    blueprint = trained() if steps.quick else StoredBlueprint.load()
    trainer = trainer_of(blueprint, steps.seed, where, tell)
    if steps.quick:
        more = max(steps.counts) - 1
        table, _ = self_generated(blueprint, more, steps.boards, iterations=steps.iterations)
    else:
        table = PreflopValues.of(blueprint)
    counts = {ONE: 1, **dict(zip(steps.names[3:], steps.counts, strict=True))}
    for k, name in enumerate(missing):

        def tell_share(what: str, share: float, k: int = k, name: str = name) -> None:
            tell(f"{name}: {what.lower()}", (k + share) / len(missing))

        solved = None if name == BLUEPRINT else table
        if name == BIASED:
            solved = PreflopValues.make(
                blueprint, steps.boards, seed=steps.seed, trainer=trainer, progress=tell_share
            )
        elif solved is not None:
            solved = replace(solved, values=solved.values[:, : counts[name]])
        _, won = PreflopLearning(blueprint, trainer).respond(
            solved, 0, steps.iterations, tell_share
        )
        cells.put(steps.key(name), won._asdict())


def run(quick: bool, seed: int, tell: Progress, *, keep: Path | None = None) -> Found:
    """On a GPU; quick: a deck of twelve cards and a blueprint trained for a moment."""
    steps = replace(QUICK if quick else FULL, seed=seed)
    with cells_of(keep) as cells:
        if any(steps.key(name) not in cells.results for name in steps.names):
            where = "cpu" if quick else device(quick)
            cells.made = "" if quick else made_by(where)
            compute(steps, cells, where, tell)
    return compared(steps, cells)


def compared(steps: Steps, cells: Cells) -> Found:
    """What the learner wins, row by row."""
    rows_done = [cells.results[steps.key(name)] for name in steps.names]
    rows = [
        row(f"{name}, mbb/h", None, cell["mean"], f"± {cell['interval95']:.3g}")
        for name, cell in zip(steps.names, rows_done, strict=True)
    ]
    means, spread = [cell["mean"] for cell in rows_done], [cell["interval95"] for cell in rows_done]
    curves = [marks("mean, 95 % interval", means, spread=spread)]
    drawn = panel("What a learner wins", "mbb/h", "", curves, names=steps.names)
    data: Record = dict(zip(steps.names, rows_done, strict=True))
    settings = {
        "iterations of learning, each seat": steps.iterations,
        "boards of the biased values": steps.boards,
        "iterations of a solution": SOLVED,
    }
    return Found(rows, {"panels": [drawn], "found": data}, settings)
