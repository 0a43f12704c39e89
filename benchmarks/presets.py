"""The presets of the page Solve, solved to 0.5 % of the pot: nodes, memory, time.

    PYTHONPATH=src python3 benchmarks/presets.py --out docs/results

It writes ``presets.json``, or with ``--device cuda`` ``presets-gpu.json``. Each preset is solved in
a process of its own, on the flop Qs Jh 2h. On the CPU it is solved as the page does it; a GPU
merges no hands, stores 32 bits, and compiles its kernels in three iterations that are thrown away.
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

import subgame
from subgame import compile, solve
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.spots import SpotForm
from subgame.papers.report import commit
from subgame.spots.endgame import memory_needed
from subgame.tree.ranges.tree import compile_range_tree, range_tree

FLOP = "QsJh2h"
SCHEDULE = "hs-dcfr"
KINDS = {"": "b", "donk ": "d", "raise ": "r"}


def presets() -> dict[str, dict[str, str]]:
    """The fields of each preset by its name."""
    static = Path(subgame.__file__).parent / "serve" / "static"
    rows = json.loads((static / "presets.json").read_text())
    return {row["id"]: row["value"] for row in rows}


def spot_of(value: dict[str, str]) -> Holdem:
    """The spot that the fields describe, as the page reads them."""
    streets = []
    for street in ("flop", "turn", "river"):
        kinds = {kind: value.get(f"{street}_{key}", "") for kind, key in KINDS.items()}
        said = [f"{word}{sizes}" for word, sizes in kinds.items() if sizes]
        streets.append(f"{street}: {' / '.join(said)}")
    options = f"cap {value['cap']}; all-in {float(value['allin']) / 100:.4f}"
    return SpotForm(
        FLOP,
        float(value["pot"]),
        (float(value["s0"]), float(value["s1"])),
        value["oop"],
        value["ip"],
        f"{'; '.join(streets)}; {options}",
        min_bet=float(value["min"]),
    ).game()


def measured(name: str) -> dict[str, Any]:
    """One preset, solved in this process."""
    value = presets()[name]
    spot, storage = spot_of(value), value.get("storage", "float32")
    pot = float(spot.start().pot)
    tree = compile_range_tree(spot, merge=True, number=2.5)
    began, spent = time.monotonic(), time.process_time()
    target = float(value["target"]) / 100
    solved = solve(tree, SCHEDULE, target=target * pot, storage=storage)
    return {
        "nodes": tree.num_nodes,
        "storage": storage,
        "memory needed, GiB": round(memory_needed(tree, SCHEDULE, storage) / 2**30, 2),
        "peak resident memory, GiB": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2
        ),
        "iterations": solved.iterations,
        "exploitability, % of the pot": round(
            100 * solved.exploitability.mean / float(spot.start().pot), 4
        ),
        "seconds": round(time.monotonic() - began, 1),
        "CPU seconds": round(time.process_time() - spent, 1),
    }


def on_device(name: str, device: str) -> dict[str, Any]:
    """One preset, solved on a GPU by this process."""
    value = presets()[name]
    spot, began = spot_of(value), time.monotonic()
    pot = float(spot.start().pot)
    tree = range_tree(compile(spot, merge="boards", memory_limit=None))
    built = time.monotonic()
    solve(tree, SCHEDULE, iterations=3, device=device)
    ready = time.monotonic()
    target = float(value["target"]) / 100
    solved = solve(tree, SCHEDULE, target=target * pot, device=device)
    return {
        "nodes": tree.num_nodes,
        "storage": "float32",
        "memory needed, GiB": round(memory_needed(tree, SCHEDULE) / 2**30, 2),
        "peak GPU memory, GiB": round(_peak(device) / 2**30, 2),
        "iterations": solved.iterations,
        "exploitability, % of the pot": round(
            100 * solved.exploitability.mean / float(spot.start().pot), 4
        ),
        "seconds": round(time.monotonic() - ready, 2),
        "seconds of the tree": round(built - began, 2),
        "seconds of kernels and three iterations before": round(ready - built, 2),
    }


def _peak(device: str) -> int:
    if device != "cuda":
        return 0
    import torch

    return int(torch.cuda.max_memory_allocated())


def machine(device: str) -> dict[str, Any]:
    """Where it is measured."""
    said: dict[str, Any] = {"platform": platform.platform(), "cores": len(os.sched_getaffinity(0))}
    if device == "cuda":
        import torch

        said["device"] = torch.cuda.get_device_name()
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", help="solve this preset and print its row")
    parser.add_argument("--device", default="cpu")
    chosen = parser.parse_args()
    cpu = chosen.device == "cpu"
    if chosen.only:
        row = measured(chosen.only) if cpu else on_device(chosen.only, chosen.device)
        print(json.dumps(row))
        return
    file = chosen.out / ("presets.json" if cpu else "presets-gpu.json")
    asked = "" if cpu else f" --device {chosen.device}"
    record: dict[str, Any] = {
        "command": f"PYTHONPATH=src python3 benchmarks/presets.py --out docs/results{asked}",
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(chosen.device),
        "load": os.getloadavg()[0],
        "seed": "none, nothing is drawn",
        "board": FLOP,
        "schedule": SCHEDULE,
        "presets": {},
    }
    for name in presets():
        one = [sys.executable, __file__, "--out", str(chosen.out), "--only", name]
        solved = subprocess.run(
            [*one, "--device", chosen.device], stdout=subprocess.PIPE, text=True, check=True
        )
        record["presets"][name] = json.loads(solved.stdout.splitlines()[-1])
        print(name, solved.stdout.strip(), flush=True)
        file.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
