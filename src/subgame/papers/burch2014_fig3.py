"""Burch et al. 2014, Fig. 3: an equilibrium of Leduc forgotten below the first betting round, and
re-solved from the values that were kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import subgame as sg
from subgame.papers.burch2014 import AT, PAPER, Point, Resolving, doubling, series, slope
from subgame.papers.report import Report, panel, row
from subgame.papers.settings import Progress, command

KEY = "burch2014-fig3"
WHAT = "Leduc re-solved below its trunk: safe re-solving beside unsafe"
NOTES = (
    "The paper re-solves by CFR with public chance sampling, whose iteration deals one board card. "
    "Ours are full iterations over all six, of plain CFR for the paper's curve and of CFR+ for a "
    "faster one; so iterations are not the same work, and times are compared by what they reach.",
    "The paper's time is per subgame. Ours is per gadget game; safe re-solving needs one for each "
    "player, unsafe re-solving one for both. Both are CPU seconds of one core.",
    "Where unsafe re-solving levels off depends on which equilibrium was forgotten, and the paper "
    "does not say which one it was: the trunk's reaches are the opponent's range there.",
    "The curves of the figure are not given as numbers in the text, so only its statements are "
    "compared.",
)


def run(quick: bool = False, seed: int = 0, progress: Progress | None = None) -> Report:
    """Full: 6.4 million iterations of plain CFR; quick: 25,600."""
    began = time.perf_counter()
    tell = progress or (lambda what, share: None)
    tree = sg.compile(sg.games.load("leduc"))
    tell("Solving Leduc", 0.0)
    target = 1e-9 if quick else 1e-11
    solved = sg.solve(tree, "pdcfr+", target=target, iterations=1_000_000)
    kept = sg.compact(tree, solved.strategy, at=AT)
    last, last_plus = (25_600, 6_400) if quick else (6_400_000, 200_000)
    counts = doubling(100, 6_400) + [12_500 * 2**k for k in range(10) if 12_500 * 2**k <= last]
    counts = sorted({*counts, last})
    curves: dict[str, list[Point]] = {}
    games: dict[str, int] = {}
    plans = [
        (name, technique, schedule, doubling(100, last_plus) if schedule == "cfr+" else counts)
        for name, technique in (("safe", sg.Resolve()), ("unsafe", sg.Unsafe()))
        for schedule in ("cfr", "cfr+")
    ]
    total, done = sum(each[-1] for *_, each in plans), 0
    for name, technique, schedule, each in plans:
        solving = Resolving(kept, tree, technique, schedule)
        curves[f"{name} {schedule}"] = solving.curve(each, _told(tell, name, schedule, done, total))
        games[name] = len(solving.games)
        done += each[-1]
    levels = _levels(tree, quick, tell)
    pace = {
        name: points[-1].seconds / points[-1].iterations / games[name.split()[0]]
        for name, points in curves.items()
    }
    panels = [
        panel(
            "Fig. 3: exploitability after re-solving", "iterations of each re-solving game",
            "exploitability (chips per hand)",
            [series(label, points, "-" if label.endswith("cfr") else "--")
             for label, points in curves.items()],
            scale="log", lines=[{"label": "paper, unsafe: 0.080", "y": 0.08}],
        )
    ]  # fmt: skip
    return Report(
        key=KEY, paper=PAPER, what=WHAT,
        rows=_rows(solved, kept, curves, levels, pace, quick),
        data={
            "panels": panels,
            "curves": {name: [list(point) for point in points] for name, points in curves.items()},
            "columns": list(Point._fields),
            "seconds_per_iteration": pace,
            "unsafe_level_by_equilibrium": levels,
        },
        command=command(KEY, quick, seed), seed=seed,
        settings={
            "equilibrium": f"pdcfr+ to {target:g}", "frontier": AT,
            "iterations": {"cfr": last, "cfr+": last_plus}, "quick": quick,
        },
        notes=NOTES, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _told(tell: Progress, name: str, schedule: str, done: int, total: int) -> Callable[[int], None]:
    return lambda count: tell(f"{name} by {schedule}, {count:,} iterations", (done + count) / total)


def _levels(tree: sg.PublicTree, quick: bool, tell: Progress) -> dict[str, float]:
    """What unsafe re-solving leads to from other equilibria: each is found in another way."""
    ways = ("lp", "pdcfr+") if quick else ("lp", "cfr+", "dcfr", "pcfr+", "pdcfr+")
    count, out = (5_000 if quick else 100_000), {}
    for way in ways:
        tell(f"Unsafe re-solving of the equilibrium that {way} finds", 1.0)
        if way == "lp":
            strategy = sg.solve_lp(tree).strategy
        else:
            strategy = sg.solve(tree, way, target=1e-5 if quick else 1e-7, seconds=60).strategy
        solving = Resolving(sg.compact(tree, strategy, at=AT), tree, sg.Unsafe(), "cfr")
        out[way] = solving.curve([count])[-1].exploitability
    return out


def _reached(points: Sequence[Point], target: float) -> Point | None:
    """The first point of a curve at or below an exploitability."""
    return next((point for point in points if point.exploitability <= target), None)


def _rows(
    solved: sg.Result,
    kept: sg.Compact,
    curves: dict[str, list[Point]],
    levels: dict[str, float],
    pace: dict[str, float],
    quick: bool,
) -> list[dict[str, Any]]:
    safe, unsafe, plus = curves["safe cfr"], curves["unsafe cfr"], curves["safe cfr+"]
    last, whole = safe[-1], sum(array.nbytes for array in solved.strategy.probs)
    rows = [
        row("exploitability of the equilibrium", "< 2.5e-11", solved.exploitability.mean,
            f"{solved.schedule}, {solved.iterations:,} iterations, {solved.seconds:.1f} s"),
        row("infosets of Leduc", 936, solved.strategy.tree.num_infosets),
        row("subgames", 5, len(kept.values)),
        row("bytes kept", None, kept.nbytes, f"of {whole:,} of the whole strategy"),
        row("safe: exponent of the iterations", -0.5, slope(safe), "1 / sqrt(T) is -0.5"),
        row(f"safe, plain CFR, {last.iterations:,} iterations", "falls towards 0",
            last.exploitability),
        row(f"safe, CFR+, {plus[-1].iterations:,} iterations", None, plus[-1].exploitability),
        row(f"unsafe, plain CFR, {unsafe[-1].iterations:,} iterations", 0.080,
            unsafe[-1].exploitability, "levels off; depends on the equilibrium"),
        row("unsafe, from other equilibria", None, [min(levels.values()), max(levels.values())],
            "range over equilibria found by " + ", ".join(levels)),
        row("microseconds per iteration and gadget game", 4.0, pace["safe cfr"] * 1e6,
            "paper: 25 s for 6.4 million, one board card each; ours: all six"),
        row("seconds for 200,000 iterations", 0.8, pace["safe cfr"] * 2e5, "per gadget game"),
        row("seconds for 6.4 million iterations", 25.0, pace["safe cfr"] * 6.4e6,
            "per gadget game" + (", extrapolated" if quick else "")),
        row("milliseconds for 100 iterations", 1.0, pace["safe cfr"] * 1e5, "per gadget game"),
        row("safe slower than unsafe, per gadget game, %", 0.1,
            (pace["safe cfr"] / pace["unsafe cfr"] - 1) * 100, "safe needs one per player"),
    ]  # fmt: skip
    for count in (200_000, last.iterations):
        at = next((point for point in safe if point.iterations == count), None)
        sooner = at and _reached(plus, at.exploitability)
        if at is not None and sooner:
            rows.append(
                row(f"iterations of CFR+ for what CFR has at {count:,}", None, sooner.iterations,
                    f"exploitability {at.exploitability:.2g}; {sooner.seconds / 5:.2g} s per "
                    f"subgame, both players, against {at.seconds / 5:.2g} s")
            )  # fmt: skip
    return rows
