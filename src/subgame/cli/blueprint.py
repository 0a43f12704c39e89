"""``subgame blueprint``: train a blueprint of a whole hold'em game by a recipe."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from subgame.cli.arguments import JsonOption, argument, grouped, opt
from subgame.cli.common import check_least, check_saved, emit, seconds_text, stdout
from subgame.cli.options import ThreadedPlace
from subgame.cli.progress import Meter
from subgame.errors import SubgameError, human_bytes

if TYPE_CHECKING:
    from subgame.blueprints.stored import StoredBlueprint


@dataclass(frozen=True)
class Training:
    """How long it takes, and where it is kept."""

    hours: float | None = opt(None, "H", "Train for H hours; replaces the recipe's limit.")
    iterations: int | None = opt(None, "N", "Train for N iterations; replaces the recipe's limit.")
    out: Path | None = opt(
        None, "FILE", "Save the blueprint; FILE ends in .safetensors.", "NAME.safetensors"
    )
    minutes: float = opt(10.0, "M", "Minutes between checkpoints, NAME.ckpt.")
    resume: bool = opt(
        False,
        None,
        "Continue from the checkpoint, if there is one. Without this option an existing checkpoint "
        "is refused.",
    )

    def check(self) -> None:
        """Refuse limits that are no limits."""
        check_least("iterations", self.iterations)
        for name, limit in (("hours", self.hours), ("minutes", self.minutes)):
            if limit is not None and not 0 < limit < math.inf:
                raise SubgameError(f"--{name} must be a number above 0, not {limit}.")


@dataclass(frozen=True)
class PreflopTable:
    """The table for depth limits before the flop."""

    preflop: int | None = opt(
        None,
        "N",
        "Also make the table for depth limits before the flop, from N boards. Interrupted, it "
        "continues from its checkpoint, NAME.preflop.ckpt.",
    )
    responses: int | None = opt(
        None,
        "K",
        "With --preflop: the opponent may continue with the blueprint or with one of K strategies "
        "that are learned by self-play.",
        "9",
    )

    def check(self) -> None:
        """Refuse numbers that are too small, and one without the other."""
        check_least("preflop", self.preflop)
        check_least("responses", self.responses)
        if self.responses is not None and self.preflop is None:
            raise SubgameError("--responses belongs to --preflop, which makes the table.")


@grouped
def blueprint_command(
    *,
    recipe: Path = argument(
        "NAME.toml",
        "The recipe, a TOML file with the sections game, bets, buckets and training; or "
        "one of the words hunl-default and hunl-large.",
    ),
    training: Training,
    table: PreflopTable,
    place: ThreadedPlace,
    json: JsonOption = False,
) -> None:
    """Train a blueprint of a whole hold'em game by a recipe.

    Each iteration deals random boards. Hands are put into buckets, which share a strategy. The
    result is a file with one byte for each probability. With --device cuda, a GPU trains on many
    boards at the same time; start the command by torchrun to use several GPUs or machines.

    [bold]Examples[/]

    subgame blueprint small.toml --iterations 100

    subgame blueprint hunl-default --device cuda --resume --preflop 3000

    subgame blueprint hunl-large --device cuda --memory-limit 40GiB --resume --hours 0.5
    """
    from subgame.blueprints.recipe import NAMED, BlueprintRecipe, limited

    place.check()
    training.check()
    table.check()
    wanted = BlueprintRecipe.load(NAMED.get(recipe.name, recipe))
    wanted = limited(wanted, training.hours, training.iterations)
    file = training.out or Path(f"{recipe.stem}.safetensors")
    check_saved("--out", file)

    from subgame.blueprints.run import check_training, join_group, train
    from subgame.blueprints.training import memory
    from subgame.tree.betting_arrays import BettingArrays

    check_training(file.with_suffix(".ckpt"), training.resume)
    values = _replaced(file, training, table)
    threads = place.threads or os.cpu_count() or 1
    device = join_group(place.device)
    with Meter(wanted.name) as meter:
        meter.update("Counting the betting")
        tree = BettingArrays.of(wanted.game)
        need = memory(wanted, tree, device, threads)
        decisions = f"{len(tree.street):,} decisions of the betting"
        meter.say(f"{decisions}; {human_bytes(need)} of memory on {device}{_until(wanted.hours)}.")
        made = train(
            wanted,
            file,
            checkpoint=file.with_suffix(".ckpt"),
            minutes=training.minutes,
            resume=training.resume,
            progress=meter.update,
            device=device,
            threads=threads,
            memory_limit=place.memory_limit,
        )
        saved = {"out": str(file)}
        if values is not None and not made.card.get("stopped"):
            where = replace(place, device=device, threads=threads)
            _generate(made, table, values, where, meter)
            saved["preflop"] = str(values)
    if json:
        emit({"name": wanted.name, **saved, **made.card})
    else:
        _show(made, file)
        if "preflop" in saved:
            stdout().print(Text(f"  The values before the flop are saved as {saved['preflop']}."))


def _replaced(file: Path, training: Training, table: PreflopTable) -> Path | None:
    """The file of the table, if one is made; refuses names of other files that were not chosen."""
    from subgame.blueprints import stored
    from subgame.play.hunl import preflop_responses, preflop_values
    from subgame.tree.files import check_replaceable

    values = None if table.preflop is None else file.with_suffix(preflop_values.SUFFIX)
    check_saved("--preflop", values)
    if training.out is None:
        check_replaceable(file, stored.FORMAT, stored.WANTED)
    if values is not None:
        check_replaceable(values, preflop_values.FORMAT, preflop_values.WANTED)
        begun = values.with_suffix(".ckpt")
        check_replaceable(begun, preflop_responses.FORMAT, preflop_responses.WANTED)
    return values


def _generate(
    made: StoredBlueprint, table: PreflopTable, values: Path, place: ThreadedPlace, meter: Meter
) -> None:
    """Make the table of values before the flop; of several processes one writes it."""
    from subgame.blueprints.training import group
    from subgame.play.hunl.preflop_responses import RESPONSES, self_generated

    assert table.preflop is not None
    self_generated(
        made,
        table.responses or RESPONSES,
        table.preflop,
        seed=made.recipe.seed,
        device=place.device,
        progress=lambda what, share: meter.update(what, "", share),
        watch=(lambda made, _: made.save(values)) if group()[0] == 0 else None,
        checkpoint=values.with_suffix(".ckpt"),
        threads=place.threads or 1,
        memory_limit=place.memory_limit,
    )


def _until(hours: float | None) -> str:
    return "" if hours is None else f"; training takes {seconds_text(3600 * hours)}"


def _show(made: StoredBlueprint, file: Path) -> None:
    console, card = stdout(), made.card
    console.print(Text(f"{made.recipe.name}: {made.game}", "bold"))
    took = seconds_text(card["seconds"])
    console.print(f"  {card['iterations']:,} iterations, {card['boards']:,} boards in {took}")
    console.print(f"  buckets by street: {', '.join(f'{k:,}' for k in card['buckets'])}")
    console.print(Text(f"  Saved as {file}, {human_bytes(file.stat().st_size)}."))
    if card.get("stopped"):
        console.print(Text("  Interrupted; --resume goes on from the checkpoint.", "yellow"))
