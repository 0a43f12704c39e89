"""`Rows`: sums of chosen numbers, and payoffs of a tree's terminals, without atomics.

Adding into places in whatever order threads come would give other last bits on every run. Here
every sum gathers what belongs to it, in a fixed order: the same inputs give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.torch.runtime import load_torch
from subgame.tree.sequence.tree import Group, SequenceTree

Floats = NDArray[np.float64]
Ints = NDArray[Any]
Tensor = Any
Put = Callable[[NDArray[Any]], Tensor]
"""Takes an array to the device."""
WIDER = 4
"""By how much the longest row of a bucket may exceed the shortest: fewer kernels, more padding."""
DENSE = 1 << 20
"""Entries from which on a group of terminals is a matrix product rather than a list."""
FILL = 1 / 8
"""The share of entries that are not zero, from which on it is worth that."""


class Rows:
    """``out[r]`` is the sum over the entries of row r of ``weight * source[index]``.

    Rows with about equally many entries form a bucket ``[entry, row]``, padded by weights of 0.
    """

    def __init__(
        self, put: Put, row: Ints, index: Ints, rows: int, weight: Floats | None = None
    ) -> None:
        self.torch = load_torch()
        order = np.argsort(row, kind="stable")
        count = np.bincount(row, minlength=rows)
        start = np.cumsum(count) - count
        index = index[order]
        value = np.ones(len(index)) if weight is None else weight[order]
        self.buckets: list[tuple[Tensor, Tensor | None, tuple[int, int]]] = []
        place, done, longest = np.full(rows, 0), 0, 1
        while longest < WIDER * count.max(initial=0):
            here = np.flatnonzero((count > longest // WIDER) & (count <= longest))
            longest *= WIDER
            if not len(here):
                continue
            shape = (int(count[here].max()), len(here))
            at = start[here] + np.arange(shape[0])[:, None]
            real = np.arange(shape[0])[:, None] < count[here]
            at = np.where(real, at, 0)
            full = weight is None and bool(real.all())
            weights = None if full else put(np.where(real, value[at], 0.0))
            self.buckets.append((put(index[at].ravel().astype(np.int32)), weights, shape))
            place[here] = done + np.arange(len(here))
            done += len(here)
        place[count == 0] = done  # where a zero stands
        self.place, self.zero = put(place.astype(np.int32)), put(np.zeros(1))

    def __call__(self, source: Tensor) -> Tensor:
        """[row] the sums."""
        parts = []
        for index, weight, shape in self.buckets:
            chosen = source.index_select(0, index).view(shape)
            parts.append((chosen if weight is None else chosen * weight).sum(0))
        return self.torch.cat([*parts, self.zero]).index_select(0, self.place)


def is_dense(entries: Any, cells: Any, lanes: Any) -> Any:
    """Whether a group of terminals, or each of several, is a matrix product rather than a list."""
    return (entries >= FILL * cells) & (entries * lanes >= DENSE)


class Product:
    """The lanes of one group of terminals as a matrix product."""

    def __init__(self, put: Put, group: Group, player: int) -> None:
        matrix = np.zeros((len(group.row_sequence), len(group.col_sequence)))
        matrix[group.row, group.col] = group.value
        rows, cols = group.row_sequence.ravel(), group.col_sequence.ravel()
        self.out, into = (rows, cols) if player == 0 else (cols, rows)
        self.matrix = put(matrix if player == 0 else -matrix.T)
        self.into, self.scale, self.lanes = put(into), put(group.scale), len(group.scale)

    def __call__(self, reach: Tensor) -> Tensor:
        """[row, lane] flat: what each touched sequence gets."""
        came = reach.index_select(0, self.into).view(-1, self.lanes) * self.scale
        return (self.matrix @ came).view(-1)


class Payoffs:
    """What the terminals pay one player against the opponent's reach: v0 = M r1, v1 = -M' r0."""

    def __init__(self, put: Put, tree: SequenceTree, player: int) -> None:
        size = tree.players[player].num_sequences
        self.torch = load_torch()
        self.products: list[Product] = []
        lists = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
        for group in map(tree.group, range(len(tree.terminals.rows))):
            cells, lanes = len(group.row_sequence) * len(group.col_sequence), len(group.scale)
            if is_dense(len(group.row), cells, lanes):
                self.products.append(Product(put, group, player))
                continue
            _, row, col, value = group.entries
            lists.append((row, col, value) if player == 0 else (col, row, -value))
        out, into, paid = (np.concatenate(part) for part in zip(*lists, strict=True))
        self.listed = Rows(put, out, into, size, paid)
        if self.products:
            touched = np.concatenate([part.out for part in self.products])
            self.touched = Rows(put, touched, np.arange(len(touched)), size)

    def __call__(self, reach: Tensor) -> Tensor:
        """[q] the player's values where the game ends."""
        result = self.listed(reach)
        if not self.products:
            return result
        return result + self.touched(self.torch.cat([part(reach) for part in self.products]))
