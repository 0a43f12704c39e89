"""One thread for NumPy's matrix products.

OpenBLAS shares a product among all cores and waits for the slowest. Where another program keeps a
core busy, all wait for the share of that core. Work that has a deadline is done by one thread.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)
"""Of OpenBLAS's functions, as builds of NumPy have them."""


class _Threads(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], None]


@lru_cache(maxsize=1)
def _threads() -> _Threads | None:
    """OpenBLAS's own functions; None if NumPy was built with another library."""
    try:
        library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    except (OSError, ImportError):
        return None
    for name in NAMES:
        try:
            return _Threads(library[name.format("get")], library[name.format("set")])
        except AttributeError:
            continue
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it NumPy's products take one thread, where it uses OpenBLAS; else nothing changes."""
    threads = _threads()
    if threads is None:
        yield
        return
    before = threads.get()
    threads.set(1)
    try:
        yield
    finally:
        threads.set(before)
