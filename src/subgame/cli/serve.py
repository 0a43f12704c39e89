"""``subgame serve``: the workbench in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subgame.cli.arguments import check_memory, option
from subgame.cli.common import bounded, check_least, stdout
from subgame.errors import SubgameError

LONGEST = 10**8
"""Seconds of the longest job, about three years."""
PROCESS = 2**28
"""Bytes of a worker beside what it solves, which --memory-limit bounds."""
MISSING = (
    "subgame serve needs FastAPI and Uvicorn, which are not installed. Install them with "
    "pip install 'subgame[web]'."
)


def serve_command(
    port: Annotated[int, option("N", "The port to listen on; 0 takes a free one.", True)] = 8017,
    host: Annotated[
        str,
        option(
            "ADDRESS",
            "The address to listen on. With any other address, other machines can connect.",
        ),
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        option("NAME", "Another host name that browsers may use for this server. Repeatable."),
    ] = None,
    data: Annotated[
        Path | None,
        option("DIR", "Where jobs and results are kept.", "the user's folder for data"),
    ] = None,
    workers: Annotated[
        int | None,
        option(
            "N", "Number of jobs that run at the same time, at most one per core.", "half the cores"
        ),
    ] = None,
    memory_limit: Annotated[
        str, option("BYTES", "The most memory that one job may use.", callback=check_memory)
    ] = "8GiB",
    seconds: Annotated[
        float | None, option("S", "The longest time that one job may run.", "6 hours")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Open the workbench in a browser: solve, look at solutions, play.

    The page Games explains safe subgame solving by an example and shows any game's public tree.
    Solve sets up, solves and refines spots of hold'em. Play is a table against an agent. Only this
    machine can connect unless --host is given. Ctrl-C ends the server; jobs that run go on when it
    is started again.

    [bold]Examples[/]

    subgame serve

    subgame serve --port 9000 --data ~/spots --no-browser
    """
    check_least("workers", workers)
    _check(seconds, port)
    try:
        import uvicorn

        from subgame.serve.run import serve
    except ModuleNotFoundError:
        raise SubgameError(MISSING) from None
    from subgame.serve.settings import Settings, default_data

    folder = (data or default_data()).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SubgameError(f"--data {folder} cannot be written: {error.strerror}.") from None
    settings = Settings(
        data=folder,
        host=host,
        port=port,
        allowed=tuple(allow_host or ()),
        memory_limit=memory_limit,
        seconds=Settings.seconds if seconds is None else seconds,
        workers=Settings.workers if workers is None else bounded("--workers", workers, PROCESS),
    )
    serve(settings, uvicorn, stdout().print, browser=not no_browser)


def _check(seconds: float | None, port: int) -> None:
    if seconds is not None and not seconds > 0:
        raise SubgameError(f"--seconds must be a number above 0, not {seconds}.")
    if seconds is not None and seconds > LONGEST:
        raise SubgameError(f"--seconds must be at most {LONGEST:,}, not {seconds:g}.")
    if not 0 <= port < 2**16:
        raise SubgameError(f"--port must be from 0 to 65,535, not {port}.")
