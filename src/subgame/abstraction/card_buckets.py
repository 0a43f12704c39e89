"""`CardBuckets`: the bucket of each hand on any board, from a few numbers for each street.

* Before the flop: a bucket for each hand up to suit symmetry (169).
* On the last street: classes of a hand's score against a random hand, divided by thresholds.
* Between them: the distribution of that score over the boards to come, as quantiles. The squared
  distance of two rows of quantiles is the squared Wasserstein distance of the distributions; the
  nearest of the stored centres is the bucket.

Features are whole numbers and so are centres (in quarters), which makes buckets the same whatever
computes them: PyTorch, Numba, one board at a time or a table of all boards.

    >>> from subgame.games.holdem.cards import Deck
    >>> buckets = CardBuckets.fit(Deck("9TJQKA", "cd"), (None, 6, 6, 10), Recipe(FEATURES, seed=1))
    >>> buckets.counts
    (36, 6, 6, 8)
    >>> board = buckets.deck.parse("9c Td Jc Kc")
    >>> buckets.of(board).shape, buckets.of(board).max() < 6
    ((66,), np.True_)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.arrays import as_host
from subgame.abstraction.boards import BoardIndex
from subgame.abstraction.clustering import cluster
from subgame.abstraction.recipe import Recipe
from subgame.abstraction.strength_tables import QUANTILES, QUARTERS, Tables
from subgame.engines.arrays import Array
from subgame.errors import SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.isomorphism import count_classes, hand_permutations

Labels = NDArray[np.int16]
FEATURES = "quantiles"
"""What these buckets are made by, as a `Recipe` calls it."""
SAMPLE = 400_000
"""Hands that centres are found with, at most."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class CardBuckets:
    """Buckets of a deck's hands, street by street."""

    deck: Deck
    classes: Labels  # [hand] before the flop
    centres: tuple[NDArray[np.int16], ...]  # of the streets between, [bucket, quantile]
    thresholds: NDArray[np.int16]  # of the last street, ascending scores
    flops: Labels | None = None  # [canonical flop, hand]; None if the flop is computed when asked
    kept: dict[tuple[int, ...], Labels] = field(default_factory=dict)
    """Buckets of boards that were asked for."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of buckets on each street."""
        between = (len(centres) for centres in self.centres)
        return int(self.classes.max()) + 1, *between, len(self.thresholds) + 1

    @property
    def showdown(self) -> int:
        """Board cards at the showdown."""
        return BOARD_CARDS[len(self.centres) + 1]

    @classmethod
    def of_recipe(
        cls,
        deck: Deck,
        counts: Sequence[int | None],
        recipe: Recipe,
        arrays: Mapping[str, NDArray[Any]] | None = None,
        **options: Any,
    ) -> CardBuckets:
        """The buckets of a recipe: without loss, from the arrays of a file, or by `fit`."""
        if all(count is None for count in counts):
            return Lossless.of_deck(deck, len(counts))
        if arrays is None:
            return cls.fit(deck, counts, recipe, **options)
        made = cls.from_stored(deck, arrays)
        if len(made.counts) != len(counts):
            raise ValueError("there are buckets of other streets")
        return made

    @classmethod
    def fit(
        cls,
        deck: Deck,
        counts: Sequence[int | None],
        recipe: Recipe,
        *,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> CardBuckets:
        """Centres and thresholds for a number of buckets on each street but the first."""
        if recipe.features != FEATURES:
            raise SubgameError(
                f"Buckets that are computed board by board are made by {FEATURES}, not by "
                f"{recipe.features}."
            )
        last = len(counts) - 1
        maker = Tables.of(deck, BOARD_CARDS[last], device)
        rng, centres = np.random.default_rng(recipe.seed), []
        for street in range(1, last):
            if progress is not None:
                progress(f"Clustering hands of street {street}", street / last)
            rows = _sample(maker, BOARD_CARDS[street], rng)
            clusters = cluster(rows, int(counts[street] or 1), recipe, device=device)
            centres.append(np.rint(clusters.centres * QUARTERS).astype(np.int16))
        return cls.restored(deck, centres, _thresholds(maker, int(counts[last] or 1), rng))

    @classmethod
    def restored(
        cls,
        deck: Deck,
        centres: Sequence[NDArray[np.int16]],
        thresholds: NDArray[np.int16],
        flops: Labels | None = None,
    ) -> CardBuckets:
        """Buckets from the numbers of a file."""
        first = hand_permutations(deck).min(0)
        classes = np.unique(first, return_inverse=True)[1].astype(np.int16)
        return cls(deck, classes, tuple(centres), thresholds, flops)

    def stored(self) -> dict[str, NDArray[Any]]:
        """The arrays that a file keeps."""
        out = {f"centres {k}": centres for k, centres in enumerate(self.centres)}
        flops = {} if self.flops is None else {"flops": self.flops}
        return {**out, "thresholds": self.thresholds, **flops}

    @classmethod
    def from_stored(cls, deck: Deck, arrays: Mapping[str, NDArray[Any]]) -> CardBuckets:
        """Buckets from the arrays of `stored`."""
        names = sorted(name for name in arrays if name.startswith("centres"))
        centres = [np.asarray(arrays[name]) for name in names]
        thresholds, flops = np.asarray(arrays["thresholds"]), arrays.get("flops")
        if len(centres) > len(BOARD_CARDS) - 2 or any(
            street.ndim != 2 or street.shape[1] != QUANTILES or street.dtype != np.int16
            for street in centres
        ):
            raise ValueError("the centres of the buckets do not fit")
        if thresholds.ndim != 1 or thresholds.dtype != np.int16 or np.any(np.diff(thresholds) < 0):
            raise ValueError("the thresholds of the buckets do not fit")
        if flops is not None and not (centres and _fits(flops, deck, len(centres[0]))):
            raise ValueError("the buckets of the flops do not fit")
        return cls.restored(deck, centres, thresholds, flops)

    def with_flops(self, tables: Sequence[Array]) -> CardBuckets:
        """These buckets with a table of all flops, which would take long to compute one by one."""
        if not self.centres:
            return self
        return self.restored(self.deck, self.centres, self.thresholds, as_host(tables[1]))

    def of(self, board: Sequence[int]) -> Labels:
        """[hand] the bucket of each hand on a board; -1 where it is blocked."""
        key = tuple(sorted(int(card) for card in board))
        labels = self.kept.get(key)
        if labels is None:
            if len(self.kept) >= 1 << 14:
                self.kept.clear()
            labels = self.kept[key] = self._computed(key)
        return labels

    def _computed(self, board: tuple[int, ...]) -> Labels:
        street = BOARD_CARDS.index(len(board))
        if street == 0:
            return self.classes
        if street == 1 and self.flops is not None:
            index = BoardIndex.of(self.deck, 3)
            row, images = index.rows(np.array([board]))
            out: Labels = self.flops[row[0], images[0]].astype(np.int16)
            return out
        maker = Tables.of(self.deck, self.showdown, None)
        features = maker.one(board)
        if len(board) == self.showdown:
            of = np.searchsorted(self.thresholds, features, side="right")
            return np.where(features < 0, -1, of).astype(np.int16)
        free = self.deck.compatible(board)
        labels: Labels = maker.labels(features[free], self.centres[street - 1])
        out = np.full(len(free), -1, np.int16)
        out[free] = labels
        return out

    def of_hand(self, board: Sequence[int], hand: int) -> int:
        """The bucket of a hand that the board does not block, sooner than those of all hands.

        >>> from subgame.games.holdem.cards import Deck
        >>> deck = Deck("9TJQKA", "cd")
        >>> buckets = CardBuckets.fit(deck, (None, 6, 6, 10), Recipe(FEATURES, seed=1))
        >>> board, hand = deck.parse("9c Td Jc Kc"), deck.parse_hand("AcQc")
        >>> bool(buckets.of_hand(board, hand) == buckets.of(board)[hand])
        True
        """
        key = tuple(sorted(board))
        if not key or key in self.kept:
            return int(self.of(key)[hand])
        if len(key) == BOARD_CARDS[1] and self.flops is not None:
            return int(self.flops[BoardIndex.of(self.deck, len(key)).row(key, hand)])
        maker = Tables.of(self.deck, self.showdown, None)
        if len(key) == self.showdown:
            return int(np.searchsorted(self.thresholds, maker.score(key, hand), side="right"))
        return maker.label(key, hand, self.centres[BOARD_CARDS.index(len(key)) - 1])

    def tables(self, device: str | None = None, progress: Progress | None = None) -> list[Array]:
        """By street, [canonical board, hand] the buckets, -1 if blocked; and the ranks at the end.

        NumPy's arrays, or PyTorch's on a device.
        """
        maker, out = Tables.of(self.deck, self.showdown, device), [self.classes[None]]
        streets = len(self.counts)
        for street in range(1, streets - 1):
            if progress is not None:
                progress(f"Buckets of street {street}", street / streets)
            boards = BoardIndex.of(self.deck, BOARD_CARDS[street]).boards
            out.append(maker.table(boards, self.centres[street - 1]))
        out.append(maker.by_score(self.thresholds))
        return [*out, maker.ranks]


def _fits(flops: NDArray[Any], deck: Deck, buckets: int) -> bool:
    """Whether an array has a bucket, or -1, for each hand on each flop up to suit symmetry."""
    shape = (count_classes((BOARD_CARDS[1],), deck), deck.num_hands)
    return flops.shape == shape and flops.min() >= -1 and flops.max() < buckets


@dataclass(frozen=True, eq=False)
class Lossless(CardBuckets):
    """A bucket for every hand on every board, but for the names of suits and the order of cards.

    >>> from subgame.games.holdem.cards import Deck
    >>> Lossless.of_deck(Deck("JQKA", "hs"), 2).counts
    (16, 280)
    """

    streets: int = 2

    @classmethod
    def of_deck(cls, deck: Deck, streets: int) -> Lossless:
        """The buckets of so many streets."""
        plain = cls.restored(deck, (), np.zeros(0, np.int16))
        return cls(deck, plain.classes, (), plain.thresholds, streets=streets)

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(int(table.max()) + 1 for table in self._numbers[:-1])

    @property
    def showdown(self) -> int:
        return BOARD_CARDS[self.streets - 1]

    def tables(self, device: str | None = None, progress: Progress | None = None) -> list[Array]:
        maker, out = Tables.of(self.deck, self.showdown, device), [self.classes[None]]
        for street in range(1, self.streets):
            boards = BoardIndex.of(self.deck, BOARD_CARDS[street]).boards
            free = np.array([self.deck.compatible(board) for board in boards])
            number = np.cumsum(free.ravel(), dtype=np.int32).reshape(free.shape) - 1
            out.append(np.where(free, number, -1))
        return [*out, maker.ranks]

    def with_flops(self, tables: Sequence[Array]) -> CardBuckets:
        return self

    def _computed(self, board: tuple[int, ...]) -> Labels:
        if not board:
            return self.classes
        row, images = BoardIndex.of(self.deck, len(board)).rows(np.array([board]))
        labels: Labels = self._numbers[BOARD_CARDS.index(len(board))][row[0], images[0]]
        return labels

    @cached_property
    def _numbers(self) -> list[Array]:
        return self.tables()

    def of_hand(self, board: Sequence[int], hand: int) -> int:
        return int(self.of(board)[hand])


def _sample(maker: Tables, cards: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Rows of quantiles of hands on boards, drawn by how often they occur."""
    index = BoardIndex.of(maker.deck, cards)
    if len(index.boards) > 1024:
        share = index.weight / index.weight.sum()
        chosen = np.sort(rng.choice(len(index.boards), 1024, replace=False, p=share))
        weight = np.ones(len(chosen))
    else:
        chosen, weight = np.arange(len(index.boards)), index.weight.astype(np.float64)
    boards = index.boards[chosen]
    free = np.array([maker.deck.compatible(board) for board in boards])
    rows = as_host(maker.quantiles(boards))
    mass = np.broadcast_to(weight[:, None], free.shape)[free]
    some = rng.choice(len(mass), min(SAMPLE, len(mass)), p=mass / mass.sum())
    drawn: NDArray[np.float32] = rows[free][some].astype(np.float32)
    return drawn


def _thresholds(maker: Tables, count: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Scores that divide hands on whole boards into at most `count` classes of similar mass."""
    index = maker.index
    share = index.weight / index.weight.sum()
    chosen = rng.choice(len(index.boards), min(4096, 4 * len(index.boards)), p=share)
    scores = as_host(maker.scores[chosen])
    live = np.sort(scores[scores >= 0])
    bounds = np.unique(live[(np.arange(1, count) * len(live)) // count])
    ascending: NDArray[np.int16] = bounds[bounds > live[0]].astype(np.int16)
    return ascending
