"""What nested solving gives for one off-tree action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from subgame.engines.arrays import Floats
from subgame.errors import brief

Method = Literal["inexpensive", "expensive"]
METHODS = ("inexpensive", "expensive")


@dataclass(frozen=True, eq=False)
class Answer:
    """One off-tree action answered. Axis: s = root infoset of the opponent, where it was taken."""

    __repr__ = brief

    public: str  # the public state after it
    action: str
    player: int  # who answers
    depth: int  # how many off-tree actions there have been
    infosets: Sequence[str]  # [s]
    weight: Floats  # [s] pi_{-i}
    cbv: Floats  # [s] CBV~: the best within the abstraction, the action excluded
    values: Floats  # [s] what the opponent can get after it now, within the abstraction
    iterations: int
    stopped: str  # why the solve stopped, see `Result.stopped`

    @property
    def bound(self) -> float:
        """How much more than CBV~ the opponent can win by it, over all root infosets."""
        return float(np.maximum(self.values - self.cbv, 0) @ self.weight)
