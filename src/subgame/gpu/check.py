"""Checks and times the engine on a GPU in one call: ``python -m subgame.gpu.check [PART ...]``.

Prints JSON: the device, its copy bandwidth, how far the fused kernels are from the plain PyTorch
path on the CPU (small decks, fresh random inputs each time) and on the device (whole flop
hold'em), and times with the share of the bandwidth they reach. ``--interpret`` only runs the
kernels through Triton's interpreter, without a GPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.gpu.engine import TorchEngine
from subgame.gpu.runtime import load_torch
from subgame.gpu.sweeps import DeviceMemory
from subgame.solve.schedule import Schedule, parse
from subgame.tree.boards import BoardTree, compile_boards

Json = dict[str, Any]
THREE_BETS = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 3"
NAMED = ("cfr", "cfr+", "dcfr", "lcfr", "pcfr+", "pdcfr+")


def small_games() -> dict[str, Any]:
    """Small decks with every kind of street, symmetry and end."""
    short, three, eight = Deck("TJQKA", "hs"), Deck("QKA", "chs"), Deck("JQKA", "hs")
    return {
        "river": holdem.endgame("QsJhThKsAh", 4, 6, ("*", "AA,KK:0.5,QJ,JTs:0.3"), "all: 1x a",
                                deck=short),
        "nlfh": holdem.nlfh(3, 1, 2, "preflop: a; flop: a", eight.ranks, eight.suits),
        "turn": holdem.endgame("QsJhThKs", 4, (6, 4), ("*:0.7,AA", "AA,KJ,KTs,QJ:0.5"), "all: a",
                               deck=short),
        "flop": holdem.endgame("Qs Ks As", 4, 4, ("AA,KK:0.5", "QQ,AK"), "all: a / cap 1",
                               deck=three),
        "cards": holdem.endgame("QsJh2h8d3c", 100, 300, ("random", "22+,A2+,KT+,QJ")),
    }  # fmt: skip


# Agreement -----------------------------------------------------------------------------------
def _far(got: Any, want: Any) -> float:
    """The greatest difference, relative to the greatest value."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if not np.isfinite(got).all():
        return float("inf")
    return float(np.abs(got - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-30))


def _stepped(engine: TorchEngine, plan: Schedule, drawn: list[Any]) -> tuple[Any, ...]:
    """Memories after one iteration from given regrets."""
    memories = _memories(engine, plan)
    for p in (0, 1):
        memories[p].regret.read(drawn[p])
        memories[p].average.read(drawn[p][::-1].copy())
        if plan.predictive:
            memories[p].instant.read(drawn[p] - np.float32(0.5))
    engine.iterate(memories, plan.discounts(11, 2), plan.alternating)
    return memories


def compare(want: TorchEngine, got: TorchEngine, seed: int) -> Json:
    """How far two engines on one tree are apart: values, best responses, every schedule."""
    tree, rng = want.tree, np.random.default_rng(seed)
    drawn = [rng.random(tree.stored(p), dtype=np.float32) for p in (0, 1)]
    out: Json = defaultdict(float)
    for p in (0, 1):
        plans = [one.plan(1 - p, drawn[1 - p]) for one in (want, got)]
        a, b = want.values(p, drawn[p], plans[0]), got.values(p, drawn[p], plans[1])
        out["values"] = max(out["values"], _far(b, a))
        c, d = want.respond(p, plans[0]).slots, got.respond(p, plans[1]).slots
        out["best response"] = max(out["best response"], _far(d, c))
    for name in NAMED:
        plan = parse(name)
        sides = [_stepped(one, plan, drawn) for one in (want, got)]
        for p in (0, 1):
            for field in ("regret", "average"):
                a, b = (getattr(side[p], field).numpy() for side in sides)
                out[name] = max(out[name], _far(b, a))
    return dict(out)


def agreement(device: str, names: tuple[str, ...] | None = None) -> Json:
    """Fused kernels on `device` beside plain PyTorch on the CPU, on fresh random inputs."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    found: Json = {"seed": seed}
    for name, game in small_games().items():
        if names and name not in names:
            continue
        tree = compile_boards(game)
        reference = TorchEngine(tree, "cpu", fused=False)
        fused = TorchEngine(tree, device, fused=True, graphs=False)
        found[name] = compare(reference, fused, seed)
    return found


# Time ----------------------------------------------------------------------------------------
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
    """Stands before an engine's operations and times each by device events."""

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
def watched(engine: TorchEngine) -> Iterator[Watch]:
    """Times every operation meanwhile; no graphs."""
    before = engine.ops, engine.graphs
    watch = Watch(engine.ops, engine.torch)
    engine.ops, engine.graphs = watch, False
    yield watch
    engine.ops, engine.graphs = before


