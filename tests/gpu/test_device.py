"""Explicit trees on PyTorch beside the CPU engine, and `device=` wherever something is solved.

Inputs are drawn anew on every run; a failure names the seed. What is marked `gpu` repeats it all
on CUDA.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subgame.refine.doors import Door

import subgame as sg
from helpers import SMALL, tree_of
from holdem_games import GAMES
from subgame.engines.factory import engine
from subgame.refine.gadgets import gadget_form
from subgame.refine.payoffs import Trunk
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.sequence.form import assemble
from subgame.tree.sequence.tree import SequenceTree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
pytest.importorskip("numba", reason="the CPU engine needs Numba")

from subgame.engines.torch import TorchRangeEngine, TorchSequenceEngine  # noqa: E402
from subgame.engines.torch import sums as rows  # noqa: E402
from subgame.engines.torch.blocks import Blocks  # noqa: E402
from subgame.engines.torch.cuda_graph import Tape  # noqa: E402
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
        found = {"regret": 30 * rng.normal(size=size), "average": rng.random(size)}
        found["regret"][side.first] = 100 * (1 + rng.random(len(side.first)))
        if schedule.predictive:
            found["instant"] = rng.normal(size=size)
        out.append(found)
    return out


def cfr_from(run: Any, schedule: sg.Schedule, numbers: list[dict[str, Any]]) -> Cfr:
    """CFR about to go on from these regrets and averages."""
    cfr = Cfr(
        run,
        predictive=schedule.predictive,
        alternating=schedule.alternating,
        responder=schedule.responder,
    )
    for regrets, given in zip(cfr.pair, numbers, strict=True):
        for field, values in given.items():
            getattr(regrets, field)[:] = values
    return cfr


def same_regrets(got: Cfr, want: Cfr, seed: int, tight: float = TIGHT) -> None:
    for p in (0, 1):
        for field in FIELDS:
            here, there = (getattr(cfr.pair[p], field) for cfr in (got, want))
            assert (here is None) == (there is None)
            if there is not None:
                close(here, there, f"{field} of player {p}, seed {seed}", tight)


# Explicit trees ------------------------------------------------------------------------------
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
        one, two = (found.choice for found in best)
        assert one is not None
        assert two is not None
        np.testing.assert_array_equal(two, one, err_msg=f"seed {seed}")
        assert one.dtype == two.dtype


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
def test_judging_on_a_device(name: str, device: str, seed: int) -> None:
    tree = tree_of(name)
    strategy, other = (sg.Strategy.random(tree, seed + k) for k in (0, 1))
    want, got = (sg.exploitability(tree, strategy, device=d) for d in (None, device))
    close(got.per_seat, want.per_seat, f"seed {seed}")
    values = [sg.expected_value(tree, strategy, other, device=d) for d in (None, device)]
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


class Replay(Tape):
    """Repeats for ever what was recorded first, as a graph does: it knows no later call."""

    def run(self, play: Callable[[], None]) -> None:
        if self.graph is None:
            self.graph = play
        self.graph()


class Halving:
    """A gadget: the opponent enters by a share that depends on all values seen so far."""

    player = 1

    def __init__(self, engine: Any) -> None:
        self.seen = engine.roots(1) * 0

    def enter(self) -> Any:
        return 1 / (1 + self.seen.abs())

    def observe(self, values: Any, discounts: Any) -> None:
        self.seen.mul_(discounts[1, 0]).add_(values)


@pytest.mark.parametrize("gadget", [False, True])
@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "pcfr+", "cfr-br"])
def test_a_recorded_iteration_can_be_replayed(
    schedule: str, gadget: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that changes between iterations and calls comes through places that stay."""
    monkeypatch.setattr("subgame.engines.torch.sequence.Tape", Replay)
    tree, plan, sides = sg.cut(tree_of("leduc"), "after round 1")[0].tree, parse(schedule), []
    start = drawn(tree, plan, seed)
    for graphs in (False, True):
        run = TorchSequenceEngine(tree, "cpu", graphs=graphs)
        one, two = (cfr_from(run, plan, start) for _ in range(2))
        one.learner = Halving(run) if gadget else None
        for t in (11, 13):
            one.advance(plan.discounts(t, 3), t)
        two.advance(plan.discounts(11, 3), 11)  # another one's graph takes the place of the first
        one.advance(plan.discounts(15, 3), 15)
        sides.append((one, two))
    for want, got in zip(*sides, strict=True):
        same_regrets(got, want, seed, 0.0)


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
    """What the gadget is told, and steps in its game from random regrets."""
    tree, gadget, o = named(name, seed), TECHNIQUES[technique], seed % 2
    rough, guess = (sg.Strategy.random(tree, seed + k) for k in (0, 1))
    subgame = sg.cut(tree, "after round 1" if name == "leduc" else "depth 2")[0]
    told = []
    for where in ("cpu", device):
        trunk = Trunk.of(rough, o, gadget, guess, where)
        values = trunk.value_of(subgame, guess) if gadget.estimate else None
        told.append(trunk.inputs(subgame, gadget, values)[0])
    for key, want in vars(told[0]).items():
        close(getattr(told[1], key), want, f"{key}, seed {seed}")
    made = shaken(assemble(gadget_form(gadget, subgame.form, told[0])), seed)
    plan = parse(gadget.schedule)
    start = drawn(made, plan, seed)
    want, got = (cfr_from(engine(made, device=where), plan, start) for where in ("cpu", device))
    for cfr in (want, got):
        cfr.advance(plan.discounts(11, 4), 11)
    same_regrets(got, want, seed, 1e-8)


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


