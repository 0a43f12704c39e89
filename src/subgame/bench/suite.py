"""The suite: fixed tasks on which subgame techniques are compared, with exact exploitability.

A task is a game, a blueprint, a frontier and a number of iterations. Every technique gets the
same, by the same schedule, and is scored by what a best response wins before and after. Tasks never
change within a `VERSION`: `data/suite.json` has the hash of each tree and the exploitability of
each blueprint, and a run on anything else is refused. Blueprints are made anew by each run, from a
recipe that is the same on every machine.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import subgame as sg
from subgame.abstraction.blueprint import Blueprint
from subgame.bench.suite_tasks import TASKS, VERSION, Task, blueprint_of, bucketed, tree_of
from subgame.errors import SubgameError, did_you_mean
from subgame.papers.last_street import LastStreet
from subgame.refine.gadgets import Gadget, technique
from subgame.refine.verbs.depth import play_limited
from subgame.refine.verbs.refine import refine_in_turn
from subgame.solve.evaluate import best_response_strategy, expected_value
from subgame.solve.workers import result_in
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEDULE = "cfr+"
DIGITS, HOLDEM_DIGITS = 8, 3
"""Digits of a blueprint's exploitability that are the same on every machine."""
Score = dict[str, Any]


def measure(task: Task, gadget: Gadget) -> Score:
    """One technique on one task; {"refused": why} where it does not apply."""
    tree, began, worked = tree_of(task.game), time.perf_counter(), time.process_time()
    try:
        score = _scored(task)(task, tree, gadget)
    except SubgameError as error:
        return {"refused": str(error)}
    spent = time.process_time() - worked
    return score | {"cpu_seconds": spent, "seconds": time.perf_counter() - began}


def _scored(task: Task) -> Callable[[Task, PublicTree, Gadget], Score]:
    """What scores a task of this kind."""
    if task.buckets:
        return _last_street
    if task.limited:
        return _limited
    return _refined if task.at else _nested


def fingerprint(task: Task) -> dict[str, str]:
    """What `data/suite.json` should say of a task: its tree, what its blueprint loses."""
    if task.buckets:
        gap = _bucketed(task).exploitability().mean
    else:
        smaller = tree_of(task.smaller or task.game)
        gap = sg.exploitability(smaller, _blueprint(task), device=task.device).mean
    tree = tree_of(task.game)
    digits = HOLDEM_DIGITS if isinstance(tree, RangeTree) else DIGITS
    return {"tree": tree.digest, "blueprint": f"{gap:.{digits}g}"}


def _refined(task: Task, tree: PublicTree, gadget: Gadget) -> dict[str, Any]:
    blueprint = _blueprint(task)
    verb = refine_in_turn if task.in_turn else sg.refine
    result = verb(
        tree,
        blueprint,
        at=_subgames(task) if task.knowledge else task.at,
        technique=gadget,
        schedule=SCHEDULE,
        iterations=task.iterations,
        allow_worse=True,
    )
    wins = []
    for p in (0, 1):  # our seat; the opponent answers the blueprint best
        probs = list(result.strategy.probs)
        probs[1 - p] = best_response_strategy(tree, blueprint, 1 - p)
        value = expected_value(tree, sg.Strategy(tree, (probs[0], probs[1])))
        wins.append(value if p == 0 else -value)
    return {
        "before": result.before.mean,
        "after": result.after.mean,
        "margin": result.margin,
        "against_response": sum(wins) / 2,
    }


@lru_cache(maxsize=4)
def _blueprint(task: Task) -> sg.Strategy:
    return blueprint_of(tree_of(task.smaller or task.game), task.blueprint, task.device)


@lru_cache(maxsize=1)
def _bucketed(task: Task) -> Blueprint:
    _seat.cache_clear()  # which holds the last one on its device
    return bucketed(tree_of(task.game), task)


@lru_cache(maxsize=2)
def _seat(task: Task, p: int) -> LastStreet:
    """The subgames of one player."""
    return LastStreet(_bucketed(task), p)


