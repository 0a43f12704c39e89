"""`Trainer`: regrets and averages of a recipe, board after sampled board.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> trainer = Trainer(recipe)
    >>> trainer.advance(3)
    >>> trainer.iterations, len(trainer.regret)
    (3, 552)

An iteration draws `BlueprintRecipe.boards` whole boards by the seed and its number, and each player
in turn learns on them. What was drawn does not depend on the device, nor on how many processes
share it.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.boards import BoardIndex
from subgame.abstraction.card_buckets import CardBuckets
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.engines.arrays import Array
from subgame.engines.sampled import Sweeps
from subgame.errors import ArgumentError, SubgameError, reading, unreadable
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.isomorphism import count_classes, hand_permutations
from subgame.memory import Allowance
from subgame.solve.schedule import parse
from subgame.tree.betting_arrays import BettingArrays
from subgame.tree.files import read_tensors, write_tensors

FORMAT = "subgame-blueprint-training-1"
WANTED = "a checkpoint of subgame blueprint"
Progress = Callable[[str, float], None]


class Trainer:
    """A training run: the tables of a recipe on a device.

    `device` is ``"cpu"`` (Numba), ``"torch"`` (PyTorch on the CPU) or ``"cuda"``. In a group of
    processes (`torch.distributed`), each takes a share of every iteration's boards, and all have
    the same tables.
    """

    def __init__(
        self,
        recipe: BlueprintRecipe,
        *,
        device: str = "cpu",
        threads: int = 1,
        memory_limit: str | float | None = None,
        cards: CardBuckets | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.recipe, self.device = recipe, device
        self.tree, self.deck = BettingArrays.of(recipe.game), recipe.game.deck
        self.schedule = parse(recipe.schedule)
        Allowance.of(memory_limit, host=device in ("cpu", "torch")).refuse(
            f"Training {recipe.name}", memory(recipe, self.tree, device, threads)
        )
        made = None if device == "cpu" else device
        fitted = cards or CardBuckets.of_recipe(
            self.deck, recipe.buckets, recipe.clustering, device=made, progress=progress
        )
        arrays = together(fitted.stored())  # a GPU may cluster a little differently each time
        self.cards = CardBuckets.of_recipe(self.deck, recipe.buckets, recipe.clustering, arrays)
        self.engine = self._engine(threads)
        *buckets, ranks = self.cards.tables(made, progress)
        self.tables = [self.put(table) for table in (*buckets, ranks)]
        self.images = self.put(hand_permutations(self.deck))
        self.regret, self.average = self.engine.zeros(), self.engine.zeros()
        self.iterations, self.seconds = 0, 0.0

    def _engine(self, threads: int) -> Sweeps:
        counts, pairs = self.cards.counts, self.recipe.pairs * (self.recipe.method == "external")
        if self.device == "cpu":
            from subgame.engines.numba.sampled import NumbaSweeps

            return NumbaSweeps(self.tree, counts, self.deck, threads=threads, pairs=pairs)
        if pairs:
            raise SubgameError(
                "External sampling follows one hand at a time, which needs the device cpu; on "
                f"{self.device} the method must be public."
            )
        from subgame.engines.torch.sampled import TorchSweeps

        where = "cpu" if self.device == "torch" else self.device
        return TorchSweeps(self.tree, counts, self.deck, where)

    def put(self, array: Any) -> Array:
        if self.device == "cpu":
            return array
        import torch

        source = array.copy() if isinstance(array, np.ndarray) else array
        return torch.as_tensor(source, device="cpu" if self.device == "torch" else self.device)

    def draw(self, iteration: int) -> NDArray[np.int64]:
        """[board, card] the boards of an iteration, in the order in which they are dealt."""
        rng = np.random.default_rng([self.recipe.seed, iteration])
        keys = rng.random((self.recipe.boards, self.deck.size))
        return keys.argsort(axis=1)[:, : self.cards.showdown]

    def look_up(self, boards: NDArray[np.int64]) -> tuple[Array, list[Array]]:
        """Ranks and, by street, buckets of all hands on whole boards: [board, hand]."""
        street_buckets = []
        for street, table in enumerate(self.tables[:-1]):
            index = BoardIndex.of(self.deck, BOARD_CARDS[street])
            at = index.combination(boards[:, : BOARD_CARDS[street]])
            at = at if street else np.zeros(len(boards), np.int64)
            row = self.put(index.form[at].astype(np.int64))[:, None]
            image = self.images[self.put(index.permutation[at].astype(np.int64))]
            street_buckets.append(table[row, image])
        return self.tables[-1][row, image], street_buckets

    def advance(self, count: int) -> None:
        """Run so many iterations more."""
        if count < 0:
            raise ArgumentError("count", f"must be at least 0, not {count}.")
        begin = time.perf_counter()
        rates = self.schedule.discounts(self.iterations + 1, count)
        for t in range(count):
            self._iterate(self.iterations + 1, rates[t].tolist())
            self.iterations += 1
        self.seconds += time.perf_counter() - begin

    def _iterate(self, iteration: int, rates: list[float]) -> None:
        boards = self.draw(iteration)
        share, many = group()
        mine = boards[share::many]
        ranks, buckets = self.look_up(mine) if len(mine) else (None, [])
        for p in (0, 1):
            sigma = self.engine.strategy(self.regret)
            if len(mine):
                sums = self.engine.deltas(p, sigma, ranks, buckets, iteration * len(boards))
            else:
                sums = self.engine.zeros()
            sums = _summed(sums)
            sums *= 1 / len(boards)
            self.engine.apply(p, sums, self.regret, self.average, rates)

    def strategy(self) -> NDArray[np.float32]:
        """The average strategy, as a table of the engine."""
        return host(self.engine.strategy(self.average))

    # Checkpoints.

    def save(self, path: str | Path) -> None:
        """Write all that is needed to go on; the old file stays until the new one is complete."""
        head = {
            "format": FORMAT,
            "recipe": json.dumps(self.recipe.as_dict()),
            "iterations": str(self.iterations),
            "seconds": str(self.seconds),
        }
        arrays = {"regret": host(self.regret), "average": host(self.average)}
        write_tensors(path, {**arrays, **self.cards.stored()}, head)

    @classmethod
    def load(
        cls, path: str | Path, recipe: BlueprintRecipe | None = None, **options: Any
    ) -> Trainer:
        """Go on from a file of `save`; a `recipe` may differ from its own in when it ends.

        On the same device and with as many threads it continues byte for byte.
        """
        head, arrays = read_tensors(path, WANTED)
        if head.get("format") != FORMAT:
            raise SubgameError(f"{path} is not {WANTED}.")
        with reading(path, WANTED):
            own = BlueprintRecipe.of(json.loads(head["recipe"]))
            cards = CardBuckets.of_recipe(own.game.deck, own.buckets, own.clustering, arrays)
            iterations, seconds = int(head["iterations"]), float(head["seconds"])
            tables = [np.asarray(arrays[name], np.float32) for name in ("regret", "average")]
            if iterations < 0 or not 0 <= seconds < math.inf:
                raise ValueError
        if recipe is not None and _essence(recipe) != _essence(own):
            raise SubgameError(
                f"{path} is a checkpoint of another recipe ('{own.name}', bets {own.bets}); only "
                "iterations, hours and prune may change."
            )
        made = cls(recipe or own, cards=cards, **options)
        for into, table in zip((made.regret, made.average), tables, strict=True):
            if tuple(into.shape) != table.shape or not np.all(np.isfinite(table)):
                raise unreadable(path, "is damaged", WANTED)
            into[:] = made.put(table)
        made.iterations, made.seconds = iterations, seconds
        return made


def memory(recipe: BlueprintRecipe, tree: BettingArrays, device: str, threads: int = 1) -> float:
    """Bytes that a training needs: tables by bucket, buckets of all boards, and scratch."""
    deck, cards = recipe.game.deck, recipe.cards
    cells = sum(rows * (k or 169) for rows, k in zip(tree.rows, recipe.buckets, strict=True))
    boards = count_classes((cards,), deck)
    sequences = tree.sequences(0) + tree.sequences(1)
    at_once = threads if device == "cpu" else 2 * recipe.boards
    vectors = 0 if recipe.method == "external" else 4 * sequences * deck.num_hands * at_once
    sums = threads if device == "cpu" else 1
    return 4.0 * cells * (5 + sums) + 7.0 * boards * deck.num_hands + vectors


def _essence(recipe: BlueprintRecipe) -> dict[str, object]:
    """What must be the same when a training goes on."""
    free = ("name", "iterations", "hours", "prune")
    return {key: value for key, value in recipe.as_dict().items() if key not in free}


def host(array: Array) -> NDArray[np.float32]:
    """A table of any device as a NumPy array."""
    on_host: NDArray[np.float32] = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return on_host


def group() -> tuple[int, int]:
    """The number of this process and how many there are, in a group of torch.distributed."""
    distributed = _distributed()
    return (0, 1) if distributed is None else (distributed.get_rank(), distributed.get_world_size())


def _distributed() -> Any:
    """The module torch.distributed, if this process has joined a group."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return None
    return torch.distributed if torch.distributed.is_initialized() else None


def together(value: Any) -> Any:
    """The value that the first process of the group has."""
    shared, distributed = [value], _distributed()
    if distributed is not None:
        distributed.broadcast_object_list(shared)
    return shared[0]


def _summed(sums: Array) -> Array:
    """The sum of a table over all processes."""
    distributed = _distributed()
    if distributed is not None:
        import torch

        distributed.all_reduce(torch.from_numpy(sums) if isinstance(sums, np.ndarray) else sums)
    return sums
