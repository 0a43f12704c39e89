"""Checks and times the engines on a GPU: ``python benchmarks/gpu_check [PART ...]``.

Prints JSON: the device, its copy bandwidth, how far the fused kernels are from the plain PyTorch
path on the CPU (small decks, fresh random inputs each time) and on the device (whole flop
hold'em), and times with the share of the bandwidth they reach.

Parts: agreement, gadgets (at many roots), whole, nlfh, three-bets, turn, storage (flop
hold'em in 16 bits), slices (its boards cut), buckets (its flops in buckets), nlth (turn hold'em),
nlth-two-sizes, rivers (1,000 endgames at once), growth (time by size), larger (flop and turn
hold'em from host memory), games (explicit trees: every game, schedule and gadget).
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from gpu_check import games as check_games
from gpu_check import measure
from gpu_check.agreement import agreement, gadgets, rounding
from gpu_check.buckets import part_buckets
from gpu_check.games import far
from gpu_check.larger import part_larger
from gpu_check.measure import MILLI, Json, Scale, Spot, advance, curve, now, timed
from subgame.engines.torch.batch import RangeBatch
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import Storage
from subgame.games import holdem
from subgame.solve.schedule import parse
from subgame.tree.files import replacing, rescue
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import compile_range_tree

Tensor = Any
THREE_BETS = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 3"
CPU = Path(__file__).parents[2] / "docs" / "results" / "bench-holdem.json"
"""Where the CPU engine's times are, in a checkout."""


def checks(most: int) -> list[int]:
    """After how many iterations flop hold'em is evaluated."""
    return [k for k in (10, 50, 100, 200, 400, 600, 800, 1000) if k <= most]


def part_nlfh(scale: Scale, *schedules: str) -> Json:
    """Whole flop hold'em: time, and curves in mbb/h by CFR+ and other schedules."""
    begin = time.perf_counter()
    tree = compile_range_tree(scale.flop)
    compiled = time.perf_counter()
    engine = TorchRangeEngine(tree, scale.device)
    result: Json = {"compile s": compiled - begin, "tables s": time.perf_counter() - compiled}
    spot = Spot.of(engine)
    result["time"] = timed(spot, parse("cfr+"), scale.peak)
    for name in ("cfr+", *schedules):
        result[f"{name}, mbb/h"] = curve(spot, parse(name), checks(scale.most), MILLI)
    return result


def part_whole(scale: Scale) -> Json:
    """One iteration of flop hold'em, fused beside plain PyTorch, both on the device."""
    tree = compile_range_tree(scale.flop)
    make = partial(TorchRangeEngine, tree, scale.device, graphs=False)
    sides = [make(triton=triton) for triton in (False, True)]
    result: Json = {}
    for name in ("dcfr", "pcfr+"):
        plan = parse(name)
        both = [measure.cfr_of(engine, plan) for engine in sides]
        plain, fused = (cfr.pair for cfr in both)
        for a, b in zip(measure.kept(plain), measure.kept(fused), strict=True):
            for mine, copy in zip(a.blocks, b.blocks, strict=True):
                copy.copy_(mine.uniform_())
        for cfr in both:
            advance(cfr, plan, 11, 1)
        for p in (0, 1):
            real = [place.tables[p].above >= 0 for place in sides[0].places]
            for field in ("regret", "average"):
                one, two = (getattr(pair[p], field).blocks for pair in (plain, fused))
                result[f"{name}, {field} {p}"] = max(
                    float(((a - b) * here).abs().max() / a.abs().max())
                    for a, b, here in zip(one, two, real, strict=True)
                )
            if name == "dcfr":
                a, b = (e.respond(p, e.plan(1 - p, plain[1 - p].average)).roots for e in sides)
                result[f"best response {p}"] = far(b, a)
    return result


