"""Two checkouts of subgame solve rivers by their own stopping rules, taking turns, on one thread.

    python benchmarks/stopping_rule.py OLD NEW [SPOT ...] [--rounds N] [--out FILE]

OLD and NEW are folders of checkouts. Every turn is a process of its own, which imports the package
from one of them, compiles the tree and loads the kernels outside of the clock. A time is that of
``solve(tree, target=…)``: blank regrets, iterations, all checks, the final exploitability, the
value and the strategy. This is what `subgame bench holdem` calls a whole solve; `race_commits.py`
counts iterations only. Times are CPU times of the process, and minima over all solves and rounds.
Names of spots are those of `subgame bench holdem`; targets are per cent of the pot. Results
that are bit for bit the same (strategy, value, exploitability) have the same digest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from race_commits import SCHEDULE, TARGETS, commit, processor

SPOTS = ("river-45", "river-177", "river-srp", "river-3bet")
ENOUGH, FEWEST = 0.8, 8
"""CPU seconds of the solves of a spot to a target in one process, and their least number."""


def solved(spot: str) -> dict[str, Any]:
    """Solves in this process: CPU seconds, iterations and the points that were measured."""
    import subgame as sg
    from subgame.bench.holdem_spots import SPOTS as KNOWN

    arguments = KNOWN[spot]
    tree, answer = arguments.tree(), {}
    for target in TARGETS:
        how: dict[str, Any] = {
            "target": target * arguments.pot / 100,
            "threads": 1,
            "storage": arguments.storage,
        }
        result = sg.solve(tree, SCHEDULE, **how)  # kernels are loaded now
        best, spent, count = float("inf"), 0.0, 0
        while spent < ENOUGH or count < FEWEST:
            began = time.process_time()
            sg.solve(tree, SCHEDULE, **how)
            took = time.process_time() - began
            best, spent, count = min(best, took), spent + took, count + 1
        digest = blake2b(repr([result.exploitability, result.value]).encode(), digest_size=8)
        for probs in result.strategy.probs:
            digest.update(probs.tobytes())
        answer[str(target)] = {
            "cpu_seconds": best,
            "iterations": result.iterations,
            "checks": len(result.curve),
            "exploitability": float(result.exploitability) / arguments.pot * 100,
            "digest": digest.hexdigest(),
        }
    return answer


def asked(checkout: Path, spot: str) -> dict[str, Any]:
    """The times of a spot in another process, with the package of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, __file__, "--child", spot]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def race(checkouts: list[Path], spot: str, rounds: int) -> dict[str, Any]:
    """A spot on both checkouts, and how many times as fast the second one is."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for k in range(rounds):
        for side in (0, 1) if k % 2 == 0 else (1, 0):
            runs[side].append(asked(checkouts[side], spot))
    row: dict[str, Any] = {"spot": spot, "targets": {}}
    for target in map(str, TARGETS):
        old, new = (min((run[target] for run in side), key=_time) for side in runs)
        ratio = old["cpu_seconds"] / new["cpu_seconds"]
        row["targets"][target] = {"old": old, "new": new, "ratio": ratio}
    return row


def _time(run: dict[str, Any]) -> float:
    return float(run["cpu_seconds"])


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    parts = [f"{row['spot']:12}"]
    for target, sides in row["targets"].items():
        old, new = (
            f"{1e3 * side['cpu_seconds']:.3g} ms ({side['iterations']} it, {side['checks']} checks)"
            for side in (sides["old"], sides["new"])
        )
        parts.append(f"{target} %: {old} -> {new} ({sides['ratio']:.2f})")
    return "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("spots", nargs="*", default=SPOTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args()
    spots = " ".join(options.spots)
    about = {
        "command": f"python benchmarks/stopping_rule.py OLD NEW {spots} --rounds {options.rounds}",
        "commits": [commit(options.old), commit(options.new)],
        "machine": f"{os.uname().machine}, {processor()}, one thread",
        "date": datetime.now(UTC).date().isoformat(),
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
