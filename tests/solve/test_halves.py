"""Regrets and averages in sixteen bits, beside thirty-two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.engines.factory import engine
from subgame.engines.numba.range_scratch import Int16Numbers
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.spots.endgame import memory_needed
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

RIVER = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,KQ,JTs,76s", "QQ,AJ,T9s"), "all: 1x a")


def test_numbers_are_kept_to_a_share_of_the_greatest_beside_them() -> None:
    rng = np.random.default_rng()
    values = (rng.normal(size=160) * np.repeat(10.0 ** np.arange(-5, 5), 16)).astype(np.float32)
    kept = Int16Numbers(160)
    kept[:] = values
    top = np.abs(values).reshape(-1, 16).max(1).repeat(16)
    assert (np.abs(np.asarray(kept) - values) <= top / 32767 * 0.51).all()
    assert np.asarray(kept.copy()).tolist() == np.asarray(kept).tolist()
    assert kept.ints.nbytes + kept.scales.nbytes == 160 * 2 + 10 * 4
    kept[:] = np.zeros(160)
    assert not np.asarray(kept).any()


@pytest.mark.parametrize("schedule", ["dcfr", "cfr+", "cfr", "pcfr+", "pdcfr+"])
@pytest.mark.parametrize("name", ["river", "turn", "nlfh"])
def test_a_step_is_that_of_thirty_two_bits_rounded(name: str, schedule: str) -> None:
    """From the same numbers; afterwards each is off by what a line of sixteen rounds away."""
    tree, plan, rng = compile_range_tree(GAMES[name]), parse(schedule), np.random.default_rng(0)
    runs = [
        Cfr(
            engine(tree, 1, storage=storage),
            predictive=plan.predictive,
            alternating=plan.alternating,
            responder=plan.responder,
        )
        for storage in ("float32", "int16")
    ]
    both: list[Any] = [run.pair for run in runs]
    for p in (0, 1):
        for field in ("regret", "average", *(["instant"] if plan.predictive else [])):
            halves = getattr(both[1][p], field)
            halves[:] = rng.random(tree.stored(p), dtype=np.float32)
            getattr(both[0][p], field)[:] = np.asarray(halves)
    for run in runs:
        run.advance(plan.discounts(11, 2), 11)
    for p in (0, 1):
        for field in ("regret", "average"):
            want, got = (np.asarray(getattr(pair[p], field)) for pair in both)
            top = np.abs(want).reshape(-1, 16).max(1).repeat(16)
            assert (np.abs(got - want) <= 1e-4 * top + 1e-5 * np.abs(want).max()).all()
        assert isinstance(both[1][p].regret, Int16Numbers)


def test_a_river_is_solved_as_well_in_half_the_memory(tmp_path: Path) -> None:
    tree = sg.compile(RIVER)
    assert isinstance(tree, RangeTree)
    full, half = (
        sg.solve(tree, "dcfr", iterations=200, storage=storage) for storage in ("float32", "int16")
    )
    assert half.value == pytest.approx(full.value, abs=0.02)
    assert float(half.exploitability) < 1.2 * float(full.exploitability) + 0.02
    assert float(half.exploitability) == pytest.approx(
        float(sg.exploitability(tree, half.strategy)), rel=1e-4
    )
    small, large = (
        memory_needed(tree, "dcfr", kind) - tree.nbytes for kind in ("int16", "float32")
    )
    assert small / large == pytest.approx((2 * 2.25 + 4) / 12, rel=1e-3)
    run = sg.solve(tree, "dcfr", iterations=20, storage="int16", checkpoint=tmp_path / "a.ckpt")
    on = sg.solve(tree, "dcfr", iterations=40, storage="int16", resume=tmp_path / "a.ckpt")
    once = sg.solve(tree, "dcfr", iterations=40, storage="int16")
    assert run.iterations == 20
    for p in (0, 1):
        np.testing.assert_array_equal(on.strategy.probs[p], once.strategy.probs[p])


def test_few_hands_and_many_iterations_are_not_lost_in_rounding() -> None:
    """Where hands do not fill a row, nothing else is in it; small averages fade as they should."""
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 300, ("AA,KK,77", "TT,AK"), "postflop: 1x a")
    tree = sg.compile(game)
    assert isinstance(tree, RangeTree)
    assert tree.merged
    for count, least in ((10, 0.1), (400, 1e-12)):
        gaps = [
            float(sg.solve(tree, "hs-dcfr", iterations=count, storage=kind).exploitability)
            for kind in ("float32", "int16")
        ]
        assert least < gaps[0]
        assert gaps[1] < 1.5 * gaps[0] + 1e-6
    run = Cfr(engine(tree, 1, storage="int16"))
    run.advance(parse("dcfr").discounts(1, 4), 1)
    for p, regrets in enumerate(run.pair):
        real = np.zeros(tree.stored(p), dtype=bool)
        for j in range(len(tree.streets[0].states[p])):
            real[tree.players[p].cells(0, j)] = True
        assert not np.asarray(regrets.regret)[~real].any()


def test_other_storages_and_other_trees_are_refused() -> None:
    with pytest.raises(sg.SubgameError, match="storage on the CPU called 'int8'"):
        sg.solve(sg.compile(RIVER), "dcfr", iterations=1, storage="int8")
    with pytest.raises(sg.SubgameError, match="Only hold'em trees"):
        sg.solve(sg.compile(sg.games.load("kuhn")), iterations=1, storage="int16")
