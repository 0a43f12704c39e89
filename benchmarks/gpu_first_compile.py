"""Time of the first compilation on a GPU, and with Triton's cache of it in a new process.

    python3 benchmarks/gpu_first_compile.py [NAME=SOURCES ...] [--out FOLDER] [--spots SPOT ...]

SOURCES are folders with a package each, such as that of another commit; without any it is `src`.
For each spot and package a new process solves and evaluates, first with an empty cache and then
with the cache that this left. It writes ``gpu-first-compile.json``: seconds from the engine to the
end of the first three iterations, seconds of the first evaluation, ms per later iteration (the
median of `RUNS` runs), and how many kernels were compiled. ``--caches FOLDER`` keeps the cache
of a package in FOLDER/NAME, which is then not empty for its second spot.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from published_flop import BETS, IP, OOP
from race_commits import commit

SPOTS = ("flop", "rivers")
RIVERS, RIVER_BETS = 1000, "all: 0.5x 1x a"
RUNS, LENGTH = 5, 30
"""Runs of so many iterations each, whose median is the time of an iteration."""
LONGEST = 120.0
"""Seconds after which a process is ended."""


def tree_of(spot: str, rivers: int) -> Any:
    """PioSOLVER's flop of docs/published.md, or rivers side by side as in the GPU check."""
    from subgame.games import holdem
    from subgame.tree.ranges.tree import compile_range_tree

    if spot == "flop":
        game = holdem.endgame("QsJh2h", 180, 910, (OOP, IP), BETS)
        return compile_range_tree(game, merge="boards")
    rng = np.random.default_rng(0)
    boards = [tuple(rng.choice(52, 5, replace=False).tolist()) for _ in range(rivers)]
    return compile_range_tree(holdem.endgame(boards[0], 100, 1000, bets=RIVER_BETS), boards=boards)


def solve(spot: str, device: str) -> dict[str, float]:
    """Solve and time one spot in this process."""
    import torch

    from subgame.engines.torch.ranges import TorchRangeEngine
    from subgame.solve.cfr import Cfr
    from subgame.solve.schedule import parse

    on_gpu = device == "cuda"
    plan, tree = parse("hs-dcfr"), tree_of(spot, RIVERS if on_gpu else 3)
    wait = torch.cuda.synchronize if on_gpu else int
    torch.zeros(1, device="cuda" if on_gpu else "cpu")  # the driver starts before the clock
    begin = time.perf_counter()
    made = TorchRangeEngine(tree, device)
    cfr = Cfr(made)
    cfr.advance(plan.discounts(1, 4), 1)
    wait()
    learnt = time.perf_counter()
    for p in (0, 1):
        sigma = made.behaviour(p, cfr.pair[p].average)
        made.respond(1 - p, made.plan(p, sigma))
    evaluated, length, runs = time.perf_counter(), LENGTH if on_gpu else 1, []
    for k in range(RUNS):
        began, first = time.perf_counter(), 4 + k * length
        cfr.advance(plan.discounts(first, length + 1), first)
        wait()
        runs.append((time.perf_counter() - began) / length * 1e3)
    return {
        "engine and first three iterations, s": learnt - begin,
        "first evaluation, s": evaluated - learnt,
        "both, s": evaluated - begin,
        "ms per later iteration": statistics.median(runs),
    }


def measured(spot: str, source: str, cache: str, device: str) -> dict[str, Any]:
    """The times of a spot in a new process with a package and a cache folder."""
    before = kernels(cache)
    env = os.environ | {"TRITON_CACHE_DIR": cache, "PYTHONPATH": source}
    command = [sys.executable, __file__, "--spot", spot, "--device", device]
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return {"not finished after, s": LONGEST, "kernels compiled": kernels(cache) - before}
    if done.returncode:
        return {"error": done.stderr[-2000:]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result | {"kernels compiled": kernels(cache) - before}


def kernels(cache: str) -> int:
    """Kernels in a cache folder."""
    return len(list(Path(cache).rglob("*.cubin")))


def both(spot: str, source: str, caches: Path | None, device: str) -> dict[str, Any]:
    """A spot with an empty cache, and again."""
    with tempfile.TemporaryDirectory() as blank:
        cache = str(caches or blank)
        names = ("empty cache", "warm cache, new process")
        return {name: measured(spot, source, cache, device) for name in names}


def main() -> None:
    """Measure all spots and write the file, or one spot in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=["now=src"], metavar="NAME=SOURCES")
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="a folder")
    parser.add_argument("--spots", nargs="+", choices=SPOTS, default=SPOTS)
    parser.add_argument("--caches", type=Path, help="a folder for caches that stay")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--spot", choices=SPOTS, help="only solve this one, and print its times")
    asked = parser.parse_args()
    if asked.spot:
        print(json.dumps(solve(asked.spot, asked.device)))
        return
    import torch

    name = torch.cuda.get_device_name() if asked.device == "cuda" else asked.device
    shown = " ".join(f"{source.partition('=')[0]}=SOURCES" for source in asked.sources)
    result: dict[str, Any] = {
        "title": "First compilation on a GPU",
        "command": f"python3 benchmarks/gpu_first_compile.py {shown}",
        "commit": commit(Path(__file__).parents[1]),
        "machine": {"device": name, "cpus": len(os.sched_getaffinity(0))},
        "seed": 0,
    }
    for spot in asked.spots:
        for side, _, source in (text.partition("=") for text in asked.sources):
            caches = asked.caches and asked.caches / side
            rows = both(spot, str(Path(source).resolve()), caches, asked.device)
            result.setdefault(spot, {})[side] = rows
            print(spot, side, json.dumps(rows), flush=True)
            text = json.dumps(result, indent=1) + "\n"
            (asked.out / "gpu-first-compile.json").write_text(text)


if __name__ == "__main__":
    main()
