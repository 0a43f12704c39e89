"""``subgame train``: train networks for the values at a depth limit.

On whole hold'em it is a network of values at the end of the flop.
"""

from __future__ import annotations

import json as jsonlib
import math
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from subgame.cli.arguments import GameArgument, JsonOption, MemoryOption, grouped, opt
from subgame.cli.common import (
    check_least,
    check_saved,
    emit,
    finish,
    load_game,
    save_files,
    seconds_text,
    stdout,
)
from subgame.cli.console import next_steps, table
from subgame.cli.limit import LEAST_ROLLOUTS
from subgame.cli.line import Line
from subgame.cli.options import Given, Limit, Where
from subgame.cli.progress import Meter, compiled, warm_up
from subgame.errors import SubgameError, did_you_mean
from subgame.solve.limits import check_seed

if TYPE_CHECKING:
    from subgame.blueprints.stored import StoredBlueprint
    from subgame.games.holdem.game import Holdem
    from subgame.play.hunl.flop_network import FlopNetwork
    from subgame.refine.networks import Training
    from subgame.refine.sequence.leaf_network import LeafNetwork
    from subgame.refine.sequence.leaves import Rollouts
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy


KINDS = ("blueprint", "more folds", "more calls", "more raises")
"""The continuations, in the order of the network's outputs."""


def train_flop(
    rules: Holdem,
    source: Given,
    where: Where,
    out: Path | None,
    boards: int | None,
    options: Mapping[str, Any],
    json: bool,
) -> None:
    """Train a network for a blueprint in buckets, and save it."""
    began, blueprint = time.perf_counter(), _blueprint(rules, source)
    for name, value in vars(where).items():
        if value is not None:
            raise SubgameError(f"--{name} does not apply to {rules}; the limit is after the flop.")

    from subgame.play.hunl.flop_network import FORMAT, SUFFIX, WANTED, check_fits
    from subgame.play.hunl.flop_training import ROLLOUTS, train_flop_network
    from subgame.refine.networks import torch
    from subgame.tree.files import check_replaceable

    check_fits(blueprint)
    beside = source.strategy if source.blueprint is None else f"{blueprint.recipe.name}.safetensors"
    file = out or Path(str(beside)).with_suffix(SUFFIX)
    check_saved("--out", file)
    if out is None:  # a name that the user did not choose
        check_replaceable(file, FORMAT, WANTED)
    torch()
    with Meter(blueprint.recipe.name) as meter:
        network = train_flop_network(
            blueprint, boards or ROLLOUTS, progress=meter.sharing(), **options
        )
        failure = save_files((file, network.save))
    took, saved = time.perf_counter() - began, None if failure else file
    if json:
        notes = {name: jsonlib.loads(value) for name, value in network.notes.items()}
        answer = {"blueprint": blueprint.recipe.name, "parameters": network.parameters, **notes}
        emit({**answer, "seconds": took}, saved)
    else:
        _show_flop(network, saved, took)
    finish(failure)


def _blueprint(rules: Holdem, source: Given) -> StoredBlueprint:
    """The blueprint that is given: a file, or the word for the one that comes with the package."""
    from subgame.blueprints.recipe import DEFAULT
    from subgame.play.named import whole_blueprint

    if source.blueprint not in (None, DEFAULT.stem):
        raise did_you_mean("blueprint", str(source.blueprint), [DEFAULT.stem])
    words = ("uniform", "random")
    result = None if source.strategy in words else whole_blueprint(rules, source.strategy)
    if result is None:
        raise SubgameError(
            f"In hold'em a network is trained for a blueprint: for {rules} give a file made by "
            f"subgame blueprint, or for hunl --blueprint {DEFAULT.stem}."
        )
    return result


