"""The rows of a street by kernels and by operations on arrays are the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from subgame.engines.numba.street_kernels import KernelRows
from subgame.engines.street import ArrayRows, Decision, Rows

DECISIONS = [Decision(0, 2, 4), Decision(1, 4, 7), Decision(3, 7, 9), Decision(5, 9, 10)]
"""Two ways in, four decisions of two, three, two and one action."""
PAST, ROWS, HANDS = 2, 10, 37


def both(work: Callable[[Rows, np.random.Generator], np.ndarray]) -> list[np.ndarray]:
    """The result of the same work, with the same random numbers, by both."""
    table = np.array(DECISIONS, np.int64)
    return [
        work(rows, np.random.default_rng(3))
        for rows in (ArrayRows(DECISIONS, PAST), KernelRows(table, PAST))
    ]


def weights(rng: np.random.Generator) -> np.ndarray:
    """Regrets, of which some decisions have no positive one."""
    out = rng.normal(size=(ROWS - PAST, HANDS))
    out[:, ::5] = -np.abs(out[:, ::5])
    out[:, 1::7] = 0
    return out


def strategy(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rows.match(weights(rng)))


def reach(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    out = np.zeros((ROWS, HANDS))
    out[:PAST] = rng.random((PAST, HANDS))
    rows.descend(strategy(rows, rng), out)
    return out


def values(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    value = rng.normal(size=(ROWS, HANDS))
    rows.ascend(strategy(rows, rng), value)
    return value


def learnt(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    value, regret = rng.normal(size=(ROWS, HANDS)), weights(rng)
    rows.learn(strategy(rows, rng), value, regret, np.array([0.7, 0.4, 0.9]))
    return np.concatenate([value, regret])


def averaged(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    average = rng.random((ROWS - PAST, HANDS))
    rows.average(reach(rows, rng), 0.6, average)
    return average


@pytest.mark.parametrize("work", [strategy, reach, values, learnt, averaged])
def test_kernels_do_what_operations_on_arrays_do(
    work: Callable[[Rows, np.random.Generator], np.ndarray],
) -> None:
    by_arrays, by_kernels = both(work)
    assert by_arrays.any()
    assert by_kernels == pytest.approx(by_arrays, abs=1e-12)


def test_without_positive_regrets_every_action_is_as_likely() -> None:
    for rows in (ArrayRows(DECISIONS, PAST), KernelRows(np.array(DECISIONS, np.int64), PAST)):
        even = rows.match(-np.ones((ROWS - PAST, HANDS)))
        assert even[:, 0].tolist() == [1 / 2] * 2 + [1 / 3] * 3 + [1 / 2] * 2 + [1]
