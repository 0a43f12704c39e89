"""Engines on a GPU, or on the CPU through PyTorch: the operations of those in `subgame.solve`.

`TorchEngine` is for hold'em trees, `ExplicitEngine` for all others; ``device="cuda"`` chooses them.
PyTorch is optional: ``pip install 'subgame[gpu]'``. Nothing here needs Numba.
"""

from __future__ import annotations

from typing import Any

from subgame.gpu.engine import TorchEngine
from subgame.gpu.explicit import ExplicitEngine
from subgame.gpu.runtime import load_torch, pick_device
from subgame.gpu.storage import check_kind
from subgame.solve.engine import no_device
from subgame.tree.boards import BoardTree
from subgame.tree.public_tree import PublicTree

__all__ = ["ExplicitEngine", "TorchEngine", "engine_on", "find_device", "load_torch"]
PLAIN = "torch"
"""The device that is PyTorch on the CPU."""


def find_device(device: str) -> Any:
    """The torch device of a name; refuses one that is not there."""
    kind, _, number = device.partition(":")
    if device != PLAIN and (kind != "cuda" or (number and not number.isdecimal())):
        raise no_device(device)
    return pick_device("cpu" if device == PLAIN else device)


def engine_on(
    tree: PublicTree, device: str, storage: str = "float32"
) -> ExplicitEngine | TorchEngine:
    """The engine of a tree on ``"cuda"``, ``"cuda:1"`` or ``"torch"``."""
    where = str(find_device(device))
    if isinstance(tree, BoardTree):
        return TorchEngine(tree, where, storage=check_kind(storage))
    return ExplicitEngine(tree, where)
