"""Arrays that start at a cache line, so that a vector of sixteen numbers lies in one."""

from __future__ import annotations

from itertools import count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.native import address

LINE, PAGE = 64, 4096
"""Bytes of a cache line and of a page."""
STEP = 25
"""Lines from the start of one large array to that of the next, modulo a page: as far as possible
from those of the last few. A processor of x86_64 takes a load for one of what was just stored if
both have the same place in their pages."""
_made = count()
Number = TypeVar("Number", bound=np.number)


def zeros(size: int, dtype: type[Number]) -> NDArray[Number]:
    """A flat array of zeros whose first number is the first of a cache line.

    >>> [zeros(size, np.float32).ctypes.data % LINE for size in (1, 1000, 1_000_000)]
    [0, 0, 0]
    """
    width = np.dtype(dtype).itemsize
    unit, start = (PAGE, next(_made) * STEP * LINE) if size * width >= PAGE else (LINE, 0)
    whole = np.zeros(size + unit // width, dtype=dtype)
    first = (start - address(whole)) % unit // width
    return whole[first : first + size]
