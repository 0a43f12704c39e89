"""Times, bytes and curves of a batch of subgames on a device, for `gpu_check`."""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from subgame.engines.contract import Engine, Regrets
from subgame.engines.torch.batch import RangeBatch
from subgame.engines.torch.blocks import stored
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.storage import stored_bytes
from subgame.engines.torch.torch_ops import Task
from subgame.games import holdem
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.game import Holdem
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule
from subgame.tree.ranges.tree import compile_range_tree

Json = dict[str, Any]
Tensor = Any
Pair = tuple[Regrets, Regrets]
MILLI = 0.1
"""Chips: a thousandth of the big blind of 100."""
RUN = 30
"""Iterations that are timed together, at most."""
ENDGAME = "all: 0.5x 1x a"
"""Bets of the river endgame with 177 nodes (pot 100, stacks 1,000)."""


@dataclass(frozen=True)
class Scale:
    """What the parts of the check measure, and how much of it; smaller without a GPU."""

    peak: float
    """Bytes per second of a large copy on the device."""
    device: str = "cuda"
    flop: Holdem = field(default_factory=holdem.nlfh)
    turn: Holdem = field(default_factory=holdem.nlth)
    endgame: Holdem = field(
        default_factory=partial(holdem.endgame, "QsJh2h8d", 100, 300, bets=ENDGAME)
    )
    deck: Deck = DECK
    most: int = 1000
    """Iterations of curves."""
    seconds: float = 100.0
    """About how many seconds turn hold'em may take."""
    rivers: int = 1000
    river_bets: str = ENDGAME
    two_sizes: str = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 1; turn: 0.5x 1x / cap 1"
    rounded: tuple[str, ...] = ("river", "nlfh", "turn")
    """Small games with numbers in 16 bits."""
    megabytes: tuple[int, ...] = (4096, 256, 96, 48)
    """Sizes of slices."""
    buckets: tuple[int, ...] = (200, 2000, 30000)
    flops: tuple[int, ...] = (20, 200, 1755)
    sizes: tuple[str, ...] = ("1x / cap 1", "0.5x 1x / cap 1", "0.5x 1x / cap 2")
    """Betting on the flop, by which time grows."""
    boards: tuple[str, ...] = ("QsJh2h8d", "QsJh2h")
    limit: str | float = "24GiB"
    """For turn hold'em from host memory."""
    steps: tuple[int, int] = (20, 30)
    """Iterations of flop and turn hold'em from host memory."""
    sample: int = 2 << 30
    """Bytes by which the link to the host is measured."""


def bandwidth(torch: Any) -> float:
    """Bytes per second of a large copy on the device, read and written."""
    a = torch.rand(1 << 30, device="cuda")
    b = torch.empty_like(a)
    times = []
    for _ in range(12):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        b.copy_(a)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1000)
    return float(2 * a.numel() * 4 / np.median(times[2:]))


class Watch:
    """Wraps an engine's operations and times each by device events."""

    def __init__(self, ops: Any, torch: Any) -> None:
        self.ops, self.torch = ops, torch
        self.marks: dict[str, list[tuple[Any, Any]]] = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.ops, name)

        def timed(where: Any, *args: Any, **options: Any) -> Any:
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            out = call(where, *args, **options)
            end.record()
            place = where.place if isinstance(where, Task) else where
            self.marks[f"{name} of {place.level.units} boards"].append((start, end))
            return out

        return timed

    def table(self, iterations: int) -> Json:
        """Milliseconds per iteration of each operation."""
        self.torch.cuda.synchronize()
        return {
            name: round(sum(a.elapsed_time(b) for a, b in pairs) / iterations, 4)
            for name, pairs in sorted(self.marks.items())
        }


@contextmanager
def watched(batch: RangeBatch) -> Iterator[Watch]:
    """Time every operation within the block, without CUDA graphs."""
    before = batch.ops, batch.needs
    watch = Watch(batch.ops, batch.torch)
    batch.ops, batch.needs = watch, replace(batch.needs, graphs=False)
    yield watch
    batch.ops, batch.needs = before


def cells(batch: RangeBatch) -> int:
    """Regrets of both players, hands up to a multiple of sixteen."""
    return sum(stored(batch.levels, p) for p in (0, 1))


