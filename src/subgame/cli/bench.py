"""``subgame bench``: measure the speed of this package and of others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from subgame.cli.common import JsonOption, emit, option, stderr, stdout
from subgame.errors import did_you_mean


def bench_command(
    what: Annotated[
        str,
        typer.Argument(metavar="[games|holdem]", help="Small games or hold'em endgames."),
    ] = "games",
    only: Annotated[str | None, option("NAME", "Run only this benchmark.")] = None,
    quick: Annotated[
        bool, option(None, "Use smaller games and shorter runs.", name="--quick")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure the speed of this package and compare it with others.

    Small games are compared with OpenSpiel and LiteEFG if they are installed. Hold'em endgames
    are compared with recorded figures of postflop-solver.

    [bold]Examples[/]

    subgame bench --quick

    subgame bench --json > speed.json

    subgame bench holdem --only turn

    subgame bench holdem --only nlfh
    """
    from subgame.bench import holdem as bench_holdem
    from subgame.bench import small_games as bench
    from subgame.solve.solver import whole_solves

    console = stderr()

    def progress(line: str) -> None:
        console.print(line, style="dim", markup=False, soft_wrap=True)

    if what == "holdem":
        with whole_solves():
            found = bench_holdem.run(only=only, quick=quick, progress=progress)
        if json:
            emit({**_made_by("holdem", only, quick), **found})
        else:
            stdout().print(bench_holdem.table(found))
        return
    if what != "games":
        raise did_you_mean("benchmark", what, ("games", "holdem"))
    with whole_solves():
        rows = bench.run(only=only, quick=quick, progress=progress)
    if json:
        emit({**_made_by("games", only, quick), "benchmarks": rows})
    else:
        stdout().print(bench.table(rows))


def _made_by(what: str, only: str | None, quick: bool) -> dict[str, Any]:
    """The command, commit, date and machine that made the figures."""
    from subgame.bench import small_games as bench
    from subgame.papers.report import commit

    asked = " --quick" * quick + (f" --only {only}" if only else "")
    return {
        "command": f"subgame bench {what}{asked} --json",
        "commit": commit(),
        "date": datetime.now(UTC).isoformat("T", "seconds"),
        "machine": bench.machine(),
    }
