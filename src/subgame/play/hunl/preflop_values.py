"""What each way to the flop is worth, in a table of a stored blueprint.

Brown, Sandholm & Amos 2018, Sec. 6: before the flop there are few hands and few ways to the flop,
so that what each is worth is computed once and kept. `PreflopValues` is that table. At each way to
the flop, for each pair of classes of hands, it has what a player wins who goes on by one of several
continuations, from one who goes on by the blueprint. `PreflopSums` computes it: on sampled boards
all betting is summed, exactly over all pairs of hands.

Hands that differ only by suit play alike before the flop, so all numbers are by class.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.compare import FRESH
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.engines.arrays import Array, as_kind, as_numpy
from subgame.errors import DAMAGED, ArgumentError, SubgameError, unreadable
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.ranges import class_of
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.below import Continuation, by_pair, more_of_each, what_follows
from subgame.spots.classes import preflop
from subgame.tree.files import check_finite, read_tensors, write_tensors
from subgame.tree.public_tree import both
from subgame.tree.ranges.betting_tree import grow_street

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Progress = Callable[[str, float], None]
FORMAT = "subgame-preflop-values-2"
WANTED = "a table of values before the flop"
SUFFIX = ".preflop.safetensors"
"""Of the table's file, beside that of its blueprint."""
UNITS = 127
"""Units of the largest value of a leaf, in a file."""
BOARDS = 1000
"""Boards of a table that is made when it is needed."""
WORK = 2e11
"""Products of numbers that may be computed then: about 10 seconds on one core."""


def leaves_of(blueprint: StoredBlueprint) -> list[Betting]:
    """The ways to the flop, where chips are left to bet."""
    game = blueprint.game
    return [leaf for leaf in grow_street(game, game.start()).leaves if not leaf.is_over]


def classes_of(blueprint: StoredBlueprint) -> NDArray[np.int64]:
    """[hand] the class of each hand of the deck."""
    return blueprint.cards.of(()).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PreflopValues:
    """What each way to the flop is worth for each pair of classes of hands.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> from subgame.blueprints.training import Trainer
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> table = PreflopValues.make(StoredBlueprint.of(Trainer(recipe)), 3)
    >>> table.boards, [str(leaf) for leaf in table.leaves], table.values.shape
    (3, ['cc/'], (2, 4, 1, 36, 36))
    """

    blueprint: StoredBlueprint
    values: Singles
    """[opponent, k, leaf, their class, our class] what the opponent wins, in pots."""
    ahead: Floats
    """[class, class] how often the first won on the boards, less how often the other one did."""
    boards: int

    @property
    def choices(self) -> int:
        """Continuations among which the opponent chooses."""
        return len(self.values[0])

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """[hand] by class."""
        return classes_of(self.blueprint)

    @cached_property
    def leaves(self) -> list[Betting]:
        """The ways to the flop."""
        return leaves_of(self.blueprint)

    @cached_property
    def pairs(self) -> Floats:
        """[class, class] how many pairs of their hands share no card."""
        member = np.eye(len(self.ahead))[self.classes]
        pairs: Floats = member.T @ self.blueprint.game.deck.disjoint @ member
        return pairs

    @cached_property
    def equity(self) -> Floats:
        """[class, class] how often the first wins, less how often the other one does."""
        deck = self.blueprint.game.deck
        if deck == DECK and self.blueprint.cards.showdown == BOARD_CARDS[-1]:  # exact
            first = np.unique(self.classes, return_index=True)[1]
            order = class_of(deck)[first]
            equity: Floats = 2 * preflop().equity[np.ix_(order, order)] - 1
            return equity
        return self.ahead

    def with_more(self, other: PreflopValues) -> PreflopValues:
        """The table with the continuations of another one as well."""
        return replace(self, values=np.concatenate([self.values, other.values], axis=1))

    # Files -------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the file that `load` reads: a byte a value."""
        head = {"format": FORMAT, "blueprint": digest(self.blueprint), "boards": str(self.boards)}
        scale = np.abs(self.values).max(axis=(3, 4), keepdims=True) / UNITS
        units = np.rint(self.values / np.maximum(scale, 1e-9)).astype(np.int8)
        arrays = {"values": units, "scale": scale, "ahead": self.ahead.astype(np.float32)}
        write_tensors(path, arrays, head)

    @classmethod
    def load(cls, path: str | Path, blueprint: StoredBlueprint) -> PreflopValues:
        """The table in a file, which must be that of the blueprint."""
        head, arrays = read_tensors(path, WANTED)
        if head.get("format") != FORMAT or head.get("blueprint") != digest(blueprint):
            raise SubgameError(
                f"{path} is not {WANTED} of the blueprint {blueprint.recipe.name}; delete it, or "
                "make it again by subgame blueprint --preflop."
            )
        try:
            values = np.asarray(arrays["values"], np.float32) * np.asarray(arrays["scale"])
            ahead, boards = np.asarray(arrays["ahead"], np.float64), int(head["boards"])
        except DAMAGED:
            raise unreadable(path, "is damaged", WANTED) from None
        check_finite(path, arrays, WANTED)
        made, wide = cls(blueprint, values, ahead, boards), int(classes_of(blueprint).max()) + 1
        fits = values.ndim == 5 and values.shape[:1] == (2,) and ahead.shape == (wide, wide)
        if not fits or values.shape[2:] != (len(made.leaves), wide, wide):
            raise unreadable(path, "is damaged", WANTED)
        return made

    @classmethod
    def make(
        cls,
        blueprint: StoredBlueprint,
        boards: int,
        *,
        seed: int = 0,
        trainer: Trainer | None = None,
        progress: Progress | None = None,
    ) -> PreflopValues:
        """A table of some boards, on the device of a `trainer` if there is one.

        The opponent has the blueprint and the biased ones to choose from. A board of the blueprint
        that comes with the package takes 16 seconds on one core, and is for a GPU.
        """
        if boards < 1:
            raise ArgumentError("boards", f"must be at least 1, not {boards}.")
        sums = PreflopSums(blueprint, more_of_each(blueprint), trainer)
        return sums.added(draw(blueprint, boards, seed, trainer), boards, progress)

    @staticmethod
    def beside(blueprint: StoredBlueprint) -> Path | None:
        """The file of the table beside that of the blueprint, if there is one."""
        path = None if blueprint.path is None else blueprint.path.with_suffix(SUFFIX)
        return path if path is not None and path.exists() else None

    @classmethod
    def of(cls, blueprint: StoredBlueprint) -> PreflopValues:
        """The table beside the blueprint's file, or one of some boards where that is soon made."""
        path = cls.beside(blueprint)
        if path is not None:
            return cls.load(path, blueprint)
        sums, hands = PreflopSums(blueprint, more_of_each(blueprint)), blueprint.game.deck.num_hands
        ends = sum(
            len(what_follows(blueprint, blueprint.decision(leaf)).stake) for leaf in sums.leaves
        )
        if BOARDS * ends * float(hands) ** 2 * 2 * len(sums.continuations) > WORK:
            raise SubgameError(
                f"A depth limit before the flop needs {WANTED} beside the blueprint "
                f"{blueprint.recipe.name}; subgame blueprint --preflop makes it."
            )
        return cls.make(blueprint, BOARDS)


