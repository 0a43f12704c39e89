"""``subgame suite``: compare subgame techniques on fixed tasks."""

from __future__ import annotations

import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Chosen:
    """The techniques and tasks that are run."""

    technique: list[str] | None = opt(
        None,
        "NAME",
        "Run this technique. Your own is module:Name, a Gadget, a subclass of it or a function "
        "that makes one. Repeatable.",
        "all",
    )
    task: list[str] | None = opt(None, "NAME", "Run this task. Repeatable.", "all")
    add: bool = opt(False, None, "Compare the techniques that are named with all others.")
    gpu: bool = opt(False, None, "Run the tasks for a GPU instead of those for the CPU.")


@dataclass(frozen=True)
class Files:
    """Where results are kept and drawn."""

    out: Path | None = opt(None, "FILE", "Write the results as JSON, task by task.")
    resume: bool = opt(
        False, None, "Keep the results of this version in the file of --out, and run the rest."
    )
    plot: Path | None = opt(None, "FILE", "Draw exploitability against time as .png or .svg.")

    def check(self) -> None:
        """Refuse files that cannot be written."""
        check_writable("--out", self.out)
        check_picture("--plot", self.plot)
        check_apart(("--out", self.out), ("--plot", self.plot))


@grouped
def suite_command(
    *,
    chosen: Chosen,
    tasks: bool = opt(False, None, "List the tasks and do nothing else."),
    files: Files,
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
    files.check()
    check_least("jobs", jobs, 0)

    from subgame.bench import suite, suite_tasks
    from subgame.papers.report import provenance

    out, techniques = files.out, chosen.technique or []
    todo = suite.named(chosen.task or [], gpu=chosen.gpu)
    if tasks:
        emit({"version": suite_tasks.VERSION, "tasks": [vars(task) for task in todo]})
        return
    names = [*(suite.FORMS if chosen.add or not techniques else ()), *techniques]
    made = provenance(shlex.join(["subgame", *_without_files(sys.argv[1:])]))

    def keep(scores: dict[str, Any]) -> None:
        if out is not None:
            suite.save(made | scores, out)

    done = suite.rows_of(out) if files.resume and out is not None else []
    many = bounded("--jobs", jobs, PROCESS) if jobs != 1 else 1
    with ProcessPoolExecutor(many) if many > 1 else nullcontext() as executor:
        scores = suite.run(todo, list(dict.fromkeys(names)), announce, done, keep, executor)
    result: dict[str, Any] = made | scores
    failure = save_files(
        (out, lambda path: suite.save(result, path)),
        (files.plot, lambda path: suite.draw(result, path)),
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
