"""Numbers in sixteen bits: integers with a scale for every `LANES` of them.

The greatest of the sixteen hands of an action that stand together is `TOP`, so that numbers which
matter keep four digits. Kernels round by chance, which place and iteration decide: runs repeat.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.rounding import LEAST, TOP
from subgame.tree.ranges.betting_tree import LANES


class Int16Numbers:
    """A flat array of `size` numbers, for kernels to read and write; others see float32."""

    def __init__(self, size: int) -> None:
        self.ints = np.zeros(size, dtype=np.int16)
        self.scales = np.zeros(-(-size // LANES), dtype=np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        numbers = self.ints * np.repeat(self.scales, LANES)[: len(self)]
        return numbers.astype(dtype or np.float32, copy=False)

    def __setitem__(self, every: slice, values: NDArray[Any]) -> None:
        """``halves[:] = values`` rounds them to the nearest."""
        assert every == slice(None)
        rows = np.zeros((len(self.scales), LANES), dtype=np.float32)
        rows.ravel()[: len(self)] = values
        self.scales[:] = np.maximum(np.abs(rows).max(1), LEAST) / np.float32(TOP)
        self.ints[:] = np.rint(rows / self.scales[:, None]).ravel()[: len(self)]

    @property
    def shape(self) -> tuple[int]:
        return self.ints.shape

    @property
    def nbytes(self) -> int:
        return self.ints.nbytes + self.scales.nbytes

    def __len__(self) -> int:
        return len(self.ints)

    def copy(self) -> Int16Numbers:
        made = Int16Numbers(len(self))
        made.ints[:], made.scales[:] = self.ints, self.scales
        return made
