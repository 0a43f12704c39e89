"""Faster compilation of kernels in which every thread has one number.

Triton's pass `coalesce` chooses how many neighbouring numbers a thread reads at once. Where a
program has as many numbers as threads there is nothing to choose, and the pass leaves the kernel as
it is (with Triton 3.6 the PTX is the same byte for byte). It walks the whole kernel for every load
and store, so that it was nearly all of the time that long betting took to compile.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_HERE = threading.local()


@contextmanager
def one_number_per_thread(options: dict[str, Any]) -> Iterator[None]:
    """Compile without the pass meanwhile, in this thread, if a kernel's options say so."""
    _HERE.skips = options.get("BLOCK") == 32 * options["num_warps"]
    try:
        yield
    finally:
        _HERE.skips = False


def let_skip() -> None:
    """Let Triton ask whether the pass is wanted, in versions that have it where 3.6 does."""
    try:
        passes = importlib.import_module("triton._C.libtriton").passes.ttgpuir
        coalesce = passes.add_coalesce
    except (ImportError, AttributeError):
        return

    def add_coalesce(manager: object) -> None:
        if not getattr(_HERE, "skips", False):
            coalesce(manager)

    passes.add_coalesce = add_coalesce
