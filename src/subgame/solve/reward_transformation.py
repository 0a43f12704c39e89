"""RTCFR+: reward transformation CFR+ (Meng et al. 2025), whose last strategy converges.

CFR+ solves a sequence of games in which a player pays for leaving a reference strategy, and in
which every action has at least the probability gamma. The reference is the strategy of every
T-th iteration, and gamma is halved then. With x the realisation plan of the perturbed strategy
and x' that of the reference, and with |I| actions at an infoset I:

    v(I, a) = utility(I, a) + sum of <v(J), sigma(J)> over infosets J next - mu (x(I, a) - x'(I, a))
    R(I) <- max(0, R(I) + v(I) - <v(I), sigma(I)>), sigma(I) ~ R(I)
    played(I) = (1 - gamma |I|) sigma(I) + gamma

The order of updates and the default numbers are those of the authors' published program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from subgame.engines.contract import Response
from subgame.errors import ArgumentError
from subgame.solve.learners import Floats, learn
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree
from subgame.tree.strategy import Strategy


@dataclass(frozen=True)
class RewardTransformation:
    """The numbers of RTCFR+, by default those of the authors' program."""

    mu: float = 1e-3
    """What a unit of distance from the reference costs."""
    gamma: float = 1e-10
    """The least probability of an action at first."""
    every: int = 100
    """Iterations from one reference to the next."""

    def __post_init__(self) -> None:
        """Refuse numbers that no strategy can have."""
        if self.mu < 0:
            raise ArgumentError("mu", f"must be at least 0, not {self.mu:g}.")
        if self.every < 1:
            raise ArgumentError("every", f"must be at least 1, not {self.every}.")


class _Player:
    """One player of a solve. Axes: q = sequence, i = infoset."""

    def __init__(self, tree: SequenceTree, p: int, how: RewardTransformation) -> None:
        player = tree.players[p]
        self.tree, self.p, self.how, self.gamma = tree, p, how, how.gamma
        self.owner, self.parent = np.maximum(player.infoset_of, 0), player.plex.parent
        counts = np.bincount(player.infoset_of[player.infoset_of >= 0])
        if how.gamma < 0 or how.gamma * counts.max(initial=1) > 1:
            wants = f"must be from 0 to one over the number of actions, not {how.gamma:g}."
            raise ArgumentError("gamma", wants)
        self.actions = counts[self.owner]
        infosets = pairwise(player.plex.block_infoset.tolist())
        self.blocks = [
            (where, slice(lo, hi))
            for (where, _), (lo, hi) in zip(player.blocks(), infosets, strict=True)
        ]
        self.regret = np.zeros(player.num_sequences)
        self.reference: Floats | None = None  # [q] its realisation plan; the first one is uniform
        self._match()

    def _match(self) -> None:
        """The strategies of the coming iteration."""
        self.sigma = self.tree.normalise(self.p, self.regret)
        self.perturbed = (1 - self.gamma * self.actions) * self.sigma + self.gamma

    def valued(self) -> Floats:
        """[q] the strategy without perturbation."""
        return self.sigma

    def played(self) -> Floats:
        """[q] the perturbed strategy."""
        return self.perturbed

    result = played

    def observe(self, t: int, response: Response, plan: Floats) -> None:
        """Learn from the values in the game and from what the reference costs."""
        assert response.sequences is not None
        assert response.infosets is not None
        if self.reference is None:
            self.reference = plan
        if (t + 1) % self.how.every == 0:
            self.reference, self.gamma = plan, self.gamma / 2
        paid, below = -self.how.mu * (plan - self.reference), np.zeros(len(self.parent))
        for where, infosets in reversed(self.blocks):  # children come after their parents
            shares = (self.sigma[where] * paid[where]).reshape(-1, infosets.stop - infosets.start)
            below[infosets] = shares.sum(0)
            np.add.at(paid, self.parent[infosets], below[infosets])
        regret = response.sequences + paid - (response.infosets + below)[self.owner]
        self.regret = np.maximum(0.0, self.regret + regret)
        self._match()


def solve_transformed(
    tree: PublicTree, iterations: int, how: RewardTransformation | None = None
) -> Strategy:
    """The last strategy of so many iterations of RTCFR+; it is not an average.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> sg.exploitability(tree, solve_transformed(tree, 1000)) < 1e-2
    True
    """
    chosen = how or RewardTransformation()
    return learn(tree, lambda whole, p: _Player(whole, p, chosen), iterations)
