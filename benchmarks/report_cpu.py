"""Reports over flops on CPU cores: a whole one, and some flops of 184 on two cores.

    PYTHONPATH=src python3 benchmarks/report_cpu.py --out docs/results

It writes ``report-cpu.json``. Two cores solve every 23rd of the 184 flops, one after another, with
the sizes that ``subgame report`` takes if none are given, until ``--seconds`` are over. The time of
all 184 is the mean over the flops with the same suits, times how many there are. With more
``--cores`` the others solve the whole report of 25 flops at the same time with fewer sizes, one
flop each, and write ``report-cpu.csv`` and ``report-cpu.html``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flop_report import IP, OOP
from presets import machine
from subgame.cli.report import BETS
from subgame.games.holdem.cards import DECK
from subgame.papers.report import commit
from subgame.spots.flops import flops, texture
from subgame.spots.report import logged

SMALL = "flop: 0.33x 0.75x / raise 3r / cap 2; turn, river: 0.75x / cap 1"
KEPT = ("flop", "suits", "pairs", "iterations", "exploitability_percent", "seconds")
EVERY = 23


def reported(log: Path, cores: list[int], seconds: float, more: list[str]) -> dict[str, Any]:
    """Run ``subgame report`` on some cores, for so many seconds at most; what its log then has."""
    command = [sys.executable, "-m", "subgame", "report", "--pot", "56", "--stack", "975"]
    command += ["--oop", OOP, "--ip", IP, "--target", "0.5%", "--log", str(log), *more]
    began, stopped = time.monotonic(), False
    running = subprocess.Popen(
        ["taskset", "-c", ",".join(map(str, cores)), *command],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        stopped = True
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    rows = logged(log) if log.exists() else []
    spent = [row["seconds"] for row in rows]
    return {
        "cores": len(cores),
        "arguments": [Path(part).name if part[0] == "/" else part for part in command[3:]],
        "seconds": round(time.monotonic() - began, 1),
        "stopped before its end": stopped,
        "flops": len(rows),
        "mean seconds of a flop": round(sum(spent) / len(spent), 2) if spent else None,
        "rows": [{key: row[key] for key in KEPT} for row in rows],
    }


def every_flop(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How long all 184 flops take, by the mean over those with the same suits."""
    suits = [texture(DECK.parse(flop.name))["suits"] for flop in flops("184")]
    spent = {kind: [row["seconds"] for row in rows if row["suits"] == kind] for kind in {*suits}}
    mean = {kind: sum(some) / len(some) for kind, some in spent.items() if some}
    known = len(mean) == len(spent)
    return {
        "flops of 184 by suits": {kind: suits.count(kind) for kind in sorted(spent)},
        "mean seconds of a flop by suits": {kind: round(mean[kind], 2) for kind in sorted(mean)},
        "hours for 184 flops on two cores": round(sum(mean[kind] for kind in suits) / 3600, 2)
        if known
        else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=380.0)
    parser.add_argument("--more", default="", help="other options of subgame report, to try this")
    chosen = parser.parse_args()
    out, cores, more = chosen.out, sorted(os.sched_getaffinity(0)), chosen.more.split()
    some, table = out / "report-cpu-flops.txt", out / "report-cpu.csv"
    some.write_text("".join(f"{flop.name}\n" for flop in flops("184")[::EVERY]))
    jobs = chosen.cores - 2
    whole = ["--flops", "25", "--bets", SMALL, "--jobs", str(jobs)]
    whole += ["--out", str(table), "--out", str(table.with_suffix(".html"))]
    result: dict[str, Any] = {
        "command": "PYTHONPATH=src python3 benchmarks/report_cpu.py "
        f"--cores {chosen.cores} --seconds {chosen.seconds:g} --out docs/results",
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine("cpu"),
        "load": os.getloadavg()[0],
        "seed": "none, nothing is drawn",
        "default sizes": BETS,
    }
    with ThreadPoolExecutor(2) as both:
        two = both.submit(
            reported,
            out / "report-cpu-two.jsonl",
            cores[:2],
            chosen.seconds,
            ["--flops", str(some), "--threads", "2", *more],
        )
        if jobs > 0:
            others = cores[2 : chosen.cores]
            log = out / "report-cpu-25.jsonl"
            every = both.submit(reported, log, others, chosen.seconds, [*whole, *more])
            result["report of 25 flops"] = every.result()
        result["two cores"] = two.result()
    result |= every_flop(result["two cores"]["rows"])
    (out / "report-cpu.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result)[:3000])


if __name__ == "__main__":
    main()
