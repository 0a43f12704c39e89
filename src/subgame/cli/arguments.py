"""How commands declare their options and arguments, and those that many commands have.

A group is a frozen dataclass of Typer options. `grouped` gives its fields to Typer as single
options, and the group to the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

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


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer reads it, with the options of its groups in place of the groups.

    >>> from subgame.cli.options import Place
    >>> @grouped
    ... def shown(game: str, place: Place) -> None:
    ...     print(game, place.device)
    >>> [name for name in inspect.signature(shown).parameters]
    ['game', 'device', 'memory_limit']
    >>> shown(game="kuhn", device="cuda", memory_limit="1GiB")
    kuhn cuda
    """
    hints, groups = get_type_hints(command, include_extras=True), dict[str, Any]()
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind):
            groups[name], inner = kind, get_type_hints(kind, include_extras=True)
            panel = getattr(kind, "PANEL", None)
            options += [
                _option(field.name, inner[field.name], field, panel) for field in fields(kind)
            ]
        else:
            options.append(_option(name, kind, parameter.default))

    def call(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        command(**values)

    call.__name__, call.__doc__, call.__module__ = command.__name__, command.__doc__, __name__
    call.__annotations__ = {option.name: option.annotation for option in options}
    vars(call)["__signature__"] = inspect.Signature(options)
    return call


def _option(name: str, kind: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """A parameter for Typer, from its default or from what `opt` and `argument` give.

    In the help it stands in the panel that its group names as ``PANEL``.
    """
    if isinstance(default, Field):
        if about := default.metadata.get("typer"):
            about.rich_help_panel = about.rich_help_panel or panel
            if kind is bool and not about.param_decls:
                about.param_decls = (f"--{name.replace('_', '-')}",)  # no --no-name beside it
            kind = Annotated[kind, about]
        default = inspect.Parameter.empty if default.default is MISSING else default.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
