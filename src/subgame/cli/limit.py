"""``subgame limit``: solve a game down to a depth limit."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from subgame.cli.arguments import GameArgument, MemoryOption, grouped, opt
from subgame.cli.common import (
    SAVED,
    check_least,
    check_readable,
    check_saved,
    emit,
    finish,
    load_game,
    save_files,
    seconds_text,
    stdout,
)
from subgame.cli.console import (
    Facts,
    change_text,
    next_steps,
    number_text,
    one_line,
    strategy_table,
)
from subgame.cli.line import PLACE, Line
from subgame.cli.options import Given, Limit, Output, Stop, Where, check_exact
from subgame.cli.progress import Meter, compiled, warm_up
from subgame.cli.refine_view import not_saved
from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.solve.limits import check_seed
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.refine.limit import Evaluator
    from subgame.refine.ranges.limit import RangeLimit
    from subgame.refine.sequence.limit import DepthLimited
    from subgame.refine.verbs.depth import LimitedSolution
    from subgame.solve.evaluate import Exploitability
    from subgame.tree.strategy import Strategy


LEAVES = ("exact", "rollout")
LEAST_ROLLOUTS = 2
"""The least number of rollouts that has a standard error."""


@dataclass(frozen=True)
class Leaves:
    """The values at a depth limit."""

    leaves: str = opt(
        "exact",
        "KIND",
        "The values at the limit: exact, rollout, or a file FILE.safetensors of networks "
        "saved by subgame train, which also contains the limit and the continuations.",
    )
    rollouts: int | None = opt(
        None, "N", "With --leaves rollout: rollouts per history and pair of continuations.", "1000"
    )
    weaken: bool = opt(
        False,
        None,
        "Lower the values of continuations that do better than the blueprint to the "
        "blueprint's value.",
    )
    penalty: float = opt(
        0.0, "X", "Subtract X from the value of every continuation but the blueprint."
    )

    @property
    def network(self) -> Path | None:
        """The file of networks."""
        return Path(self.leaves) if self.leaves.endswith(SAVED) else None

    def check(self, where: Where) -> None:
        """Refuse what does not fit together."""
        if self.network is None and self.leaves not in LEAVES:
            raise did_you_mean("kind of leaf values", self.leaves, [*LEAVES, "FILE.safetensors"])
        if self.network is not None:
            from subgame.refine.sequence.leaf_network import SAVED as SAVED_NETWORKS

            check_readable("--leaves", self.network, SAVED_NETWORKS)
            for option in ("continuations", "count"):
                if getattr(where, option) is not None:
                    raise SubgameError(
                        f"The file {self.network} contains its continuations, so --{option} cannot "
                        "be given with it."
                    )
        if self.rollouts is not None and self.leaves != "rollout":
            raise SubgameError("--rollouts only applies to --leaves rollout.")
        check_least("rollouts", self.rollouts, LEAST_ROLLOUTS)
        if not 0 <= self.penalty < math.inf:
            raise ArgumentError("penalty", f"must be a number of at least 0, not {self.penalty:g}.")


@dataclass(frozen=True)
class LimitOutput(Output):
    """What is written, and whether also if it is worse than the blueprint."""

    allow_worse: bool = opt(
        False, None, "Save the strategy even if it is more exploitable than before."
    )


@dataclass(frozen=True)
class Solving:
    """How the game above the limit is solved and measured."""

    schedule: str = opt(
        "lp", "NAME", f"lp (exact), or one of {', '.join(n for n in NAMED if n != 'cfr-br')}."
    )
    best_below: bool = opt(
        False,
        None,
        "Also evaluate the solution with best play below the limit instead of the "
        "blueprint. This solves a linear program of the whole game.",
    )
    memory_limit: MemoryOption = "8GiB"


@grouped
def limit_command(
    *,
    context: typer.Context,
    game: GameArgument,
    source: Given,
    where: Where,
    leaves: Leaves,
    solving: Solving,
    stop: Stop,
    output: LimitOutput,
) -> None:
    """Solve a game down to a depth limit.

    In a game with hidden information one value per state at the limit is not enough. Instead, at
    each infoset at the limit, the opponent chooses one of several strategies for the rest of the
    game, called continuations (Brown, Sandholm & Amos 2018). The solution is played above the limit
    and STRATEGY below it. The exploitability of both together is measured in the whole game.

    [bold]Examples[/]

    subgame solve leduc --iterations 200 --out rough.safetensors

    subgame limit leduc rough.safetensors --at 'after round 1'

    subgame limit leduc rough.safetensors --at 'after round 1' --continuations self --best-below

    subgame limit rps-plus --blueprint equilibrium --at 'P2 to move' --continuations none

    subgame train leduc rough.safetensors --at 'after round 1' --out leaves.safetensors

    subgame limit leduc rough.safetensors --leaves leaves.safetensors
    """
    source.check()
    where.check()
    leaves.check(where)
    schedule = solving.schedule
    _check_schedule(schedule, stop)
    check_seed(source.seed)
    check_saved("--out", output.out)
    began, network = time.perf_counter(), leaves.network
    rules = load_game(game)
    refuse_holdem(rules)

    import subgame as sg
    from subgame.refine.sequence.leaves import Rollouts, exact
    from subgame.solve.solver import whole_solves

    with compiled(rules, solving.memory_limit) as (meter, tree):
        rough = source.read(tree)
        warm_up(meter, schedule)
        if network is not None:
            limit = Limit.trained(network, tree, rough, where)
        else:
            values: Evaluator = exact
            if leaves.leaves == "rollout":
                values = Rollouts(leaves.rollouts or 1000, source.seed)
            limit = Limit.made(tree, rough, where, values, meter)
        meter.update(f"Solving {meter.game} down to the depth limit")
        with whole_solves() if len(limit.players) > 1 else nullcontext():
            solved = [
                sg.solve_limited(_limited(limit, p, leaves), schedule=schedule, **vars(stop))
                for p in limit.players
            ]
        result = Found.of(limit, solved, solving.best_below, meter, began)
    fine = output.allow_worse or not result.is_worse
    refused = None if fine else not_saved(output.out, DEPTH, result.before, result.after)
    failure = save_files((None if refused else output.out, result.strategy.save)) or refused
    out = None if failure else output.out
    if output.json:
        emit(result.as_dict(leaves.leaves), out)
    else:
        show(stdout(), result, Line.of(context), leaves.leaves, out)
    finish(failure, *(side.result.stopped for side in solved))


def _limited(limit: Limit, p: int, leaves: Leaves) -> DepthLimited | RangeLimit:
    """The depth-limited tree of a player."""
    import subgame as sg

    return sg.depth_limited(
        limit.tree,
        limit.blueprint,
        at=limit.subgames,
        player=p,
        continuations=limit.offered[p],
        values=limit.values[p],
        weaken=leaves.weaken,
        penalty=leaves.penalty,
    )


# Before --------------------------------------------------------------------------------------
def refuse_holdem(rules: Game) -> None:
    """Refuse hold'em, whose trees are too large for the tables of this command."""
    import subgame as sg

    if isinstance(rules, sg.holdem.Holdem):
        raise SubgameError(
            f"This command does not work on hold'em games such as {rules}; "
            "in Python, subgame.depth_limited solves them to a depth limit."
        )


def _check_schedule(schedule: str, stop: Stop) -> None:
    """Check how to solve before the game is compiled, which may take a while."""
    from subgame.solve.limits import Limits

    if schedule.strip().lower() == "lp":
        check_exact(vars(stop))
        return
    plan = parse(schedule)
    if plan.responder >= 0 or plan.sampling not in ("none", "public"):
        raise SubgameError(f"The schedule {schedule} does not solve depth-limited games.")
    Limits(**vars(stop))


OFFERED = ("--at", "--continuations", "--count")
LIMIT = ("--blueprint", *OFFERED, "--player", "--seed", "--memory-limit")
"""Options with the same meaning in ``subgame train``."""
DEPTH = "depth-limited solving"
SHOWN = 6
"""Number of infosets above the limit that are shown."""


def sequence_limit(solved: LimitedSolution) -> DepthLimited:
    """The depth-limited tree of a solution, which the command makes of sequence trees alone."""
    from subgame.refine.sequence.limit import DepthLimited

    assert isinstance(solved.limited, DepthLimited)
    return solved.limited


@dataclass(frozen=True)
class Found:
    """A depth-limited solution and its exploitability in the whole game."""

    limit: Limit
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
        limit: Limit,
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
        from subgame.refine.report import compared

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
