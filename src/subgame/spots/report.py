"""Reports over many flops: each is solved, and becomes one row of frequencies, EV and equity.

A report goes on where it stopped: every row is written to a log at once. The flops can be solved by
any executor of `concurrent.futures`. A report can be one HTML file: a sortable table and plots,
with nothing to load from elsewhere.

    >>> import subgame as sg
    >>> def game(flop):
    ...     return sg.holdem.endgame(flop, 20, 10, ("AA,KQs", "QQ,JTs"), "a / cap 1")
    >>> report = flop_report([Flop("AhKd2c", 4), Flop("8h8d7h", 1)], game, target=20)
    >>> report.column("flop"), [round(row["oop check"] + row["oop all-in 10"], 3) for row in report]
    (['AhKd2c', '8h8d7h'], [1.0, 1.0])
    >>> round(weighted_mean(report)["equity_oop"], 3)
    0.876
"""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from subgame.games.holdem.game import Holdem
from subgame.solve.schedule import parse
from subgame.solve.solver import Run, begin, drive
from subgame.solve.workers import done_in_turn
from subgame.spots.endgame import Endgame, memory_needed
from subgame.spots.flops import Flop, texture
from subgame.spots.runouts import decision_row
from subgame.spots.tables import Table
from subgame.tree.compile import compile
from subgame.tree.files import replacing
from subgame.tree.log import Kind, Log, read, read_whole
from subgame.tree.ranges.tree import Merge, RangeTree, range_tree


def page(table: Table, mean: dict[str, Any], title: str, subtitle: str = "") -> str:
    """The text of the file; the first column of the table has the cards.

    >>> text = page(Table([{"flop": "AhKd2c", "ev": 1.5}]), {"ev": 1.5}, "A & B")
    >>> "<title>A &amp; B</title>" in text, '"ev": 1.5' in text
    (True, True)
    """
    made = (files("subgame") / "data" / "report.html").read_text(encoding="utf-8")
    data = {
        "DATA": table.to_json(),
        "MEAN": Table([mean]).to_json()[1:-1],
        "COLUMNS": json.dumps(table.columns),
    }
    for name, text in data.items():
        made = made.replace(f"= {name}", "= " + text.replace("</", "<\\/"), 1)
    return made.replace("SUBTITLE", html.escape(subtitle)).replace("TITLE", html.escape(title))


def save_page(path: str | Path, *parts: Any) -> None:
    """Write `page` to a file."""
    with replacing(path) as new:
        new.write_text(page(*parts), encoding="utf-8")


SCHEDULE = "hs-dcfr"
LINES = ("", "c")
"""The decisions of a row: the first of each player."""
USUAL = 145
"""Iterations to 0.5 % of the pot, as in docs/results/report-gpu.json (147 in the mean); five times
the accuracy takes about four times as many."""
Progress = Callable[[int, int, dict[str, Any]], None]


class Task(NamedTuple):
    """A flop to solve; it can be sent to another process."""

    flop: Flop
    game: Holdem
    target: float  # per cent of the pot
    threads: int | None
    lines: tuple[str, ...]
    device: str | None = None


def flop_row(task: Task, tree: RangeTree | None = None) -> dict[str, object]:
    """Solve a flop, whose `tree` may be compiled already; its row."""
    began, pot = time.perf_counter(), float(task.game.start().pot)
    tree = tree or _tree(task.game, task.device)
    target, where = task.target * pot / 100, (task.threads, task.device)
    run, limits = begin(tree, SCHEDULE, target=target, threads=where[0], device=where[1])
    stopped = drive(run, limits)
    if stopped == "interrupted":
        raise KeyboardInterrupt  # a flop that was not solved is no row
    if stopped == "stalled" and run.best is not None:  # the last average need not be the best
        solved, left = Endgame.of(run.best, *where), run.evaluate(run.best.probs).mean
    else:
        run.release()
        solved = Endgame.of_run(run, 1 if task.lines == LINES else None, *where)
        left = run.curve[-1].exploitability
    row: dict[str, Any] = {
        "flop": task.flop.name,
        "weight": task.flop.weight,
        **texture(task.game.board, task.game.deck),
        **{f"ev_{seat}": ev for seat, ev in zip(("oop", "ip"), solved.ev, strict=True)},
        **{f"equity_{seat}": e for seat, e in zip(("oop", "ip"), solved.equity, strict=True)},
    }
    for line in task.lines:
        here = solved.decision(line)
        seat = ("oop", "ip")[here.player]
        after = "" if line in LINES else f"after {here.words}: "
        row |= decision_row(here, f"{after}{seat} ", values=False)
    return row | {
        "exploitability_percent": 100 * max(left, 0) / pot,
        "iterations": run.iteration,
        "seconds": time.perf_counter() - began,
    }


def _tree(game: Holdem, device: str | None) -> RangeTree:
    """A spot compiled; only the CPU merges hands."""
    merge: Merge = True if device in (None, "cpu") else "boards"
    return range_tree(compile(game, memory_limit=None, merge=merge))


