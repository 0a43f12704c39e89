"""Long solves of hold'em: rounding must not add up, and a run that has levelled off stops."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import subgame as sg
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.engines.rounding import WINDOW, dithered
from subgame.solve.limits import FIRST, Limits
from subgame.solve.results import Point
from subgame.solve.schedule import parse
from subgame.solve.solver import Run, begin, complete

POT = 100
RANGES = ("AsKs,7c6c,JdJs,8s8h", "AdTd,9c9d,KcQc,5d5s")


@pytest.fixture(scope="module")
def tree() -> sg.PublicTree:
    """A river with four hands each, so that many iterations take a second."""
    return sg.compile(sg.holdem.endgame("QsJh2h8d3c", POT, 300, RANGES, "river: 0.5x 1x a"))


def curve(run: Run, marks: list[int]) -> list[float]:
    """Exploitability after some numbers of iterations, as a share of the pot."""
    gaps = []
    for mark in marks:
        run.advance(mark - run.iteration)
        gaps.append(float(run.measure()) / POT)
    return gaps


def test_ranks_that_only_one_player_holds(tree: sg.PublicTree) -> None:
    """No rank is held by both, so no showdown is tied; the value is that of older kernels."""
    assert sg.solve(tree, "dcfr", target=0.01, threads=1).value == pytest.approx(39.09, abs=0.05)


@pytest.mark.parametrize("schedule", ["cfr+", "dcfr", "pcfr+"])
def test_exploitability_levels_off(tree: sg.PublicTree, schedule: str) -> None:
    """It was 1e-5 to 1e-4 of the pot after so many iterations, and rose in proportion to them.

    With cfr+ it goes up and down between 3e-7 and 3e-6 from 50,000 to 800,000 iterations.
    """
    early, late = curve(Run(tree, parse(schedule), threads=1), [50_000, 200_000])
    assert late < 5e-6
    assert late < 5 * max(early, 1e-6)


def test_exploitability_in_16_bits_levels_off(tree: sg.PublicTree) -> None:
    early, late = curve(Run(tree, parse("dcfr"), threads=1, storage="int16"), [20_000, 200_000])
    assert late < 1e-4
    assert late < 5 * early


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+"])
def test_exploitability_levels_off_on_a_gpu(tree: sg.PublicTree, schedule: str) -> None:
    early, late = curve(Run(tree, parse(schedule), device="cuda"), [25_000, 100_000])
    assert late < 2e-6
    assert late < 5 * early


@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_sums_on_a_device(gamma: float) -> None:
    """A long sum of constant numbers is in proportion to them, as plain float32 is not.

    It is drawn after a million iterations; `plain` is the sum without dither.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    ops = pytest.importorskip("subgame.engines.torch.torch_ops")
    begin, count = 1_000_000, 5_000
    discounts = parse(f"dcfr(gamma={gamma:g})").discounts(begin + 1, count)
    discounts[:, :2] = discounts[:, 2:]  # regrets as averages
    rates = torch.from_numpy(dithered(discounts, begin + 1).astype(np.float32))
    more = torch.from_numpy(np.random.default_rng(3).random(500).astype(np.float32) + 0.01)
    start = more * (begin / (gamma + 1))
    average, regret, plain = start.clone(), start.clone(), start.clone()
    for now in rates:
        average = ops.faded(average, now, more)
        regret = ops.discounted(regret, now, more)
        plain = plain * now[2] + more

    def error(total: Any) -> float:
        shares = total.double() / more.double()
        return float((shares / shares.mean() - 1).abs().max())

    assert error(average) < 5e-6
    assert error(regret) < 5e-6
    assert error(plain) > 1e-4


def test_rates_multiply_to_the_discounts() -> None:
    """Base and fade make the factors of the schedule, up to dither; CFR+ drops regrets exactly."""
    for name in ("cfr", "dcfr", "cfr+", "lcfr", "dcfr(decay=0.6)"):
        discounts = parse(name).discounts(1, 50)
        rates = dithered(discounts, 1)
        np.testing.assert_allclose(rates[:, 4:6] + rates[:, 6:8], discounts[:, :2], atol=1e-6)
        np.testing.assert_allclose(1 + rates[:, 8], discounts[:, 2], atol=1e-6)
        dropped = discounts[:, 1] == 0
        assert not rates[dropped][:, [5, 7]].any()
    for kind, window in WINDOW.items():
        late = dithered(parse("dcfr").discounts(10**9, 1), 10**9, kind)
        assert late[0, 8] == pytest.approx(-1 / window, abs=5e-7)


# Stopping ------------------------------------------------------------------------------------
def test_a_run_that_no_longer_improves_stops(tree: sg.PublicTree) -> None:
    """With the best strategy that was measured."""
    result = sg.solve(tree, "dcfr", iterations=3_000_000, storage="int16", threads=1)
    best = min(point.exploitability for point in result.curve)
    assert result.stopped == "stalled"
    assert 1000 < result.iterations < 1_000_000
    assert result.exploitability == pytest.approx(best, rel=1e-2)  # measured in float32 before
    assert result.strategy.notes["iterations"] == str(
        next(point.iteration for point in result.curve if point.exploitability == best)
    )


