"""Rules of learning that are no `Schedule`, because they differ from infoset to infoset.

Such a rule is a `Learner` for each player, in NumPy; `learn` lets them play each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Response
from subgame.engines.factory import engine
from subgame.solve.limits import check_count
from subgame.tree.sequence.tree import SequenceTree

Floats = NDArray[np.float64]


class Learner(Protocol):
    """One player of `learn`. Axis: q = the player's sequence."""

    def valued(self) -> Floats:
        """[q] the strategy whose values the player learns from."""

    def played(self) -> Floats:
        """[q] the strategy that the opponent meets."""

    def observe(self, t: int, response: Response, plan: Floats) -> None:
        """Learn in iteration `t` from values, with the realisation plan [q] of `played`."""


def learn(tree: SequenceTree, learners: Sequence[Learner], iterations: int) -> None:
    """Let two learners play so many iterations, with alternating updates."""
    check_count("iterations", iterations)
    run = engine(tree)
    for t in range(iterations):
        for p, learner in enumerate(learners):
            theirs = run.plan(1 - p, learners[1 - p].played())
            response = run.values(p, learner.valued(), theirs)
            learner.observe(t, response, run.plan(p, learner.played()))
