"""A report over flops that is interrupted and goes on: rows, and seconds of a flop.

    PYTHONPATH=src python3 benchmarks/flop_report.py --device cuda --out docs/results

It writes ``report-resumed.json``. ``subgame report`` is given ``--seconds`` twice, with Ctrl-C
between: the second run goes on where the first one stopped, and need not end either.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from presets import machine
from subgame.spots.report import logged

OOP = "99-22,AJs-A2s,KTs+,QTs+,JTs,T9s,98s,AJo-ATo,KQo"
IP = "22+,A2s+,K9s+,QTs+,JTs,ATo+,KQo"
BETS = "0.33x 0.75x / raise 3r / cap 2"


def interrupted(command: list[str], seconds: float) -> dict[str, Any]:
    """Run a command, press Ctrl-C after some seconds, and say how it ended."""
    began = time.monotonic()
    running = subprocess.Popen(command)
    try:
        code = running.wait(seconds)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGINT)
        code = running.wait(60)
    return {"seconds": round(time.monotonic() - began, 1), "exit status": code}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--flops", default="184")
    parser.add_argument("--bets", default=BETS)
    chosen = parser.parse_args()
    log = chosen.out / "report-resumed.jsonl"
    spot = ["--pot", "56", "--stack", "975", "--oop", OOP, "--ip", IP, "--bets", chosen.bets]
    asked = ["report", "--flops", chosen.flops, *spot, "--target", "0.5%"]
    asked += ["--device", chosen.device, "--log", str(log)]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    record: dict[str, Any] = {
        "command": "PYTHONPATH=src python3 benchmarks/flop_report.py --device cuda "
        f"--seconds {chosen.seconds:g} --flops {chosen.flops} --out docs/results",
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(chosen.device),
        "seed": "none, nothing is drawn",
        "arguments": asked[:-2],
        "runs": [],
    }
    for _ in range(2):
        run = interrupted([sys.executable, "-m", "subgame", *asked], chosen.seconds)
        rows = logged(log) if log.exists() else []
        seconds = sorted(row["seconds"] for row in rows)
        record["runs"].append(run | {"flops in the log": len(rows)})
        record["median seconds of a flop"] = round(seconds[len(seconds) // 2], 3) if rows else None
        record["rows"] = [
            {key: row[key] for key in ("flop", "iterations", "exploitability_percent", "seconds")}
            for row in rows
        ]
        (chosen.out / "report-resumed.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
