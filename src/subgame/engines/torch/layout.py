"""A hold'em tree as whole blocks: ``[row, unit, hand]`` per street, all boards side by side.

What a kernel needs besides are small tables, one line per board: where a hand lies on the street
above and below, and where prefix sums are read for card removal. They are built once, in NumPy,
from `BoardArrays`; `engine` moves them to the device.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.boards import BATCH, BoardArrays
from subgame.tree.ranges.tree import RangeTree

Ints = NDArray[np.int64]
Small = NDArray[np.int16]
WARP = 32
"""Hands of a unit are padded to this, so that every row starts on a full line of memory."""
SEGMENT = 32
"""Boards added up by one program on the way to the street above."""


def pow2(n: int) -> int:
    """The least power of two that is at least `n`."""
    return 1 << max(0, n - 1).bit_length()


class Infoset(NamedTuple):
    """A decision: the row it hangs below, the row of its first action, how many there are."""

    parent: int
    first: int
    actions: int

    @property
    def rows(self) -> range:
        """The rows of its actions."""
        return range(self.first, self.first + self.actions)


class End(NamedTuple):
    """What is paid into one of the player's rows from a lane of the opponent's."""

    row: int
    lane: int  # among the opponent's lanes with a showdown, or with a fold
    showdown: bool
    scale: float


@dataclass(frozen=True)
class Betting:
    """One street's betting as one player sees it."""

    roots: int
    rows: int
    infosets: list[Infoset]
    lanes: list[int]
    """Rows that end the hand: those with a showdown first, those with a fold last."""
    shown: int
    """Lanes ``[:shown]`` have a showdown."""
    folded: int
    """Lanes ``[folded:]`` have a fold."""
    ends: list[End]
    """What the *opponent's* lanes pay the player."""
    leaves: list[int]
    """The row at each way out of the street."""

    @property
    def edges(self) -> int:
        return self.rows - self.roots

    def spread(self, above: list[int]) -> list[int]:
        """[row] what its root has of `above`."""
        result = above + [-1] * self.edges
        for node in self.infosets:
            result[node.first : node.first + node.actions] = [result[node.parent]] * node.actions
        return result


def betting(street: Street) -> tuple[Betting, Betting]:
    """Both players' view of a street."""
    lanes, shown, folded = [], [], []
    for p in (0, 1):
        kinds: dict[int, set[bool]] = {}
        for ending in street.endings:
            kinds.setdefault(ending.rows[p], set()).add(ending.showdown)
        order = sorted(kinds, key=lambda row: (len(kinds[row]) == 2) + 2 * (True not in kinds[row]))
        lanes.append(order)
        shown.append(sum(True in kinds[row] for row in order))
        folded.append(sum(False not in kinds[row] for row in order))

    def side(p: int) -> Betting:
        place = {row: k for k, row in enumerate(lanes[1 - p])}
        ends = [
            End(
                ending.rows[p],
                place[ending.rows[1 - p]] - (0 if ending.showdown else folded[1 - p]),
                ending.showdown,
                ending.pays[p],
            )
            for ending in street.endings
        ]
        infosets = [
            Infoset(parent, first, len(names))
            for parent, first, names in zip(
                street.parent[p], street.first[p], street.actions[p], strict=True
            )
        ]
        leaves = [rows[p] for rows in street.leaf_rows]
        roots, rows = len(street.roots), street.rows[p]
        return Betting(roots, rows, infosets, lanes[p], shown[p], folded[p], ends, leaves)

    return side(0), side(1)


class Tables(NamedTuple):
    """What kernels read of one player's hands on one street, in NumPy or on the device.

    u = unit of the street, h = place, padded to `Hands.wide`. `above` is of 32 bits, others of 16.
    """

    above: Any  # [u, h] place on the street above, ``unit * wide + h``; -1: none
    below: Any  # [u, hand of the unit above] its place here; -1: none
    orbit: Any  # [u, h, o] hands that suits exchange with it; -1: no more
    cards: Any  # [u, h, 2]
    lists: Any  # [u, card, d] hands with a card, by rank, from d = 1 on; else `wide`
    bounds: Any  # [u, h, 2] the opponent's hands that are weaker, and not stronger
    spots: Any  # [u, h, 4] the same per card, in the opponent's `lists`
    same: Any  # [u, h] the opponent's place of the same hand; the opponent's `wide`: none

    def cut(self, units: slice) -> Tables:
        """Some boards of it."""
        return Tables(*(table[units] for table in self))


