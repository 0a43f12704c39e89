"""``subgame bench``: our speed beside that of others."""

from __future__ import annotations

from typing import Annotated

import typer

from subgame.cli.common import JsonOption, emit, stderr, stdout


def bench_command(
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="NAME", help="Run this benchmark alone."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller games and shorter runs.")] = False,
    json: JsonOption = False,
) -> None:
    """Measure our speed, beside OpenSpiel's and LiteEFG's where they are installed.

    [bold]Examples[/]

    subgame bench --quick

    subgame bench --json > speed.json
    """
    from subgame import bench

    console = stderr()

    def progress(line: str) -> None:
        console.print(line, style="dim", markup=False, soft_wrap=True)

    rows = bench.run(only=only, quick=quick, progress=progress)
    if json:
        emit({"machine": bench.machine(), "benchmarks": rows})
    else:
        stdout().print(bench.table(rows))
