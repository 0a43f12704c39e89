"""``subgame solve``: solve a game."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from subgame.cli.common import (
    DeviceOption,
    GameArgument,
    JsonOption,
    MemoryOption,
    Meter,
    SecondsOption,
    check_device,
    check_readable,
    check_writable,
    compile_game,
    emit,
    load_game,
    next_steps,
    number_text,
    one_line,
    row_text,
    seconds_text,
    stdout,
    table,
    warm_up,
)
from subgame.cli.line import PLACE, Line
from subgame.errors import SubgameError
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.solve.results import Result

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
SHOWN = 4
"""Number of infosets of each player that are shown."""
STOPPED = {
    "iterations": "all iterations done",
    "seconds": "time limit reached",
    "target": "target reached",
    "interrupted": "interrupted by Ctrl-C",
    "optimal": "solved exactly",
}
LIMITS = ("--iterations", "--seconds", "--target")
FILES = ("--out", "--checkpoint", "--resume", "--plot")
BARS = "▁▂▃▄▅▆▇█"


def _complete_schedule(incomplete: str) -> list[str]:
    return [name for name in (*NAMED, "lp") if name.startswith(incomplete)]


def solve_command(
    context: typer.Context,
    game: GameArgument,
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="NAME",
            help=f"One of {', '.join(NAMED)}, with or without options: 'dcfr(alpha=2)'; or lp, a "
            "linear program, which is exact but only for small games.",
            autocompletion=_complete_schedule,
        ),
    ] = "cfr+",
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", metavar="N", help="Stop after N iterations in total."),
    ] = None,
    seconds: SecondsOption = None,
    target: Annotated[
        float | None,
        typer.Option("--target", metavar="E", help="Stop when exploitability is at most E."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Save the strategy as FILE.safetensors."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Save the state of the run every 30 s, at the end and on Ctrl-C.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", help="Continue from a checkpoint, bit for bit."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of schedules that sample.")
    ] = 0,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the exploitability curve as FILE.png."),
    ] = None,
    device: DeviceOption = "cpu",
    memory_limit: MemoryOption = "8GiB",
    json: JsonOption = False,
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
    """
    exact = schedule.strip().lower() == "lp"
    if exact:
        _check_exact(
            {
                "iterations": iterations,
                "seconds": seconds,
                "target": target,
                "resume": resume,
                "checkpoint": checkpoint,
                "plot": plot,
                "seed": seed or None,
            }
        )
    else:
        _check_run(schedule, iterations, seconds, target, seed)
    _check_files({"--out": out, "--checkpoint": checkpoint, "--plot": plot}, resume)
    check_device(device)

    import subgame as sg

    rules = load_game(game)
    with Meter(str(rules)) as meter:
        tree = compile_game(rules, memory_limit, meter)
        warm_up(meter, "lp" if exact else schedule, device)
        meter.update(f"Solving {rules}")
        if exact:
            result = sg.solve_lp(tree, device=device)
        else:
            result = sg.solve(
                tree,
                schedule,
                iterations=iterations,
                seconds=seconds,
                target=target,
                seed=seed,
                device=device,
                checkpoint=checkpoint,
                resume=resume,
                progress=meter.step,
            )
    failure = _write(result, out, plot)
    if json:
        emit(result.as_dict() | ({"out": str(out)} if out is not None and not failure else {}))
    else:
        _show(result, Line.of(context), checkpoint, out)
    if failure:
        raise failure
    if result.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


# Before and after ----------------------------------------------------------------------------
def _check_exact(given: dict[str, object]) -> None:
    """Refuse options that do not apply to a linear program."""
    for name, value in given.items():
        if value is not None:
            raise SubgameError(
                f"--{name} does not apply to the schedule lp, which solves a game exactly."
            )


def _check_run(
    schedule: str, iterations: int | None, seconds: float | None, target: float | None, seed: int
) -> None:
    """Check everything before the game is compiled, which may take a while."""
    from subgame.solve.limits import Limits, check_seed

    parse(schedule)
    Limits(iterations, seconds, target)
    check_seed(seed)