def part_turn(scale: Scale) -> Json:
    """The turn endgame of the CPU benchmark, to 0.1 % of the pot."""
    tree = compile_range_tree(scale.endgame)
    spot = Spot.of(TorchRangeEngine(tree, scale.device))
    result: Json = {"nodes": tree.num_nodes, "time": timed(spot, parse("dcfr"), scale.peak)}
    checks = [*range(25, 200, 25), *range(200, 2001, 50)]
    result["dcfr, % of the pot"] = curve(
        spot, parse("dcfr"), checks, 1.0, lambda gap, seconds: gap <= 0.1
    )
    return result


def part_storage(scale: Scale) -> Json:
    """Flop hold'em with regrets and averages in 16 bits beside 32: agreement, time, curves."""
    result: Json = {"fused and plain": rounding(scale.device, scale.rounded)}
    engine = TorchRangeEngine(compile_range_tree(scale.flop), scale.device)
    for kind in get_args(Storage):
        measure.forget(engine.torch)
        spot = Spot.of(engine, engine.stage(engine.tree.streets, storage=kind))
        result[kind] = {"time": timed(spot, parse("dcfr"), scale.peak)}
        result[kind]["dcfr, mbb/h"] = curve(spot, parse("dcfr"), checks(scale.most), MILLI)
    return result


def part_slices(scale: Scale) -> Json:
    """Flop hold'em with its boards cut into slices, the least of which fit the cache."""
    engine = TorchRangeEngine(compile_range_tree(scale.flop), scale.device)
    result: Json = {}
    for size in scale.megabytes:
        engine.needs = replace(engine.needs, scratch=size << 20)
        spot = Spot.of(engine, engine.stage(engine.tree.streets))
        slices = [len(list(spot.batch._slices(len(engine.levels) - 1, p, 4))) for p in (0, 1)]
        taken = timed(spot, parse("dcfr"), scale.peak)
        result[f"{size} MiB"] = {"slices": slices, "ms per iteration": taken["ms per iteration"]}
    return result


def _solved(spot: Spot, peak: float, goal: float, seconds: float) -> Json:
    """Time and curve of turn hold'em, until below a quarter of `goal` mbb/h or out of time."""
    measure.forget(spot.batch.torch)
    checks = [10, *range(25, 200, 25), *range(200, 1001, 50)]
    result: Json = {"actions on the turn": sum(bet.edges for bet in spot.batch.levels[-1].bets)}
    result["time"] = timed(spot, parse("dcfr"), peak)
    result["dcfr, mbb/h"] = run = curve(
        spot, parse("dcfr"), checks, MILLI, lambda gap, spent: gap < goal / 4 or spent > seconds
    )
    below = [point for point in run["iterations, s, exploitability"] if point[2] < goal]
    result[f"below {goal:g} mbb/h"] = below[0] if below else None
    result["value for the small blind, mbb/h"] = -run["value"]
    if spot.batch.device.type == "cuda":
        result["peak GiB with judging"] = spot.batch.torch.cuda.max_memory_allocated() / 2**30
    return result


def part_nlth(scale: Scale) -> Json:
    """Whole turn hold'em, in float32 and in 16 bits."""
    engine, made = measure.turn_holdem(scale.device, scale.turn)
    result: Json = dict(made)
    kinds: tuple[Storage, ...] = ("float32", "int16")
    for kind in kinds:
        batch = engine.stage(engine.tree.streets, storage=kind)
        result[kind] = _solved(Spot.of(engine, batch), scale.peak, 5.0, 0.4 * scale.seconds)
    return result


def part_two_sizes(scale: Scale) -> Json:
    """Turn hold'em with two bet sizes, which only fits in 16 bits."""
    engine, made = measure.turn_holdem(scale.device, scale.turn)
    larger = holdem.nlth(bets=scale.two_sizes)
    result: Json = {"bets": scale.two_sizes, **made}
    for kind in get_args(Storage):
        stage = engine.stage(grow(larger), storage=kind, placement="device", memory_limit=np.inf)
        result[f"quoted GiB, {kind}"] = stage.estimate().device / 2**30
    if scale.device == "cuda":
        measure.forget(engine.torch)
        free = engine.torch.cuda.mem_get_info()[0]
        result["free GiB"] = free / 2**30
        if stage.estimate().device - sum(frame.tables for frame in stage.frames) > free:
            return {**result, "skipped": "it does not fit"}
    return {**result, **_solved(Spot.of(engine, stage), scale.peak, 5.0, 0.9 * scale.seconds)}


