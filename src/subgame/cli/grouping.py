"""`grouped`: options of a command in groups.

A group is a frozen dataclass of Typer options. `grouped` gives its fields to Typer as single
options, and the group to the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints


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
