"""Groups of options that several commands share: each is declared once, with one help text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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


OutOption = Annotated[Path | None, option("FILE", "Save the strategy; FILE ends in .safetensors.")]
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

    def drawing(self, result: Any) -> Callable[[Path], None]:
        """A function that draws a result that has a method ``plot``."""
        return picture(result.plot, (8, 4.5), "constrained")
