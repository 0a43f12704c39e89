"""What the kernels of hold'em trees are called with: stored numbers, working arrays, threads.

Arrays start at a cache line, so that a vector of sixteen numbers lies in one. 16-bit storage is
integers with one scale for every `LANES` of them. The scale maps the largest of `LANES`
neighbouring hands of an action to `TOP`, so large numbers keep four digits. Kernels round
stochastically. The random number depends only on the index and the iteration, so runs are
reproducible.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from subgame.engines.contract import Floats, Regrets
from subgame.engines.contract import Numbers as Stored
from subgame.engines.numba.linux import has
from subgame.engines.numba.native import Argument, Blank, Call, Kernel, Packed, address
from subgame.engines.rounding import LEAST, TOP, dithered
from subgame.tree.public_tree import Reals
from subgame.tree.ranges.betting_tree import LANES, BettingTree
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


LINE, PAGE = 64, 4096
"""Bytes of a cache line and of a page."""
STEP = 25
"""Lines from the start of one large array to that of the next, modulo a page: as far as possible
from those of the last few. A processor of x86_64 takes a load for one of what was just stored if
both have the same place in their pages."""
AT_ONCE = 4 if has(("avx512f",)) else 2
"""How many chunks of terminals are evaluated at once, at most: the registers must hold their sums.
More take less time each, because hands and cards are looked up once for all of them."""
_made = count()
Number = TypeVar("Number", bound=np.number)


def zeros(size: int, dtype: type[Number]) -> NDArray[Number]:
    """A flat array of zeros whose first number is the first of a cache line.

    >>> [zeros(size, np.float32).ctypes.data % LINE for size in (1, 1000, 1_000_000)]
    [0, 0, 0]
    """
    width = np.dtype(dtype).itemsize
    unit, start = (PAGE, next(_made) * STEP * LINE) if size * width >= PAGE else (LINE, 0)
    whole = np.zeros(size + unit // width, dtype=dtype)
    first = (start - address(whole)) % unit // width
    return whole[first : first + size]


class Int16Numbers:
    """A flat array of `size` numbers: int16 with scales for kernels, float32 for other code."""

    def __init__(self, size: int) -> None:
        self.ints = zeros(size, np.int16)
        self.scales = zeros(-(-size // LANES), np.float32)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Reals:
        numbers: Reals = self.ints * np.repeat(self.scales, LANES)[: len(self)]
        return numbers.astype(dtype or np.float32, copy=False)

    def __setitem__(self, every: slice, values: Reals) -> None:
        """``numbers[:] = values`` rounds to nearest."""
        assert every == slice(None)
        rows = np.zeros((len(self.scales), LANES), dtype=np.float32)
        rows.ravel()[: len(self)] = values
        self.scales[:] = np.maximum(np.abs(rows).max(1), LEAST) / np.float32(TOP)
        self.ints[:] = np.rint(rows / self.scales[:, None]).ravel()[: len(self)]

    @property
    def shape(self) -> tuple[int]:
        return self.ints.shape

    def __len__(self) -> int:
        return len(self.ints)

    def copy(self) -> Int16Numbers:
        made = Int16Numbers(len(self))
        made.ints[:], made.scales[:] = self.ints, self.scales
        return made


Ints = NDArray[np.int64]
Numbers = Reals
Precision = type[np.float32] | type[np.float64]
NOBODY, THEIRS, BOTH, OWN = 0, 1, 2, 3
"""Whose averages a sweep updates. It computes the opponent's reach anyway, which is what the next
sweep of the opponent would add; for the traverser's reach it must go down once more."""
PRIVATE = ("reach", "value", "sums")
"""The fields of which every thread has its own array, even where threads share a board."""


class Team(NamedTuple):
    """Arrays that threads share."""

    counters: Ints  # barrier, next board
    results: Reals  # [child of the first board][place, root]


