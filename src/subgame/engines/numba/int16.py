"""16-bit storage: integers with one scale for every `LANES` of them.

The scale maps the largest of `LANES` neighbouring hands of an action to `TOP`, so large numbers
keep four digits. Kernels round stochastically. The random number depends only on the index and the
iteration, so runs are reproducible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from subgame.engines.numba.aligned import zeros
from subgame.engines.rounding import LEAST, TOP
from subgame.tree.public_tree import Reals
from subgame.tree.ranges.betting_tree import LANES


class Int16Numbers:
    """A flat array of `size` numbers: int16 with scales for kernels, float32 for other code."""

    def __init__(self, size: int) -> None:
        self.ints = zeros(size, np.int16)
        self.scales = zeros(-(-size // LANES), np.float32)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Reals:
        numbers: Reals = self.ints * np.repeat(self.scales, LANES)[: len(self)]
        return numbers.astype(dtype or np.float32, copy=False)

    def __setitem__(self, every: slice, values: Reals) -> None:
        """``numbers[:] = values`` rounds to nearest."""
        assert every == slice(None)
        rows = np.zeros((len(self.scales), LANES), dtype=np.float32)
        rows.ravel()[: len(self)] = values
        self.scales[:] = np.maximum(np.abs(rows).max(1), LEAST) / np.float32(TOP)
        self.ints[:] = np.rint(rows / self.scales[:, None]).ravel()[: len(self)]

    @property
    def shape(self) -> tuple[int]:
        return self.ints.shape

    def __len__(self) -> int:
        return len(self.ints)

    def copy(self) -> Int16Numbers:
        made = Int16Numbers(len(self))
        made.ints[:], made.scales[:] = self.ints, self.scales
        return made
