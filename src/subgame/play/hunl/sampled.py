"""Means over sampled boards to come, corrected by how lucky hands are on these boards.

How often a hand wins against another one is known on all boards; how often it wins on the sampled
ones differs. This difference, the luck of the sample, explains a part of the error of every other
mean over the same boards. So it is taken as a control variate (Glynn & Szechtman 2002): the part
is estimated by regression from board to board, and taken away. It depends on how strong hands are:
strong hands play for large pots.

Axes: k = continuation, b and c = buckets of the opponent and of us, f = shape of the luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
RIDGE = 0.01
"""How much luck of which nothing is known is thought to matter less, as a share of its square."""


class Control(NamedTuple):
    """What is known on all boards to come."""

    equity: Singles  # [b, c] how often b wins minus how often c does
    shapes: Singles  # [f, b, c] how the effect of luck may depend on buckets

    @classmethod
    def of(cls, won: Singles, pairs: Singles) -> Control:
        """From what buckets win from each other [b, c], over so many pairs of hands."""
        equity: Singles = (won / np.maximum(pairs, 1)).astype(np.float32)
        one = np.ones_like(equity)
        x = one * (won.sum(1) / np.maximum(pairs.sum(1), 1))[:, None]
        y = one * (won.sum(0) / np.maximum(pairs.sum(0), 1))
        shapes: Singles = np.stack([one, x, y, x * x, x * y, y * y]).astype(np.float32)
        return cls(equity, shapes)

    @classmethod
    def unknown(cls, rows: int, columns: int) -> Control:
        """Nothing is known; then means are not corrected."""
        return cls(np.zeros((rows, columns), np.float32), np.zeros((0, rows, columns), np.float32))


class Board(NamedTuple):
    """What happened on a sampled board, for all leaves."""

    pairs: Singles  # [b, c] pairs of hands
    luck: Singles  # [b, c] how much more b won than on all boards, on average over pairs
    squares: Floats  # [f, g] the products of the luck's shapes, over all pairs

    @classmethod
    def of(cls, won: Singles, pairs: Singles, control: Control) -> Board:
        """From what buckets won from each other [b, c], over so many pairs of hands."""
        luck: Singles = (won / np.maximum(pairs, 1) - control.equity).astype(np.float32)
        return cls(pairs, luck, _squares(control.shapes, luck, pairs))


@dataclass(eq=False)
class Mean:
    """What a leaf pays on average."""

    won: Any = 0.0
    """[k, b, c] what the opponent wins, over all boards and pairs of hands."""
    pairs: Any = 0.0
    """[b, c] how many pairs of hands that are."""
    luck: Any = 0.0
    """[b, c] the luck, over all boards and pairs."""
    squares: Any = 0.0
    """[f, g] the products of the luck's shapes."""
    products: Any = 0.0
    """[k, f] the products of what is won with the luck's shapes."""
    boards: int = 0

    def add(self, won: Singles, board: Board, shapes: Singles) -> None:
        """Add a board, where the opponent wins so much, [k, b, c] over all pairs."""
        self.won, self.pairs = self.won + won, self.pairs + board.pairs
        self.luck = self.luck + board.luck * board.pairs
        self.squares = self.squares + board.squares
        self.products = self.products + _products(won, board.luck, shapes)
        self.boards += 1

    def values(self, shapes: Singles) -> Singles:
        """[k, b, c] the mean over pairs of hands, without the luck."""
        pairs = np.maximum(self.pairs, 1)
        luck = self.luck / pairs
        # Regression of changes from board to board: both sums less those of the means.
        squares = self.squares - _squares(shapes, luck, self.pairs)
        products = self.products - _products(self.won, luck, shapes)
        squares += np.diag(RIDGE * np.diag(self.squares) + np.finfo(np.float32).tiny)
        effect = np.linalg.solve(squares, products.T).T.astype(np.float32)
        values: Singles = self.won / pairs - np.tensordot(effect, shapes, 1) * luck
        return values


def _squares(shapes: Singles, luck: Singles, pairs: Singles) -> Floats:
    """[f, g] the sums over pairs of hands of the squared luck times two shapes."""
    flat = shapes.reshape(len(shapes), luck.size)
    squares: Floats = ((flat * (pairs * luck * luck).ravel()) @ flat.T).astype(np.float64)
    return squares


def _products(won: Singles, luck: Singles, shapes: Singles) -> Floats:
    """[k, f] the sums of what is won times the luck and a shape."""
    flat = (won * luck).reshape(len(won), -1)
    products: Floats = (flat @ shapes.reshape(len(shapes), luck.size).T).astype(np.float64)
    return products
