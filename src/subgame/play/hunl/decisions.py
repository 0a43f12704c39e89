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

    def find(self, seat: int, line: Sequence[Move]) -> Rows | None:
        """What was decided there; None if nothing was."""
        return self.decided.get((seat, actions_of(line)))

    def keep(self, seat: int, line: Sequence[Move], rows: Rows) -> Rows:
        """The decision as it is kept."""
        kept = Rows(rows.actions, rows.probabilities.astype(np.float32))
        self.decided[seat, actions_of(line)] = kept
        if len(self.decided) > self.most:
            self.decided.popitem(last=False)
        return kept
