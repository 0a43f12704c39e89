"""The engine of hold'em trees: the same operations as `engine.Engine`, on whole ranges."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.int16 import Halves
from subgame.errors import SubgameError, did_you_mean
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from subgame.engines.numba.range_kernels import Scratch, Team

Floats = NDArray[np.float64]
Stored = NDArray[np.float32]
_NONE: Stored = np.zeros(1, dtype=np.float32)
_STILL: Floats = np.ones(4)
LINE = 64
"""Bytes of a line of the cache. Scratch starts a quarter into one, as large arrays mostly do by
themselves: where sums and lanes both started with a line, a river took a seventh longer."""
ALONE = 100_000
"""Actions times hands below which one thread is as fast as several."""
SHARE = 8_000
"""Actions times hands that a thread is worth waking for, also where more threads are asked for."""


Numbers = Stored | Halves
STORAGES = ("float32", "int16")
"""What regrets and averages can be kept in: four bytes each, or two and a little."""


class Memory(NamedTuple):
    """What a solver remembers of one player, ``[unit][tile][action][LANES]``."""

    regret: Numbers
    average: Numbers
    instant: Numbers

    @property
    def sigma(self) -> Numbers:
        """The current strategy: kernels play in proportion to positive weights."""
        return self.regret


class Plan(NamedTuple):
    """A strategy with its reach at the root: what a plan of sequences is for small trees."""

    sigma: Numbers
    slots: Floats


class Values(NamedTuple):
    """What a best response gets at each root slot, unnormalised."""

    slots: Floats


class Door(Protocol):
    """What stands at the root: how players come in, by what one of them got so far."""

    player: int  # whose reach changes on every iteration; -1: nobody's

    def enter(self, p: int) -> Floats:
        """[s] player `p`'s reach on the coming iteration."""

    def observe(self, values: Floats, rates: Floats) -> None:
        """What entering was worth to `player` [s]; this and the next iteration's discounts."""


