"""How commands declare their options and arguments, and those that many commands have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, field
from typing import Annotated, Any

import typer

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


def game_argument(help: str) -> object:
    """The argument GAME of a command."""
    complete = completing(_games)
    return typer.Argument(metavar="GAME", help=help, show_default=False, autocompletion=complete)


GameArgument = Annotated[str, game_argument(GAME_HELP)]
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
