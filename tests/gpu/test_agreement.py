"""All engines take the same steps: five iterations of every schedule, beside a plain loop.

The plain loop is the oracle's, which shares no code with the package but the games. The explicit
tree, the ranges on the CPU, PyTorch and the fused code must have its average strategies and its
exploitability. In three of the games no two actions of a player who learns are exactly as good as
one another (see `benchmarks/agreement.py`). On the turn of docs/nested.md there are such ties from
the fourth iteration on, so that only the first ones are compared. A best response may have ties
everywhere; rounding decides them, so that schedules with a responder are compared until the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np
import pytest

import subgame as sg
from agreement import GAMES, ITERATIONS, SCHEDULES, averages, explicit, lost, ranges
from helpers import strategy_of
from oracle import MORE_RULES, RULES, Oracle
from subgame.engines.factory import engine
from subgame.solve.schedule import NAMED, parse

pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import numpy_triton

from subgame.engines.torch.ranges import TorchRangeEngine

CLOSE = 1e-5
"""A share of the pot."""
ALIKE = 2e-4
"""Probabilities: regrets are differences of values, which float32 rounds."""
TIE = 1e-6
"""Chips: a best response prefers no action by less, unless it has a tie."""
FREE_OF_TIES = sorted(GAMES.keys() - {"nested"})
NESTED = (30.229167, 24.926185, 21.618797)
"""Exploitability after the first iterations of CFR+ on the explicit turn of docs/nested.md."""


@cache
def oracle(name: str) -> Oracle:
    return Oracle(GAMES[name])


@cache
def expected(name: str, schedule: str) -> list[sg.Strategy]:
    """The oracle's average strategies."""
    rule = (RULES | MORE_RULES)[schedule]
    steps = oracle(name).cfr(ITERATIONS, rule)
    return [strategy_of(explicit(name), step.average) for step in steps]


@cache
def free_of_ties(name: str, schedule: str) -> int:
    """How many iterations there are before the responder, if any, has two best actions."""
    responder = int(parse(schedule).responder)
    if responder < 0:
        return ITERATIONS
    snapshots = oracle(name).cfr(ITERATIONS, (RULES | MORE_RULES)[schedule])
    answered = [oracle(name).uniform(), *(step.current for step in snapshots[:-1])]
    choices = [oracle(name).narrowest_choice(profile, responder) for profile in answered]
    return next((t for t, choice in enumerate(choices) if choice < TIE), ITERATIONS)


def fused(name: str, schedule: str) -> Iterator[sg.Strategy]:
    """By the generated code of a GPU, which NumPy runs."""
    with numpy_triton.installed():
        made = TorchRangeEngine(ranges(name), "cpu", triton=True, graphs=False)  # type: ignore[arg-type]
        yield from averages(name, made, schedule)


def steps(name: str, schedule: str, engine_name: str) -> Iterator[sg.Strategy]:
    if engine_name == "fused":
        return fused(name, schedule)
    kind, device = engine_name.split(", ")
    tree = explicit(name) if kind == "explicit" else ranges(name)
    return averages(name, engine(tree, device=device), schedule)


ENGINES = ("explicit, cpu", "explicit, torch", "ranges, cpu", "ranges, torch", "fused")


def test_every_schedule_is_compared() -> None:
    assert {parse(schedule).name for schedule in SCHEDULES} == NAMED.keys() - {"mccfr", "sapcfr+"}


FUSED = {*(("river", schedule) for schedule in SCHEDULES), ("turn", "dcfr"), ("flop", "pcfr+")}
"""What the fused code is compared on: NumPy runs it slowly."""
CASES = [
    (name, schedule, engine_name)
    for name in FREE_OF_TIES
    for schedule in SCHEDULES
    for engine_name in ENGINES
    if engine_name != "fused" or (name, schedule) in FUSED
]


@pytest.mark.parametrize(("name", "schedule", "engine_name"), CASES)
def test_five_iterations_are_those_of_the_plain_loop(
    name: str, schedule: str, engine_name: str
) -> None:
    responder, pot = parse(schedule).responder, GAMES[name].rules.pot
    learning = [p for p in (0, 1) if p != responder]
    count = free_of_ties(name, schedule)
    assert count >= 2
    played = list(islice(steps(name, schedule, engine_name), count))
    for t, (got, want) in enumerate(zip(played, expected(name, schedule)[:count], strict=True), 1):
        for p in learning:
            np.testing.assert_allclose(
                got.probs[p], want.probs[p], rtol=0, atol=ALIKE, err_msg=f"{t}"
            )
        gap = lost(name, schedule, want)
        assert lost(name, schedule, got) == pytest.approx(gap, abs=CLOSE * pot), t


@pytest.mark.parametrize("engine_name", ENGINES)
def test_the_turn_of_the_documentation(engine_name: str) -> None:
    """Where no hand of the opponent that can be there arrives, nothing is learnt."""
    losses = [lost("nested", "cfr+", step) for step in steps("nested", "cfr+", engine_name)]
    assert losses[:3] == pytest.approx(NESTED, abs=1e-5)


def test_the_plain_loop_on_that_turn() -> None:
    losses = [
        oracle("nested").exploitability(step.average)[1]
        for step in oracle("nested").cfr(3, RULES["cfr+"])
    ]
    assert losses == pytest.approx(NESTED, abs=1e-6)
