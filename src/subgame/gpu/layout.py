"""A hold'em tree as whole blocks: ``[row, unit, hand]`` per street, all boards side by side.

What a kernel needs besides are small tables, one line per board: where a hand lies on the street
above and below, and where prefix sums are read for card removal. They are built once, in NumPy,
from `Boards`; `engine` moves them to the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.boards import BoardTree
from subgame.tree.forest import LANES, Street

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


class End(NamedTuple):
    """What is paid into one of our rows from a lane of the opponent's."""

    row: int
    lane: int  # among her lanes with a showdown, or with a fold
    showdown: bool
    scale: float


@dataclass(frozen=True)
class Betting:
    """One street's betting as one player sees it."""

    roots: int
    rows: int
    infosets: list[Infoset]
    lanes: list[int]
    """Her rows that end the hand: those with a showdown first, those with a fold last."""
    shown: int
    """Lanes ``[:shown]`` have a showdown."""
    folded: int
    """Lanes ``[folded:]`` have a fold."""
    ends: list[End]
    """What the *opponent's* lanes pay her."""
    leaves: list[int]
    """Her row at each way out of the street."""

    @property
    def edges(self) -> int:
        return self.rows - self.roots


def betting(street: Street) -> tuple[Betting, Betting]:
    """Both players' view of a street."""
    lanes, shown, folded = [], [], []
    for p in (0, 1):
        kinds: dict[int, set[bool]] = {}
        for ending in street.endings:
            kinds.setdefault(ending.rows[p], set()).add(ending.folded < 0)
        order = sorted(kinds, key=lambda row: (len(kinds[row]) == 2) + 2 * (True not in kinds[row]))
        lanes.append(order)
        shown.append(sum(True in kinds[row] for row in order))
        folded.append(sum(False not in kinds[row] for row in order))

    def side(p: int) -> Betting:
        place = {row: k for k, row in enumerate(lanes[1 - p])}
        ends = [
            End(
                ending.rows[p],
                place[ending.rows[1 - p]] - (0 if ending.folded < 0 else folded[1 - p]),
                ending.folded < 0,
                float(-ending.stake if ending.folded == p else ending.stake),
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


@dataclass(frozen=True)
class Hands:
    """One player's hands on one street. u = unit of the street, h = place, padded to `wide`."""

    wide: int
    store: Ints  # [u] where the CPU engine's regrets of the unit start
    held: Ints  # [u] hands
    above: NDArray[np.int32]  # [u, h] place on the street above, ``unit * wide + h``; -1: none
    below: Small  # [u, hand of the unit above] its place here; -1: none
    orbit: Small  # [u, h, o] hands that suits exchange with it; -1: no more
    cards: Small  # [u, h, 2]
    lists: Small  # [u, card, d] her hands with a card, by rank, from d = 1 on; else `wide`
    bounds: Small  # [u, h, 2] the opponent's hands that are weaker, and not stronger
    spots: Small  # [u, h, 4] the same per card, in the opponent's `lists`
    same: Small  # [u, h] the opponent's place of the same hand; her `wide`: none


@dataclass(frozen=True)
class Level:
    """One street: its betting, its boards and how they hang together."""

    units: int
    last: bool
    bets: tuple[Betting, Betting]
    hands: tuple[Hands, Hands]
    weight: NDArray[np.float64]  # [u] boards it stands for, times their probability
    child_at: Ints  # [u + 1] its units below, counted on their street; empty on the last
    segments: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """[g, 2] first and last unit (excluded) of runs of `SEGMENT` siblings at most."""
    segment_at: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    """[unit above + 1] where its segments start."""

    def stored(self, p: int) -> int:
        """Numbers in one block of player `p`."""
        return self.bets[p].edges * self.units * self.hands[p].wide


def lay_out(tree: BoardTree) -> list[Level]:
    """Every street of a tree."""
    b = tree.boards
    levels: list[Level] = []
    for s, street in enumerate(tree.streets):
        units = np.flatnonzero(b.street == s)
        first, last = int(units[0]), s == len(tree.streets) - 1
        widths = [_wide(int(b.hands[2 * units + p].max())) for p in (0, 1)]
        hands = _Builder(tree, units, (widths[0], widths[1]), levels[-1] if levels else None)
        below = b.child_at[first : int(units[-1]) + 2] - (int(units[-1]) + 1)
        segments, segment_at = _segments(levels[-1].child_at) if levels else (None, None)
        more = {} if segments is None else {"segments": segments, "segment_at": segment_at}
        level = Level(len(units), last, betting(street), (hands.side(0), hands.side(1)),
                      b.weight[units], below if not last else np.zeros(0, np.int64),
                      **more)  # type: ignore[arg-type]  # fmt: skip
        levels.append(level)
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


class _Builder:
    """Fills the tables of one street."""

    def __init__(
        self, tree: BoardTree, units: Ints, widths: tuple[int, int], above: Level | None
    ) -> None:
        self.tree, self.units, self.widths, self.above = tree, units, widths, above
        self.pairs = tree.holdem.deck.hands
        self.deck = tree.holdem.deck.size
        counts = 1
        for u in units.tolist():
            for p in (0, 1):
                held = np.bincount(self._cards(u, p).ravel(), minlength=1)
                counts = max(counts, int(held.max()))
        self.depth = pow2(counts + 1)

    def _cards(self, u: int, p: int) -> Ints:
        b, up = self.tree.boards, 2 * u + p
        at = int(b.hand_at[up])
        found: Ints = self.pairs[b.hand[at : at + int(b.hands[up])].astype(np.int64)]
        return found

    def _starts(self, u: int, p: int) -> Ints:
        """[group + 1] the first hand of each rank."""
        b, up = self.tree.boards, 2 * u + p
        at, runs = int(b.group_at[up]), int(b.run_at[up])
        run = b.group_run[at : at + int(b.groups[u]) + 1].astype(np.int64)
        return b.run_start[runs + run].astype(np.int64)

    def side(self, p: int) -> Hands:
        b, count, wide, o = self.tree.boards, len(self.units), self.widths[p], 1 - p
        up = self.above.hands[p].wide if self.above else 0
        tall = pow2(self.deck + 1)  # one line is left over, for the sum of all
        above = np.full((count, wide), -1, np.int32)
        below = np.full((count, up), -1, np.int16)
        cards, bounds = (np.zeros((count, wide, 2), np.int16) for _ in range(2))
        lists = np.full((count, tall, self.depth), wide, np.int16)
        spots = np.zeros((count, wide, 4), np.int16)
        same = np.full((count, wide), self.widths[o], np.int16)
        orbit = np.full((count, wide, self._orbit_size(p)), -1, np.int16)
        for k, u in enumerate(self.units.tolist()):
            at, n = int(b.hand_at[2 * u + p]), int(b.hands[2 * u + p])
            place = b.above[at : at + n].astype(np.int64)
            parent = self.tree.units[u].parent
            row = parent - self._first_above if parent >= 0 else 0
            above[k, :n] = row * up + place
            if up:
                below[k, place] = np.arange(n)
            mine, theirs = self._cards(u, p), self._cards(u, o)
            cards[k, :n] = mine
            self._list(lists[k], mine)
            starts, hers = self._starts(u, p), self._starts(u, o)
            group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            bounds[k, :n] = np.stack([hers[group], hers[group + 1]], 1)
            spots[k, :n] = self._spots(mine, theirs, bounds[k, :n])
            known = b.same[at : at + n].astype(np.int64)
            same[k, :n] = np.where(known < b.hands[2 * u + o], known, self.widths[o])
            self._orbits(orbit[k], u, p, n)
        up_ids = 2 * self.units + p
        return Hands(wide, b.store_at[up_ids], b.hands[up_ids], above, below, orbit, cards, lists,
                     bounds, spots, same)  # fmt: skip

    @property
    def _first_above(self) -> int:
        assert self.above is not None
        return int(self.units[0]) - self.above.units

    def _list(self, into: Small, mine: Ints) -> None:
        """Places of the hands with each card, by rank."""
        card, place = mine.ravel(), np.repeat(np.arange(len(mine)), 2)
        order = np.argsort(card, kind="stable")
        card, place = card[order], place[order]
        first = np.searchsorted(card, np.arange(self.deck))
        into[card, np.arange(len(card)) - first[card] + 1] = place

    def _spots(self, mine: Ints, theirs: Ints, bounds: Small) -> Ints:
        """[h, 4] for both cards: where sums over weaker, and not stronger, hands are read."""
        span = len(theirs) + 1
        keys = np.sort((theirs * span + np.arange(len(theirs))[:, None]).ravel())
        first = np.searchsorted(keys, np.arange(self.deck) * span)
        card = np.repeat(mine, 2, axis=1)  # [h, 4]
        rank = np.tile(bounds.astype(np.int64), 2)
        found: Ints = np.searchsorted(keys, card * span + rank) - first[card] + card * self.depth
        return found

    def _orbit_size(self, p: int) -> int:
        b, size = self.tree.boards, 0
        for u in self.units.tolist():
            at, count = int(b.orbit_at[2 * u + p]), int(b.orbits[2 * u + p])
            if count:
                size = max(size, int(np.diff(b.orbit_start[at : at + count + 1]).max()))
        return pow2(size) if size > 1 else 0

    def _orbits(self, into: Small, u: int, p: int, n: int) -> None:
        if into.shape[1] == 0:
            return
        b = self.tree.boards
        at, count = int(b.orbit_at[2 * u + p]), int(b.orbits[2 * u + p])
        into[:n, 0] = np.arange(n)
        for o in range(at, at + count):
            begin, end = b.orbit_start[o : o + 2].tolist()
            members = b.orbit_hand[begin:end].astype(np.int64)
            into[members, : len(members)] = members


def cpu_places(level: Level, p: int) -> Iterator[tuple[Ints, NDArray[np.bool_]]]:
    """For every action, where the CPU engine keeps ``[u, h]``, and which of them are hands."""
    hands, edges = level.hands[p], level.bets[p].edges
    h = np.arange(hands.wide)
    real = h < hands.held[:, None]
    tile = hands.store[:, None] + h // LANES * (edges * LANES) + h % LANES
    for e in range(edges):
        yield np.where(real, tile + e * LANES, 0), real
