"""Sequence trees on PyTorch beside the CPU engine, and gadgets on both.

Inputs are drawn anew on every run; a failure names the seed. What is marked `gpu` repeats it all
on CUDA.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import SMALL, tree_of
from holdem_games import GAMES
from subgame.engines.arrays import as_numpy
from subgame.engines.factory import engine
from subgame.refine.behind import GadgetRun, default_schedule
from subgame.refine.learners import Choice
from subgame.refine.sequence.subgames import SequenceSubgame, gadget_form
from subgame.refine.subgame import Trunk
from subgame.solve.cfr import Cfr
from subgame.solve.evaluate import expected_value
from subgame.solve.schedule import parse
from subgame.tree.sequence.form import assemble
from subgame.tree.sequence.tree import SequenceTree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
pytest.importorskip("numba", reason="the CPU engine needs Numba")

from subgame.engines.torch import TorchSequenceEngine  # noqa: E402
from subgame.engines.torch import sums as rows  # noqa: E402
from subgame.engines.torch.sequence import Vector  # noqa: E402

SCHEDULES = [
    "cfr",
    "cfr(alternating=true)",
    "cfr+",
    "cfr+(alternating=false)",
    "lcfr",
    "dcfr",
    "pcfr+",
    "pcfr+(alternating=false)",
    "pdcfr+",
    "cfr-br(responder=0)",
    "cfr-br(responder=1)",
    "cfr-br(responder=1, predictive=true, alpha=1)",
    "hs-dcfr",
    "cfr+(average=last)",
    "cfr+(average=exponential)",
]
DEVICES = ["torch", pytest.param("cuda", marks=pytest.mark.gpu)]
GAMES_AND_FRESH = [*SMALL, "a random game"]
TIGHT = 1e-9
FIELDS = ("regret", "average", "instant")
TECHNIQUES = {
    "unsafe": sg.Unsafe(),
    "resolve": sg.Resolve(),
    "maxmargin": sg.Maxmargin(),
    "reach-resolve": sg.ReachResolve(),
    "reach-maxmargin, not split": sg.ReachMaxmargin(split=False, scale=0.7),
    "reach, estimated gifts": sg.ReachMaxmargin(gifts="estimated"),
    "estimate-resolve": sg.Estimate(),
    "estimate-maxmargin, safe": sg.Estimate(sg.Maxmargin(), keep_safe=True),
    "distributional, respond": sg.Distributional("respond"),
    "distributional, hedge": sg.Distributional("hedge"),
    "all three": sg.ReachEstimateDistributional(),
    "resolve, refined": sg.Resolve(refined=0.1),
    "maxmargin, refined": sg.Maxmargin(refined=0.1),
}


@pytest.fixture
def seed() -> int:
    """One that nobody has chosen; pytest shows it where a test fails."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def named(name: str, seed: int) -> SequenceTree:
    if name == "a random game":
        return tree_of(f"random(seed={seed}, ragged=true)")
    return tree_of(name)


def shaken(tree: SequenceTree, seed: int) -> SequenceTree:
    """The same game with other payoffs at every end: equal ones would leave it to rounding."""
    t, rng = tree.terminals, np.random.default_rng(seed)
    scale = t.scale * (1 + 0.1 * rng.random(len(t.scale)))
    return replace(tree, terminals=t._replace(scale=scale), engines={})


