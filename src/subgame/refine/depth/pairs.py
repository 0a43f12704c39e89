"""Values by pair of hands: what the rest of a hand pays if both players' strategies are known.

A terminal pays ``chips * r_o(h) * r_p(j)`` for every pair of hands h and j that can be held
together, after a showdown times who is ahead. So a board is a sum of outer products, and what lies
below a leaf is such a table again, times both players' reach of the leaf.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array, namespace
from subgame.engines.contract import RangeEngine
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.tree import Board, RangeTree

Pair = tuple[Any, Any]
Ints = NDArray[np.int64]


class PairTables:
    """Tables below one board of a tree, over all boards of a batch of the streets that follow.

    Hands are those of the board above, in its order, on every street: hands that a card blocks
    have reach 0.
    """

    def __init__(self, whole: RangeTree, batch: RangeEngine, board: int = 0) -> None:
        """`batch` is of the streets after that of `board`, with any ways in."""
        self.whole, self.board = whole, board
        self.streets = cast(RangeTree, batch.tree).streets
        self.top = whole.units[board].street + 1
        self.levels = [
            batch if s == 0 else batch.stage(self.streets[s:]) for s in range(len(self.streets))
        ]
        self.hands = whole.units[board].hands

    def values(self, sigma: Pair, o: int) -> Array:
        """[way, h, j] in float32: what player `o` wins with hand h from a hand j, in chips.

        `sigma` are both players' strategies of the batch.
        """
        reach = [self._reach(s, sigma) for s in range(len(self.levels))]
        free = self.whole.holdem.deck.disjoint[np.ix_(self.hands[o], self.hands[1 - o])]
        return self._below(0, self.board, reach, o) * self._put(free)

    def _put(self, values: NDArray[Any]) -> Array:
        """NumPy's numbers on the device, in float32."""
        found = self.levels[0].array(values.astype(np.float64))
        return found.astype(np.float32) if isinstance(found, np.ndarray) else found

    def _reach(self, s: int, sigma: Pair) -> list[Array]:
        """[player][row, board, hand] reach of one street's rows, from 1 at its ways in."""
        run, out = self.levels[s], []
        for p in (0, 1):
            inner = sigma[p]
            if s > 0:  # a batch of the last streets has the end of the whole batch's numbers
                inner = np.asarray(inner)[-cast(RangeTree, run.tree).stored(p) :]
            out.append(run.row_reach(p, inner, run.roots(p))[0])
        return out

    def _below(self, s: int, parent: int, reach: list[list[Array]], o: int) -> Array:
        """Summed over the cards of street `s` of the batch that follow board `parent`."""
        whole, total = self.whole, None
        first, last = whole.boards.child_at[parent : parent + 2].tolist()
        for u in range(first, last):
            found = self._board(s, u, reach, o) * whole.units[u].weight
            total = found if total is None else total + found
        return self._exchanged(whole.units[parent], total, o)

    def _rows(self, s: int, u: int, p: int, reach: list[list[Array]]) -> Array:
        """[row, hand] a player's reach on one board, in the order of the hands above."""
        place = np.full(self.whole.holdem.deck.num_hands, -1)
        here = self.whole.units[u].hands[p]
        place[here] = np.arange(len(here))
        at = place[self.hands[p]]
        rows = reach[s][p][:, u - self.whole.units.first[self.top + s]]
        return self._single(rows[:, np.maximum(at, 0)]) * self._put(at >= 0)

    def _single(self, values: Array) -> Array:
        return values.astype(np.float32) if isinstance(values, np.ndarray) else values.float()

    def _board(self, s: int, u: int, reach: list[list[Array]], o: int) -> Array:
        """[way, h, j] on one board of street `s` of the batch."""
        street, p = self.streets[s], 1 - o
        mine, yours = self._rows(s, u, o, reach), self._rows(s, u, p, reach)
        below: Array = self._below(s + 1, u, reach, o) if street.leaves else None
        ahead: Array = None
        if any(ending.folded < 0 for ending in street.endings):
            ranks = self.whole.units[u].ranks.astype(np.int64)
            ahead = self._put(np.sign(ranks[self.hands[o]][:, None] - ranks[self.hands[p]]))
        tables = []
        for ends, leaves in _by_way(street, o):
            total = mine[:1].T @ yours[:1] * 0
            for showdown, found in ends.items():
                chips = self._put(np.array([[each[2]] for each in found]))
                paid = (mine[[each[0] for each in found]] * chips).T
                paid = paid @ yours[[each[1] for each in found]]
                total = total + (paid * ahead if showdown else paid)
            for k, (row, other) in leaves:
                total = total + mine[row][:, None] * yours[other] * below[k]
            tables.append(total)
        return namespace(mine).stack(tables)

    def _exchanged(self, unit: Board, table: Array, o: int) -> Array:
        """Averaged over the permutations of suits that leave the board and the ranges as they are.

        Boards that differ only in suits are one board here, counted as often as it stands for.
        """
        images = hand_permutations(self.whole.holdem.deck)[unit.symmetries]
        if len(images) == 1:
            return table
        moved = [self._images(images, p) for p in (o, 1 - o)]
        total = sum(table[:, mine][:, :, yours] for mine, yours in zip(*moved, strict=True))
        return total / len(images)

    def _images(self, images: Ints, p: int) -> Ints:
        """[permutation, hand] where each permutation takes the places of a player's hands."""
        place = np.zeros(images.shape[1], np.int64)
        place[self.hands[p]] = np.arange(len(self.hands[p]))
        found: Ints = place[images[:, self.hands[p]]]
        return found


Ends = dict[bool, list[tuple[int, int, int]]]
"""Showdowns and folds: both players' rows, and the chips that the first wins."""


def _by_way(street: Street, o: int) -> list[tuple[Ends, list[tuple[int, tuple[int, int]]]]]:
    """Per way into a street: how it ends there, and the leaves with both players' rows."""
    home = list(range(len(street.roots))) + [-1] * (street.rows[o] - len(street.roots))
    for parent, first, names in zip(
        street.parent[o], street.first[o], street.actions[o], strict=True
    ):
        home[first : first + len(names)] = [home[parent]] * len(names)
    out: list[tuple[Ends, list[tuple[int, tuple[int, int]]]]] = [({}, []) for _ in street.roots]
    for e in street.endings:
        chips = -e.stake if e.folded == o else e.stake
        ends = out[home[e.rows[o]]][0]
        ends.setdefault(e.folded < 0, []).append((e.rows[o], e.rows[1 - o], chips))
    for k, rows in enumerate(street.leaf_rows):
        out[home[rows[o]]][1].append((k, (rows[o], rows[1 - o])))
    return out
