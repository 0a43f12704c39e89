"""Hands of the agent of hold'em while other processes keep cores busy: does its clock hold?

    python benchmarks/busy_agent.py [--hands 200] [--seconds 2] [--busy 1] [--seed 1] [--out FILE]

The agent plays against a caller. Each busy process stays on a core of its own among those that this
process may use; `taskset -c 0,1` gives it two of them. Of each decision its time is measured, by
the wall and of the processor, and whether it was uniform: all its actions as likely as each other,
with a hand that it holds. The exit code is 1 if a decision took more than 1.1 times its budget or
was uniform.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from subgame.play import Always, load, match
from subgame.play.hunl.agent import HoldemAgent

OVER = 1.1
"""How much longer than its budget a decision may take."""


def spin(k: int) -> None:
    """Keep the k-th core busy."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[k % len(cores)]})
    while True:
        pass


class Watched(HoldemAgent):
    """The agent, with its decisions' times and what they were."""

    seen: list[dict[str, object]]

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        began, worked = time.perf_counter(), time.process_time()
        action = super().act(infoset, legal)
        took, worked = time.perf_counter() - began, time.process_time() - worked
        shares = self.policy((infoset,), legal).probabilities[0]
        uniform = len(shares) > 1 and bool(np.ptp(shares) < 1e-6)
        self.seen.append({"infoset": infoset, "seconds": took, "cpu": worked, "uniform": uniform})
        return action


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hands", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--busy", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    agent = load("hunl", seconds=asked.seconds)
    agent.__class__ = Watched
    assert isinstance(agent, Watched)
    agent.seen = []
    others = [
        multiprocessing.Process(target=spin, args=(k,), daemon=True) for k in range(asked.busy)
    ]
    for other in others:
        other.start()
    match("hunl", [agent, Always("call")], hands=asked.hands, seed=asked.seed)
    for other in others:
        other.terminate()
    times = np.array([decision["seconds"] for decision in agent.seen], float)
    late = [
        decision
        for decision in agent.seen
        if float(str(decision["seconds"])) > OVER * asked.seconds
    ]
    uniform = [decision for decision in agent.seen if decision["uniform"]]
    head = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True)
    result = {
        "command": f"python benchmarks/busy_agent.py --hands {asked.hands} --seconds "
        f"{asked.seconds:g} --busy {asked.busy} --seed {asked.seed}",
        "commit": head.strip(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "date": datetime.now(UTC).date().isoformat(),
        "seed": asked.seed,
        "hands": asked.hands,
        "budget": asked.seconds,
        "decisions": len(times),
        "longest": float(times.max()),
        "mean": float(times.mean()),
        "share of decisions above the budget": float((times > asked.seconds).mean()),
        "most CPU seconds": max(float(str(decision["cpu"])) for decision in agent.seen),
        "unsolved": len(agent.decided.unsolved),
        "late": late,
        "uniform": uniform,
    }
    print(json.dumps(result, indent=1))
    if asked.out is not None:
        asked.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if late or uniform else 0


if __name__ == "__main__":
    sys.exit(main())
