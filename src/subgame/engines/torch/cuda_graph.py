"""`RecordedGraph`: an iteration as a CUDA graph, so that its many small kernels start at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from subgame.engines.torch.runtime import load_torch

Tensor = Any


class RecordedGraph:
    """One iteration, recorded: it reads and writes the same arrays every time.

    It belongs to a `key`, which owns these arrays. The graph does not keep its key alive, so that a
    solve that is over gives its memory back; a graph whose key is gone is never replayed.
    """

    def __init__(self, key: object, rates: Tensor) -> None:
        self._key = weakref.ref(key)
        self.rates = rates
        """[2, 10] where the recorded iteration reads its rates; graphs may share it."""
        self.warm = False
        self.graph: Any = None

    def belongs_to(self, key: object) -> bool:
        return self._key() is key

    def run(self, turn: Callable[[Tensor], None], rates: Tensor) -> None:
        """The first time plainly, which compiles what is to be compiled; then as a graph."""
        if not self.warm:
            self.run_plainly(turn, rates)
            return
        self.rates.copy_(rates)
        if self.graph is None:
            self.graph = self.record(turn)
        self.graph.replay()

    def run_plainly(self, turn: Callable[[Tensor], None], rates: Tensor) -> None:
        """Once, without a graph."""
        self.rates.copy_(rates)
        turn(self.rates)
        self.warm = True

    def record(self, turn: Callable[[Tensor], None]) -> Any:
        """What `turn` does, without doing it."""
        torch = load_torch()
        graph = torch.cuda.CUDAGraph()
        # Another thread may free what an earlier solve had on the device.
        how = torch.cuda.graph(graph, capture_error_mode="thread_local")
        with torch.cuda.device(self.rates.device), how:
            turn(self.rates)
        return graph
