"""Shared by all commands: consoles, JSON, files and games by name, and what is refused early."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from subgame import _interrupt
from subgame.errors import ArgumentError, SubgameError, check_regular, human_bytes

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


# Refused before any work is done -------------------------------------------------------------
def check_writable(option: str, path: Path | None) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if path is None:
        return
    folder = path.parent
    reasons = {
        "it is a folder": path.is_dir(),
        f"there is no folder {folder}": not folder.exists(),
        f"{folder} is not a folder": not folder.is_dir(),
        "it is not a regular file": path.exists() and not path.is_file(),
        "it is write-protected": not os.access(path if path.exists() else folder, os.W_OK),
    }
    for reason, applies in reasons.items():
        if applies:
            raise SubgameError(f"{option} {path} cannot be written: {reason}.")


def check_device(device: str, threads: int | None = None) -> None:
    """Refuse a device that is not available, before any work is done."""
    from subgame.engines.devices import CPU
    from subgame.engines.devices import check_device as check

    if check(device) != CPU:
        from subgame.engines.torch import pick_device

        if threads is not None:
            raise SubgameError(f"--threads only applies to the device cpu, not to {device}.")
        pick_device(device)


def check_picture(option: str, path: Path | None) -> None:
    """Refuse what `check_writable` refuses, and a name that is not that of a picture."""
    check_writable(option, path)
    if path is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        if path.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
            raise SubgameError(
                f"{option} needs a file name that ends in .png, .svg or .pdf, not {path.name}."
            )


def check_saved(option: str, path: Path | None) -> None:
    """Refuse what `check_writable` refuses, and a name with another suffix."""
    check_writable(option, path)
    if path is not None and path.suffix != SAVED:
        raise SubgameError(f"{option} needs a file name that ends in {SAVED}, not {path.name}.")


def check_checkpoint(path: Path | None) -> None:
    """Refuse a file of --checkpoint that is something else."""
    if path is not None:
        from subgame.tree.files import check_checkpoint as check

        check(path)


def check_apart(*files: tuple[str, Path | None]) -> None:
    """Refuse one file for two purposes; each is an option and its file."""
    for (one, a), (two, b) in combinations(files, 2):
        if a is not None and b is not None and os.path.realpath(a) == os.path.realpath(b):
            raise SubgameError(
                f"{one} and {two} name the same file, {a}; give two different files."
            )


def check_readable(option: str, path: Path | None, wanted: str) -> None:
    """Refuse a file that cannot be read, before any work is done."""
    if path is None:
        return
    try:
        check_regular(path, wanted, math.inf)
    except SubgameError as error:
        raise SubgameError(f"{option}: {error}") from None


def check_least(name: str, value: int | None, least: int = 1) -> None:
    """Refuse a number that is too small, and one that is too large for any count."""
    from subgame.solve.limits import check_count

    if value is not None:
        check_count(name, value, least)


def check_player(player: int | None) -> None:
    """Refuse a player other than 0 and 1."""
    if player not in (None, 0, 1):
        raise ArgumentError("player", f"must be 0 or 1, not {player}.")