class Scratch(NamedTuple):
    """The workspace of one thread. A level is a street; ``[level]`` are offsets of each street."""

    reach: Reals  # [row, LANES] of one tile
    value: Reals  # [row, LANES] of one tile
    table_at: Ints  # [2 c + 1] tables of chunk c: those of showdowns, then of folds; see `Tables`
    paid_row: Ints  # [table, LANES]
    pays: Reals  # [table, LANES]
    adds: Reals  # [table, LANES]
    any_of: Ints  # [table, LANES / 4] whether four lanes have any terminal
    sums: Reals  # [card, chunks at once, LANES]
    lanes: Reals  # [chunk, place, LANES] the opponent's reach
    shown: Reals  # [chunk, place, LANES] values at showdowns
    folded: Reals  # [chunk, place, LANES] values after folds
    lanes_at: Ints  # [level]
    way: Reals  # [player][place, root] reach into a street, by places on the parent board;
    # for the first street [player][board, root, place]
    way_at: Ints  # [2 level + player]
    paid: Reals  # [place, leaf] the traverser's values at the leaves
    paid_at: Ints  # [level]
    result: Reals  # [place, root] the traverser's values at the roots; on level 0 [root, place]
    result_at: Ints
    rows: Reals  # [row, board, place] the traverser's values of every row, if asked for
    rows_at: Ints  # [level] -1: not asked for
    first: Ints  # [level + 1] the first board of each street
    ways: Ints  # [level + 1] number of roots, rounded up to a multiple of four except on level 0
    wide: Ints  # [level] the most places of a board
    tall: Ints  # [level] places per chunk, with one more for hands outside the range
    deck: Ints  # [1] number of different cards
    at_once: Ints  # [1] `AT_ONCE`


class Rows(NamedTuple):
    """Where a sweep writes the values of every row: per street ``[row, board, place]``."""

    rows: NDArray[np.float64]
    rows_at: NDArray[np.int64]  # [street] offsets


class Workspace(NamedTuple):
    """The working arrays of all threads, in one precision."""

    team: Team
    top: Scratch  # of the first street, shared by all threads
    packed: list[Packed]
    """[thread] (its number, the number of threads, `Team`, `Scratch` of the first street with its
    own arrays where `PRIVATE`, `Scratch` of all other streets)."""

    def argument(self, k: int, rows: Rows | None = None) -> Argument:
        """The last argument of a kernel on thread `k`."""
        if rows is None:
            return self.packed[k]
        me, threads, team, *both = self.packed[k].item
        return me, threads, team, *(scratch._replace(**rows._asdict()) for scratch in both)


class Form:
    """The arguments of a kernel between the boards and the workspace, with blanks."""

    __slots__ = ("args",)

    def __init__(self, *args: Argument) -> None:
        self.args = args


class Job(Protocol):
    """A kernel with its arguments on every thread; see `Call`."""

    def __call__(self, *items: Argument) -> None: ...

    def bound(self, *items: Argument) -> Job: ...


class _Together:
    """A job of several threads, the first of which is the caller's."""

    def __init__(self, workers: Workers, counters: Ints, calls: list[Call]) -> None:
        self.workers, self.counters, self.calls = workers, counters, calls

    def __call__(self, *items: Argument) -> None:
        self.counters[:] = 0
        others = [self.workers.pool.submit(call, *items) for call in self.calls[1:]]
        self.calls[0](*items)
        for other in others:
            other.result()

    def bound(self, *items: Argument) -> _Together:
        return _Together(self.workers, self.counters, [call.bound(*items) for call in self.calls])


