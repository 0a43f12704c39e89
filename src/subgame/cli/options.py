"""Groups of options that several commands share: each is declared once, with one help text.

Strategies are named by files, or by the words uniform and random.
"""

from __future__ import annotations

import json as jsonlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from subgame.cli.common import (
    check_apart,
    check_checkpoint,
    check_device,
    check_least,
    check_picture,
    check_readable,
    check_saved,
    check_writable,
    picture,
)
from subgame.errors import SubgameError, check_regular, read_text
from subgame.solve.limits import check_seed

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy


JSON = "a JSON file {infoset: {action: probability}}"
STRATEGY = "a strategy saved by solve --out, a JSON file, or the word uniform or random"


def check_strategy(text: str) -> None:
    """Refuse a STRATEGY argument that is neither a word nor a file, before any work is done."""
    if text.lower().endswith(".json"):
        check_regular(text, JSON)
    elif text.lower() not in ("uniform", "random"):
        check_regular(text, STRATEGY, math.inf)


def read_strategy(tree: PublicTree, text: str, seed: int = 0) -> Strategy:
    """The strategy that a STRATEGY argument names."""
    import numpy as np

    import subgame as sg

    check_strategy(text)
    if text.lower() == "uniform":
        return sg.Strategy.uniform(tree)
    if text.lower() == "random":
        check_seed(seed)
        return sg.Strategy.random(tree, seed)
    path = Path(text)
    if path.suffix.lower() == ".json":
        return sg.Strategy.from_table(tree, read_table(path))
    loaded = sg.Strategy.load(path, tree)
    first, second = (np.array(probs) for probs in loaded.probs)  # kernels need writable ones
    return replace(loaded, probs=(first, second))


def read_table(path: Path) -> dict[str, dict[str, float]]:
    """The table in a JSON file: infoset -> action -> probability."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise SubgameError(f"{path} contains '{twice}' twice.")
        return result

    text = read_text(path, JSON)
    try:
        table = jsonlib.loads(text, object_pairs_hook=once)
    except SubgameError:
        raise
    except RecursionError:
        raise SubgameError(f"{path} is nested too deeply to be a strategy.") from None
    except ValueError as error:
        why = "contains a number that is too long"  # more digits than Python reads
        if isinstance(error, jsonlib.JSONDecodeError):
            where = f"in line {error.lineno}, column {error.colno}"
            why = f"is not valid JSON: {error.msg} {where}"
        raise SubgameError(f"{path} {why}.") from None
    if not isinstance(table, dict):
        raise SubgameError(f"{path} must contain a JSON object that maps infosets to actions.")
    for infoset, row in table.items():
        if not isinstance(row, dict):
            raise SubgameError(f"{path} must map infoset '{infoset}' to an object of actions.")
        for action, p in row.items():
            where = f"{path} gives action '{action}' at infoset '{infoset}'"
            if isinstance(p, bool) or not isinstance(p, int | float):
                said = jsonlib.dumps(p)
                raise SubgameError(f"{where} the probability {said}, which is not a number.")
            if isinstance(p, int) and abs(p) > 1:
                raise SubgameError(f"{where} a probability that is not between 0 and 1.")
    return table


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