def test_a_run_that_improves_does_not_stop(tree: sg.PublicTree) -> None:
    assert sg.solve(tree, "dcfr", iterations=5000, threads=1).stopped == "iterations"


@pytest.mark.parametrize(("storage", "least"), [("float32", 1e-4), ("int16", 1e-2)])
def test_targets_below_what_numbers_can_hold_are_refused(
    tree: sg.PublicTree, storage: str, least: float
) -> None:
    with pytest.raises(
        sg.SubgameError, match=f"target must be at least {least:g} with .*{storage}"
    ):
        sg.solve(tree, "dcfr", target=0.9 * least, storage=storage)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_measurements_that_would_miss_the_target_are_left_out(power: float) -> None:
    """A run that converges like a power of t stops soon after the target, with fewer of them."""

    def measured(limits: Limits) -> list[int]:
        curve = [Point(1, 0.0, 1.0)]
        while curve[-1].exploitability > 300**-power:
            t = limits.next_check(curve[-1].iteration, curve)
            assert t == limits.next_check(t - 1, curve)
            curve.append(Point(t, 0.0, t**-power))
        return [point.iteration for point in curve]

    every, few = measured(Limits(iterations=1000)), measured(Limits(target=300**-power))
    assert 300 <= few[-1] <= 303
    assert len(few) < 0.7 * len(every)
    assert Limits(target=1.0).next_check(0) == FIRST


# Measuring -----------------------------------------------------------------------------------
def test_measuring_makes_no_probabilities(
    tree: sg.PublicTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tree, parse("dcfr"), threads=1)
    run.advance(20)
    want = sg.exploitability(tree, run.strategy())
    monkeypatch.setattr(NumbaRangeEngine, "current", None)
    assert run.measure() == pytest.approx(want, rel=1e-6)


def test_a_solve_is_measured_exactly_once(
    tree: sg.PublicTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its target is reached it is measured in float32, whose error is far below `doubt`."""
    run = Run(tree, parse("dcfr"), threads=1)
    for count in (1, 20, 200):
        wins = run.advance(count, check=True)
        assert wins is not None
        assert abs(sum(wins) / 2 - run.measure()) < 0.1 * run.doubt
    asked, responses = list[Any](), NumbaRangeEngine.responses

    def count_one(self: NumbaRangeEngine, probs: tuple[Any, Any]) -> tuple[float, float]:
        asked.append(probs)
        return responses(self, probs)

    monkeypatch.setattr(NumbaRangeEngine, "responses", count_one)
    result = sg.solve(tree, "dcfr", target=0.1, threads=1)
    assert len(asked) == 1
    assert len(result.curve) > 1
    assert result.exploitability == pytest.approx(
        sg.exploitability(tree, result.strategy), abs=1e-5
    )


# Memory --------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "dcfr(average=last)"])
def test_probabilities_take_the_memory_of_regrets(
    tree: sg.PublicTree, schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where averages are played and the run does not go on, and they are the same."""
    kept = complete(*begin(tree, schedule, iterations=20, threads=1))
    used, made = [], NumbaRangeEngine.regrets

    def noted(self: NumbaRangeEngine, p: int, *, predictive: bool) -> Any:
        used.append(made(self, p, predictive=predictive))
        return used[-1]

    monkeypatch.setattr(NumbaRangeEngine, "regrets", noted)
    result = sg.solve(tree, schedule, iterations=20, threads=1)
    for probs, want, numbers in zip(result.strategy.probs, kept.strategy.probs, used, strict=True):
        np.testing.assert_array_equal(probs, want)
        assert np.shares_memory(probs, numbers.regret) == ("last" not in schedule)


def test_a_run_that_gave_up_its_regrets_is_over() -> None:
    run = begin(sg.compile(sg.games.load("kuhn")), "dcfr", iterations=2)[0]
    run.advance(2)
    run.release()
    for attempt in (lambda: run.advance(1), run.state, run.release):
        with pytest.raises(sg.SubgameError, match="its regrets were given up"):
            attempt()


@pytest.mark.parametrize("power", [0.7, 1.0, 2.0])
def test_the_time_left_is_that_of_a_curve_that_falls_by_a_power(power: float) -> None:
    """An iteration takes half a second, and exploitability is t to the minus power."""

    class Going(NamedTuple):
        iteration: int
        seconds: float
        curve: list[Point]

    points = [Point(t, t / 2, t**-power) for t in (16, 40)]
    run: Any = Going(50, 25.0, points)
    assert Limits(target=200**-power).left(run, 0.5) == pytest.approx((200 - 50) / 2)
    assert Limits(target=20**-power).left(run, 0.5) == 0
    assert Limits(target=200**-power, seconds=60).left(run, 0.5) == pytest.approx(35)
    assert Limits(iterations=70).left(run, 0.5) == pytest.approx(10)
    assert math.isnan(Limits(target=1e-3).left(run._replace(curve=points[:1]), 0.5))
