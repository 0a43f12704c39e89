"""The GPU benchmark without a GPU, on small games: its figures are those that `sg.solve` finds.

Every exploitability and value that a part reports is compared with a solve of the same game by the
public API. The strategy found there is evaluated by the CPU engine, which shares no kernels with
what is measured.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import subgame as sg
from gpu_check import buckets as check_buckets
from gpu_check import check, measure
from gpu_check import games as check_games
from gpu_check import larger as check_larger
from subgame.engines.torch import TorchRangeEngine, TorchSequenceEngine
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.solve.evaluate import expected_value
from subgame.solve.schedule import parse
from subgame.tree.ranges.tree import compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
pytest.importorskip("numba", reason="the CPU engine needs Numba")

import numpy_triton  # noqa: E402

SHORT = Deck("TJQKA", "hs")
FLOP = holdem.nlfh(200, 50, 100, "preflop: none; flop: 1x / cap 1", "JQKA", "hs")
TURN = holdem.nlth(2000, 50, 100, "preflop: none; flop: none; turn: 1x / cap 1", "QKA", "chs")
ENDGAME = holdem.endgame("QsJhThKs", 100, 300, bets="all: 1x / cap 1", deck=SHORT)
SCALE = measure.Scale(
    1e10, "cpu", FLOP, TURN, ENDGAME, SHORT, most=10, seconds=0.25, steps=(6, 6), sample=1 << 20
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RUN", 1)


def solved(game: Any, iterations: int, storage: str = "float32") -> tuple[float, float]:
    """Exploitability and value of DCFR, in chips: solved by PyTorch, evaluated by the CPU engine.

    The CPU engine would not solve alike: where regrets are equal, rounding decides what is played.
    """
    tree = sg.compile(game)
    strategy = sg.solve(
        tree, "dcfr", iterations=iterations, device="torch", storage=storage
    ).strategy
    return float(sg.exploitability(tree, strategy)), expected_value(tree, strategy)


def close(mbb: float, chips: float) -> None:
    """One amount in thousandths of a big blind of 100 and in chips."""
    assert mbb * 0.1 == pytest.approx(chips, rel=1e-3)


def check_curve(curve: dict[str, Any], game: Any, storage: str = "float32") -> None:
    """The last point of a curve, and the value beside it."""
    iterations, _, gap = curve["iterations, s, exploitability"][-1]
    exploitability, value = solved(game, iterations, storage)
    close(gap, exploitability)
    close(curve["value"], value)


def test_rivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endgames that are solved together are as exploitable as each solved alone."""
    drawn_by = check.random_ranges

    def every_hand(engine: Any, roots: int, seed: int) -> Any:
        """Whole ranges: every hand that one of many seeds draws."""
        draws = [drawn_by(engine, roots, k) for k in range(40)]
        return tuple((sum(ranges) > 0).double() for ranges in zip(*draws, strict=True))

    monkeypatch.setattr(check, "random_ranges", every_hand)
    bets, rng = "all: 1x / cap 1", np.random.default_rng(5)
    result = check.part_rivers(replace(SCALE, rivers=3, river_bets=bets, most=34), seed=5)
    boards = [tuple(rng.choice(SHORT.size, 5, replace=False).tolist()) for _ in range(3)]
    points = result["iterations, s, mean, worst, share below 0.5, share below 0.1"]
    for iterations, _, mean, worst, *shares in (points[0], points[-1]):
        games = [holdem.endgame(board, 100, 1000, bets=bets, deck=SHORT) for board in boards]
        gaps = [solved(game, iterations)[0] for game in games]
        assert mean == pytest.approx(np.mean(gaps), rel=1e-3)
        assert worst == pytest.approx(max(gaps), rel=1e-3)
        assert shares == [np.mean([gap <= bar for gap in gaps]) for bar in (0.5, 0.1)]
    for bar, column in (("0.5", 4), ("0.1", 5)):
        first = next(point[0] for point in points if point[column] >= 0.5)
        assert result[f"50% of them below {bar} % of the pot"]["iterations"] == first
    assert "times one CPU core, 50% of them below 0.5 % of the pot" in result
    json.dumps(result)