@dataclass(frozen=True)
class Hands:
    """One player's hands on one street."""

    wide: int
    store: Ints  # [u] where the CPU engine's regrets of the unit start
    held: Ints  # [u] hands
    tables: Tables

    def some(self, units: slice) -> Hands:
        """The hands of some boards."""
        return Hands(self.wide, self.store[units], self.held[units], self.tables.cut(units))


@dataclass(frozen=True)
class Level:
    """One street: its betting, its boards and how they hang together."""

    units: int
    last: bool
    bets: tuple[Betting, Betting]
    hands: tuple[Hands, Hands]
    weight: NDArray[np.float64]  # [u] boards it stands for, times their probability
    child_at: Ints  # [u + 1] its units below, counted on their street; empty on the last
    segments: Ints  # [g, 2] first and last unit (excluded) of runs of `SEGMENT` siblings at most
    segment_at: Ints  # [unit above + 1] where its segments start

    @property
    def frame(self) -> Frame:
        """Its measures."""
        arrays = {id(array): array for hands in self.hands for array in hands.tables}
        wide = self.hands[0].wide, self.hands[1].wide
        tables = sum(array.nbytes for array in arrays.values()) + self.weight.nbytes
        return Frame(self.units, wide, self.bets, self.hands[0].tables.lists.shape[1], tables)

    def some(self, units: slice) -> Level:
        """Some boards of a last street, for an engine that has no street above it."""
        one, two = self.hands
        mine = one.some(units)
        alike = two.tables is one.tables
        yours = replace(mine, store=two.store[units]) if alike else two.some(units)
        weight = self.weight[units]
        return replace(self, units=len(weight), hands=(mine, yours), weight=weight)

    def stored_at(self, one: Ints, two: Ints) -> Level:
        """The same, with the numbers of each player's boards stored elsewhere."""
        mine, yours = self.hands
        return replace(self, hands=(replace(mine, store=one), replace(yours, store=two)))


class Frame(NamedTuple):
    """How large a street is: what memory is quoted by, before there are any tables."""

    units: int
    wide: tuple[int, int]
    bets: tuple[Betting, Betting]
    cards: int  # lines of `Hands.lists`
    tables: int  # bytes


def frames(tree: RangeTree) -> list[Frame]:
    """What the levels of a tree will measure; its tables at most."""
    b, size = tree.boards, tree.holdem.deck.size
    alike, cards = np.array_equal(*tree.units[0].hands), pow2(size + 1)
    out: list[Frame] = []
    for s, street in enumerate(tree.streets):
        units = np.flatnonzero(b.street == s)
        wide = [_wide(int(b.hands[2 * units + p].max())) for p in (0, 1)]
        dealt = len(tree.units[int(units[0])].cards)
        shared = pow2(min(size - 1 - dealt, int(b.hands.max(initial=1))) + 1)
        tables = 8 * len(units)
        for p in (0,) if alike else (0, 1):
            up = out[-1].wide[p] if out else 0
            board_bytes = (
                wide[p] * (22 + 2 * _orbit_size(b, 2 * units + p)) + 2 * up + 2 * cards * shared
            )
            tables += len(units) * board_bytes
        out.append(Frame(len(units), (wide[0], wide[1]), betting(street), cards, tables))
    return out


def lay_out(tree: RangeTree) -> list[Level]:
    """Every street of a tree. Players who hold the same hands share their tables."""
    b = tree.boards
    levels: list[Level] = []
    for s, street in enumerate(tree.streets):
        units = np.flatnonzero(b.street == s)
        first, last = int(units[0]), s == len(tree.streets) - 1
        hands = _Builder(tree, units, levels[-1] if levels else None).both()
        below = b.child_at[first : int(units[-1]) + 2] - (int(units[-1]) + 1)
        below = below[:0] if last else below
        segments = _segments(levels[-1].child_at if levels else np.zeros(1, np.int64))
        weight = b.weight[units]
        levels.append(Level(len(units), last, betting(street), hands, weight, below, *segments))
    return levels


