"""Rounding of stored numbers, the same on every device: dither, and stochastic rounding to 16 bits.

After t iterations a sum is t times what an iteration adds. Rounded to nearest, float32 makes the
same error of up to half of its last bit on every iteration, so that the relative error of an
average grows with t. Three measures keep it at some last bits however long a run is:

- A factor close to 1 is applied as ``S <- S + (fade S + x)`` with ``fade = factor - 1``: the small
  product is not rounded to the last bit of S.
- *Dither*: on every iteration a random number about the size of the last bit, relative to S, is
  added to `fade`. It decorrelates the rounding errors, and has no other effect: it multiplies all
  numbers of an iteration by the same factor. The numbers are a low-discrepancy sequence, which
  leaves a tenth of the error that independent random numbers leave.
- Averages reach back over at most `WINDOW` iterations.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TOP = 32766
"""The integer of the largest number: one less than the maximum, because rounding up may add one."""
LEAST = 1e-30
"""The smallest value that is taken as the largest number; it keeps the scale of zeros positive."""
CANCELLED = 32
"""Values at terminals are differences of sums over the opponent's hands. A value of at most so many
last bits of the sum over all hands is what rounding left of zero: every hand that arrives shares a
card with the player's. It counts as 0, because regret matching would scale it up and play it."""
MIX = ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1))
"""Shifts and factors of the hash that makes a random number of an index and an iteration. All are
below 2^31, so that Triton takes them as 32-bit integers."""
GOLDEN = (5**0.5 - 1) / 2
DITHER = 1.5 * 2.0**-24
"""The scale of dither: a factor of 1 + 2^-24 moves a float32 number by half to one last bit. Of the
distributions and scales that we tried, this one leaves the least error after 100,000 iterations."""
AHEAD = 256
"""Iterations whose dither is computed at once."""
WIDTH = 10
"""Columns of `dithered`."""
WINDOW = {"float32": 1 << 20, "int16": 1 << 12, "bfloat16": 1 << 12}
"""Iterations that an average reaches back, at most. What one iteration adds to a longer one is so
much less than the last bit that rounding adds more error than the iteration adds news."""
RESOLUTION = {"float32": 1e-6, "int16": 1e-4, "bfloat16": 1e-3}
"""The least exploitability that each storage can hold, as a share of the pot."""


def dithered(discounts: Floats, begin: int, storage: str = "float32") -> Floats:
    """[t, 10] the rates of range engines, from the schedule's ``discounts`` ``[t, 3]``.

    (positive, negative, kept, earlier iterations), then how kernels apply the first three, as
    ``base S + (fade S + x)``: base and base of positive and negative regrets, 1 or 0, their two
    fades, and the fade of the average, whose base is 1. The last is the least probability of every
    action, which `discounts` ``[t, 4]`` may have as well. They are not to be changed: most solves
    begin with the same ones.
    """
    if len(discounts) > AHEAD:
        return _dithered(discounts, begin, storage)
    return _remembered(discounts.tobytes(), len(discounts), begin, storage)


@lru_cache(maxsize=64)
def _remembered(discounts: bytes, count: int, begin: int, storage: str) -> Floats:
    """`_dithered`, cached."""
    return _dithered(np.frombuffer(discounts).reshape(count, -1), begin, storage)


def _dithered(discounts: Floats, begin: int, storage: str) -> Floats:
    block, at = divmod(begin - 1, AHEAD)
    count = len(discounts)
    if at + count <= AHEAD:
        extra = _ahead(block, storage)[:, at : at + count]
    else:
        extra = _extra(begin - 1, count, storage)
    columns = np.zeros((WIDTH, count))  # each in one piece, which takes half of the time
    columns[:3] = discounts.T[:3]
    columns[3:9] = extra
    regrets, base, fades, kept = columns[:2], columns[4:6], columns[6:8], columns[8]
    np.greater_equal(regrets, 0.5, out=base)  # smaller factors lose nothing to rounding
    fades *= base
    fades += regrets
    np.minimum(columns[2], kept, out=kept)
    kept += extra[3]
    if discounts.shape[1] > 3:
        columns[9] = discounts[:, 3]
    return np.ascontiguousarray(columns.T)


def _extra(before: int, count: int, storage: str) -> Floats:
    """[6, t] what columns 3 to 8 of `dithered` begin with.

    The number of earlier iterations; two that are not used; dither less 1, twice; and the largest
    factor of an average.
    """
    t = np.arange(before, before + count, dtype=np.float64)
    share = ((t + 0.5) * GOLDEN) % 1
    # Logistic: the errors of rounding then have mean 0.
    less = DITHER * np.log(share / (1 - share)) - 1
    most = np.where(t < WINDOW[storage], 1, 1 - 1 / WINDOW[storage])
    return np.stack([t, t, t, less, less, most])


@lru_cache(maxsize=64)
def _ahead(block: int, storage: str) -> Floats:
    """`_extra` of a block of iterations, cached because it is slow for small trees."""
    return _extra(block * AHEAD, AHEAD, storage)
