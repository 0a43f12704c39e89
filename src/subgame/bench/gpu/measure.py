"""Times, bytes and curves of a stage on a device, for `subgame.bench.gpu.check` and its like."""

from __future__ import annotations

import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from subgame.engines.torch.batch import DeviceMemory, Sweeps
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.storage import stored_bytes
from subgame.solve.schedule import Schedule
from subgame.tree.ranges.betting_tree import LANES

Json = dict[str, Any]
Tensor = Any
Pair = tuple[DeviceMemory, DeviceMemory]
MILLI = 0.1
"""Chips: a thousandth of the big blind of 100."""
RUN = 30
"""Iterations that are timed together, at most."""


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

        def timed(place: Any, *args: Any, **options: Any) -> Any:
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            out = call(place, *args, **options)
            end.record()
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
def watched(sweeps: Sweeps) -> Iterator[Watch]:
    """Time every operation within the block, without CUDA graphs."""
    before = sweeps.ops, sweeps.graphs
    watch = Watch(sweeps.ops, sweeps.torch)
    sweeps.ops, sweeps.graphs = watch, False
    yield watch
    sweeps.ops, sweeps.graphs = before


def cells(sweeps: Sweeps) -> int:
    """Regrets of both players, hands up to a multiple of sixteen."""
    return int(
        sum(
            level.bets[p].edges * (-(-level.hands[p].held // LANES) * LANES).sum()
            for level in sweeps.levels
            for p in (0, 1)
        )
    )


def least_bytes(sweeps: Sweeps) -> int:
    """What an alternating iteration must move: regrets read twice and written, averages both."""
    return stored_bytes(sweeps.storage, 1, cells(sweeps)) * 5


def moved_bytes(sweeps: Sweeps) -> int:
    """The same with the lanes and values that pass between kernels, on the last street."""
    level, total = sweeps.levels[-1], least_bytes(sweeps)
    for p in (0, 1):
        wide = level.units * level.hands[p].wide * 4
        total += wide * (2 * len(level.bets[1 - p].lanes) + len(level.bets[p].ends))
        total += wide * level.bets[1 - p].shown
    return total


def memories_of(sweeps: Sweeps, plan: Schedule) -> Pair:
    first, second = (sweeps.memory(p, predictive=plan.predictive) for p in (0, 1))
    return first, second


def now(sweeps: Sweeps) -> float:
    """Seconds, when all work on the device is done."""
    if sweeps.device.type == "cuda":
        sweeps.torch.cuda.synchronize()
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

    sweeps: Sweeps
    reach: tuple[Tensor, Tensor]  # [root, unit, hand]
    deals: Tensor  # [unit] the sum of all pairs' weights

    @classmethod
    def of(cls, engine: TorchRangeEngine, sweeps: Sweeps | None = None) -> Spot:
        """A whole tree; with the betting and storage of `sweeps`, a stage of it."""
        kind = engine.torch.float64
        one, two = (engine.slots(side.reach, kind) for side in engine.tree.players)
        deals = engine.torch.tensor([engine.tree.deals], dtype=kind, device=engine.device)
        return cls(sweeps or engine, (one, two), deals)

    @classmethod
    def at(cls, sweeps: Sweeps, reach: tuple[Tensor, Tensor]) -> Spot:
        """Boards side by side, each with ranges of its own."""
        pairs = sum(
            (mine[None] * sweeps.opposing(0, yours[None])).sum((0, 2))
            for mine, yours in zip(*reach, strict=True)
        )
        return cls(sweeps, reach, pairs)

    def run(self, memories: Pair, plan: Schedule, first: int, count: int) -> None:
        """Some iterations."""
        discounts = plan.discounts(first, count + 1)
        self.sweeps.run(
            memories, discounts, plan.alternating, self.reach, None, plan.responder, first
        )

    def gaps(self, memories: Pair) -> Any:
        """[unit] exploitability of the averages: the mean over both seats, in chips."""
        won = sum(
            self._won(1 - p, self.sweeps.judge(1 - p, None, memories[p].average, self.reach[p]))
            for p in (0, 1)
        )
        return (won / 2).cpu().numpy()

    def value(self, memories: Pair) -> float:
        """What player 0 wins, the mean over boards, in chips."""
        mine, yours = (memory.average for memory in memories)
        return float(self._won(0, self.sweeps.judge(0, mine, yours, self.reach[1])).mean())

    def _won(self, p: int, paid: Tensor) -> Tensor:
        reach = self.reach[p]
        return (paid[..., : reach.shape[2]] * reach).sum((0, 2)) / self.deals


def timed(spot: Spot, plan: Schedule, peak: float) -> Json:
    """Time per iteration, recorded and plain, with the bandwidth it comes to."""
    sweeps, torch = spot.sweeps, spot.sweeps.torch
    memories = memories_of(sweeps, plan)

    def run(first: int, many: int) -> float:
        begin = now(sweeps)
        spot.run(memories, plan, first, many)
        return (now(sweeps) - begin) / many

    compiling = run(1, 3)
    count = max(1, min(RUN, int(1 / max(run(4, 1), 1e-9))))
    times = [run(5 + k * count, count) for k in range(5)]
    spent, least, moved = float(np.median(times)), least_bytes(sweeps), moved_bytes(sweeps)
    found: Json = {
        "schedule": str(plan),
        "storage": sweeps.storage,
        "ms per iteration": round(spent * 1e3, 4),
        "runs": [round(t * 1e3, 4) for t in times],
        "first three, with compiling, s": compiling * 3,
        "least GB": least / 1e9,
        "moved GB": moved / 1e9,
        "share of copy bandwidth, least bytes": least / spent / peak,
        "share of copy bandwidth, moved bytes": moved / spent / peak,
        "quoted GiB": sweeps.quote(predictive=plan.predictive).device / 2**30,
    }
    if sweeps.device.type == "cuda":
        with watched(sweeps) as watch:
            run(200, min(10, count))
        found["ms by operation, plain launches"] = watch.table(min(10, count))
        found["peak GiB on the device"] = torch.cuda.max_memory_allocated() / 2**30
        found["peak GiB reserved"] = torch.cuda.max_memory_reserved() / 2**30
    return found


def solving(spot: Spot, plan: Schedule, checks: list[int]) -> Iterator[tuple[Any, ...]]:
    """At each check: iterations, seconds of solving and of evaluating, gaps, memories."""
    sweeps, memories = spot.sweeps, memories_of(spot.sweeps, plan)
    spot.run(memories, plan, 1, 3)  # compiles
    spot.gaps(memories)
    for memory in memories:
        for part in memory:
            for block in part.blocks:
                block.zero_()
    at, spent = 0, 0.0
    for goal in checks:
        begin = now(sweeps)
        spot.run(memories, plan, at + 1, goal - at)
        middle = now(sweeps)
        gaps = spot.gaps(memories)
        spent, at = spent + middle - begin, goal
        if sweeps.device.type == "cuda":  # shows progress on a long run
            line = (
                f"{goal} iterations, {spent:.3f} s, mean {gaps.mean():.4g}, most {gaps.max():.4g}"
            )
            print(line, "chips", file=sys.stderr, flush=True)
        yield goal, spent, time.perf_counter() - middle, gaps, memories


def curve(
    spot: Spot,
    plan: Schedule,
    checks: list[int],
    unit: float,
    done: Callable[[float, float], bool] = lambda gap, seconds: False,
) -> Json:
    """Exploitability after so many iterations, in `unit` chips, with seconds of solving."""
    found: Json = {"schedule": str(plan), "iterations, s, exploitability": []}
    for goal, spent, evaluating, gaps, memories in solving(spot, plan, checks):
        gap = float(gaps.mean()) / unit
        found["iterations, s, exploitability"].append([goal, round(spent, 5), gap])
        if done(gap, spent) or goal == checks[-1]:
            found["s per best response, both seats"] = evaluating
            found["value"] = spot.value(memories) / unit
            break
    return found
