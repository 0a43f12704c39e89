"""The process that runs one job: ``python -m subgame.serve.worker DATA JOB``.

It reads ``task.json`` in the job's folder, writes files there and reports on stdout, one JSON
object a line. SIGINT has a solve stop with what it found so far; a checkpoint lets it go on later.
A worker whose server is gone does the same.
"""

from __future__ import annotations

import json
import logging
import math
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from subgame.errors import SubgameError
from subgame.serve.progress import Reporter, Told, tell

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.refine.report import Refinement
    from subgame.solve.results import Result, Step
    from subgame.solve.solver import Run
    from subgame.spots.endgame import Endgame
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.ranges.tree import RangeTree
    from subgame.tree.strategy import Strategy

STRATEGY, CHECKPOINT, TASK, RESULT, FLOPS = (
    "strategy.safetensors",
    "checkpoint.safetensors",
    "task.json",
    "result.json",
    "flops.jsonl",
)
SLACK = 1.5 * 2**30
"""Bytes that Python, compiled kernels and stacks of threads take beside the solve."""
CANCELLED, WRONG = 130, 2
EARLY = (8.0, 2.0)
"""A spot is saved on the way to its target where it is this many times as exploitable."""
SOONEST = 15.0
"""Seconds of a solve before which, and before whose end, nothing is saved on the way."""
ROWS = 3_000
"""Root infosets of a refinement that are shown."""


class Task(TypedDict, total=False):
    """What ``task.json`` contains; which keys there are depends on the kind of job."""

    kind: str
    memory_limit: str
    spot: dict[str, Any]
    storage: Literal["float32", "int16"]
    schedule: str
    target: float | None
    iterations: int | None
    seconds: float | None
    of: str  # the job whose solution is used
    locks: list[str]
    game: str
    technique: str
    at: str
    flops: str


class Checkpoints(TypedDict, total=False):
    """Options of `solve`."""

    checkpoint: Path
    resume: Path


Report = dict[str, object]
"""What ``result.json`` contains."""


class Early(Reporter):
    """Reports the same, and saves what was solved so far: it can be looked at meanwhile."""

    def __init__(self, folder: Path, run: Run, target: float | None) -> None:
        """`target` is in per cent of the pot."""
        from subgame.spots.report import usual_iterations
        from subgame.tree.ranges.tree import range_tree

        pot = float(range_tree(run.tree).holdem.start().pot)
        super().__init__(100 / pot, math.nan if target is None else usual_iterations(target))
        self.folder, self.run = folder, run
        self.next = [share * (target or 0.1) for share in EARLY]
        """The accuracies at which it is saved, in per cent of the pot."""

    def __call__(self, step: Step) -> None:
        super().__call__(step)
        if not self.next or not step.exploitability * self.scale <= self.next[0]:
            return
        if step.seconds < SOONEST or step.left < SOONEST:
            return
        while self.next and step.exploitability * self.scale <= self.next[0]:
            self.next.pop(0)
        tell(phase="Saving what was solved so far")
        from subgame.spots.endgame import Endgame

        solved = Endgame.of_run(self.run, None)
        solved = replace(solved, exploitability=self.run.evaluated(solved.strategy.probs))
        solved.save(self.folder / STRATEGY)
        made = {"iterations": step.iteration, "seconds": step.seconds, "stopped": "so far"}
        write_json(self.folder / RESULT, _spot_result(solved) | made)
        tell(so_far=True, phase="Solving")


