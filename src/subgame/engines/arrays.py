"""Arrays that may be NumPy's or PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of NumPy or a tensor of PyTorch."""


def namespace(array: Array) -> Any:
    """The library of an array: NumPy or PyTorch."""
    return np if isinstance(array, np.ndarray) else importlib.import_module("torch")


def copied(array: Array) -> Array:
    """An array with its own memory."""
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


def as_numpy(array: Array) -> NDArray[np.float64]:
    """An array of either library as a NumPy array of float64."""
    found = array if isinstance(array, np.ndarray) else array.detach().cpu().numpy()
    return found.astype(np.float64)
