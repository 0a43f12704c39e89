"""Trees larger than the GPU's memory: the same numbers from host memory, and time.

Flop hold'em is solved with regrets and averages on the device and on the host; turn hold'em within
a limit that is far below what it keeps. The link between host and device bounds both, so it
is measured in the same run.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from subgame.bench.gpu.check import turn_holdem
from subgame.bench.gpu.measure import MILLI, Json, Pair, Spot, forget, memories_of, now
from subgame.engines.torch.batch import Sweeps
from subgame.engines.torch.offload import Hosted, Queue, whole_or_pieces
from subgame.engines.torch.pinned import host_bytes
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.storage import Storage, peek
from subgame.games import holdem
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
        named = {
            name.replace("both", "both ways at once"): rate / 1e9
            for name, rate in self._asdict().items()
        }
        return {f"{name}, GB/s": rate for name, rate in named.items()}


def probe(sweeps: Sweeps, size: int = 2 << 30) -> Link:
    """The link, by large copies."""
    torch, device = sweeps.torch, sweeps.device
    begin = time.perf_counter()
    hosts = [host_bytes(size, device) for _ in range(2)]
    pinned = time.perf_counter() - begin
    there = [torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2)]
    cuda = device.type == "cuda"
    ways = [Queue(torch.cuda.Stream(device) if cuda else None) for _ in range(2)]

    def taken(*copies: int) -> float:
        times = []
        for _ in range(4):
            start = now(sweeps)
            for k in copies:
                pair = (there[0], hosts[0]) if k == 0 else (hosts[1], there[1])
                ways[k].copy(*pair)
            times.append(now(sweeps) - start)
        return float(np.median(times[1:]))

    up, down, both = taken(0), taken(1), taken(0, 1)
    return Link(size / up, size / down, 2 * size / both, 2 * size / pinned)


def crossing(memories: Pair) -> tuple[int, int]:
    """Bytes that come to the device and go back on an alternating iteration."""
    up = down = 0
    for p in (0, 1):
        mine = [part.blocks[-1] for part in memories[p] if part.blocks]
        theirs = [
            part.blocks[-1]
            for part in (memories[1 - p].regret, memories[1 - p].instant)
            if part.blocks
        ]
        own = sum(block.raw.nbytes for block in mine if isinstance(block, Hosted))
        up += own + sum(block.raw.nbytes for block in theirs if isinstance(block, Hosted))
        down += own
    return up, down


def solved(spot: Spot, plan: Schedule, count: int, link: Link, until: float) -> tuple[Json, Pair]:
    """Up to `count` iterations, as many as end before `until`: time, traffic and memory."""
    sweeps, torch = spot.sweeps, spot.sweeps.torch
    quote = sweeps.quote(predictive=plan.predictive)
    found: Json = {
        "home": quote.home,
        "quoted GiB on the device": quote.device / GIB,
        "quoted GiB on the host": quote.host / GIB,
        "boards at a time": quote.boards,
    }
    begin = now(sweeps)
    memories = memories_of(sweeps, plan)
    found["s to make and pin memory"] = now(sweeps) - begin
    begin = now(sweeps)
    spot.run(memories, plan, 1, WARM)
    found["first three, with compiling, s"] = (middle := now(sweeps)) - begin
    spot.run(memories, plan, WARM + 1, 1)
    each = (after := now(sweeps)) - middle
    rest = max(1, int(min(count - WARM - 1, (until - after) / each)))
    spot.run(memories, plan, WARM + 2, rest)
    each = (now(sweeps) - after) / rest
    up, down = crossing(memories)
    found |= {
        "iterations": WARM + 1 + rest,
        "ms per iteration": each * 1e3,
        "GB up": up / 1e9,
        "GB down": down / 1e9,
        "share of the link, up": up / each / link.up,
        "share of the link, both ways": (up + down) / each / link.both,
    }
    if sweeps.device.type == "cuda":
        found["peak GiB on the device"] = torch.cuda.max_memory_allocated() / GIB
        found["peak GiB reserved"] = torch.cuda.max_memory_reserved() / GIB
    return found, memories


def difference(sweeps: Sweeps, one: Pair, other: Pair) -> float:
    """The greatest difference between numbers of real hands; 0 if every bit is the same."""
    most = 0.0
    for p in (0, 1):
        for a, b in zip(one[p], other[p], strict=True):
            places = sweeps.places if a.blocks else []  # no instants
            for place, mine, yours in zip(places, a.blocks, b.blocks, strict=True):
                for units in whole_or_pieces(yours):
                    real = place.tables[p].above[units] >= 0
                    off = peek(mine, units) - peek(yours, units).to(sweeps.device)
                    most = max(most, float((off * real).abs().max()) if off.numel() else 0.0)
    return most


def part_larger(
    peak: float,
    device: str = "cuda",
    flop: Any = None,
    turn: Any = None,
    limit: str | float = "24GiB",
    kinds: tuple[Storage, ...] = ("int16", "float32"),
    counts: tuple[int, int] = (20, 30),
    seconds: float = 100.0,
    sample: int = 2 << 30,
) -> Json:
    """Flop hold'em from host memory beside the device, and turn hold'em within `limit`."""
    begin, plan = time.perf_counter(), parse("dcfr")
    engine = TorchRangeEngine(compile_range_tree(flop or holdem.nlfh()), device)
    link = probe(engine, sample)
    found: Json = {"link": link.table()}
    sides = []
    for home in ("device", "host"):
        forget(engine.torch)
        spot = Spot.of(engine, engine.stage(engine.tree.streets, home=home))
        found[f"flop hold'em, {home}"], memories = solved(spot, plan, counts[0], link, np.inf)
        sides.append(memories)
    found["flop hold'em, greatest difference"] = difference(engine, *sides)
    del sides, memories, spot, engine
    larger, made = turn_holdem(device, turn)
    found["turn hold'em"] = {**made, "limit": str(limit)}
    for kind in kinds:
        forget(larger.torch)
        name, left = f"turn hold'em, {kind}", begin + seconds - time.perf_counter()
        stage = larger.stage(larger.tree.streets, storage=kind, memory_limit=limit)
        if stage.quote().host / link.pinning > left / 2:
            found[name] = {"skipped": f"pinning its memory takes longer than {left / 2:.0f} s"}
            continue
        found[name] = _within(Spot.of(larger, stage), plan, counts[1], link, begin + seconds)
    return found


def _within(spot: Spot, plan: Schedule, count: int, link: Link, until: float) -> Json:
    """Turn hold'em from host memory: time, then exploitability."""
    found, memories = solved(spot, plan, count, link, until)
    begin = now(spot.sweeps)
    found["exploitability, mbb/h"] = float(spot.gaps(memories).mean()) / MILLI
    found["s per best response, both seats, with compiling"] = now(spot.sweeps) - begin
    if spot.sweeps.device.type == "cuda":
        found["peak GiB with judging"] = spot.sweeps.torch.cuda.max_memory_allocated() / GIB
    return found