def _check_files(files: dict[str, Path | None], resume: Path | None) -> None:
    for option, path in files.items():
        check_writable(option, path)
    check_readable("--resume", resume, "a checkpoint saved by --checkpoint")
    for (one, a), (two, b) in combinations([*files.items(), ("--resume", resume)], 2):
        if (one, two) == ("--checkpoint", "--resume"):
            continue  # a run may continue in its own file
        if a is not None and b is not None and a.absolute() == b.absolute():
            raise SubgameError(
                f"{one} and {two} name the same file, {a}; give two different files."
            )
    out, plot = files["--out"], files["--plot"]
    if out is not None and out.suffix != ".safetensors":
        raise SubgameError(f"--out needs a file name that ends in .safetensors, not {out.name}.")
    if plot is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        kinds = FigureCanvasBase.get_supported_filetypes()
        if plot.suffix[1:].lower() not in kinds:
            raise SubgameError(
                f"--plot needs a file name that ends in .png, .svg or .pdf, not {plot.name}."
            )


def _write(result: Result, out: Path | None, plot: Path | None) -> SubgameError | None:
    """Write the files; an error is returned and shown after the result, which must not be lost."""
    from safetensors import SafetensorError

    path = out
    try:
        if out is not None:
            result.strategy.save(out)
        if plot is not None:
            from matplotlib.figure import Figure

            path, figure = plot, Figure(figsize=(7, 4.5), layout="constrained")
            result.plot(figure.subplots())
            figure.savefig(plot, dpi=150)
    except (OSError, SafetensorError) as error:
        return SubgameError(f"{path} could not be written: {error}.")
    return None


# Output --------------------------------------------------------------------------------------
def _show(result: Result, line: Line, checkpoint: Path | None, out: Path | None) -> None:
    console = stdout()
    console.print(Text(f"{result.game}, solved by {result.schedule}", style="bold"))
    console.print(summary(result))
    shown = strategy_table(result)
    console.print(shown, end="")
    more = result.strategy.tree.num_infosets - shown.row_count
    if more > 0:
        console.print(Text(f"  … and {more:,} more infosets", style="dim"))
    _lead_on(console, result, line, checkpoint, out)


def summary(result: Result) -> Table:
    """The figures of a result."""
    gap, grid = result.exploitability, Table.grid(padding=(0, 2))
    grid.add_column(justify="left")
    grid.add_column(justify="right", style="bold")
    grid.add_column(style="dim")

    def add(name: str, value: str, note: str = "") -> None:
        grid.add_row(f"  {name}", value, Text(note))

    add("value", number_text(result.value), "what player 0 wins per game against player 1")
    add(
        "exploitability",
        f"{max(gap.mean, 0.0):.3g}",
        "what a best response wins, mean of both seats; 0 in an equilibrium",
    )
    for seat, wins in enumerate(gap.per_seat):
        add(f"  seat {seat}", number_text(wins), f"what a best response wins against player {seat}")
    add("iterations", f"{result.iterations:,}")
    add("time", seconds_text(result.seconds))
    add("stopped", "", STOPPED.get(result.stopped, result.stopped))
    points = [point.exploitability for point in result.curve]
    if len(points) > 1:
        high, low = points[0], points[-1]
        bars = sparkline(points)
        add("curve", "", f"{bars}  exploitability from {high:.3g} to {low:.3g}, log scale")
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


def strategy_table(result: Result) -> Table:
    """The first infosets of both players."""
    import numpy as np

    strategy, tree = result.strategy, result.strategy.tree
    shown = table("player", "infoset", "plays", numbers=["player"])
    for p, player in enumerate(tree.players):
        for i in np.argsort(player.origin, kind="stable")[:SHOWN].tolist():
            name = Text(one_line(player.names[i]))
            shown.add_row(str(p), name, row_text(strategy.row(p, i)))
    return shown


def _lead_on(
    console: Console, result: Result, line: Line, checkpoint: Path | None, out: Path | None
) -> None:
    game, steps = shlex.join(line.arguments), []
    if result.stopped == "interrupted" and checkpoint is not None:
        command = line.again(f"--resume {shlex.quote(str(checkpoint))}", without=["--resume"])
        steps.append((command, "continue this run"))
    if out is None:
        steps.append((line.again("--out strategy.safetensors"), "save the strategy"))
    else:
        evaluate = line.then("exploit", f"{game} {shlex.quote(str(out))}", keep=PLACE)
        steps.append((evaluate, "see where it loses most"))
    if result.schedule != "lp":
        closer = line.again(f"--target {_nice_target(result)}", without=[*LIMITS, *FILES])
        steps.append((closer, "solve it more accurately"))
        exactly = line.then("solve", game, PLACE, "--schedule lp")
        steps.append((exactly, "solve it exactly (small games only)"))
    next_steps(console, steps)


def _nice_target(result: Result) -> str:
    """A power of ten below the exploitability that was reached."""
    reached = max(result.exploitability.mean, 1e-12)
    return f"1e{math.floor(math.log10(reached) - 0.5):d}"
