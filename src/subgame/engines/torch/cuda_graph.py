"""`Tape`: an iteration recorded as a CUDA graph, so that its many small kernels start at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from subgame.engines.torch.runtime import load_torch

Tensor = Any


@dataclass
class Tape:
    """A recorded iteration: the graph, and the places it reads its inputs from."""

    key: tuple[Any, ...]
    """What it was recorded for: addresses of memories, who acts how."""
    rates: Tensor
    inputs: list[Tensor]
    held: Any = None
    """What must not go while the key names it."""
    warm: bool = False
    graph: Any = None

    def run(self, play: Callable[[], None]) -> None:
        """The first time plainly, which compiles what is to be compiled; then as a graph."""
        if self.graph is None and not self.warm:
            play()
            self.warm = True
            return
        if self.graph is None:
            torch = load_torch()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.device(self.rates.device), torch.cuda.graph(graph):
                play()
            self.graph = graph
        self.graph.replay()