def limit_memory(most: float) -> None:
    """Have the system refuse this process more memory than a job may use."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        size = int(most + SLACK)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def run(data: Path, job: str) -> None:
    """Run the job whose folder has this name."""
    from subgame.memory import parse_bytes
    from subgame.tree.one_writer import OnlyWriter

    folder = data / "jobs" / job
    task: Task = json.loads((folder / TASK).read_text())
    limit_memory(parse_bytes(task["memory_limit"]))
    logger, handler = logging.getLogger("subgame"), Told()
    logger.addHandler(handler)
    # The worker of a server that was killed may still be writing its checkpoint.
    with OnlyWriter.waiting(folder / TASK, lambda error: tell(phase=f"Waiting: {error}")):
        for unfinished in folder.glob(".*.part*"):  # of a worker that was killed
            unfinished.unlink()
        try:
            result = KINDS[task["kind"]](data, folder, task)
        finally:
            logger.removeHandler(handler)
        write_json(folder / RESULT, result)
    tell(done=True)


def write_json(path: Path, value: object) -> None:
    """Write a file that is never read half."""
    from subgame.tree.files import replacing

    with replacing(path) as new:
        new.write_text(json.dumps(value))


# Kinds of jobs -------------------------------------------------------------------------------
def endgame(data: Path, folder: Path, task: Task) -> Report:
    """Solve a spot of hold'em."""
    from subgame.serve.spots import Spot, compiled

    tell(phase="Dealing the boards")
    tree = compiled(Spot(**task["spot"]).game(), task["memory_limit"])
    return _solve_spot(folder, tree, task)


def lock(data: Path, folder: Path, task: Task) -> Report:
    """Solve a finished spot again while some hands play fixed frequencies."""
    from subgame.spots.endgame import tree_of
    from subgame.spots.locks import Lock, locked_spot

    tell(phase="Reading the solution")
    spot = tree_of(data / "jobs" / task["of"] / STRATEGY, task["memory_limit"]).holdem
    locks = [Lock.parse(text) for text in task["locks"]]
    return _solve_spot(folder, locked_spot(spot, locks, task["memory_limit"]), task)


def _solve_spot(folder: Path, tree: RangeTree, task: Task) -> Report:
    from subgame.solve.solver import begin, complete
    from subgame.spots.endgame import Endgame, memory_needed

    needed = memory_needed(tree, task["schedule"], task["storage"])
    _refuse(needed, task["memory_limit"])
    tell(phase="Loading the kernels", quote={"nodes": tree.num_nodes, "memory": needed})
    pot = float(tree.holdem.start().pot)
    percent = task.get("target")
    kept: Checkpoints = _checkpoints(folder) if task["storage"] == "float32" else {}
    run, limits = begin(
        tree,
        task["schedule"],
        target=None if percent is None else percent * pot / 100,
        iterations=task.get("iterations"),
        seconds=task.get("seconds"),
        storage=task["storage"],
        resume=kept.get("resume"),
    )
    early = Early(folder, run, percent)
    result = complete(run, limits, kept.get("checkpoint"), early, keep=False)
    tell(phase="Computing EV and equity")
    solved = replace(Endgame.of(result.strategy), exploitability=result.exploitability)
    solved.save(folder / STRATEGY)
    return _spot_result(solved) | _solved(result)


def _spot_result(solved: Endgame) -> dict[str, object]:
    """What is told of a solved spot."""
    from subgame.spots.endgame import notes

    gap = solved.exploitability
    assert gap is not None
    if not all(map(math.isfinite, (*solved.ev, *solved.equity, gap.mean))):
        raise SubgameError("The solution is damaged: its EV or equity is not a number.")
    return {
        **_noted(solved.strategy),
        "spot": notes(solved.tree.holdem),
        "locks": list(solved.tree.lock_texts),
        "ev": list(solved.ev),
        "equity": list(solved.equity),
        "pot": solved.pot,
        "nodes": solved.tree.num_nodes,
        "exploitability": gap.mean,
        "exploitability_percent": 100 * gap.mean / solved.pot,
    }


