"""When a solve on the way to a target is measured, on curves that are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subgame as sg
from holdem_games import GAMES
from subgame.solve.limits import FARTHEST, FIRST, Limits
from subgame.solve.results import Point

Curve = Callable[[int], float]
LAST = 20_000
"""The iteration after which a run is given up."""


def followed(limits: Limits, curve: Curve) -> list[Point]:
    """The points that a solve measures, up to the target."""
    points: list[Point] = []
    t = 0
    while t < LAST and not limits.reached(points):
        ahead = limits.next_check(t, points)
        assert ahead > t
        # Runs go in slices: to be asked again on the way changes nothing.
        assert all(limits.next_check(k, points) == ahead for k in range(t, ahead, 1 + ahead // 7))
        t = ahead
        points.append(Point(t, 0.0, curve(t)))
    return points


def power(exponent: float, noise: float, seed: int) -> Curve:
    """Exploitability that falls like a power of the iterations, with noise on its logarithm."""
    shakes = np.random.default_rng(seed).uniform(-noise, noise, LAST + LAST)
    return lambda t: 100.0 * t**-exponent * math.exp(float(shakes[t % len(shakes)]))


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    """Powers, stairs, plateaus, and curves that rise again."""
    exponent = draw(st.floats(0.3, 3.0))
    smooth = power(exponent, draw(st.floats(0, 0.5)), draw(st.integers(0, 2**31)))
    level = draw(st.floats(1e-6, 50.0))
    width = draw(st.integers(1, 300))
    kinds: list[Curve] = [
        smooth,
        lambda t: smooth(1 + t // width * width),
        lambda t: max(level, smooth(t)),
        lambda t: smooth(t) * (1 + t / 200),
        lambda t: 0.0 if t > width else smooth(t),
    ]
    return draw(st.sampled_from(kinds))


@settings(max_examples=300, deadline=None)
@given(curves(), st.floats(1e-3, 50.0))
def test_no_point_is_late_and_none_stops_above_the_target(curve: Curve, target: float) -> None:
    limits = Limits(target=target)
    points = followed(limits, curve)
    assert points[0].iteration == FIRST
    # No more than four times the iterations go by after the first point, and twice after others.
    for k, (one, two) in enumerate(itertools.pairwise(points)):
        far = two.iteration / one.iteration
        assert far <= (9 / 8 if one.iteration > FARTHEST else 4 if k == 0 else 2)
    assert all(point.exploitability > target for point in points[:-1])
    assert points[-1].exploitability <= target or points[-1].iteration >= LAST


@settings(max_examples=300, deadline=None)
@given(curves(), st.floats(1e-3, 50.0))
def test_points_are_as_few_as_a_logarithm(curve: Curve, target: float) -> None:
    """Whatever the curve, an interval is at least a 128th of the iterations."""
    points = followed(Limits(target=target), curve)
    last = points[-1].iteration
    assert len(points) <= 130 + 140 * math.log(max(1, min(last, FARTHEST) / 128)) + 9 * math.log(
        max(1, last / FARTHEST)
    )


@settings(max_examples=300, deadline=None)
@given(st.floats(1.0, 2.0), st.floats(0, 0.02), st.integers(0, 2**31), st.floats(0.01, 2.0))
def test_a_curve_that_falls_steadily_is_measured_a_few_times(
    exponent: float, noise: float, seed: int, target: float
) -> None:
    """And it does not run on for long after the target is reached."""
    curve = power(exponent, noise, seed)
    points = followed(Limits(target=target), curve)
    last = points[-1].iteration
    assert len(points) <= 7 + 2 * math.log2(last / FIRST) + 9 * math.log(max(1, last / FARTHEST))
    due = (100.0 / target) ** (1 / exponent) * math.exp(2 * noise / exponent)
    assert last <= max(FIRST, 4 * FIRST if len(points) == 2 else 0, 1.3 * due + 2)


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_a_fixed_interval_is_kept(every: int) -> None:
    points = followed(Limits(target=0.5, check_every=every), power(1.0, 0.1, 3))
    assert all(point.iteration == every * (k + 1) for k, point in enumerate(points))


@pytest.mark.parametrize("name", ["river", "turn", "kuhn", "leduc"])
@pytest.mark.parametrize("target", [0.5, 0.05])
def test_solves_stop_at_their_target(name: str, target: float) -> None:
    """What is reported is measured in float64, by best responses to the strategy returned."""
    tree = sg.compile(GAMES[name] if name in GAMES else sg.games.load(name))
    result = sg.solve(tree, "hs-dcfr", target=target)
    exact = sg.exploitability(tree, result.strategy)
    assert result.stopped == "target"
    assert float(result.exploitability) <= target
    assert float(exact) == pytest.approx(float(result.exploitability), rel=1e-4, abs=1e-6)
    assert all(point.exploitability > target for point in result.curve[:-1])