def random_ranges(batch: RangeBatch, roots: int, seed: int) -> tuple[Tensor, Tensor]:
    """[root, infoset] every hand in with probability one half, with any weight up to one."""
    torch, rng = batch.torch, np.random.default_rng(seed)
    out = []
    for p in (0, 1):
        real = batch.places[0].tables[p].above >= 0
        shape = (roots, *real.shape)
        drawn = (1 - rng.random(shape)) * (rng.random(shape) < 0.5)
        out.append((torch.from_numpy(drawn).to(batch.device) * real).flatten(0, 1))
    return out[0], out[1]


def part_rivers(scale: Scale, seed: int = 0) -> Json:
    """River endgames with random boards and ranges solved together, to 0.5 and 0.1 % of the pot."""
    begin, rng = time.perf_counter(), np.random.default_rng(seed)
    deck, count, most = scale.deck, scale.rivers, 3 * scale.most
    boards = [tuple(rng.choice(deck.size, 5, replace=False).tolist()) for _ in range(count)]
    game = holdem.endgame(boards[0], 100, 1000, bets=scale.river_bets, deck=deck)
    engine = TorchRangeEngine(compile_range_tree(game, boards=boards), scale.device)
    spot = Spot.at(engine, random_ranges(engine, 1, seed))
    result: Json = {
        "endgames": count,
        "nodes of each": engine.tree.num_nodes // count,
        "build s": now(engine) - begin,
    }
    result["time"] = timed(spot, parse("dcfr"), scale.peak)
    checks = [k for k in (*range(20, 600, 20), *range(600, most + 1, 50)) if k <= most]
    points, reached = [], dict[str, Json]()
    for goal, spent, _, gaps, _ in measure.solving(spot, parse("dcfr"), checks):
        shares = [float((gaps <= bar).mean()) for bar in (0.5, 0.1)]
        points.append([goal, round(spent, 5), float(gaps.mean()), float(gaps.max()), *shares])
        for bar, share in zip(("0.5", "0.1"), shares, strict=True):
            for part in (0.5, 0.99, 1.0):
                name = f"{part:.0%} of them below {bar} % of the pot"
                if share >= part:
                    fast = {"iterations": goal, "s": spent, "endgames per second": count / spent}
                    reached.setdefault(name, fast)
        if shares[1] == 1:
            break
    result["iterations, s, mean, worst, share below 0.5, share below 0.1"] = points
    return {**result, **reached, **_beside_the_cpu(reached)}


def _beside_the_cpu(reached: Json) -> Json:
    """How many times one CPU core's endgames per second these are."""
    if not CPU.exists():
        return {}
    rows = json.loads(CPU.read_text())["rows"]
    row = next((r for r in rows if r["spot"] == "river-177-apart" and r["threads"] == 1), None)
    out: Json = {}
    for bar, (iterations, seconds) in (row["targets"] if row else {}).items():
        out[f"one CPU core, {bar} %"] = {"iterations": iterations, "s": seconds}
        for part in ("50%", "99%", "100%"):
            name = f"{part} of them below {bar} % of the pot"
            if name in reached:
                ratio = reached[name]["endgames per second"] * seconds
                out[f"times one CPU core, {name}"] = ratio
    return out


