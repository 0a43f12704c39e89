"""Array operations that NumPy and PyTorch spell differently."""

from __future__ import annotations

from typing import Any

import numpy as np

from subgame.engines.arrays import Array, namespace
from subgame.engines.torch.runtime import load_torch, pick_device


def put(values: Any, device: str | None) -> Array:
    """NumPy's array, or PyTorch's on the device ``"torch"`` (the CPU) or ``"cuda"``."""
    if device is None or device == "cpu":
        return np.asarray(values)
    where = pick_device(device)
    array = np.ascontiguousarray(values)
    return load_torch().from_numpy(array if array.flags.writeable else array.copy()).to(where)


def counts(index: Array, weights: Array, size: int) -> Array:
    """[size] the sum of the weights at each index, in float64."""
    if isinstance(index, np.ndarray):
        return np.bincount(index, weights, size)
    return load_torch().bincount(index, weights.double(), size)


def sums(rows: Array, index: Array, size: int) -> Array:
    """[size, d] the sum of the rows at each index."""
    if isinstance(rows, np.ndarray):
        columns = [np.bincount(index, column, size) for column in rows.T]
        return np.stack(columns, axis=1).astype(rows.dtype)
    return rows.new_zeros((size, rows.shape[1])).index_add_(0, index, rows)


def order(values: Array) -> Array:
    """The indices that sort values, stably."""
    if isinstance(values, np.ndarray):
        return np.argsort(values, kind="stable")
    return load_torch().argsort(values, stable=True)


def below(cumulative: Array, wanted: Array) -> Array:
    """The first places where a cumulative sum is above the wanted numbers."""
    xp = namespace(cumulative)
    at = xp.searchsorted(cumulative, wanted, side="right")
    return at.clip(max=len(cumulative) - 1)


def as_host(values: Array) -> Any:
    """An array as NumPy's, in its own precision."""
    return values if isinstance(values, np.ndarray) else values.detach().cpu().numpy()


def whole(values: Array) -> Array:
    """Numbers without their fractions, as 64-bit integers."""
    return values.astype(np.int64) if isinstance(values, np.ndarray) else values.long()
