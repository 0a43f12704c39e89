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

Table = Array
Rates = Sequence[float]
"""Discounts of positive regrets, of negative regrets and of the average."""


class Sweeps(ABC):
    """Traversals of a betting tree on sampled boards, with `counts` buckets on its streets."""

    def __init__(self, tree: BettingArrays, counts: tuple[int, ...], deck: Deck) -> None:
        self.tree, self.counts, self.deck = tree, counts, deck
        sizes = [rows * k for rows, k in zip(tree.rows, counts, strict=True)]
        self.start = [0, *np.cumsum(sizes).tolist()]
        """Where each street begins in a table."""
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
        """Sums over whole boards, divided by the opponents of a hand.

        `sigma` is a table of probabilities; `ranks` and, for each street, `buckets` are
        [board, hand], -1 where the board blocks the hand. The result has the regrets of player `p`
        in the player's rows, and the opponent's reach in the opponent's rows. Where hands are
        sampled, the `seed` draws them.
        """

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
        sigma = xp.zeros_like(weights)
        for group in self.tree.groups:
            some = self.part(weights, group).clip(min=0)
            total = some.sum(1)[:, None]
            scale = 1 / xp.where(total > 0, total, 1)
            self.part(sigma, group)[:] = xp.where(total > 0, some * scale, 1 / group.actions)
        return sigma

    def apply(self, p: int, sums: Table, regret: Table, average: Table, rates: Rates) -> None:
        """Discount what is there and add the sums of `deltas`."""
        xp = namespace(regret)
        positive, negative, kept = (float(rate) for rate in rates)
        for group in self.tree.groups:
            more = self.part(sums, group)
            if group.player == p:
                here = self.part(regret, group)
                if negative == 0:  # regret matching+: sums below 0 are forgotten at once
                    here[:] = (here * positive + more).clip(min=0)
                else:
                    here *= xp.where(here > 0, positive, negative)
                    here += more
            else:
                here = self.part(average, group)
                here *= kept
                here += more
