"""The process that runs one job: ``python -m subgame.serve.worker DATA JOB``.

It reads ``task.json`` in the job's folder, writes files there and reports on stdout, one JSON
object a line. SIGINT has a solve stop with what it found so far; a checkpoint lets it go on later.
A worker whose server is gone does the same.
"""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.refine.refine import Refinement
    from subgame.solve.results import Result, Step
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

STRATEGY, CHECKPOINT, TASK, RESULT = (
    "strategy.safetensors",
    "checkpoint.safetensors",
    "task.json",
    "result.json",
)
SLACK = 1.5 * 2**30
"""Bytes that Python, compiled kernels and stacks of threads take beside the solve."""
CANCELLED, WRONG = 130, 2
ROWS = 3_000
"""Root infosets of a refinement that are shown."""


def tell(**message: Any) -> None:
    """Report to the server; if it is gone, have the solve stop and keep what it found."""
    try:
        print(json.dumps(message), flush=True)
    except (BrokenPipeError, ValueError):
        with suppress(OSError, ValueError):
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115, it lasts as long as the process
        os.kill(os.getpid(), signal.SIGINT)


class _Told(logging.Handler):
    """Passes on what the library logs, such as that kernels are being compiled."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(phase=record.getMessage())


class Reporter:
    """Reports iterations and new points of the exploitability curve."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale, self.last = scale, math.nan

    def __call__(self, step: Step) -> None:
        new = step.exploitability != self.last and not math.isnan(step.exploitability)
        self.last = step.exploitability
        point = [step.iteration, step.seconds, step.exploitability * self.scale]
        tell(step=[step.iteration, step.seconds, step.share], **({"point": point} if new else {}))


def limit_memory(most: float) -> None:
    """Have the system refuse this process more memory than a job may use."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        size = int(most + SLACK)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def run(data: Path, job: str) -> None:
    """Run the job whose folder has this name."""
    from subgame.memory import parse_bytes

    folder = data / "jobs" / job
    task = json.loads((folder / TASK).read_text())
    limit_memory(parse_bytes(task["memory_limit"]))
    logger, told = logging.getLogger("subgame"), _Told()
    logger.addHandler(told)
    try:
        result = KINDS[task["kind"]](data, folder, task)
    finally:
        logger.removeHandler(told)
    (folder / RESULT).write_text(json.dumps(result))
    tell(done=True)


# Kinds of jobs -------------------------------------------------------------------------------
def endgame(data: Path, folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Solve a spot of hold'em."""
    from subgame import solve
    from subgame.serve.spots import Spot, compiled
    from subgame.solve.endgame import memory_needed

    tell(phase="Dealing the boards")
    game = Spot(**task["spot"]).game()
    tree = compiled(game, task["memory_limit"])
    needed = memory_needed(tree, task["schedule"], task["storage"])
    _refuse(needed, task["memory_limit"])
    tell(phase="Loading the kernels", quote={"nodes": tree.num_nodes, "memory": needed})
    pot = game.start().pot
    percent = task.get("target")
    kept = _checkpoints(folder) if task["storage"] == "float32" else {}
    result = solve(
        tree,
        task["schedule"],
        target=None if percent is None else percent * pot / 100,
        iterations=task.get("iterations"),
        seconds=task.get("seconds"),
        storage=task["storage"],
        progress=Reporter(float(100 / pot)),
        **kept,
    )
    return _spot_result(folder, result.strategy, result)


def _spot_result(folder: Path, strategy: Strategy, result: Result | None = None) -> dict[str, Any]:
    """Save a solved spot, with the values of its hands."""
    from subgame.serve.spots import values_view
    from subgame.solve.endgame import Endgame, notes, save
    from subgame.solve.evaluate import exploitability

    tell(phase="Computing EV and equity")
    solved = Endgame.of(strategy)
    gap = exploitability(strategy.tree, strategy) if result is None else result.exploitability
    save(strategy, folder / STRATEGY)
    values = values_view(solved)
    (folder / "values.json").write_text(json.dumps(values["hands"]))
    said = notes(solved.tree.holdem)
    return {
        **(_solved(result) if result is not None else _noted(strategy)),
        "spot": said,
        "ev": values["ev"],
        "equity": values["equity"],
        "pot": solved.pot,
        "nodes": solved.tree.num_nodes,
        "exploitability": gap.mean,
        "exploitability_percent": 100 * gap.mean / solved.pot,
        "best_response_ev": [wins + solved.pot / 2 for wins in reversed(gap.per_seat)],
    }


