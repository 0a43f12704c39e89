"""Trees larger than the GPU's memory: the same numbers from host memory, and time.

Flop hold'em is solved with regrets and averages on the device and on the host; turn hold'em within
a limit that is far below what it keeps. The link between host and device bounds both, so it
is measured in the same run.
"""

from __future__ import annotations

import time
from typing import NamedTuple, get_args

import numpy as np

from gpu_check import measure
from gpu_check.measure import MILLI, Json, Pair, Scale, Spot, advance, forget, now
from subgame.engines.torch.batch import RangeBatch
from subgame.engines.torch.memory import Placement
from subgame.engines.torch.offload import OffloadedBlock, Queue, host_bytes
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.storage import Storage
from subgame.solve.schedule import Schedule, parse
from subgame.tree.ranges.tree import compile_range_tree

GIB = 2**30
WARM = 3
"""Iterations that compile."""


class Link(NamedTuple):
    """Bytes per second between host and device, and of making memory that can be copied so."""

    up: float
    down: float
    both: float
    """Up and down at once, added up."""
    pinning: float

    def table(self) -> Json:
        named = self._asdict() | {"both ways at once": self.both}
        return {f"{name}, GB/s": rate / 1e9 for name, rate in named.items() if name != "both"}


def probe(batch: RangeBatch, size: int) -> Link:
    """The link, by large copies."""
    torch, device = batch.torch, batch.device
    begin = time.perf_counter()
    hosts = [host_bytes(size, device) for _ in range(2)]
    pinned = time.perf_counter() - begin
    there = [torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2)]
    cuda = device.type == "cuda"
    ways = [Queue(torch.cuda.Stream(device) if cuda else None) for _ in range(2)]

    def taken(*copies: int) -> float:
        times = []
        for _ in range(4):
            start = now(batch)
            for k in copies:
                pair = (there[0], hosts[0]) if k == 0 else (hosts[1], there[1])
                ways[k].copy(*pair)
            times.append(now(batch) - start)
        return float(np.median(times[1:]))

    up, down, both = taken(0), taken(1), taken(0, 1)
    return Link(size / up, size / down, 2 * size / both, 2 * size / pinned)


def crossing(pair: Pair) -> tuple[int, int]:
    """Bytes that come to the device and go back on an alternating iteration."""

    def held(pair: Pair) -> int:
        blocks = [part.blocks[-1] for part in measure.kept(pair)]
        return sum(block.raw.nbytes for block in blocks if isinstance(block, OffloadedBlock))

    one, two = pair
    played = one._replace(average=None), two._replace(average=None)
    return held(pair) + held(played), held(pair)


def solved(spot: Spot, plan: Schedule, count: int, link: Link, until: float) -> tuple[Json, Pair]:
    """Up to `count` iterations, as many as end before `until`: time, traffic and memory."""
    batch = spot.batch
    quote = batch.estimate(predictive=plan.predictive)
    result: Json = {
        "home": quote.placement,
        "quoted GiB on the device": quote.device / GIB,
        "quoted GiB on the host": quote.host / GIB,
        "boards at a time": quote.boards,
    }
    begin = now(batch)
    cfr = spot.cfr(plan)
    result["s to make and pin memory"] = now(batch) - begin
    result["first three, with compiling, s"] = WARM * advance(cfr, plan, 1, WARM)
    seconds = advance(cfr, plan, WARM + 1, 1)
    rest = max(1, int(min(count - WARM - 1, (until - time.perf_counter()) / seconds)))
    seconds = advance(cfr, plan, WARM + 2, rest)
    up, down = crossing(cfr.pair)
    result |= {
        "iterations": WARM + 1 + rest,
        "ms per iteration": seconds * 1e3,
        "GB up": up / 1e9,
        "GB down": down / 1e9,
        "share of the link, up": up / seconds / link.up,
        "share of the link, both ways": (up + down) / seconds / link.both,
    }
    return result | measure.peaks(batch), cfr.pair


def difference(one: Pair, other: Pair) -> float:
    """The greatest difference between numbers of real hands; 0 if every bit is the same."""
    pairs = zip(measure.kept(one), measure.kept(other), strict=True)
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max(initial=0)) for a, b in pairs)


def part_larger(scale: Scale) -> Json:
    """Flop hold'em from host memory beside the device, and turn hold'em within a limit."""
    begin, plan, limit = time.perf_counter(), parse("dcfr"), scale.limit
    engine = TorchRangeEngine(compile_range_tree(scale.flop), scale.device)
    link = probe(engine, scale.sample)
    result: Json = {"link": link.table()}
    sides = []
    for placement in get_args(Placement):
        forget(engine.torch)
        spot = Spot.of(engine, engine.stage(engine.tree.streets, placement=placement))
        result[f"flop hold'em, {placement}"], pair = solved(
            spot, plan, scale.steps[0], link, np.inf
        )
        sides.append(pair)
    result["flop hold'em, greatest difference"] = difference(*sides)
    del sides, pair, spot, engine
    larger, made = measure.turn_holdem(scale.device, scale.turn)
    result["turn hold'em"] = {**made, "limit": str(limit)}
    kinds: tuple[Storage, ...] = ("int16", "float32")
    for kind in kinds:
        forget(larger.torch)
        name, left = f"turn hold'em, {kind}", begin + scale.seconds - time.perf_counter()
        stage = larger.stage(larger.tree.streets, storage=kind, memory_limit=limit)
        if stage.estimate().host / link.pinning > left / 2:
            result[name] = {"skipped": f"pinning its memory takes longer than {left / 2:.0f} s"}
            continue
        result[name] = _within(
            Spot.of(larger, stage), plan, scale.steps[1], link, begin + scale.seconds
        )
    return result


def _within(spot: Spot, plan: Schedule, count: int, link: Link, until: float) -> Json:
    """Turn hold'em from host memory: time, then exploitability."""
    result, pair = solved(spot, plan, count, link, until)
    begin = now(spot.batch)
    result["exploitability, mbb/h"] = float(spot.gaps(pair).mean()) / MILLI
    result["s per best response, both seats, with compiling"] = now(spot.batch) - begin
    if spot.batch.device.type == "cuda":
        result["peak GiB with judging"] = spot.batch.torch.cuda.max_memory_allocated() / GIB
    return result
