"""Values by pair of hands: what the rest of a hand pays if both players' strategies are known.

A terminal pays ``chips * r_o(h) * r_p(j)`` for every pair of hands h and j that can be held
together, after a showdown times who is ahead. So a board is a sum of outer products, and what lies
below a leaf is such a table again, times both players' reach of the leaf.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array, Ints, as_index, namespace, zeros
from subgame.engines.contract import RangeEngine
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.tree.public_tree import both
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.tree import Board, RangeTree

Pair = tuple[Any, Any]


class _Board(NamedTuple):
    """Both players' hands of the board above on one that follows, on the device. Axis: hand."""

    place: tuple[Array, Array]  # on the board
    real: tuple[Array, Array]  # 1, or 0 where a card blocks it
    ranks: tuple[Array, Array]


class _Ends(NamedTuple):
    """How one way into a street ends: terminals of one kind, on the device."""

    showdown: bool
    mine: Array  # [e] the first player's row
    yours: Array  # [e] the other's
    chips: Array  # [e, 1] what the first player wins


class _Way(NamedTuple):
    """All that lies below one way into a street."""

    ends: list[_Ends]
    leaves: list[tuple[int, int, int]]  # a leaf, and both players' rows there


class PairTables:
    """Tables below a tree's first street, over all boards of a batch of the streets that follow.

    Hands are those of the first board, in its order, on every street: hands that a card blocks
    have reach 0. Everything large stays on the engine's device.
    """

    def __init__(self, whole: RangeTree, batch: RangeEngine) -> None:
        """`batch` is of the streets after the first one, with any ways in."""
        self.whole, self.streets = whole, batch.tree.streets
        self.levels = [
            batch if s == 0 else batch.stage(self.streets[s:]) for s in range(len(self.streets))
        ]
        self.hands = whole.units[0].hands
        self._boards: dict[int, _Board] = {}
        self._ways: dict[tuple[int, int], list[_Way]] = {}

    def values(self, sigma: Pair, o: int) -> Array:
        """[way, h, j] in float32: what player `o` wins with hand h from a hand j, in chips.

        `sigma` are both players' strategies of the batch.
        """
        reach = [self._reach(s, sigma) for s in range(len(self.levels))]
        free = self.whole.holdem.deck.disjoint[np.ix_(self.hands[o], self.hands[1 - o])]
        return self._below(0, 0, reach, o) * self._put(free)

    def _put(self, values: NDArray[Any]) -> Array:
        """NumPy's numbers on the device, in float32."""
        return _single(self.levels[0].array(values.astype(np.float64)))

    def _reach(self, s: int, sigma: Pair) -> list[Array]:
        """[player][row, board, hand] reach of one street's rows, from 1 at its ways in."""
        run = self.levels[s]
        if s > 0:  # a batch of the last streets has the end of the whole batch's numbers
            tree = run.tree
            sigma = both(lambda p: np.asarray(sigma[p])[-tree.stored(p) :])
        return [_single(run.row_reach(p, sigma[p], run.roots(p))[0]) for p in (0, 1)]

    def _below(self, s: int, parent: int, reach: list[list[Array]], o: int) -> Array:
        """Summed over the cards of street `s` of the batch that follow board `parent`."""
        whole = self.whole
        shape = (len(self.streets[s].roots), len(self.hands[o]), len(self.hands[1 - o]))
        total = zeros(shape, reach[s][o])
        first, last = whole.boards.child_at[parent : parent + 2].tolist()
        for u in range(first, last):
            total += self._board(s, u, reach, o) * whole.units[u].weight
        return self._exchanged(whole.units[parent], total, o)

    def _seen(self, u: int, like: Array) -> _Board:
        """Where hands are on board `u`; found once."""
        if u not in self._boards:
            unit = self.whole.units[u]
            at = both(lambda p: self._places(unit.hands[p], self.hands[p]))
            self._boards[u] = _Board(
                both(lambda p: as_index(np.maximum(at[p], 0), like)),
                both(lambda p: self._put(at[p] >= 0)),
                both(lambda p: self._put(unit.ranks[self.hands[p]])),
            )
        return self._boards[u]

    def _board(self, s: int, u: int, reach: list[list[Array]], o: int) -> Array:
        """[way, h, j] on one board of street `s` of the batch."""
        street, p, xp = self.streets[s], 1 - o, namespace(reach[s][o])
        seen, number = self._seen(u, reach[s][o]), u - self.whole.units.first[s + 1]
        mine, yours = (
            reach[s][q][:, number][:, seen.place[q]] * seen.real[q] for q in (o, p)
        )  # [row, hand] in the order of the hands above
        below: Array = self._below(s + 1, u, reach, o) if street.leaves else None
        ahead: Array = None
        if any(ending.showdown for ending in street.endings):
            ahead = xp.sign(seen.ranks[o][:, None] - seen.ranks[p])
        tables = []
        for way in self._ways_into(s, o, mine):
            total = zeros((mine.shape[1], yours.shape[1]), mine)
            for ends in way.ends:
                paid = (mine[ends.mine] * ends.chips).T @ yours[ends.yours]
                total += paid * ahead if ends.showdown else paid
            for k, row, other in way.leaves:
                total += mine[row][:, None] * yours[other] * below[k]
            tables.append(total)
        return xp.stack(tables)

    def _ways_into(self, s: int, o: int, like: Array) -> list[_Way]:
        """What lies below each way into street `s` of the batch; found once."""
        if (s, o) in self._ways:
            return self._ways[s, o]
        street = self.streets[s]
        out = [_Way([], []) for _ in street.roots]
        ends: list[dict[bool, list[tuple[int, int, float]]]] = [{} for _ in street.roots]
        home = _homes(street, o)
        for e in street.endings:
            one, two = e.rows[o], e.rows[1 - o]
            ends[home[one]].setdefault(e.showdown, []).append((one, two, e.pays[o]))
        for k, rows in enumerate(street.leaf_rows):
            out[home[rows[o]]].leaves.append((k, rows[o], rows[1 - o]))
        for way, kinds in zip(out, ends, strict=True):
            for showdown, endings in kinds.items():
                mine, yours, won = np.array(endings).T
                paid = self._put(won[:, None])
                way.ends.append(_Ends(showdown, as_index(mine, like), as_index(yours, like), paid))
        self._ways[s, o] = out
        return out

    def _exchanged(self, unit: Board, table: Array, o: int) -> Array:
        """Averaged over the permutations of suits that leave the board and the ranges as they are.

        Boards that differ only in suits are one board here, counted as often as it stands for.
        """
        images = hand_permutations(self.whole.holdem.deck)[unit.symmetries]
        if len(images) == 1:
            return table
        moved = (self._places(self.hands[p], images[:, self.hands[p]]) for p in (o, 1 - o))
        total = zeros(tuple(table.shape), table)
        for mine, yours in zip(*(as_index(places, table) for places in moved), strict=True):
            total += table[:, mine][:, :, yours]
        return total / len(images)

    def _places(self, among: Ints, hands: Ints) -> Ints:
        """Where hands stand in a list of them; -1 where they do not."""
        place = np.full(self.whole.holdem.deck.num_hands, -1, dtype=np.int64)
        place[among] = np.arange(len(among))
        return place[hands]


def _single(array: Array) -> Array:
    """An array in float32, of its library and on its device."""
    return array.astype(np.float32) if isinstance(array, np.ndarray) else array.float()


def _homes(street: Street, o: int) -> list[int]:
    """[row] the way into a street above each of a player's rows."""
    home = list(range(len(street.roots)))
    for parent, names in zip(street.parent[o], street.actions[o], strict=True):
        home += [home[parent]] * len(names)
    return home
