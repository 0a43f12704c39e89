"""`solve`: what it converges to, when it stops, and that it can be stopped and taken up again."""

from __future__ import annotations

import json
import math
import pickle
import signal
import threading
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

import subgame as sg
from helpers import RANDOM, SMALL, tree_of
from subgame.solve.evaluate import expected_value, head_to_head
from subgame.solve.results import Result, Step
from subgame.solve.schedule import NAMED, parse
from subgame.solve.solver import Run
from subgame.tree.files import read_tensors

matplotlib.use("Agg")

EXACT = ["cfr", "cfr+", "lcfr", "dcfr", "hs-dcfr", "pcfr+", "pdcfr+", "sapcfr+", "cfr-br"]
SAMPLED = ["mccfr(sampling=external)", "mccfr(sampling=chance)", "mccfr(sampling=public)"]
ODD = [
    "cfr+(average=last)",
    "cfr-br(responder=0)",
    "pcfr+(average=exponential)",
    "mccfr(sampling=public, beta=-inf)",
]


# Convergence ------------------------------------------------------------------------------------


def test_every_schedule_is_tested_here() -> None:
    assert {parse(name).name for name in EXACT + SAMPLED} == set(NAMED)


@pytest.mark.parametrize(
    ("name", "averages"),
    [
        ("cfr(alternating=true)", "uniform"),
        ("cfr+", "uniform linear quadratic exponential"),
        ("lcfr", "uniform linear quadratic exponential last"),
        ("dcfr", "uniform linear quadratic exponential"),
        ("pcfr+", "uniform linear quadratic exponential last"),
        ("pdcfr+", "uniform linear quadratic exponential last"),
        ("cfr-br", "linear"),
    ],
)
def test_schedules_converge_on_kuhn(name: str, averages: str) -> None:
    """Every average; the last iterate where it is known to do well."""
    tree, plan = tree_of("kuhn"), parse(name)
    for average in averages.split():
        schedule = NAMED[plan.name](average=average, alternating=plan.alternating)
        result = sg.solve(tree, schedule, iterations=2000)
        assert result.exploitability < 5e-3, average
        assert result.value == pytest.approx(-1 / 18, abs=5e-3), average


def test_simultaneous_cfr_converges_on_kuhn() -> None:
    """Slowly: with the square root of the iterations (Zinkevich et al. 2007)."""
    assert sg.solve(tree_of("kuhn"), "cfr", iterations=4000).exploitability < 5e-3


@pytest.mark.parametrize("schedule", EXACT)
def test_the_named_defaults_converge(schedule: str) -> None:
    result = sg.solve(tree_of("leduc"), schedule, iterations=400)
    assert result.exploitability < {"cfr": 0.1, "lcfr": 0.1, "cfr-br": 0.1}.get(schedule, 0.01)


# Stopping ---------------------------------------------------------------------------------------


def test_stops_after_iterations() -> None:
    result = sg.solve(tree_of("kuhn"), iterations=77)
    assert (result.stopped, result.iterations, result.curve[-1].iteration) == ("iterations", 77, 77)


def test_a_thousand_iterations_unless_told_otherwise() -> None:
    result = sg.solve(tree_of("kuhn"))
    assert (result.stopped, result.iterations, result.schedule) == ("iterations", 1000, "cfr+")


def test_stops_after_seconds() -> None:
    """When no more iteration fits into what is left."""
    steps: list[Step] = []
    result = sg.solve(tree_of("kuhn"), seconds=0.3, iterations=10**6, progress=steps.append)
    assert result.stopped == "seconds"
    assert len(steps) > 2
    assert all(step.seconds < 0.3 for step in steps[:-1])
    assert steps[-1].seconds == result.seconds
    assert steps[-1].iteration == result.iterations < 10**6


def test_stops_at_the_target() -> None:
    result = sg.solve(tree_of("kuhn"), target=1e-3, iterations=10**6, seconds=3600)
    assert result.stopped == "target"
    assert result.exploitability <= 1e-3
    assert all(point.exploitability > 1e-3 for point in result.curve[:-1])