def close(got: Any, want: Any, what: str, tight: float = TIGHT) -> None:
    """Equal relative to the greatest number."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, what
    assert np.isfinite(got).all(), what
    scale = np.abs(want).max(initial=1e-12)
    np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=tight, err_msg=what)


def drawn(tree: SequenceTree, schedule: sg.Schedule, seed: int) -> list[dict[str, Any]]:
    """Regrets, averages and predictions of both players.

    One action of every infoset has a regret that counts: where none has, rounding decides.
    """
    rng, out = np.random.default_rng(seed), []
    for side in tree.players:
        size = side.num_sequences
        numbers = {"regret": 30 * rng.normal(size=size), "average": rng.random(size)}
        numbers["regret"][side.first] = 100 * (1 + rng.random(len(side.first)))
        if schedule.predictive:
            numbers["instant"] = rng.normal(size=size)
        out.append(numbers)
    return out


def cfr_from(run: Any, schedule: sg.Schedule, numbers: list[dict[str, Any]]) -> Cfr:
    """CFR about to go on from these regrets and averages."""
    cfr = Cfr(
        run,
        predictive=schedule.predictive,
        alternating=schedule.alternating,
        responder=schedule.responder,
    )
    write(cfr, numbers)
    return cfr


def write(cfr: Cfr, numbers: list[dict[str, Any]]) -> None:
    for regrets, fields in zip(cfr.pair, numbers, strict=True):
        for field, values in fields.items():
            getattr(regrets, field)[:] = values


def subgames(tree: SequenceTree, at: str) -> list[SequenceSubgame]:
    return [subgame for subgame in sg.cut(tree, at) if isinstance(subgame, SequenceSubgame)]


def preset(cfr: Cfr, schedule: sg.Schedule, seed: int) -> None:
    """Give a gadget's learner random regrets, where it has any, as after 10 iterations."""
    run, learner = cfr.engine, cfr.learner
    if isinstance(learner, Choice):
        drawn = np.random.default_rng(seed).random(tuple(learner.regret.shape))
        learner.regret[...] = run.array(100 * drawn)
        learner.ahead[...] = run.rates(schedule.discounts(11, 1), 11)[0, :4]


def same_regrets(got: Cfr, want: Cfr, seed: int, tight: float = TIGHT) -> None:
    for p in (0, 1):
        for field in FIELDS:
            here, there = (getattr(cfr.pair[p], field) for cfr in (got, want))
            assert (here is None) == (there is None)
            if there is not None:
                close(here, there, f"{field} of player {p}, seed {seed}", tight)


# Sequence trees ------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", GAMES_AND_FRESH)
def test_every_schedule_takes_the_steps_of_the_cpu_engine(
    name: str, schedule: str, device: str, seed: int
) -> None:
    """From random regrets: where there are none, rounding would break exact ties."""
    tree, plan = shaken(named(name, seed), seed), parse(schedule)
    start = drawn(tree, plan, seed)
    want, got = (cfr_from(engine(tree, device=d), plan, start) for d in (None, device))
    for cfr in (want, got):
        cfr.advance(plan.discounts(11, 4), 11)
    same_regrets(got, want, seed)
    for p in (0, 1):
        one, two = (
            cfr.engine.current(p, cfr.pair[p], cfr.engine.rates(plan.discounts(14, 1), 14)[0])
            for cfr in (want, got)
        )
        close(two, one, f"strategy of player {p}, seed {seed}")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("name", GAMES_AND_FRESH)
