"""Monte Carlo CFR: right on average, and near an equilibrium in the end."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import tree_of
from subgame.engines.factory import engine
from subgame.engines.numba.sampling import places_of
from subgame.solve.schedule import parse
from subgame.solve.solver import Run

Floats = NDArray[np.float64]
SAMPLERS = ["external", "chance", "public"]
GAMES = ["kuhn", "random(seed=8)", "random(seed=29)"]
SEEDS = 2000


def started(tree: sg.PublicTree, schedule: str, regrets: str, seed: int = 0) -> Run:
    """A run about to begin, from no regrets or from some that make both players mix unevenly."""
    run = Run(tree, parse(schedule), seed)
    rng = np.random.default_rng(sum(regrets.encode()))
    for side in run.cfr.pair:
        if regrets != "none":
            side.regret[:] = rng.exponential(size=len(side.regret))
    return run


def gained(tree: sg.PublicTree, schedule: str, regrets: str, seed: int = 0) -> Floats:
    """What one iteration adds to player 0's regrets."""
    run = started(tree, schedule, regrets, seed)
    before: Floats = run.cfr.pair[0].regret.copy()
    run.advance(1)
    after: Floats = run.cfr.pair[0].regret
    return after - before


@pytest.mark.parametrize("name", ["random(seed=8)", "random(seed=29)"])
def test_these_games_have_public_chance(name: str) -> None:
    """Without it, sampling public chance would sample nothing."""
    chance = places_of(tree_of(name)).chance
    assert np.count_nonzero((chance > 0) & (chance < 1)) >= 9


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("regrets", ["none", "some"])
@pytest.mark.parametrize("name", GAMES)
def test_regrets_are_unbiased(name: str, regrets: str, sampling: str) -> None:
    """Their mean over many seeds is what exact CFR computes, within six standard errors."""
    tree, schedule = tree_of(name), f"mccfr(sampling={sampling})"
    exact = gained(tree, "cfr", regrets)
    drawn = np.array([gained(tree, schedule, regrets, seed) for seed in range(SEEDS)])
    error = drawn.std(axis=0) / np.sqrt(SEEDS)
    assert np.all(np.abs(drawn.mean(axis=0) - exact) <= 6 * error + 1e-12)
    assert np.any(np.abs(exact) > 12 * error), "a factor of two would be seen"


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("name", GAMES)
def test_averages_weigh_every_iteration_alike(name: str, sampling: str) -> None:
    """What an infoset's average gains is its owner's reach times a number of the game's alone.

    So strategies of different iterations are averaged in proportion to their reach, as they must.
    """
    tree, schedule = tree_of(name), f"mccfr(sampling={sampling})"
    side, result = tree.players[1], []
    for regrets in ("some", "others"):
        runs = [started(tree, schedule, regrets, seed) for seed in range(SEEDS)]
        plan = engine(tree).plan(
            1,
            sg.Strategy.from_weights(tree, tuple(side.regret for side in runs[0].cfr.pair)).probs[
                1
            ],
        )
        for run in runs:
            run.advance(1)
        drawn = np.array([np.asarray(run.cfr.pair[1].average)[1:] / plan[1:] for run in runs])
        result.append((drawn.mean(axis=0), drawn.std(axis=0) / np.sqrt(SEEDS)))
    (one, error_one), (two, error_two) = result
    assert np.all(one > 0)
    assert np.all(np.abs(one - two) <= 6 * np.hypot(error_one, error_two) + 1e-12)
    for i in range(len(side.names)):
        weights = one[side.sequences(i) - 1]
        assert weights == pytest.approx(weights[0]), "the same for every action"


@pytest.mark.parametrize(
    ("sampling", "iterations"), [("external", 50_000), ("chance", 20_000), ("public", 2_000)]
)
def test_samplers_converge_on_kuhn(sampling: str, iterations: int) -> None:
    tree = tree_of("kuhn")
    result = sg.solve(tree, f"mccfr(sampling={sampling})", iterations=iterations, seed=1)
    assert result.exploitability < 2e-2
    assert result.value == pytest.approx(-1 / 18, abs=2e-2)


@pytest.mark.parametrize("sampling", SAMPLERS)
def test_sampled_averages_converge(sampling: str) -> None:
    """Fifty times the iterations make the average much better; the last iterate stays bad."""
    tree, options = tree_of("random(seed=29)"), f"sampling={sampling}"
    early, late = (
        sg.solve(tree, f"mccfr({options})", iterations=count, seed=2) for count in (200, 10_000)
    )
    last = sg.solve(tree, f"mccfr({options}, average=last)", iterations=10_000, seed=2)
    assert late.exploitability < 0.2 * early.exploitability
    assert late.exploitability < 0.2 * last.exploitability
    assert late.exploitability < 0.1  # payoffs lie between -10 and 10
    lost_by_0, lost_by_1 = late.exploitability.per_seat
    assert -lost_by_0 <= sg.solve_lp(tree).value <= lost_by_1


@pytest.mark.parametrize("sampling", SAMPLERS)
def test_discounts_apply_to_samples_as_well(sampling: str) -> None:
    """Linear weights: the average after two iterations holds half of the first."""
    tree = tree_of("kuhn")
    plain, linear = (
        started(tree, f"mccfr(sampling={sampling}, {more})", "some", seed=3)
        for more in ("gamma=0", "gamma=1")
    )
    for run in (plain, linear):
        run.advance(1)
    first = [np.array(side.average) for side in plain.cfr.pair]
    for run in (plain, linear):
        run.advance(1)
    for p in (0, 1):
        second = np.asarray(plain.cfr.pair[p].average) - first[p]
        np.testing.assert_allclose(
            np.asarray(linear.cfr.pair[p].average), first[p] / 2 + second, atol=1e-12
        )


def test_compiled_walks_survive_being_cached() -> None:
    """A fresh process loads them from Numba's cache, where recursion once ended in a crash."""
    tree = tree_of("kuhn")
    here = [sg.solve(tree, name, iterations=50, seed=4).value for name in ("es", "cs", "pcs")]
    program = (
        "import subgame as sg\n"
        "tree = sg.compile(sg.games.load('kuhn'))\n"
        "for name in ('es', 'cs', 'pcs'):\n"
        "    print(sg.solve(tree, name, iterations=50, seed=4).value)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [float(line) for line in done.stdout.split()] == here
