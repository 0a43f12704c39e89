"""What an agent has decided: asked again, it answers what it played."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from subgame.play.searching import actions_of
from subgame.refine.live import Rows
from subgame.refine.reached import Move

DECIDED = 10_000
"""Decisions that are kept."""


class DecisionCache:
    """The last decisions of solves, by seat and line of play, in single precision."""

    def __init__(self, most: int = DECIDED) -> None:
        self.most = most
        self.decided: OrderedDict[tuple[int, tuple[str, ...]], Rows] = OrderedDict()
        self.unsolved: dict[tuple[int, tuple[str, ...]], str] = {}
        """Why decisions were made without a solve: there was too little time."""

    def starved(self, seat: int, line: Sequence[Move]) -> int:
        """After how many moves of a line the last decision was made without a solve; 0: none."""
        for k in range(len(line) - 1, 0, -1):
            if self._key(seat, line[:k]) in self.unsolved:
                return k + 1
        return 0

    def find(self, seat: int, line: Sequence[Move]) -> Rows | None:
        """What was decided there; None if nothing was."""
        return self.decided.get(self._key(seat, line))

    @staticmethod
    def _key(seat: int, line: Sequence[Move]) -> tuple[int, tuple[str, ...]]:
        return seat, actions_of(line)

    def keep(self, seat: int, line: Sequence[Move], rows: Rows, why: str = "") -> Rows:
        """The decision as it is kept; `why` it is not that of a solve that was begun."""
        kept, key = Rows(rows.actions, rows.probabilities.astype(np.float32)), self._key(seat, line)
        self.decided[key] = kept
        if why:
            self.unsolved[key] = why
        if len(self.decided) > self.most:
            self.unsolved.pop(self.decided.popitem(last=False)[0], None)
        return kept
