"""Gadgets at work: learners beside the gadget games, and random alternatives beside quadrature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import subgame as sg
from helpers import tree_of
from subgame.engines.arrays import normalise, regret_matching
from subgame.refine.behind import GadgetRun
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import Choice, GadgetInputs, RandomAlternative
from subgame.refine.sequence.subgames import SequenceSubgame, gadget_form, sequence_subgames
from subgame.refine.subgame import Trunk
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.public_tree import places, restrict
from subgame.tree.sequence.form import assemble

Floats = NDArray[np.float64]
CASES = [
    ("leduc", "cc"),
    ("random(seed=1)", "depth 2"),
    ("random(seed=3)", "depth 2"),
    ("random(seed=8)", "depth 2"),
]
SCHEDULES = ["cfr", "cfr+", "dcfr", "pcfr+", "pdcfr+", "pcfr+(alternating=false)"]


def case(name: str, at: str, player: int, gadget: Gadget) -> tuple[SequenceSubgame, GadgetInputs]:
    """A subgame where `player` acts, and what its gadget knows under a random blueprint."""
    tree = tree_of(name)
    subgame = next(s for s in sequence_subgames(tree, at) if s.tree.players[player].names)
    inputs, _ = Trunk(sg.Strategy.random(tree, seed=4), 1 - player).inputs(subgame, gadget)
    return subgame, inputs


def inside(run: Run, subgame: SequenceSubgame, p: int) -> Floats:
    """[q] player `p`'s strategy of a run on the gadget game, in the subgame's own tree."""
    sigma: Floats = np.asarray(run.played()[p])
    return restrict(sigma, places(subgame.tree.players[p], run.tree.players[p]))


# The learner beside the gadget game --------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("name", "at"), CASES)
@pytest.mark.parametrize("gadget", [sg.Resolve(), sg.Maxmargin()], ids=["resolve", "maxmargin"])
def test_a_learner_takes_the_steps_of_the_gadget_game(
    gadget: Gadget, name: str, at: str, player: int, schedule: str
) -> None:
    """The same schedule on both: our strategy, the entry and the gap after 1, 2, 10, 50 iterations.

    In the gadget game our reach is a part of the payoffs, which scales our regrets at a root
    infoset alike. Games without exact ties, which rounding would break.
    """
    subgame, inputs = case(name, at, player, gadget)
    plan = parse(schedule)
    learned = GadgetRun(subgame.tree, plan, gadget, inputs)
    game = Run(assemble(gadget_form(gadget, subgame.form, inputs)), plan)
    for count in (1, 1, 8, 40):
        learned.advance(count)
        game.advance(count)
        ours, same = learned.played()[player], inside(game, subgame, player)
        # As plans: where we hardly come ourselves, averages are hardly more than rounding.
        one, two = (learned.engine.plan(player, sigma) for sigma in (ours, same))
        np.testing.assert_allclose(one, two, atol=1e-9)
        measured, exact = (float(run.evaluate(run.played())) for run in (learned, game))
        assert measured == pytest.approx(exact, abs=1e-9)
        np.testing.assert_allclose(entry_of(learned), entry_in(game, gadget, inputs), atol=1e-9)


def entry_of(run: GadgetRun) -> Floats:
    """[s] how often the opponent has entered on average, at the root infosets that are reached."""
    learner = run.cfr.learner
    assert isinstance(learner, Choice)
    result = regret_matching(learner.average, learner.axis, learner.real)
    out: Floats = np.asarray(result)[0, 0][np.asarray(run.inputs.weight) > 0]
    return out


def entry_in(run: Run, gadget: Gadget, inputs: GadgetInputs) -> Floats:
    """[s] the same in the gadget game."""
    o, reached = inputs.opponent, np.flatnonzero(np.asarray(inputs.weight) > 0)
    side, sigma = run.tree.players[o], run.played()[o]
    if gadget.entry == "choose":  # one infoset, an action per root infoset that is reached
        result = [i for i, name in enumerate(side.names) if name == "which root infoset?"]
        return np.asarray(sigma)[side.sequences(result[0])]
    enter = [i for i, name in enumerate(side.names) if name.endswith("· enter?")]
    assert [side.names[i] for i in enter] == [f"{slot} · enter?" for slot in side.slots]
    return np.array([sigma[side.sequences(enter[s])[0]] for s in reached])


@pytest.mark.parametrize("schedule", ["cfr+", "pdcfr+"])
@pytest.mark.parametrize(
    "gadget",
    [
        sg.Resolve(),
        sg.Maxmargin(),
        sg.Resolve(refined=0.2),
        sg.Distributional("respond"),
        sg.Distributional("hedge"),
    ],
    ids=lambda g: f"{g.name}-{g.form}-{g.refined}",
)
def test_learners_are_the_same_on_pytorch(gadget: Gadget, schedule: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    subgame, inputs = case("leduc", "cc", 0, gadget)
    runs = [
        GadgetRun(subgame.tree, parse(schedule), gadget, inputs, device)
        for device in ("cpu", "torch")
    ]
    for count in (1, 1, 8):
        for run in runs:
            run.advance(count)
        one, two = (np.asarray(run.played()[0]) for run in runs)
        np.testing.assert_allclose(one, two, atol=1e-8)
        one, two = (np.asarray(run.cfr.reach[1]) for run in runs)
        np.testing.assert_allclose(one, two, atol=1e-8)


def test_a_tremble_keeps_every_choice() -> None:
    """Each of two choices keeps eps / sqrt(t); where there are more, they share 2 eps."""
    for gadget in (sg.Resolve(refined=0.2), sg.Maxmargin(refined=0.2)):
        subgame, inputs = case("leduc", "cc", 0, gadget)
        run = GadgetRun(subgame.tree, parse("cfr+"), gadget, inputs)
        learner = run.cfr.learner
        assert isinstance(learner, Choice)
        choices = 2 if gadget.entry == "leave" else len(inputs.weight)
        for t in range(1, 20):
            sigma = learner._trembled(learner.strategy())
            least = 0.4 / choices / np.sqrt(t)
            np.testing.assert_allclose(sigma.sum(axis=learner.axis), 1)
            assert sigma.min() >= least - 1e-12
            np.testing.assert_allclose(
                sigma, least + (1 - least * choices) * learner.strategy(), atol=1e-12
            )
            run.advance(1)


def test_normalise_and_regret_matching() -> None:
    result = normalise(np.array([2.0, 5.0]), np.array([0.5, 0.0]))
    assert result.tolist() == [4.0, 0.0]  # nobody comes to the second
    played = regret_matching(np.array([[3.0, -1.0, 1.0], [-1.0, -2.0, 0.0]]), axis=1)
    np.testing.assert_allclose(played, [[0.75, 0, 0.25], [1 / 3, 1 / 3, 1 / 3]], atol=1e-12)
    real = np.array([[True, True, False]])
    np.testing.assert_allclose(
        regret_matching(np.array([[1.0, 3.0, 9.0]]), 1, real), [[0.25, 0.75, 0]], atol=1e-12
    )


# Random alternatives -----------------------------------------------------------------------------


def random_alternative(
    form: Literal["respond", "hedge"], mean: Any, spread: Any, weight: Any = 1.0
) -> RandomAlternative:
    """Alternatives of one root."""
    mean, spread, weight = (
        np.array(array, dtype=np.float64)[None]
        for array in np.broadcast_arrays(mean, spread, weight)
    )
    inputs = GadgetInputs(
        opponent=1,
        our_reach=np.ones((1, 1)),
        opponent_reach=np.ones_like(mean),
        weight=weight,
        alternative=mean,
        cbv=mean,
        spread=spread,
    )
    return RandomAlternative(inputs, form)


MIXTURE = 3e-9
"""How far the mixture of normal distribution functions may be from the logistic function."""


def hedged(v: Floats, mean: float, spread: Floats | float, rate: Floats | float) -> Floats:
    """Eq. (3) by the learner, at values `v` whose sum and variance so far give this `rate`.

    eta_t = sqrt(log 2) / 3 sqrt(t / variance): the past is made up so that it says so, with its
    mean at `v`.
    """
    v = np.atleast_1d(np.asarray(v, dtype=np.float64))
    learner = random_alternative("hedge", np.full_like(v, mean), np.broadcast_to(spread, v.shape))
    variance = np.maximum(v * v, 1.0)
    t = 9 * np.asarray(rate, dtype=np.float64) ** 2 * variance / np.log(2)
    learner.seen[:] = np.stack([t - 1, (t - 1) * v, t * variance + (t - 1) * v * v])[:, None]
    learner.observe(v[None], np.zeros((2, 4)))
    out: Floats = learner.reach[0].copy()
    return out


def hedged_by_quadrature(v: float, mean: float, spread: float, rate: float) -> float:
    """Brown & Sandholm 2017, eq. (3), by adaptive quadrature split where it is steep."""

    def density(z: float) -> float:
        return float(expit(-rate * (mean + spread * z - v)) * norm.pdf(z))

    middle, steep = (v - mean) / spread, 10 / (rate * spread)
    cuts = {round(middle + k * steep, 6) for k in (-4, -1, 0, 1, 4)} | {-3.0, 0.0, 3.0}
    edges = [-12.0, *sorted(z for z in cuts if -12 < z < 12), 12.0]
    pieces = (quad(density, lo, hi, epsabs=1e-13, limit=100) for lo, hi in pairwise(edges))
    return float(sum(result for result, _ in pieces))


@pytest.mark.parametrize("steepness", [0.01, 1, 2, 5, 30, 1000])
def test_hedge_integral(steepness: float) -> None:
    """`steepness` is rate x spread; the mixture that stands for the logistic is right to 2e-9."""
    for spread in (0.01, 1.0, 7.0):
        rate = steepness / spread
        v = 0.3 + np.array([-8.0, -3.0, -1.0, -0.3, 0.0, 0.1, 0.5, 2.0, 5.0]) * spread
        wanted = [hedged_by_quadrature(x, 0.3, spread, rate) for x in v.tolist()]
        np.testing.assert_allclose(hedged(v, 0.3, spread, rate), wanted, atol=MIXTURE, rtol=0)


def test_hedge_at_its_ends() -> None:
    """No spread is the logistic function; no rate a coin; a great rate the normal distribution."""
    for v, mean, rate in ((1.0, 2.0, 3.0), (1.0, -2.0, 3.0), (0.0, 0.0, 1.0)):
        result = hedged(np.array([v]), mean, 0.0, rate)
        assert result == pytest.approx([expit(rate * (v - mean))], abs=MIXTURE)
    assert hedged(np.array([1e6]), 0.0, 0.0, 1e6) == pytest.approx([1], abs=1e-14)
    assert hedged(np.array([-1e6]), 0.0, 0.0, 1e6) == pytest.approx([0], abs=1e-300)
    assert hedged(np.array([3.0]), 0.0, 1.0, 1e-6) == pytest.approx([0.5], abs=1e-6)
    grid = np.array([-2.0, -0.5, 0.0, 1.0])
    np.testing.assert_allclose(hedged(grid, 0.0, 1.0, 1e8), norm.cdf(grid), atol=1e-7)


def test_hedge_grows_with_the_value_of_entering() -> None:
    for spread, rate in ((1.0, 0.5), (1.0, 1.999), (1.0, 2.001), (1.0, 30.0), (0.1, 5.0)):
        result = hedged(np.linspace(-3, 3, 121), 0.0, spread, rate)
        assert (np.diff(result) > -1e-12).all()
        assert ((result >= 0) & (result <= 1 + 1e-12)).all()
        np.testing.assert_allclose(result + result[::-1], 1, atol=1e-9)  # symmetric about the mean


@pytest.mark.parametrize("spread", [0.05, 1.0])
def test_hedge_from_what_was_seen(spread: float) -> None:
    """App. D with two actions: eta_t = sqrt(log 2) / 3 sqrt(t / variance), of all values so far.

    Values come weighted by pi_{-i}; the alternative payoff and its spread are normalised.
    """
    rng, weight = np.random.default_rng(5), np.array([0.3, 2.0])
    learner = random_alternative("hedge", [0.2, -0.1], spread, weight)
    assert learner.enter().tolist() == [[1.0, 1.0]]
    seen = rng.normal(size=(12, 2))
    for t in range(1, 13):
        learner.observe((seen[t - 1] * weight)[None], np.zeros((2, 4)))
        average, variance = seen[:t].mean(axis=0), np.maximum(seen[:t].var(axis=0), 1e-12)
        rate = np.sqrt(np.log(2) * t / variance) / 3
        wanted = [hedged_by_quadrature(average[s], (0.2, -0.1)[s], spread, rate[s]) for s in (0, 1)]
        np.testing.assert_allclose(learner.enter()[0], wanted, atol=MIXTURE if t > 1 else 1e-4)


def test_respond_is_how_likely_the_alternative_lies_below() -> None:
    """P(X <= v) for X ~ N(mean, spread^2), by quadrature and by SciPy; half where X is v."""
    grid = np.linspace(-38, 38, 1001)
    learner = random_alternative("respond", np.zeros(1001), 1.0)
    learner.observe(grid[None], np.zeros((2, 4)))
    np.testing.assert_allclose(learner.enter()[0], norm.cdf(grid), atol=3e-16, rtol=1e-11)

    v, mean, spread = np.array([0.4, -2.0, 3.0]), 0.3, 2.5
    learner = random_alternative("respond", np.full(3, mean), spread, [0.5, 1.0, 4.0])
    learner.observe((v * [0.5, 1.0, 4.0])[None], np.zeros((2, 4)))
    wanted = [
        quad(lambda x: norm.pdf(x, mean, spread), mean - 12 * spread, x, epsabs=1e-13)[0]
        for x in v.tolist()
    ]
    np.testing.assert_allclose(learner.enter()[0], wanted, atol=1e-12)

    certain = random_alternative("respond", [1.0, 1.0, 1.0], 0.0)
    certain.observe(np.array([[0.5, 1.0, 1.5]]), np.zeros((2, 4)))
    assert certain.enter().tolist() == [[0.0, 0.5, 1.0]]


@pytest.mark.parametrize("form", ["respond", "hedge"])
def test_where_nobody_comes_nothing_is_learned(form: Literal["respond", "hedge"]) -> None:
    learner = random_alternative(form, [0.0, 0.0], 1.0, [1.0, 0.0])
    learner.observe(np.array([[-3.0, 0.0]]), np.zeros((2, 4)))
    assert learner.enter()[0, 0] < 0.5
    assert learner.enter()[0, 1] == 1.0


def test_where_nobody_would_enter_the_blueprint_does() -> None:
    """Alternatives above everything leave no entry at the first root: the blueprint's range, tiny.

    Otherwise nothing would be learned there, and we would play as on the first iteration. At the
    second root one hand enters, and nothing is added.
    """
    ones = np.ones((2, 2))
    reach, mean = np.array([[0.5, 0.25]] * 2), np.array([[1e6, 1e6], [0.0, 1e6]])
    arguments = GadgetInputs(1, ones, reach, ones, mean, mean, 1e-3 * ones)
    learner = RandomAlternative(arguments, "respond")
    learner.observe(ones, np.zeros((2, 4)))
    assert learner.enter().tolist() == [[1e-6, 0.5e-6], [1.0, 0.0]]
