"""Regret matching is exact and kernels leave no subnormal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import binding, ir

import subgame as sg
from holdem_games import GAMES
from subgame.engines.arrays import regret_matching
from subgame.engines.contract import Regrets
from subgame.engines.numba.range_scratch import STILL
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.engines.numba.subnormals import read_word, write_word
from subgame.games.holdem.cards import Deck
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.tree.ranges.tree import RangeSide, compile_range_tree

SMALL, LARGE = "all: 1x / cap 2", "all: 0.5x 1x / cap 2"


def turn(bets: str) -> Any:
    """The turn of docs/nested.md."""
    ranges = ("AA,KT,QJ,TT", "AK,KK,QJ,JTs")
    return sg.holdem.endgame("Qs 9h Th Ks", 40, 120, ranges, bets, deck=Deck("9TJQKA", "hs"))


@pytest.mark.parametrize(("iterations", "expected"), [(2, 24.926185), (3, 21.618797)])
def test_the_first_iterations_are_those_of_the_explicit_tree(
    iterations: int, expected: float
) -> None:
    """The numbers are those of an independent loop of CFR+."""
    for explicit in (True, False):
        tree = sg.compile(turn(SMALL), explicit=explicit, merge=explicit)
        gap = sg.solve(tree, "cfr+", iterations=iterations).exploitability
        assert float(gap) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_small_weights_count_and_zeros_are_zero(storage: str) -> None:
    """Weights of any normal size are matched exactly; without a positive one play is uniform."""
    tree = compile_range_tree(GAMES["turn"], merge=True)
    engine = NumbaRangeEngine(tree, 1, storage)
    side = tree.players[0]
    assert isinstance(side, RangeSide)
    for size in (1e-37, 1e-30, 1.0, 1e30):
        if storage == "int16" and size < 1e-30:
            continue  # less than its smallest scale
        weights = engine.regrets(0).regret
        numbers = np.zeros(tree.stored(0), np.float32)
        cells = [side.sequences(i) for i in range(len(side.names))]
        for i, at in enumerate(cells):
            if i % 3 == 1:
                numbers[at[0]] = size
            elif i % 3 == 2:
                numbers[at] = -size
        weights[:] = numbers
        probs = engine.current(0, Regrets(weights, None, None), STILL[0])
        for i, at in enumerate(cells):
            want = np.arange(len(at)) == 0 if i % 3 == 1 else np.full(len(at), 1 / len(at))
            np.testing.assert_allclose(probs[at], want, rtol=1e-6, atol=0)


def test_outside_of_kernels_the_same_rule_holds() -> None:
    regret = np.array([[1e-200, 0.0], [0.0, 0.0], [-1.0, -2.0], [3e-310, 1e-310]])
    want = np.array([[1, 0], [0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])
    np.testing.assert_allclose(regret_matching(regret, 1), want, rtol=1e-6)


@pytest.mark.parametrize("iterations", [2, 5, 20])
def test_a_hand_that_meets_nobody_learns_nothing(iterations: int) -> None:
    """Every hand that arrives has one of its two cards: only rounding could be left of zero."""
    theirs = "AsQc:0.37,AsTd:0.91,As8c:0.13,As5h:0.3,KdQs:0.77,KdTh:0.59,Kd8s:0.21,Kd3h:0.83"
    ranges = theirs, "AsKd,AcKh,KcKh,QdQh,T8,65"
    tree = sg.compile(sg.holdem.endgame("2c 7d 9h Jh 4s", 100, 300, ranges, "all: 0.5x 1x"))
    strategy = sg.solve(tree, "dcfr", iterations=iterations).strategy
    names = [name for name in tree.players[1].names if {"As", "Kd"} == {name[:2], name[2:4]}]
    assert names
    for name in names:
        played = list(strategy[name].values())
        assert played == pytest.approx([1 / len(played)] * len(played), abs=1e-6)


# Subnormal numbers ---------------------------------------------------------------------------


def subnormal(numbers: Any) -> int:
    """How many numbers lie between zero and the smallest normal one."""
    size = np.abs(np.asarray(numbers))
    return int(((size > 0) & (size < np.finfo(size.dtype).tiny)).sum())


@pytest.mark.parametrize("schedule", ["dcfr", "cfr+", "hs-dcfr", "pdcfr+"])
@pytest.mark.parametrize("name", ["turn", "flop", "suits", "nested"])
def test_hundreds_of_iterations_leave_no_subnormal_number(name: str, schedule: str) -> None:
    """On any iteration: a number that decays passes through them once."""
    game = turn(LARGE) if name == "nested" else GAMES[name]
    engine = NumbaRangeEngine(compile_range_tree(game, merge=False), 1)
    plan, begin = parse(schedule), 1
    cfr = Cfr(engine, predictive=plan.predictive, alternating=plan.alternating)
    for _ in range(30):
        cfr.advance(plan.discounts(begin, 11), begin)
        begin += 10
        work = engine.workers.workspace(np.float32)
        for regrets in cfr.pair:
            for numbers in regrets:
                assert numbers is None or subnormal(numbers) == 0
        for scratch in work.packed[0].item[3:]:
            for numbers in (scratch.reach, scratch.value, scratch.lanes, scratch.way):
                assert subnormal(numbers) == 0


def test_sequence_trees_have_none_either() -> None:
    tree = sg.compile(sg.games.load("leduc"))
    run = sg.solve(tree, "dcfr", iterations=1100)
    assert all(subnormal(probs) == 0 for probs in run.strategy.probs)


@pytest.mark.parametrize("threads", [1, 2])
def test_python_still_has_subnormal_numbers_after_a_solve(threads: int) -> None:
    few = np.array([1e-30], np.float32)
    assert subnormal(few * np.float32(1e-10)) == 1
    for game in (sg.compile(turn(SMALL), merge=False), sg.compile(sg.games.load("kuhn"))):
        sg.solve(game, "dcfr", iterations=20, threads=threads)
        assert subnormal(few * np.float32(1e-10)) == 1
        assert 5e-324 / 1 > 0


@pytest.mark.parametrize(
    ("triple", "instruction"),
    [
        ("x86_64-unknown-linux-gnu", "ldmxcsr"),
        ("aarch64-unknown-linux-gnu", "msr\tFPCR"),
        ("arm64-apple-darwin", "msr\tFPCR"),
    ],
)
def test_the_mode_compiles_for_every_processor(triple: str, instruction: str) -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = ir.Module()
    kind = ir.FunctionType(ir.VoidType(), [])
    builder = ir.IRBuilder(ir.Function(module, kind, "f").append_basic_block())
    word = read_word(builder, triple)
    write_word(builder, triple, word, extra=True)
    write_word(builder, triple, word)
    builder.ret_void()
    machine = binding.Target.from_triple(triple).create_target_machine()
    code = machine.emit_assembly(binding.parse_assembly(str(module)))
    assert code.count(instruction) == 2