def _show_flop(network: FlopNetwork, saved: Path | None, took: float) -> None:
    console, notes = stdout(), network.notes
    title = f"{network.blueprint.recipe.name}: values at the end of the flop by a network"
    console.print(Text(title, style="bold"))
    parameters, examples = network.parameters, int(notes["examples"])
    console.print(f"  {parameters:,} numbers, trained on {examples:,} examples")
    if "held out: error" in notes:
        names = ("spread", "noise", "error")
        columns = [jsonlib.loads(notes[f"held out: {name}"]) for name in names]
        shown = table("continuation", *names, numbers=names)
        for name, *row in zip(KINDS, *columns, strict=True):
            shown.add_row(name, *(f"{number:.3f}" for number in row))
        console.print(shown, end="")
        text = "  On flops that were not trained on, in pots. noise: of the values themselves"
        console.print(Text(text, style="dim"))
    if saved is not None:
        console.print(Text(f"  Saved as {saved} after {seconds_text(took)}."))


LAYERS = "256,128,128,128"
"""As in the paper."""
ROLLOUTS = 1000
MEANING = (
    ("spread", "standard deviation of the values, in the game's units"),
    ("rollouts", "standard error of the rollouts that the values come from"),
    ("error", "root mean square error of the network on these values"),
    ("held out", "the same on histories that were not trained on"),
)


@dataclass(frozen=True)
class Learning:
    """How the networks are trained."""

    epochs: int | None = opt(None, "N", "Passes through the data.", "500; hunl: 4")
    layers: str | None = opt(
        None, "N,N,...", "Sizes of the hidden layers.", f"{LAYERS}; hunl: 128,64,64"
    )
    batch: int | None = opt(None, "N", "Examples per training step.", "32; hunl: 1024")
    rate: float | None = opt(None, "X", "Initial learning rate.", "0.001; hunl: 0.002")
    holdout: float | None = opt(
        None,
        "X",
        "Share of the examples that are not trained on, to measure the error on them.",
        "0; hunl: 0.1",
    )

    def options(self, seed: int) -> dict[str, Any]:
        """What was given, for `subgame.refine.sequence.leaf_network.Training`."""
        hidden = None if self.layers is None else _layers(self.layers)
        options = {**vars(self), "layers": hidden, "seed": seed}
        return {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True)
class Making:
    """What the networks learn from, and where they are written."""

    out: Path | None = opt(None, "FILE", "Save the networks; FILE ends in .safetensors.", False)
    rollouts: int | None = opt(
        None,
        "N",
        "Rollouts per history and pair of continuations; hunl: boards per betting sequence.",
        "1000; hunl: 200",
    )
    memory_limit: MemoryOption = "8GiB"
    json: JsonOption = False

    def file(self) -> Path:
        """Where networks are saved, if they are not beside a blueprint."""
        if self.out is None:
            raise SubgameError(
                "--out is missing. Say where to save the networks: --out FILE.safetensors."
            )
        check_saved("--out", self.out)
        return self.out


@grouped
def train_command(
    *,
    context: typer.Context,
    game: GameArgument,
    source: Given,
    where: Where,
    making: Making,
    learning: Learning,
) -> None:
    """Train networks for the values at a depth limit, one per player.

    First the game is played to its end from every history at the limit, at random, for every
    continuation that the opponent may choose. Then the network learns the mean payoffs (Brown,
    Sandholm & Amos 2018). The file contains the limit and the continuations; it only works with the
    same game. In hunl the limit is the end of the flop, and the network belongs to a blueprint
    made by subgame blueprint: FILE.flop-network.safetensors beside FILE.safetensors is what agents
    with --values network read. Training needs PyTorch: pip install 'subgame\\[gpu]'.

    [bold]Examples[/]

    subgame solve leduc --iterations 200 --out rough.safetensors

    subgame train leduc rough.safetensors --at 'after round 1' --out leaves.safetensors

    subgame limit leduc rough.safetensors --leaves leaves.safetensors

    subgame train kuhn uniform --at 'depth 1' --out kuhn.safetensors --layers 32,32

    subgame train hunl --blueprint hunl-default
    """
    source.check()
    where.check()
    seed, way = source.seed, where.continuations or "bias"
    out, rollouts, json = making.out, making.rollouts, making.json
    check_seed(seed)
    check_least("rollouts", rollouts, LEAST_ROLLOUTS)
    options, rules = learning.options(seed), load_game(game)
    from subgame.games.holdem.game import Holdem

    if isinstance(rules, Holdem):
        train_flop(rules, source, where, out, rollouts, options, json)
        return
    out, began = making.file(), time.perf_counter()

    from subgame.refine.networks import Training, torch
    from subgame.refine.sequence.leaf_network import save_leaf_networks
    from subgame.refine.sequence.leaves import Rollouts

    training = Training(**{"holdout": 0.0} | options)
    rollouts = rollouts or ROLLOUTS
    data = Rollouts(rollouts, seed)
    torch()
    with compiled(rules, making.memory_limit) as (meter, tree):
        rough = source.read(tree)
        warm_up(meter, "lp")
        limit = Limit.made(tree, rough, where, data, meter)
        networks = [_trained(tree, rough, limit, p, data, training, meter) for p in limit.players]
        made = {"continuations": way, "seed": seed, "rollouts": rollouts, "epochs": training.epochs}
        notes = {
            "at": jsonlib.dumps(list(where.at or [])),
            **{name: str(value) for name, value in made.items()},
            "layers": ",".join(map(str, training.layers)),
        }
        failure = save_files((out, lambda path: save_leaf_networks(networks, path, notes)))
    took, saved = time.perf_counter() - began, None if failure else out
    if json:
        answer = {
            "game": tree.game_name,
            "limit": [subgame.name for subgame in limit.subgames],
            **made,
            "layers": list(training.layers),
            "networks": [_told(network) for network in networks],
            "seconds": took,
        }
        emit(answer, saved)
    else:
        _show(stdout(), networks, tree.game_name, Line.of(context), saved, took)
    finish(failure)