def game(data: Path, folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Solve a game of the catalogue, or an uploaded one."""
    from subgame import solve, solve_lp
    from subgame.serve.public_trees import load_game

    tell(phase="Compiling the game")
    rules = load_game(data, task["game"])
    tree = _compile(rules, task)
    tell(phase="Loading the kernels", quote={"nodes": tree.num_nodes, "memory": tree.nbytes})
    limits = {key: task.get(key) for key in ("target", "iterations", "seconds")}
    if task["schedule"] == "lp":
        result = solve_lp(tree)
    else:
        how: dict[str, Any] = {**limits, **_checkpoints(folder)}
        result = solve(tree, task["schedule"], progress=Reporter(), **how)
    result.strategy.save(folder / STRATEGY)
    return {
        **_solved(result),
        "game": str(rules),
        "value": result.value,
        "exploitability": result.exploitability.mean,
        "per_seat": list(result.exploitability.per_seat),
        "nodes": tree.num_nodes,
    }


def refine(data: Path, folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Improve a finished job's strategy by solving its subgames again."""
    from subgame import refine

    tell(phase="Reading the solution")
    strategy, of = read_strategy(data, task["of"], task)
    at = task.get("at") or "root"

    def progress(done: int, total: int) -> None:
        tell(phase=f"Refining with {task['technique']}", step=[done, 0.0, done / max(total, 1)])

    found = refine(
        strategy.tree,
        strategy,
        at=at,
        technique=task["technique"],
        schedule=task.get("schedule"),
        iterations=task.get("iterations"),
        seconds=task.get("seconds"),
        progress=progress,
    )
    if not found.parts:
        raise SubgameError("No player has a decision in these subgames, so nothing is refined.")
    told = _refined(found)
    if of["kind"] == "game":
        found.strategy.save(folder / STRATEGY)
        return {**told, "game": of["game"], "exploitability": found.after.mean}
    noted = replace(
        found.strategy,
        notes={"refined": found.technique.name, "schedule": found.schedule},
    )
    return {**_spot_result(folder, noted), **told}


def load(data: Path, folder: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Read a solution that was uploaded, and compute its values."""
    from subgame.solve.endgame import load

    tell(phase="Reading the solution")
    return _spot_result(folder, load(folder / "upload", memory_limit=task["memory_limit"]))


KINDS: dict[str, Callable[[Path, Path, dict[str, Any]], dict[str, Any]]] = {
    "endgame": endgame,
    "game": game,
    "refine": refine,
    "load": load,
}


# What they share -----------------------------------------------------------------------------
def read_strategy(data: Path, job: str, task: dict[str, Any]) -> tuple[Strategy, dict[str, Any]]:
    """The strategy of a finished job over its tree, and the task that it came from."""
    from subgame.serve.public_trees import load_game
    from subgame.solve.endgame import load
    from subgame.tree.strategy import Strategy

    folder = data / "jobs" / job
    of = json.loads((folder / TASK).read_text())
    while of["kind"] == "refine":
        of = json.loads((data / "jobs" / of["of"] / TASK).read_text())
    if of["kind"] == "game":
        tree = _compile(load_game(data, of["game"]), task)
        return Strategy.load(folder / STRATEGY, tree), of
    return load(folder / STRATEGY, memory_limit=task["memory_limit"]), of


def _compile(rules: Game, task: dict[str, Any]) -> PublicTree:
    from subgame import compile

    return compile(
        rules,
        memory_limit=task["memory_limit"],
        progress=lambda count: tell(phase=f"Compiling the game: {count:,} histories"),
    )


def _checkpoints(folder: Path) -> dict[str, Any]:
    """Where a solve writes its checkpoints, and the one that it continues from."""
    kept = folder / CHECKPOINT
    return {"checkpoint": kept, **({"resume": kept} if kept.exists() else {})}


def _refuse(needed: int, most: str) -> None:
    from subgame.memory import Allowance

    Allowance.of(most).refuse("Solving this spot", needed)


def _solved(result: Result) -> dict[str, Any]:
    return {
        "iterations": result.iterations,
        "seconds": result.seconds,
        "schedule": result.schedule,
        "stopped": result.stopped,
    }


def _noted(strategy: Strategy) -> dict[str, Any]:
    made = strategy.notes
    count = made.get("iterations", "")
    return {
        "iterations": int(count) if count.isdecimal() else 0,
        "schedule": made.get("schedule", ""),
        "stopped": "saved",
    }


def _refined(found: Refinement) -> dict[str, Any]:
    from subgame.refine.report import kept_text

    rows = found.rows()
    return {
        "technique": found.technique.name,
        "schedule": found.schedule,
        "promise": found.technique.promise,
        "before": found.before.mean,
        "after": found.after.mean,
        "margin": found.margin,
        "bound": found.bound,
        "kept": kept_text(found),
        "seconds": found.seconds,
        "iterations": max(part.iterations for part in found.parts),
        "rows": rows[:ROWS],
        "rows_in_all": len(rows),
    }


def main() -> int:
    """Run the job that the command line names; the exit code says how it went."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a server in the background ignores it
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
    sys.exit(main())