def least_bytes(batch: RangeBatch) -> int:
    """What an alternating iteration must move: regrets read twice and written, averages both."""
    return stored_bytes(batch.storage, 1, cells(batch)) * 5


def moved_bytes(batch: RangeBatch) -> int:
    """`least_bytes` with the lanes and values that pass between kernels, on the last street."""
    level, total = batch.levels[-1], least_bytes(batch)
    for p in (0, 1):
        wide = level.units * level.hands[p].wide * 4
        total += wide * (2 * len(level.bets[1 - p].lanes) + len(level.bets[p].ends))
        total += wide * level.bets[1 - p].shown
    return total


def cfr_of(engine: Engine, plan: Schedule, reach: Any = (None, None)) -> Cfr:
    """CFR as a schedule says, from nothing."""
    return Cfr(
        engine,
        predictive=plan.predictive,
        alternating=plan.alternating,
        responder=plan.responder,
        reach=reach,
    )


def cfr_from(engine: Engine, plan: Schedule, numbers: Any, reach: Any = (None, None)) -> Cfr:
    """CFR about to go on from given regrets, averages and predictions of each player."""
    cfr = cfr_of(engine, plan, reach)
    for regrets, arguments in zip(cfr.pair, numbers, strict=True):
        for part, values in zip(regrets, arguments, strict=True):
            if part is not None:
                part[:] = values
    return cfr


def kept(pair: Pair) -> list[Any]:
    """What is kept of both players."""
    return [numbers for regrets in pair for numbers in regrets if numbers is not None]


def now(batch: RangeBatch) -> float:
    """Seconds, when all work on the device is done."""
    if batch.device.type == "cuda":
        batch.torch.cuda.synchronize()
    return time.perf_counter()


