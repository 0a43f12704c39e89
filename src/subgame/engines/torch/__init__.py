"""Engines on a GPU, or on the CPU through PyTorch: two sets of kernels.

`TorchRangeEngine` is for hold'em trees, `TorchSequenceEngine` for all others.
PyTorch is optional: ``pip install 'subgame[gpu]'``. Nothing here needs Numba.
"""

from __future__ import annotations

from subgame.engines.devices import CPU, check_storage, no_device
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.runtime import load_torch, pick_device
from subgame.engines.torch.sequence import TorchSequenceEngine
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import sequence_tree

__all__ = ["TorchRangeEngine", "TorchSequenceEngine", "engine_on", "load_torch", "pick_device"]


def engine_on(
    tree: PublicTree, device: str, storage: str = "float32"
) -> TorchSequenceEngine | TorchRangeEngine:
    """The engine of a tree on ``"cuda"``, ``"cuda:1"`` or ``"torch"``."""
    if device == CPU:  # which is Numba's
        raise no_device(device)
    if isinstance(tree, RangeTree):
        return TorchRangeEngine(tree, device, storage=check_storage(storage))
    return TorchSequenceEngine(sequence_tree(tree), device)
