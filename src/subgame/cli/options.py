"""Options that several commands share, in groups: each option is declared once, with one help text.

A group is a frozen dataclass of Typer options. `grouped` gives its fields to Typer as single
options, and the group to the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from subgame.cli.arguments import (
    DeviceOption,
    JsonOption,
    MemoryOption,
    SecondsOption,
    argument,
    opt,
    option,
)
from subgame.cli.checks import (
    check_apart,
    check_checkpoint,
    check_device,
    check_least,
    check_picture,
    check_readable,
    check_saved,
    check_writable,
)
from subgame.cli.common import picture
from subgame.cli.strategies import check_strategy, read_strategy
from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer reads it, with the options of its groups in place of the groups.

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
    for name, given in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind):
            groups[name], inner = kind, get_type_hints(kind, include_extras=True)
            panel = getattr(kind, "PANEL", None)
            options += [_option(each.name, inner[each.name], each, panel) for each in fields(kind)]
        else:
            options.append(_option(name, kind, given.default))

    def call(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given)

    call.__name__, call.__doc__, call.__module__ = command.__name__, command.__doc__, __name__
    call.__annotations__ = {each.name: each.annotation for each in options}
    vars(call)["__signature__"] = inspect.Signature(options)
    return call


def _option(name: str, kind: Any, given: Any, panel: str | None = None) -> inspect.Parameter:
    """A parameter for Typer, from its default or from what `opt` and `argument` give.

    In the help it stands in the panel that its group names as ``PANEL``.
    """
    if isinstance(given, Field):
        if about := given.metadata.get("typer"):
            about.rich_help_panel = about.rich_help_panel or panel
            if kind is bool and not about.param_decls:
                about.param_decls = (f"--{name.replace('_', '-')}",)  # no --no-name beside it
            kind = Annotated[kind, about]
        given = inspect.Parameter.empty if given.default is MISSING else given.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=kind)


OutOption = Annotated[Path | None, option("FILE", "Save the strategy as FILE.safetensors.")]
SeedOption = Annotated[int, option("N", "Seed of random choices.")]
PlayerOption = Annotated[int | None, option("0|1", "Only this player; by default both.")]


@dataclass(frozen=True)
class Stop:
    """When a solve stops."""

    iterations: int | None = opt(None, "N", "Stop after N iterations in total.")
    seconds: SecondsOption = None
    target: float | None = opt(None, "E", "Stop when exploitability is at most E.")


def check_exact(options: Mapping[str, object]) -> None:
    """Refuse options that do not apply to a linear program."""
    for name, value in options.items():
        if value is not None:
            raise SubgameError(
                f"--{name} does not apply to the schedule lp, which solves a game exactly."
            )


@dataclass(frozen=True)
class Place:
    """Where a command runs."""

    device: DeviceOption = "cpu"
    memory_limit: MemoryOption = "8GiB"

    def check(self) -> None:
        """Refuse a device that is not available, before any work is done."""
        check_device(self.device)


@dataclass(frozen=True)
class ThreadedPlace(Place):
    """Where a command on hold'em runs."""

    threads: int | None = opt(None, "N", "Number of CPU threads in hold'em.", "all")

    def check(self) -> None:
        check_least("threads", self.threads)
        check_device(self.device, self.threads)


@dataclass(frozen=True)
class Given:
    """The strategy that a command is given."""

    strategy: str | None = argument(
        "STRATEGY",
        "A file saved by solve --out, a JSON file {infoset: {action: probability}}, "
        "or the word uniform or random.",
        None,
    )
    blueprint: str | None = opt(None, "NAME", "Use a strategy that comes with the game.")
    seed: SeedOption = 0

    def check(self) -> None:
        """Refuse no strategy, and two."""
        if (self.strategy is None) == (self.blueprint is None):
            raise SubgameError(
                "Give exactly one strategy: a file, the word uniform or random, or --blueprint "
                "NAME."
            )
        if self.strategy is not None:
            check_strategy(self.strategy)

    def read(self, tree: PublicTree) -> Strategy:
        """The strategy that a STRATEGY argument or a --blueprint names."""
        import subgame as sg

        if self.blueprint is not None:
            return sg.Strategy.published(tree, self.blueprint)
        return read_strategy(tree, self.strategy or "", self.seed)


@dataclass(frozen=True)
class Output:
    """What a command writes."""

    out: OutOption = None
    json: JsonOption = False


@dataclass(frozen=True)
class Plotted:
    """What a command writes and draws."""

    out: OutOption = None
    plot: Path | None = opt(None, "FILE", "Draw the result as FILE.png, .svg or .pdf.")
    json: JsonOption = False

    def check(self, checkpoint: Path | None = None, resume: Path | None = None) -> None:
        """Refuse files that cannot be written or read, and one file for two purposes."""
        files = {"--out": self.out, "--checkpoint": checkpoint, "--plot": self.plot}
        for name, path in files.items():
            check_writable(name, path)
        check_readable("--resume", resume, "a checkpoint saved by --checkpoint")
        check_apart(*files.items())  # a run may continue in its own file
        for name in ("--out", "--plot"):
            check_apart((name, files[name]), ("--resume", resume))
        check_checkpoint(checkpoint)
        check_saved("--out", self.out)
        check_picture("--plot", self.plot)

    def drawing(self, found: Any) -> Callable[[Path], None]:
        """A function that draws a result that has a method ``plot``."""
        return picture(found.plot, (8, 4.5), "constrained")
