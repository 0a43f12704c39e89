"""Bucketed streets: the numbers of a slow oracle, of the explicit engine, and of no buckets at all.

Maps are drawn anew on each run; what fails says its seed.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.errors import MemoryLimitError
from subgame.solve.evaluate import expected_value
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import numpy_triton  # noqa: E402
from bucket_oracle import BlurredGame, Cards, Device, Slow, compiled, names_of  # noqa: E402
from watcher import Watcher, solver  # noqa: E402

from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch import buckets as bucketing  # noqa: E402
from subgame.engines.torch.blocks import from_numpy  # noqa: E402
from subgame.engines.torch.buckets import Bucketed, Sums  # noqa: E402
from subgame.engines.torch.offload import OffloadedBlock  # noqa: E402
from subgame.engines.torch.torch_ops import TorchOps  # noqa: E402

SCHEDULES = [
    "cfr",
    "cfr+",
    "lcfr",
    "dcfr",
    "pcfr+",
    "pdcfr+",
    "cfr(alternating=true)",
    "pcfr+(alternating=false)",
]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
FRESH = int(np.random.SeedSequence().generate_state(1)[0])
FIRST, MANY = 11, 2
"""Iterations that are compared: from random regrets, for rounding would break exact ties."""


def merged(fine: Buckets, s: int, rng: np.random.Generator) -> Any:
    """[unit, hand] fewer buckets by chance; hands on any boards may meet."""
    grouping = fine.groupings[s]
    many = int(rng.integers(1, 1 + min(8, grouping.count)))
    return np.where(grouping.of < 0, -1, rng.integers(many, size=grouping.count)[grouping.of])


def coarse(tree: RangeTree, rng: np.random.Generator) -> Buckets:
    """Some buckets on one street at least."""
    fine, names = Buckets.lossless(tree), names_of(tree)
    chosen = rng.permutation(len(names))[: rng.integers(1, 1 + len(names))]
    return Buckets(tree, {names[s]: merged(fine, s, rng) for s in chosen.tolist()})


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", sorted(GAMES))
def test_iterations_are_those_of_a_slow_oracle(name: str, schedule: str, device: str) -> None:
    """With imperfect recall, ranges that differ and boards that suits exchange."""
    rng = np.random.default_rng([FRESH, len(schedule), len(name)])
    plan, buckets = parse(schedule), coarse(compiled(name), rng)
    scratch = int(rng.choice([1, 1 << 30]))
    engine = TorchRangeEngine(buckets.tree, device, buckets=buckets, scratch=scratch)
    slow, fast = Slow(buckets), Device(engine, buckets, plan)
    fast.write(rng, slow)
    slow.run(plan, FIRST, MANY)
    fast.run.advance(plan.discounts(FIRST, MANY + 1), FIRST)
    for p in (0, 1):
        for field in ("regret", "average", *(["instant"] if plan.predictive else [])):
            for s, got in fast.read(field, p):
                want = np.zeros_like(got)
                for j, k, a, edge in fast.actions(p, s):
                    want[edge, k] = getattr(slow, field)[p][(s, j, k), a]
                size = max(1, np.abs(want).max(initial=0))
                said = f"{field} of player {p}, street {s}, seed {FRESH}, {buckets}"
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * size, err_msg=said)


# The explicit engine -------------------------------------------------------------------------
def remembered(tree: RangeTree, rng: np.random.Generator) -> Buckets:
    """Random buckets on every street, each within one bucket of the street above."""
    fine, out, above = Buckets.lossless(tree), {}, None
    units: Any = tree.units
    for s, name in enumerate(names_of(tree)):
        grouping = fine.groupings[s]
        drawn = np.where(grouping.of < 0, -1, rng.integers(3, size=grouping.count)[grouping.of])
        if above is not None:
            drawn = np.where(grouping.of < 0, -1, 3 * above[units.dealt[s].parent] + drawn)
        out[name] = above = drawn
    return Buckets(tree, out)


@pytest.mark.parametrize("schedule", ["cfr", "dcfr", "pcfr+"])
@pytest.mark.parametrize("name", ["river", "turn", "nlfh"])
def test_merged_infosets_of_the_explicit_engine_learn_the_same(name: str, schedule: str) -> None:
    rng = np.random.default_rng([FRESH, 1, len(schedule), len(name)])
    plan, buckets = parse(schedule), remembered(compiled(name), rng)
    game = BlurredGame(buckets)
    tree, engine = sg.compile(game), TorchRangeEngine(buckets.tree, "cpu", buckets=buckets)
    slow, fast, explicit = game.slow, Device(engine, buckets, plan), Run(tree, plan)
    fast.write(rng, slow)
    deals = buckets.tree.deals
    where = []
    for p in (0, 1):
        side, numbers = tree.players[p], {}
        for i, text in enumerate(side.names):
            for a, at in enumerate(side.sequences(i)):
                numbers[text, a] = int(at)
        where.append(numbers)
        reach = {str(key): 0.0 for key in {key for key, _ in slow.average[p]}}
        for weight, key, _, _ in slow.held[p]:
            reach[str(key)] += weight
        for field, scale in (("regret", 1 / deals), ("instant", 1 / deals), ("average", None)):
            for (key, a), number in getattr(slow, field)[p].items():
                if (str(key), a) in numbers:
                    by = 1 / reach[str(key)] if scale is None else scale
                    getattr(explicit.cfr.pair[p], field)[numbers[str(key), a]] = number * by
    explicit.iteration = FIRST - 1
    explicit.advance(MANY)
    fast.run.advance(plan.discounts(FIRST, MANY + 1), FIRST)
    for p in (0, 1):
        for s, got in fast.read("regret", p):
            checked = 0
            for j, k, a, edge in fast.actions(p, s):
                at = where[p].get((str((s, j, k)), a))
                if at is not None:
                    want = explicit.cfr.pair[p].regret[at] * deals
                    assert got[edge, k] == pytest.approx(want, rel=1e-5, abs=2e-3), FRESH
                    checked += 1
            assert checked
        sigma = explicit.strategy()
        for s, got in fast.read("average", p):
            for j, k, a, edge in fast.actions(p, s):
                at = where[p].get((str((s, j, k)), a))
                if at is None:
                    continue
                first = edge - a
                many = len(buckets.tree.streets[s].actions[p][j])
                want = sigma.probs[p][at]
                share = got[edge, k] / got[first : first + many, k].sum()
                assert share == pytest.approx(want, abs=1e-5), FRESH


# No buckets, and no isomorphism --------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", SCHEDULES[1::2])
@pytest.mark.parametrize("name", sorted(GAMES))
def test_lossless_buckets_lose_nothing(name: str, schedule: str, device: str) -> None:
    plan, tree = parse(schedule), compiled(name)
    buckets = Buckets.lossless(tree)
    devices = []
    for chosen in (buckets, None):
        one = Device(TorchRangeEngine(tree, device, buckets=chosen), buckets, plan)
        one.write(np.random.default_rng(FRESH))
        one.run.advance(plan.discounts(FIRST, 4), FIRST)
        assert isinstance(one.pair[0].regret.blocks[0], Bucketed) == (chosen is not None)
        devices.append(one)
    for p, field in itertools.product((0, 1), ("regret", "average")):
        for (_, a), (_, b) in zip(*(one.read(field, p) for one in devices), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-3, err_msg=str(FRESH))


@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+"])
@pytest.mark.parametrize("name", ["nlfh", "suits"])
def test_suits_may_be_told_apart_or_not(name: str, schedule: str) -> None:
    """Buckets have equal numbers in a game with every board a unit of its own."""
    rng, plan = np.random.default_rng([FRESH, 2]), parse(schedule)
    tree = compiled(name)
    few = Buckets(
        tree,
        {street: merged(Buckets.lossless(tree), s, rng) for s, street in enumerate(names_of(tree))},
    )
    cards, plain = Cards(few), copy.copy(GAMES[name])
    vars(plain)["symmetries"] = np.zeros(1, dtype=np.int64)  # as if no suits could be exchanged
    every = compile_range_tree(plain)
    assert len(every.units) > len(tree.units)
    maps: dict[str, Any] = {street: [] for street in names_of(tree)}
    for unit in every.units:
        held = {hand for hands in unit.hands for hand in hands.tolist()}
        maps[names_of(tree)[unit.street]].append(
            [
                cards.of(hand, unit.cards, unit.street) if hand in held else -1
                for hand in range(tree.holdem.deck.num_hands)
            ]
        )
    many = Buckets(every, {street: np.array(rows) for street, rows in maps.items()})
    devices = []
    for buckets in (few, many):
        one = Device(TorchRangeEngine(buckets.tree, "cpu", buckets=buckets), buckets, plan)
        one.write(np.random.default_rng(FRESH))
        one.run.advance(plan.discounts(FIRST, 4), FIRST)
        devices.append(one)
    for p, field in itertools.product((0, 1), ("regret", "average")):
        for (_, a), (_, b) in zip(*(one.read(field, p) for one in devices), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-3, err_msg=str(FRESH))


# What it is worth ----------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["turn", "nlfh", "suits"])
def test_the_strategy_is_one_of_the_whole_tree(name: str, device: str) -> None:
    """What the device says of it, the CPU says of its copy."""
    rng, plan, tree = np.random.default_rng([FRESH, 3]), parse("dcfr"), compiled(name)
    buckets = coarse(tree, rng)
    engine = TorchRangeEngine(tree, device, buckets=buckets)
    run = solver(engine, plan)
    run.advance(plan.discounts(1, 51), 1)
    first, second = (np.asarray(engine.behaviour(p, run.pair[p].average)) for p in (0, 1))
    strategy = sg.Strategy.from_weights(tree, (first, second))
    evaluated = sg.exploitability(tree, strategy)
    for p in (0, 1):
        plan_of = engine.plan(p, run.pair[p].average)
        wins = engine.respond(1 - p, plan_of).roots[0] @ tree.players[1 - p].reach
        assert wins == pytest.approx(evaluated.per_seat[p], abs=1e-6)
        again = engine.respond(1 - p, engine.plan(p, strategy.probs[p])).roots[0]
        assert again @ tree.players[1 - p].reach == pytest.approx(wins, abs=1e-6)
    mine, yours = (regrets.average for regrets in run.pair)
    value = engine.values(0, mine, engine.plan(1, yours)).roots[0]
    assert value @ tree.players[0].reach == pytest.approx(expected_value(tree, strategy), abs=1e-6)
    plain = engine.stage(tree.streets)
    for p in (0, 1):
        whole, reach = from_numpy(engine, p, strategy.probs[p]), engine.roots(p).double()
        assert not any(isinstance(block, Bucketed) for block in plain.regrets(p).regret.blocks)
        pairs = zip(
            engine.row_reach(p, run.pair[p].average, reach),
            plain.row_reach(p, whole, reach),
            strict=True,
        )
        for a, b in pairs:
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_regrets_survive_the_way_to_the_host_and_back() -> None:
    tree, rng = compiled("nlfh"), np.random.default_rng([FRESH, 4])
    engine = TorchRangeEngine(tree, "cpu", buckets=coarse(tree, rng))
    regrets, again = engine.regrets(0), engine.regrets(0)
    for block in regrets.regret.blocks:
        block.copy_(block.clone())
        numbers = block.values if isinstance(block, Bucketed) else block
        numbers.copy_(torch.from_numpy(rng.normal(size=tuple(numbers.shape))))
    kept = regrets.regret.numpy()
    again.regret[:] = kept
    assert kept.any()
    np.testing.assert_array_equal(again.regret.numpy(), kept)
    bucketed = next(b for b in again.regret.blocks if isinstance(b, Bucketed))
    if bucketed.shares.seats.count < int(bucketed.shares.seats.real.sum()):
        with pytest.raises(sg.SubgameError, match="share a bucket"):
            again.regret[:] = rng.random(tree.stored(0), dtype=np.float32)


@pytest.mark.parametrize("learner", [0, 1])
def test_a_best_response_need_not_see_buckets(learner: int) -> None:
    """CFR-BR (Johanson et al. 2012), where one player forgets and the other answers all of it."""
    tree, responder = compiled("turn"), 1 - learner
    plan, lost = parse(f"cfr-br(responder={responder})"), []
    for buckets in (None, Buckets.lossless(tree)):
        engine = TorchRangeEngine(tree, "cpu", buckets=buckets)
        run = solver(engine, plan)
        one, two = (engine.regrets(p, bucketed=p == learner) for p in (0, 1))
        run.pair = (one, two)
        for first, count in ((1, 2), (2, 41)):  # one iteration, then forty
            run.advance(plan.discounts(first, count), first)
            against = engine.plan(learner, run.pair[learner].average)
            values = engine.respond(responder, against).roots[0]
            lost.append(values @ tree.players[responder].reach)
    assert lost[2] == pytest.approx(lost[0], abs=1e-6)
    assert lost[3] == pytest.approx(lost[1], abs=0.05)  # answers that are as good differ
    assert lost[0] > lost[1] + 0.2
    with pytest.raises(sg.SubgameError, match="sees hands"):
        solver(engine, plan).advance(plan.discounts(1, 2), 1)


# Many roots ----------------------------------------------------------------------------------
@pytest.mark.parametrize("entering", [False, True])
def test_roots_do_not_meet(entering: bool) -> None:
    """Buckets below one root are weighed by the reach at that root alone."""
    rng, plan = np.random.default_rng([FRESH, 5]), parse("dcfr")
    game = sg.holdem.nlfh(2000, 50, 100, "preflop: 1x / cap 1; flop: 1x / cap 1", "JQKA", "hs")
    tree = compile_range_tree(game)
    engine, roots = TorchRangeEngine(tree, "cpu"), grow(game)[0].leaves
    buckets = Buckets(tree, {"flop": merged(Buckets.lossless(tree), 1, rng)})
    real = engine.levels[1].hands[0].tables.above >= 0
    reach = [rng.random((len(roots), *real.shape)) * real for _ in "01"]

    def solved(chosen: list[int], start: list[Any]) -> list[Any]:
        batch = engine.stage(grow(game, [roots[k] for k in chosen]), buckets=buckets)
        learner = Watcher(batch, 1) if entering else None
        mine, yours = (weights[chosen].reshape(-1, real.shape[1]) for weights in reach)
        run = solver(batch, plan, learner, (mine, yours))
        for p in (0, 1):
            run.pair[p].regret.blocks[0].values.copy_(start[p])
        run.advance(plan.discounts(FIRST, 3), FIRST)
        return [regrets.regret.blocks[0].values for regrets in run.pair]

    bets = engine.stage(grow(game, roots), buckets=buckets).levels[0].bets
    start = [
        torch.from_numpy(100 * rng.random((bet.edges, buckets.groupings[1].count))).float()
        for bet in bets
    ]
    together = solved(list(range(len(roots))), start)
    above = [bucketing._roots_above(engine.stage(grow(game, roots)).levels, p)[0] for p in (0, 1)]
    for k in range(len(roots)):
        some = [torch.from_numpy(np.flatnonzero(root == k)) for root in above]
        alone = solved([k], [values[at] for values, at in zip(start, some, strict=True)])
        for p in (0, 1):
            torch.testing.assert_close(alone[p], together[p][some[p]], rtol=1e-4, atol=1e-2)


# Kernels -------------------------------------------------------------------------------------
@pytest.mark.parametrize("triton", [False, True])
def test_sums_by_bucket(triton: bool) -> None:
    """Of any size: buckets with thousands of places are added up in two steps."""
    rng = np.random.default_rng([FRESH, 6])
    with numpy_triton.installed():
        from subgame.engines.torch.fused import FusedOps

        ops: Any = (FusedOps if triton else TorchOps)(torch.device("cpu"))
        for places, count in ((1, 1), (700, 900), (5000, 2), (9000, 40)):
            of = np.minimum(rng.geometric(min(1, 3 / count), size=places), count) - 1
            of[rng.random(places) < 0.2] = -1
            data = rng.normal(size=(11, places)).astype(np.float32)
            data[:, of < 0] = np.nan  # nobody's
            weight = rng.random((3, places)).astype(np.float32)
            row = rng.integers(3, size=11).astype(np.int32)
            sums = Sums(of, "cpu")
            tensors = [torch.from_numpy(array) for array in (data, weight, row)]
            got = sums.of(ops, *tensors)
            again = sums.of(ops, *tensors)
            assert torch.equal(got, again)
            assert sorted(sums.buckets.tolist()) == sorted(set(of[of >= 0].tolist()))
            for a in range(11):
                shares = data[a].astype(np.float64) * weight[row[a]]
                want = np.bincount(of[of >= 0], shares[of >= 0], count)[sums.buckets]
                np.testing.assert_allclose(got[a], want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("name", "schedule"), [("river", "pcfr+"), ("nlfh", "dcfr")])
def test_kernels_say_what_plain_pytorch_says(name: str, schedule: str) -> None:
    rng, plan, tree = np.random.default_rng([FRESH, 7]), parse(schedule), compiled(name)
    buckets = coarse(tree, rng)
    with numpy_triton.installed():
        results = []
        for triton, scratch in ((False, 1 << 30), (True, 1 << 30), (True, 1 << 12)):
            engine = TorchRangeEngine(
                tree, "cpu", buckets=buckets, triton=triton, graphs=False, scratch=scratch
            )
            one = Device(engine, buckets, plan)
            one.write(np.random.default_rng(FRESH))
            one.run.advance(plan.discounts(FIRST, 2), FIRST)
            responses = [
                engine.respond(p, engine.plan(1 - p, one.pair[1 - p].average)).roots for p in (0, 1)
            ]
            numbers = [
                got
                for p in (0, 1)
                for field in ("regret", "average")
                for _, got in one.read(field, p)
            ]
            results.append(numbers + responses)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=2e-3, err_msg=str(FRESH))


# Placement -----------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "pcfr+(alternating=false)"])
def test_buckets_above_what_lies_on_the_host(schedule: str, device: str) -> None:
    """The last street comes by slices, those above are in buckets: no bit changes."""
    rng, plan, tree = np.random.default_rng([FRESH, 8]), parse(schedule), compiled("suits")
    fine, names = Buckets.lossless(tree), names_of(tree)
    buckets = Buckets(tree, {names[s]: merged(fine, s, rng) for s in (0, 1)})
    results: list[Any] = []
    placements: tuple[Any, Any] = ("device", "host")
    for placement in placements:
        engine = TorchRangeEngine(tree, device, buckets=buckets, placement=placement, graphs=False)
        one = Device(engine, buckets, plan)
        one.write(np.random.default_rng(FRESH))
        for first in (FIRST, FIRST + 2):
            one.run.advance(plan.discounts(first, 3), first)
        strategies = [regrets.average.numpy() for regrets in one.pair]
        plans = [
            engine.plan(p, sigma) for p in (0, 1) for sigma in (one.pair[p].average, strategies[p])
        ]
        responses = [engine.respond(1 - k // 2, against).roots for k, against in enumerate(plans)]
        numbers = [regrets.regret.numpy() for regrets in one.pair]
        results.append([*strategies, *numbers, *responses])
    blocks = one.pair[0].regret.blocks
    assert [type(block) for block in blocks] == [Bucketed, Bucketed, OffloadedBlock]
    assert len(blocks[-1].pieces) > 1
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=str(FRESH))
    kept = [*one.pair, *([engine._spare] if engine._spare else [])]
    parts = [part for regrets in kept for part in regrets if part is not None]
    estimate = engine.estimate(predictive=plan.predictive, alternating=plan.alternating)
    assert estimate.host == sum(part.blocks[-1].raw.nbytes for part in parts)


def test_copies_are_of_the_kind_that_is_played() -> None:
    """Where player 0's regrets are copied to the same place again and again."""
    plan, tree = parse("cfr(alternating=false)"), compiled("turn")
    engine = TorchRangeEngine(
        tree, "cpu", buckets=Buckets.lossless(tree, ["turn"]), placement="host"
    )
    for bucketed in (True, False, True):
        run = solver(engine, plan)
        one, two = (engine.regrets(p, bucketed=bucketed) for p in (0, 1))
        run.pair = (one, two)
        run.advance(plan.discounts(1, 3), 1)
        assert engine._spare is not None
        assert isinstance(engine._spare.regret.blocks[0], Bucketed) == bucketed


def test_a_last_street_in_buckets_stays_on_the_device() -> None:
    tree = compiled("turn")
    buckets = Buckets.lossless(tree, ["river"])
    with pytest.raises(sg.SubgameError, match="must be on the device"):
        TorchRangeEngine(tree, "cpu", buckets=buckets, placement="host")
    need = TorchRangeEngine(tree, "cpu", buckets=buckets).estimate().device
    assert TorchRangeEngine(tree, "cpu", buckets=buckets, memory_limit=need).placement == "device"
    with pytest.raises(MemoryLimitError, match="needs about"):
        TorchRangeEngine(tree, "cpu", buckets=buckets, memory_limit=need - 1)
    outside = TorchRangeEngine(tree, "cpu", placement="host")
    stage = outside.stage(tree.streets, buckets=buckets)
    assert (outside.placement, stage.placement, stage.estimate().device) == ("host", "device", need)
    assert isinstance(stage.regrets(0).regret.blocks[-1], Bucketed)
    with pytest.raises(sg.SubgameError, match="must be on the device"):
        outside.stage(tree.streets, buckets=buckets, placement="host")
