"""What every Python process of an other-machine run does before anything else.

`other_machine.py` puts this folder on ``PYTHONPATH``, so that the processes which tests start obey
too. Nothing slow is imported: tests look at what a command loads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

CORES = "SUBGAME_ELSEWHERE_CORES"
"""The variable with the number of cores that Python reports."""
PROGRAMS = "SUBGAME_ELSEWHERE_PROGRAMS"
"""The variable with the seed of the order of linear programs."""
LINPROG = "scipy.optimize._linprog"


def report_cores(count: int) -> None:
    """Let Python report a number of cores; where processes run does not change."""
    machine: Any = os
    machine.cpu_count = machine.process_cpu_count = lambda: count
    if hasattr(os, "sched_getaffinity"):
        machine.sched_getaffinity = lambda pid: set(range(count))


def permuted(linprog: Callable[..., Any], seed: int) -> Callable[..., Any]:
    """`linprog` with variables and constraints in another order; its answer is in the old one.

    The order depends on the seed and the size alone: a program that is solved twice has one answer.
    """

    def solve(
        c: Any,
        A_ub: Any = None,  # noqa: N803
        b_ub: Any = None,
        A_eq: Any = None,  # noqa: N803
        b_eq: Any = None,
        bounds: Any = (0, None),
        *rest: Any,
        **options: Any,
    ) -> Any:
        import numpy as np

        def order(size: int) -> Any:
            return np.random.default_rng([seed, size]).permutation(size)

        def matrix(values: Any, rows: Any) -> Any:
            values = values.tocsr() if hasattr(values, "tocsr") else np.asarray(values)
            return values[rows][:, columns]

        columns = order(len(c))
        above = None if b_ub is None else order(len(b_ub))
        equal = None if b_eq is None else order(len(b_eq))
        if np.ndim(bounds) == 2:
            bounds = [tuple(bounds[k]) for k in columns]
        answer = linprog(
            np.asarray(c)[columns],
            None if above is None else matrix(A_ub, above),
            None if above is None else np.asarray(b_ub)[above],
            None if equal is None else matrix(A_eq, equal),
            None if equal is None else np.asarray(b_eq)[equal],
            bounds,
            *rest,
            **options,
        )
        for at, places in PARTS:
            undo({"columns": columns, "above": above, "equal": equal}[at], answer, places)
        return answer

    return solve


PARTS = (
    ("columns", ("x", "lower.residual", "lower.marginals", "upper.residual", "upper.marginals")),
    ("above", ("slack", "ineqlin.residual", "ineqlin.marginals")),
    ("equal", ("con", "eqlin.residual", "eqlin.marginals")),
)
"""The arrays of an answer, by what their places mean."""


def undo(order: Any, answer: Any, places: Sequence[str]) -> None:
    """Put arrays of an answer back into the order in which the program was written."""
    for name in places:
        inner, _, last = name.rpartition(".")
        part = answer.get(inner) if inner else answer
        values = None if part is None else part.get(last)
        if order is not None and values is not None:
            part[last] = values.copy()
            part[last][order] = values


class Permuting:
    """Finds SciPy's module of linear programs, and wraps its function once it is loaded."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != LINPROG:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)))
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            module.linprog = permuted(module.linprog, self.seed)  # type: ignore[attr-defined]

        loader.exec_module = exec_module
        return spec


if CORES in os.environ:
    report_cores(int(os.environ[CORES]))
if PROGRAMS in os.environ:
    sys.meta_path.insert(0, Permuting(int(os.environ[PROGRAMS])))
