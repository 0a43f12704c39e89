"""Zhang, Anagnostides & Sandholm 2025: IREG-PRM+, whose norm of regrets never falls.

Exploitability after some iterations beside PCFR+, with the same averages, and both rules on the
matrix game of Farina et al. 2023 in which PRM+ is slow, with uniform averages and simultaneous
updates as in the theorems.

Notes:

* We could read the abstract, not the paper. The rule that keeps the norm from falling is ours
  (`subgame.solve.increasing_regret`); the paper's may differ.
* The abstract says that averages converge like T^-1 and that the rule is on par with PRM+ on
  benchmark games, without figures.
* The abstract of Li & Huang 2026 (arXiv 2609.38162) says that the last strategy of IREG-PRM+
  converges linearly in matrix games. So does the rule here in this game.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import subgame as sg
from subgame.games.base import TERMINAL, Game, State
from subgame.papers.report import Found, Progress, marks, panel, row, series
from subgame.solve.increasing_regret import IncreasingRegret, solve_increasing
from subgame.solve.schedule import PCFRPlus

GAMES = ("kuhn", "leduc", "goofspiel(cards=4)", "liars-dice(faces=5)")
ITERATIONS, QUICK_ITERATIONS = 1000, 100
TIMES, QUICK_TIMES = (100, 1_000, 10_000, 100_000), (50, 500)
IREG, PCFR = "IREG-PRM+", "PCFR+"
GAMMAS = {"average": 0.0, "last strategy": math.inf}
PAYOFFS = ((3.0, 0.0, -3.0), (0.0, 3.0, -4.0), (0.0, 0.0, 1.0))
"""Farina, Grand-Clement, Kroer, Lee & Luo 2023, "Regret Matching+: (In)Stability and Fast
Convergence in Games"."""


@dataclass(frozen=True, slots=True)
class MatrixState(State):
    """The rows and columns chosen so far, the column without seeing the row."""

    payoffs: tuple[tuple[float, ...], ...]
    chosen: tuple[str, ...] = ()

    def current_player(self) -> int:
        return len(self.chosen) if len(self.chosen) < 2 else TERMINAL

    def legal_actions(self) -> tuple[str, ...]:
        count = len(self.payoffs[0]) if self.chosen else len(self.payoffs)
        return tuple(map(str, range(count)))

    def child(self, action: str) -> Self:
        return type(self)(self.payoffs, (*self.chosen, action))

    def returns(self) -> tuple[float, float]:
        one, two = map(int, self.chosen)
        return self.payoffs[one][two], -self.payoffs[one][two]

    def information_state(self, player: int) -> str:
        return " ".join((*self.chosen[player : player + 1], self.public_state()))

    def public_state(self) -> str:
        return f"P{len(self.chosen) + 1} to move" if len(self.chosen) < 2 else " ".join(self.chosen)


class Matrix(Game):
    """A matrix game: what the row player gets, by row and column."""

    name = "matrix"

    def __init__(self, payoffs: tuple[tuple[float, ...], ...] = PAYOFFS) -> None:
        self.payoffs = payoffs

    def new_initial_state(self) -> MatrixState:
        return MatrixState(self.payoffs)


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Full: four games and a matrix game; quick: two games with fewer iterations, and it."""
    games, times = (GAMES[:2], QUICK_TIMES) if quick else (GAMES, TIMES)
    measured, many = list[dict[str, Any]](), QUICK_ITERATIONS if quick else ITERATIONS
    for k, name in enumerate(games):
        tell(name, k / (len(games) + 1))
        tree = sg.compile(sg.games.load(name))
        gaps = {
            IREG: sg.exploitability(tree, solve_increasing(tree, many)).mean,
            PCFR: sg.solve(tree, "pcfr+", iterations=many).exploitability.mean,
        }
        measured.append({"game": name, "exploitability": gaps})
    tell("the matrix game", len(games) / (len(games) + 1))
    matrix = _matrix(times)
    return Found(
        rows=[*_rows(measured), *_matrix_rows(matrix)],
        data={"panels": _panels(measured, many, matrix), "found": measured, "matrix": matrix},
        settings={"iterations": many, "matrix game": PAYOFFS},
    )


def _matrix(times: Sequence[int]) -> dict[str, dict[int, float]]:
    """Exploitability of average and last strategies by rule and number of iterations."""
    tree = sg.compile(Matrix())
    out = {f"{rule}, {what}": dict[int, float]() for rule in (IREG, PCFR) for what in GAMMAS}
    for count in times:
        for what, gamma in GAMMAS.items():
            ours = solve_increasing(tree, count, IncreasingRegret(gamma, alternating=False))
            out[f"{IREG}, {what}"][count] = sg.exploitability(tree, ours).mean
            plain = sg.solve(tree, PCFRPlus(gamma=gamma, alternating=False), iterations=count)
            out[f"{PCFR}, {what}"][count] = plain.exploitability.mean
    return out


def _rows(measured: list[dict[str, Any]]) -> Iterator[dict[str, object]]:
    for case in measured:
        gaps = case["exploitability"]
        for rule, gap in gaps.items():
            yield row(f"{case['game']}: exploitability, {rule}", None, gap)
        yield row(f"{case['game']}: {IREG} over {PCFR}", "on par", gaps[IREG] / gaps[PCFR])


def _matrix_rows(matrix: dict[str, dict[int, float]]) -> Iterator[dict[str, object]]:
    for rule, gaps in matrix.items():
        for count, gap in gaps.items():
            yield row(f"matrix game, {count:,} iterations: {rule}", None, gap)
    for rule in (IREG, PCFR):
        (before, high), (after, low) = list(matrix[f"{rule}, average"].items())[-2:]
        power = math.log(high / low) / math.log(after / before)
        theirs = 1 if rule == IREG else None
        note = f"from {before:,} to {after:,} iterations"
        yield row(f"matrix game: the average of {rule} falls like T^-", theirs, power, note)


def _panels(
    measured: list[dict[str, Any]], many: int, matrix: dict[str, dict[int, float]]
) -> list[dict[str, object]]:
    names = [case["game"] for case in measured]
    curves = [
        marks(rule, [case["exploitability"][rule] for case in measured]) for rule in (IREG, PCFR)
    ]
    title = f"exploitability after {many:,} iterations"
    return [
        panel(title, "exploitability", "", curves, scale="semilog", names=names),
        panel(
            "the matrix game of Farina et al. 2023",
            "iterations",
            "exploitability",
            [series(f"{rule}, average", matrix[f"{rule}, average"]) for rule in (IREG, PCFR)],
            scale="log",
        ),
    ]
