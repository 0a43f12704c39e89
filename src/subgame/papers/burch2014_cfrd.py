"""Burch et al. 2014, Sec. 4: how good CFR-D gets on Leduc, and how much memory it takes.

The paper's Fig. 4 runs plain CFR throughout; here trunk and subgames are solved by the schedules
that take CFR-D furthest.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import subgame as sg
from subgame.papers.burch2014 import AT, PAPER
from subgame.papers.report import Report, panel, row
from subgame.papers.settings import Progress, command

KEY = "burch2014-cfr-d"
FINER = "after the board card"
WHAT = "Leduc by CFR-D to below 0.001 chips, and its memory"
TRUNK, SUBGAME = "dcfr(gamma=5)", "pcfr+"
ITERATIONS, INNER, RESOLVE = 24_000, 400, 3_000
TARGET = 1e-3
NOTES = (
    "The schedules are ours: discounted CFR with a steep average in the trunk, predictive CFR+ in "
    "the subgames, each subgame from nothing on every trunk iteration; the strategy that is judged "
    "is re-solved from the trunk and the average root values by the re-solving gadget.",
    "Memory is what Python's allocator held at the peak, rules and names included, when every "
    "subgame is compiled anew and dropped again; the whole game is compiled and solved at once.",
)


def run(quick: bool = False, seed: int = 0, progress: Progress | None = None) -> Report:
    """Solve Leduc by CFR-D and judge it on the way; quick: 400 trunk iterations."""
    began = time.perf_counter()
    tell = progress or (lambda what, share: None)
    iterations, inner = (400, 50) if quick else (ITERATIONS, INNER)
    game = sg.games.load("leduc")
    tree = sg.compile(game)
    marks = {iterations >> k for k in range(1 if quick else 7)}
    found: dict[int, float] = {}

    def watch(t: int, so_far: Callable[[], sg.Compact]) -> None:
        if t in marks:
            whole = so_far().whole(tree, schedule="cfr+", iterations=RESOLVE)
            found[t] = float(sg.exploitability(tree, whole))
        if t % 50 == 0:
            tell(f"{t:,} trunk iterations", 0.95 * t / iterations)

    sg.cfr_d(game, at=AT, iterations=iterations, subgame_iterations=inner, schedule=TRUNK,
             subgame_schedule=SUBGAME, watch=watch)  # fmt: skip
    solved = time.perf_counter() - began
    tell("Measuring the memory", 0.95)
    memory = _memory(game)
    last = found[iterations]
    rows = [
        row("exploitability", None, last, f"{iterations:,} x {inner:,} iterations"),
        *([] if quick else [row(f"below {TARGET:g} chips", "yes", last < TARGET)]),
        *(
            row(f"peak memory over the whole game's, subgames {at}", "trunk and one subgame",
                memory[at] / memory["whole"])
            for at in (AT, FINER)
        ),
    ]  # fmt: skip
    curve = {"label": "CFR-D, re-solved", "x": list(found), "y": list(found.values())}
    shown = panel("CFR-D on Leduc", "trunk iterations", "exploitability (chips per hand)", [curve],
                  scale="log", lines=[{"label": "0.001", "y": TARGET}])  # fmt: skip
    return Report(
        key=KEY, paper=PAPER, what=WHAT, rows=rows,
        data={"panels": [shown], "exploitability": {str(t): gap for t, gap in found.items()},
              "peak_bytes": memory, "seconds_of_cfr_d": solved},
        command=command(KEY, quick, seed), seed=seed,
        settings={"trunk schedule": TRUNK, "subgame schedule": SUBGAME, "iterations": iterations,
                  "subgame iterations": inner, "re-solving iterations": RESOLVE, "quick": quick},
        notes=NOTES, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _memory(game: sg.Game) -> dict[str, int]:
    """Peak bytes of one iteration by CFR-D, at either frontier of Leduc, and of the whole game."""

    def apart(at: str) -> Any:
        return sg.cfr_d(game, at=at, iterations=1, subgame_iterations=2, keep_subgames=False)

    return {
        AT: _peak(lambda: apart(AT)),
        FINER: _peak(lambda: apart(FINER)),
        "whole": _peak(lambda: sg.solve(sg.compile(game), iterations=1)),
    }


def _peak(work: Callable[[], Any]) -> int:
    work()  # kernels are loaded, caches filled
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
