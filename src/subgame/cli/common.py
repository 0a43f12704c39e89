"""Shared by all commands: options, consoles, JSON, files and games by name."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subgame import _interrupt
from subgame.errors import ArgumentError, SubgameError, check_regular

if TYPE_CHECKING:
    from rich.console import Console

    from subgame.games.base import Game

WIDTH = 100
"""Columns where stdout is not a terminal."""
SAVED = ".safetensors"
"""The suffix of saved strategies."""

GAME_HELP = (
    "A name such as leduc, with or without parameters: 'liars-dice(dice=1, faces=5)'; "
    "openspiel:NAME for a game of OpenSpiel; a Gambit file FILE.efg; or a game of your own in a "
    "Python file: FILE.py:CLASS."
)


def option(
    metavar: str | None,
    help: str,
    shown: str | bool = True,
    *,
    name: str | None = None,
    **more: Any,
) -> Any:
    """An option of Typer's; its name is that of the parameter unless one is given."""
    names = [] if name is None else [name]
    return typer.Option(*names, metavar=metavar, help=help, show_default=shown, **more)


def opt(default: Any, *about: Any, **more: Any) -> Any:
    """The default of a parameter or field that is an option of a command; see `option`."""
    return field(default=default, metadata={"typer": option(*about, **more)})


def argument(metavar: str, help: str, default: Any = MISSING, **more: Any) -> Any:
    """The same for an argument of a command; without a default it must be given."""
    more = {"show_default": False, **more}
    return field(
        default=default, metadata={"typer": typer.Argument(metavar=metavar, help=help, **more)}
    )


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """For the shell: the names that begin as a word does. They are found when they are needed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _games() -> list[str]:
    from subgame import games

    return games.names()


def game_argument(help: str) -> Any:
    """The argument GAME of a command."""
    complete = completing(_games)
    return typer.Argument(metavar="GAME", help=help, show_default=False, autocompletion=complete)


GameArgument = Annotated[str, game_argument(GAME_HELP)]
StrategyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STRATEGY",
        help="A file saved by solve --out, a JSON file {infoset: {action: probability}}, "
        "or the word uniform or random.",
        show_default=False,
    ),
]
BlueprintOption = Annotated[str | None, option("NAME", "Use a strategy that comes with the game.")]
SecondsOption = Annotated[float | None, option("S", "Stop after S seconds in total.")]
JsonOption = Annotated[
    bool, option(None, "Print one JSON object instead of tables.", name="--json")
]
DEVICE_HELP = (
    "cpu, cuda (cuda:1 is the second GPU) or torch, which runs the GPU code on the CPU. A GPU is "
    "faster for large games. cuda and torch need PyTorch: pip install 'subgame\\[gpu]'."
)


complete_device = completing(lambda: ("cpu", "cuda", "torch"))
DeviceOption = Annotated[str, option("NAME", DEVICE_HELP, autocompletion=complete_device)]


def check_memory(text: str) -> str:
    """Refuse a --memory-limit that is no number of bytes, before any work is done."""
    from subgame.memory import parse_bytes

    parse_bytes(text)
    return text


MemoryOption = Annotated[
    str, option("BYTES", "Refuse games that need more, such as 500MB.", callback=check_memory)
]


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


def emit(answer: Mapping[str, Any], out: Path | None = None) -> None:
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


def seconds_text(seconds: float) -> str:
    """A duration as people read it.

    >>> seconds_text(0.0123), seconds_text(3.14159), seconds_text(72)
    ('12 ms', '3.1 s', '1 min 12 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


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


def check_saved(option: str, path: Path | None) -> None:
    """Refuse what `check_writable` refuses, and a name with another suffix."""
    check_writable(option, path)
    if path is not None and path.suffix != SAVED:
        raise SubgameError(f"{option} needs a file name that ends in {SAVED}, not {path.name}.")


def check_readable(option: str, path: Path | None, wanted: str) -> None:
    """Refuse a file that cannot be read, before any work is done."""
    if path is None:
        return
    try:
        check_regular(path, wanted, math.inf)
    except SubgameError as error:
        raise SubgameError(f"{option}: {error}") from None


def check_spot(path: Path) -> None:
    """Refuse a saved spot that cannot be read, before any work is done."""
    from subgame.games.holdem.spots import SAVED
    from subgame.tree.files import read_tensors

    read_tensors(path, SAVED)


def check_least(name: str, given: int | None, least: int = 1) -> None:
    """Refuse a number that is too small."""
    if given is not None and given < least:
        raise ArgumentError(name, f"must be a whole number of at least {least}, not {given}.")


def check_form(csv: object, json: bool) -> None:
    """Refuse two forms of output at once."""
    if csv and json:
        raise SubgameError("--csv and --json cannot be given together; choose one form.")


def check_player(player: int | None) -> None:
    """Refuse a player other than 0 and 1."""
    if player not in (None, 0, 1):
        raise ArgumentError("player", f"must be 0 or 1, not {player}.")
