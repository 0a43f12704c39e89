"""CPU seconds of compiling games by their arrays, by their states, and OpenSpiel's construction.

``python benchmarks/compile_arrays.py`` writes ``docs/results/compile-arrays.json`` and prints it.
"By states" is the walk that every game has, which was the only one before games could say their
rules in arrays. OpenSpiel's construction is that of ``pyspiel.CFRSolver``, which walks the whole
game in C++ and makes a table of its infosets; games that OpenSpiel lacks have none. The three take
turns, and the fastest run counts. The last game is compiled once, by arrays, in a process of its
own, whose peak memory is said.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyspiel

import subgame as sg
from compile_times import seconds
from subgame.games.base import Game
from subgame.interop.openspiel import EQUIVALENT, load
from subgame.papers.report import provenance
from subgame.tree.public_tree import PublicTree

RESULT = Path(__file__).parent.parent / "docs" / "results" / "compile-arrays.json"
NAMES = [
    "leduc",
    "goofspiel(cards=4, order=random)",
    "no-limit-leduc(stack=9, bets=all)",
    "liars-dice",
    "rhode-island(ranks=3, suits=2)",
]
LARGEST = "rhode-island(ranks=3, suits=4)"


def by_states(name: str) -> Game:
    game = sg.games.load(name)
    game.arrays = lambda: None  # type: ignore[method-assign]
    return game


def sizes(tree: PublicTree) -> dict[str, int]:
    assert tree.histories is not None
    return {"histories": len(tree.histories), "infosets": tree.num_infosets, "bytes": tree.nbytes}


def measured(name: str) -> dict[str, Any]:
    game = sg.games.load(name)
    row: dict[str, Any] = {"game": name, **sizes(sg.compile(game))}
    runs: dict[str, Callable[[], object]] = {
        "by arrays": lambda: sg.compile(sg.games.load(name)),
        "by states": lambda: sg.compile(by_states(name)),
    }
    if game.name in EQUIVALENT:
        peer = load(EQUIVALENT[game.name](game.parameters)).pyspiel_game
        runs["OpenSpiel"] = partial(pyspiel.CFRSolver, peer)
    for _ in range(2 if row["histories"] > 100_000 else 5):
        for what, run in runs.items():
            row[what] = min(row.get(what, math.inf), seconds(run))
    return row


def largest() -> dict[str, Any]:
    """The largest game, in this process."""
    began = time.process_time()
    tree = sg.compile(sg.games.load(LARGEST))
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"game": LARGEST, **sizes(tree), "by arrays": spent, "peak bytes": peak}


def main() -> None:
    if sys.argv[1:] == ["largest"]:
        print(json.dumps(largest()))
        return
    rows = [measured(name) for name in NAMES]
    command = [sys.executable, __file__, "largest"]
    rows.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    result = {
        **provenance("python benchmarks/compile_arrays.py", ("numpy", "open-spiel")),
        "rows": rows,
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
