"""`Tables`: scores and quantiles of all hands on all boards, by which blueprints' buckets are made.

A *score* is how a hand does against a random one on a whole board. Before the last street a hand
has the quantiles of its scores over the boards to come, in whole numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.boards import BoardIndex
from subgame.engines.arrays import Array
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.isomorphism import hand_permutations

Labels = NDArray[np.int16]
QUANTILES = 8
QUARTERS = 4
"""Centres are multiples of a quarter of a bin."""


def places(deck: Deck, cards: int, showdown: int) -> list[int]:
    """Which of a hand's sorted boards to come are its quantiles."""
    many = math.comb(deck.size - cards - 2, showdown - cards)
    return [(2 * k + 1) * many // (2 * QUANTILES) for k in range(QUANTILES)]


def to_come(deck: Deck, boards: NDArray[np.int64], showdown: int) -> NDArray[np.int64]:
    """[board, board to come, card] the whole boards that may follow boards ``[board, card]``."""
    left = np.ones((len(boards), deck.size), dtype=np.bool_)
    np.put_along_axis(left, boards, False, axis=1)
    cards = np.nonzero(left)[1].reshape(len(boards), -1)
    more = showdown - boards.shape[1]
    added = cards[:, _chosen(cards.shape[1], more)]
    before = np.broadcast_to(boards[:, None], (*added.shape[:2], boards.shape[1]))
    return np.concatenate([before, added], axis=2)


@lru_cache(maxsize=8)
def _chosen(cards: int, more: int) -> NDArray[np.int64]:
    return np.array(list(itertools.combinations(range(cards), more)), dtype=np.int64)


class Tables:
    """Scores of all hands on all whole boards, by Numba on the CPU; made when first asked for."""

    def __init__(self, deck: Deck, showdown: int) -> None:
        self.deck, self.showdown = deck, showdown
        self.most = 2 * math.comb(deck.size - showdown - 2, 2)

    @staticmethod
    @lru_cache(maxsize=4)
    def of(deck: Deck, showdown: int, device: str | None) -> Tables:
        """The tables by Numba, or by PyTorch on a device (``"torch"`` is the CPU)."""
        if device in (None, "cpu"):
            return Tables(deck, showdown)
        return TorchTables(deck, showdown, "cpu" if device == "torch" else str(device))

    @property
    def index(self) -> BoardIndex:
        return BoardIndex.of(self.deck, self.showdown)

    @cached_property
    def ranks(self) -> Array:
        """[canonical whole board, hand]"""
        boards = self.index.boards
        out = np.empty((len(boards), self.deck.num_hands), np.int16)
        for at in range(0, len(boards), 512):
            out[at : at + 512] = rank_hands(boards[at : at + 512], self.deck)
        return self._put(out)

    @cached_property
    def scores(self) -> Array:
        """[canonical whole board, hand]"""
        return self._scored(self.ranks)

    @cached_property
    def bins(self) -> Array:
        """[canonical whole board, hand] scores as bytes."""
        return self._binned(self.scores)

    def quantiles(self, boards: NDArray[np.int64]) -> Array:
        """[board, hand, quantile] of boards before the last street."""
        come = self.index.combination(to_come(self.deck, boards, self.showdown))
        at = places(self.deck, boards.shape[1], self.showdown)
        return self._quantiles(self.index.form[come], self.index.permutation[come], self.bins, at)

    def features(self, boards: NDArray[np.int64]) -> Array:
        """[board, hand, quantile] of boards before the last street; on it one number, the score."""
        if boards.shape[1] < self.showdown:
            return self.quantiles(boards)
        row, images = self.index.rows(boards)
        return self.bins[row.astype(np.int64)[:, None], images][..., None]

    def table(self, boards: NDArray[np.int64], centres: NDArray[np.int16]) -> Array:
        """[board, hand] the nearest centres; -1 where the board blocks the hand."""
        out = self._put(np.full((len(boards), self.deck.num_hands), -1, np.int16))
        for at in range(0, len(boards), 64):
            some = slice(at, at + 64)
            free = self._put(np.array([self.deck.compatible(board) for board in boards[some]]))
            out[some][free] = self.labels(self.quantiles(boards[some])[free], centres)
        return out

    def one(self, board: Sequence[int]) -> Array:
        """[hand] scores on a whole board, or [hand, quantile] on one before; without a table."""
        from subgame.engines.numba import strengths

        scores = strengths.scores(self._recent(tuple(map(int, board))), self.deck)
        if len(board) == self.showdown:
            return scores[0]
        bins = np.sort(strengths.score_bins(scores, self.most), axis=0)
        at = places(self.deck, len(board), self.showdown)
        return np.ascontiguousarray(bins[at].T)

    def score(self, board: tuple[int, ...], hand: int) -> int:
        """The score of one hand on a whole board."""
        from subgame.engines.numba import strengths

        return strengths.hand_score(self._recent(board)[0], hand, self.deck)

    def label(self, board: tuple[int, ...], hand: int, centres: NDArray[np.int16]) -> int:
        """The centre that is nearest to the quantiles of one hand on a board before the last."""
        from subgame.engines.numba import strengths

        at = places(self.deck, len(board), self.showdown)
        quantiles = strengths.hand_quantiles(self._recent(board), hand, self.deck, self.most, at)
        return int(strengths.nearest(quantiles[None], centres, QUARTERS)[0])

    @cached_property
    def _recent(self) -> Callable[[tuple[int, ...]], Labels]:
        """[board to come, hand] the ranks after a board; both players' hands need the same."""
        from subgame.engines.numba import strengths

        def ranked(board: tuple[int, ...]) -> Labels:
            here = np.array([board], dtype=np.int64)
            whole = len(board) == self.showdown
            come = here if whole else to_come(self.deck, here, self.showdown)[0]
            return strengths.ranks(come, self.deck)

        return lru_cache(maxsize=4)(ranked)

    # What depends on the library.

    def _put(self, array: NDArray[np.generic]) -> Array:
        return array

    def _scored(self, ranks: Array) -> Array:
        from subgame.engines.numba import strengths

        out = np.empty_like(ranks)
        for at in range(0, len(ranks), 1024):
            out[at : at + 1024] = strengths.scores(ranks[at : at + 1024], self.deck)
        return out

    def _binned(self, scores: Array) -> Array:
        from subgame.engines.numba import strengths

        out = np.empty(scores.shape, np.uint8)
        for at in range(0, len(scores), 1024):
            out[at : at + 1024] = strengths.score_bins(scores[at : at + 1024], self.most)
        return out

    def _quantiles(self, form: Array, permutation: Array, bins: Array, at: list[int]) -> Array:
        from subgame.engines.numba import strengths

        rows = np.stack([form, permutation], axis=-1).astype(np.int32)
        return strengths.quantiles(rows, hand_permutations(self.deck), bins, at)

    def labels(self, features: Array, centres: NDArray[np.int16]) -> Array:
        """[point] the nearest centre of each row of quantiles."""
        from subgame.engines.numba import strengths

        return strengths.nearest(features, centres, QUARTERS)

    def by_score(self, thresholds: NDArray[np.int16]) -> Array:
        """[canonical whole board, hand] the classes of scores."""
        labels = np.searchsorted(thresholds, self.scores.ravel(), side="right").astype(np.int16)
        return np.where(self.scores < 0, np.int16(-1), labels.reshape(self.scores.shape))


class TorchTables(Tables):
    """Tables by PyTorch, on its device."""

    def __init__(self, deck: Deck, showdown: int, device: str) -> None:
        from subgame.engines.torch.strengths import TorchStrengths

        super().__init__(deck, showdown)
        self.made = TorchStrengths(deck, device)

    def _put(self, array: NDArray[np.generic]) -> Array:
        return self.made.torch.as_tensor(array, device=self.made.device)

    def _scored(self, ranks: Array) -> Array:
        return self.made.scores(ranks)

    def _binned(self, scores: Array) -> Array:
        return self.made.bins(scores, self.most)

    def _quantiles(self, form: Array, permutation: Array, bins: Array, at: list[int]) -> Array:
        return self.made.quantiles(form, permutation, bins, at)

    def labels(self, features: Array, centres: NDArray[np.int16]) -> Array:
        return self.made.nearest(QUARTERS * features.double(), centres)

    def by_score(self, thresholds: NDArray[np.int16]) -> Array:
        torch = self.made.torch
        bounds = torch.tensor(thresholds, device=self.made.device)  # of a file: read-only
        labels = torch.searchsorted(bounds, self.scores, right=True).to(torch.int16)
        return labels.masked_fill(self.scores < 0, -1)