def digest(blueprint: StoredBlueprint) -> str:
    """Which blueprint it is, by its strategy before the flop and its recipe."""
    first = np.ascontiguousarray(blueprint.probabilities[0]).tobytes()
    recipe = ", ".join(f"{name}={value!r}" for name, value in blueprint.recipe.as_dict().items())
    return f"{zlib.crc32(first + f'Recipe({recipe})'.encode()):08x}"


# Boards ------------------------------------------------------------------------------------------
class Seen(NamedTuple):
    """A whole board: for all hands of the deck their ranks and, by street, their buckets."""

    board: tuple[int, ...]
    ranks: Array
    buckets: Sequence[Array]


def draw(
    blueprint: StoredBlueprint, count: int, seed: int = 0, trainer: Trainer | None = None
) -> Iterator[Seen]:
    """Boards by chance; on the CPU all of them, if there are not more than `count`.

    On a GPU a `trainer` deals them and looks up their buckets.
    """
    if trainer is not None and trainer.device != "cpu":
        yield from itertools.islice(_dealt(trainer), count)
        return
    deck, cards = blueprint.game.deck, blueprint.cards
    sizes = BOARD_CARDS[: len(blueprint.probabilities)]
    if math.comb(deck.size, 3) * math.perm(deck.size - 3, sizes[-1] - 3) <= count:
        boards = [
            (*flop, *rest)
            for flop in itertools.combinations(range(deck.size), 3)
            for rest in itertools.permutations(set(range(deck.size)) - {*flop}, sizes[-1] - 3)
        ]
    else:
        keys = np.random.default_rng(seed).random((count, deck.size))
        boards = [tuple(board) for board in keys.argsort(1)[:, : sizes[-1]].tolist()]
    for board in boards:
        yield Seen(board, rank_hands(board, deck), [cards.of(board[:n]) for n in sizes])


def trainer_of(
    blueprint: StoredBlueprint,
    seed: int,
    device: str = "cpu",
    progress: Progress | None = None,
    **options: Any,
) -> Trainer:
    """A training of the blueprint's recipe, which deals boards and looks up buckets on a device."""
    recipe = replace(blueprint.recipe, seed=seed)
    return Trainer(recipe, device=device, cards=blueprint.cards, progress=progress, **options)


