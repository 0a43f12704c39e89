"""Arrays that may be NumPy's or PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of NumPy or a tensor of PyTorch."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TINY = 1e-30
"""Keeps divisors above zero."""


def namespace(array: Array) -> Any:
    """The library of an array: NumPy or PyTorch."""
    return np if isinstance(array, np.ndarray) else importlib.import_module("torch")


def copied(array: Array) -> Array:
    """An array, or numbers as an engine stores them, with its own memory."""
    return array.clone() if hasattr(array, "clone") else array.copy()


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """Zeros of the library, precision and device of an array."""
    return np.zeros(shape, like.dtype) if isinstance(like, np.ndarray) else like.new_zeros(shape)


def as_kind(array: Array, like: Array) -> Array:
    """An array in the precision of another one of the same library."""
    return array.astype(like.dtype) if isinstance(array, np.ndarray) else array.to(like.dtype)


def as_double(array: Array) -> Array:
    """An array in float64, of its library and on its device."""
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double()


def as_index(numbers: object, like: Array) -> Array:
    """Whole numbers to index an array with, on its device."""
    result = np.asarray(numbers, dtype=np.int64)
    if isinstance(like, np.ndarray):
        return result
    return importlib.import_module("torch").as_tensor(result, device=like.device)


def as_numpy(array: Array) -> Floats:
    """An array of either library as a NumPy array of float64."""
    host = array if isinstance(array, np.ndarray) else array.detach().cpu().numpy()
    return host.astype(np.float64)


def normalise(values: Array, weight: Array) -> Array:
    """v(I) of Brown & Sandholm 2017, Sec. 3: counterfactual values divided by pi_{-i}(I).

    0 where the weight is 0: nobody comes there.
    """
    xp = namespace(weight)
    return xp.where(weight > 0, values / xp.where(weight > 0, weight, 1), 0)


def regret_matching(regret: Array, axis: int, real: Array | None = None) -> Array:
    """Probabilities proportional to positive regrets along an axis, uniform where none is positive.

    Every engine has this rule: the weight of an action is ``max(regret, 0)``, its probability is
    the weight divided by the sum if the sum is positive, and uniform otherwise. There is no floor
    under weights or sums: 0 is 0. What is not `real` (0, otherwise 1) is never chosen.
    """
    xp, positive = namespace(regret), regret.clip(min=0)
    even: Any = 1 / regret.shape[axis]
    if real is not None:
        positive = positive * real
        even = real / real.sum(axis=axis, keepdims=True).clip(min=1)
    total = positive.sum(axis=axis, keepdims=True)
    return xp.where(total > 0, positive / xp.where(total > 0, total, 1), even)
