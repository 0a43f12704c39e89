"""`NumbaSweeps`: CFR in buckets over sampled boards, by Numba on the cores of the CPU.

Boards are divided among threads, each with a table of its own; the tables are added up in a fixed
order. So one number of threads always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import watch
from subgame.engines.numba.sampled_kernels import NO_SUMS, Flat, Hands, rows, sample, sweep
from subgame.engines.sampled import Sweeps
from subgame.games.holdem.cards import Deck
from subgame.tree.betting_arrays import BettingArrays

Floats = NDArray[np.float32]


class NumbaSweeps(Sweeps):
    """Traversals of a betting tree, board by board.

    With `pairs` of 0 both players' hands are exact vectors (public chance sampling); otherwise so
    many pairs of hands are drawn on each board, and the opponent's actions too (external sampling).
    """

    def __init__(
        self,
        tree: BettingArrays,
        counts: tuple[int, ...],
        deck: Deck,
        *,
        threads: int = 1,
        pairs: int = 0,
    ) -> None:
        super().__init__(tree, counts, deck)
        watch()
        self.threads, self.pairs = threads, pairs
        wide = np.array(self.counts, dtype=np.int64)
        cell = np.array(self.start)[tree.street] + tree.row * wide[tree.street]
        self.flat = flat(tree, cell, wide)

    def zeros(self) -> Floats:
        return np.zeros(self.start[-1], np.float32)

    def _totals(self, rows: Floats, s: int) -> tuple[Floats, NDArray[np.int64], Floats]:
        first = self.first[s]
        many = np.diff(np.append(first, len(rows)))
        owner = np.repeat(np.arange(len(first)), many)
        uniform = (1 / many[owner]).astype(np.float32)[:, None]
        return np.add.reduceat(rows, first, axis=0), owner, uniform

    def deltas(
        self,
        p: int,
        sigma: Floats,
        ranks: NDArray[np.int16],
        buckets: Sequence[NDArray[np.int16]],
        seed: int = 0,
    ) -> Floats:
        parts = np.array_split(np.arange(len(ranks)), min(self.threads, len(ranks)))
        hands = [
            self._hands(ranks[b], [street[b] for street in buckets]) for b in range(len(ranks))
        ]

        def some(part: NDArray[np.int64]) -> Floats:
            out = self.zeros()
            for b in part:
                self._board(p, sigma, hands[b], out, seed + int(b))
            return out

        if len(parts) == 1:
            out = some(parts[0])
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                deltas = list(pool.map(some, parts))
            out = deltas[0]
            for delta in deltas[1:]:
                out += delta
        return self._scaled(p, out)

    def _scaled(self, p: int, out: Floats) -> Floats:
        """Regrets per opponent's hand; with sampling, all sums per hand."""
        for s, both in enumerate(self.tree.player_rows):
            if self.pairs:
                self.street(out, s)[:] *= np.float32(self.hands / self.pairs)
            else:
                self.street(out, s)[both[p]] *= np.float32(1 / self.opponents)
        return out

    def values(
        self,
        p: int,
        sigma: Floats,
        ranks: NDArray[np.int16],
        buckets: Sequence[NDArray[np.int16]],
    ) -> NDArray[np.float64]:
        values = []
        for b in range(len(ranks)):
            hands = self._hands(ranks[b], [street[b] for street in buckets])
            value = self._sweep(p, sigma, hands, NO_SUMS)
            values.append(value[0].sum(dtype=np.float64) / (self.hands * self.opponents))
        return np.array(values)

    def _board(self, p: int, sigma: Floats, hands: Hands, out: Floats, seed: int) -> None:
        if self.pairs:
            random = np.array([seed * 2 + p], np.uint64)
            sample(p, self.flat, sigma, hands, self.tree.root, self.pairs, random, out)
        else:
            self._sweep(p, sigma, hands, out)

    def _sweep(self, p: int, sigma: Floats, hands: Hands, out: Floats) -> Floats:
        """[sequence, hand] the values of player `p`; sums are added to `out` unless it is empty."""
        reach, value = (rows(self.tree.sequences(q), len(hands.cards)) for q in (1 - p, p))
        sweep(p, self.flat, sigma, hands, reach, value, out)
        return value

    def _hands(self, ranks: NDArray[np.int16], buckets: Sequence[NDArray[np.int16]]) -> Hands:
        """The hands of a board, from the weakest to the strongest."""
        order = np.argsort(ranks, kind="stable")[len(ranks) - self.hands :]
        new = np.append(True, np.diff(ranks[order]) > 0)
        tie = np.append(np.flatnonzero(new), len(order))
        bucket = np.stack([street[order] for street in buckets]).astype(np.int64)
        return Hands(self.deck.hands[order], tie, np.cumsum(new), bucket)


def flat(tree: BettingArrays, cell: NDArray[np.int64], counts: NDArray[np.int64]) -> Flat:
    """The tree as kernels take it; `cell` [decision] is where its probabilities are stored."""
    base = [int(tree.first[np.searchsorted(tree.player, p)]) - 1 for p in (0, 1)]
    return Flat(
        player=tree.player.astype(np.int64),
        street=tree.street.astype(np.int64),
        first=tree.first.astype(np.int64),
        child=tree.child.astype(np.int64),
        stake=tree.stake.astype(np.float32),
        parent=tree.parent.astype(np.int64),
        base=np.array(base),
        cell=cell.astype(np.int64),
        counts=counts,
        fold_at=np.stack(tree.folds.sequences).astype(np.int64),
        fold_stake=tree.folds.stake.astype(np.float32),
        show_at=np.stack(tree.showdowns.sequences).astype(np.int64),
        show_stake=tree.showdowns.stake.astype(np.float32),
    )