def _trained(
    tree: PublicTree,
    blueprint: Strategy,
    limit: Limit,
    player: int,
    data: Rollouts,
    training: Training,
    meter: Meter,
) -> LeafNetwork:
    """The network of one player."""
    from subgame.refine.sequence.leaf_network import train_leaf_network

    return train_leaf_network(
        tree,
        blueprint,
        at=limit.subgames,
        player=player,
        continuations=limit.offered[player],
        data=data,
        progress=meter.sharing(f"player {player} of {meter.game}"),
        **vars(training),
    )


def _layers(text: str) -> list[int]:
    """Whole numbers separated by commas.

    >>> _layers("64, 32")
    [64, 32]
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise SubgameError(f"--layers must be whole numbers such as {LAYERS}, not '{text}'.")
    return [int(part) for part in parts]


def _told(network: LeafNetwork) -> dict[str, object]:
    from subgame.refine.sequence.leaf_network import ERRORS

    return {
        "player": network.player,
        "continuations": list(network.continuations.names),
        "histories": len(network.top),
        "values": len(network.top) * network.shape[0] * network.shape[1],
        "parameters": network.parameters,
        **{name: getattr(network, name) for name in ERRORS},
    }


def _show(
    console: Console,
    networks: Sequence[LeafNetwork],
    game: str,
    line: Line,
    out: Path | None,
    took: float,
) -> None:
    from subgame.refine.sequence.leaf_network import ERRORS

    console.print(Text(f"{game}: values at a depth limit, learned from rollouts", style="bold"))
    held_out = any(not math.isnan(network.holdout_error) for network in networks)
    errors = {
        name: meaning
        for name, meaning in zip(ERRORS, MEANING, strict=True)
        if held_out or name != "holdout_error"
    }
    numbers = ["player", "continuations", "histories", "parameters"]
    numbers += [name for name, _ in errors.values()]
    shown = table(*numbers, numbers=numbers)
    for network in networks:
        counts = (len(network.continuations), len(network.top), network.parameters)
        cells = [
            *(f"{n:,}" for n in counts),
            *(f"{getattr(network, error):.3g}" for error in errors),
        ]
        shown.add_row(str(network.player), *cells)
    console.print(shown, end="")
    for name, what in errors.values():
        console.print(Text(f"  {name:<10} {what}", style="dim"))
    if out is None:
        return
    console.print(Text(f"  Saved as {out} after {seconds_text(took)}."))
    leaves, same = f"--leaves {shlex.quote(str(out))}", ["--blueprint", "--seed", "--memory-limit"]
    solve = line.then("limit", shlex.join(line.arguments), same, leaves)
    next_steps(console, (solve, "solve to the depth limit with these values"))
