"""Hold'em trees: the kernels of ranges beside the explicit tree of the same game, and the LP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from holdem_refining import spread
from subgame.engines.factory import engine
from subgame.engines.numba import ranges as range_engine
from subgame.errors import MemoryLimitError
from subgame.solve.evaluate import expected_value
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Run
from subgame.tree.ranges.tree import RangeSide, RangeTree

SYMMETRIC = {"suits", "nlfh"}


def explicit(name: str) -> sg.PublicTree:
    return sg.compile(GAMES[name], explicit=True)


def compiled(name: str) -> RangeTree:
    tree = sg.compile(GAMES[name])
    assert isinstance(tree, RangeTree)
    return tree


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", sorted(GAMES.keys() - SYMMETRIC))
def test_any_strategy_is_worth_what_the_explicit_tree_says(name: str, threads: int) -> None:
    tree, oracle = compiled(name), explicit(name)
    engine(tree, threads)
    mine = sg.Strategy.random(tree, seed=7)
    same = spread(mine, oracle)
    assert expected_value(tree, mine) == pytest.approx(expected_value(oracle, same), abs=1e-6)
    ours, theirs = sg.exploitability(tree, mine), sg.exploitability(oracle, same)
    assert ours.per_seat == pytest.approx(theirs.per_seat, abs=1e-6)


def chance(tree: RangeTree, u: int) -> float:
    """Of the cards of unit `u` and of a pair of hands of weight one."""
    p = 1 / tree.deals
    while u > 0:
        p, u = p * tree.units[u].weight, tree.units[u].parent
    return p


@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "dcfr", "pcfr+", "pdcfr+", "lcfr"])
@pytest.mark.parametrize("name", sorted(GAMES.keys() - SYMMETRIC))
def test_every_schedule_takes_the_steps_of_the_explicit_engine(name: str, schedule: str) -> None:
    """One iteration from random regrets: where none are there, rounding would break exact ties."""
    tree, oracle = compiled(name), explicit(name)
    plan: Schedule = parse(schedule)
    ours, theirs = Run(tree, plan), Run(oracle, plan)
    rng = np.random.default_rng(3)
    where = []
    for p in (0, 1):
        home, side = tree.players[p], oracle.players[p]
        assert isinstance(home, RangeSide)
        number = {text: i for i, text in enumerate(home.names)}
        weight = dict(zip(home.slots, home.reach, strict=True))
        mine = [home.sequences(number[text]) for text in side.names]
        others = [side.sequences(i) for i in range(len(side.names))]
        sizes = [len(s) for s in others]
        held = np.repeat([weight[text.split(" | ")[0]] for text in side.names], sizes)
        dealt = np.repeat([chance(tree, home.locate(number[t])[0]) for t in side.names], sizes)
        # A hand's weight is reach here and chance there; chance is counted on the way up here.
        units = {"regret": held * dealt, "instant": held * dealt, "average": 1 / held}
        where.append((np.concatenate(mine), np.concatenate(others), units))
        for field in ("regret", "average", *(["instant"] if plan.predictive else [])):
            drawn = rng.normal(size=len(held)).astype(np.float32)
            drawn = drawn if field == "instant" else np.abs(drawn)
            getattr(ours.cfr.pair[p], field)[where[p][0]] = drawn
            getattr(theirs.cfr.pair[p], field)[where[p][1]] = drawn * units[field]
    ours.iteration = theirs.iteration = 10
    ours.advance(1)
    theirs.advance(1)
    for p in (0, 1):
        for field in ("regret", "average"):
            got = getattr(ours.cfr.pair[p], field)[where[p][0]]
            want = getattr(theirs.cfr.pair[p], field)[where[p][1]] / where[p][2][field]
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=field)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_solved_games_have_the_value_of_the_linear_program(name: str) -> None:
    tree = compiled(name)
    exact = sg.solve_lp(explicit(name)).value
    solved = sg.solve(tree, "pdcfr+", iterations=2000)
    assert float(solved.exploitability) < 2e-4
    assert solved.value == pytest.approx(exact, abs=4e-4)


def test_cfr_br_approaches_the_value() -> None:
    tree = compiled("turn")
    exact = sg.solve_lp(explicit("turn")).value
    for learner in (0, 1):
        solved = sg.solve(tree, f"cfr-br(responder={1 - learner})", iterations=4000)
        lost = solved.exploitability.per_seat[learner] + (exact if learner == 0 else -exact)
        assert -1e-6 < lost < 0.03


def test_suits_that_nothing_tells_apart_are_one_board() -> None:
    tree = compiled("suits")
    assert len(GAMES["suits"].symmetries) == 2
    whole = sum(1 for unit in tree.units if unit.street == 1)
    assert whole == 3  # queen, king, ace of hearts stand for those of clubs
    assert {unit.weight for unit in tree.units if unit.street == 1} == {2 / 2}


def test_threads_change_nothing() -> None:
    strategies: list[Any] = []
    for threads in (1, 2, 3):
        tree = compiled("flop")
        result = sg.solve(tree, "dcfr", iterations=20, threads=threads)
        run = engine(tree)
        assert isinstance(run, range_engine.NumbaRangeEngine)
        assert run.threads == threads
        strategies.append(result.strategy.probs)
    for other in strategies[1:]:
        for p in (0, 1):
            np.testing.assert_array_equal(other[p], strategies[0][p])


def threads_of(tree: RangeTree, threads: int | None = None) -> int:
    run = engine(tree, threads)
    assert isinstance(run, range_engine.NumbaRangeEngine)
    return run.threads


def test_threads_are_as_many_as_there_is_work_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a single board more. A number that is asked for is used, however little there is to do."""
    monkeypatch.setattr(range_engine, "cores", lambda: 4)
    for name, unit in (("river", "ALONE"), ("turn", "SHARE")):
        size = sum(map(compiled(name).stored, (0, 1)))
        for share, expected in ((size + 1, 1), (size, 1), (size // 2, 2), (size // 3, 3), (1, 4)):
            monkeypatch.setattr(range_engine, unit, share)
            assert threads_of(compiled(name)) == expected
            assert threads_of(compiled(name), 3) == 3


def test_a_strategy_is_saved_and_read_back(tmp_path: object) -> None:
    tree = compiled("river")
    result = sg.solve(tree, "dcfr", iterations=20)
    path = f"{tmp_path}/river.safetensors"
    result.strategy.save(path)
    again = sg.Strategy.load(path, tree)
    assert sg.exploitability(tree, again) == sg.exploitability(tree, result.strategy)
    assert sg.exploitability(tree, again).mean == pytest.approx(
        result.exploitability.mean, rel=1e-6
    )
    name = tree.players[0].names[0]
    assert sum(again[f"player 0: {name}"].values()) == pytest.approx(1)


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("name", ["river", "turn"])
def test_the_last_iterate_is_a_strategy(name: str, device: str, tmp_path: Path) -> None:
    """`average=last` keeps no average: what is played now is shown, saved and measured."""
    if device == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    tree = compiled(name)
    result = sg.solve(tree, "cfr+(average=last)", iterations=30, device=device)
    assert all((probs >= 0).all() for probs in result.strategy.probs)
    for _, infoset, row in result.strategy.rows():
        assert min(row.values()) >= 0, infoset
        assert sum(row.values()) == pytest.approx(1, abs=1e-6), infoset
    assert float(result.exploitability) > -1e-6  # probabilities are float32
    assert result.curve[-1].exploitability == float(result.exploitability)
    path = tmp_path / "last.safetensors"
    result.strategy.save(path)
    again = sg.Strategy.load(path, tree)
    for p in (0, 1):
        np.testing.assert_array_equal(again.probs[p], result.strategy.probs[p])
    measured = sg.exploitability(tree, again, device=device).per_seat
    assert measured == pytest.approx(result.exploitability.per_seat, abs=1e-6)
    here = sg.exploitability(tree, again).per_seat  # and by the engine of the CPU
    assert here == pytest.approx(result.exploitability.per_seat, abs=1e-6)
    average = sg.solve(tree, "cfr+", iterations=30, device=device)
    assert any(
        np.abs(one - two).max() > 1e-3
        for one, two in zip(average.strategy.probs, result.strategy.probs, strict=True)
    )


def test_sampling_is_refused() -> None:
    with pytest.raises(sg.SubgameError, match="without sampling"):
        sg.solve(compiled("river"), "mccfr", iterations=1)


def test_memory_is_quoted_before_it_is_used() -> None:
    with pytest.raises(MemoryLimitError, match="over the limit"):
        sg.compile(GAMES["turn"], memory_limit="1KB")
