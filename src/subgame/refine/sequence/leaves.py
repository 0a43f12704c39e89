"""Values at a depth limit, behind one interface: the value of a history if both play on so.

Brown, Sandholm & Amos 2018, end of Sec. 4. Anything that gives a `LeafValues` for a `Leaf` will
do: the `exact` value of walking everything below, the mean of random `Rollouts`, or a network
(`subgame.refine.sequence.leaf_network`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from subgame.engines.arrays import Floats, Ints
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, State
from subgame.refine.limit import LeafValues
from subgame.refine.sequence.continuations import distinct
from subgame.refine.sequence.subgames import SequenceSubgame
from subgame.tree.public_tree import both
from subgame.tree.sequence.walk import Histories


@dataclass(frozen=True, eq=False)
class Leaf:
    """The part of a game below one public state of a depth limit, and what may be played in it."""

    subgame: SequenceSubgame
    sigma: tuple[Floats, Floats]  # [k, q] each player's continuations over the subgame's tree

    @property
    def histories(self) -> Histories:
        return self.subgame.tree.walked

    @cached_property
    def first(self) -> Ints:
        """[h] where each history at the limit stands among the subgame's own."""
        return np.flatnonzero(self.histories.parent < 0)

    @cached_property
    def slots(self) -> tuple[Ints, Ints]:
        """[h] each player's augmented infoset there."""
        located = self.subgame.tree.located
        return both(lambda p: located[p][self.first].astype(np.int64))

    @property
    def chance(self) -> Floats:
        """[h] probability of all chance moves on the way there."""
        return self.histories.chance[self.first]

    @cached_property
    def plans(self) -> tuple[Floats, Floats]:
        """[k, q] the realisation plans of the continuations, from one at every slot."""
        run = engine(self.subgame.tree)
        ones = both(lambda p: np.ones(len(self.subgame.tree.players[p].slots)))
        return both(lambda p: np.stack([run.plan(p, sigma, ones[p]) for sigma in self.sigma[p]]))

    @cached_property
    def options(self) -> tuple[list[Ints], list[Ints]]:
        """[s] each player's continuations that differ at an augmented infoset, by number."""

        def differing(p: int) -> list[Ints]:
            side, plans = self.subgame.tree.players[p], self.plans[p]
            return [distinct(plans[:, side.slot_of == s]) for s in range(len(side.slots))]

        return both(differing)

    def states(self) -> list[State]:
        """[h] the game's own states there."""
        return [self.subgame.whole.walked.state(h) for h in self.subgame.top.tolist()]


def exact(leaf: Leaf) -> LeafValues:
    """The exact values, by going through everything below once.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("leduc-ranks"))
    >>> blueprint = sg.solve(tree, iterations=10).strategy
    >>> limited = sg.depth_limited(tree, blueprint, at="after round 1", values=exact)
    >>> len(sg.solve_limited(limited, iterations=10).strategy) > 0
    True
    """
    h, located = leaf.histories, leaf.subgame.tree.located
    ends = np.flatnonzero(h.player == TERMINAL)
    top = np.cumsum(h.parent < 0)[ends] - 1  # depth first: what lies below a top follows it
    chance = leaf.chance[top]
    weight = np.divide(h.chance[ends], chance, out=np.zeros(len(ends)), where=chance > 0)
    weight *= h.payoff[ends]
    first, second = (leaf.plans[p][:, located[p][ends]] for p in (0, 1))  # [k, z]
    bounds = np.searchsorted(top, np.arange(len(leaf.first) + 1))
    value = np.stack(
        [
            (first[:, lo:hi] * weight[lo:hi]) @ second[:, lo:hi].T
            for lo, hi in pairwise(bounds.tolist())
        ]
    )
    return LeafValues(value, np.zeros_like(value))


@dataclass(frozen=True)
class Rollouts:
    """Values by playing on at random: the mean of `count` plays per history and pair.

    Seeded: the same seed gives the same values, whatever was valued before. Standard errors are
    those of the mean, from the spread of the plays.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> limited = sg.depth_limited(
    ...     tree, sg.Strategy.uniform(tree), at=["p", "b"], values=Rollouts(1000, seed=1)
    ... )
    >>> 0 < limited.standard_error < 0.06
    True
    """

    count: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("count", 2), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SubgameError(
                    f"Rollouts' {name} must be a whole number of at least {least}, not {value}."
                )

    def __call__(self, leaf: Leaf) -> LeafValues:
        rng = np.random.default_rng([self.seed, int(leaf.subgame.top[0])])
        shape = (len(leaf.first), len(leaf.sigma[0]), len(leaf.sigma[1]))
        value, error = np.empty(shape), np.empty(shape)
        for k, m in np.ndindex(shape[1:]):
            won = self._play(leaf, k, m, rng)
            value[:, k, m] = won.mean(axis=1)
            error[:, k, m] = won.std(axis=1, ddof=1) / np.sqrt(self.count)
        return LeafValues(value, error)

    def _play(self, leaf: Leaf, k: int, m: int, rng: np.random.Generator) -> Floats:
        """[h, count] payoffs of plays in which player 0 continues by k and player 1 by m."""
        h = leaf.histories
        kids = np.argsort(h.parent, kind="stable")[len(leaf.first) :]  # siblings side by side
        parent = h.parent[kids].astype(np.int64)
        likely = _step(leaf, k, m)[kids]
        begins = np.flatnonzero(np.diff(parent, prepend=-1))
        size = np.diff(np.append(begins, len(kids)))
        sums = np.cumsum(likely)
        mass = sums - np.repeat(sums[begins] - likely[begins], size)
        # Where a draw u at history x lands: the first child whose mark exceeds x + u.
        marks = parent + mass
        marks[begins + size - 1] = parent[begins] + 1.0
        at = np.repeat(leaf.first, self.count)
        while True:
            going = np.flatnonzero(h.player[at] != TERMINAL)
            if not len(going):
                return h.payoff[at].reshape(len(leaf.first), self.count)
            drawn = at[going] + rng.random(len(going))
            at[going] = kids[np.searchsorted(marks, drawn, side="right")]


def _step(leaf: Leaf, k: int, m: int) -> Floats:
    """[h] how likely a play at a history's parent goes on to it."""
    h, located = leaf.histories, leaf.subgame.tree.located
    out = np.ones(len(h))
    inner = np.flatnonzero(h.parent >= 0)
    mover = h.player[h.parent[inner]]
    by_chance = inner[mover == CHANCE]
    before = h.chance[h.parent[by_chance]]
    out[by_chance] = np.divide(
        h.chance[by_chance], before, out=np.zeros(len(by_chance)), where=before > 0
    )
    for p, which in enumerate((k, m)):
        moved = inner[mover == p]
        out[moved] = leaf.sigma[p][which][located[p][moved]]
    return out
