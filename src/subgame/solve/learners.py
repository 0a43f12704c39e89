"""Rules of learning that are no `Schedule`, because they differ from infoset to infoset.

Such a rule is a `Learner` for each player, in NumPy; `learn` lets two of them play each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Response
from subgame.engines.factory import engine
from subgame.solve.limits import check_count
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]


class Learner(Protocol):
    """One player of `learn`. Axis: q = the player's sequence."""

    def valued(self) -> Floats:
        """[q] the strategy whose values the player learns from."""

    def played(self) -> Floats:
        """[q] the strategy that the opponent meets."""

    def observe(self, t: int, response: Response, plan: Floats) -> None:
        """Learn in iteration `t` from values, with the realisation plan [q] of `played`."""

    def result(self) -> Floats:
        """[q] the strategy that was learned."""


def learn(
    tree: PublicTree,
    learner: Callable[[SequenceTree, int], Learner],
    iterations: int,
    alternating: bool = True,
) -> Strategy:
    """What two learners have after so many iterations.

    `learner` makes the one of a player. With alternating updates, player 1 meets what player 0
    has learned within the iteration.
    """
    check_count("iterations", iterations)
    whole = sequence_tree(tree)
    run, players = engine(whole), [learner(whole, p) for p in (0, 1)]
    plans = [run.plan(p, player.played()) for p, player in enumerate(players)]
    for t in range(iterations):
        met = plans if alternating else list(plans)
        for p, player in enumerate(players):
            response = run.values(p, player.valued(), met[1 - p])
            player.observe(t, response, plans[p])
            plans[p] = run.plan(p, player.played())
    one, two = (player.result() for player in players)
    return Strategy(tree, (one, two))
