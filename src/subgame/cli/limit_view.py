"""The output of ``subgame limit``, as text and as JSON."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from subgame.cli.common import SAVED, seconds_text
from subgame.cli.console import (
    Facts,
    change_text,
    next_steps,
    number_text,
    one_line,
    strategy_table,
)
from subgame.cli.line import PLACE, Line
from subgame.cli.progress import Meter
from subgame.refine.report import compared

if TYPE_CHECKING:
    from subgame.refine.continuations import Continuations
    from subgame.refine.limit import Evaluator
    from subgame.refine.sequence.limit import DepthLimited
    from subgame.refine.subgame import Subgame
    from subgame.refine.verbs.depth import LimitedSolution
    from subgame.solve.evaluate import Exploitability
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

OFFERED = ("--at", "--continuations", "--count")
LIMIT = ("--blueprint", *OFFERED, "--player", "--seed", "--memory-limit")
"""Options with the same meaning in ``subgame train``."""
SHOWN = 6
"""Number of infosets above the limit that are shown."""


def sequence_limit(solved: LimitedSolution) -> DepthLimited:
    """The depth-limited tree of a solution, which the command makes of sequence trees alone."""
    from subgame.refine.sequence.limit import DepthLimited

    assert isinstance(solved.limited, DepthLimited)
    return solved.limited


class Limited(Protocol):
    """A depth limit and the continuations at it: `subgame.cli.limit.Limit`."""

    @property
    def tree(self) -> PublicTree: ...
    @property
    def blueprint(self) -> Strategy: ...
    @property
    def subgames(self) -> Sequence[Subgame]: ...
    @property
    def values(self) -> Mapping[int, Evaluator]: ...
    @property
    def offered(self) -> Mapping[int, Continuations]: ...
    @property
    def at(self) -> Sequence[str]: ...
    @property
    def players(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Found:
    """A depth-limited solution and its exploitability in the whole game."""

    limit: Limited
    solved: Sequence[LimitedSolution]
    strategy: Strategy
    before: Exploitability
    after: Exploitability
    best: float | None
    """Exploitability with best play below the limit by the players that were solved for."""
    seconds: float

    @classmethod
    def of(
        cls,
        limit: Limited,
        solved: Sequence[LimitedSolution],
        best_below: bool,
        meter: Meter,
        began: float,
    ) -> Found:
        """Join the strategies of both players and evaluate them."""
        import subgame as sg
        from subgame.refine.sequence.programs import best_completion

        tree, probs = limit.tree, list(limit.blueprint.probs)
        for p, side in zip(limit.players, solved, strict=True):
            probs[p] = side.strategy.probs[p]
        limited = str(sequence_limit(solved[0]).game_name)
        notes = {"schedule": solved[0].result.schedule, "limited": limited}
        strategy = sg.Strategy(tree, (probs[0], probs[1]), notes)
        meter.update("Evaluating the solution in the whole game")
        before, after = (sg.exploitability(tree, s) for s in (limit.blueprint, strategy))
        best = None
        if best_below:
            kept = [-wins for wins in after.per_seat]  # what each seat wins at least
            for p in limit.players:
                best_play = best_completion(tree, strategy, at=limit.subgames, player=p)
                kept[p] = best_play.value
            best = -sum(kept) / 2
        took = time.perf_counter() - began
        return cls(limit, solved, strategy, before, after, best, took)

    @property
    def is_worse(self) -> bool:
        """Whether a best response wins more than before, beyond rounding."""
        rounding = self.strategy.tree.precision * sum(map(abs, self.before.per_seat))
        return self.after.mean > self.before.mean + rounding

    @property
    def error(self) -> float:
        """The largest standard error of a leaf value."""
        return max(side.limited.standard_error for side in self.solved)

    def above(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """(player, infoset, action probabilities) of the infosets above the limit."""
        sides = self.limit.tree.players
        for p, side in zip(self.limit.players, self.solved, strict=True):
            for name in sequence_limit(side).players[p].names:
                if name in sides[p].index:
                    row = self.strategy.row(p, sides[p].index[name])
                    yield p, f"player {p}: {name}" if name in sides[1 - p].index else name, row

    def as_dict(self, leaves: str) -> dict[str, object]:
        """The output of ``--json``."""
        limit = self.limit
        answer: dict[str, Any] = {
            "game": limit.tree.game_name,
            "limit": [subgame.name for subgame in limit.subgames],
            "players": list(limit.players),
            "leaves": leaves,
            "continuations": {str(p): list(offered.names) for p, offered in limit.offered.items()},
            "schedule": self.solved[0].result.schedule,
            "infosets": limit.tree.num_infosets,
            "infosets_limited": [sequence_limit(side).num_infosets for side in self.solved],
            "standard_error": self.error,
            "strategy": {name: row for _, name, row in self.above()},
            **compared(self.before, self.after),
            "seconds": self.seconds,
        }
        return answer | ({} if self.best is None else {"exploitability_best_below": self.best})


def show(console: Console, result: Found, line: Line, leaves: str, out: Path | None) -> None:
    limit = result.limit
    names = [subgame.name for subgame in limit.subgames]
    where_to = f"{len(names)} public states" if len(names) > 1 else f"'{one_line(names[0])}'"
    console.print(Text(f"{limit.tree.game_name}, solved down to {where_to}", style="bold"))
    console.print(_summary(result, leaves))
    above = list(result.above())
    left, what = len(above) - SHOWN, "more infosets above the limit"
    console.print(strategy_table(above[:SHOWN], "plays now", left, what))
    places = " ".join(f"--at {shlex.quote(name)}" for name in limit.at)
    way = "bias" if line.options.get("--continuations", ())[1:] == ("self",) else "self"
    trained = ["--leaves"] if leaves.endswith(SAVED) else []  # a network has its own continuations
    other = line.again(
        f"{places} --continuations {way} --best-below",
        without=[*OFFERED, "--best-below", "--out", *trained],
    )
    steps = [(other, "try other continuations, and best play below the limit")]
    if leaves == "exact":
        train = line.then("train", shlex.join(line.arguments), LIMIT, "--out leaves.safetensors")
        steps.append((train, "train a network for the values at the limit"))
    if out is not None:
        files = shlex.join([line.arguments[0], str(out)])
        steps.append((line.then("exploit", files, PLACE), "see where the strategy loses most"))
    next_steps(console, *steps)


def _summary(result: Found, leaves: str) -> Table:
    grid = Facts()
    add, word = grid.add, change_text(result.before, result.after)
    before, after = (number_text(max(gap.mean, 0.0)) for gap in (result.before, result.after))
    add("exploitability before", before, "what a best response wins, mean of both seats")
    add("exploitability after", after, f"{word}; the blueprint is played below the limit")
    if result.best is not None:
        note = "best play instead of the blueprint below the limit"
        add("with best play below", number_text(max(result.best, 0.0)), note)
    for p in result.limit.players:
        names = result.limit.offered[p].names
        listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        add(f"continuations of player {1 - p}", f"{len(names):,}", one_line(listed))
    sizes = " and ".join(f"{sequence_limit(side).num_infosets:,}" for side in result.solved)
    add("infosets", sizes, f"instead of {result.limit.tree.num_infosets:,}")
    error = f"{result.error:.3g}" if result.error else "0"
    blurs = [getattr(result.limit.values[p], "data_error", 0.0) for p in result.limit.players]
    data = f"; error of its training data {max(blurs):.3g}" if any(blurs) else ""
    add("error of leaf values", error, f"standard error, {leaves}{data}")
    add("time", seconds_text(result.seconds), f"solved by {result.solved[0].result.schedule}")
    return grid
