"""`StoredBlueprint`: an average strategy in one byte a probability, read from a memory-mapped file.

The file holds the betting sequences, the numbers that buckets are computed from, the buckets of all
flops, the probabilities, the recipe and a result card. A probability is a number of 255ths, and the
probabilities of a decision add up to 255 in every bucket.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.card_buckets import CardBuckets
from subgame.blueprints.recipe import DEFAULT as DEFAULT_RECIPE
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.errors import SubgameError, read_text, reading
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.tree.betting_arrays import STORED, BettingArrays
from subgame.tree.files import read_tensors, write_tensors

FORMAT = "subgame-hunl-blueprint-1"
WANTED = "a blueprint made by subgame blueprint"
WANTED_CARD = "the result card of a blueprint"
UNITS = 255
"""Units of probability at a decision."""
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
DEFAULT = DEFAULT_RECIPE.with_suffix(".safetensors")
"""The blueprint that comes with the package."""
AT_ONCE = 16
"""Decisions whose probabilities are rounded at once, so that they stay in the processor's cache."""
CARD = ".card.json"
"""Of a file beside the blueprint's, with what was measured after the training."""


class Place(Protocol):
    """A public state of hold'em; `HoldemState` is one."""

    @property
    def board(self) -> tuple[int, ...]:
        """The cards dealt so far."""

    @property
    def betting(self) -> Betting:
        """The betting so far."""