def test_whole_floats_are_counts() -> None:
    result = sg.solve(tree_of("kuhn"), iterations=1e2, check_every=3e1)  # type: ignore[arg-type]
    assert [point.iteration for point in result.curve] == [30, 60, 90, 100]


# The curve --------------------------------------------------------------------------------------


def test_curve_is_measured_at_fixed_iterations() -> None:
    """Doubling to 32, then an eighth more each time, and at the end."""
    result = sg.solve(tree_of("kuhn"), iterations=100)
    assert [point.iteration for point in result.curve] == [
        1,
        2,
        4,
        8,
        16,
        32,
        36,
        40,
        45,
        50,
        56,
        63,
        70,
        78,
        87,
        97,
        100,
    ]


@pytest.mark.parametrize(("every", "wanted"), [(7, [7, 14, 20]), (20, [20]), (50, [20])])
def test_check_every(every: int, wanted: list[int]) -> None:
    result = sg.solve(tree_of("kuhn"), iterations=20, check_every=every)
    assert [point.iteration for point in result.curve] == wanted


def test_curve_says_what_was_measured() -> None:
    """Its points are the exploitability of shorter solves; time only moves on."""
    tree = tree_of("kuhn")
    result = sg.solve(tree, "dcfr", iterations=40)
    for point in result.curve:
        shorter = sg.solve(tree, "dcfr", iterations=point.iteration)
        assert point.exploitability == shorter.exploitability
    seconds = [point.seconds for point in result.curve]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] <= result.seconds
    assert result.exploitability == sg.exploitability(tree, result.strategy)
    assert result.value == expected_value(tree, result.strategy)


def test_progress_moves_from_nothing_to_all() -> None:
    steps: list[Step] = []
    result = sg.solve(tree_of("leduc"), iterations=300, progress=steps.append)
    shares = [step.share for step in steps]
    assert shares == sorted(shares)
    assert shares == [step.iteration / 300 for step in steps]
    assert 0 < shares[0] < shares[-1] == 1
    assert steps[-1].iteration == result.iterations
    assert len(steps) >= len(result.curve)
    measured = {point.iteration: point.exploitability for point in result.curve[:-1]}
    for step in steps[:-1]:
        if step.iteration in measured:
            assert step.exploitability == measured[step.iteration]


@pytest.mark.parametrize("limit", [{"seconds": 0.3}, {"target": 1e-3}])
def test_progress_towards_other_limits(limit: dict[str, float]) -> None:
    steps: list[Step] = []
    sg.solve(tree_of("leduc"), progress=steps.append, **limit)  # type: ignore[arg-type]
    assert all(0 <= step.share <= 1 for step in steps)
    assert steps[0].share < 0.9
    assert steps[-1].share == 1


# Taking up again --------------------------------------------------------------------------------


def assert_same_run(one: Path, two: Path) -> None:
    """Two checkpoints are the same to the last bit, the clock apart."""
    (head_one, data_one), (head_two, data_two) = read_tensors(one), read_tensors(two)
    assert data_one.keys() == data_two.keys()
    assert {"regret0", "regret1", "average0", "average1", "random"} <= data_one.keys()
    for name, values in data_one.items():
        assert values.tobytes() == data_two[name].tobytes(), name
    curves = []
    for head in (head_one, head_two):
        del head["seconds"]
        curves.append([(point[0], point[2]) for point in json.loads(head.pop("curve"))])
    assert head_one == head_two
    assert curves[0] == curves[1]


def assert_same_result(one: Result, two: Result) -> None:
    """Two results are the same to the last bit, the clock apart."""
    for p in (0, 1):
        assert one.strategy.probs[p].tobytes() == two.strategy.probs[p].tobytes()
    assert one.strategy.notes == two.strategy.notes
    assert one.exploitability.per_seat == two.exploitability.per_seat
    facts = ("game", "schedule", "seed", "iterations", "value", "stopped")
    assert [getattr(one, fact) for fact in facts] == [getattr(two, fact) for fact in facts]
    for a, b in zip(one.curve, two.curve, strict=True):
        assert (a.iteration, a.exploitability) == (b.iteration, b.exploitability)