def flop_report(
    flops: Sequence[Flop],
    game: Callable[[str], Holdem],
    *,
    target: float = 0.5,
    threads: int | None = None,
    device: str | None = None,
    lines: Sequence[str] = LINES,
    log: str | Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Table:
    """Solve every flop to `target` per cent of the pot; one row each, in the order of the flops.

    `game` makes the spot of a flop, as `sg.holdem.endgame` does. With `log` each row is appended to
    that file, and a later call with the same spots takes them from there. `executor` solves several
    flops at once (`concurrent.futures.ProcessPoolExecutor`, or Dask's); give `threads` then, so
    that they do not take each other's cores. `progress` is told how many flops of how many are
    done, and the row. `device` is as in `subgame.solve`.
    """
    head = head_of(flops, game, target, lines)
    with nullcontext() if log is None else Log(log, REPORT, head, sync=True) as kept:
        rows = {} if kept is None else {row["flop"]: row for row in kept.records}
        missing = [flop for flop in flops if flop.name not in rows]
        tasks = (
            Task(flop, game(flop.name), target, threads, tuple(lines), device) for flop in missing
        )
        for row in _solved(tasks, executor):
            rows[row["flop"]] = row
            if kept is not None:
                kept.append([row])
            if progress is not None:
                progress(len(rows), len(flops), row)
    return Table(rows[flop.name] | {"weight": flop.weight} for flop in flops)


def _solved(tasks: Iterable[Task], executor: Executor | None) -> Iterable[dict[str, object]]:
    """The rows as they are done."""
    if executor is None:
        yield from _in_turn(iter(tasks))
        return
    yield from (row for _, row in done_in_turn(flop_row, tasks, executor))


def _in_turn(tasks: Iterator[Task]) -> Iterable[dict[str, object]]:
    """The rows one by one. While a device solves a flop, the tree of the next is compiled."""

    def compiled() -> tuple[Task, RangeTree | None] | None:
        task = next(tasks, None)
        if task is None:
            return None
        return task, None if task.device in (None, "cpu") else _tree(task.game, task.device)

    with ThreadPoolExecutor(1) as host:
        ready = compiled()
        while ready is not None:
            ahead = host.submit(compiled)
            yield flop_row(*ready)
            ready = ahead.result()


REPORT = Kind(
    "report",
    "subgame report",
    fields=("flop",),
    once=("flop",),
    goes_on="The report goes on; rows that the log lacks are lost if it is stopped.",
)
"""Logs of reports: the first line says of what, each other one is a row."""


def head_of(
    flops: Sequence[Flop], game: Callable[[str], Holdem], target: float, lines: Sequence[str]
) -> dict[str, object]:
    """What the first line of a report's log says."""
    first = flops[0].name
    return {"first": first, "game": str(game(first)), "target": target, "lines": list(lines)}


def logged(path: str | Path) -> Table:
    """The rows that a log has so far, in the order in which they were solved."""
    begun = Path(path).stat().st_size > 0
    return Table(read_whole(path, REPORT)[1] if begun else ())


class Quote(NamedTuple):
    """What a report needs."""

    memory: int  # bytes for the largest flop
    seconds: float  # for all flops, one after another


def check_log(
    log: str | Path | None,
    flops: Sequence[Flop],
    game: Callable[[str], Holdem],
    target: float,
    lines: Sequence[str] = LINES,
) -> int:
    """How many flops a log has already; an error if it is the log of another report."""
    if log is None:
        return 0
    rows = read(Path(log), REPORT, head_of(flops, game, target, lines))[1]
    done = {row["flop"] for row in rows}
    return sum(flop.name in done for flop in flops)


def quote(
    flops: Sequence[Flop],
    game: Callable[[str], Holdem],
    target: float,
    device: str | None = None,
    threads: int | None = None,
) -> Quote:
    """An estimate from three iterations on the first flop.

    Flops with the same suits and pairs are taken to be alike. One of each kind is compiled: its
    time is to that of the first flop as its memory is.
    """
    began = time.perf_counter()
    tree = _tree(game(flops[0].name), device)
    run = Run(tree, parse(SCHEDULE), threads=threads, device=device)
    run.advance(1)
    run.measure()
    built = time.perf_counter() - began
    before = time.perf_counter()
    run.advance(2)
    one = built + usual_iterations(target) * (time.perf_counter() - before) / 2
    sizes = memory_by_kind(flops, game, device)
    total = sum(count * size for count, size in sizes)
    return Quote(max(size for _, size in sizes), one * total / memory_needed(tree, SCHEDULE))


def memory_by_kind(
    flops: Sequence[Flop], game: Callable[[str], Holdem], device: str | None = None
) -> list[tuple[int, int]]:
    """How many flops there are of each kind of suits and pairs, and the bytes that one needs."""
    kinds: dict[tuple[str, str], list[Holdem]] = {}
    for spot in (game(flop.name) for flop in flops):
        looks = texture(spot.board, spot.deck)
        kinds.setdefault((looks["suits"], looks["pairs"]), []).append(spot)
    return [(len(some), memory_needed(_tree(some[0], device), SCHEDULE)) for some in kinds.values()]


def usual_iterations(target: float) -> float:
    """About how many iterations a spot takes to so many per cent of the pot."""
    return float(USUAL * (0.5 / target) ** 0.8)


def weighted_mean(rows: Iterable[dict[str, Any]]) -> dict[str, float]:
    """The mean of every column of numbers, weighted by the flops' weights.

    >>> weighted_mean([{"weight": 3, "ev": 1.0}, {"weight": 1, "ev": 5.0}])
    {'ev': 2.0}
    """
    table = Table(rows)
    total = sum(table.column("weight"))
    skipped = ("weight", "seconds", "iterations")
    return {
        name: sum(row["weight"] * row.get(name, 0.0) for row in table) / total
        for name in table.columns
        if name not in skipped and all(isinstance(row.get(name, 0.0), int | float) for row in table)
    }