class StoredBlueprint:
    """A strategy of a whole hold'em game, for every hand on every board.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> from subgame.blueprints.training import Trainer
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> trainer = Trainer(recipe)
    >>> trainer.advance(3)
    >>> blueprint = StoredBlueprint.of(trainer)
    >>> state = recipe.game.new_initial_state()
    >>> actions, probabilities = blueprint.range_strategy(state)
    >>> actions, probabilities.shape
    (('f', 'c', 'r400'), (66, 3))
    """

    def __init__(
        self,
        recipe: BlueprintRecipe,
        tree: BettingArrays,
        cards: CardBuckets,
        probabilities: Sequence[NDArray[Any]],
        card: Mapping[str, Any],
    ) -> None:
        self.recipe, self.tree, self.cards, self.game = recipe, tree, cards, recipe.game
        self.probabilities = probabilities
        """By street, [row, bucket]: units, or any numbers in proportion to probabilities."""
        self.card = dict(card)
        """What is known about the training and its result; see `CARD`."""
        self.path: Path | None = None
        """The file that it was loaded from."""
        self._found: dict[tuple[str, ...], int | None] = {}

    # Looking up.

    def decision(self, betting: Betting) -> int:
        """The decision after a betting sequence."""
        number = self.find(betting)
        if number is None:
            raise SubgameError(
                f"The blueprint {self.recipe.name} does not know the betting '{betting}'; its bets "
                f"are {self.recipe.bets}."
            )
        return number

    def find(self, betting: Betting) -> int | None:
        """The decision after a betting sequence; None if the blueprint does not know it."""
        key = betting.history
        if key not in self._found:
            self._found[key] = self.tree.find(betting)
        return self._found[key]

    def actions(self, betting: Betting) -> tuple[str, ...]:
        """What may be done after a betting sequence."""
        return self.tree.actions(self.decision(betting))

    def rows(self, decision: int) -> NDArray[Any]:
        """[action, bucket] the units of a decision."""
        s, row = int(self.tree.street[decision]), int(self.tree.row[decision])
        actions = int(self.tree.first[decision + 1] - self.tree.first[decision])
        return self.probabilities[s][row : row + actions]

    def range_strategy(self, state: Place) -> tuple[tuple[str, ...], Floats]:
        """The actions at a public state, and [hand, action] their probabilities.

        Rows of hands that the board blocks mean nothing.
        """
        decision = self.decision(state.betting)
        units = self.rows(decision)[:, self._buckets(state.board, decision)].astype(np.float64)
        total = units.sum(0)
        if not np.all(total > 0):
            raise self._damaged(state.betting)
        return self.tree.actions(decision), (units / total).T

    def _damaged(self, betting: Betting) -> SubgameError:
        return SubgameError(
            f"The blueprint {self.recipe.name} is damaged: it has no probabilities after "
            f"'{betting}'."
        )

    def _buckets(self, board: tuple[int, ...], decision: int) -> NDArray[np.int16]:
        return self.cards.of(board[: BOARD_CARDS[int(self.tree.street[decision])]])

    # Files.

    @classmethod
    def of(cls, trainer: Any, card: Mapping[str, Any] | None = None) -> StoredBlueprint:
        """The blueprint of a training: its average strategy, pruned and rounded."""
        engine, sigma = trainer.engine, trainer.strategy()
        shapes = zip(trainer.tree.rows, engine.counts, strict=True)
        out = [np.empty(shape, np.uint8) for shape in shapes]
        for group in trainer.tree.groups:
            part = engine.part(sigma, group)
            into = out[group.street][group.rows].reshape(part.shape)
            for at in range(0, len(part), AT_ONCE):
                some = slice(at, at + AT_ONCE)
                into[some] = rounded(part[some], trainer.recipe.prune)
        notes = {
            "iterations": trainer.iterations,
            "boards": trainer.iterations * trainer.recipe.boards,
            "seconds": round(trainer.seconds, 1),
            "device": trainer.device,
            "buckets": list(trainer.cards.counts),
        }
        out = [rows[:, :k] for rows, k in zip(out, trainer.cards.counts, strict=True)]
        cards = trainer.cards.with_flops(trainer.tables)
        return cls(trainer.recipe, trainer.tree, cards, out, {**notes, **(card or {})})

    def save(self, path: str | Path) -> None:
        """Write the file that `load` maps."""
        write_tensors(path, self.arrays(), self.head())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file."""
        out: dict[str, NDArray[Any]] = {**self.tree.stored(), **self.cards.stored()}
        out |= {f"street {s}": units for s, units in enumerate(self.probabilities)}
        return {name: np.ascontiguousarray(array) for name, array in out.items()}

    def head(self) -> dict[str, str]:
        """The text of the file."""
        recipe, card = json.dumps(self.recipe.as_dict()), json.dumps(self.card)
        return {"format": FORMAT, "recipe": recipe, "card": card}

    @classmethod
    def load(cls, path: str | Path | None = None) -> StoredBlueprint:
        """The blueprint in a file, by default the one that comes with the package."""
        head, arrays = read_tensors(path or DEFAULT, WANTED)
        if head.get("format") != FORMAT:
            raise SubgameError(f"{path or DEFAULT} is not {WANTED}.")
        with reading(path or DEFAULT, WANTED):
            recipe = BlueprintRecipe.of(json.loads(head["recipe"]))
            tree = BettingArrays.restored({name: np.asarray(arrays[name]) for name in STORED})
            deck, how = recipe.game.deck, recipe.clustering
            cards = CardBuckets.of_recipe(deck, recipe.buckets, how, arrays)
            probabilities = [arrays[f"street {s}"] for s in range(len(recipe.buckets))]
            _check(tree, cards, probabilities)
            made = cls(recipe, tree, cards, probabilities, dict(json.loads(head["card"])))
        made.path = Path(path or DEFAULT)
        measured = made.path.with_suffix(CARD)
        if measured.exists():
            with reading(measured, WANTED_CARD):
                more = json.loads(read_text(measured, WANTED_CARD))
                if more.pop("seconds of training") == made.card["seconds"]:  # not of an older one
                    made.card |= more
        return made

    def __repr__(self) -> str:
        return f"<StoredBlueprint {self.recipe.name}, {self.tree!r}, buckets={self.cards.counts}>"


def _check(tree: BettingArrays, cards: CardBuckets, probabilities: Sequence[NDArray[Any]]) -> None:
    """Raise an error unless every decision has probabilities in every bucket."""
    for street, count in enumerate(cards.counts):
        units = probabilities[street]  # its last columns may be of no bucket
        if units.dtype != np.uint8 or len(units) != tree.rows[street] or units.shape[1] < count:
            raise ValueError("probabilities are missing")


def rounded(sigma: NDArray[np.float32], prune: float) -> Bytes:
    """[decision, action, bucket] probabilities as units that add up to `UNITS` over the actions.

    Probabilities below `prune` become 0. What rounding down leaves goes to the largest remainders.

    >>> rounded(np.array([[[0.5], [0.4965], [0.0035]]], np.float32), 0.01).ravel().tolist()
    [128, 127, 0]
    """
    kept = np.where(sigma < prune, 0, sigma).astype(np.float64)
    exact = kept / kept.sum(1, keepdims=True) * UNITS
    units = np.floor(exact + 1e-9)
    short, left = units - exact, UNITS - units.sum(1)
    for action, row in enumerate(short.swapaxes(0, 1)):  # comparing rows is faster than sorting
        earlier = (short[:, :action] <= row[:, None]).sum(1, dtype=np.int8)
        later = (short[:, action + 1 :] < row[:, None]).sum(1, dtype=np.int8)
        units[:, action] += earlier + later < left
    out: Bytes = units.astype(np.uint8)
    return out
