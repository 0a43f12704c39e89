"""``subgame train`` on whole hold'em: a network of values at the end of the flop."""

from __future__ import annotations

import json as jsonlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from subgame.cli.checks import check_saved
from subgame.cli.common import emit, finish, save_files, seconds_text, stdout
from subgame.cli.console import table
from subgame.cli.limit import Where
from subgame.cli.options import Given
from subgame.cli.progress import Meter
from subgame.errors import SubgameError, did_you_mean

if TYPE_CHECKING:
    from subgame.blueprints.stored import StoredBlueprint
    from subgame.games.holdem.game import Holdem
    from subgame.play.hunl.flop_network import FlopNetwork

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
        _show(network, saved, took)
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


def _show(network: FlopNetwork, saved: Path | None, took: float) -> None:
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
