"""Spots with ranges of players who folded: the time of the weights and of an iteration, and EV.

    PYTHONPATH=src python3 benchmarks/bunching.py --out docs/results

It writes ``bunching.json``. Everybody folds the same range before the flop: all hands but pairs,
suited aces and good high cards. ``--only flop`` writes ``bunching-flop.json`` instead: a flop with
one bet of half of the pot on each street takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subgame import compile, solve
from subgame.engines.blas import one_blas_thread
from subgame.engines.factory import engine
from subgame.engines.pairs import PairEngine
from subgame.games.holdem.spots import endgame
from subgame.papers.report import commit

FOLDED = "random,22+:0,A2s+:0,K9s+:0,QTs+:0,ATo+:0,KJo+:0"
RANGES = (
    "66+,A8s+,A5s-A4s,KTs+,QTs+,JTs,T9s,98s,87s,ATo+,KQo",
    "QQ-22,A2s+,K9s+,Q9s+,J9s+,T8s+,97s+,86s+,75s+,65s,54s,ATo+,KTo+,QTo+,JTo",
)
SPOTS = {
    "river": ("QsJh2h8d3c", 300, "0.5x 1x a / raise a"),
    "turn": ("QsJh2h8d", 300, "0.5x 1x a / raise a"),
    "flop": ("QsJh2h", 300, "0.5x / cap 1"),
}
CASES = [("river", 1), ("river", 2), ("river", 3), ("turn", 1)]
LONG = [("flop", 1)]
"""Measured only if it is asked for."""
ITERATIONS = {"river": 500, "turn": 60, "flop": 16}


def measured(name: str, players: int) -> dict[str, Any]:
    """One spot with so many folded players, and the same without."""
    board, stack, bets = SPOTS[name]
    began = time.process_time()
    game = endgame(board, 100, stack, RANGES, bets, folded=[FOLDED] * players)
    tables, began = time.process_time() - began, time.process_time()
    print(f"{name}, {players} folded: tables {tables:.1f} s", flush=True)
    tree = compile(game)
    run = engine(tree)
    assert isinstance(run, PairEngine)
    size = sum(m.nbytes for street in run.streets for m in (*street.met, *street.won))
    matrices, began = time.process_time() - began, time.process_time()
    print(f"matrices {matrices:.1f} s, {size / 2**20:.0f} MiB", flush=True)
    solved = solve(tree, "hs-dcfr", iterations=ITERATIONS[name])
    spent = time.process_time() - began
    plain = solve(compile(endgame(board, 100, stack, RANGES, bets)), iterations=ITERATIONS[name])
    return {
        "nodes": tree.num_nodes,
        "CPU seconds of the tables": round(tables, 2),
        "CPU seconds of the matrices": round(matrices, 2),
        "MiB of the matrices": round(size / 2**20, 1),
        "MiB of the process at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10,
        "iterations": solved.iterations,
        "CPU seconds of an iteration": round(spent / solved.iterations, 4),
        "exploitability, % of the pot": round(solved.exploitability.mean, 3),
        "EV of OOP": round(50 + solved.value, 3),
        "EV of OOP without folded players": round(50 + plain.value, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", help="measure the cases of this spot alone")
    chosen = parser.parse_args()
    file = "bunching.json" if chosen.only is None else f"bunching-{chosen.only}.json"
    only = "" if chosen.only is None else f" --only {chosen.only}"
    cases = CASES if chosen.only is None else [c for c in CASES + LONG if c[0] == chosen.only]
    report: dict[str, Any] = {
        "command": "PYTHONPATH=src python3 benchmarks/bunching.py --out docs/results" + only,
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"platform": platform.platform(), "cores": len(os.sched_getaffinity(0))},
        "load": os.getloadavg()[0],
        "seed": "none, nothing is drawn",
        "pot": 100,
        "ranges": RANGES,
        "folded": FOLDED,
        "spots": {name: SPOTS[name] for name in dict(cases)},
        "cases": {},
    }
    for name, players in cases:
        with one_blas_thread():
            result = measured(name, players)
        report["cases"][f"{name}, {players} folded"] = result
        print(name, players, json.dumps(result), flush=True)
        (chosen.out / file).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