def test_growth() -> None:
    scale = replace(SCALE, flops=(2, 4), sizes=("1x / cap 1",), boards=("QsJhThKs",))
    result = check.part_growth(scale)
    (points,) = result.values()
    assert len(points) == 2 * 2 + 1
    sizes = {(tuple(boards), tuple(actions)): cells for _, boards, actions, cells, *_ in points}
    assert sizes[(4,), (8,)] == 2 * sizes[(2,), (8,)]
    assert sizes[(4,), (40,)] == 5 * sizes[(4,), (8,)]
    json.dumps(result)


def test_turn_holdem() -> None:
    result = check.part_nlth(SCALE)
    for storage in ("float32", "int16"):
        check_curve(result[storage]["dcfr, mbb/h"], TURN, storage)
    assert result["int16"]["time"]["quoted GiB"] < result["float32"]["time"]["quoted GiB"]
    json.dumps(result)


def test_turn_holdem_with_two_sizes() -> None:
    bets = "preflop: none; flop: none; turn: 0.5x 1x / cap 1"
    result = check.part_two_sizes(replace(SCALE, two_sizes=bets))
    assert result["time"]["storage"] == "int16"
    game = holdem.nlth(bets=bets, ranks="QKA", suits="chs")
    check_curve(result["dcfr, mbb/h"], game, "int16")
    json.dumps(result)


def test_storage() -> None:
    with numpy_triton.installed():
        result = check.part_storage(replace(SCALE, rounded=("river",)))
    for storage in ("float32", "bfloat16", "int16"):
        check_curve(result[storage]["dcfr, mbb/h"], FLOP, storage)
    json.dumps(result)


def test_flop_holdem() -> None:
    result = check.PARTS["nlfh"](SCALE)
    check_curve(result["dcfr, mbb/h"], FLOP)
    assert result["cfr+, mbb/h"]["iterations, s, exploitability"][-1][0] == 10
    json.dumps(result)


def test_a_turn_endgame() -> None:
    """In per cent of a pot of 100 chips."""
    curve = check.part_turn(SCALE)["dcfr, % of the pot"]
    iterations, _, gap = curve["iterations, s, exploitability"][-1]
    assert gap <= 0.1
    exploitability, value = solved(ENDGAME, iterations)
    assert gap == pytest.approx(exploitability, rel=1e-3)
    assert curve["value"] == pytest.approx(value, rel=1e-3)


def test_kernels_beside_plain_pytorch() -> None:
    """By a stand-in for Triton: not bit for bit, but nearly. `test_kernels` compares the rest."""
    with numpy_triton.installed():
        differences = check.part_whole(SCALE).values()
    assert len(differences) > 5
    assert 0 < max(differences) < 1e-4


def test_every_operation_is_timed() -> None:
    """By events of a stand-in for CUDA, each of which took a millisecond."""

    class Event:
        def record(self) -> None:
            pass

        def elapsed_time(self, other: Event) -> float:
            return 1.0

    cuda = SimpleNamespace(Event=lambda enable_timing: Event(), synchronize=lambda: None)
    engine = TorchRangeEngine(compile_range_tree(FLOP), "cpu")
    cfr, watch = measure.cfr_of(engine, parse("dcfr")), measure.Watch(engine.ops, None)
    engine.ops, watch.torch = watch, SimpleNamespace(cuda=cuda)
    measure.advance(cfr, parse("dcfr"), 1, 2)
    times = watch.table(2)
    assert times == {
        f"{operation} of {boards} boards": 2.0 * (1 + (operation == "descend" and boards == 1))
        for operation in ("descend", "terminals", "settle")
        for boards in (1, 28)
    } | {"rise of 1 boards": 2.0}


def test_slices() -> None:
    cases = check.part_slices(replace(SCALE, megabytes=(64, 0)))
    assert [case["slices"] for case in cases.values()] == [[1, 1], [28, 28]]


