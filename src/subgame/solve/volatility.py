"""VAD-CFR: volatility-adaptive discounted CFR (Li, Schultz, Hennes & Lanctot 2026, Listing 5).

How much of the past an infoset keeps depends on how large its regrets have been lately, so that the
rule is no `Schedule`, whose discounts are the same everywhere. It runs here in NumPy, a block of
infosets at a time. With instantaneous regrets r of an infoset, t counted from 0:

    e <- decay max|r| + (1 - decay) e, v = min(1, e / largest), a = max(0.1, alpha - sensitivity v),
    b = min(a, beta - sensitivity v), d(x) = (t+1)^x / ((t+1)^x + 1), with a where R >= 0, else b
    R <- max(floor, d R + g), g = boost r where r > 0, else r
    sigma ~ max(0, d R + optimism / (1 + t / fading) (1 - sensitivity v) g)^power

The listing keeps e in one object and does not say whether infosets share it; here each has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subgame.engines.contract import Response
from subgame.solve.learners import Floats, learn
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree
from subgame.tree.strategy import Strategy


@dataclass(frozen=True)
class Volatility:
    """The numbers of VAD-CFR, by default those of the paper."""

    alpha: float = 1.5
    """The exponent of the discount of positive regrets, where regrets are small."""
    beta: float = -0.1
    """The exponent of the discount of negative regrets."""
    sensitivity: float = 0.5
    largest: float = 2.0
    """The regret that counts as the largest volatility."""
    boost: float = 1.1
    decay: float = 0.1
    floor: float = -20.0
    optimism: float = 1.0
    fading: float = 100.0
    power: float = 1.5
    gamma: float = 2.0
    """The least exponent of the averaging weight."""
    most_gamma: float = 4.0
    gamma_sensitivity: float = 1.5
    skipped: int = 500
    """The first iterations, which are left out of the average."""
    stability: float = 1.5
    weighting: float = 0.5


class _Infosets:
    """One player's infosets with as many actions at one depth. Axes: a = action, i = infoset."""

    def __init__(self, where: slice, actions: int) -> None:
        self.where, self.shape = where, (actions, (where.stop - where.start) // actions)
        self.regret, self.average = np.zeros(self.shape), np.zeros(self.shape)
        self.weights = np.zeros(self.shape)  # the strategy is in proportion to them
        self.lately = np.zeros(self.shape[1])  # [i] the moving average of the largest regret

    def observe(self, t: int, regret: Floats, reach: Floats, how: Volatility) -> None:
        """Learn from regrets [a, i] of iteration `t`, whose strategy has this reach [a, i]."""
        size = np.abs(regret).max(0)
        if t >= how.skipped:
            self.average += self._weight(t, size, how) * reach
        self.lately = how.decay * size + (1 - how.decay) * self.lately if t else size
        volatility = np.minimum(1.0, self.lately / how.largest)
        alpha = np.maximum(0.1, how.alpha - how.sensitivity * volatility)
        beta = np.minimum(alpha, how.beta - how.sensitivity * volatility)
        kept, lost = ((t + 1) ** x / ((t + 1) ** x + 1) for x in (alpha, beta))
        gain = np.where(regret > 0, how.boost * regret, regret)

        def discounted() -> Floats:
            rates: Floats = np.where(self.regret >= 0, kept, lost)
            return rates * self.regret

        self.regret = np.maximum(how.floor, discounted() + gain)
        calm = np.maximum(0.0, 1 - how.sensitivity * volatility)
        ahead = discounted() + how.optimism / (1 + t / how.fading) * calm * gain
        self.weights = np.maximum(0.0, ahead) ** how.power

    def _weight(self, t: int, size: Floats, how: Volatility) -> Floats:
        """[i] the weight of iteration `t` in the average."""
        share = size / how.largest
        gamma = how.gamma + how.gamma_sensitivity * np.minimum(1.0, share)
        stable: Floats = 1 / (1 + size**how.stability) * (1 + share) ** how.weighting
        return (t + 1) ** np.minimum(how.most_gamma, gamma) * stable


class _Player:
    """One player of a solve."""

    def __init__(self, tree: SequenceTree, p: int, how: Volatility) -> None:
        self.tree, self.p, self.how, player = tree, p, how, tree.players[p]
        self.owner = player.infoset_of
        self.blocks = [_Infosets(where, actions) for where, actions in player.blocks()]

    def valued(self) -> Floats:
        """[q] the strategy of the coming iteration."""
        return self._of("weights")

    played = valued

    def result(self) -> Floats:
        """[q] the average strategy."""
        return self._of("average")

    def _of(self, name: str) -> Floats:
        out = np.zeros(len(self.owner))
        for block in self.blocks:
            out[block.where] = getattr(block, name).ravel()
        return self.tree.normalise(self.p, out)

    def observe(self, t: int, response: Response, plan: Floats) -> None:
        """Learn from what the strategy, whose realisation plan [q] is given, gets."""
        assert response.sequences is not None
        assert response.infosets is not None
        regret = response.sequences - response.infosets[np.maximum(self.owner, 0)]
        for block in self.blocks:
            part, reach = (array[block.where].reshape(block.shape) for array in (regret, plan))
            block.observe(t, part, reach, self.how)


def solve_volatility(tree: PublicTree, iterations: int, how: Volatility | None = None) -> Strategy:
    """The average strategy of so many iterations of VAD-CFR, with alternating updates.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> sg.exploitability(tree, solve_volatility(tree, 1000)) < 1e-3
    True
    """
    chosen = how or Volatility()
    return learn(tree, lambda whole, p: _Player(whole, p, chosen), iterations)
