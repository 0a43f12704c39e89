"""Answers to off-tree actions: what nested solving tells of each of them (2017, Sec. 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from subgame.engines.arrays import Floats
from subgame.errors import SubgameError, brief, did_you_mean
from subgame.refine.gadgets import Gadget

Method = Literal["inexpensive", "expensive"]


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


def check_nested(gadget: Gadget, method: Method) -> None:
    """Refuse what has no meaning in nested solving."""
    if method not in get_args(Method):
        raise did_you_mean("method of nested solving", str(method), get_args(Method))
    if gadget.entry == "blueprint" and method == "inexpensive":
        raise SubgameError(
            "Unsafe needs the probability with which the opponent takes an action, which an "
            "off-tree action does not have. Use method='expensive' (Brown & Sandholm 2017, Sec. 6)."
        )
    if gadget.entry == "random" or gadget.estimate:
        raise SubgameError(
            f"{gadget.name} estimates alternative payoffs, which in nested solving are always "
            "CBV~. Use resolve, maxmargin or their reach forms."
        )