@cache
def _subgames(task: Task) -> list[sg.Subgame]:
    return sg.cut(tree_of(task.game), task.at, knowledge=task.knowledge)


def _nested(task: Task, tree: PublicTree, gadget: Gadget) -> Score:
    options: Score = {"schedule": SCHEDULE, "iterations": task.iterations, "device": task.device}
    result = sg.nest(tree, _blueprint(task), technique=gadget, **options)
    return {"before": _translated(task), "after": result.after.mean, "margin": None}


@cache
def _translated(task: Task) -> float:
    """What a best response wins from the blueprint whose opponent's bets are translated."""
    tree, device = tree_of(task.game), task.device
    played = sg.translate(tree, _blueprint(task), "pseudo-harmonic", device=device)
    return sg.exploitability(tree, played, device=device).mean


def _limited(task: Task, tree: PublicTree, gadget: Gadget) -> Score:
    """The blueprint, played by solving to a depth limit after each action of the opponent."""
    options: Score = {"schedule": SCHEDULE, "iterations": task.iterations}
    blueprint = _blueprint(task)
    played = [play_limited(tree, blueprint, player=p, technique=gadget, **options) for p in (0, 1)]
    after = sum(result.after.per_seat[p] for p, result in enumerate(played)) / 2
    return {"before": played[0].before.mean, "after": after, "margin": None}


def _last_street(task: Task, tree: PublicTree, gadget: Gadget) -> Score:
    """All subgames after the last deal of a blueprint in buckets."""
    seats = [_seat(task, p) for p in (0, 1)]
    solved = [seat.evaluate(seat.plain(gadget), SCHEDULE, task.iterations) for seat in seats]
    return {
        "before": _lost(task),
        "after": sum(outcome.won for outcome in solved) / 2,
        "margin": min(outcome.margin for outcome in solved),
    }


@cache
def _lost(task: Task) -> float:
    """What a best response wins from a blueprint in buckets."""
    return _bucketed(task).exploitability().mean


REFINED = 0.1
FORMS: dict[str, Callable[[], Gadget]] = {
    "unsafe": sg.Unsafe,
    "resolve": sg.Resolve,
    "resolve-refined": lambda: sg.Resolve(refined=REFINED),
    "maxmargin": sg.Maxmargin,
    "maxmargin-refined": lambda: sg.Maxmargin(refined=REFINED),
    **{
        name: (lambda name=name: technique(name))  # type: ignore[misc]
        for name in (
            "reach-resolve",
            "reach-maxmargin",
            "estimate-resolve",
            "estimate-maxmargin",
            "distributional",
            "reach-estimate-distributional",
            "combined",
            "adaptive",
        )
    },
}
"""The techniques of the suite by name; `Gadget.refined` is Kubicek, Lisy & Sandholm's."""


@cache
def fingerprints() -> dict[str, Any]:
    """Task -> the hash of its tree and what a best response wins from its blueprint."""
    text = files("subgame.data").joinpath("suite.json").read_text(encoding="utf-8")
    said: dict[str, Any] = json.loads(text)
    return said


def check(task: Task) -> None:
    """Refuse a task whose tree or blueprint is not that of this version."""
    want, have = fingerprints().get(task.name), fingerprint(task)
    if want is None or want["tree"] != have["tree"] or not _near(want, have):
        raise SubgameError(
            f"The task {task.name} is not that of version {VERSION} of the suite: {have} instead "
            f"of {want}. Its figures would not compare with others."
        )


def _near(want: Mapping[str, str], have: Mapping[str, str]) -> bool:
    digits = max(len(want["blueprint"].strip("-0.").replace(".", "")) - 1, 2)
    return math.isclose(
        float(want["blueprint"]), float(have["blueprint"]), rel_tol=10.0**-digits, abs_tol=1e-9
    )


# Techniques --------------------------------------------------------------------------------------


