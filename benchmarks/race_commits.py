"""Two checkouts of subgame on the same hold'em spots, taking turns, on one thread.

    python benchmarks/race_commits.py OLD NEW [SPOT ...] [--rounds N] [--out FILE]

OLD and NEW are folders of checkouts. Every solve is a process of its own, which imports the package
from one of them. Times are CPU times of the process, and minima over the rounds. A time to a target
counts iterations only: exploitability is measured after every fifth one, outside of the clock.
Names of spots are those of `subgame bench holdem`; ``NAME:N`` runs N iterations without targets. It
gives the CPU time of all of them and that of the fastest, because later iterations may be slower.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SPOTS = ("river-srp", "river-3bet", "river-177", "turn-srp", "turn-3bet", "turn", "flop-srp:6")
SCHEDULE, TARGETS, STEP = "hs-dcfr", (0.5, 0.1), 5
SLICE, ENOUGH = 0.03, 1.5
"""CPU seconds of the slices whose fastest gives the time of an iteration, and of all of them."""
WARM = 100
"""Iterations before these slices, at least."""


def cpu_seconds(run: Any, count: int) -> float:
    """CPU seconds of some iterations."""
    began = time.process_time()
    run.advance(count)
    return time.process_time() - began


def to_targets(made: Callable[[], Any], spot: Any) -> dict[str, list[Any]]:
    """Iterations to each target, and CPU seconds of so many in a run of their own."""
    run = made()
    reached: dict[str, int] = {}
    while run.iteration < spot.most and len(reached) < len(TARGETS):
        run.advance(STEP)
        gap = float(run.measure()) / spot.pot * 100
        for target in TARGETS:
            if gap <= target:
                reached.setdefault(str(target), run.iteration)
    return {target: [count, fastest(made, count)] for target, count in reached.items()}


def fastest(made: Callable[[], Any], count: int) -> float:
    """CPU seconds of the first `count` iterations, at best of several runs if they are short."""
    best, spent = float("inf"), 0.0
    while spent < ENOUGH:
        took = cpu_seconds(made(), count)
        best, spent = min(best, took), spent + took
    return best


def solved(spot: str) -> dict[str, Any]:
    """One solve in this process: what it took."""
    from subgame.bench.holdem_spots import SPOTS as KNOWN
    from subgame.solve.schedule import parse
    from subgame.solve.solver import Run

    name, _, count = spot.partition(":")
    given, best = KNOWN[name], float("inf")
    tree = given.tree()

    def made() -> Run:
        return Run(tree, parse(SCHEDULE), threads=1, storage=given.storage)

    run = made()
    run.advance(1)  # kernels are loaded now
    reached: dict[str, list[Any]] = {}
    if count:
        times = [cpu_seconds(run, 1) for _ in range(int(count))]
        best, reached[f"all {count}"] = min(times), [int(count), sum(times)]
    else:
        run.measure()
        reached = to_targets(made, given)
        run.advance(max([WARM, *(each[0] for each in reached.values())]))
        each = cpu_seconds(run, STEP) / STEP
        size = max(1, int(SLICE / each))
        for _ in range(max(3, int(ENOUGH / (size * each)))):
            best = min(best, cpu_seconds(run, size) / size)
    return {
        "nodes": tree.num_nodes,
        "cpu_seconds_per_iteration": best,
        "targets": reached,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def asked(checkout: Path, spot: str) -> dict[str, Any]:
    """The same in another process, with the package of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, __file__, "--child", spot]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def best_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The minima of several runs of one checkout."""
    targets = {
        target: [runs[0]["targets"][target][0], min(run["targets"][target][1] for run in runs)]
        for target in runs[0]["targets"]
    }
    name = "cpu_seconds_per_iteration"
    return runs[0] | {
        name: min(run[name] for run in runs),
        "targets": targets,
        "peak_bytes": min(run["peak_bytes"] for run in runs),
    }


def race(checkouts: list[Path], spot: str, rounds: int) -> dict[str, Any]:
    """A spot on both checkouts, and how many times as fast the second one is."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for k in range(rounds):
        for side in (0, 1) if k % 2 == 0 else (1, 0):
            runs[side].append(asked(checkouts[side], spot))
    old, new = best_of(runs[0]), best_of(runs[1])
    name = "cpu_seconds_per_iteration"
    ratio = {"iteration": old[name] / new[name], "memory": old["peak_bytes"] / new["peak_bytes"]}
    for target, (_, seconds) in old["targets"].items():
        if target in new["targets"]:
            ratio[target] = seconds / new["targets"][target][1]
    return {"spot": spot, "old": old, "new": new, "ratio": ratio}


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    old, new, ratio = row["old"], row["new"], row["ratio"]
    parts = [f"{row['spot']:16} {old['nodes']:>8,} nodes"]
    times = [each["cpu_seconds_per_iteration"] * 1e3 for each in (old, new)]
    parts.append(f"{times[0]:.4g} -> {times[1]:.4g} ms/iteration ({ratio['iteration']:.2f})")
    for target in sorted(set(old["targets"]) & set(new["targets"]), reverse=True):
        (n, s), (m, t) = old["targets"][target], new["targets"][target]
        label = target if target.startswith("all") else f"{target} %"
        parts.append(f"{label}: {s:.4g} s ({n} it) -> {t:.4g} s ({m} it) ({ratio[target]:.2f})")
    peaks = [each["peak_bytes"] / 2**20 for each in (old, new)]
    return "; ".join([*parts, f"{peaks[0]:.0f} -> {peaks[1]:.0f} MiB"])


def commit(checkout: Path) -> str:
    """The commit of a checkout."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    """The processor, as Linux names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(each.split(":")[1].strip() for each in lines if "model name" in each)
    except (OSError, StopIteration):
        return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("spots", nargs="*", default=SPOTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args()
    about = {
        "command": f"python benchmarks/race_commits.py OLD NEW {' '.join(options.spots)} "
        f"--rounds {options.rounds}",
        "commits": [commit(options.old), commit(options.new)],
        "machine": f"{platform.machine()}, {processor()}, one thread",
        "schedule": SCHEDULE,
    }
    rows = []
    for spot in options.spots:
        rows.append(race([options.old, options.new], spot, options.rounds))
        print(line(rows[-1]), flush=True)
        if options.out:  # after each spot: a long race may be stopped
            options.out.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--child":
        print(json.dumps(solved(sys.argv[2])))
    else:
        main()