def test_a_linear_program_is_judged_on_the_device() -> None:
    tree = tree_of("coin-toss")
    found = sg.refine(
        tree,
        sg.blueprint(tree, "paper"),
        at="Play",
        technique="maxmargin",
        schedule="lp",
        device="torch",
    )
    assert found.strategy["Play"]["Heads"] == pytest.approx(0.625)
    assert "torch" in tree.engines


HOLDEM = {key: TECHNIQUES[key] for key in TECHNIQUES if "safe" not in key or key == "unsafe"}


def hands(tree: Any, p: int) -> Any:
    """Which numbers of a river's memory belong to hands; the rest is padding."""
    decisions = range(len(tree.streets[0].states[p]))
    return np.concatenate([tree.players[p].cells(0, j).ravel() for j in decisions])


def memories(run: Any, schedule: sg.Schedule, start: list[dict[str, Any]]) -> Any:
    made = tuple(run.memory(p, predictive=schedule.predictive) for p in (0, 1))
    for memory, numbers in zip(made, start, strict=True):
        for field, values in numbers.items():
            getattr(memory, field)[:] = values
    return made


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "cfr"])
@pytest.mark.parametrize("technique", HOLDEM)
def test_gadgets_before_holdem(technique: str, schedule: str, device: str, seed: int) -> None:
    """A few iterations from random memories of the tree and of the door."""
    tree, gadget, plan = sg.compile(GAMES["river"]), HOLDEM[technique], parse(schedule)
    o, rng = seed % 2, np.random.default_rng(seed)
    rough = sg.Strategy.random(tree, seed)
    regrets = [100 * rng.random(side.num_sequences) for side in tree.players]
    start: list[Any] = [{"regret": r, "average": 0 * r} for r in regrets]
    results = []
    for where in ("cpu", device):
        subgame = sg.cut(tree, "root")[0]
        inputs, _ = Trunk.of(rough, o, gadget, None, where).inputs(subgame, gadget)
        spread = 1 + np.abs(inputs.cbv)
        door = Door(gadget, tree, inputs, spread, plan.predictive, where)
        if door.tree.players[o].names:
            outer = np.random.default_rng(seed + 1).random(len(door.memories[o].regret))
            door.memories[o].regret[:] = 100 * outer
        door.begin(plan.discounts(11, 1)[0])
        run: Any = engine(tree, device=where)
        made = memories(run, plan, start)
        run.iterate(made, plan.discounts(11, 4), plan.alternating, door)
        gap = door.judge(run, tuple(run.behaviour(p, made[p].average) for p in (0, 1)))
        kept = [
            np.asarray(getattr(made[p], field))[hands(tree, p)]
            for p in (0, 1)
            for field in ("regret", "average")
        ]
        results.append([inputs.cbv, door.enter(o), np.array(gap.per_seat), *kept])
    for k, (want, got) in enumerate(zip(*results, strict=True)):
        close(got, want, f"number {k}, seed {seed}", 1e-5)


# Hold'em -------------------------------------------------------------------------------------
def random_start(tree: sg.PublicTree, schedule: str, path: Path, seed: int) -> None:
    """A checkpoint with random regrets."""
    run, rng = Run(tree, parse(schedule)), np.random.default_rng(seed)
    run.advance(10)
    for memory in run.memories:
        memory.regret[:] = 100 * rng.random(len(memory.regret))
    run.save(path)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "cfr"])
def test_a_holdem_endgame(schedule: str, device: str, seed: int, tmp_path: Path) -> None:
    """Both go on from the same random regrets, for ties would be broken by rounding."""
    bets, ranges = "river: 0.5x 1x a", ("22+,A2+,KT+,QJ", "random")
    tree = sg.compile(sg.holdem.endgame("QsJh2h8d3c", 100, 300, ranges, bets))
    random_start(tree, schedule, tmp_path / "start", seed)
    want, got = (
        sg.solve(tree, schedule, iterations=14, resume=tmp_path / "start", device=d)
        for d in (None, device)
    )
    assert got.value == pytest.approx(want.value, rel=1e-5, abs=1e-4)
    assert got.exploitability.per_seat == pytest.approx(want.exploitability.per_seat, rel=1e-5)
    here, there = (sg.Endgame.of(want.strategy, device=d) for d in (None, device))
    assert there.ev == pytest.approx(here.ev, rel=1e-6)
    assert there.equity == pytest.approx(here.equity, rel=1e-9)


