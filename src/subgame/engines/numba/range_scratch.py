"""What the kernels of hold'em trees work with: threads, and each one's working arrays."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.range_kernels import Team
from subgame.engines.numba.range_tiles import Scratch
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.tree import RangeTree

LINE = 64
"""Bytes of a line of the cache. Scratch starts a quarter into one, as large arrays mostly do by
themselves: where sums and lanes both started with a line, a river took a seventh longer."""
PRIVATE = ("reach", "value", "block", "sums")
"""What threads that share a board's scratch have of their own."""


class Rows(NamedTuple):
    """Where a sweep leaves the values of every row: per street ``[row, board, place]``."""

    rows: NDArray[np.float64]
    rows_at: NDArray[np.int64]  # [level]


class Room(NamedTuple):
    """The working arrays of one precision."""

    team: Team
    top: Scratch  # shared
    tops: list[Scratch]  # by thread: the same, with what is private
    own: list[Scratch]  # by thread

    def given(self, k: int, rows: Rows | None = None) -> tuple[Any, ...]:
        """What kernels are given by thread `k`: plain tuples."""
        top, own = self.tops[k], self.own[k]
        if rows is not None:
            top, own = (each._replace(**rows._asdict()) for each in (top, own))
        return tuple(self.team), tuple(top), tuple(own)


class Workers:
    """Some threads, and their scratch in each precision, made when it is first wanted."""

    def __init__(self, tree: RangeTree, threads: int) -> None:
        self.tree, self.threads = tree, threads
        self.several = int(tree.boards.child_at[0]) > 1
        self._rooms: dict[Any, Room] = {}
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, dtype: Any, call: Callable[..., None], rows: Rows | None = None) -> None:
        """Run ``call(me, threads, team, top, own)`` on every thread."""
        room, threads = self.room(dtype), self.threads
        room.team.counters[:] = 0
        if threads == 1:
            call(0, 1, *room.given(0, rows))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads - 1)
        jobs = [
            self._pool.submit(call, k, threads, *room.given(k, rows)) for k in range(1, threads)
        ]
        call(0, threads, *room.given(0, rows))
        for job in jobs:
            job.result()

    def room(self, dtype: Any) -> Room:
        """The working arrays of a precision."""
        if dtype not in self._rooms:
            top = self._scratch(dtype, shared=True)
            own = [self._scratch(dtype, shared=False) for _ in range(self.threads)]
            b = self.tree.boards
            size = 1
            if not self.several and len(top.wide) > 1:
                size = int(b.child_at[1] - b.child_at[0]) * int(top.ways[1]) * int(top.wide[1])
            team = Team(np.zeros(8, dtype=np.int64), np.zeros(size, dtype=dtype))
            tops = [top._replace(**{name: getattr(one, name) for name in PRIVATE}) for one in own]
            self._rooms[dtype] = Room(team, top, tops, own)
        return self._rooms[dtype]

    def _scratch(self, dtype: Any, *, shared: bool) -> Scratch:
        """Working arrays.

        A single board of the first street is worked on together, so what belongs to it is shared.
        Of several boards only reach and results are. What is by place and root has roots side by
        side, so that kernels move four at once.
        """
        f, b = self.tree.betting_tree, self.tree.boards
        levels, first = len(f.roots) - 1, int(b.child_at[0])
        wide = np.zeros(levels, dtype=np.int64)
        np.maximum.at(wide, b.street, [padded(int(n)) for n in b.hands.reshape(-1, 2).max(1)])
        tall = wide + LANES
        top = np.arange(levels) == (-1 if self.several else 0)  # streets that threads share
        used = top == shared
        chunks = np.diff(f.chunk_at).reshape(-1, 2).max(1)
        lanes, lanes_at = _pack(used * chunks * tall * LANES)
        ways = -(-f.roots // 4) * 4
        ways[0] = f.roots[0]
        above = np.append(first * wide[0], wide + 1)  # one more place, where nobody is
        left = np.append(shared, used)  # reach into a street is left by the one above
        way, way_at = _pack(np.repeat(left * above * ways, 2))
        paid, paid_at = _pack(used * wide * ways[1:])
        results = used * wide * ways[:-1]
        if shared:
            results[0] = first * wide[0] * ways[0]
        result, result_at = _pack(results)
        rows = (int(f.rows.max()) + 3) * LANES

        def room(size: int) -> NDArray[Any]:
            whole = np.zeros(size + LINE, dtype=dtype)
            first = (LINE // 4 - whole.ctypes.data) % LINE // whole.itemsize
            return whole[first : first + size]

        return Scratch(
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
            rows=np.zeros(1, dtype=dtype),
            rows_at=np.full(levels, -1),
            first=np.searchsorted(b.street, np.arange(levels + 1)),
            ways=ways,
            wide=wide,
            tall=tall,
            deck=np.array([self.tree.num_cards]),
        )


def _pack(sizes: Any) -> tuple[int, NDArray[np.int64]]:
    """The sum of sizes, and where each starts."""
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    return int(ends[-1]), ends - sizes
