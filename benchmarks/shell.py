"""A river from the shell, by two checkouts taking turns: seconds of the whole process.

    python benchmarks/shell.py OLD NEW [--rounds N] [--out FILE]

OLD and NEW are folders of checkouts. The first run of each, which writes bytecode and compiles
kernels, does not count. Figures are minima over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from race_commits import commit, processor

COMMAND = ("endgame", "--board", "Qs Jh 2h 8d 3c", "--pot", "100", "--stack", "1000")


def run(checkout: Path) -> dict[str, float]:
    """Seconds of one run."""
    keep = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = keep | {"PYTHONPATH": str(checkout.resolve() / "src")}
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "subgame", *COMMAND]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, os.times()
    user, system = (after[k] - before[k] for k in (2, 3))
    return {"wall": wall, "cpu": user + system, "user": user}


def main() -> None:
    """Run both and print their minima."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args()
    sides = {"before": options.old, "now": options.new}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for k in range(options.rounds + 1):
        for name, checkout in sides.items():
            seconds = run(checkout)
            if k:
                runs[name].append(seconds)
    result = {
        "title": "A river from the shell",
        "command": f"python benchmarks/shell.py OLD NEW --rounds {options.rounds}",
        "what": f"subgame {' '.join(COMMAND)}, bytecode and kernels in their caches, minima",
        "commit": commit(options.new),
        "before": commit(options.old),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "processor": f"{platform.machine()}, {processor()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
        },
        "load": round(os.getloadavg()[0], 1),
        "seed": 0,
        "seconds": {
            name: {clock: round(min(run[clock] for run in side), 3) for clock in side[0]}
            for name, side in runs.items()
        },
    }
    print(json.dumps(result["seconds"]))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
