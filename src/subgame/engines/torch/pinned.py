"""Host memory that a device copies to and from by itself, while both of them work."""

from __future__ import annotations

import mmap
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from subgame.engines.torch.runtime import load_torch
from subgame.errors import MemoryLimitError, human_bytes

Tensor = Any


def host_bytes(count: int, device: Any) -> Tensor:
    """So many zero bytes of host memory; pinned where the device is a GPU.

    PyTorch's own pinned memory comes in powers of two, which may be twice of what is wanted. So
    pages are mapped here, touched by all threads, and then registered in one go.
    """
    torch = load_torch()
    if device.type != "cuda" or count == 0:
        return torch.zeros(count, dtype=torch.uint8)
    private = (
        {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    )
    pages = mmap.mmap(-1, count, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # large pages are quicker to pin; small ones do as well
            pages.madvise(mmap.MADV_HUGEPAGE)
    array = np.frombuffer(pages, np.uint8)
    raw = torch.from_numpy(array).zero_()
    failed = int(torch.cuda.cudart().cudaHostRegister(raw.data_ptr(), count, 0))
    if failed:
        raise MemoryLimitError(
            f"The system could not pin {human_bytes(count)} of host memory for {device} (CUDA "
            f"error {failed})."
        )
    # The finalizer holds the pages, so that they outlive their registration.
    done = weakref.finalize(array, _release, torch, device, raw.data_ptr(), pages)
    done.atexit = False  # the system takes all of it back then
    return raw


def _release(torch: Any, device: Any, at: int, pages: mmap.mmap) -> None:
    """Let go of pinned pages, when no copy is under way any more."""
    torch.cuda.synchronize(device)
    torch.cuda.cudart().cudaHostUnregister(at)
    del pages
