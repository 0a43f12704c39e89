"""What is measured on a GPU, in the small and without one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from subgame.bench.gpu import buckets as check_buckets
from subgame.bench.gpu import check, measure
from subgame.bench.gpu import games as check_games
from subgame.bench.gpu import larger as check_larger
from subgame.bench.gpu.measure import Spot
from subgame.engines import factory as engines
from subgame.engines import torch as torch_engines
from subgame.engines.torch import TorchRangeEngine, TorchSequenceEngine
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.solve.schedule import parse
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import numpy_triton  # noqa: E402

SHORT = Deck("TJQKA", "hs")
BANDWIDTH = 1e10


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RUN", 1)


def test_endgames_side_by_side_are_judged_as_each_alone() -> None:
    """Their own pairs of hands are what each is measured by."""
    plan, rng, bets = parse("dcfr"), np.random.default_rng(1), "all: 1x / cap 2"
    boards = [tuple(rng.choice(SHORT.size, 5, replace=False).tolist()) for _ in range(3)]
    game = holdem.endgame(boards[0], 100, 400, bets=bets, deck=SHORT)
    engine = TorchRangeEngine(compile_range_tree(game, boards=boards), "cpu")
    weights = 0.9 * rng.random((2, 3, SHORT.num_hands)) + 0.1
    hands = np.stack([unit.hands[0] for unit in engine.tree.units])
    one, two = (torch.from_numpy(np.take_along_axis(w, hands, 1))[None] for w in weights)
    wide = (0, engine.levels[0].hands[0].wide - hands.shape[1])
    reach = torch.nn.functional.pad(one, wide), torch.nn.functional.pad(two, wide)
    together = Spot.at(engine, reach)
    memories = (engine.memory(0), engine.memory(1))
    for p in (0, 1):
        block = memories[p].regret.blocks[0]
        block.copy_(torch.from_numpy(100 * rng.random(tuple(block.shape))))
    start = [memory.regret.blocks[0].clone() for memory in memories]
    together.run(memories, plan, 11, 5)
    gaps = together.gaps(memories)
    for k, board in enumerate(boards):
        ranges = weights[0, k], weights[1, k]
        alone = TorchRangeEngine(
            compile_range_tree(holdem.endgame(board, 100, 400, ranges, bets, deck=SHORT)), "cpu"
        )
        assert alone.tree.units[0].hands[0].tolist() == hands[k].tolist()
        spot, single = Spot.of(alone), (alone.memory(0), alone.memory(1))
        for p in (0, 1):
            single[p].regret.blocks[0].copy_(start[p][:, k : k + 1])
        spot.run(single, plan, 11, 5)
        won = [
            alone.respond(1 - p, alone.plan(p, single[p].average)).slots
            @ alone.tree.players[1 - p].reach
            for p in (0, 1)
        ]
        assert float(spot.gaps(single)[0]) == pytest.approx(sum(won) / 2, rel=1e-9)
        assert gaps[k] == pytest.approx(sum(won) / 2, rel=1e-4)


def test_rivers() -> None:
    found = check.part_rivers(BANDWIDTH, "cpu", 3, "all: 1x / cap 1", SHORT, 100)
    points = found["iterations, s, mean, worst, share below 0.5, share below 0.1"]
    assert points[0][0] == 20
    assert all(point[2] <= point[3] for point in points)
    assert points[-1][3] < 1
    assert found["50% of them below 0.5 % of the pot"]["iterations"] <= 100
    assert "times one CPU core, 50% of them below 0.5 % of the pot" in found
    json.dumps(found)


def test_growth() -> None:
    ends = (("QsJhThKs", "all: 1x / cap 1"),)
    found = check.part_growth(BANDWIDTH, "cpu", (2, 4), ("1x / cap 1",), ends, "TJQKA", "hs")
    (points,) = found.values()
    assert len(points) == 2 * 2 + 1
    sizes = {(tuple(boards), tuple(actions)): cells for _, boards, actions, cells, *_ in points}
    assert sizes[(4,), (8,)] == 2 * sizes[(2,), (8,)]
    assert sizes[(4,), (40,)] == 5 * sizes[(4,), (8,)]
    json.dumps(found)


@pytest.mark.parametrize("bets", [None, "preflop: none; flop: none; turn: 0.5x 1x / cap 1"])
def test_turn_holdem(bets: str | None) -> None:
    game = holdem.nlth(2000, 50, 100, "preflop: none; flop: none; turn: 1x / cap 1", "QKA", "chs")
    if bets is None:
        found = check.part_nlth(BANDWIDTH, "cpu", game, ("float32", "int16"), 0.1)
        assert found["int16"]["time"]["quoted GiB"] < found["float32"]["time"]["quoted GiB"]
        assert found["float32"]["dcfr, mbb/h"]["iterations, s, exploitability"][0][0] == 10
    else:
        found = check.part_two_sizes(BANDWIDTH, "cpu", game, bets, 0.1)
        assert found["time"]["storage"] == "int16"
    json.dumps(found)


def test_storage() -> None:
    with numpy_triton.installed():
        game = holdem.nlfh(200, 50, 100, "preflop: none; flop: 1x / cap 1", "JQKA", "hs")
        found = check.part_storage(BANDWIDTH, "cpu", game, 10, ("river",))
    for kind in ("float32", "bfloat16", "int16"):
        assert found[kind]["dcfr, mbb/h"]["iterations, s, exploitability"][0][0] == 10
    json.dumps(found)


def test_slices() -> None:
    game = holdem.nlfh(200, 50, 100, "preflop: none; flop: 1x / cap 1", "JQKA", "hs")
    found = check.part_slices(BANDWIDTH, "cpu", game, (64, 0))
    assert [case["slices"] for case in found.values()] == [[1, 1], [28, 28]]


def test_larger_trees() -> None:
    flop = holdem.nlfh(200, 50, 100, "preflop: none; flop: 1x / cap 1", "JQKA", "hs")
    turn = holdem.nlth(2000, 50, 100, "preflop: none; flop: none; turn: 1x / cap 1", "QKA", "chs")
    limit = check.turn_holdem("cpu", turn)[0].quote().device - 1
    found = check_larger.part_larger(
        BANDWIDTH, "cpu", flop, turn, limit, ("float32",), (6, 6), sample=1 << 20
    )
    assert found["flop hold'em, greatest difference"] == 0
    assert [found[f"flop hold'em, {home}"]["home"] for home in ("device", "host")] == [
        "device",
        "host",
    ]
    case = found["turn hold'em, float32"]
    assert case["home"] == "host"
    assert case["quoted GiB on the device"] <= limit / 2**30
    assert case["iterations"] == 6
    assert case["GB up"] > case["GB down"] > 0
    json.dumps(found)
    found = check_larger.part_larger(
        BANDWIDTH, "cpu", flop, turn, limit, ("float32",), (6, 6), seconds=0.0, sample=1 << 20
    )
    assert "skipped" in found["turn hold'em, float32"]


def test_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is compared: an engine that is a little off is noticed everywhere."""
    monkeypatch.setattr(check_games, "LONG", 2)
    names, at = ("kuhn", "rps"), ("coin-toss", "Play")
    found = check_games.check("torch", names, ("kuhn",), at)
    assert found["worst"] < 1e-12
    assert max(found["gadgets before hold'em, in float32"].values()) < 1e-5
    assert found["same bits again"]
    assert found["time"]["kuhn, cfr+"]["ms per iteration"] > 0
    json.dumps(found)

    class Off(TorchSequenceEngine):
        def _learn(self, p: int, m: Any, rates: Any, root: Any) -> None:
            super()._learn(p, m, rates, root)
            m.regret.data[-1] += 1e-3

        def respond(self, p: int, opponent_plan: Any) -> Any:
            found = super().respond(p, opponent_plan)
            return found._replace(sequences=found.sequences + 1e-3)

    def on(tree: Any, device: str, storage: str = "float32") -> Any:
        if isinstance(tree, RangeTree):
            return TorchRangeEngine(tree, "cpu")
        return (Off if device == "worse" else TorchSequenceEngine)(tree, "cpu")

    monkeypatch.setattr(check_games, "on", on)
    monkeypatch.setattr(check_games, "engine_on", on)
    monkeypatch.setattr(engines, "DEVICES", (*engines.DEVICES, "worse"))
    monkeypatch.setattr(torch_engines, "engine_on", on)
    found = check_games.check("worse", names, ("kuhn",), at)
    doors = found["gadgets before hold'em, in float32"]
    assert all(value > 1e-9 for name, value in doors.items() if name.startswith("resolve"))
    for case in (*found["games"].values(), found["gadgets"]):
        assert all(value > 1e-9 for name, value in case.items() if name != "same bits again")


