"""Both engines of sequence trees against the contract: sweeps, the fused path, several roots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import tree_of
from subgame.engines.contract import Engine, Mode, Regrets
from subgame.engines.numba.sequence import RUN_SWEEP, NumbaSequenceEngine
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import Form, FormPlayer, assemble, form_of
from subgame.tree.sequence.tree import Entries, sequence_tree
from subgame.tree.sequence.walk import walk

pytest.importorskip("numba", reason="the CPU engine needs Numba")

Floats = NDArray[np.float64]
TIGHT = 1e-12
GAMES = ["kuhn", "leduc", "random(seed=8)", "random(seed=29, ragged=true)"]
SCHEDULES = [
    "cfr",
    "cfr+",
    "dcfr",
    "pcfr+",
    "pcfr+(alternating=false)",
    "pdcfr+",
    "hs-dcfr",
    "cfr-br(responder=0)",
    "cfr-br(responder=1)",
    "cfr-br(responder=1, predictive=true, alpha=1)",
]


def numba_engine(tree: PublicTree) -> Engine:
    return NumbaSequenceEngine(sequence_tree(tree))


def torch_engine(tree: PublicTree) -> Engine:
    pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    from subgame.engines.torch import TorchSequenceEngine

    return TorchSequenceEngine(tree, "cpu")


Maker = Callable[[PublicTree], Engine]
ENGINES = [pytest.param(numba_engine, id="numba"), pytest.param(torch_engine, id="torch")]


def cfr_of(engine: Engine, schedule: str) -> Cfr:
    plan = parse(schedule)
    return Cfr(
        engine,
        predictive=plan.predictive,
        alternating=plan.alternating,
        responder=plan.responder,
    )


def start(cfr: Cfr, seed: int) -> None:
    """Random regrets: where there are none, rounding would break exact ties."""
    rng = np.random.default_rng(seed)
    for regrets in cfr.pair:
        size = len(regrets.regret)
        regrets.regret[:] = rng.normal(size=size) + 5 * rng.random(size)
        assert regrets.average is not None
        regrets.average[:] = rng.random(size)
        if regrets.instant is not None:
            regrets.instant[:] = rng.normal(size=size)


def same(one: Cfr, two: Cfr, tight: float = TIGHT) -> None:
    for p in (0, 1):
        for field in Regrets._fields:
            got, want = getattr(one.pair[p], field), getattr(two.pair[p], field)
            assert (got is None) == (want is None)
            if got is not None:
                got, want = np.asarray(got), np.asarray(want)
                scale = np.abs(want).max(initial=1.0)
                np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=tight)


def drawn(engine: Engine, p: int, seed: int) -> Any:
    """A random strategy."""
    size = engine.tree.players[p].num_sequences
    return engine.behaviour(p, np.random.default_rng(seed).random(size))


def played(sigma: Any) -> Regrets:
    return Regrets(sigma, None, None)


def rates_of(engine: Engine, schedule: str = "dcfr") -> Any:
    return engine.rates(parse(schedule).discounts(7, 2), 7)


# The loop above sweeps, and the fused one ------------------------------------------------------
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", GAMES)
def test_sweeps_are_the_fused_iterations(name: str, schedule: str) -> None:
    plan, runs = parse(schedule), []
    for fused in (True, False):
        engine = NumbaSequenceEngine(tree_of(name))
        engine.fused = fused
        cfr = cfr_of(engine, schedule)
        cfr.advance(plan.discounts(1, 1), 1)  # nothing, but the kernels are there
        cfr.advance(plan.discounts(1, 13), 1)
        cfr.advance(plan.discounts(13, 4), 13)
        runs.append(cfr)
    same(runs[1], runs[0])
    assert any(np.asarray(regrets.average).any() for regrets in runs[0].pair)


@pytest.mark.parametrize("make", ENGINES)
def test_stopping_in_between_changes_nothing(make: Maker) -> None:
    for schedule in SCHEDULES:
        plan, tree = parse(schedule), tree_of("kuhn")
        once, often = cfr_of(make(tree), schedule), cfr_of(make(tree), schedule)
        once.advance(plan.discounts(1, 11), 1)
        for t in range(1, 11):
            often.advance(plan.discounts(t, 2), t)
        same(once, often, 0.0)


def test_two_runs_share_an_engine() -> None:
    """Working arrays hold nothing between calls."""
    engine, plan = NumbaSequenceEngine(tree_of("leduc")), parse("pcfr+")
    alone = cfr_of(NumbaSequenceEngine(tree_of("leduc")), "pcfr+")
    one, two = cfr_of(engine, "pcfr+"), cfr_of(engine, "pcfr+")
    start(two, 5)
    for t in range(1, 8):
        for cfr in (one, two, alone):
            cfr.advance(plan.discounts(t, 2), t)
    same(one, alone, 0.0)


@pytest.mark.parametrize("make", ENGINES)
def test_the_solution_of_kuhn(make: Maker) -> None:
    """Kuhn 1950: -1/18."""
    engine, plan = make(tree_of("kuhn")), parse("pdcfr+")
    cfr = cfr_of(engine, "pdcfr+")
    cfr.advance(plan.discounts(1, 301), 1)
    plans = [engine.plan(p, engine.behaviour(p, cfr.pair[p].average)) for p in (0, 1)]
    best = [float(engine.respond(p, plans[1 - p]).roots[0, 0]) for p in (0, 1)]
    assert best[0] == pytest.approx(-1 / 18, abs=1e-3)
    assert best[1] == pytest.approx(1 / 18, abs=1e-3)


# One sweep -------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("name", GAMES)
def test_sweeps_evaluate(name: str, make: Maker) -> None:
    engine = make(tree_of(name))
    now, then = rates_of(engine)
    reach = (engine.roots(0), engine.roots(1))
    for p in (0, 1):
        mine, theirs = drawn(engine, p, 1), drawn(engine, 1 - p, 2)
        plan = engine.plan(1 - p, theirs)
        swept = engine.sweep(p, Mode.EVALUATE, (played(mine), played(theirs)), (now, then), reach)
        values = engine.values(p, mine, plan)
        np.testing.assert_allclose(np.asarray(swept), values.roots, atol=TIGHT)
        best = engine.sweep(p, Mode.BEST, (played(mine), played(theirs)), (now, then), reach)
        response = engine.respond(p, plan)
        np.testing.assert_allclose(np.asarray(best), response.roots, atol=TIGHT)
        assert response.roots.shape == (1, len(engine.tree.players[p].slots))
        assert values.strategy is None
        assert values.infosets is not None
        assert response.infosets is not None
        assert (response.infosets >= values.infosets - TIGHT).all()
        np.testing.assert_array_equal(drawn(engine, p, 1), mine, "nothing was learned")


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("name", GAMES)
def test_values_of_infosets(name: str, make: Maker) -> None:
    engine = make(tree_of(name))
    for p in (0, 1):
        mine, side = drawn(engine, p, 1), engine.tree.players[p]
        values = engine.values(p, mine, engine.plan(1 - p, drawn(engine, 1 - p, 2)))
        assert values.sequences is not None
        assert values.infosets is not None
        for i in range(len(side.names)):
            at = side.sequences(i)
            assert values.infosets[i] == pytest.approx(mine[at] @ values.sequences[at], abs=TIGHT)


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("predictive", [False, True])
def test_a_response_is_played_from_then_on(predictive: bool, make: Maker) -> None:
    """Even where the schedule discounts by 0; the average gets what was played before."""
    engine, schedule = make(tree_of("leduc")), "pdcfr+" if predictive else "cfr+"
    first, then = engine.rates(parse(schedule).discounts(1, 2), 1)
    reach = (engine.roots(0), engine.roots(1))
    for p in (0, 1):
        mine, theirs = engine.regrets(p, predictive=predictive), drawn(engine, 1 - p, 2)
        before = np.asarray(engine.current(p, mine, first))
        other = played(theirs)
        got = np.asarray(engine.sweep(p, Mode.RESPOND, (mine, other), (first, then), reach))
        response = engine.respond(p, engine.plan(1 - p, theirs))
        np.testing.assert_allclose(got, response.roots, atol=TIGHT)
        now, side = np.asarray(engine.current(p, mine, first)), engine.tree.players[p]
        assert response.strategy is not None
        np.testing.assert_array_equal(now, response.strategy)
        slots = len(side.slots)
        plan = np.asarray(engine.plan(p, before))
        np.testing.assert_allclose(np.asarray(mine.average)[slots:], plan[slots:], atol=TIGHT)
        blind = mine._replace(average=None)
        engine.sweep(p, Mode.RESPOND, (blind, other), (first, then), reach)
        np.testing.assert_allclose(np.asarray(mine.average)[slots:], plan[slots:], atol=TIGHT)


@pytest.mark.parametrize("make", ENGINES)
def test_learning_needs_no_average(make: Maker) -> None:
    engine, kept = make(tree_of("leduc")), []
    now, then = rates_of(engine)
    reach = (engine.roots(0), engine.roots(1))
    theirs = played(drawn(engine, 1, 2))
    for blind in (False, True):
        mine = engine.regrets(0)
        mine.regret[:] = np.random.default_rng(4).normal(size=len(mine.regret))
        learner = mine._replace(average=None) if blind else mine
        engine.sweep(0, Mode.LEARN, (learner, theirs), (now, then), reach)
        kept.append(np.asarray(mine.regret))
        assert bool(np.asarray(mine.average).any()) != blind
    np.testing.assert_array_equal(kept[0], kept[1])


@pytest.mark.parametrize("make", ENGINES)
def test_one_step_of_learning(make: Maker) -> None:
    """``R <- d R + r`` and ``S <- kept S + reach``, nothing where there is no choice."""
    engine = make(tree_of("random(seed=29, ragged=true)"))
    now, then = rates_of(engine)
    positive, negative, kept, before = np.asarray(now)
    assert before == 6
    reach, rng = (engine.roots(0), engine.roots(1)), np.random.default_rng(4)
    for p in (0, 1):
        mine, theirs = engine.regrets(p), drawn(engine, 1 - p, 2)
        assert mine.instant is None
        assert mine.average is not None
        old, average = rng.normal(size=len(mine.regret)), rng.random(len(mine.regret))
        mine.regret[:], mine.average[:] = old, average
        sigma = np.asarray(engine.current(p, mine, now))
        values = engine.values(p, sigma, engine.plan(1 - p, theirs))
        plan, side = np.asarray(engine.plan(p, sigma)), engine.tree.players[p]
        swept = engine.sweep(p, Mode.LEARN, (mine, played(theirs)), (now, then), reach)
        np.testing.assert_allclose(np.asarray(swept), values.roots, atol=TIGHT)
        assert values.sequences is not None
        assert values.infosets is not None
        wanted, summed = old.copy(), average.copy()
        for i, actions in enumerate(side.actions):
            at = side.sequences(i)
            if len(actions) > 1:
                wanted[at] *= np.where(old[at] > 0, positive, negative)
                wanted[at] += values.sequences[at] - values.infosets[i]
                summed[at] = kept * average[at] + plan[at]
        np.testing.assert_allclose(np.asarray(mine.regret), wanted, atol=TIGHT)
        np.testing.assert_allclose(np.asarray(mine.average), summed, atol=TIGHT)
        slots = len(side.slots)
        np.testing.assert_array_equal(sigma[:slots], 1)


@pytest.mark.parametrize("make", ENGINES)
def test_values_paid_elsewhere_are_added(make: Maker) -> None:
    """A payment at a sequence is worth as much as a terminal there."""
    engine: Any = make(tree_of("leduc"))
    now, then = rates_of(engine)
    reach = (engine.roots(0), engine.roots(1))
    mine, theirs = drawn(engine, 0, 1), played(drawn(engine, 1, 2))
    paid = np.random.default_rng(3).normal(size=len(mine))
    args = ((played(mine), theirs), (now, then), reach)
    plain = engine.sweep(0, Mode.EVALUATE, *args)
    more = engine.sweep(0, Mode.EVALUATE, *args, paid)
    gained = float(np.asarray(more)[0, 0] - np.asarray(plain)[0, 0])
    assert gained == pytest.approx(engine.plan(0, mine) @ paid, abs=1e-10)


@pytest.mark.parametrize("make", ENGINES)
def test_reach_at_the_roots_is_the_callers(make: Maker) -> None:
    """Values are linear in the opponent's reach, averages in the traverser's."""
    engine = make(tree_of("leduc"))
    now, then = rates_of(engine)
    one = (engine.roots(0), engine.roots(1))
    two = (engine.array(np.array([[0.5]])), engine.array(np.array([[3.0]])))
    theirs, values, sums = played(drawn(engine, 1, 2)), [], []
    for reach in (one, two):
        mine = engine.regrets(0)
        values.append(np.asarray(engine.sweep(0, Mode.LEARN, (mine, theirs), (now, then), reach)))
        sums.append(np.asarray(mine.average))
    np.testing.assert_allclose(values[1], 3 * values[0], atol=TIGHT)
    np.testing.assert_allclose(sums[1], 0.5 * sums[0], atol=TIGHT)


def test_strategies_that_cannot_be_written_are_played() -> None:
    engine = NumbaSequenceEngine(tree_of("leduc"))
    now, then = rates_of(engine)
    reach = (engine.roots(0), engine.roots(1))
    mine, theirs = drawn(engine, 0, 1), drawn(engine, 1, 2)
    want = engine.sweep(0, Mode.EVALUATE, (played(mine), played(theirs)), (now, then), reach)
    before = len(RUN_SWEEP._entries)
    for sigma in (mine, theirs):
        sigma.flags.writeable = False
    got = engine.sweep(0, Mode.EVALUATE, (played(mine), played(theirs)), (now, then), reach)
    np.testing.assert_array_equal(got, want)
    assert len(RUN_SWEEP._entries) == before


@pytest.mark.parametrize("make", ENGINES)
def test_snapshots_stay(make: Maker) -> None:
    engine = make(tree_of("kuhn"))
    mine = engine.regrets(0, predictive=True)
    mine.regret[:] = np.arange(len(mine.regret))
    copy = engine.snapshot(mine)
    mine.regret[:] = 0
    np.testing.assert_array_equal(np.asarray(copy.regret), np.arange(len(mine.regret)))
    assert copy.average is None
    assert copy.instant is not None
    roots = engine.roots(0)
    roots[...] = 0
    assert float(engine.roots(0)[0, 0]) == 1


@pytest.mark.parametrize("sampling", ["external", "chance", "public"])
def test_samples_start_at_the_trees_own_reach(sampling: str) -> None:
    """Whatever reach was there before."""
    engine, pairs = NumbaSequenceEngine(tree_of("kuhn")), []
    for reach in (1.0, 0.3):
        start = (np.full((1, 1), reach), np.full((1, 1), reach))
        pair = (engine.regrets(0), engine.regrets(1))
        now, then = rates_of(engine)
        engine.sweep(0, Mode.BEST, pair, (now, then), start)
        discounts = parse(f"mccfr(sampling={sampling})").discounts(1, 20)
        engine.sample(pair, discounts, sampling, np.array([7], np.uint64))
        pairs.append(pair)
    for p in (0, 1):
        for field in ("regret", "average"):
            one, two = (getattr(pair[p], field) for pair in pairs)
            assert one.any()
            np.testing.assert_array_equal(one, two)


# Several roots ---------------------------------------------------------------------------------
def beside(forms: list[Form]) -> PublicTree:
    """One tree of several; root slots are ``[root * widest + slot]``."""
    players, maps = [], []
    for p in (0, 1):
        sides = [form.players[p] for form in forms]
        widest = max(len(side.slots) for side in sides)
        reach = np.zeros((len(forms), widest))
        parents, moved, at = [], [], len(forms) * widest
        for r, side in enumerate(sides):
            slots, size = len(side.slots), int(side.start[-1])
            reach[r, :slots] = side.reach
            move = np.r_[r * widest + np.arange(slots), at + np.arange(size - slots)]
            move = move.astype(np.int32)  # as trees have it, so that no kernel is compiled anew
            at += size - slots
            moved.append(move)
            parents.append(move[side.parent])
        players.append(
            FormPlayer(
                slots=[f"{r}.{s}" for r in range(len(forms)) for s in range(widest)],
                reach=reach.ravel(),
                names=[f"{r}.{name}" for r, side in enumerate(sides) for name in side.names],
                actions=[actions for side in sides for actions in side.actions],
                parent=np.concatenate(parents),
                node=np.concatenate([side.node for side in sides]),
                origin=np.concatenate([side.origin for side in sides]),
            )
        )
        maps.append(moved)
    nodes = np.cumsum([0, *(len(form.node_names) for form in forms)], dtype=np.int32)
    parts = [
        Entries(e.node + nodes[r], maps[0][r][e.row], maps[1][r][e.col], e.value)
        for r, e in enumerate(form.entries for form in forms)
    ]
    whole = replace(
        forms[0],
        players=(players[0], players[1]),
        entries=Entries(*(np.concatenate(part) for part in zip(*parts, strict=True))),
        node_names=[name for form in forms for name in form.node_names],
        node_parent=np.concatenate([form.node_parent for form in forms]),
        node_chance=np.concatenate([form.node_chance for form in forms]),
        histories=None,
    )
    return replace(assemble(whole), num_roots=len(forms), engines={})


def subgame_forms() -> list[Form]:
    """A subgame of Leduc twice, and one game with a single root infoset."""
    form = sequence_subgames(tree_of("leduc"), "after round 1")[0].form
    kuhn = form_of(walk(sg.games.load("kuhn")))
    return [form, form, kuhn]


@pytest.mark.parametrize("schedule", ["cfr", "pcfr+", "cfr-br"])
@pytest.mark.parametrize("make", ENGINES)
def test_several_roots_are_solved_each_for_itself(make: Maker, schedule: str) -> None:
    plan, forms = parse(schedule), subgame_forms()
    tree = beside(forms)
    engine = make(tree)
    many, cfrs = cfr_of(engine, schedule), [cfr_of(make(assemble(f)), schedule) for f in forms]
    rng = np.random.default_rng(1)
    for p in (0, 1):
        widest = len(tree.players[p].slots) // 3
        assert engine.roots(p).shape == (3, widest)
        weights = np.zeros((3, widest))
        for r, cfr in enumerate(cfrs):
            slots = cfr.reach[p].shape[1]
            weights[r, :slots] = rng.random(slots)
            cfr.reach[p][...] = engine.array(weights[r : r + 1, :slots])
        many.reach[p][...] = engine.array(weights)
    for cfr in (many, *cfrs):
        cfr.advance(plan.discounts(1, 8), 1)
    rates = engine.rates(plan.discounts(8, 2), 8)
    for p in (0, 1):
        every = many.engine.current(p, many.pair[p], rates[0])
        names = tree.players[p].index
        for r, cfr in enumerate(cfrs):
            side = cfr.engine.tree.players[p]
            alone = cfr.engine.current(p, cfr.pair[p], rates[0])
            for i, name in enumerate(side.names):
                at = tree.players[p].sequences(names[f"{r}.{name}"])
                np.testing.assert_allclose(every[at], alone[side.sequences(i)], atol=1e-9)
        both = (many.pair[p], many.pair[1 - p])
        values = engine.sweep(p, Mode.BEST, both, (rates[0], rates[0]), many.reach)
        response = engine.respond(
            p, engine.plan(1 - p, engine.current(1 - p, both[1], rates[0]), many.reach[1 - p])
        )
        np.testing.assert_allclose(np.asarray(values), response.roots, atol=1e-9)
        for r, cfr in enumerate(cfrs):
            pair = (cfr.pair[p], cfr.pair[1 - p])
            alone = cfr.engine.sweep(p, Mode.BEST, pair, (rates[0], rates[0]), cfr.reach)
            got = np.asarray(values[r : r + 1, : alone.shape[1]])
            np.testing.assert_allclose(got, np.asarray(alone), atol=1e-9)
            assert not np.asarray(values[r, alone.shape[1] :]).any()
