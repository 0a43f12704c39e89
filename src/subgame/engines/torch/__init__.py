"""Engines on a GPU, or on the CPU through PyTorch: two sets of kernels.

`TorchRangeEngine` is for hold'em trees, `TorchSequenceEngine` for all others.
PyTorch is optional: ``pip install 'subgame[gpu]'``. Nothing here needs Numba.
"""

from __future__ import annotations

from typing import Any

from subgame.engines.devices import check_storage, no_device
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.runtime import load_torch, pick_device
from subgame.engines.torch.sequence import TorchSequenceEngine
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import sequence_tree

__all__ = ["TorchRangeEngine", "TorchSequenceEngine", "engine_on", "find_device", "load_torch"]
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
) -> TorchSequenceEngine | TorchRangeEngine:
    """The engine of a tree on ``"cuda"``, ``"cuda:1"`` or ``"torch"``."""
    where = str(find_device(device))
    if isinstance(tree, RangeTree):
        return TorchRangeEngine(tree, where, storage=check_storage(storage))
    return TorchSequenceEngine(sequence_tree(tree), where)
