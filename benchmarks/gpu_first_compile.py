"""Time of the first compilation on a GPU, and with Triton's cache of it in a new process.

    PYTHONPATH=src python3 benchmarks/gpu_first_compile.py --out docs/results

For each spot a new process solves twelve iterations and evaluates them, first with an empty cache
and then with the cache that this left. It writes ``gpu-first-compile.json``: seconds from the
engine to the end of the first three iterations, seconds of the first evaluation, ms per later
iteration, and how many kernels were compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from agreement import commit
from published_flop import preset

SPOTS = ("flop", "rivers")


def tree_of(spot: str) -> Any:
    """PioSOLVER's flop of docs/published.md, or 1,000 rivers side by side as in the GPU check."""
    from subgame.games import holdem
    from subgame.tree.ranges.tree import compile_range_tree

    if spot == "flop":
        return compile_range_tree(preset(), merge="boards")
    rng = np.random.default_rng(0)
    boards = [tuple(rng.choice(52, 5, replace=False).tolist()) for _ in range(1000)]
    from gpu_check.measure import Scale

    bets = Scale(1.0).river_bets
    return compile_range_tree(holdem.endgame(boards[0], 100, 1000, bets=bets), boards=boards)


def solve(spot: str) -> dict[str, float]:
    """Solve and time one spot in this process."""
    import torch

    from subgame.engines.torch.ranges import TorchRangeEngine
    from subgame.solve.cfr import Cfr
    from subgame.solve.schedule import parse

    plan, tree = parse("hs-dcfr"), tree_of(spot)
    torch.zeros(1, device="cuda")  # the driver starts before the clock
    begin = time.perf_counter()
    made = TorchRangeEngine(tree, "cuda")
    cfr = Cfr(made)
    cfr.advance(plan.discounts(1, 4), 1)
    torch.cuda.synchronize()
    learnt = time.perf_counter()
    for p in (0, 1):
        sigma = made.behaviour(p, cfr.pair[p].average)
        made.respond(1 - p, made.plan(p, sigma))
    evaluated = time.perf_counter()
    cfr.advance(plan.discounts(4, 10), 4)
    torch.cuda.synchronize()
    ended = time.perf_counter()
    return {
        "engine and first three iterations, s": learnt - begin,
        "first evaluation, s": evaluated - learnt,
        "ms per later iteration": (ended - evaluated) / 9 * 1e3,
    }


def measured(spot: str, cache: str) -> dict[str, float]:
    """The same in a new process with a cache folder."""
    before = kernels(cache)
    env = os.environ | {"TRITON_CACHE_DIR": cache}
    command = [sys.executable, __file__, "--spot", spot]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result | {"kernels compiled": kernels(cache) - before}


def kernels(cache: str) -> int:
    """Kernels in a cache folder."""
    return len(list(Path(cache).rglob("*.cubin")))


def main() -> None:
    """Measure all spots and write the file, or one spot in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="docs/results", help="a folder")
    parser.add_argument("--spot", choices=SPOTS, help="only solve this one, and print its times")
    asked = parser.parse_args()
    if asked.spot:
        print(json.dumps(solve(asked.spot)))
        return
    import torch

    result: dict[str, Any] = {
        "title": "First compilation on a GPU",
        "command": "PYTHONPATH=src python3 benchmarks/gpu_first_compile.py",
        "commit": commit(),
        "machine": {"device": torch.cuda.get_device_name(), "cpus": os.cpu_count()},
        "seed": 0,
    }
    for spot in SPOTS:
        with tempfile.TemporaryDirectory() as cache:
            result[spot] = {
                "empty cache": measured(spot, cache),
                "warm cache, new process": measured(spot, cache),
            }
        print(json.dumps({spot: result[spot]}, indent=1), flush=True)
        (Path(asked.out) / "gpu-first-compile.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
