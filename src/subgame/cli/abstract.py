"""``subgame abstract``: hold'em hands put into buckets, and how good the buckets are."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from subgame.cli.arguments import GameArgument, JsonOption, argument, grouped, opt
from subgame.cli.common import check_least, check_writable, emit, load_game, stdout
from subgame.cli.options import Place
from subgame.cli.progress import Meter
from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.abstraction.cards import Abstraction


@dataclass(frozen=True)
class TorchPlace(Place):
    """Where PyTorch runs."""

    device: str = opt("torch", "NAME", "torch (on the CPU) or cuda.")

    def check(self) -> None:
        if self.device != "torch" and not self.device.startswith("cuda"):
            raise SubgameError(f"--device is torch or cuda, not {self.device}.")


@grouped
def abstract_command(
    *,
    game: GameArgument,
    buckets: list[str] = argument(
        "STREET=COUNT", "Such as flop=200, once per street.", show_default=True
    ),
    features: str = opt(
        "strength-ochs", "NAME", "How hands are described before they are clustered."
    ),
    iterations: int = opt(
        0, "N", "Solve the game in the buckets for N iterations; 0 does not solve it."
    ),
    place: TorchPlace,
    seed: int = opt(0, "N", "Seed of the clustering."),
    out: Path | None = opt(None, "FILE", "Save the buckets; FILE ends in .npz."),
    json: JsonOption = False,
) -> None:
    """Put the hands of a hold'em game into buckets, and show how good they are.

    Streets that are not named keep every hand. With --iterations the game is solved in the buckets
    by discounted CFR, and the exploitability of the result in the whole game is shown. This needs
    PyTorch.

    [bold]Examples[/]

    subgame abstract 'nlfh(ranks=9TJQKA, suits=hs)' flop=20

    subgame abstract 'nlfh-small(ranks=TJQKA, suits=hs)' flop=20 --iterations 50

    subgame abstract nlfh-small flop=200 --iterations 400 --device cuda
    """
    place.check()
    check_least("iterations", iterations, 0)
    check_writable("--out", out)
    counts = dict(_count(word) for word in buckets)
    rules = load_game(game)

    import subgame as sg

    if not isinstance(rules, sg.holdem.Holdem):
        raise SubgameError(f"{rules} is not a hold'em game, so it has no hands for buckets.")

    from subgame.abstraction import Recipe, abstract
    from subgame.tree.ranges.tree import range_tree

    recipe, device = Recipe(features, seed=seed), place.device
    with Meter(str(rules)) as meter:
        tree = range_tree(sg.compile(rules, merge="boards", memory_limit=place.memory_limit))
        meter.update("Clustering")
        made = abstract(tree, counts, recipe, device=device if device != "torch" else None)
        lost = None
        if iterations:
            from subgame.abstraction.blueprint import Blueprint

            meter.update("Solving in the buckets")
            blueprint = Blueprint(made.buckets, device=device)
            blueprint.advance(iterations)
            lost = blueprint.exploitability().mean
    if out is not None:
        made.save(out)
    if json:
        quality = {name: asdict(of_street) for name, of_street in made.quality.items()}
        emit({"game": tree.game_name, "quality": quality, "exploitability": lost})
    else:
        _print(made, f"{tree.game_name}, by {features}", lost)


def _print(made: Abstraction, title: str, lost: float | None) -> None:
    names = ["street", "hands", "buckets", "distance", "smallest", "largest"]
    from subgame.cli.console import number_text, table

    shown = table(*names, numbers=names[1:])
    for name, q in made.quality.items():
        sizes = (number_text(q.distance), number_text(q.smallest), number_text(q.largest))
        shown.add_row(name, f"{q.points:,}", f"{q.used:,}", *sizes)
    console = stdout()
    console.print(Text(title, style="bold"))
    console.print(shown, end="")
    console.print(Text("  Distance: of a hand's features from its bucket's centre, mean.", "dim"))
    console.print(Text("  Smallest and largest bucket: in units of the mean one.", "dim"))
    if lost is not None:
        console.print(f"  exploitability [bold]{lost:.6g}[/] chips in the whole game")


COUNT = re.compile(r"[0-9]{1,9}")


def _count(word: str) -> tuple[str, int]:
    """A street and its buckets, from STREET=COUNT."""
    street, _, count = word.partition("=")
    if not COUNT.fullmatch(count):
        raise SubgameError(f"Buckets are given as STREET=COUNT, such as flop=200, not '{word}'.")
    return street, int(count)