def game(data: Path, folder: Path, task: Task) -> Report:
    """Solve a game of the catalogue, or an uploaded one."""
    from subgame import solve, solve_lp
    from subgame.serve.public_trees import load_game

    tell(phase="Compiling the game")
    rules = load_game(data, task["game"])
    tree = _compile(rules, task)
    tell(phase="Loading the kernels", quote={"nodes": tree.num_nodes, "memory": tree.nbytes})
    if task["schedule"] == "lp":
        result = solve_lp(tree)
    else:
        result = solve(
            tree,
            task["schedule"],
            target=task.get("target"),
            iterations=task.get("iterations"),
            seconds=task.get("seconds"),
            progress=Reporter(),
            **_checkpoints(folder),
        )
    result.strategy.save(folder / STRATEGY)
    return {
        **_solved(result),
        "game": str(rules),
        "value": result.value,
        "exploitability": result.exploitability.mean,
        "per_seat": list(result.exploitability.per_seat),
        "nodes": tree.num_nodes,
    }


def refine(data: Path, folder: Path, task: Task) -> Report:
    """Improve a finished job's strategy by solving its subgames again."""
    from subgame import refine
    from subgame.spots.endgame import Endgame

    tell(phase="Reading the solution")
    strategy, of = read_strategy(data, task["of"], task)
    at = task.get("at") or "root"

    def progress(done: int, total: int) -> None:
        tell(phase=f"Refining with {task['technique']}", step=[done, 0.0, done / max(total, 1)])

    refined = refine(
        strategy.tree,
        strategy,
        at=at,
        technique=task["technique"],
        schedule=task.get("schedule"),
        iterations=task.get("iterations"),
        seconds=task.get("seconds"),
        progress=progress,
    )
    if not refined.parts:
        raise SubgameError("No player has a decision in these subgames, so nothing is refined.")
    figures = _refined(refined)
    if of["kind"] == "game":
        refined.strategy.save(folder / STRATEGY)
        return {**figures, "game": of["game"], "exploitability": refined.after.mean}
    tell(phase="Computing EV and equity")
    noted = replace(
        refined.strategy,
        notes={"refined": refined.technique.name, "schedule": refined.schedule},
    )
    solved = replace(Endgame.of(noted), exploitability=refined.after)
    solved.save(folder / STRATEGY)
    return {**_spot_result(solved), **figures}


def report(data: Path, folder: Path, task: Task) -> Report:
    """Solve a spot on many flops; a row is written as soon as a flop is solved."""
    from subgame.serve.spots import Spot, chosen_flops, compiled
    from subgame.spots.report import flop_report, logged, memory_by_kind, weighted_mean

    spot, log = Spot(**task["spot"]), folder / FLOPS
    flops = chosen_flops(task["flops"], spot.deck)
    tell(phase="Dealing the boards of the first flop")
    first = spot.on(flops[0].name)
    tree = compiled(first, task["memory_limit"])
    needed = max(size for _, size in memory_by_kind(flops, spot.on))
    _refuse(needed, task["memory_limit"])
    tell(phase="Solving the first flop", quote={"nodes": tree.num_nodes, "memory": needed})
    del tree
    began, stopped, before = time.monotonic(), "done", len(logged(log)) if log.exists() else 0

    def progress(done: int, total: int, row: dict[str, object]) -> None:
        spent = time.monotonic() - began
        left = spent / max(done - before, 1) * (total - done)
        tell(phase=f"{done:,} of {total:,} flops", step=[done, spent, done / total], left=left)

    try:
        target = task["target"]
        assert target is not None
        flop_report(flops, spot.on, target=target, log=log, progress=progress)
    except KeyboardInterrupt:
        stopped = "interrupted"
    rows = logged(log)
    if not rows:
        raise KeyboardInterrupt
    return {
        "flops": len(rows),
        "flops_in_all": len(flops),
        "pot": float(first.start().pot),
        "mean": weighted_mean(rows),
        "seconds": sum(rows.column("seconds")),
        "stopped": stopped,
    }


