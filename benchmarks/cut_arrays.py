"""CPU seconds of cutting games that say their rules in arrays, here and at an earlier commit.

``python benchmarks/cut_arrays.py SOURCES`` writes ``docs/results/cut-arrays.json`` and prints it.
SOURCES is the folder ``src`` of a checkout of the earlier commit, 5383f3ff, in which a subgame is
always walked by its states. Both cut trees that are compiled already, in processes of their own
that take turns; the fastest of six runs counts.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import subgame as sg
from subgame.papers.report import provenance

HERE = Path(__file__).parent.parent
RESULT = HERE / "docs" / "results" / "cut-arrays.json"
CUTS = [
    ("leduc", "after the board card"),
    ("goofspiel(cards=4, order=random)", "after chance"),
    ("no-limit-leduc(stack=9, bets=all)", "after round 1"),
    ("liars-dice", "after the first bid"),
    ("rhode-island(ranks=3, suits=2)", "after chance"),
]


def measured() -> list[dict[str, Any]]:
    """The fastest of two runs of every cut, with the sources of this process."""
    out = []
    for name, at in CUTS:
        tree, least, parts = sg.compile(sg.games.load(name)), math.inf, list[Any]()
        for _ in range(2):
            began = time.process_time()
            parts = sg.cut(tree, at)
            least = min(least, time.process_time() - began)
        below = sum(len(part.tree.histories or ()) for part in parts)
        out.append({"game": name, "at": at, "subgames": len(parts), "below": below, "s": least})
    return out


def main() -> None:
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measured()))
        return
    sources = {"before": sys.argv[1], "after": str(HERE / "src")}
    rows: list[dict[str, Any]] = []
    for _ in range(3):
        for what, folder in sources.items():
            command, there = [sys.executable, __file__, "measure"], {"PYTHONPATH": folder}
            run = subprocess.run(command, env=os.environ | there, capture_output=True, check=True)
            for k, line in enumerate(json.loads(run.stdout)):
                if k == len(rows):
                    rows.append({key: line[key] for key in ("game", "at", "subgames", "below")})
                rows[k][what] = min(rows[k].get(what, math.inf), line["s"])
    result = {
        **provenance("python benchmarks/cut_arrays.py SOURCES", ("numpy",)),
        "before": "5383f3ff",
        "unit": "CPU seconds",
        "rows": rows,
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
