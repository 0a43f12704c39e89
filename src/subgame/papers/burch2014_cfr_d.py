"""Burch et al. 2014, Sec. 4: how good CFR-D gets on Leduc, and how much memory it takes.

The paper's Fig. 4 runs plain CFR throughout; here trunk and subgames are solved by the schedules
that take CFR-D furthest.

Notes:

* The schedules are ours: discounted CFR with a steep average in the trunk, predictive CFR+ in the
  subgames, each subgame from nothing on every trunk iteration; the strategy that is evaluated is
  re-solved from the trunk and the average root values by the re-solving gadget.
* Memory is what Python's allocator held at the peak, rules and names included, when every subgame
  is compiled anew and dropped again; the whole game is compiled and solved at once.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import subgame as sg
from subgame.engines.factory import engine
from subgame.papers.burch2014 import AT
from subgame.papers.report import Found, Progress, panel, row, series
from subgame.refine.compact import Compact
from subgame.refine.sequence.decompose import roots_below, trunk_of
from subgame.refine.sequence.subgames import cut_at_histories
from subgame.refine.subgame import At

TRUNK, SUBGAME = "dcfr(gamma=5)", "pcfr+"
ITERATIONS, INNER, RESOLVE = 24_000, 400, 3_000
TARGET = 1e-3


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Solve Leduc by CFR-D, with exploitability on the way; quick: 200 trunk iterations."""
    began = time.perf_counter()
    iterations, inner, resolve = (200, 50, 500) if quick else (ITERATIONS, INNER, RESOLVE)
    game = sg.games.load("leduc")
    tree = sg.compile(game)
    marks = {iterations >> k for k in range(1 if quick else 7)}
    gaps: dict[int, float] = {}

    def watch(t: int, so_far: Callable[[], Compact]) -> None:
        if t in marks:
            whole = so_far().whole(tree, schedule="cfr+", iterations=resolve)
            gaps[t] = float(sg.exploitability(tree, whole))
        if t % 50 == 0:
            tell(f"{t:,} trunk iterations", 0.95 * t / iterations)

    sg.cfr_d(
        game,
        at=AT,
        iterations=iterations,
        subgame_iterations=inner,
        schedule=TRUNK,
        subgame_schedule=SUBGAME,
        watch=watch,
    )
    solved = time.perf_counter() - began
    tell("Measuring the memory", 0.95)
    peaks = memory(quick)
    last = gaps[iterations]
    rows = [row("exploitability", None, last, f"{iterations:,} x {inner:,} iterations")]
    rows += [] if quick else [row(f"below {TARGET:g} chips", "yes", last < TARGET)]
    for name, held in peaks.items():
        own, trunk, subgame, whole = (held[k] / 1e6 for k in ("cfr-d", "trunk", "subgame", "whole"))
        note = f"trunk {trunk:.2g}, largest subgame {subgame:.2g}, whole game {whole:.2g}"
        rows.append(row(f"{name}: peak memory, MB", "trunk and one subgame", own, note))
    shown = panel(
        "CFR-D on Leduc",
        "trunk iterations",
        "exploitability (chips per hand)",
        [series("CFR-D, re-solved", gaps)],
        scale="log",
        lines=[{"label": "0.001", "y": TARGET}],
    )
    return Found(
        rows=rows,
        data={
            "panels": [shown],
            "exploitability": {str(t): gap for t, gap in gaps.items()},
            "peak_bytes": peaks,
            "seconds_of_cfr_d": solved,
        },
        settings={
            "trunk schedule": TRUNK,
            "subgame schedule": SUBGAME,
            "iterations": iterations,
            "subgame iterations": inner,
            "re-solving iterations": resolve,
        },
    )


def _third_bid(state: sg.State) -> bool:
    return (state.public_state() or "").count(" ") == 3


def memory(quick: bool) -> dict[str, dict[str, int]]:
    """Peak bytes of one iteration of CFR-D, of its trunk, of its largest subgame, and of it all.

    Quick: of Leduc alone.
    """
    result = {"leduc": _peaks(sg.games.load("leduc"), AT)}
    if not quick:
        dice = sg.games.load("liars-dice", dice=1, faces=5)
        result["liars-dice(faces=5), three bids in"] = _peaks(dice, _third_bid)
    return result


def _peaks(game: sg.Game, at: At) -> dict[str, int]:
    trunk = trunk_of(game, at)
    return {
        "cfr-d": _peak(
            lambda: sg.cfr_d(game, at=at, iterations=1, subgame_iterations=1, keep_subgames=False)
        ),
        "trunk": _peak(lambda: engine(trunk_of(game, at)).regrets(0)),
        "subgame": max(
            _peak(partial(cut_at_histories, trunk, top, "one")) for _, top in roots_below(trunk)
        ),
        "whole": _peak(lambda: sg.solve(sg.compile(game), iterations=1)),
    }


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