@pytest.mark.parametrize("stop", [1, 37])
@pytest.mark.parametrize("schedule", EXACT + SAMPLED + ODD)
def test_resumed_is_uninterrupted(schedule: str, stop: int, tmp_path: Path) -> None:
    """Iteration 37 is not one at which the curve is measured."""
    tree, whole, broken = tree_of("leduc"), tmp_path / "whole", tmp_path / "broken"
    at_once = sg.solve(tree, schedule, iterations=60, seed=5, checkpoint=whole)
    first = sg.solve(tree, schedule, iterations=stop, seed=5, checkpoint=broken)
    assert first.curve[-1].iteration == stop
    resumed = sg.solve(
        tree, schedule, iterations=60, seed=5, resume=str(broken), checkpoint=str(broken)
    )
    assert_same_run(whole, broken)
    assert_same_result(at_once, resumed)
    assert resumed.seconds > first.seconds


@pytest.mark.parametrize("schedule", ["pcfr+", "mccfr(sampling=external)"])
def test_interrupted_and_resumed(schedule: str, tmp_path: Path) -> None:
    """Ctrl-C ends the solve after whole iterations and leaves a checkpoint to go on from."""
    tree, whole, broken = tree_of("leduc"), tmp_path / "whole", tmp_path / "broken"
    at_once = sg.solve(tree, schedule, iterations=300, seed=5, checkpoint=whole)
    before = signal.getsignal(signal.SIGINT)
    steps: list[Step] = []

    def press(step: Step) -> None:
        steps.append(step)
        if len(steps) == 9:
            signal.raise_signal(signal.SIGINT)

    stopped = sg.solve(tree, schedule, iterations=300, seed=5, checkpoint=broken, progress=press)
    assert stopped.stopped == "interrupted"
    assert len(steps) == 10, "one more slice at most"
    assert stopped.iterations == steps[-1].iteration < 300
    assert stopped.exploitability == sg.exploitability(tree, stopped.strategy)
    assert signal.getsignal(signal.SIGINT) is before
    resumed = sg.solve(tree, schedule, iterations=300, seed=5, resume=broken, checkpoint=broken)
    assert_same_run(whole, broken)
    assert_same_result(at_once, resumed)


def test_second_interrupt_is_not_caught() -> None:
    before = signal.getsignal(signal.SIGINT)

    def press_twice(step: Step) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        sg.solve(tree_of("kuhn"), iterations=100, progress=press_twice)
    assert signal.getsignal(signal.SIGINT) is before


def test_solves_off_the_main_thread() -> None:
    """Where no signal can be caught."""
    results: list[Result] = []
    thread = threading.Thread(
        target=lambda: results.append(sg.solve(tree_of("kuhn"), iterations=9))
    )
    thread.start()
    thread.join()
    assert_same_result(results[0], sg.solve(tree_of("kuhn"), iterations=9))


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    tree, path = tree_of("kuhn"), tmp_path / "run"
    done = sg.solve(tree, "dcfr", iterations=37, checkpoint=path)
    again = sg.solve(tree, "dcfr", iterations=37, resume=path)
    assert_same_result(done, again)


