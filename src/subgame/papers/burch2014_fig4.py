"""Burch et al. 2014, Fig. 4: Leduc solved by CFR-D, holding the trunk and one subgame at a time.

Notes:

* As in the paper, trunk, subgames and re-solving games are all solved by plain CFR, each subgame
  from nothing on every trunk iteration.
* The game is Leduc without suits (288 infosets instead of 936), which is equivalent: CFR treats the
  two cards of a rank alike from its first iteration on. Runs with and without suits differ only
  once two regrets tie but for rounding.
* All numbers of trunk iterations come from one run per number of subgame iterations, the runs in
  processes of their own. Done are the cells whose product of trunk and subgame iterations is at
  most the one in the settings, which follows from the budget. The cells left out are null in the
  JSON.
* The values of the figure are not given in the text, so its statements are compared: each line
  falls with better subgame solutions towards a plateau, that of the trunk's and the re-solving
  error, and more trunk iterations lower the plateau.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

import subgame as sg
from subgame.errors import NotSavedWarning, unreadable
from subgame.games.leduc import LeducRanks
from subgame.papers.burch2014 import AT, Resolving, doubling
from subgame.papers.report import Found, Progress, panel, row, series
from subgame.refine.compact import Compact
from subgame.refine.sequence.decompose import SequenceCompact
from subgame.solve.workers import stopping
from subgame.tree.log import Kind, Log

FIELDS = ("trunk", "subgame", "exploitability", "resolve", "cpu_seconds")
LOG_KIND = Kind("reproduction", "subgame reproduce --keep", fields=FIELDS)
GAME = LeducRanks()
TRUNK = (500, 2_000, 8_000, 32_000)
SUBGAME = tuple(doubling(100, 12_800))
RESOLVE = 200_000
BUDGET = 2_700.0
"""CPU seconds that a full run may take; the whole grid takes about three hours."""


def run(
    quick: bool,
    seed: int,
    tell: Progress,
    *,
    budget: float = BUDGET,
    keep: Path | None = None,
) -> Found:
    """As many cells of the grid as fit into `budget` CPU seconds; quick: a small corner of it.

    One process per core runs the lines. A line's cells are added to the file `keep` as soon as
    they are found; lines found there whole are not run again.
    """
    trunk, inner = (TRUNK, SUBGAME) if not quick else ((25, 100), (25, 50, 100, 200))
    resolve = 1_000 if quick else RESOLVE
    most = trunk[-1] * inner[-1]
    if not quick:
        tell("Measuring the pace", 0.0)
        most = _affordable(budget)
    cells = {n: counts for n in inner if (counts := [t for t in trunk if t * n <= most])}
    total = sum(n * counts[-1] for n, counts in cells.items())
    with nullcontext() if keep is None else Log(keep, LOG_KIND, None) as log:
        grid, spent = _kept(log, resolve)
        known = [n for n, counts in cells.items() if all((t, n) in grid for t in counts)]
        done = sum(n * cells[n][-1] for n in known)
        processes = ProcessPoolExecutor(mp_context=get_context("spawn"))  # the bar is a thread
        with stopping(processes) as pool:
            longest = sorted(set(cells) - set(known), key=lambda n: -n * cells[n][-1])
            jobs = {pool.submit(_line, n, cells[n], resolve, keep): n for n in longest}
            for job in as_completed(jobs):
                n, (gaps, spent[n]) = jobs[job], job.result()
                grid |= {(t, n): gap for t, gap in gaps.items()}
                done += n * cells[n][-1]
                tell(f"{n:,} subgame iterations are done", done / total)
    lines = {
        t: {n: grid.get((t, n)) for n in inner} for t in trunk if any(t == at for at, _ in grid)
    }
    spent = dict(sorted(spent.items()))
    return Found(
        rows=list(_rows(lines)),
        data=_data(lines, spent),
        settings={
            "trunk iterations": list(trunk),
            "subgame iterations": list(inner),
            "trunk x subgame iterations at most": most,
            "re-solving iterations": resolve,
            "schedule": "cfr",
            "cells": len(grid),
            "of": len(trunk) * len(inner),
            **({} if quick else {"budget in CPU seconds": budget}),
        },
    )


def _kept(log: Log | None, resolve: int) -> tuple[dict[tuple[int, int], float], dict[int, float]]:
    """Cells that earlier runs added to a file, and the CPU seconds of each line."""
    grid: dict[tuple[int, int], float] = {}
    spent: dict[int, float] = {}
    for cell in [] if log is None else log.records:
        try:
            if cell["resolve"] == resolve:
                n, seconds = int(cell["subgame"]), float(cell["cpu_seconds"])
                grid[int(cell["trunk"]), n] = float(cell["exploitability"])
                spent[n] = max(spent.get(n, 0.0), seconds)
        except (ValueError, TypeError):
            assert log is not None
            raise unreadable(log.path, "is damaged", log.kind.wanted) from None
    return grid, spent


def _line(
    n: int, counts: Sequence[int], resolve: int, keep: Path | None = None
) -> tuple[dict[int, float], float]:
    """Exploitability after each of `counts` trunk iterations with `n` subgame iterations each.

    One run of CFR-D, re-solved where it passes a count; and the CPU seconds it took.
    """
    tree, start = sg.compile(GAME), time.process_time()
    gaps: dict[int, float] = {}

    def watch(t: int, so_far: Callable[[], Compact]) -> None:
        if t not in counts:
            return
        solving = Resolving(so_far(), tree, sg.Resolve(), "cfr")  # every subgame, for both players
        gaps[t] = solving.curve([resolve])[-1].exploitability
        cell = {"trunk": t, "subgame": n, "exploitability": gaps[t], "resolve": resolve}
        if keep is not None:
            try:
                with keep.open("a") as file:  # one line at a time: processes share the file
                    cell["cpu_seconds"] = time.process_time() - start
                    file.write(json.dumps(cell) + "\n")
            except OSError as error:  # the cell is still in the result
                said = f"{keep} cannot be written: {error.strerror}."
                warnings.warn(said, NotSavedWarning, stacklevel=1)

    sg.cfr_d(GAME, at=AT, iterations=counts[-1], subgame_iterations=n, watch=watch)
    return gaps, time.process_time() - start


def _affordable(budget: float) -> int:
    """The largest product of trunk and subgame iterations for which all cells fit the budget."""
    tree = sg.compile(GAME)
    sg.cfr_d(GAME, at=AT, iterations=2, subgame_iterations=10)  # kernels are compiled here
    began = time.process_time()
    compact = sg.cfr_d(GAME, at=AT, iterations=20, subgame_iterations=400)
    assert isinstance(compact, SequenceCompact)
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


def _rows(lines: dict[int, dict[int, float | None]]) -> Iterator[dict[str, object]]:
    falls = True
    for t, line in lines.items():
        known = {n: gap for n, gap in line.items() if gap is not None}
        first, last = min(known), max(known)
        what = f"{t:,} trunk iterations, {first:,} to {last:,} subgame iterations"
        lower = f"{known[first] / known[last]:.2g} times lower"
        yield row(what, "falls to a plateau", [known[first], known[last]], lower)
        falls &= first == last or known[last] < known[first]
    counts = next(iter(lines.values()))
    shared = [n for n in counts if all(line[n] is not None for line in lines.values())]
    yield row("every line ends lower than it starts", "yes", falls)
    if shared:
        at = shared[-1]
        order = [line[at] for line in lines.values()]
        yield row(f"at {at:,} subgame iterations, by trunk iterations", "falls", order)


def _data(lines: dict[int, dict[int, float | None]], spent: dict[int, float]) -> dict[str, object]:
    curves = [
        series(f"{t:,} trunk iterations", {n: gap for n, gap in line.items() if gap is not None})
        for t, line in lines.items()
    ]
    x, y = "subgame iterations per trunk iteration", "exploitability (chips per hand)"
    shown = panel("Fig. 4: CFR-D", x, y, curves, scale="log")
    return {
        "panels": [shown],
        "exploitability": {
            str(t): {str(n): gap for n, gap in line.items()} for t, line in lines.items()
        },
        "cpu_seconds_of_cfr_d": {str(n): seconds for n, seconds in spent.items()},
    }