def test_measuring_copies_no_holdem_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(sg.compile(GAMES["turn"]), parse("dcfr"), device="torch")
    assert isinstance(run.engine, TorchRangeEngine)
    run.advance(5)
    want = sg.exploitability(run.tree, run.strategy())
    monkeypatch.setattr(Blocks, "numpy", None)
    monkeypatch.setattr(TorchRangeEngine, "from_cpu", None)
    assert run.measure() == pytest.approx(want, rel=1e-6)  # the copy is rounded to float32


# Checkpoints ---------------------------------------------------------------------------------
@pytest.mark.parametrize(("first", "second"), [("cpu", "torch"), ("torch", "cpu")])
@pytest.mark.parametrize("schedule", ["cfr+", "pdcfr+"])
@pytest.mark.parametrize("name", ["leduc", "river"])
def test_checkpoints_go_from_device_to_device(
    name: str, schedule: str, first: str, second: str, tmp_path: Path, seed: int
) -> None:
    tree = sg.compile(GAMES[name]) if name in GAMES else tree_of(name)
    random_start(tree, schedule, tmp_path / "start", seed)
    whole = sg.solve(tree, schedule, iterations=14, resume=tmp_path / "start", device=second)
    sg.solve(
        tree,
        schedule,
        iterations=12,
        resume=tmp_path / "start",
        device=first,
        checkpoint=tmp_path / "there",
    )
    done = sg.solve(tree, schedule, iterations=14, resume=tmp_path / "there", device=second)
    tight = 1e-9 if name == "leduc" else 1e-5
    assert done.iterations == 14
    assert done.value == pytest.approx(whole.value, rel=tight, abs=tight)
    assert done.exploitability == pytest.approx(whole.exploitability, rel=tight)


@pytest.mark.parametrize("name", ["leduc", "river"])
def test_a_run_on_a_device_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    tree = sg.compile(GAMES[name]) if name in GAMES else tree_of(name)
    whole = sg.solve(tree, "pdcfr+", iterations=20, device="torch")
    sg.solve(tree, "pdcfr+", iterations=9, device="torch", checkpoint=tmp_path / "half")
    done = sg.solve(tree, "pdcfr+", iterations=20, device="torch", resume=tmp_path / "half")
    for one, two in zip(whole.strategy.probs, done.strategy.probs, strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("storage", ["int16", "bfloat16"])
def test_numbers_rounded_by_chance_repeat(storage: str, tmp_path: Path) -> None:
    """By the iteration: neither what was solved before nor a stop in between matters."""
    tree = sg.compile(GAMES["turn"], merge="boards")
    options: Any = {"device": "torch", "storage": storage}
    whole = sg.solve(tree, "dcfr", iterations=12, **options).strategy
    sg.solve(tree, "dcfr", iterations=5, checkpoint=tmp_path / "half", **options)
    done = sg.solve(tree, "dcfr", iterations=12, resume=tmp_path / "half", **options).strategy
    for p in (0, 1):
        np.testing.assert_array_equal(done.probs[p], whole.probs[p])


# Refusals ------------------------------------------------------------------------------------
def test_refusals_are_sentences() -> None:
    kuhn = tree_of("kuhn")
    for name in ("gpu", "torch:1", "cuda:x", "cpu:0"):
        with pytest.raises(sg.SubgameError, match=r"There is no device .*cuda"):
            sg.solve(kuhn, device=name)
    with pytest.raises(sg.SubgameError, match="Schedules that sample run on the device cpu"):
        sg.solve(kuhn, "mccfr", device="torch")
    with pytest.raises(sg.SubgameError, match="no meaning on torch"):
        sg.solve(kuhn, device="torch", threads=2)
    with pytest.raises(sg.SubgameError, match="TorchRangeEngine"):
        TorchSequenceEngine(sg.compile(GAMES["river"]), "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_said() -> None:
    for tree in (tree_of("kuhn"), sg.compile(GAMES["river"])):
        with pytest.raises(sg.SubgameError, match="sees no CUDA device"):
            sg.solve(tree, device="cuda")


def test_a_gpu_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(sg.SubgameError, match="2 CUDA devices, from 0 on"):
        sg.solve(tree_of("kuhn"), device="cuda:2")


def test_no_pytorch_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    tree = sg.compile(sg.games.load("kuhn"))
    with pytest.raises(sg.SubgameError, match=r"subgame\[gpu\]"):
        sg.solve(tree, device="cuda")


def test_nothing_on_a_device_needs_numba() -> None:
    program = """
import sys
sys.modules["numba"] = None
import subgame as sg
small = sg.compile(sg.games.load("leduc"))
river = sg.compile(sg.holdem.endgame("QsJh2h8d3c", 4, 6, ("AA,KK,76", "QQ,AK"), "all: a"))
for tree, at in ((small, "after round 1"), (river, "root")):
    found = sg.solve(tree, "dcfr", iterations=2, device="torch").strategy
    for technique in ("reach-maxmargin", "distributional"):
        sg.refine(tree, found, at=at, technique=technique, iterations=2, device="torch")
try:
    sg.solve(small, iterations=1)
except ImportError:
    print("no Numba")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "no Numba\n", done.stderr[-2000:]
