"""Peak memory of solving a flop, by storage, and the time of an iteration, one thread.

    PYTHONPATH=src python3 benchmarks/peak_memory.py --out docs/results

Every solve is a process of its own and runs `ITERATIONS` iterations by `sg.solve`, so that making
the strategy and measuring it are included. The other flops are the first one with more betting. It
writes ``memory-flop.json``: bytes of regrets and averages (four or a little over two for each
action and hand, hands up to whole tiles of 16), of the process before the solve, and of its peak.
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ITERATIONS = 4
BETS = {
    "flop-srp": "flop: 0.33x / raise a; turn, river: 0.75x / raise a",
    "flop-srp, bets of half the pot": "all: 0.5x / raise 1x",
    "flop-srp, two sizes": "all: 0.5x 1x / raise a",
}
"""Bet sizes of the flop of `subgame bench holdem`, its own first."""
STORAGES = ("float32", "int16")


def peak() -> int:
    """The most memory that this process had so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def solve(name: str, storage: str) -> dict[str, Any]:
    """One solve in this process."""
    import subgame as sg
    from subgame.bench.holdem_spots import SPOTS
    from subgame.solve.schedule import parse
    from subgame.solve.solver import Run
    from subgame.tree.ranges.tree import range_tree

    spot = SPOTS["flop-srp"]
    game = sg.holdem.endgame(spot.board, spot.pot, spot.stack, spot.ranges, BETS[name])
    tree = sg.compile(game, memory_limit="12GiB", merge=False)
    before, numbers = peak(), sum(range_tree(tree).stored(p) for p in (0, 1))
    sg.solve(tree, "hs-dcfr", iterations=ITERATIONS, threads=1, storage=storage)
    after = peak()
    run = Run(tree, parse("hs-dcfr"), threads=1, storage=storage)
    times = []
    for _ in range(ITERATIONS):
        began = time.process_time()
        run.advance(1)
        times.append(time.process_time() - began)
    return {
        "nodes": tree.num_nodes,
        "actions times hands": numbers,
        "bytes of regrets and averages": int(numbers * (8 if storage == "float32" else 4.5)),
        "bytes before the solve": before,
        "peak, bytes": after,
        "peak, GiB": round(after / 2**30, 3),
        "CPU seconds of an iteration, at best": min(times[1:]),
    }


def measured(name: str, storage: str) -> dict[str, Any]:
    """The memory of a spot, measured in a process of its own."""
    command = [sys.executable, __file__, "--spot", name, storage]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Measure all flops and write the file, or one in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="docs/results", help="a folder")
    parser.add_argument("--flops", type=int, default=len(BETS), help="how many of the flops")
    parser.add_argument("--spot", nargs=2, help="only solve this one, and print")
    asked = parser.parse_args()
    if asked.spot:
        print(json.dumps(solve(*asked.spot)))
        return
    from agreement import commit
    from race_commits import processor

    result: dict[str, Any] = {
        "title": "Peak memory of solving a flop on the CPU",
        "command": f"PYTHONPATH=src python3 benchmarks/peak_memory.py --flops {asked.flops}",
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {processor()}, {os.cpu_count()} cores, one thread",
        "seed": 0,
        "iterations": ITERATIONS,
        "flops": {},
    }
    for name in list(BETS)[: asked.flops]:
        result["flops"][name] = rows = {}
        for storage in STORAGES:
            rows[storage] = measured(name, storage)
            print(name, storage, json.dumps(rows[storage]), flush=True)
            Path(asked.out, "memory-flop.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
