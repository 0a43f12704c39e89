"""Groups of options that several commands share: each is declared once, with one help text.

Strategies are named by files, or by the words uniform and random; depth limits by frontiers.
"""

from __future__ import annotations

import json as jsonlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

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
    check_player,
    check_readable,
    check_saved,
    check_writable,
    picture,
)
from subgame.errors import SubgameError, check_regular, did_you_mean, read_text
from subgame.solve.limits import check_seed

if TYPE_CHECKING:
    from subgame.cli.progress import Meter
    from subgame.refine.continuations import Continuations
    from subgame.refine.limit import Evaluator
    from subgame.refine.subgame import Subgame
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


# Depth limits --------------------------------------------------------------------------------
WAYS = ("bias", "self", "all", "none")
SELF = 10
"""Default number of continuations from self-play, as in the paper's Fig. 2."""


@dataclass(frozen=True)
class Where:
    """A depth limit, and what the opponent may choose from there."""

    at: list[str] | None = opt(
        None,
        "WHERE",
        "The limit: a frontier of the game ('after round 1' in leduc), a public state, "
        "'depth 2', 'before chance' or 'after chance'. Repeat --at for several public states.",
        False,
    )
    continuations: str | None = opt(
        None,
        "KIND",
        "The strategies that the opponent may choose from at the limit. bias: the "
        "blueprint biased towards each action. self: best responses found by self-play. all: "
        "every pure strategy. none: only the blueprint.",
        "bias",
    )
    count: int | None = opt(
        None,
        "K",
        "Offer at most K continuations, including the blueprint.",
        f"bias: all, self: {SELF}",
    )
    player: PlayerOption = None

    def check(self) -> None:
        """Refuse unknown kinds of continuations and players."""
        if self.continuations is not None and self.continuations not in WAYS:
            raise did_you_mean("kind of continuations", self.continuations, WAYS)
        check_least("count", self.count)
        if self.count is not None and self.continuations in ("all", "none"):
            raise SubgameError(f"--count does not apply to --continuations {self.continuations}.")
        check_player(self.player)


@dataclass(frozen=True)
class Limit:
    """A depth limit and the continuations at it. Mappings are by the player that is solved for."""

    tree: PublicTree
    blueprint: Strategy
    subgames: Sequence[Subgame]
    values: Mapping[int, Evaluator]
    """The evaluator of the leaves in the player's tree."""
    offered: Mapping[int, Continuations]
    """The continuations of the player's opponent."""
    at: Sequence[str]
    """The limit as it was given."""

    @property
    def players(self) -> tuple[int, ...]:
        """The players that are solved for."""
        return tuple(self.values)

    @classmethod
    def made(
        cls, tree: PublicTree, blueprint: Strategy, where: Where, values: Evaluator, meter: Meter
    ) -> Self:
        """A limit with continuations of one of the kinds in `WAYS`."""
        import subgame as sg
        from subgame.refine.continuations import Continuations, biased
        from subgame.refine.sequence.continuations import all_pure

        subgames, way = sg.cut(tree, places(tree, where.at)), where.continuations
        players = (0, 1) if where.player is None else (where.player,)
        offered: dict[int, Continuations] = {}
        for p in players:
            meter.update(f"Computing continuations of player {1 - p}")
            if way == "none":
                offered[p] = Continuations.of(blueprint, 1 - p)
            elif way == "all":
                offered[p] = all_pure(tree, at=subgames, player=1 - p)
            elif way == "self":
                offered[p] = sg.self_generated(
                    tree, blueprint, at=subgames, player=p, count=where.count or SELF
                )
            else:
                offered[p] = biased(blueprint, 1 - p)[: where.count]
        by_player = dict.fromkeys(players, values)
        return cls(tree, blueprint, subgames, by_player, offered, where.at or ())

    @classmethod
    def trained(cls, path: Path, tree: PublicTree, blueprint: Strategy, where: Where) -> Self:
        """The limit that a file of networks was trained for."""
        import subgame as sg
        from subgame.refine.sequence.leaf_network import load_leaf_networks

        at, player = where.at, where.player
        networks = load_leaf_networks(path, tree)
        learned_at = jsonlib.loads(next(iter(networks.values())).notes.get("at", "[]"))
        if at and list(at) != learned_at:
            raise SubgameError(f"{path} was trained {_places(learned_at)}, not {_places(at)}.")
        if player is not None and player not in networks:
            raise SubgameError(
                f"{path} was only trained for player {1 - player}; train one with --player "
                f"{player}."
            )
        players = tuple(networks) if player is None else (player,)
        subgames, values = sg.cut(tree, places(tree, learned_at)), {p: networks[p] for p in players}
        offered = {p: network.continuations for p, network in values.items()}
        return cls(tree, blueprint, subgames, values, offered, learned_at)


def _places(at: Sequence[str]) -> str:
    return "at " + " and ".join(f"'{name}'" for name in at)


def places(tree: PublicTree, at: Sequence[str] | None) -> str | list[str]:
    """The argument of `subgame.cut`; without one, where the kind of tree is cut by default."""
    from subgame.refine.verbs.cut import default_frontier

    chosen = list(at or [default_frontier(tree)])
    return chosen[0] if len(chosen) == 1 else chosen