def test_larger_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    made = measure.turn_holdem("cpu", TURN)
    monkeypatch.setattr(measure, "turn_holdem", lambda device, game: made)
    limit = made[0].estimate().device - 1
    result = check_larger.part_larger(replace(SCALE, limit=limit, seconds=1e6))
    assert result["flop hold'em, greatest difference"] == 0
    assert [result[f"flop hold'em, {home}"]["home"] for home in ("device", "host")] == [
        "device",
        "host",
    ]
    case = result["turn hold'em, float32"]
    assert case["home"] == "host"
    assert case["quoted GiB on the device"] <= limit / 2**30
    assert case["iterations"] == 6
    close(case["exploitability, mbb/h"], solved(TURN, 6)[0])
    assert case["GB up"] > case["GB down"] > 0
    json.dumps(result)
    result = check_larger.part_larger(replace(SCALE, limit=limit, seconds=0.0))
    assert "skipped" in result["turn hold'em, float32"]


@pytest.mark.parametrize("schedule", check_games.SCHEDULES)
def test_schedules_take_the_same_steps_on_both_engines(schedule: str) -> None:
    for name in ("leduc", "random(seed=11)", "random(seed=12)"):
        tree = sg.compile(sg.games.load(name))
        here, there = (
            sg.solve(tree, schedule, iterations=5, device=device) for device in ("cpu", "torch")
        )
        assert float(there.exploitability) == pytest.approx(float(here.exploitability), rel=1e-9)
        for got, want in zip(there.strategy.probs, here.strategy.probs, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-9)


def test_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values agree with a count by hand, and a best response that is a little off is noticed."""
    monkeypatch.setattr(check_games, "LONG", 2)
    names, at = ("kuhn", "rps"), ("coin-toss", "Play")
    result = check_games.check("torch", names, ("kuhn",), at)
    assert result["worst"] < 1e-12
    assert max(result["gadgets before hold'em, in float32"].values()) < 1e-5
    assert result["same bits again"]
    assert result["time"]["kuhn, cfr+"]["ms per iteration"] > 0
    json.dumps(result)

    class Off(TorchSequenceEngine):
        def respond(self, p: int, opponent_plan: Any) -> Any:
            response = super().respond(p, opponent_plan)
            assert response.sequences is not None
            return response._replace(sequences=response.sequences + 1e-3)

    monkeypatch.setattr(check_games, "on", lambda tree, device: Off(tree, "cpu"))
    monkeypatch.setattr(check_games, "before_holdem", lambda device, how, rng: 0.0)
    result = check_games.check("torch", names, ("kuhn",), at)
    assert result["worst"] > 1e-9
    for case in result["games"].values():
        assert case["values and best responses"] > 1e-9


def test_buckets() -> None:
    """With as many buckets as there are hands nothing is lost, and with one a great deal."""
    result = check_buckets.part_buckets(replace(SCALE, buckets=(1, 5), most=100))
    curves = {
        name: case["dcfr, mbb/h"]["iterations, s, exploitability"][0][2]
        for name, case in result.items()
    }
    check_curve(result["none"]["dcfr, mbb/h"], FLOP)
    assert curves["lossless"] == pytest.approx(curves["none"], rel=1e-3)
    assert curves["1 by strength"] > curves["5 by strength"] > curves["lossless"]
    json.dumps(result)


def test_bucketed_kernels_beside_plain_pytorch() -> None:
    tree = compile_range_tree(FLOP)
    with numpy_triton.installed():
        plain, fused = (TorchRangeEngine(tree, "cpu", triton=triton) for triton in (False, True))
        buckets = check_buckets.by_strength(tree, 5)
        assert fused.triton
        assert not plain.triton
        result = check_buckets._agreement(fused, plain, buckets)
    for schedule in ("dcfr", "pcfr+"):
        assert result[f"fused and plain, {schedule}"] < 1e-5
        assert result[f"repeats bit by bit, {schedule}"]
