"""Shared by all commands: consoles, JSON, files and games by name."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from subgame import _interrupt
from subgame.errors import SubgameError, human_bytes

if TYPE_CHECKING:
    from rich.console import Console

    from subgame.games.base import Game

WIDTH = 100
"""Columns where stdout is not a terminal."""
SAVED = ".safetensors"
"""The suffix of saved strategies."""
STOPPED = {
    "iterations": "all iterations done",
    "seconds": "time limit reached",
    "target": "target reached",
    "interrupted": "interrupted by Ctrl-C",
    "stalled": "no longer improving: the numbers have no more digits",
    "optimal": "solved exactly",
}
"""Why a solve has stopped."""


# Output --------------------------------------------------------------------------------------
def stdout() -> Console:
    """The console for results."""
    return _console(sys.stdout)


def stderr() -> Console:
    """The console for everything else."""
    return _console(sys.stderr)


def _console(file: Any) -> Console:
    from subgame.cli.console import SafeConsole

    narrow = file.isatty() or "COLUMNS" in os.environ
    return SafeConsole(file=file, highlight=False, width=None if narrow else WIDTH)


def emit(answer: Mapping[str, object], out: Path | None = None) -> None:
    """Print one JSON object: the whole output of a command with ``--json``.

    It names the file `out`, where one was saved.
    """
    named = {} if out is None else {"out": str(out)}
    print(json.dumps(finite({**answer, **named}), allow_nan=False))


def finite(value: Any) -> Any:
    """The value as JSON can hold it: numbers that are not finite become null.

    >>> finite({"value": float("nan"), "per_seat": (1.0, float("inf"))})
    {'value': None, 'per_seat': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def announce(line: str) -> None:
    """Say on stderr how long a command takes, before it starts."""
    from rich.text import Text

    stderr().print(Text(line, style="dim"), soft_wrap=True)


def bounded(option: str, wanted: int, need: float) -> int:
    """How many processes are started of those that are wanted (0: one per core); says if fewer.

    `need` is the memory of one of them.
    """
    from subgame.memory import available, cores, most_processes

    many = most_processes(wanted or None, need)
    if many < wanted:
        free = available()
        memory = "" if math.isinf(free) else f" and {human_bytes(free)} of available memory"
        started = "1 process is" if many == 1 else f"{many:,} processes are"
        announce(
            f"{option} {wanted:,}: {started} started. There are {cores():,} cores{memory}; a "
            f"process takes about {human_bytes(need)}."
        )
    return many


def seconds_text(seconds: float) -> str:
    """A duration as people read it.

    >>> seconds_text(0.0123), seconds_text(3.14159), seconds_text(72), seconds_text(9000)
    ('12 ms', '3.1 s', '1 min 12 s', '2 h 30 min')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, rest = divmod(round(seconds / 60), 60)
    return f"{hours} h {rest} min"


def iterations_text(count: int) -> str:
    """How many iterations.

    >>> iterations_text(1), iterations_text(1234)
    ('1 iteration', '1,234 iterations')
    """
    return f"{count:,} iteration{'' if count == 1 else 's'}"


# Games and files -----------------------------------------------------------------------------
def load_game(text: str) -> Game:
    """The game that a GAME argument names."""
    import subgame as sg

    return sg.games.load(text)


def picture(
    plot: Callable[[Any], object], size: tuple[float, float], layout: Any = None
) -> Callable[[Path], None]:
    """A function that writes what `plot` draws to a file."""

    def write(path: Path) -> None:
        from matplotlib.figure import Figure

        from subgame.tree.files import replacing

        figure = Figure(figsize=size, layout=layout)
        plot(figure.subplots())
        with replacing(path) as new:
            figure.savefig(new, dpi=150)

    return write


def save_files(*files: tuple[Path | None, Callable[[Path], object]]) -> SubgameError | None:
    """Write files, each by its function; what is not asked for has no path.

    A file that cannot be written is written elsewhere, see `rescue`. The error that says so is to
    be raised after the result is shown, which must not be lost.
    """
    from subgame.tree.files import rescue

    failed = [rescue(path, write) for path, write in files if path is not None]
    said = " ".join(filter(None, failed))
    return SubgameError(said) if said else None


def finish(failure: SubgameError | None, *stopped: str) -> None:
    """End a command after its result was shown: with the error of a file, or as after Ctrl-C."""
    if failure is not None:
        raise failure
    if "interrupted" in stopped:
        raise typer.Exit(_interrupt.CODE)


def check_spot(path: Path) -> None:
    """Refuse a saved spot that cannot be read, before any work is done."""
    from subgame.games.holdem.spots import SAVED
    from subgame.tree.files import read_tensors

    read_tensors(path, SAVED)


def check_form(csv: object, json: bool) -> None:
    """Refuse two forms of output at once."""
    if csv and json:
        raise SubgameError("--csv and --json cannot be given together; choose one form.")
