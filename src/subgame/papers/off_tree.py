"""Depth limits after an off-tree bet: its state values, and what may be given away beyond them.

Brown, Sandholm & Amos 2018, Sec. 6.1, answer a bet that the blueprint does not know by solving to
the end of the betting round. `OffTree` makes the state values there; `allowances` are the
alternative payoffs for safe solving of what follows the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array, Floats, as_index, as_numpy, namespace, normalise
from subgame.engines.contract import RangeEngine
from subgame.engines.street import LeafTable, StreetEngine
from subgame.errors import SubgameError
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.refine.ranges.pairs import PairTables
from subgame.refine.ranges.subgames import rows
from subgame.refine.subgame import reliable
from subgame.tree.public_tree import Numbers
from subgame.tree.ranges.betting_tree import decisions, grow


def alike(game: Holdem, real: Betting, line: Sequence[str], other: Betting) -> Betting:
    """Where doing from `other`, choice by choice, what `line` does from `real` leads."""
    for action in line:
        if action == "/":
            continue
        names, others = game.actions(real), game.actions(other)
        if len(names) != len(others):
            raise SubgameError(
                f"The actions after '{other}' differ from those after '{real}'; "
                "they must be the same."
            )
        real, other = real.child(action), other.child(others[names.index(action)])
    return other


class OffTree:
    """The game after an off-tree bet of its first street, and the state values at that limit.

    The blueprint takes the bet for one of the `sizes` that it knows. Two kinds of values:

    * `mean`: of those after each size and the same actions, as in the paper. That lets the opponent
      play on as after the size that we take the bet for, as if it were known to the opponent.
    * `values`, in the pot of the bet itself: the opponent plays on as after one of the sizes, we as
      after either, equally often.
    """

    def __init__(self, run: RangeEngine, bet: Betting, sizes: Sequence[Betting]) -> None:
        """`run` is of the blueprint's tree; `bet` and `sizes` are the states after the bets."""
        self.run, self.bet, self.sizes = run, bet, sizes
        self.tree = run.tree
        game = self.tree.holdem
        self.streets = grow(game, [bet])
        known = {state.history: k for k, state in enumerate(self.tree.streets[1].roots)}
        lines = [leaf.history[len(bet.history) :] for leaf in self.streets[1].roots]
        self.like = [
            [known[alike(game, bet, line, size).history] for line in lines] for size in sizes
        ]
        """[size][leaf] the blueprint's leaf that stands for each leaf after the bet."""

    @cached_property
    def batch(self) -> RangeEngine:
        """The engine of what follows the limit after the bet."""
        return self.run.stage(self.streets[1:])

    @cached_property
    def pairs(self) -> PairTables:
        return PairTables(self.tree, self.batch)

    def mean(self, known: LeafTable) -> LeafTable:
        """The mean of the blueprint's state values after each size."""
        values = [known.values[:, as_index(like, known.values)] for like in self.like]
        return LeafTable(sum(values[1:], values[0]) / len(values), known.opponent)

    def as_after(self, size: Betting, p: int, sigma: Numbers) -> NDArray[np.float32]:
        """[q] a strategy of the blueprint's tree, played after the bet as if it had been `size`.

        Over the tree of `batch`: what follows the limit.
        """
        played, target = np.asarray(sigma), self.batch.tree
        index, game = decisions(self.tree.streets, p), self.tree.holdem
        out = np.zeros(target.stored(p), np.float32)
        for s, street in enumerate(target.streets):
            for j, state in enumerate(street.states[p]):
                line = state.history[len(self.bet.history) :]
                there, k = index[alike(game, self.bet, line, size).history]
                cells = self.tree.players[p].street_cells(there, k)
                out[target.players[p].street_cells(s, j)] = played[cells]
        return out

    def ours(self, p: int, sigma: Numbers) -> list[NDArray[np.float32]]:
        """Per size what player `p` plays after the bet by a strategy of the blueprint's tree."""
        return [self.as_after(size, p, sigma) for size in self.sizes]

    def values(self, ours: Sequence[Numbers], theirs: Numbers, o: int) -> list[Array]:
        """Per size [leaf, h, j] what player `o` wins by playing on as after that size, in chips.

        `theirs` is the strategy of player `o` over the blueprint's tree, `ours` as `ours` gives it.
        """
        out = []
        for size in self.sizes:
            plan = self.as_after(size, o, theirs)
            won = [self.pairs.values((plan, our) if o == 0 else (our, plan), o) for our in ours]
            out.append(sum(won[1:], won[0]) / len(won))
        return out


class Allowances(NamedTuple):
    """How safe solving goes on after a depth limit. Axes: leaf, hand."""

    our_reach: Floats
    weight: Floats  # pi_{-i} of the opponent's hands
    alternative: Floats  # what the opponent may get, normalised


def allowances(
    street: StreetEngine, sigma: Array, our_reach: Array, alternative: Floats
) -> Allowances:
    """What the opponent may get at each leaf, to get no more than `alternative` at the root.

    `sigma` is our strategy of the street, `our_reach` ``[1, hand]`` ours at its only root,
    `alternative` ``[1, hand]`` the opponent's there, normalised. At a leaf it is the opponent's
    value by the best continuation; more, where the root has less than its alternative (less, where
    it has more), by as much at every leaf; and more by what the opponent gave up on the way, as
    with Reach gadgets (Brown & Sandholm 2017, Sec. 5).
    """
    o = street.leaves.opponent
    ours = street.descend(1 - o, sigma, our_reach)
    value = as_numpy(street.row_values(o, ours))
    at_best = street.leaf_values(ours)
    below = as_numpy(namespace(at_best).amax(at_best, 0))
    leaf = ours[street.at_leaves[1 - o]]
    weight = reliable(as_numpy(street.opposing(o, leaf)))
    entry = reliable(as_numpy(street.opposing(o, our_reach)))
    missing = alternative * entry - value[: street.sides[o].roots]
    gift = np.zeros_like(value)
    gift[: street.sides[o].roots] = normalise(missing, weight.sum(0, keepdims=True))
    betting = street.street
    for j, parent in enumerate(betting.parent[o]):
        here, row = rows(betting, o, j), betting.at[o][j][1 - o]
        size = value[here].max(0) - value[here]
        reach = reliable(as_numpy(street.opposing(o, ours[row][None])))
        gift[here] = gift[parent] + normalise(size, reach)
    leaves = street.sides[o].leaves
    return Allowances(as_numpy(leaf), weight, normalise(below, weight) + gift[leaves])
