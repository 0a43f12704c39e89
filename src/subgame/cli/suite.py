"""``subgame suite``: compare subgame techniques on fixed tasks."""

from __future__ import annotations

import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subgame.cli.arguments import JsonOption, grouped, opt
from subgame.cli.common import (
    announce,
    bounded,
    check_apart,
    check_least,
    check_picture,
    check_writable,
    emit,
    finish,
    save_files,
    stdout,
)

PROCESS = 1e9
"""Bytes of the process of a task, about."""


@grouped
def suite_command(
    technique: list[str] = opt(
        [],
        "NAME",
        "Run this technique. Your own is module:Name, a Gadget, a subclass of it or a function "
        "that makes one. Repeatable.",
        "all",
    ),
    task: list[str] = opt([], "NAME", "Run this task. Repeatable.", "all"),
    add: bool = opt(False, None, "Compare the techniques that are named with all others."),
    gpu: bool = opt(False, None, "Run the tasks for a GPU instead of those for the CPU."),
    tasks: bool = opt(False, None, "List the tasks and do nothing else."),
    out: Path | None = opt(None, "FILE", "Write the results as JSON, task by task."),
    resume: bool = opt(
        False, None, "Keep the results of this version in the file of --out, and run the rest."
    ),
    plot: Path | None = opt(None, "FILE", "Draw exploitability against time as .png or .svg."),
    jobs: int = opt(1, "N", "Number of tasks at the same time; 0 for one per core."),
    json: JsonOption = False,
) -> None:
    """Compare subgame techniques on fixed tasks.

    A task is a game, a blueprint, a frontier and a number of iterations. Every technique solves
    the same subgames by the same schedule. The score is what a best response wins from the
    result, computed exactly, as a share of what it wins from the blueprint.

    [bold]Examples[/]

    subgame suite --task leduc-10 --task kuhn-10

    subgame suite --technique resolve --technique maxmargin --out suite.json

    subgame suite --technique my_module:MyGadget --add --task leduc-10

    subgame suite --plot suite.png --jobs 2 --json

    subgame suite --gpu --out suite-gpu.json
    """
    check_writable("--out", out)
    check_writable("--plot", plot)
    check_picture("--plot", plot)
    check_apart(("--out", out), ("--plot", plot))
    check_least("jobs", jobs, 0)

    from subgame.bench import suite, suite_tasks
    from subgame.papers.report import commit, machine

    chosen = suite.named(task, gpu=gpu)
    if tasks:
        emit({"version": suite_tasks.VERSION, "tasks": [vars(task) for task in chosen]})
        return
    names = [*(suite.FORMS if add or not technique else ()), *technique]
    made = {
        "command": shlex.join(["subgame", *_without_files(sys.argv[1:])]),
        "commit": commit(),
        "date": datetime.now(UTC).isoformat("T", "seconds"),
        "machine": machine(),
    }

    def keep(scores: dict[str, Any]) -> None:
        if out is not None:
            suite.save(made | scores, out)

    done = suite.rows_of(out) if resume and out is not None else []
    many = bounded("--jobs", jobs, PROCESS) if jobs != 1 else 1
    with ProcessPoolExecutor(many) if many > 1 else nullcontext() as executor:
        scores = suite.run(chosen, list(dict.fromkeys(names)), announce, done, keep, executor)
    result: dict[str, Any] = made | scores
    failure = save_files(
        (out, lambda path: suite.save(result, path)), (plot, lambda path: suite.draw(result, path))
    )
    if json:
        emit(result)
    else:
        stdout().print(suite.table(result))
    finish(failure)


def _without_files(words: list[str]) -> list[str]:
    """The command without the files it wrote."""
    out, skip = [], False
    for word in words:
        if not skip and word not in ("--out", "--plot"):
            out.append(word)
        skip = word in ("--out", "--plot")
    return out
