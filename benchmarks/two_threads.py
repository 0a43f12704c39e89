"""One and two threads on hold'em spots of growing size: from what size on the second one helps.

    PYTHONPATH=src python3 benchmarks/two_threads.py --out docs/results

It writes ``two-threads.json``: by spot the actions times hands over all boards, and the fastest
time of an iteration with one and with two threads, runs taking turns. The clock is the wall's,
because threads wait for one another; the machine must be quiet.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import subgame as sg
from agreement import commit
from race_commits import processor
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.solve.schedule import parse
from subgame.solve.solver import Run

BETS = ("a", "1x", "0.5x 1x", "0.5x 1x a", "0.3x 0.6x 1x a", "0.25x 0.5x 0.75x 1x 1.5x a")
SLICES, SECONDS = 24, 0.02


def spots() -> dict[str, Any]:
    """Rivers with ranges by suit, small ones first, and two turns."""
    from subgame.bench.holdem_spots import SPOTS

    rivers = {
        f"river, {bets}": sg.compile(
            sg.holdem.endgame("QsJh2h8d3c", 100, 1000, bets=f"all: {bets}"), merge=False
        )
        for bets in BETS
    }
    known = {name: SPOTS[name].tree() for name in ("river-3bet", "river-srp", "turn-srp")}
    return known | rivers


def timed(runs: dict[int, Run]) -> dict[int, float]:
    """Seconds of an iteration, at best of some slices, by number of threads."""
    best = dict.fromkeys(runs, float("inf"))
    counts = {}
    for threads, run in runs.items():
        run.advance(20)
        began = time.perf_counter()
        run.advance(20)
        counts[threads] = max(1, int(SECONDS / max(1e-6, (time.perf_counter() - began) / 20)))
    for _ in range(SLICES):
        for threads, run in runs.items():
            began = time.perf_counter()
            run.advance(counts[threads])
            best[threads] = min(best[threads], (time.perf_counter() - began) / counts[threads])
    return best


def main() -> None:
    """Measure all spots and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="docs/results", help="a folder")
    asked = parser.parse_args()
    rows = []
    for name, tree in spots().items():
        runs = {
            threads: Run(tree, parse("hs-dcfr"), on=NumbaRangeEngine(tree, threads))
            for threads in (1, 2)
        }
        best = timed(runs)
        size = sum(tree.stored(p) for p in (0, 1))
        rows.append(
            {
                "spot": name,
                "nodes": tree.num_nodes,
                "actions times hands": size,
                "one thread, us": best[1] * 1e6,
                "two threads, us": best[2] * 1e6,
                "times as fast": best[1] / best[2],
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    result = {
        "title": "An iteration with one and with two threads",
        "command": "PYTHONPATH=src python3 benchmarks/two_threads.py",
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {processor()}, {os.cpu_count()} cores",
        "seed": 0,
        "schedule": "hs-dcfr",
        "spots": rows,
    }
    Path(asked.out, "two-threads.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