class Workers:
    """Threads, and their workspace in each precision, which is allocated on first use."""

    def __init__(self, tree: RangeTree, threads: int) -> None:
        self.tree, self.threads = tree, threads
        self.arrays = Packed(tree.betting_tree), Packed(tree.boards)
        self.several = int(tree.boards.child_at[0]) > 1
        self._workspaces: dict[Precision, Workspace] = {}
        self._jobs: dict[tuple[Precision, Kernel, Form], Job] = {}

    def close(self) -> None:
        """Stop the threads."""
        if "pool" in vars(self):
            self.pool.shutdown()

    def run(
        self,
        dtype: Precision,
        kernel: Kernel,
        form: Form,
        items: tuple[Argument, ...],
        rows: Rows | None = None,
    ) -> None:
        """Run a `job` once; `items` take the place of the blanks in `form`."""
        if rows is None:
            self.job(dtype, kernel, form)(*items)
        else:
            self._made(dtype, kernel, form, rows)(*items)

    def job(self, dtype: Precision, kernel: Kernel, form: Form) -> Job:
        """``kernel(betting tree, boards, *form, work)`` on every thread; see `Workspace`."""
        key = (dtype, kernel, form)
        if key not in self._jobs:
            self._jobs[key] = self._made(dtype, kernel, form)
        return self._jobs[key]

    def _made(self, dtype: Precision, kernel: Kernel, form: Form, rows: Rows | None = None) -> Job:
        """A job; `rows` is as in `Workspace.argument`."""
        work = self.workspace(dtype)
        owned = [work.argument(k, rows) for k in range(self.threads)]
        calls = [Call(kernel, *self.arrays, *form.args, own) for own in owned]
        return calls[0] if self.threads == 1 else _Together(self, work.team.counters, calls)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The threads besides the caller's."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads - 1)

    def workspace(self, dtype: Precision) -> Workspace:
        """The working arrays in a precision."""
        if dtype not in self._workspaces:
            top = self._scratch(dtype, shared=True)
            own = [self._scratch(dtype, shared=False) for _ in range(self.threads)]
            b = self.tree.boards
            size = 1
            if not self.several and len(top.wide) > 1:
                size = int(b.child_at[1] - b.child_at[0]) * int(top.ways[1]) * int(top.wide[1])
            team = Team(np.zeros(8, dtype=np.int64), zeros(size, dtype))
            tops = [top._replace(**{name: getattr(one, name) for name in PRIVATE}) for one in own]
            last = [(k, self.threads, team, tops[k], own[k]) for k in range(self.threads)]
            self._workspaces[dtype] = Workspace(team, top, list(map(Packed, last)))
        return self._workspaces[dtype]

    def _scratch(self, dtype: Precision, *, shared: bool) -> Scratch:
        """Working arrays, either those that threads share or those of one thread.

        If the first street has a single board, all threads work on it together and share its
        arrays. If it has several, they share only the reach into it and its results. In arrays by
        place and root the root is the last axis, so that kernels move four numbers at once.
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
        above = np.append(first * wide[0], wide + 1)  # one more place, with reach 0
        left = np.append(shared, used)  # reach into a street is written by the street before
        way, way_at = _pack(np.repeat(left * above * ways, 2))
        paid, paid_at = _pack(used * wide * ways[1:])
        results = used * wide * ways[:-1]
        if shared:
            results[0] = first * wide[0] * ways[0]
        result, result_at = _pack(results)
        rows = (int(f.rows.max()) + 3) * LANES

        return Scratch(
            reach=zeros(rows, dtype),
            value=zeros(rows, dtype),
            **Tables.of(f, dtype)._asdict(),
            sums=zeros(AT_ONCE * self.tree.num_cards * LANES, dtype),
            lanes=zeros(lanes, dtype),
            shown=zeros(lanes, dtype),
            folded=zeros(lanes, dtype),
            lanes_at=lanes_at,
            way=zeros(way, dtype),
            way_at=way_at,
            paid=zeros(paid, dtype),
            paid_at=paid_at,
            result=zeros(result, dtype),
            result_at=result_at,
            rows=np.zeros(1, dtype=dtype),
            rows_at=np.full(levels, -1),
            first=np.searchsorted(b.street, np.arange(levels + 1)),
            ways=ways,
            wide=wide,
            tall=tall,
            deck=np.array([self.tree.num_cards]),
            at_once=np.array([AT_ONCE]),
        )


class Tables(NamedTuple):
    """How terminals are paid, lane by lane: fields of `Scratch`.

    A table has the terminals of one kind in a chunk, at most one in each lane; a second table has
    what is left, as it is where there is a rake. Tables pay one after another, and their lanes too.
    A lane without a terminal pays 0 into a row behind all others.
    """

    table_at: Ints
    paid_row: Ints  # the row of the other player that a lane pays into
    pays: Reals  # chips
    adds: Reals  # 1 where a lane before has paid into the row, else 0
    any_of: Ints

    @classmethod
    def of(cls, f: BettingTree, dtype: Precision) -> Tables:
        """Those of a tree."""
        count = len(f.chunk_kind)
        sp = np.repeat(np.arange(len(f.chunk_at) - 1), np.diff(f.chunk_at))  # of each chunk
        part = np.repeat(np.arange(2 * count), np.diff(f.end_at))  # of each terminal
        place = part * LANES + f.end_lane
        new = np.append(True, np.diff(place) > 0)
        begin = np.flatnonzero(new)
        again = np.arange(len(place)) - begin[np.cumsum(new) - 1]  # terminals before it in its lane
        most = np.zeros(2 * count, np.int64)
        np.maximum.at(most, part, again + 1)
        table_at = np.append(0, np.cumsum(most))
        at = table_at[part] + again, f.end_lane
        order = np.lexsort(at[::-1])
        row = sp[part // 2] * (1 + f.rows.max()) + f.end_row
        first = order[np.unique(row[order], return_index=True)[1]]
        behind = np.repeat(f.rows[sp ^ 1], most.reshape(-1, 2).sum(1))
        paid_row = np.repeat(behind[:, None], LANES, axis=1)
        pays, adds = np.zeros(paid_row.shape, dtype), np.zeros(paid_row.shape, dtype)
        paid_row[at], pays[at], adds[at] = f.end_row, f.end_scale, 1
        adds[at[0][first], at[1][first]] = 0
        any_of = np.less(paid_row, behind[:, None]).reshape(-1, 4).any(1).astype(np.int64)
        return cls(table_at, paid_row.ravel(), pays.ravel(), adds.ravel(), any_of)


def _pack(sizes: Ints) -> tuple[int, NDArray[np.int64]]:
    """The sum of sizes, and the offset of each: a multiple of `LANES`."""
    whole = -(-np.asarray(sizes, dtype=np.int64) // LANES) * LANES
    ends = np.cumsum(whole)
    return int(ends[-1]), ends - whole


NONE: NDArray[np.float32] = np.zeros(1, dtype=np.float32)
NOTHING: Floats = np.zeros(0)
PLAIN = np.zeros(2, np.bool_)
"""The flags of numbers that are played as they are; see `range_tiles.PlayerNumbers`."""
UNCHECKED = Packed(((NOTHING, NOTHING), NOTHING, PLAIN))
STILL: Floats = dithered(np.ones((2, 3)), 1)
"""Rates without any discount."""
INTEGER, RATES = Blank(""), Blank("d2")
CHECK = Blank(UNCHECKED.kind, len(UNCHECKED.slots))
Kinds = tuple[bool, bool, bool]
"""How a player's numbers are stored: in 16 bits, with an average, with a prediction."""