def forget(torch: Any) -> None:
    """Free unused memory and reset the peak counters."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


@dataclass
class Spot:
    """What is solved: a batch of subgames, with the reach at their roots."""

    batch: RangeBatch
    reach: tuple[Tensor, Tensor]  # [root, infoset]
    deals: Tensor  # [board] the weight of all pairs of hands

    @classmethod
    def of(cls, engine: TorchRangeEngine, batch: RangeBatch | None = None) -> Spot:
        """A whole tree; perhaps with the betting and storage of a `batch` of its first street."""
        one, two = (engine.plan(p, None).reach for p in (0, 1))
        put = partial(engine.torch.tensor, dtype=engine.torch.float64, device=engine.device)
        return cls(batch or engine, (put(one), put(two)), put([1.0]))

    @classmethod
    def at(cls, batch: RangeBatch, reach: tuple[Tensor, Tensor]) -> Spot:
        """Boards side by side, each with ranges of its own: one way into each."""
        mine, yours = reach
        pairs = (mine * batch.opposing(0, yours[None], 0)[0]).sum(1)
        return cls(batch, reach, pairs)

    def cfr(self, plan: Schedule) -> Cfr:
        """CFR as a schedule says, from nothing."""
        return cfr_of(self.batch, plan, self.reach)

    def gaps(self, pair: Pair) -> Any:
        """[board] exploitability of the averages: the mean over both seats, in chips."""
        won = sum(
            self._won(1 - p, self.batch.evaluate(1 - p, None, pair[p].average, self.reach[p]))
            for p in (0, 1)
        )
        return (won / 2).cpu().numpy()

    def value(self, pair: Pair) -> float:
        """What player 0 wins, the mean over boards, in chips."""
        mine, yours = (regrets.average for regrets in pair)
        return float(self._won(0, self.batch.evaluate(0, mine, yours, self.reach[1])).mean())

    def _won(self, p: int, paid: Tensor) -> Tensor:
        reach = self.reach[p]
        won = (paid[:, : reach.shape[1]] * reach).sum(1)
        return won.view(-1, len(self.deals)).sum(0) / self.deals


def advance(cfr: Cfr, plan: Schedule, first: int, count: int) -> float:
    """Run some iterations; the seconds that each took."""
    engine: Any = cfr.engine
    begin = now(engine)
    cfr.advance(plan.discounts(first, count + 1), first)
    return (now(engine) - begin) / count


def timed(spot: Spot, plan: Schedule, peak: float) -> Json:
    """Time per iteration, recorded and plain, with the bandwidth it comes to."""
    batch, cfr = spot.batch, spot.cfr(plan)
    compiling = advance(cfr, plan, 1, 3)
    count = max(1, min(RUN, int(1 / max(advance(cfr, plan, 4, 1), 1e-9))))
    times = [advance(cfr, plan, 5 + k * count, count) for k in range(5)]
    spent, least, moved = float(np.median(times)), least_bytes(batch), moved_bytes(batch)
    result: Json = {
        "schedule": str(plan),
        "storage": batch.storage,
        "ms per iteration": round(spent * 1e3, 4),
        "runs": [round(t * 1e3, 4) for t in times],
        "first three, with compiling, s": compiling * 3,
        "least GB": least / 1e9,
        "moved GB": moved / 1e9,
        "share of copy bandwidth, least bytes": least / spent / peak,
        "share of copy bandwidth, moved bytes": moved / spent / peak,
        "quoted GiB": batch.estimate(predictive=plan.predictive).device / 2**30,
    }
    if batch.device.type == "cuda":
        with watched(batch) as watch:
            advance(cfr, plan, 200, min(10, count))
        result["ms by operation, plain launches"] = watch.table(min(10, count))
    return result | peaks(batch)


def peaks(batch: RangeBatch) -> Json:
    """The most memory that was used on a GPU since `forget`; nothing on the CPU."""
    if batch.device.type != "cuda":
        return {}
    cuda = batch.torch.cuda
    used = cuda.max_memory_allocated(), cuda.max_memory_reserved()
    return {"peak GiB on the device": used[0] / 2**30, "peak GiB reserved": used[1] / 2**30}


def solving(spot: Spot, plan: Schedule, checks: list[int]) -> Iterator[tuple[Any, ...]]:
    """At each check: iterations, seconds of solving and of evaluating, gaps, regrets."""
    batch, cfr = spot.batch, spot.cfr(plan)
    advance(cfr, plan, 1, 3)  # compiles
    spot.gaps(cfr.pair)
    for numbers in kept(cfr.pair):
        for block in numbers.blocks:
            block.zero_()
    at, spent = 0, 0.0
    for goal in checks:
        spent += advance(cfr, plan, at + 1, goal - at) * (goal - at)
        at, middle = goal, time.perf_counter()
        gaps = spot.gaps(cfr.pair)
        if batch.device.type == "cuda":  # shows progress on a long run
            line = (
                f"{goal} iterations, {spent:.3f} s, mean {gaps.mean():.4g}, most {gaps.max():.4g}"
            )
            print(line, "chips", file=sys.stderr, flush=True)
        yield goal, spent, time.perf_counter() - middle, gaps, cfr.pair


def curve(
    spot: Spot,
    plan: Schedule,
    checks: list[int],
    unit: float,
    done: Callable[[float, float], bool] = lambda gap, seconds: False,
) -> Json:
    """Exploitability after so many iterations, in `unit` chips, with seconds of solving."""
    result: Json = {"schedule": str(plan), "iterations, s, exploitability": []}
    for goal, spent, evaluating, gaps, pair in solving(spot, plan, checks):
        gap = float(gaps.mean()) / unit
        result["iterations, s, exploitability"].append([goal, round(spent, 5), gap])
        if done(gap, spent) or goal == checks[-1]:
            result["s per best response, both seats"] = evaluating
            result["value"] = spot.value(pair) / unit
            break
    return result


@cache
def turn_holdem(device: str, game: Holdem) -> tuple[TorchRangeEngine, Json]:
    """The engine of whole turn hold'em, and how long it took. An iteration is long: no graphs.

    It is made once: several parts want it, and it takes half a minute.
    """
    begin = time.perf_counter()
    tree = compile_range_tree(game)
    compiled = time.perf_counter()
    engine = TorchRangeEngine(tree, device, graphs=False)
    return engine, {
        "boards": [level.units for level in engine.levels],
        "nodes": tree.num_nodes,
        "compile s": compiled - begin,
        "tables and upload s": now(engine) - compiled,
        "tables GiB": sum(frame.tables for frame in engine.frames) / 2**30,
    }
