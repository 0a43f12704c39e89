"""IREG-PRM+: predictive regret matching in which the norm of the regrets never falls.

Zhang, Anagnostides & Sandholm 2025, "Scale-Invariant Regret Matching and Online Learning with
Optimal Convergence" (arXiv 2510.04407). We could read its abstract, not the paper. The abstract
says that the (l2-)norm of the regret vector can decrease in PRM+, and that IREG-PRM+ is designed
"so as to maintain the invariance that the norm of the regret vector is nondecreasing", which gives
"an RVU-type bound". How the norm is kept is not said there. The rule below is ours; the paper's
may differ.

With regrets R of an infoset with n actions, utilities u of the iteration and m of the one before,
let c(u) be the number for which [R + u - c(u)]+ has the norm of R. Then

    theta = [R + m - c(m)]+, x = theta / |theta|_1        the strategy
    R <- [R + u - min(<u, x>, c(u))]+                     the regrets

PRM+ has other numbers in place of c(m) and of the minimum: <m, x before> and <u, x>. With the
minimum R can only be larger than the regrets of PRM+, and its norm does not fall. Utilities times
a factor, or plus a number, give the same strategies. Let s = <u, x> - c(u). Then

    regret so far <= ||R|| - (the sum of max(0, s)),    ||R|| grows by at most 2 sqrt(n) max(0, -s)
    s >= (||theta - R||^2 - (1 + sqrt(n))^2 ||u - m||^2) / (2 |theta|_1)

The first holds because R adds up u - <u, x> + max(0, s) or more. The second is the convexity of
the norm in the shift. The third is the three-point inequality of the projections theta and
[R + u - c(u)]+, whose norms are equal, with |c(u) - c(m)| <= max|u - m|. Together they bound the
regret by mispredictions divided by ||R|| less movements times ||R||, an RVU-type bound whose
learning rate 1 / ||R|| does not rise. It runs here in NumPy, a block of infosets at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subgame.engines.contract import Response
from subgame.errors import ArgumentError
from subgame.solve.learners import Floats, learn
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree
from subgame.tree.strategy import Strategy


@dataclass(frozen=True)
class IncreasingRegret:
    """The options of `solve_increasing`, by default those of PCFR+."""

    gamma: float = 2.0
    """Iteration t has weight t^gamma in the average: 0 uniform, inf only the last strategy."""
    alternating: bool = True
    """Player 1 updates against player 0's new strategy within the iteration."""


def norm_shift(values: Floats, norm: Floats) -> Floats:
    """[i] the number c for which [values - c]+ has this norm [i]. Axes of values: [a, i].

    The actions above c are the largest ones, so c is a root of the quadratic equation of the first
    k of them for one k.

    >>> norm_shift(np.array([[3.0], [4.0], [-9.0]]), np.array([5.0])).tolist()
    [0.0]
    """
    top = values.max(0)
    ordered = -np.sort(top - values, axis=0)
    count = np.arange(1.0, len(values) + 1)[:, None]
    total, squares = ordered.cumsum(0), (ordered**2).cumsum(0)
    lower = ordered[1:]  # if c were the next value, the norm of those above it
    norms = squares[:-1] - 2 * lower * total[:-1] + count[:-1] * lower**2
    which = (norms < norm**2).sum(0)[None]
    k, sum_, square = (
        np.take_along_axis(np.broadcast_to(array, values.shape), which, 0)[0]
        for array in (count, total, squares)
    )
    root = np.sqrt(np.maximum(0.0, k * norm**2 - (k * square - sum_**2)))
    shift: Floats = top + (sum_ - root) / k
    return shift


class Infosets:
    """The regrets of infosets with as many actions. Axes: a = action, i = infoset."""

    def __init__(self, actions: int, infosets: int) -> None:
        self.regret = np.zeros((actions, infosets))
        self.weights = np.zeros((actions, infosets))  # the strategy is in proportion to them

    def observe(self, regret: Floats) -> None:
        """Learn from instantaneous regrets [a, i], which also predict those to come."""
        ahead = self.regret + regret
        shift = norm_shift(ahead, np.linalg.norm(self.regret, axis=0))
        self.regret = np.maximum(0.0, ahead - np.minimum(0.0, shift))
        ahead = self.regret + regret
        shift = norm_shift(ahead, np.linalg.norm(self.regret, axis=0))
        self.weights = np.maximum(0.0, ahead - shift)


class _Player:
    """One player of a solve. Axis: q = sequence."""

    def __init__(self, tree: SequenceTree, p: int, how: IncreasingRegret) -> None:
        self.tree, self.p, self.how, player = tree, p, how, tree.players[p]
        self.owner = player.infoset_of
        self.blocks = [
            (where, Infosets(actions, (where.stop - where.start) // actions))
            for where, actions in player.blocks()
        ]
        self.weights, self.average = np.zeros(len(self.owner)), np.zeros(len(self.owner))

    def valued(self) -> Floats:
        """[q] the strategy of the coming iteration."""
        return self.tree.normalise(self.p, self.weights)

    played = valued

    def result(self) -> Floats:
        """[q] the average strategy."""
        return self.tree.normalise(self.p, self.average)

    def observe(self, t: int, response: Response, plan: Floats) -> None:
        """Learn from what the strategy, whose realisation plan [q] is given, gets."""
        assert response.sequences is not None
        assert response.infosets is not None
        self.average = self.average * (t / (t + 1)) ** self.how.gamma + plan
        regret = response.sequences - response.infosets[np.maximum(self.owner, 0)]
        for where, infosets in self.blocks:
            infosets.observe(regret[where].reshape(infosets.regret.shape))
            self.weights[where] = infosets.weights.ravel()


def solve_increasing(
    tree: PublicTree, iterations: int, how: IncreasingRegret | None = None
) -> Strategy:
    """The average strategy of so many iterations of the rule.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> sg.exploitability(tree, solve_increasing(tree, 1000)) < 1e-4
    True
    """
    chosen = how or IncreasingRegret()
    if not chosen.gamma >= 0:
        raise ArgumentError("gamma", f"must be at least 0, not {chosen.gamma:g}.")
    return learn(tree, lambda whole, p: _Player(whole, p, chosen), iterations, chosen.alternating)
