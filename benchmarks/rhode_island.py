"""Royal Rhode Island hold'em: compiled by arrays, then solved on the CPU and on a GPU.

    python benchmarks/rhode_island.py [--game NAME] [--device cuda] [--out FILE]

Four suits of five ranks make 1.2e8 histories. The result is written after each step. Seconds are
wall-clock time; "set-up" of a device is the time until its engine has everything in place. An
iteration's time is that of the last half of the iterations. Exploitability is exact, in chips; both
players ante 5.
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import subgame as sg
from subgame.engines.factory import engine
from subgame.papers.report import commit, machine
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.tree.public_tree import PublicTree

ROYAL = "rhode-island(ranks=5, suits=4)"
SCHEDULES = ("cfr+", "pcfr+", "dcfr")
Json = dict[str, Any]
Keep = Callable[[Json], None]


def compiled(name: str) -> tuple[PublicTree, Json]:
    """The tree, and what compiling it took."""
    began, worked = time.perf_counter(), time.process_time()
    tree = sg.compile(sg.games.load(name), memory_limit=None)
    assert tree.histories is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tree, {
        "seconds": time.perf_counter() - began,
        "CPU seconds": time.process_time() - worked,
        "peak bytes": peak,
        "histories": len(tree.histories),
        "infosets": tree.num_infosets,
        "public states": tree.num_nodes,
        "bytes": tree.nbytes,
    }


def solved(tree: PublicTree, schedule: str, device: str, marks: list[int]) -> list[Json]:
    """Iterations, milliseconds of one, and exploitability, at each of the `marks`."""
    plan, run = parse(schedule), engine(tree, device=device)
    cfr = Cfr(run, predictive=plan.predictive, alternating=plan.alternating)
    rows, done = list[Json](), 0

    def advance(to: int) -> float:
        """Seconds of the iterations up to `to`."""
        began = time.perf_counter()
        cfr.advance(plan.discounts(done + 1, to - done + 1), done + 1)
        return time.perf_counter() - began

    for mark in marks:
        half = done + (mark - done) // 2
        advance(half)
        done = half
        seconds = advance(mark) / (mark - half)
        done = mark
        one, two = (np.asarray(run.behaviour(p, cfr.pair[p].average)) for p in (0, 1))
        gap = sg.exploitability(tree, sg.Strategy(tree, (one, two)), device=device).mean
        rows.append({"iterations": mark, "ms": 1000 * seconds, "exploitability": gap})
        print(device, schedule, rows[-1], flush=True)
    return rows


def on_device(tree: PublicTree, device: str, marks: list[int], keep: Keep) -> None:
    """Set-up of a device's engine, then every schedule."""
    began, out = time.perf_counter(), Json()
    engine(tree, device=device)
    out["set-up seconds"] = time.perf_counter() - began
    if device == "cuda":
        import torch

        out["name"] = torch.cuda.get_device_name()
    for schedule in SCHEDULES if device != "cpu" else SCHEDULES[:1]:
        out[schedule] = solved(tree, schedule, device, marks)
        if device == "cuda":
            out["peak bytes"] = torch.cuda.max_memory_allocated()
        keep({device: out})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--game", default=ROYAL)
    parser.add_argument("--device", default="cuda", help="beside the CPU: cuda or torch")
    parser.add_argument("--iterations", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--cpu-iterations", type=int, nargs="*", default=[10, 30])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    words = [word for word in sys.argv[1:] if word not in ("--out", str(options.out))]
    result: Json = {
        "command": shlex.join(["python", "benchmarks/rhode_island.py", *words]),
        "commit": commit(),
        "machine": machine(("numpy", "numba", "torch")),
        "seed": 0,
        "game": options.game,
    }

    def keep(part: Json) -> None:
        result.update(part)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    tree, size = compiled(options.game)
    print(size, flush=True)
    keep({"compile": size})
    on_device(tree, options.device, options.iterations, keep)
    on_device(tree, "cpu", options.cpu_iterations, keep)


if __name__ == "__main__":
    main()
