"""What all engines share: the operations that most of them have alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subgame.engines.arrays import as_numpy, copied
from subgame.engines.contract import Array, Both, Engine, Floats, Loop, Mode, Numbers, Regrets
from subgame.errors import SubgameError
from subgame.tree.public_tree import both


class EngineBase:
    """The operations of `contract.Engine` that most engines have alike."""

    fused: bool = False
    resolution: float = 0.0

    @property
    def can_check(self) -> bool:
        """No: exploitability is measured by best responses between iterations."""
        return False

    def array(self, values: Floats) -> Array:
        """A copy in float64."""
        return np.array(values, np.float64)

    def prepare(self, reach: Both, entering: int = -1) -> None:
        """Nothing, where no hands share a bucket."""

    def loop(self, *args: Any) -> Loop:
        """An error: only `fused` engines have it."""
        raise SubgameError("This engine is not fused: subgame.solve.cfr.Cfr runs its iterations.")

    def host(self, sigma: Numbers, streets: int | None = None) -> Numbers:
        """A strategy in the layout of `Strategy`; after some `streets` it may have zeros."""
        return np.asarray(sigma)

    def recycle(self, p: int, regrets: Regrets) -> None:
        """Nothing, where probabilities cannot take the memory of regrets."""

    def snapshot(self, regrets: Regrets) -> Regrets:
        """A copy of what is played now, without an average."""
        played = regrets._replace(average=None)
        return Regrets(*(None if numbers is None else copied(numbers) for numbers in played))

    def repeat(self, turn: Callable[[Array], None], rates: Array, key: object) -> None:
        """``turn(rates[t : t + 2])`` for every t but the last."""
        for t in range(len(rates) - 1):
            turn(rates[t : t + 2])

    def sample(self, *args: Any) -> None:
        """An error: only the CPU engine of sequence trees has it."""
        raise SubgameError(
            "Schedules that sample run on the device cpu only, and hold'em trees are solved "
            "without sampling; choose another schedule."
        )

    def weights(self: Engine, p: int, average: Numbers) -> Numbers:
        """The probabilities of the average."""
        return self.behaviour(p, average)

    def realisation(self: Engine, p: int, sigma: Numbers, reach: Floats) -> Numbers:
        """The average of one iteration in which player `p` plays `sigma`."""
        own, other = self.regrets(p), self.regrets(1 - p)
        own.regret[:] = np.asarray(sigma)
        entered = self.array(np.asarray(reach).reshape(self.tree.num_roots, -1))
        entering = (entered, self.roots(1)) if p == 0 else (self.roots(0), entered)
        rates = self.rates(np.array([[1.0, 1.0, 0.0]] * 2), 1)
        self.prepare(entering)
        self.sweep(p, Mode.LEARN, (own, other), (rates[0], rates[0]), entering)
        return np.asarray(own.average)

    def responses(self: Engine, probs: tuple[Numbers, Numbers]) -> tuple[float, float]:
        """[p] what the opponent's best response to player p's probabilities wins."""

        def wins(p: int) -> float:
            response = self.respond(1 - p, self.plan(p, probs[p]))
            return float((response.roots * as_numpy(self.roots(1 - p))).sum())

        return both(wins)
