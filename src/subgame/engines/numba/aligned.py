"""Arrays that start at a cache line, so that a vector of sixteen numbers lies in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.native import address

LINE = 64
"""Bytes of a cache line."""


def zeros(size: int, dtype: Any) -> NDArray[Any]:
    """A flat array of zeros whose first number is the first of a cache line.

    >>> [zeros(size, np.float32).ctypes.data % LINE for size in (1, 1000, 1_000_000)]
    [0, 0, 0]
    """
    whole = np.zeros(size + LINE // np.dtype(dtype).itemsize, dtype=dtype)
    first = -address(whole) % LINE // whole.itemsize
    return whole[first : first + size]
