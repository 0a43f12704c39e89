"""``subgame solve``: solve a game."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from subgame.cli.arguments import GameArgument, completing, grouped, opt
from subgame.cli.common import (
    STOPPED,
    check_apart,
    check_writable,
    emit,
    finish,
    load_game,
    save_files,
    seconds_text,
    stdout,
)
from subgame.cli.console import Facts, next_steps, number_text, strategy_table
from subgame.cli.line import PLACE, Line
from subgame.cli.options import Place, Plotted, SeedOption, Stop, check_exact
from subgame.cli.progress import compiled, warm_up
from subgame.errors import SubgameError
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.solve.results import Result

SHOWN = 4
"""Number of infosets of each player that are shown."""
LIMITS = ("--iterations", "--seconds", "--target")
FILES = ("--out", "--checkpoint", "--resume", "--plot")
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Saving:
    """The state of a run, and where it continues."""

    checkpoint: Path | None = opt(
        None,
        "FILE",
        "Save the state of the run every 30 s, at the end and on Ctrl-C. A checkpoint in FILE is "
        "replaced, another file is not.",
    )
    resume: Path | None = opt(None, "FILE", "Continue from a checkpoint, bit for bit.")


@dataclass(frozen=True)
class Method:
    """How a game is solved."""

    schedule: str = opt(
        "cfr+",
        "NAME",
        f"One of {', '.join(NAMED)}, with or without options: 'dcfr(alpha=2)'; or lp, a "
        "linear program, which is exact but only for small games.",
        autocompletion=completing(lambda: (*NAMED, "lp")),
    )
    certificate: Path | None = opt(
        None,
        "FILE",
        "With --schedule lp: solve in exact fractions and save what proves the equilibrium.",
    )
    seed: SeedOption = 0


@grouped
def solve_command(
    *,
    context: typer.Context,
    game: GameArgument,
    method: Method,
    stop: Stop,
    saving: Saving,
    place: Place,
    output: Plotted,
) -> None:
    """Solve a game and measure how exploitable the strategy is.

    Solving stops as soon as --iterations, --seconds or --target is reached. If none is given, it
    stops after 1,000 iterations. Ctrl-C stops early and shows the result so far.

    Exploitability is what a best response wins against the strategy, averaged over both seats. It
    is 0 in an equilibrium.

    [bold]Examples[/]

    subgame solve kuhn

    subgame solve leduc --schedule dcfr --target 1e-4 --out leduc.safetensors

    subgame solve 'liars-dice(faces=5)' --seconds 60 --checkpoint run.ckpt

    subgame solve 'liars-dice(faces=5)' --seconds 120 --resume run.ckpt

    subgame solve 'liars-dice(faces=5)' --device cuda

    subgame solve leduc --schedule lp --json

    subgame solve leduc --schedule lp --certificate leduc.json
    """
    schedule, certificate, seed = method.schedule, method.certificate, method.seed
    exact = schedule.strip().lower() == "lp"
    if exact:
        rest = {"plot": output.plot, "seed": seed or None}
        check_exact(vars(stop) | vars(saving) | rest)
    elif certificate is not None:
        raise SubgameError("--certificate needs --schedule lp; CFR is never exact.")
    else:
        from subgame.solve.limits import Limits, check_seed

        parse(schedule)  # everything is checked before the game is compiled
        Limits(**vars(stop))
        check_seed(seed)
    output.check(saving.checkpoint, saving.resume)
    check_writable("--certificate", certificate)
    check_apart(("--certificate", certificate), ("--out", output.out))
    place.check()

    import subgame as sg

    with compiled(load_game(game), place.memory_limit) as (meter, tree):
        warm_up(meter, "lp" if exact else schedule, place.device)
        meter.update(f"Solving {meter.game}")
        if exact:
            result = sg.solve_lp(tree, exact=certificate is not None, device=place.device)
        else:
            result = sg.solve(
                tree,
                schedule,
                seed=seed,
                device=place.device,
                progress=meter.step,
                **vars(stop),
                **vars(saving),
            )
    files = [(output.out, result.strategy.save), (output.plot, output.drawing(result))]
    if result.certificate:
        files.append((certificate, result.certificate.save))
    failure = save_files(*files)
    out = None if failure else output.out
    if output.json:
        emit(result.as_dict(), out)
    else:
        _show(result, Line.of(context), saving.checkpoint, out)
    finish(failure, result.stopped)


# Output --------------------------------------------------------------------------------------
def _show(result: Result, line: Line, checkpoint: Path | None, out: Path | None) -> None:
    console = stdout()
    console.print(Text(f"{result.game}, solved by {result.schedule}", style="bold"))
    console.print(summary(result))
    rows = _first_rows(result)
    console.print(strategy_table(rows, "plays"), end="")
    more = result.strategy.tree.num_infosets - len(rows)
    if more > 0:
        console.print(Text(f"  … and {more:,} more infosets", style="dim"))
    _lead_on(console, result, line, checkpoint, out)


def summary(result: Result) -> Table:
    """The figures of a result."""
    gap, grid = result.exploitability, Facts()
    add = grid.add
    add("value", number_text(result.value), "what player 0 wins per game against player 1")
    if result.certificate:
        add("  exactly", str(result.certificate.value))
    note = "what a best response wins, mean of both seats; 0 in an equilibrium"
    add("exploitability", f"{max(gap.mean, 0.0):.3g}", note)
    for seat, wins in enumerate(gap.per_seat):
        add(f"  seat {seat}", number_text(wins), f"what a best response wins against player {seat}")
    add("iterations", f"{result.iterations:,}")
    add("time", seconds_text(result.seconds))
    add("stopped", "", STOPPED.get(result.stopped, result.stopped))
    points = [point.exploitability for point in result.curve]
    if len(points) > 1:
        ends = f"exploitability from {points[0]:.3g} to {points[-1]:.3g}, log scale"
        add("curve", "", f"{sparkline(points)}  {ends}")
    return grid


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """Positive numbers as a row of bars, on a logarithmic scale.

    >>> sparkline([1, 0.1, 0.01, 0.001])
    '█▆▃▁'
    """
    if len(values) > width:
        values = [values[round(i * (len(values) - 1) / (width - 1))] for i in range(width)]
    logs = [math.log(max(value, 1e-300)) for value in values]
    low, high = min(logs), max(logs)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((log - low) * scale)] for log in logs)


def _first_rows(result: Result) -> list[tuple[int, str, dict[str, float]]]:
    """The first infosets of both players."""
    import numpy as np

    strategy = result.strategy
    return [
        (p, side.names[i], strategy.row(p, i))
        for p, side in enumerate(strategy.tree.players)
        for i in np.argsort(side.origin, kind="stable")[:SHOWN].tolist()
    ]


def _lead_on(
    console: Console, result: Result, line: Line, checkpoint: Path | None, out: Path | None
) -> None:
    game, steps = shlex.join(line.arguments), []
    if result.stopped == "interrupted" and checkpoint is not None:
        command = line.again(f"--resume {shlex.quote(str(checkpoint))}", without=["--resume"])
        steps.append((command, "continue this run"))
    if out is None:
        saving = line.again("--out strategy.safetensors", without=["--out"])
        steps.append((saving, "save the strategy"))
    else:
        evaluate = line.then("exploit", f"{game} {shlex.quote(str(out))}", keep=PLACE)
        steps.append((evaluate, "see where it loses most"))
    if result.schedule != "lp":
        closer = line.again(f"--target {_nice_target(result)}", without=[*LIMITS, *FILES])
        steps.append((closer, "solve it more accurately"))
        exactly = line.then("solve", game, PLACE, "--schedule lp")
        steps.append((exactly, "solve it exactly (small games only)"))
    next_steps(console, *steps)


def _nice_target(result: Result) -> str:
    """A power of ten below the exploitability that was reached."""
    reached = max(result.exploitability.mean, 1e-12)
    return f"1e{math.floor(math.log10(reached) - 0.5):d}"
