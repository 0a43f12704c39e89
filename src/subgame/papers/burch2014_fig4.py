"""Burch et al. 2014, Fig. 4: Leduc solved by CFR-D, holding the trunk and one subgame at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import subgame as sg
from subgame.papers.burch2014 import AT, PAPER, Resolving, doubling
from subgame.papers.report import Report, panel, row
from subgame.papers.settings import Progress, command

KEY = "burch2014-fig4"
WHAT = "Leduc by CFR-D: trunk iterations beside subgame iterations"
TRUNK = (500, 2_000, 8_000, 32_000)
SUBGAME = tuple(doubling(100, 12_800))
RESOLVE = 200_000
BUDGET = 2_700.0
"""CPU seconds that a full run may take; the whole grid takes about twelve hours."""
NOTES = (
    "As in the paper, trunk, subgames and re-solving games are all solved by plain CFR, each "
    "subgame from nothing on every trunk iteration.",
    "All numbers of trunk iterations come from one run per number of subgame iterations. The whole "
    "grid takes about twelve hours on one core; done are the cells whose product of trunk and "
    "subgame iterations is at most the one in the settings, which follows from the budget. The "
    "cells left out are null in the JSON.",
    "The values of the figure are not given in the text, so its statements are compared: each "
    "line falls with better subgame solutions towards a plateau, that of the trunk's and the "
    "re-solving error, and more trunk iterations lower the plateau.",
)


def run(
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    budget: float = BUDGET,
) -> Report:
    """As many cells of the grid as fit into `budget` CPU seconds; quick: a small corner of it."""
    began = time.perf_counter()
    tell = progress or (lambda what, share: None)
    game = sg.games.load("leduc")
    tree = sg.compile(game)
    trunk, inner = (TRUNK, SUBGAME) if not quick else ((25, 100), (25, 50, 100, 200))
    resolve = 1_000 if quick else RESOLVE
    most = trunk[-1] * inner[-1]
    if not quick:
        tell("Measuring the pace", 0.0)
        most = _affordable(game, tree, budget)
    cells = {n: [t for t in trunk if t * n <= most] for n in inner}
    found: dict[tuple[int, int], float] = {}
    spent: dict[int, float] = {}
    total, done = sum(n * max(ts, default=0) for n, ts in cells.items()), 0
    for n, counts in cells.items():
        if not counts:
            continue
        share, part = done / total, n * counts[-1] / total

        def told(t: int, last: int, n: int = n, share: float = share, part: float = part) -> None:
            tell(f"{t:,} trunk and {n:,} subgame iterations", share + part * t / last)

        start = time.process_time()
        kept = _compacts(game, counts, n, told)
        spent[n] = time.process_time() - start
        for t, compact in kept.items():
            tell(f"Re-solving after {t:,} trunk and {n:,} subgame iterations", share + part)
            found[t, n] = _exploitability(compact, tree, resolve)
        done += n * counts[-1]
    lines = {
        t: {n: found.get((t, n)) for n in inner} for t in trunk if any(t == at for at, _ in found)
    }
    return Report(
        key=KEY, paper=PAPER, what=WHAT, rows=_rows(lines), data=_data(lines, spent),
        command=command(KEY, quick, seed, None if quick or budget == BUDGET else budget), seed=seed,
        settings={
            "trunk iterations": list(trunk), "subgame iterations": list(inner),
            "trunk x subgame iterations at most": most, "re-solving iterations": resolve,
            "schedule": "cfr", "cells": len(found), "of": len(trunk) * len(inner), "quick": quick,
            **({} if quick else {"budget in CPU seconds": budget}),
        },
        notes=NOTES, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _compacts(game: sg.Game, counts: Sequence[int], n: int, told: Any) -> dict[int, sg.Compact]:
    """CFR-D with `n` subgame iterations, as it stands after each of `counts` trunk iterations."""
    kept: dict[int, sg.Compact] = {}

    def watch(t: int, so_far: Any) -> None:
        if t in counts:
            kept[t] = so_far() if callable(so_far) else so_far

    sg.cfr_d(
        game, at=AT, iterations=counts[-1], subgame_iterations=n, schedule="cfr",
        subgame_schedule="cfr", progress=told, watch=watch,
    )  # fmt: skip
    return kept


def _exploitability(compact: sg.Compact, tree: sg.PublicTree, iterations: int) -> float:
    """Of the whole strategy, every subgame re-solved for both players."""
    solving = Resolving(compact, tree, sg.Resolve(), "cfr")
    return solving.curve([iterations])[-1].exploitability


def _affordable(game: sg.Game, tree: sg.PublicTree, budget: float) -> int:
    """The largest product of trunk and subgame iterations for which all cells fit the budget."""
    sg.cfr_d(game, at=AT, iterations=2, subgame_iterations=10)  # kernels are compiled here
    began = time.process_time()
    compact = sg.cfr_d(game, at=AT, iterations=20, subgame_iterations=400)
    unit = (time.process_time() - began) / (20 * 400)
    solving = Resolving(compact, tree, sg.Resolve(), "cfr")
    solving.advance(RESOLVE // 50)
    cell = solving.seconds * 50

    def cost(most: int) -> float:
        runs = [[t for t in TRUNK if t * n <= most] for n in SUBGAME]
        work = sum(n * ts[-1] for n, ts in zip(SUBGAME, runs, strict=True) if ts)
        return work * unit + cell * sum(len(ts) for ts in runs)

    products = sorted({t * n for t in TRUNK for n in SUBGAME})
    return max([products[0], *(most for most in products if cost(most) <= budget)])


def _rows(lines: dict[int, dict[int, float | None]]) -> list[dict[str, Any]]:
    rows = []
    for t, line in lines.items():
        known = {n: gap for n, gap in line.items() if gap is not None}
        first, last = min(known), max(known)
        rows.append(row(f"{t:,} trunk iterations, {first:,} to {last:,} subgame iterations",
                        "falls to a plateau", [known[first], known[last]],
                        f"{known[first] / known[last]:.2g} times lower"))  # fmt: skip
    shared = [n for n in next(iter(lines.values())) if all(line[n] is not None for line in
              lines.values())]  # fmt: skip
    ends = [[gap for gap in line.values() if gap is not None] for line in lines.values()]
    falls = all(line[-1] < line[0] for line in ends if len(line) > 1)
    rows.append(row("every line ends lower than it starts", "yes", falls))
    if shared:
        at = shared[-1]
        order = [line[at] for line in lines.values()]
        rows.append(row(f"at {at:,} subgame iterations, by trunk iterations", "falls", order))
    return rows


def _data(lines: dict[int, dict[int, float | None]], spent: dict[int, float]) -> dict[str, Any]:
    curves = []
    for t, line in lines.items():
        known = [(n, gap) for n, gap in line.items() if gap is not None]
        curves.append({"label": f"{t:,} trunk iterations", "x": [n for n, _ in known],
                       "y": [gap for _, gap in known]})  # fmt: skip
    shown = panel("Fig. 4: CFR-D", "subgame iterations per trunk iteration",
                  "exploitability (chips per hand)", curves, scale="log")  # fmt: skip
    return {
        "panels": [shown],
        "exploitability": {str(t): {str(n): gap for n, gap in line.items()}
                           for t, line in lines.items()},
        "cpu_seconds_of_cfr_d": {str(n): seconds for n, seconds in spent.items()},
    }  # fmt: skip