def form(name: str) -> tuple[str, Gadget]:
    """A technique by name, or one's own as ``module:Name``; the folder is searched first.

    The name is a `Gadget`, a subclass of it, or a function that makes one.
    """
    if name in FORMS:
        return name, FORMS[name]()
    module, colon, attribute = name.partition(":")
    if not colon:
        raise did_you_mean("technique", name, FORMS)
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        made = getattr(import_module(module), attribute)
        if isinstance(made, type) and issubclass(made, Gadget):
            made = made(attribute.lower())
        elif not isinstance(made, Gadget):
            made = made()
    except Exception as error:  # the code of a user may fail in any way
        raise SubgameError(f"The technique {name} cannot be made: {error}.") from error
    if not isinstance(made, Gadget):
        raise SubgameError(f"{name} is a {type(made).__name__}, not a Gadget.")
    return attribute, made


# Running -----------------------------------------------------------------------------------------


def made(task: Task, techniques: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of one task."""
    forms = map(form, techniques)
    check(task)
    measure(task, sg.Resolve())  # kernels are loaded and blueprints made now
    return [{"task": task.name, "technique": name} | measure(task, g) for name, g in forms]


def run(
    tasks: Sequence[Task],
    techniques: Sequence[str],
    progress: Callable[[str], None],
    done: Sequence[Mapping[str, Any]] = (),
    keep: Callable[[dict[str, Any]], None] = lambda result: None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Every technique on every task: a row each, and the summary.

    Rows that are `done` are not made again. `keep` is called with the result after each task. Tasks
    that cannot be run here are left out, and the result says why. An executor runs several tasks at
    the same time.
    """
    left_out = {task.name: why for task in tasks if (why := task.missing())}
    for name, why in left_out.items():
        progress(f"{name} is left out. {why}")
    tasks = [task for task in tasks if task.name not in left_out]
    words = {form(word)[0]: word for word in techniques}
    rows = {(row["task"], row["technique"]): row for row in done}
    todo = {t: [w for name, w in words.items() if (t.name, name) not in rows] for t in tasks}
    futures = {}
    if executor is not None:
        futures = {task: executor.submit(made, task, some) for task, some in todo.items() if some}
    result = dict[str, Any]()
    for k, (task, some) in enumerate(todo.items()):
        if some:
            progress(f"{task.name} ({k + 1} of {len(tasks)})")
            new = result_in(futures[task]) if futures else made(task, some)
            rows |= {(row["task"], row["technique"]): row for row in new}
        shown = [rows[t.name, name] for t in tasks[: k + 1] for name in words]
        result = {
            "version": VERSION,
            "schedule": SCHEDULE,
            "tasks": [asdict(task) for task in tasks[: k + 1]],
            "left_out": left_out,
            "rows": shown,
            "summary": summary(shown),
        }
        if some:
            keep(result)
    return result


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of results of this version; none if there is no such file."""
    if not path.exists():
        return []
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        rows: list[dict[str, Any]] = result["rows"] if result["version"] == VERSION else []
    except (ValueError, KeyError, TypeError) as error:
        raise SubgameError(f"{path} is no file of the suite's results: {error!r}.") from error
    return rows


def named(names: Sequence[str], *, gpu: bool = False) -> list[Task]:
    """The tasks of these names, or all for the CPU or for a GPU."""
    known = {task.name: task for task in TASKS}
    for name in names:
        if name not in known:
            raise did_you_mean("task", name, known)
    return [known[name] for name in names] or [task for task in TASKS if task.gpu == gpu]


# Summary -----------------------------------------------------------------------------------------


def ratio(row: Mapping[str, Any]) -> float:
    """What is left of the blueprint's exploitability, at least a millionth of it."""
    return max(float(row["after"]) / max(float(row["before"]), 1e-12), 1e-6)


def ranks(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """(technique, rank) in each task; equal to six digits is an equal rank."""
    from scipy.stats import rankdata

    by_task = defaultdict(list)
    for row in rows:
        if "after" in row:
            by_task[row["task"]].append(row)
    for scored in by_task.values():
        order = rankdata([float(f"{ratio(row):.6g}") for row in scored])
        yield from zip((row["technique"] for row in scored), order.tolist(), strict=True)


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One line per technique, the best mean rank first."""
    placed = defaultdict(list)
    for name, rank in ranks(rows):
        placed[name].append(rank)
    out = []
    for name, places in placed.items():
        scored = [row for row in rows if row["technique"] == name and "after" in row]
        shares = [ratio(row) for row in scored]
        out.append(
            {
                "technique": name,
                "mean_rank": float(np.mean(places)),
                "tasks": len(scored),
                "left": float(np.exp(np.mean(np.log(shares)))),
                "worst": max(shares),
                "raised": sum(share > 1 + 1e-6 for share in shares),
                **{key: sum(row[key] for row in scored) for key in ("cpu_seconds", "seconds")},
            }
        )
    return sorted(out, key=lambda line: (line["mean_rank"], line["technique"]))


def _clock(result: Mapping[str, Any]) -> tuple[str, str]:
    """Which seconds count, and what they are called: those of the CPU, or those that passed."""
    gpu = any(task["gpu"] for task in result["tasks"])
    return ("seconds", "seconds") if gpu else ("cpu_seconds", "CPU seconds")


def table(result: Mapping[str, Any]) -> Table:
    """The summary for the terminal."""
    out, (clock, called) = Table(box=None, pad_edge=False), _clock(result)
    heads = ("technique", "mean rank", "tasks", "left", "worst", "raised", called)
    for k, head in enumerate(heads):
        out.add_column(head, justify="right" if k else "left")
    for line in result["summary"]:
        left, worst = (f"{100 * line[key]:.1f} %" for key in ("left", "worst"))
        count, raised, seconds = line["tasks"], line["raised"], line[clock]
        cells = (f"{line['mean_rank']:.2f}", str(count), left, worst, str(raised), f"{seconds:.1f}")
        out.add_row(line["technique"], *cells)
    return out


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Exploitability left against CPU time: all tasks together, then each task.

    A line joins the techniques that no other one beats in both.
    """
    from matplotlib.figure import Figure

    tasks, columns = [task["name"] for task in result["tasks"]], 3
    clock, called = _clock(result)
    lines = math.ceil(len(tasks) / columns)
    figure = Figure(figsize=(9, 5.5 + 2 * lines), layout="constrained")
    grid = figure.add_gridspec(lines + 2, columns)
    top = figure.add_subplot(grid[:2, :])
    style: dict[str, dict[str, Any]] = {
        line["technique"]: {"color": f"C{k % 10}", "marker": "os^Dv"[k // 3 % 5]}
        for k, line in enumerate(result["summary"])
    }
    points = {
        line["technique"]: (line[clock] / line["tasks"], line["left"]) for line in result["summary"]
    }
    _scatter(top, points, style)
    for line in result["summary"]:
        name = line["technique"]
        top.scatter([], [], label=f"{name}: mean rank {line['mean_rank']:.1f}", **style[name])
    top.set(title="All tasks", xlabel=f"{called} a task", ylabel="left (geometric mean)")
    top.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
    for k, task in enumerate(tasks):
        ax = figure.add_subplot(grid[2 + k // columns, k % columns])
        points = {
            row["technique"]: (max(row[clock], 1e-4), ratio(row))
            for row in result["rows"]
            if row["task"] == task and "after" in row
        }
        _scatter(ax, points, style)
        ax.set_title(task, fontsize=8)
    figure.savefig(path)


def _scatter(ax: Axes, points: Mapping[str, tuple[float, float]], style: Mapping[str, Any]) -> None:
    """Techniques as points, on logarithmic axes, and the best of them joined."""
    from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

    for name, (x, y) in points.items():
        ax.scatter(x, y, s=20, **style[name])
    best, least = [], math.inf
    for x, y in sorted(points.values()):
        if y < least:
            best.append((x, y))
            least = y
    ax.plot(*zip(*best, strict=True), color="gray", linewidth=0.6)
    ax.axhline(1.0, color="gray", linewidth=0.6, linestyle=":")
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    ax.tick_params(labelsize=7)


def save(result: Mapping[str, Any], path: Path) -> None:
    """Write the results as JSON."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
