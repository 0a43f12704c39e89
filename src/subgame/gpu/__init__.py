"""Engines on a GPU, or on the CPU through PyTorch: the operations of those in `subgame.solve`.

`TorchEngine` is for hold'em trees, `ExplicitEngine` for all others; ``device="cuda"`` chooses them.
PyTorch is optional: ``pip install 'subgame[gpu]'``. Nothing here needs Numba.
"""

from __future__ import annotations

from subgame.gpu.engine import TorchEngine
from subgame.gpu.explicit import ExplicitEngine
from subgame.gpu.runtime import load_torch
from subgame.tree.boards import BoardTree
from subgame.tree.public_tree import PublicTree

__all__ = ["ExplicitEngine", "TorchEngine", "engine_on", "load_torch"]
PLAIN = "torch"
"""The device that is PyTorch on the CPU."""


def engine_on(tree: PublicTree, device: str) -> ExplicitEngine | TorchEngine:
    """The engine of a tree on ``"cuda"``, ``"cuda:1"`` or ``"torch"``."""
    where = "cpu" if device == PLAIN else device
    return TorchEngine(tree, where) if isinstance(tree, BoardTree) else ExplicitEngine(tree, where)