@pytest.mark.parametrize("schedule", SAMPLED)
def test_seeds(schedule: str) -> None:
    """A seed gives the same bytes again, another seed others."""
    tree = tree_of("leduc")
    one, same, other = (sg.solve(tree, schedule, iterations=30, seed=s) for s in (6, 6, 7))
    assert_same_result(one, same)
    for p in (0, 1):
        assert one.strategy.probs[p].tobytes() != other.strategy.probs[p].tobytes()


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        *(
            ({name: wrong}, f"{name} must be a whole number of at least 1, not {wrong}.")
            for name in ("iterations", "check_every")
            for wrong in (-1, 0, 1.5, math.nan, math.inf, True, "ten")
        ),
        *(
            ({name: wrong}, f"{name} must be a number above 0, not {wrong}.")
            for name in ("seconds", "target")
            for wrong in (-1, 0, math.nan, True, "ten")
        ),
        *(
            ({"seed": wrong}, f"seed must be a whole number from 0 to 2^63 - 1, not {wrong}.")
            for wrong in (-1, 2**63, 10**400, 1.5, math.nan, True, "ten", None)
        ),
        ({"schedule": "cfr++"}, "There is no schedule called 'cfr++'; did you mean '"),
        (
            {"tree": "kuhn"},
            "The tree must be a PublicTree, as subgame.compile(game) makes it, not str.",
        ),
        ({"resume": "nowhere"}, "There is no file nowhere; expected a checkpoint"),
        ({"checkpoint": "nowhere/run"}, "nowhere/run cannot be written: there is no folder now"),
        ({"checkpoint": "."}, ". is a folder, not a file."),
    ],
)
def test_bad_input(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.SubgameError) as error:
        sg.solve(**{"tree": tree_of("kuhn"), "iterations": 1, **options})
    assert str(error.value).startswith(sentence)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    sg.solve(tree_of("kuhn"), "dcfr", iterations=5, seed=1, checkpoint=path)
    return path


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"schedule": "dcfr(alpha=2)"},
            "was made by the schedule dcfr, not by dcfr(alpha=2); resume with the same one.",
        ),
        ({"seed": 2}, "was made with seed 1, not 2; resume with"),
        ({"tree": tree_of("leduc")}, "was made for another tree: its game is kuhn, that of this"),
    ],
)
def test_resuming_something_else(options: dict[str, Any], complaint: str, checkpoint: Path) -> None:
    asked = {"tree": tree_of("kuhn"), "schedule": "dcfr", "seed": 1, "resume": checkpoint}
    with pytest.raises(sg.SubgameError) as error:
        sg.solve(**{**asked, **options})
    assert str(error.value).startswith(f"{checkpoint} {complaint}")


def test_resuming_a_strategy(tmp_path: Path) -> None:
    path = tmp_path / "strategy"
    sg.Strategy.uniform(tree_of("kuhn")).save(path)
    with pytest.raises(sg.SubgameError) as error:
        sg.solve(tree_of("kuhn"), resume=path)
    assert str(error.value) == (
        f"{path} is not a file of kind subgame-checkpoint-1 but of kind subgame-strategy-2."
    )


def test_resuming_a_truncated_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    whole, cut = checkpoint.read_bytes(), tmp_path / "cut"
    for size in range(0, len(whole), 41):
        cut.write_bytes(whole[:size])
        with pytest.raises(sg.SubgameError) as error:
            sg.solve(tree_of("kuhn"), "dcfr", seed=1, resume=cut)
        assert f"{cut} is not a safetensors file, or was cut short; expected" in str(error.value)


# Results ----------------------------------------------------------------------------------------


def test_result_as_a_dictionary() -> None:
    result = sg.solve(tree_of("kuhn"), "mccfr", iterations=10, seed=3)
    fields = json.loads(json.dumps(result.as_dict()))
    assert set(fields) == {
        "game",
        "schedule",
        "iterations",
        "seconds",
        "value",
        "exploitability",
        "exploitability_per_seat",
        "stopped",
        "seed",
    }
    assert fields["exploitability"] == result.exploitability.mean
    assert fields["exploitability_per_seat"] == list(result.exploitability.per_seat)
    assert (fields["game"], fields["schedule"], fields["seed"]) == ("kuhn", "mccfr", 3)
    assert "stopped by iterations" in repr(result)


def test_result_is_frozen() -> None:
    result = sg.solve(tree_of("kuhn"), iterations=1)
    with pytest.raises(FrozenInstanceError):
        result.value = 1.0  # type: ignore[misc]
    assert isinstance(result.curve, tuple)


