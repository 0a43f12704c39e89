"""Hold'em trees on a GPU, or on the CPU through PyTorch: the operations of `RangeEngine`.

PyTorch is optional: ``pip install 'subgame[gpu]'``. Nothing here needs Numba.
"""

from __future__ import annotations

from subgame.gpu.engine import TorchEngine
from subgame.gpu.runtime import load_torch

__all__ = ["TorchEngine", "load_torch"]
