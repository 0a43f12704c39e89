"""Rounding of stored numbers, the same on every device: dither, and stochastic rounding to 16 bits.

After t iterations a sum is t times what an iteration adds. Rounded to nearest, float32 makes the
same error of up to half of its last bit on every iteration, so that the relative error of an
average grows with t. Two measures keep it at a few last bits however long a run is:

- A factor close to 1 is applied as ``S <- S + (fade S + x)`` with ``fade = factor - 1``: the small
  product is not rounded to the last bit of S.
- *Dither*: on every iteration a random number about the size of the last bit, relative to S, is
  added to `fade`. It decorrelates the rounding errors, and has no other effect: it multiplies all
  numbers of an iteration by the same factor. The numbers are a low-discrepancy sequence, so that
  the errors of t iterations add up to about log(t) last bits, not to sqrt(t).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TOP = 32766
"""The integer of the largest number: one less than the maximum, because rounding up may add one."""
LEAST = 1e-30
"""The smallest value that is taken as the largest number; it keeps the scale of zeros positive."""
MIX = ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1))
"""Shifts and factors of the hash that makes a random number of an index and an iteration. All are
below 2^31, so that Triton takes them as 32-bit integers."""
GOLDEN = (5**0.5 - 1) / 2
LAST_BIT = 2.0**-24
"""Half to one last bit of a float32 number, relative to the number."""
WIDTH = 9
"""Columns of `dithered`."""
WINDOW = 4096
"""Iterations that an average in 16 bits reaches back, at most. What a later iteration adds to a
longer one is so much less than the last bit that stochastic rounding adds more noise than news."""
RESOLUTION = {"float32": 1e-6, "int16": 1e-4, "bfloat16": 1e-3}
"""The least exploitability that each storage can hold, as a share of the pot."""


def dithered(discounts: Floats, begin: int, storage: str = "float32") -> Floats:
    """[t, 9] the rates of range engines, from the schedule's ``discounts`` ``[t, 3]``.

    (positive, negative, kept, earlier iterations), then how kernels apply the first three, as
    ``base S + (fade S + x)``: base and base of positive and negative regrets, 1 or 0, their two
    fades, and the fade of the average, whose base is 1.
    """
    before = np.arange(begin - 1, begin - 1 + len(discounts), dtype=np.float64)
    share = ((before + 0.5) * GOLDEN) % 1
    dither = LAST_BIT * np.log(share / (1 - share))  # logistic: rounding errors then have mean 0
    factors = discounts.copy()
    if storage != "float32":
        factors[:, 2] = np.minimum(factors[:, 2], 1 - 1 / WINDOW)
    base = (factors >= 0.5).astype(np.float64)  # smaller factors lose nothing to rounding
    base[:, 2] = 1
    fade = factors - base + base * dither[:, None]
    return np.column_stack([discounts, before, base[:, :2], fade])