def test_plot_draws_the_curve() -> None:
    import matplotlib.pyplot as plt

    result = sg.solve(tree_of("kuhn"), "dcfr", iterations=50)
    axes = result.plot(color="red")
    try:
        (line,) = axes.get_lines()
        drawn = np.column_stack(line.get_data())
        wanted = [(point.iteration, point.exploitability) for point in result.curve]
        assert drawn.tolist() == [list(point) for point in wanted]
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert (line.get_label(), line.get_color()) == ("dcfr", "red")
        assert axes.get_title() == "kuhn"
        assert result.plot(axes) is axes
        assert len(axes.get_lines()) == 2
    finally:
        plt.close("all")


@pytest.mark.parametrize("schedule", ["cfr+", "cfr+(average=last)", "mccfr"])
def test_strategies_are_not_disturbed_by_going_on(schedule: str) -> None:
    run = Run(tree_of("kuhn"), parse(schedule))
    run.advance(5)
    early = run.strategy()
    kept = [probs.tobytes() for probs in early.probs]
    run.advance(5)
    assert [probs.tobytes() for probs in early.probs] == kept
    assert [probs.tobytes() for probs in run.strategy().probs] != kept
    assert early.notes["iterations"] == "5"


def test_results_share_no_arrays() -> None:
    """Two solves of one tree, and judging them, leave each other alone."""
    tree = tree_of("kuhn")
    one = sg.solve(tree, iterations=10)
    kept = [probs.tobytes() for probs in one.strategy.probs]
    two = sg.solve(tree, iterations=20)
    sg.best_response(tree, one.strategy, 0)
    sg.solve_lp(tree)
    assert [probs.tobytes() for probs in one.strategy.probs] == kept
    for p in (0, 1):
        assert not np.shares_memory(one.strategy.probs[p], two.strategy.probs[p])


# The judge --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL + RANDOM[:10])
def test_head_to_head_is_antisymmetric(name: str) -> None:
    tree = tree_of(name)
    one, two = sg.Strategy.random(tree, 1), sg.Strategy.random(tree, 2)
    there, back = head_to_head(tree, one, two), head_to_head(tree, two, one)
    assert there.mean == -back.mean
    assert there.mean != 0
    assert there.per_seat == (-back.per_seat[1], -back.per_seat[0])
    assert there.mean == pytest.approx(sum(there.per_seat) / 2)
    assert there.per_seat[0] == expected_value(tree, one, two)
    assert head_to_head(tree, one, one).mean == 0


def test_nobody_wins_from_an_equilibrium() -> None:
    tree = tree_of("leduc")
    best = sg.solve_lp(tree).strategy
    for seed in range(5):
        assert head_to_head(tree, best, sg.Strategy.random(tree, seed)).mean > 0


def test_exploitability_is_a_number_that_knows_its_seats() -> None:
    tree = tree_of("kuhn")
    gap = sg.exploitability(tree, sg.Strategy.uniform(tree))
    assert gap == gap.mean == sum(gap.per_seat) / 2 == pytest.approx(11 / 24)
    back = pickle.loads(pickle.dumps(gap))
    assert (back, back.per_seat) == (gap, gap.per_seat)
    assert repr(gap) == f"Exploitability(mean={gap.mean!r}, per_seat={gap.per_seat!r})"


def test_evaluating_what_cannot_be_evaluated() -> None:
    tree, other = tree_of("kuhn"), sg.Strategy.uniform(tree_of("leduc"))
    sentence = r"The strategy was made for another tree: for <.*leduc.*>, not for <.*kuhn"
    with pytest.raises(sg.SubgameError, match=sentence):
        sg.exploitability(tree, other)
    with pytest.raises(sg.SubgameError, match=sentence):
        expected_value(tree, sg.Strategy.uniform(tree), other)
    with pytest.raises(sg.SubgameError, match=r"The strategy must be a Strategy, not dict\."):
        sg.exploitability(tree, {})  # type: ignore[arg-type]
    with pytest.raises(sg.SubgameError, match=r"The player must be 0 or 1, not 2\."):
        sg.best_response(tree, sg.Strategy.uniform(tree), 2)
