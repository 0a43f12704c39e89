"""The command line as it was typed, from which the commands to try next are made."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import typer

Words = tuple[str, ...]
PLACE = ("--device", "--memory-limit")
"""Options with the same meaning in every command that has them."""


@dataclass(frozen=True)
class Line:
    """What was typed: a command, its arguments and its options by name.

    >>> line = Line("solve", ("leduc",), {"--schedule": ("--schedule", "dcfr")})
    >>> line.again("--target 1e-4")
    'subgame solve leduc --schedule dcfr --target 1e-4'
    >>> line.again(without=["--schedule"])
    'subgame solve leduc'
    >>> line.then("exploit", "leduc my.safetensors", keep=["--device"])
    'subgame exploit leduc my.safetensors'
    """

    command: str
    arguments: Words
    options: dict[str, Words]

    @classmethod
    def of(cls, context: typer.Context) -> Self:
        """From Typer's context; defaults are left out."""
        arguments: list[str] = []
        options: dict[str, Words] = {}
        for parameter in context.command.params:
            name = str(parameter.name)
            source = context.get_parameter_source(name)
            if source is None or source.name != "COMMANDLINE":
                continue
            value = context.params[name]
            if parameter.param_type_name == "argument":
                arguments.append(str(value))
            else:
                options[parameter.opts[0]] = tuple(_words(parameter, value))
        return cls(str(context.info_name), tuple(arguments), options)

    def again(self, more: str = "", without: Iterable[str] = ()) -> str:
        """The same command with `more` options and `without` some that it had."""
        kept = [name for name in self.options if name not in {*without}]
        return self.then(self.command, shlex.join(self.arguments), kept, more)

    def then(self, command: str, arguments: str, keep: Iterable[str] = (), more: str = "") -> str:
        """Another command that keeps some of the options."""
        kept = [shlex.join(self.options[name]) for name in keep if name in self.options]
        return " ".join(filter(None, ("subgame", command, arguments, *kept, more)))


def _words(option: Any, value: Any) -> Iterator[str]:
    """The words of an option as it is typed: a flag, or its name before each value."""
    if isinstance(value, bool):
        yield (option.opts if value else option.secondary_opts)[0]
        return
    for item in value if isinstance(value, (list, tuple)) else [value]:
        whole = isinstance(item, float) and item.is_integer()
        yield from (option.opts[0], str(int(item) if whole else item))