def _wide(hands: int) -> int:
    return -(-max(hands, 1) // WARP) * WARP


def _segments(child_at: Ints) -> tuple[Ints, Ints]:
    """Runs of at most `SEGMENT` siblings, and where each parent's start."""
    runs: list[tuple[int, int]] = []
    at = [0]
    for begin, end in zip(child_at[:-1].tolist(), child_at[1:].tolist(), strict=True):
        runs += [(k, min(k + SEGMENT, end)) for k in range(begin, end, SEGMENT)]
        at.append(len(runs))
    return np.array(runs, dtype=np.int64).reshape(-1, 2), np.array(at, dtype=np.int64)


def _as_one(table: Small) -> NDArray[np.int32]:
    """Two numbers that are read together as one."""
    return np.ascontiguousarray(table).view(np.int32)[..., 0]


class _Rows:
    """One player's hands on some boards, padded to `wide`."""

    def __init__(self, builder: _Builder, some: slice, p: int) -> None:
        b, wide = builder.boards, builder.widths[p]
        units = builder.units[some]
        up, groups = 2 * units + p, b.groups[units, None]
        h, g = np.arange(wide), np.arange(int(groups.max()) + 1)
        self.up, self.held = up, b.hands[up, None]
        self.real = h < self.held
        self._index = np.minimum(b.hand_at[up, None] + h, len(b.hand) - 1)
        run = b.group_run.take(b.group_at[up, None] + np.minimum(g, groups))
        self.starts = b.run_start.take(b.run_at[up, None] + run).astype(np.int64)
        """[u, group + 1] the first hand of each rank."""
        times = np.diff(self.starts, axis=1, append=wide)
        self.group = np.repeat(np.tile(g, len(up)), times.ravel()).reshape(len(up), wide)
        """[u, h] its rank; one too many where there is no hand."""
        self.hand = self.read(b.hand, builder.hands)
        """[u, h] in the deck's order; one too many where there is none."""
        line = (self.group * len(up) + np.arange(len(up))[:, None]) * builder.size
        self.cells = [line + card.take(self.hand) for card in builder.cards.T]
        """[u, h] of both cards: where it is in a table [group, unit, card]."""

    def read(self, flat: NDArray[np.uint16], blank: int) -> Ints:
        """[u, h] what `BoardArrays` has of each hand."""
        result: Ints = np.where(self.real, flat.take(self._index), blank)
        return result


class _Builder:
    """Fills the tables of one street, `BATCH` boards at a time."""

    def __init__(self, tree: RangeTree, units: Ints, above: Level | None) -> None:
        b, deck = tree.boards, tree.holdem.deck
        self.boards, self.units, self.above = b, units, above
        self.alike = np.array_equal(*tree.units[0].hands)  # then everywhere
        self.widths = [_wide(int(b.hands[2 * units + p].max())) for p in (0, 1)]
        self.size, self.hands = deck.size, deck.num_hands
        self.cards = np.append(deck.hands, [[0, 0]], axis=0)  # one more, for what is no hand
        self.hand_of = deck.hand_table.ravel() % (deck.num_hands + 1)  # none on the diagonal
        self.parent = np.arange(len(units))  # boards of the first street enter as themselves
        if above is not None:
            self.parent = np.repeat(np.arange(above.units), np.diff(above.child_at))
        self.batches = [slice(at, at + BATCH) for at in range(0, len(units), BATCH)]
        self.depth = pow2(self._most() + 1)

    def _most(self) -> int:
        """The most hands of a player on a board that share a card."""
        b, most = self.boards, 1
        for some, p in itertools.product(self.batches, (0,) if self.alike else (0, 1)):
            up = 2 * self.units[some] + p
            hand = b.hand.take(_ranges(b.hand_at[up], b.hands[up]))
            row = np.repeat(np.arange(len(up)) * self.size, b.hands[up])
            counts = sum(
                np.bincount(row + card.take(hand), minlength=len(up) * self.size)
                for card in self.cards.T
            )
            most = max(most, int(np.max(counts)))
        return most

    def both(self) -> tuple[Hands, Hands]:
        first = self.side(0)
        if self.alike:
            return first, replace(first, store=self.boards.store_at[2 * self.units + 1])
        return first, self.side(1)

    def side(self, p: int) -> Hands:
        b, count, wide, o = self.boards, len(self.units), self.widths[p], 1 - p
        up = self.above.hands[p].wide if self.above else 0
        tall = pow2(self.size + 1)  # one line is left over, for the sum of all
        above = np.empty((count, wide), np.int32)
        below = np.empty((count, up), np.int16)
        cards, bounds = (np.empty((count, wide, 2), np.int16) for _ in range(2))
        lists = np.full((count, tall, self.depth), wide, np.int16)
        spots = np.empty((count, wide, 4), np.int16)
        same = np.empty((count, wide), np.int16)
        orbit = np.full((count, wide, _orbit_size(b, 2 * self.units + p)), -1, np.int16)
        pairs, depth = _as_one(self.cards.astype(np.int16)), min(self.size, self.depth - 1)
        for some in self.batches:
            mine = _Rows(self, some, p)
            theirs = mine if self.alike else _Rows(self, some, o)
            place = mine.read(b.above, up)
            above[some] = np.where(mine.real, self.parent[some, None] * (up or wide) + place, -1)
            if up:
                below[some] = self._scattered(place, up, -1)
            cards[some] = pairs.take(mine.hand)[..., None].view(np.int16)
            lists[some, : self.size, 1 : depth + 1] = self._lists(mine.hand, wide)[..., :depth]
            bounds[some] = self._bounds(mine, theirs)
            spots[some] = self._spots(mine, theirs)
            known = mine.read(b.same, wide)
            same[some] = np.where(mine.real & (known < theirs.held), known, self.widths[o])
            self._orbits(orbit[some], mine)
        tables, ids = (
            Tables(above, below, orbit, cards, lists, bounds, spots, same),
            2 * self.units + p,
        )
        return Hands(wide, b.store_at[ids], b.hands[ids], tables)

    @staticmethod
    def _scattered(at: Ints, size: int, blank: int) -> Small:
        """[u, k] the h with ``at[u, h] == k``; what lies at `size` is left out."""
        inverse = np.full((len(at), size + 1), blank, np.int16)
        rows = np.arange(len(at))[:, None] * (size + 1)
        inverse.ravel()[rows + at] = np.arange(at.shape[1], dtype=np.int16)
        return inverse[:, :size]

    def _lists(self, hand: Ints, wide: int) -> Small:
        """[u, card, d] places of the hands with each card, by rank; then `wide`."""
        places = np.pad(
            self._scattered(hand, self.hands, wide), ((0, 0), (0, 1)), constant_values=wide
        )
        result = places.take(self.hand_of, axis=1).reshape(-1, self.size, self.size)
        result.sort(axis=2)
        return result

    @staticmethod
    def _bounds(mine: _Rows, theirs: _Rows) -> Small:
        """[u, h, 2] the opponent's hands that are weaker, and not stronger."""
        boards, groups = theirs.starts.shape
        table = np.zeros((boards, groups, 2), np.int16)  # the last group is no hands
        table[:, :-1, 0], table[:, :-1, 1] = theirs.starts[:, :-1], theirs.starts[:, 1:]
        at = np.arange(boards)[:, None] * groups + mine.group
        result: Small = _as_one(table).take(at)[..., None].view(np.int16)
        return result

    def _spots(self, mine: _Rows, theirs: _Rows) -> Small:
        """[u, h, 4] for both cards: where sums over weaker, and not stronger, hands are read."""
        boards, groups = theirs.starts.shape
        bins = groups * boards * self.size
        low, high = (np.bincount(cells.ravel(), minlength=bins) for cells in theirs.cells)
        met = (low + high).astype(np.int16).reshape(groups, -1)  # [group, (unit, card)]
        table = np.zeros((*met.shape, 2), np.int16)
        total = np.tile(np.arange(self.size) * self.depth, boards).astype(np.int16)
        for g in range(groups - 1):  # np.cumsum would go down the columns, out of the cache
            table[g, :, 0] = total
            total += met[g]
            table[g, :, 1] = total
        read = _as_one(table)
        return np.stack([read.take(cells) for cells in mine.cells], axis=-1).view(np.int16)

    def _orbits(self, into: Small, mine: _Rows) -> None:
        if into.shape[2] == 0:
            return
        b, up = self.boards, mine.up
        into[..., 0] = np.where(mine.real, np.arange(into.shape[1]), -1)
        line = _ranges(b.orbit_at[up], b.orbits[up])
        begin, size = b.orbit_start[line], b.orbit_start[line + 1] - b.orbit_start[line]
        members = b.orbit_hand[_ranges(begin, size)].astype(np.int64)
        row = np.repeat(np.repeat(np.arange(len(up)), b.orbits[up]), size)
        begin, size = np.repeat(begin, size), np.repeat(size, size)
        for k in range(into.shape[2]):
            some = np.flatnonzero(size > k)
            into[row[some], members[some], k] = b.orbit_hand[begin[some] + k]


def _orbit_size(b: BoardArrays, up: Ints) -> int:
    """The most hands that suits exchange, up to a power of two; 0: none."""
    line = _ranges(b.orbit_at[up], b.orbits[up])
    size = int((b.orbit_start[line + 1] - b.orbit_start[line]).max(initial=0))
    return pow2(size) if size > 1 else 0


def _ranges(begin: Ints, size: Ints) -> Ints:
    """``begin .. begin + size - 1`` of each, one after another."""
    shift: Ints = np.repeat(begin - (np.cumsum(size) - size), size)
    return shift + np.arange(len(shift))