@lru_cache
def player_form(stored: Kinds) -> tuple[Blank | Packed, ...]:
    """`range_tiles.PlayerNumbers` with a blank for each array that there is."""
    short, *there = stored
    none = Packed(Int16Numbers(1).ints if short else NONE)
    scale, no_scale = (Blank("f1") if short else Packed(NONE)), Packed(NONE)
    numbers = Blank("h1" if short else "f1")
    return (
        *(numbers if one else none for one in (True, *there)),
        Packed(np.array(there)),
        *(scale if one else no_scale for one in (True, *there)),
    )


def numbers_of(regrets: Regrets) -> tuple[Kinds, tuple[Stored, ...]]:
    """How a player's numbers are stored, and what takes the place of the blanks."""
    regret, average, instant = regrets
    a, b = average is not None, instant is not None
    if isinstance(regret, Int16Numbers):
        there = [numbers for numbers in regrets if numbers is not None]
        arrays = (*(numbers.ints for numbers in there), *(numbers.scales for numbers in there))
        return (True, a, b), arrays
    if b:
        return (False, a, b), (regret, average, instant) if a else (regret, instant)
    return (False, a, b), (regret, average) if a else (regret,)


@lru_cache
def iterations_form(one: Kinds, two: Kinds) -> Form:
    return Form((player_form(one), player_form(two)), RATES, (INTEGER, CHECK))


@lru_cache
def sweep_form(one: Kinds, two: Kinds) -> Form:
    return Form(3 * (INTEGER,), (player_form(one), player_form(two)), RATES)


@lru_cache
def evaluation_form(p: int, mode: int, one: Kinds, two: Kinds) -> Form:
    """A sweep of player `p` without any discount, which updates no averages."""
    return Form((p, mode, NOBODY), (player_form(one), player_form(two)), Packed(STILL))


@lru_cache
def match_form(form: Kinds) -> Form:
    return Form(INTEGER, player_form(form), RATES, Blank("f1"))


@lru_cache
def reach_form(form: Kinds) -> Form:
    return Form(3 * (INTEGER,), player_form(form), RATES, Blank("d3"))


OPPOSING = Form(2 * (INTEGER,), Blank("d3"), Blank("d3"), 3 * (Blank("d2"),))


def readable(numbers: Stored) -> Stored:
    """Numbers in a type that kernels read; for arrays that cannot be written they have no code."""
    if isinstance(numbers, Int16Numbers):
        return numbers
    if numbers.dtype == np.float32 and numbers.flags.carray:
        return numbers
    return np.require(numbers, np.float32, ["C", "A", "W"])


def none_like(numbers: Stored) -> Stored:
    """A placeholder for missing numbers, of the type of `numbers`: kernels are compiled by type."""
    return Int16Numbers(1) if isinstance(numbers, Int16Numbers) else NONE
