"""Solvers of small games that `subgame.bench.small_games` measures, and the measuring process.

This file is the script of that process. It imports nothing of the package at the top, so that the
memory of a peer's process is the peer's alone.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

OURS = "subgame"
BUDGET = 2.0
"""Seconds spent on repeating one measurement."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A game: our name and OpenSpiel's."""

    name: str
    openspiel: str
    parameters: dict[str, Any] = field(default_factory=dict)


GAMES = {
    "leduc": Setup("leduc", "leduc_poker"),
    "liar's dice": Setup("liars-dice", "liars_dice(numdice=1,dice_sides=6)"),
    "goofspiel(5)": Setup(
        "goofspiel",
        "turn_based_simultaneous_game(game=goofspiel("
        "imp_info=True,num_cards=5,points_order=descending,players=2))",
        {"cards": 5},
    ),
}


def _answer(order: dict[str, Any]) -> None:
    """The work of a measuring process: each answer is written as soon as it is found."""
    logging.getLogger("subgame").setLevel(logging.ERROR)  # the parent process logs
    with Path(order["scratch"], "answers").open("a") as answers:
        try:
            contender = CONTENDERS[order["who"]](GAMES[order["game"]], order["scratch"])
            built = contender.build()
        except Exception as error:  # a peer may be missing or fail in any way
            for task in order["tasks"]:
                print(json.dumps([task, _reason(error)]), file=answers, flush=True)
            return
        for task in order["tasks"]:
            answer: float | str
            try:
                answer = _do(contender, task, built)
            except Exception as error:
                answer = _reason(error)
            print(json.dumps([task, answer]), file=answers, flush=True)


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"


def _do(contender: Contender, task: str, built: float) -> float:
    if task == "build":
        return min(built, _least(contender.build, BUDGET - built))
    if task == "iteration":
        return _best(contender.iterate)
    if task == "exploitability":
        contender.iterate(10)
        average = contender.average()
        return _best(lambda count: [contender.exploitability(average) for _ in range(count)])
    if task == "lp":
        return _least(contender.lp, BUDGET)
    if task == "memory":
        contender.warm_up()
        return _peak()
    return contender.to(float(task.removeprefix("to ")))


def _best(call: Callable[[int], object]) -> float:
    """Seconds of one call, the best of batches of about a fiftieth of a second."""
    until, best, count = time.perf_counter() + BUDGET, float("inf"), 1
    while True:
        began = time.perf_counter()
        call(count)
        now = time.perf_counter()
        best = min(best, (now - began) / count)
        if now >= until:
            return best
        count = max(1, int(0.02 / best))


def _least(timed: Callable[[], float], budget: float) -> float:
    """The least of what `timed` returns, within a budget; infinite if there is no budget."""
    until, least = time.perf_counter() + budget, float("inf")
    while time.perf_counter() < until:
        least = min(least, timed())
    return least


def _peak() -> float:
    """The peak memory of this process in bytes."""
    try:  # getrusage's figure survives exec: it would be at least the parent's
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) * (1 if sys.platform == "darwin" else 1024)


# Contenders ----------------------------------------------------------------------------------
class Contender(Protocol):
    """A CFR+ solver of one game. `build` comes first and may be repeated; it starts anew."""

    def __init__(self, setup: Setup, scratch: str) -> None:
        """Import what solves the game, and load the game."""

    def make(self) -> None:
        """Make the solver."""

    def build(self) -> float:
        """Make the solver; the seconds that took, without imports."""
        began = time.perf_counter()
        self.make()
        return time.perf_counter() - began

    def iterate(self, count: int) -> None:
        """Run some iterations."""

    def average(self) -> Any:
        """The average strategy, for `exploitability`."""

    def exploitability(self, average: Any) -> float:
        """Its exploitability, NashConv / 2."""

    def lp(self) -> float:
        """Solve the game's linear program; the seconds that took."""
        raise AttributeError(f"{type(self).__name__} has no linear program.")

    def warm_up(self) -> None:
        self.iterate(5)

    def to(self, target: float) -> float:
        """Seconds of iterations until exploitability is at most `target`, checks not counted."""
        spent, done, check = 0.0, 0, 1
        while True:
            began = time.perf_counter()
            self.iterate(check - done)
            spent += time.perf_counter() - began
            if self.exploitability(self.average()) <= target:
                return spent
            done, check = check, check * 2 if check < 32 else check + check // 8


