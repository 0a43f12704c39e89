"""What PyTorch and Numba share in CFR over sampled boards: one flat table of numbers.

A table has a number for each bucket of each action of each decision of a `BettingArrays`: street
after street, row after row. `Sweeps.sweep` fills one: instant regrets in the rows of the player who
learns, and reach in the rows of the opponent, whose average it is added to. So several threads or
processes add up one table, and `Sweeps.apply` does the rest.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from subgame.engines.arrays import Array, namespace
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import BOARD_CARDS
from subgame.tree.betting_arrays import BettingArrays, Group

LANES = 8
Table = Array
Rates = Sequence[float]
"""Discounts of positive regrets, of negative regrets and of the average."""


class Sweeps(ABC):
    """Traversals of a betting tree on sampled boards, with `counts` buckets on its streets."""

    def __init__(self, tree: BettingArrays, counts: tuple[int, ...], deck: Deck) -> None:
        self.tree, self.deck = tree, deck
        self.counts = tuple(-(-k // LANES) * LANES for k in counts)
        """The buckets that a row of a table has room for: a multiple of `LANES`."""
        sizes = [rows * k for rows, k in zip(tree.rows, self.counts, strict=True)]
        self.start = [0, *np.cumsum(sizes).tolist()]
        """Where each street begins in a table."""
        self.first = [np.sort(tree.row[tree.street == s]) for s in range(len(counts))]
        """By street, the first rows of all decisions."""
        left = deck.size - BOARD_CARDS[len(counts) - 1]
        self.hands, self.opponents = math.comb(left, 2), math.comb(left - 2, 2)
        """Hands that a whole board leaves, and hands that a hand may meet."""

    @abstractmethod
    def zeros(self) -> Table:
        """A blank table."""

    @abstractmethod
    def deltas(
        self, p: int, sigma: Table, ranks: Array, buckets: Sequence[Array], seed: int
    ) -> Table:
        """Sums over the hands of whole boards.

        `sigma` is a table of probabilities; `ranks` and, for each street, `buckets` are
        [board, hand], -1 where the board blocks the hand. The result has the regrets of player `p`
        in the player's rows, in chips per opponent's hand, and the opponent's reach in the
        opponent's rows. Where hands are sampled, the `seed` draws them.
        """

    @abstractmethod
    def values(self, p: int, sigma: Table, ranks: Array, buckets: Sequence[Array]) -> Array:
        """[board] what player `p` wins per deal, in chips; arguments as in `deltas`."""

    def street(self, table: Table, s: int) -> Array:
        """[row, bucket] the part of a table that belongs to a street; it shares memory."""
        return table[self.start[s] : self.start[s + 1]].reshape(self.tree.rows[s], self.counts[s])

    def part(self, table: Table, group: Group) -> Array:
        """[decision, action, bucket] the part of a table that belongs to a group."""
        rows = self.street(table, group.street)[group.rows]
        return rows.reshape(-1, group.actions, self.counts[group.street])

    def strategy(self, weights: Table) -> Table:
        """Probabilities in proportion to positive weights: regret matching, or an average.

        They are uniform where no weight is positive.
        """
        xp = namespace(weights)
        sigma = weights.clip(min=0)
        for s in range(len(self.counts)):
            rows = self.street(sigma, s)
            total, owner, uniform = self._totals(rows, s)
            total = total[owner]
            rows[:] = xp.where(total > 0, rows / xp.where(total > 0, total, 1), uniform)
        return sigma

    @abstractmethod
    def _totals(self, rows: Array, s: int) -> tuple[Array, Array, Array]:
        """[decision, bucket] sums over the actions; [row] the decision; [row, 1] 1 / actions."""

    def apply(self, p: int, sums: Table, regret: Table, average: Table, rates: Rates) -> None:
        """Discount what is there and add the sums of `deltas`."""
        positive, negative, kept = (float(rate) for rate in rates)
        for s in range(len(self.counts)):
            for player, rows in enumerate(self.tree.player_rows[s]):
                more = self.street(sums, s)[rows]
                if player == p:
                    here = self.street(regret, s)[rows]
                    above, below = here.clip(min=0), here.clip(max=0)
                    here[:] = positive * above + negative * below + more
                    if negative == 0:  # regret matching+: sums below 0 are forgotten at once
                        here[:] = here.clip(min=0)
                else:
                    here = self.street(average, s)[rows]
                    here *= kept
                    here += more