def test_buckets() -> None:
    """With as many buckets as there are hands nothing is lost, and with one a great deal."""
    game = holdem.nlfh(200, 50, 100, "preflop: none; flop: 1x / cap 1", "JQKA", "hs")
    found = check_buckets.part_buckets(BANDWIDTH, "cpu", game, (1, 5), 20)
    curves = {
        name: case["dcfr, mbb/h"]["iterations, s, exploitability"][0][2]
        for name, case in found.items()
    }
    assert curves["lossless"] == pytest.approx(curves["none"], rel=0.05)
    assert curves["1 by strength"] > curves["5 by strength"] > curves["lossless"]
    json.dumps(found)


def test_bucketed_kernels_beside_plain_pytorch() -> None:
    game = holdem.nlfh(200, 50, 100, "preflop: none; flop: 1x / cap 1", "JQKA", "hs")
    tree = compile_range_tree(game)
    with numpy_triton.installed():
        plain, fused = (TorchRangeEngine(tree, "cpu", fused=fused) for fused in (False, True))
        buckets = Buckets.by_strength(tree, "flop", 5)
        assert fused.fused
        assert not plain.fused
        found = check_buckets._agreement(fused, plain, buckets)
    for schedule in ("dcfr", "pcfr+"):
        assert found[f"fused and plain, {schedule}"] < 1e-5
        assert found[f"repeats bit by bit, {schedule}"]
