"""PyTorch, loaded when it is asked for, and the devices it has."""

from __future__ import annotations

import importlib
from typing import Any

from subgame.errors import SubgameError


def load_torch(what: str = "The devices cuda and torch") -> Any:
    """The torch module for `what`; a `SubgameError` with the extra where it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise SubgameError(
            f"{what} need PyTorch, which is not installed; "
            "install it with: pip install 'subgame[gpu]'."
        ) from None


def pick_device(name: str) -> Any:
    """``"cpu"`` or ``"cuda"`` (``"cuda:1"``) as a torch device that is there."""
    torch = load_torch()
    kind, _, number = str(name).partition(":")
    if kind not in ("cpu", "cuda"):
        raise SubgameError(f"The device must be 'cpu' or 'cuda', not '{name}'.")
    if kind == "cuda" and not torch.cuda.is_available():
        raise SubgameError("PyTorch finds no CUDA device on this machine; use the device cpu.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise SubgameError(f"There are {torch.cuda.device_count()} CUDA devices, from 0 on.")
    return torch.device(name)


def has_triton() -> bool:
    """Whether fused kernels can be compiled (Triton comes with PyTorch for CUDA)."""
    try:
        importlib.import_module("triton")
    except ImportError:
        return False
    return True