def load(data: Path, folder: Path, task: Task) -> Report:
    """Look into a solution that was uploaded; all of it is read only if its values are missing."""
    from subgame.refine.ranges.compact_spots import open_spot
    from subgame.solve.evaluate import exploitability
    from subgame.tree.strategy import Strategy

    tell(phase="Reading the solution")
    upload = folder / "upload"
    if not upload.exists():  # a worker was killed after it had moved the file
        upload = folder / STRATEGY
    solved = open_spot(upload, memory_limit=task["memory_limit"])
    if solved.exploitability is None:
        whole = Strategy.from_weights(solved.tree, solved.strategy.probs)
        gap = exploitability(solved.tree, whole)
        solved = replace(solved, exploitability=gap)
        solved.save(folder / STRATEGY)
    else:
        upload.rename(folder / STRATEGY)
    (folder / "upload").unlink(missing_ok=True)
    return _spot_result(solved)


KINDS: dict[str, Callable[[Path, Path, Task], Report]] = {
    "endgame": endgame,
    "lock": lock,
    "game": game,
    "refine": refine,
    "load": load,
    "report": report,
}


# What they share -----------------------------------------------------------------------------
def read_strategy(data: Path, job: str, task: Task) -> tuple[Strategy, Task]:
    """The strategy of a finished job over its tree, and the task that it came from."""
    from subgame.serve.public_trees import load_game
    from subgame.spots.endgame import load
    from subgame.tree.strategy import Strategy

    folder = data / "jobs" / job
    of: Task = json.loads((folder / TASK).read_text())
    while of["kind"] == "refine":
        of = json.loads((data / "jobs" / of["of"] / TASK).read_text())
    if of["kind"] == "game":
        tree = _compile(load_game(data, of["game"]), task)
        return Strategy.load(folder / STRATEGY, tree), of
    return load(folder / STRATEGY, memory_limit=task["memory_limit"]), of


def _compile(rules: Game, task: Task) -> PublicTree:
    from subgame import compile

    return compile(
        rules,
        memory_limit=task["memory_limit"],
        merge=False,  # as the page Games shows it
        progress=lambda count: tell(phase=f"Compiling the game: {count:,} histories"),
    )


def _checkpoints(folder: Path) -> Checkpoints:
    """Where a solve writes its checkpoints, and the one that it continues from."""
    kept = folder / CHECKPOINT
    return {"checkpoint": kept, "resume": kept} if kept.exists() else {"checkpoint": kept}


def _refuse(needed: int, most: str) -> None:
    from subgame.memory import Allowance

    hint = "Click 'Change the set-up' and choose 16 bits, fewer sizes or narrower ranges."
    Allowance.of(most).refuse("Solving this spot", needed, hint=hint)


def _solved(result: Result) -> dict[str, object]:
    return {
        "iterations": result.iterations,
        "seconds": result.seconds,
        "schedule": result.schedule,
        "stopped": result.stopped,
    }


def _noted(strategy: Strategy) -> dict[str, object]:
    made = strategy.notes
    count = made.get("iterations", "")
    return {
        "iterations": int(count) if count.isdecimal() else 0,
        "schedule": made.get("schedule", ""),
        "stopped": "saved",
    }


def _refined(result: Refinement) -> dict[str, object]:
    rows = result.rows()
    return {
        "technique": result.technique.name,
        "schedule": result.schedule,
        "promise": result.technique.promise,
        "before": result.before.mean,
        "after": result.after.mean,
        "margin": result.margin,
        "bound": result.bound,
        "kept": result.kept_text,
        "seconds": result.seconds,
        "iterations": max(part.iterations for part in result.parts),
        "rows": rows[:ROWS],
        "rows_in_all": len(rows),
    }


def main() -> int:
    """Run the job that the command line names; the exit code says how it went."""
    try:
        run(Path(sys.argv[1]), sys.argv[2])
    except KeyboardInterrupt:
        return CANCELLED
    except SubgameError as error:
        tell(error=error.sentence)
        return WRONG
    except MemoryError:
        tell(error="The job ran out of the memory that it may use.")
        return WRONG
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where the server ignores it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the server started us without it
    sys.exit(main())