def _dealt(trainer: Trainer) -> Iterator[Seen]:
    """Boards on which nobody has learned and nothing is evaluated, on the trainer's device."""
    for k in itertools.count():
        boards = trainer.draw(3 * FRESH + k)
        ranks, buckets = trainer.look_up(boards)
        for b, board in enumerate(boards.tolist()):
            yield Seen(tuple(board), ranks[b], [street[b].long() for street in buckets])


# Sums --------------------------------------------------------------------------------------------
class _Followed(NamedTuple):
    """What follows a leaf, on the device, by player. Axis: z = terminal."""

    theirs: tuple[list[tuple[int, Array]], ...]  # street, [k, bucket, z] reach by continuation
    ours: tuple[list[tuple[int, Array]], ...]  # street, [1, bucket, z] reach by the blueprint
    chips: tuple[Array, ...]  # [z] what each player wins as the opponent
    folds: int  # the first terminals


class _Board(NamedTuple):
    """A board on the device. Axis: h, j = the hands that it leaves."""

    ahead: Array  # [h, j] 1 where h wins, -1 where j wins
    free: Array  # [h, j] 1 where they share no card
    member: Array  # [h, class]
    buckets: list[Array]  # by street [h]

    def by_class(self, table: Array) -> Floats:
        """[..., class, class] the sum of a table [..., h, j] over pairs that share no card."""
        return as_numpy(self.member.T @ (table * self.free) @ self.member)

    def reach(self, factors: list[tuple[int, Array]]) -> Array:
        """[k, hand, z] a player's reach of terminals, from its factors by street."""
        out: Array = 1
        for s, factor in factors:
            out = factor[:, self.buckets[s]] * out
        return out


class PreflopSums:
    """Sums over boards of what the ways to the flop pay, by continuation of the opponent.

    Numbers are multiplied by NumPy, or on the device of a `trainer`.
    """

    def __init__(
        self,
        blueprint: StoredBlueprint,
        continuations: Sequence[Continuation],
        trainer: Trainer | None = None,
    ) -> None:
        self.blueprint, self.continuations = blueprint, continuations
        self.put: Callable[[Any], Array] = np.asarray if trainer is None else trainer.put
        self.leaves, self.boards = leaves_of(blueprint), 0
        classes = classes_of(blueprint)
        n = int(classes.max()) + 1
        self.member = self.put(np.eye(n, dtype=np.float32)[classes])
        self.disjoint = self.put(blueprint.game.deck.disjoint.astype(np.float32))
        self.won = np.zeros((2, len(continuations), len(self.leaves), n, n))
        self.ahead, self.met = np.zeros((n, n)), np.zeros((n, n))

    @cached_property
    def _below(self) -> list[_Followed]:
        return [self._followed(leaf) for leaf in self.leaves]

    def _followed(self, leaf: Betting) -> _Followed:
        below = what_follows(self.blueprint, self.blueprint.decision(leaf))

        def factors(p: int, some: Sequence[Continuation]) -> list[tuple[int, Array]]:
            return [(s, self.put(factor)) for s, factor in below.factors(p, some)]

        some, plain = self.continuations, [Continuation(self.blueprint)]
        return _Followed(
            both(lambda p: factors(p, some)),
            both(lambda p: factors(p, plain)),
            both(lambda p: self.put(below.chips(p).astype(np.float32))),
            below.folds,
        )

    def added(
        self, seen: Iterable[Seen], boards: int, progress: Progress | None = None
    ) -> PreflopValues:
        """The table with what some boards pay as well; there are at most so many `boards`."""
        for one in seen:
            self._add(one)
            if progress is not None:
                progress("Values before the flop", self.boards / boards)
        return self.table()

    def table(self) -> PreflopValues:
        """The means."""
        pots = np.array([float(leaf.pot) for leaf in self.leaves])[:, None, None]
        met = np.maximum(self.met, 1)
        values = (self.won / met / pots).astype(np.float32)
        return PreflopValues(self.blueprint, values, self.ahead / met, self.boards)

    def _add(self, one: Seen) -> None:
        deck = self.blueprint.game.deck
        hands = self.put(np.flatnonzero(deck.compatible(one.board)))
        ranks = self.put(one.ranks)[hands]
        wins = as_kind(ranks[:, None] > ranks, self.member)
        buckets = [self.put(street)[hands] for street in one.buckets]
        free, member = self.disjoint[hands][:, hands], self.member[hands]
        board = _Board(wins - wins.T, free, member, buckets)
        for l, below in enumerate(self._below):
            for o in (0, 1):
                ours = board.reach(below.ours[1 - o])[0] * below.chips[o]
                theirs = board.reach(below.theirs[o])
                paid = by_pair(theirs, ours, below.folds, board.ahead)
                self.won[o, :, l] += board.by_class(paid)
        self.ahead += board.by_class(board.ahead)
        self.met += board.by_class(0 * board.ahead + 1)
        self.boards += 1