class Ours(Contender):
    def __init__(self, setup: Setup, scratch: str) -> None:
        self.sg: Any = importlib.import_module("subgame")
        self.game = self.sg.games.load(setup.name, **setup.parameters)

    def make(self) -> None:
        self.tree = self.sg.compile(self.game)

    def build(self) -> float:
        from subgame.solve.solver import Run

        built = super().build()
        self.run = Run(self.tree, self.sg.CFRPlus())
        self.run.advance(1)  # compiles the kernels, or reads them from the disk
        self.exploitability(self.average())
        return built

    def iterate(self, count: int) -> None:
        self.run.advance(count)

    def average(self) -> Any:
        return self.run.strategy()

    def exploitability(self, average: Any) -> float:
        return float(self.sg.exploitability(self.tree, average))

    def lp(self) -> float:
        return float(self.sg.solve_lp(self.tree).seconds)

    def warm_up(self) -> None:
        self.sg.solve(self.tree, self.sg.CFRPlus(), target=1e-3)

    def to(self, target: float) -> float:
        solve, schedule = self.sg.solve, self.sg.CFRPlus()
        return _least(lambda: solve(self.tree, schedule, target=target).seconds, BUDGET)


class OpenSpiel(Contender):
    """The C++ solver and its exploitability."""

    def __init__(self, setup: Setup, scratch: str) -> None:
        import pyspiel

        self.pyspiel, self.game = pyspiel, pyspiel.load_game(setup.openspiel)

    def make(self) -> None:
        self.solver = self.pyspiel.CFRPlusSolver(self.game)

    def iterate(self, count: int) -> None:
        for _ in range(count):
            self.solver.evaluate_and_update_policy()

    def average(self) -> Any:
        return self.solver.average_policy()

    def exploitability(self, average: Any) -> float:
        return float(self.pyspiel.exploitability(self.game, average))

    def lp(self) -> float:
        from open_spiel.python.algorithms import sequence_form_lp

        began = time.perf_counter()
        sequence_form_lp.solve_zero_sum_game(self.game)
        return time.perf_counter() - began


class OpenSpielJax(OpenSpiel):
    """The JAX solver, in its default single precision."""

    def __init__(self, setup: Setup, scratch: str) -> None:
        super().__init__(setup, scratch)
        from open_spiel.python.algorithms import exploitability
        from open_spiel.python.jax.cfr import jax_cfr

        self.jax_cfr, self.evaluator = jax_cfr, exploitability

    def make(self) -> None:
        self.solver = self.jax_cfr.JaxCFR(self.game)
        self.iterate(1)  # compiles

    def iterate(self, count: int) -> None:
        self.solver.multiple_steps(count)
        for array in (*self.solver.regrets, *self.solver.averages):
            array.block_until_ready()

    def exploitability(self, average: Any) -> float:
        return float(self.evaluator.exploitability(self.game, average))


class LiteEFG(Contender):
    def __init__(self, setup: Setup, scratch: str) -> None:
        import pyspiel

        self.leg: Any = importlib.import_module("LiteEFG")
        self.game = pyspiel.load_game(setup.openspiel)
        os.environ["HOME"] = scratch  # it writes its game files to the home directory

    def make(self) -> None:
        self.env = self.leg.OpenSpielEnv(self.game, traverse_type="Enumerate", regenerate=True)
        self.graph = self.leg.baselines.CFRplus.graph()
        self.env.set_graph(self.graph)

    def iterate(self, count: int) -> None:
        for _ in range(count):
            self.graph.update_graph(self.env)
            self.env.update_strategy(self.graph.current_strategy())

    def average(self) -> Any:
        return self.graph.current_strategy()  # the environment keeps its averages

    def exploitability(self, average: Any) -> float:
        return float(sum(self.env.exploitability(average, "linear-avg-iterate"))) / 2


CONTENDERS: dict[str, type[Contender]] = {
    OURS: Ours,
    "OpenSpiel": OpenSpiel,
    "OpenSpiel JAX": OpenSpielJax,
    "LiteEFG": LiteEFG,
}

if __name__ == "__main__":
    _answer(json.loads(sys.argv[1]))