def least_bytes(tree: BoardTree) -> int:
    """What an alternating iteration must move: regrets read twice and written, averages both."""
    return sum(tree.stored(p) for p in (0, 1)) * 4 * 5


def moved_bytes(engine: TorchEngine) -> int:
    """The same with the lanes and values that pass between kernels, on the last street."""
    level, total = engine.levels[-1], least_bytes(engine.tree)
    for p in (0, 1):
        wide = level.units * level.hands[p].wide * 4
        total += wide * (2 * len(level.bets[1 - p].lanes) + len(level.bets[p].ends))
        total += wide * level.bets[1 - p].shown
    return total


def _memories(engine: TorchEngine, plan: Schedule) -> tuple[DeviceMemory, DeviceMemory]:
    first, second = (engine.memory(p, predictive=plan.predictive) for p in (0, 1))
    return first, second


def timed(engine: TorchEngine, plan: Schedule, peak: float, count: int = 30) -> Json:
    """Time per iteration, recorded and plain, with the bandwidth it comes to."""
    torch, memories = engine.torch, _memories(engine, plan)

    def run(first: int, many: int) -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        engine.iterate(memories, plan.discounts(first, many + 1), plan.alternating)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / many

    compiling = run(1, 3)
    times = [run(4 + k * count, count) for k in range(5)]
    with watched(engine) as watch:
        run(200, 10)
    spent, least, moved = float(np.median(times)), least_bytes(engine.tree), moved_bytes(engine)
    return {
        "schedule": str(plan), "ms per iteration": round(spent * 1e3, 4),
        "runs": [round(t * 1e3, 4) for t in times], "first three, with compiling, s": compiling * 3,
        "least GB": least / 1e9, "moved GB": moved / 1e9,
        "share of copy bandwidth, least bytes": least / spent / peak,
        "share of copy bandwidth, moved bytes": moved / spent / peak,
        "ms by operation, plain launches": watch.table(10),
        "peak GiB on the device": torch.cuda.max_memory_allocated() / 2**30,
        "quoted GiB": engine.quote(predictive=plan.predictive) / 2**30,
    }  # fmt: skip


def exploitability(engine: TorchEngine, memories: tuple[DeviceMemory, DeviceMemory]) -> float:
    """Of the averages: the mean over both seats, in chips."""
    wins = 0.0
    for p in (0, 1):
        slots = engine.respond(1 - p, engine.plan(p, memories[p].average)).slots
        wins += float(slots @ engine.tree.players[1 - p].reach) / 2
    return wins


def curve(
    engine: TorchEngine, plan: Schedule, checks: list[int], unit: float,
    done: Callable[[float], bool] = lambda gap: False,
) -> Json:  # fmt: skip
    """Exploitability after so many iterations, in `unit` chips, with seconds of solving."""
    torch, memories = engine.torch, _memories(engine, plan)
    engine.iterate(memories, plan.discounts(1, 4), plan.alternating)  # compiles
    exploitability(engine, memories)
    for memory in memories:
        for part in memory:
            for block in part.blocks:
                block.zero_()
    at, spent, judged, points = 0, 0.0, 0.0, []
    for goal in checks:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        engine.iterate(memories, plan.discounts(at + 1, goal - at + 1), plan.alternating)
        torch.cuda.synchronize()
        middle = time.perf_counter()
        gap = exploitability(engine, memories) / unit
        spent, judged, at = spent + middle - begin, time.perf_counter() - middle, goal
        points.append([goal, round(spent, 5), gap])
        if done(gap):
            break
    value = engine.values(0, memories[0].average, engine.plan(1, memories[1].average))
    return {
        "schedule": str(plan), "iterations, s, exploitability": points,
        "s per best response, both seats": judged,
        "value": float(value @ engine.tree.players[0].reach) / unit,
    }  # fmt: skip


