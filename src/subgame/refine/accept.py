"""Never below the blueprint: of a solution only so much is played as loses nothing.

A solve that was stopped early may be worse than the strategy it is to replace. So what the opponent
can get against it is computed exactly, and the solution is mixed with the old strategy. What the
opponent can get at a root infoset is a convex function of the share of the solution in the mixture
(of realisation plans): a best response to a mixture wins at most the mean of what best responses to
its parts win. The share is chosen with which the gadget's opponent wins least:

* behind *Maxmargin* the smallest margin is largest, behind *Resolve* nothing exceeds an
  alternative. With the share 0 no margin is below 0, so with the chosen one none is: a best
  response wins no more than before, however short the solve (Burch et al. 2014, Theorem 1; Brown &
  Sandholm 2017, Theorem 1). Alternatives are those of the strategy that is followed, so that it
  holds again after every solve.
* behind *Unsafe* a best response wins no more from the blueprint's range. Nothing else is promised.

Where values at a depth limit are estimates, all this holds for the estimates only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from subgame.engines.arrays import TINY, Array, namespace
from subgame.engines.contract import Engine, Numbers
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.subgame import left

SHARES = (1.0, 0.75, 0.5, 0.25, 0.1, 0.03)
"""Shares of the solution that are tried, as long as each is better than the one before."""


class Accepted(NamedTuple):
    """What is played of a solution."""

    sigma: Numbers  # [q] our strategy
    share: float
    """Of the solution: 1 is all of it, 0 the strategy that was followed before."""


def is_checked(gadget: Gadget) -> bool:
    """Whether solutions behind a gadget are compared with what they replace."""
    return gadget.is_safe or gadget.entry == "blueprint"


def lost(gadget: Gadget, inputs: GadgetInputs, values: Array) -> Array:
    """What the gadget's opponent gets beyond the alternatives, with `values` [..., s] inside.

    Maxmargin: the most at one root infoset. Resolve: the mean of all that exceeds them. Unsafe:
    what the blueprint's range gets on average.
    """
    xp, weight = namespace(values), inputs.weight
    bar = inputs.cbv if gadget.estimate else inputs.alternative
    if gadget.entry == "choose":
        return xp.amax(xp.where(weight > 0, values - bar, -math.inf), -1)
    if gadget.entry == "blueprint":
        weight = weight * inputs.opponent_reach
    else:
        values = (values - bar).clip(min=0)
    return (weight * values).sum(-1) / weight.sum(-1).clip(min=TINY)


class Acceptance:
    """Compares solutions of a subgame with `before`, [q] our strategy that they are to replace."""

    def __init__(
        self,
        gadget: Gadget,
        inputs: GadgetInputs,
        run: Engine,
        before: Numbers,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Strategies are over the tree of `run`."""
        self.gadget, self.inputs, self.run, self.before = gadget, inputs, run, before
        began = now()
        self.old, self.least = self._plan(before), self._lost(before)
        self.seconds = (1 + len(SHARES)) * (now() - began)
        """About the most that a comparison takes."""

    def _plan(self, sigma: Numbers) -> Numbers:
        return self.run.realisation(1 - self.inputs.opponent, sigma, self.inputs.our_reach)

    def _lost(self, sigma: Numbers) -> float:
        return float(lost(self.gadget, self.inputs, left(self.run, (sigma, sigma), self.inputs)))

    def __call__(self, solved: Numbers) -> Accepted:
        """As much of a solution as loses nothing."""
        if not is_checked(self.gadget):
            return Accepted(solved, 1.0)
        run, us, new = self.run, 1 - self.inputs.opponent, self._plan(solved)
        payoffs = float(np.abs(self.inputs.alternative).max(initial=0.0))

        def mixed(share: float) -> Numbers:
            plan = share * new + (1 - share) * self.old
            return solved if share == 1 else np.asarray(run.behaviour(us, plan))

        mixture = best_mixture(mixed, self._lost, self.least, run.tree.precision * payoffs)
        return mixture or Accepted(self.before, 0.0)


def best_mixture(
    mixed: Callable[[float], Numbers],
    loses: Callable[[Numbers], float],
    before: float,
    rounding: float = 0.0,
) -> Accepted | None:
    """The mixture that loses least; None if all lose more than what is lost `before`.

    ``mixed(share)`` has a share of the solution, and what it loses is convex in the share.
    Differences below `rounding` do not count.
    """
    best, least, above = None, before + rounding, np.inf
    for share in SHARES:
        sigma = mixed(share)
        now = loses(sigma)
        if now >= above:  # smaller shares lose more
            break
        above = now
        if now <= least:
            best, least = Accepted(sigma, share), min(now, before)
    return best