class NumbaRangeEngine:
    """CPU kernels bound to one hold'em tree."""

    def __init__(
        self, tree: RangeTree, threads: int | None = None, storage: str = "float32"
    ) -> None:
        from subgame.engines.numba import range_kernels

        if storage not in STORAGES:
            raise did_you_mean("storage on the CPU", str(storage), STORAGES)
        self.storage = storage
        self.tree, self.kernels = tree, range_kernels
        self.betting_tree, self.boards = tuple(tree.betting_tree), tuple(tree.boards)
        self.places = [tree.units[0].held(p)[1] for p in (0, 1)]  # [slot]
        self.stand = [np.unique(places, return_index=True)[1] for places in self.places]
        self.size = tree.stored(0) + tree.stored(1)
        self.threads = self._worth(threads or (1 if self.size < ALONE else os.cpu_count() or 1))
        self._rooms: dict[Any, tuple[Team, Scratch, list[tuple[Any, ...]]]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def set_threads(self, threads: int) -> None:
        """Use that many threads from now on, if there is work for them."""
        threads = self._worth(threads)
        if threads != self.threads:
            if self._pool is not None:
                self._pool.shutdown()
            self.threads, self._pool, self._rooms = threads, None, {}

    def _worth(self, threads: int) -> int:
        return min(threads, max(1, self.size // SHARE))

    # Scratch ---------------------------------------------------------------------------------
    def _room(self, dtype: Any) -> tuple[Team, Scratch, list[tuple[Any, ...]]]:
        """What threads share, and what kernels are given by each: plain tuples."""
        if dtype not in self._rooms:
            top = self._scratch(dtype, shared=True)
            own = [self._scratch(dtype, shared=False) for _ in range(self.threads)]
            b = self.tree.boards
            children = int(b.child_at[1] - b.child_at[0])
            wide = int(top.wide[1]) if len(top.wide) > 1 else 0
            results = np.zeros(children * int(top.ways[1]) * wide, dtype=dtype)
            team = self.kernels.Team(np.zeros(8, dtype=np.int64), results)
            private = ("reach", "value", "block", "sums")
            tops = [top._replace(**{name: getattr(one, name) for name in private}) for one in own]
            each = [(tuple(team), tuple(a), tuple(b)) for a, b in zip(tops, own, strict=True)]
            self._rooms[dtype] = (team, top, each)
        return self._rooms[dtype]

    def _scratch(self, dtype: Any, *, shared: bool) -> Scratch:
        """Working arrays: those of the first street are shared, those of the others are not.

        What is by place and root has roots side by side, so that kernels move four at once.
        """
        f, b = self.tree.betting_tree, self.tree.boards
        levels = len(f.roots) - 1
        wide = np.zeros(levels, dtype=np.int64)
        np.maximum.at(wide, b.street, [padded(int(n)) for n in b.hands.reshape(-1, 2).max(1)])
        tall = wide + LANES
        used = np.array([(level == 0) == shared for level in range(levels)])
        chunks = np.diff(f.chunk_at).reshape(-1, 2).max(1)
        lanes, lanes_at = _pack(used * chunks * tall * LANES)
        ways = -(-f.roots // 4) * 4
        ways[0] = 1
        above = np.append(wide[0], wide) + 1  # one more place, where nobody is
        left = np.append(shared, used)  # reach into a street is left by the one above
        way, way_at = _pack(np.repeat(left * above * ways, 2))
        paid, paid_at = _pack(used * wide * ways[1:])
        result, result_at = _pack(used * wide * ways[:-1])
        rows = (int(f.rows.max()) + 3) * LANES

        def room(size: int) -> NDArray[Any]:
            whole = np.zeros(size + LINE, dtype=dtype)
            first = (LINE // 4 - whole.ctypes.data) % LINE // whole.itemsize
            return whole[first : first + size]

        return self.kernels.Scratch(
            reach=room(rows),
            value=room(rows),
            block=room(LANES * LANES),
            sums=room(self.tree.num_cards * LANES),
            lanes=room(lanes),
            shown=room(lanes),
            folded=room(lanes),
            lanes_at=lanes_at,
            way=room(way),
            way_at=way_at,
            paid=room(paid),
            paid_at=paid_at,
            result=room(result),
            result_at=result_at,
            ways=ways,
            wide=wide,
            tall=tall,
            deck=np.array([self.tree.num_cards]),
        )

    def _together(self, dtype: Any, call: Any) -> Scratch:
        """Run `call(me, threads, team, top, own)` on every thread; gives the shared scratch."""
        team, top, each = self._room(dtype)
        team.counters[:] = 0
        if self.threads == 1:
            call(0, 1, *each[0])
            return top
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1)
        jobs = [self._pool.submit(call, k, self.threads, *each[k]) for k in range(1, self.threads)]
        call(0, self.threads, *each[0])
        for job in jobs:
            job.result()
        return top

    def _enter(self, dtype: Any, p: int, slots: Floats) -> None:
        top = self._room(dtype)[1]
        at = int(top.way_at[p])
        top.way[at : at + int(top.wide[0])] = 0
        top.way[at : at + len(self.stand[p])] = slots[self.stand[p]]

    # The operations --------------------------------------------------------------------------
    def memory(self, p: int, *, predictive: bool = False) -> Memory:
        """A blank memory for player `p`."""
        size = self.tree.stored(p)
        one, two, three = (
            Halves(many) if self.storage == "int16" else np.zeros(many, np.float32)
            for many in (size, size, size if predictive else 1)
        )
        return Memory(one, two, three)

    def iterate(
        self,
        memories: tuple[Memory, Memory],
        discounts: Floats,
        alternating: bool,
        root: Door | None = None,
        responder: int = -1,
        begin: int = 1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, with `root` at the door.

        The first of them counts as iteration `begin`, by which numbers are rounded.
        """
        if len(discounts) < 2:
            return
        numbers = np.arange(begin, begin + len(discounts), dtype=np.float64)
        discounts = np.column_stack([discounts, numbers])
        for p in (0, 1):
            self._enter(np.float32, p, root.enter(p) if root else self.tree.players[p].reach)
        if responder == 1:  # she answers player 0's first strategy before it is played
            blind = memories[1]._replace(average=_none_like(memories[1].average))
            mode, keep, still = self.kernels.RESPOND, self.kernels.NOBODY, discounts[0]
            self._half(1, mode, blind, memories[0], still, still, keep)
        if not alternating or (root and root.player >= 0):
            for t in range(len(discounts) - 1):
                self._turns(memories, discounts, t, alternating, root, responder)
            return
        first, second = (_mind(m.regret, m.average, m.instant) for m in memories)

        def call(me: int, threads: int, team: Any, top: Any, own: Any) -> None:
            self.kernels.run_iterations(
                self.betting_tree,
                self.boards,
                first,
                second,
                discounts,
                responder,
                me,
                threads,
                team,
                top,
                own,
            )

        self._together(np.float32, call)

    def _turns(
        self,
        memories: tuple[Memory, Memory],
        discounts: Floats,
        t: int,
        alternating: bool,
        root: Door | None,
        responder: int,
    ) -> None:
        """Iteration `t`, half by half: simultaneous, or with somebody at the door."""
        rates, count, kernels = discounts[t : t + 2], len(discounts) - 1, self.kernels
        before, chooser = memories[0], root.player if root else -1
        if not alternating:
            before = before._replace(regret=before.regret.copy(), instant=before.instant.copy())
        for p in (0, 1):
            mode = kernels.RESPOND if responder == p else kernels.LEARN
            keep = kernels.keeping(t + p, count) if alternating else kernels.THEIRS
            theirs, ahead = (before, memories[1])[1 - p], rates[p if alternating else 0]
            self._half(p, mode, memories[p], theirs, rates[0], ahead, keep)
            if root and p == chooser:
                root.observe(self._paid(np.float32, p), rates[:, :3])
                if alternating:
                    self._enter(np.float32, p, root.enter(p))
        if root and chooser >= 0 and not alternating:
            self._enter(np.float32, chooser, root.enter(chooser))

    def _paid(self, dtype: Any, p: int) -> Floats:
        """[s] what the last sweep gave player `p` at the root."""
        top = self._room(dtype)[1]
        at = int(top.result_at[0])
        out: Floats = top.result[at + self.places[p]].astype(np.float64) / self.tree.deals
        return out

    def _half(
        self,
        p: int,
        mode: int,
        mine: Memory,
        theirs: Memory,
        now: Floats,
        ahead: Floats,
        keep: int,
    ) -> None:
        """One player's half of an iteration."""
        own, other = (_mind(m.regret, m.average, m.instant) for m in (mine, theirs))

        def call(me: int, threads: int, team: Any, top: Any, scratch: Any) -> None:
            self.kernels.run_sweep(
                self.betting_tree,
                self.boards,
                p,
                mode,
                own,
                other,
                now,
                ahead,
                keep,
                me,
                threads,
                team,
                top,
                scratch,
            )

        self._together(np.float32, call)

    def sample(self, *args: Any) -> None:
        """Refused: whole ranges are cheap enough."""
        raise SubgameError("Hold'em trees are solved without sampling; choose another schedule.")

    def behaviour(self, p: int, plan: Numbers) -> Numbers:
        """The strategy of an average: itself, for kernels play in proportion to what they read."""
        return plan

    def plan(self, p: int, sigma: Numbers, slots: Floats | None = None) -> Plan:
        """A strategy with a reach at the root, by default the tree's own."""
        return Plan(sigma, self.tree.players[p].reach if slots is None else slots)

    def values(self, p: int, sigma: Numbers, opponent_plan: Plan) -> Floats:
        """[s] counterfactual values of player `p` playing `sigma`."""
        return self._sweep(p, self.kernels.FOLLOW, sigma, opponent_plan)

    def respond(self, p: int, opponent_plan: Plan) -> Values:
        """Counterfactual best response of player `p`."""
        none = _none_like(opponent_plan.sigma)
        return Values(self._sweep(p, self.kernels.BEST, none, opponent_plan))

    def _sweep(self, p: int, mode: int, sigma: Numbers, against: Plan) -> Floats:
        """One sweep in float64."""
        self._enter(np.float64, 1 - p, against.slots)
        mine, theirs, keep = _mind(sigma), _mind(against.sigma), self.kernels.NOBODY

        def call(me: int, threads: int, team: Any, top: Any, own: Any) -> None:
            self.kernels.run_sweep(
                self.betting_tree,
                self.boards,
                p,
                mode,
                mine,
                theirs,
                _STILL,
                _STILL,
                keep,
                me,
                threads,
                team,
                top,
                own,
            )

        self._together(np.float64, call)
        return self._paid(np.float64, p)


def _mind(
    weights: Numbers, average: Numbers | None = None, instant: Numbers | None = None
) -> tuple[Any, ...]:
    """A `kernels.Mind`, plain."""
    given = [_none_like(weights) if each is None else each for each in (weights, average, instant)]
    flags = np.array([len(given[1]) > 1, len(given[2]) > 1], dtype=np.int64)
    numbers = [each.ints if isinstance(each, Halves) else each for each in given]
    scales = [each.scales if isinstance(each, Halves) else _NONE for each in given]
    return *numbers, flags, *scales


def _none_like(numbers: Numbers) -> Numbers:
    """None of a kind: kernels are compiled for kinds."""
    return Halves(1) if isinstance(numbers, Halves) else _NONE


def _pack(sizes: Any) -> tuple[int, NDArray[np.int64]]:
    """The sum of sizes, and where each starts."""
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    return int(ends[-1]), ends - sizes
