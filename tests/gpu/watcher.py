"""A learner for tests of engines: it keeps what engines tell it."""

from __future__ import annotations

from typing import Any

import numpy as np

from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule


class Watcher:
    """Lets one player in less and less, as entering paid. Its values go to the host: no graphs."""

    def __init__(self, engine: Any, player: int) -> None:
        self.player = player
        self.reach = engine.roots(player)
        self.seen: list[Any] = []

    def enter(self) -> Any:
        return self.reach

    def observe(self, values: Any, discounts: Any) -> None:
        assert discounts.shape == (2, 4)
        self.seen.append(np.array(values.tolist()))
        self.reach = self.reach * (0.7 + 0.2 * (values > 1e-3))


def solver(engine: Any, plan: Schedule, learner: Any = None, reach: Any = (None, None)) -> Cfr:
    """CFR as a schedule says."""
    return Cfr(
        engine,
        predictive=plan.predictive,
        alternating=plan.alternating,
        responder=plan.responder,
        learner=learner,
        reach=reach,
    )
