"""A flop that PioSOLVER solved, on a GPU: time to 0.1 % of the pot, and of compilation before it.

    PYTHONPATH=src python3 benchmarks/published_flop.py --out docs/results

It writes ``published-flop.json``. Kernels are compiled, or read from Triton's cache, by a solve of
three iterations that is thrown away; the second solve is the one that counts.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import subgame as sg

OOP = (
    "88+,A8s+,A5s-A2s:0.5,AJo+,ATo:0.75,K9s+,KQo,KJo:0.75,KTo:0.25,Q9s+,QJo:0.5,J8s+,JTo:0.25,T8s+,"
    "T7s:0.45,97s+,96s:0.45,87s,86s:0.75,85s:0.45,75s+:0.75,74s:0.45,65s:0.75,64s:0.5,63s:0.45,"
    "54s:0.75,53s:0.5,52s:0.45,43s:0.5,42s:0.45,32s:0.45"
)
IP = (
    "AA:0.25,99-22,AJs-A2s,AQo-A8o,K2s+,K9o+,Q2s+,Q9o+,J6s+,J9o+,T6s+,T9o,96s+,95s:0.5,98o,86s+,"
    "85s:0.5,75s+,74s:0.5,64s+,63s:0.5,54s,53s:0.5,43s"
)
BETS = "flop: 52% / raise 45%; turn: 55% / raise 45%; river: 70% / raise 45%"
SPOTS = (((0.0, 0.0), (105.11, 74.89)), ((0.05, 30.0), (95.57, 66.98)))
"""Rake with its cap, and the EV that PioSOLVER found."""
TARGET = 0.18
"""0.1 % of the pot, in chips."""


def preset(rake: tuple[float, float] = (0.0, 0.0)) -> Any:
    """The flop of postflop-solver's `solve_pio_preset_normal` and `_raked`."""
    return sg.holdem.endgame("QsJh2h", 180, 910, (OOP, IP), BETS, rake=rake)


def measured(rake: tuple[float, float], want: tuple[float, float], device: str) -> dict[str, Any]:
    """EV, iterations and times of one spot."""
    from subgame.spots.endgame import Endgame

    begin = time.perf_counter()
    tree = sg.compile(preset(rake), merge="boards")
    built = time.perf_counter()
    sg.solve(tree, "hs-dcfr", iterations=3, target=TARGET, device=device)
    compiled = time.perf_counter()
    result = sg.solve(tree, "hs-dcfr", target=TARGET, device=device)
    solved = time.perf_counter()
    count = 100
    sg.solve(tree, "hs-dcfr", iterations=count, check_every=count, device=device)
    again = time.perf_counter()
    return {
        "rake": list(rake),
        "want": list(want),
        "ev": list(Endgame.of(result.strategy).ev),
        "gap": float(result.exploitability),
        "iterations": result.iterations,
        "seconds": solved - compiled,
        "seconds of the tree": built - begin,
        "seconds of tables, kernels and three iterations before": compiled - built,
        "ms per iteration, of 100 with one evaluation": (again - solved) / count * 1e3,
    }


def main() -> None:
    """Measure both spots and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default="docs/results", help="a folder")
    asked = parser.parse_args()
    import torch

    from agreement import commit

    name = torch.cuda.get_device_name() if asked.device == "cuda" else asked.device
    result = {
        "title": f"A flop that PioSOLVER solved, on {name}",
        "command": "PYTHONPATH=src python3 benchmarks/published_flop.py",
        "machine": {"device": name, "cpus": str(os.cpu_count())},
        "seed": 0,
        "commit": commit(),
        "results": [measured(rake, want, asked.device) for rake, want in SPOTS],
    }
    print(json.dumps(result, indent=1))
    (Path(asked.out) / "published-flop.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
