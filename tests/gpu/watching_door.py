"""A door for tests of engines: it shows what engines tell it."""

from __future__ import annotations

from typing import Any

import numpy as np

from subgame.tree.ranges.tree import RangeTree


class Watch:
    """A door that takes what it is told and lets one player in less and less."""

    def __init__(self, tree: RangeTree, player: int) -> None:
        self.reach = [np.array(side.reach) for side in tree.players]
        self.player = player
        self.seen: list[Any] = []

    def enter(self, p: int) -> Any:
        return self.reach[p]

    def observe(self, values: Any, rates: Any) -> None:
        self.seen.append(values)
        self.reach[self.player] = self.reach[self.player] * np.where(values > 0, 0.9, 0.7)