def part_growth(scale: Scale) -> Json:
    """Time per iteration by size: flops side by side with some betting, turn and flop endgames.

    Flops need not differ in more than suits; betting below one root or five takes one kernel.
    """
    rng, points, deck = np.random.default_rng(0), [], scale.deck
    make = partial(holdem.nlfh, ranks=deck.ranks, suits=deck.suits)
    whole = [make(bets=f"preflop: 0.5x 1x / cap 1; flop: {size}") for size in scale.sizes]
    for boards in scale.flops:
        dealt = [tuple(rng.choice(deck.size, 3, replace=False).tolist()) for _ in range(boards)]
        ways = grow(whole[0])[0].leaves
        tree = compile_range_tree(whole[0], boards=dealt, roots=ways[:1])
        engine = TorchRangeEngine(tree, scale.device)
        for game, size in zip(whole, scale.sizes, strict=True):
            for roots in (1, len(ways)):
                stage = engine.stage(grow(game, grow(game)[0].leaves[:roots]))
                points.append(_point(f"flops, {size}", stage, scale.peak))
    bets = "all: 1x / cap 1"
    for board in scale.boards:
        tree = compile_range_tree(holdem.endgame(board, 100, 300, bets=bets, deck=deck))
        points.append(_point(f"{board}, {bets}", TorchRangeEngine(tree, scale.device), scale.peak))
    names = "what, boards, actions, cells, ms per iteration, least GB, "
    names += "share of copy bandwidth, least bytes"
    return {names: sorted(points, key=lambda point: point[3])}


def _point(name: str, batch: RangeBatch, peak: float) -> list[Any]:
    """One line of `part_growth`."""
    plan = parse("dcfr")
    cfr = measure.cfr_of(batch, plan)
    advance(cfr, plan, 1, 3)
    count = max(1, min(measure.RUN, int(0.2 / max(advance(cfr, plan, 4, 1), 1e-9))))
    spent = float(np.median([advance(cfr, plan, 5 + k * count, count) for k in range(3)]))
    least = measure.least_bytes(batch)
    return [
        name,
        [level.units for level in batch.levels],
        [sum(bet.edges for bet in level.bets) for level in batch.levels],
        measure.cells(batch),
        spent * 1e3,
        least / 1e9,
        least / spent / peak,
    ]


PARTS: dict[str, Callable[[Scale], Json]] = {
    "agreement": lambda scale: agreement(scale.device),
    "whole": part_whole,
    "nlfh": lambda scale: part_nlfh(scale, "pdcfr+", "dcfr"),
    "three-bets": lambda scale: part_nlfh(replace(scale, flop=holdem.nlfh(bets=THREE_BETS))),
    "turn": part_turn,
    "gadgets": lambda scale: gadgets(scale.device),
    "storage": part_storage,
    "slices": part_slices,
    "buckets": part_buckets,
    "nlth": part_nlth,
    "nlth-two-sizes": part_two_sizes,
    "rivers": part_rivers,
    "growth": part_growth,
    "larger": part_larger,
    "games": lambda scale: check_games.check(scale.device),
}


def _write(result: dict[str, Any], path: Path) -> None:
    with replacing(path) as new:
        new.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """What ``python benchmarks/gpu_check`` does."""
    parser = argparse.ArgumentParser(prog="python benchmarks/gpu_check")
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--out", help="a file for the JSON")
    asked = parser.parse_args()
    torch = load_torch()
    result: Json = {
        "command": f"python benchmarks/gpu_check {' '.join(asked.parts)}",
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat("T", "seconds"),
        "copy bandwidth, GB/s": measure.bandwidth(torch) / 1e9,
    }
    scale, failed = Scale(result["copy bandwidth, GB/s"] * 1e9), False
    for part in asked.parts:
        measure.forget(torch)
        begin = time.perf_counter()
        try:
            result[part] = PARTS[part](scale)
        except Exception:  # the other parts still run
            result[part], failed = {"error": traceback.format_exc()}, True
        result[part]["s in all"] = time.perf_counter() - begin
        print(json.dumps({part: result[part]}, indent=1), flush=True)
        if asked.out:
            print(rescue(asked.out, partial(_write, result)), file=sys.stderr, flush=True)
    raise SystemExit(failed)