def test_any_strategy_has_the_value_that_the_cpu_engine_finds(
    name: str, dense: bool, device: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terminals as lists of entries, and as matrix products."""
    tree = named(name, seed)
    if dense:
        monkeypatch.setattr(rows, "DENSE", 0)
        monkeypatch.setattr(rows, "FILL", 0.0)
    want_by, got_by = (
        engine(tree),
        TorchSequenceEngine(tree, "cpu" if device == "torch" else device),
    )
    assert bool(got_by.payoffs[0].products) == dense
    rng, probs = np.random.default_rng(seed), sg.Strategy.random(tree, seed).probs
    for p in (0, 1):
        plan = want_by.plan(1 - p, probs[1 - p])
        close(got_by.plan(1 - p, probs[1 - p]), plan, "plan")
        slots = rng.random(len(tree.players[p].slots))
        close(got_by.plan(p, probs[p], slots), want_by.plan(p, probs[p], slots), "from slots")
        seldom = plan * (rng.random(len(plan)) < 0.7)  # uniform where it is never reached
        close(got_by.behaviour(1 - p, seldom), want_by.behaviour(1 - p, seldom), "behaviour")
        fixed = [run.values(p, probs[p], plan) for run in (want_by, got_by)]
        best = [run.respond(p, plan) for run in (want_by, got_by)]
        for field in ("roots", "infosets", "sequences"):
            for want, got in (fixed, best):
                close(getattr(got, field), getattr(want, field), f"{field}, seed {seed}")
        one, two = (response.strategy for response in best)
        assert one is not None
        assert two is not None
        np.testing.assert_array_equal(two, one, err_msg=f"seed {seed}")


def test_what_is_on_the_device_stays_there(seed: int) -> None:
    tree = tree_of("leduc")
    run: Any = engine(tree, device="torch")
    average = cfr_from(run, parse("cfr+"), drawn(tree, parse("cfr+"), seed)).pair[0].average
    assert average is not None
    sigma = run.behaviour(0, average)
    assert isinstance(sigma, Vector)
    assert isinstance(run.plan(0, sigma), Vector)
    close(sigma, run.behaviour(0, average.copy()), "the same from an array")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["kuhn", "liars-dice(dice=1, faces=3)", "coin-toss"])
def test_evaluation_on_a_device(name: str, device: str, seed: int) -> None:
    tree = tree_of(name)
    strategy, other = (sg.Strategy.random(tree, seed + k) for k in (0, 1))
    want, got = (sg.exploitability(tree, strategy, device=d) for d in (None, device))
    close(got.per_seat, want.per_seat, f"seed {seed}")
    values = [expected_value(tree, strategy, other, device=d) for d in (None, device)]
    close(values[1], values[0], f"seed {seed}")
    one, two = (sg.best_response(tree, strategy, 1, device=d) for d in (None, device))
    assert one.strategy.table() == two.strategy.table()
    close(list(two.values.values()), list(one.values.values()), f"seed {seed}")


@pytest.mark.parametrize("device", DEVICES)
def test_a_solved_game_has_its_value(device: str) -> None:
    """Kuhn 1950: -1/18."""
    result = sg.solve(tree_of("kuhn"), "pdcfr+", target=1e-4, device=device)
    assert result.stopped == "target"
    assert result.value == pytest.approx(-1 / 18, abs=2e-4)
    assert isinstance(result.strategy.probs[0], np.ndarray)
    assert sg.exploitability(tree_of("kuhn"), result.strategy) == pytest.approx(
        result.exploitability, abs=1e-12
    )


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "pcfr+", "cfr-br"])
def test_graphs_change_nothing(schedule: str, seed: int) -> None:
    tree, plan = tree_of("leduc"), parse(schedule)
    start, sides = drawn(tree, plan, seed), []
    for graphs in (False, True):
        cfr = cfr_from(TorchSequenceEngine(tree, "cuda", graphs=graphs), plan, start)
        for t in (11, 17):
            cfr.advance(plan.discounts(t, 7), t)
        sides.append(cfr)
    same_regrets(sides[1], sides[0], seed, 0.0)


# Gadgets -------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("name", ["leduc", "a random game"])
def test_gadget_games(name: str, technique: str, device: str, seed: int) -> None:
    """What the gadget is told, and steps from random regrets: in its game, and of its learner."""
    tree, gadget, o = named(name, seed), TECHNIQUES[technique], seed % 2
    rough, guess = (sg.Strategy.random(tree, seed + k) for k in (0, 1))
    subgame = subgames(tree, "after round 1" if name == "leduc" else "depth 2")[0]
    inputs = []
    for where in ("cpu", device):
        trunk = Trunk(rough, o, guess, where)
        values = trunk.value_of(subgame, guess) if gadget.estimate else None
        inputs.append(trunk.inputs(subgame, gadget, values)[0])
    for key, want in vars(inputs[0]).items():
        close(getattr(inputs[1], key), want, f"{key}, seed {seed}")
    plan = parse(default_schedule(gadget, tree))
    if gadget.is_finite and not gadget.refined:
        made = shaken(assemble(gadget_form(gadget, subgame.form, inputs[0])), seed)
        start = drawn(made, plan, seed)
        one, two = (cfr_from(engine(made, device=where), plan, start) for where in ("cpu", device))
        for cfr in (one, two):
            cfr.advance(plan.discounts(11, 4), 11)
        same_regrets(two, one, seed, 1e-8)
    if gadget.keep_safe:
        return  # has no learner of its own
    inside = shaken(subgame.tree, seed)
    start = drawn(inside, plan, seed)
    sides = [GadgetRun(inside, plan, gadget, inputs[0], where).cfr for where in ("cpu", device)]
    for cfr in sides:
        write(cfr, start)
        preset(cfr, plan, seed)
        cfr.advance(plan.discounts(11, 4), 11)
    same_regrets(sides[1], sides[0], seed, 1e-8)
    entry = [as_numpy(cfr.reach[o]) for cfr in sides]
    close(entry[1], entry[0], f"entry, seed {seed}", 1e-8)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_refining(technique: str, device: str) -> None:
    """From no regrets at all, with a seed by which no regret is exactly zero but for rounding."""
    tree, gadget = tree_of("leduc"), TECHNIQUES[technique]
    rough, guess = (sg.Strategy.random(tree, seed) for seed in (6, 7))
    subgames = sg.cut(tree, "after round 1")[:2]
    want, got = (
        sg.refine(
            tree, rough, at=subgames, technique=gadget, iterations=8, estimate=guess, device=d
        )
        for d in (None, device)
    )
    for here, there in zip(want.parts, got.parts, strict=True):
        for field in ("weight", "cbv", "gifts", "alternatives", "values", "sigma"):
            close(getattr(there, field), getattr(here, field), field, 1e-7)
        assert (here.gap is None) == (there.gap is None)
        close(there.gap or 0.0, here.gap or 0.0, "gap", 1e-7)
    close(got.after.per_seat, want.after.per_seat, "after", 1e-7)
    assert any(np.abs(part.values - part.cbv).max() > 1e-6 for part in want.parts)


def test_a_linear_program_is_evaluated_on_the_device() -> None:
    tree = tree_of("coin-toss")
    refined = sg.refine(
        tree,
        sg.Strategy.published(tree, "paper"),
        at="Play",
        technique="maxmargin",
        schedule="lp",
        device="torch",
    )
    assert refined.strategy["Play"]["Heads"] == pytest.approx(0.625)
    assert "torch" in tree.engines


HOLDEM = {key: TECHNIQUES[key] for key in TECHNIQUES if "safe" not in key or key == "unsafe"}


def hands(tree: Any, p: int) -> Any:
    """Which numbers of a river belong to hands; the rest is padding."""
    decisions = range(len(tree.streets[0].states[p]))
    return np.concatenate([tree.players[p].cells(0, j).ravel() for j in decisions])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "cfr"])
@pytest.mark.parametrize("technique", HOLDEM)
def test_gadgets_before_holdem(technique: str, schedule: str, device: str, seed: int) -> None:
    """A few iterations from random regrets of the tree and of the gadget."""
    tree, gadget, plan = sg.compile(GAMES["river"]), HOLDEM[technique], parse(schedule)
    o, rng = seed % 2, np.random.default_rng(seed)
    rough = sg.Strategy.random(tree, seed)
    regrets = [100 * rng.random(side.num_sequences) for side in tree.players]
    results = []
    for where in ("cpu", device):
        subgame = sg.cut(tree, "root")[0]
        inputs, _ = Trunk(rough, o, None, where).inputs(subgame, gadget)
        inputs = replace(inputs, spread=1 + np.abs(inputs.cbv))
        run = GadgetRun(tree, plan, gadget, inputs, where)
        preset(run.cfr, plan, seed + 1)
        write(run.cfr, [{"regret": numbers} for numbers in regrets])
        run.cfr.advance(plan.discounts(11, 4), 11)
        gap = run.evaluate(run.played())
        kept = [
            np.asarray(getattr(run.cfr.pair[p], field))[hands(tree, p)]
            for p in (0, 1)
            for field in ("regret", "average")
        ]
        entry = as_numpy(run.cfr.reach[o])
        results.append([inputs.cbv, entry, np.array(gap.per_seat), *kept])
    for k, (want, got) in enumerate(zip(*results, strict=True)):
        close(got, want, f"number {k}, seed {seed}", 1e-5)
