"""`device=` wherever something is solved: hold'em, checkpoints, and what is refused.

Inputs are drawn anew on every run; a failure names the seed. What is marked `gpu` repeats it all
on CUDA.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import tree_of
from holdem_games import GAMES
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.spots.endgame import Endgame

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
pytest.importorskip("numba", reason="the CPU engine needs Numba")

from subgame.engines.torch import TorchRangeEngine, TorchSequenceEngine  # noqa: E402
from subgame.engines.torch.blocks import Blocks  # noqa: E402
from subgame.engines.torch.runtime import has_triton  # noqa: E402

DEVICES = ["torch", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture
def seed() -> int:
    """One that nobody has chosen; pytest shows it where a test fails."""
    return int(np.random.SeedSequence().generate_state(1)[0])


# Hold'em -------------------------------------------------------------------------------------
def random_start(tree: sg.PublicTree, schedule: str, path: Path, seed: int) -> None:
    """A checkpoint with random regrets, larger than what some iterations add to them.

    What hold'em adds is weighted by hundreds of hands. Smaller regrets would soon be sums of it
    that nearly cancel: the share of an action could be all rounding, which differs by device.
    """
    run, rng = Run(tree, parse(schedule)), np.random.default_rng(seed)
    run.advance(10)
    for regrets in run.cfr.pair:
        regrets.regret[:] = 1e6 * rng.random(len(regrets.regret))
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
    # Differences are about 1e-8: float32 has 6e-8, and hundreds of hands average it out.
    assert got.value == pytest.approx(want.value, rel=1e-6, abs=1e-5)
    assert got.exploitability.per_seat == pytest.approx(want.exploitability.per_seat, rel=1e-6)
    here, there = (Endgame.of(want.strategy, device=d) for d in (None, device))
    assert there.ev == pytest.approx(here.ev, rel=1e-6)
    assert there.equity == pytest.approx(here.equity, rel=1e-9)


def test_measuring_copies_no_holdem_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(sg.compile(GAMES["turn"]), parse("dcfr"), device="torch")
    assert isinstance(run.engine, TorchRangeEngine)
    run.advance(5)
    want = sg.exploitability(run.tree, run.strategy())
    monkeypatch.setattr(Blocks, "numpy", None)
    monkeypatch.setattr("subgame.engines.torch.batch.from_numpy", None)
    # The strategy has probabilities in float32, which are not quite in proportion to averages.
    assert run.measure() == pytest.approx(want, rel=1e-7)


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
    with pytest.raises(sg.SubgameError, match="Schedules that sample run on the device cpu only"):
        sg.solve(kuhn, "mccfr", device="torch")
    with pytest.raises(sg.SubgameError, match="only for the device cpu"):
        sg.solve(kuhn, device="torch", threads=2)
    with pytest.raises(sg.SubgameError, match="TorchRangeEngine"):
        TorchSequenceEngine(sg.compile(GAMES["river"]), "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_said() -> None:
    for tree in (tree_of("kuhn"), sg.compile(GAMES["river"])):
        with pytest.raises(sg.SubgameError, match="finds no CUDA device"):
            sg.solve(tree, device="cuda")


def test_a_gpu_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(sg.SubgameError, match="2 CUDA devices, from 0 on"):
        sg.solve(tree_of("kuhn"), device="cuda:2")


@pytest.mark.parametrize(("version", "enough"), [("3.4.0", False), ("3.5.1", True), ("3.10", True)])
def test_kernels_need_a_triton_that_has_their_language(
    version: str, enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    triton = ModuleType("triton")
    monkeypatch.setattr(triton, "__version__", version, raising=False)
    monkeypatch.setitem(sys.modules, "triton", triton)
    assert has_triton() == enough


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