# Parts ---------------------------------------------------------------------------------------
def part_nlfh(peak: float, bets: str | None = None) -> Json:
    """Whole flop hold'em: time, agreement of fused and plain, curve in mbb/h."""
    begin = time.perf_counter()
    tree = compile_boards(holdem.nlfh(bets=bets) if bets else holdem.nlfh())
    compiled = time.perf_counter()
    engine = TorchEngine(tree, "cuda")
    found: Json = {"compile s": compiled - begin, "tables s": time.perf_counter() - compiled}
    found["time"] = timed(engine, parse("cfr+"), peak)
    checks = [10, 50, 100, 200, 400, 600, 800, 1000]
    found["cfr+, mbb/h"] = curve(engine, parse("cfr+"), checks, 0.1)
    if not bets:
        found["pdcfr+, mbb/h"] = curve(engine, parse("pdcfr+"), checks, 0.1)
        found["dcfr, mbb/h"] = curve(engine, parse("dcfr"), checks, 0.1)
    return found


def part_whole(peak: float) -> Json:
    """One iteration of flop hold'em, fused beside plain PyTorch, both on the device."""
    tree = compile_boards(holdem.nlfh())
    sides = [TorchEngine(tree, "cuda", fused=fused, graphs=False) for fused in (False, True)]
    found: Json = {}
    for name in ("dcfr", "pcfr+"):
        plan = parse(name)
        plain, fused = (_memories(engine, plan) for engine in sides)
        for p in (0, 1):
            for a, b in zip(plain[p], fused[p], strict=True):
                for mine, copy in zip(a.blocks, b.blocks, strict=True):
                    copy.copy_(mine.uniform_())
        for engine, memories in zip(sides, (plain, fused), strict=True):
            engine.iterate(memories, plan.discounts(11, 2), plan.alternating)
        for p in (0, 1):
            for field in ("regret", "average"):
                pairs = zip(getattr(plain[p], field).blocks, getattr(fused[p], field).blocks,
                            sides[0].places, strict=True)  # fmt: skip
                found[f"{name}, {field} {p}"] = max(
                    float(((a - b) * (place.tables[p].above >= 0)).abs().max() / a.abs().max())
                    for a, b, place in pairs
                )
            if name == "dcfr":
                both = [e.respond(p, e.plan(1 - p, plain[1 - p].average)).slots for e in sides]
                found[f"best response {p}"] = _far(both[1], both[0])
    return found


def part_turn(peak: float) -> Json:
    """The turn endgame of the CPU benchmark, to 0.1 % of the pot."""
    tree = compile_boards(holdem.endgame("QsJh2h8d", 100, 300, bets="all: 0.5x 1x a"))
    engine = TorchEngine(tree, "cuda")
    found: Json = {"nodes": tree.num_nodes, "time": timed(engine, parse("dcfr"), peak)}
    checks = [*range(25, 200, 25), *range(200, 2001, 50)]
    found["dcfr, % of the pot"] = curve(engine, parse("dcfr"), checks, 1.0, lambda gap: gap <= 0.1)
    return found


PARTS: dict[str, Callable[[float], Json]] = {
    "whole": part_whole,
    "nlfh": part_nlfh,
    "three-bets": lambda peak: part_nlfh(peak, THREE_BETS),
    "turn": part_turn,
}


def main() -> None:
    """What ``python -m subgame.gpu.check`` does."""
    parser = argparse.ArgumentParser(prog="python -m subgame.gpu.check")
    parser.add_argument("parts", nargs="*", default=["agreement", *PARTS])
    parser.add_argument("--interpret", action="store_true", help="kernels without a GPU")
    parser.add_argument("--out", help="a file for the JSON")
    asked = parser.parse_args()
    if asked.interpret:
        found: Json = agreement("cpu", ("river", "nlfh"))
        print(json.dumps(found, indent=1))
        worst = max(v for name in ("river", "nlfh") for v in found[name].values())
        raise SystemExit(0 if worst < 1e-5 else f"Kernels are {worst:g} off.")
    torch = load_torch()
    found = {
        "command": f"python -m subgame.gpu.check {' '.join(asked.parts)}",
        "device": torch.cuda.get_device_name(), "torch": torch.__version__,
        "python": platform.python_version(), "date": datetime.now(UTC).isoformat("T", "seconds"),
        "copy bandwidth, GB/s": bandwidth(torch) / 1e9,
    }  # fmt: skip
    for part in asked.parts:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        peak = found["copy bandwidth, GB/s"] * 1e9
        found[part] = agreement("cuda") if part == "agreement" else PARTS[part](peak)
        print(json.dumps({part: found[part]}, indent=1), flush=True)
        if asked.out:
            Path(asked.out).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
