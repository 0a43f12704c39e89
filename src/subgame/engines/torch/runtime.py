"""PyTorch, loaded when it is asked for, and the devices it has."""

from __future__ import annotations

import importlib
from typing import Any

from subgame.engines.devices import no_device
from subgame.errors import SubgameError

PLAIN = "torch"
"""The device that is PyTorch on the CPU."""
OLDEST_TRITON = (3, 5)
"""In older versions the language of the kernels lacks parts; there PyTorch alone is used."""


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
    """The torch device ``cuda``, ``cuda:1``, ``cpu`` or `PLAIN`; an error if there is none."""
    name = str(name)
    kind, _, number = name.partition(":")
    if name not in ("cpu", PLAIN) and (kind != "cuda" or not (number or "0").isdecimal()):
        raise no_device(name)
    torch = load_torch()
    if kind == "cuda" and not torch.cuda.is_available():
        raise SubgameError("PyTorch finds no CUDA device on this machine; use the device cpu.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise SubgameError(f"There are {torch.cuda.device_count()} CUDA devices, from 0 on.")
    return torch.device(name if kind == "cuda" else "cpu")


def has_triton() -> bool:
    """Whether fused kernels can be compiled (Triton comes with PyTorch for CUDA)."""
    try:
        triton = importlib.import_module("triton")
    except ImportError:
        return False
    return tuple(map(int, triton.__version__.split(".")[:2])) >= OLDEST_TRITON
