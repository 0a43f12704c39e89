"""Blueprints in buckets: exact where nothing is lost, resumed, and best answers within buckets."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import subgame as sg
from subgame.abstraction import abstract
from subgame.solve.evaluate import expected_value
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.abstraction.blueprint import Blueprint  # noqa: E402
from subgame.engines.torch.blocks import Blocks  # noqa: E402
from subgame.engines.torch.buckets import Bucketed  # noqa: E402
from subgame.engines.torch.offload import OffloadedBlock  # noqa: E402
from subgame.engines.torch.ranges import TorchRangeEngine  # noqa: E402


@cache
def small() -> RangeTree:
    bets = "preflop: 1x / cap 1; flop: 1x / cap 2"
    return compile_range_tree(sg.holdem.nlfh(2000, 50, 100, bets, "JQKA", "hs"))


def solved(buckets: Buckets, iterations: int = 20, schedule: str = "dcfr") -> Blueprint:
    made = Blueprint(buckets, schedule)
    made.advance(iterations)
    return made


def test_what_it_loses_is_that_of_its_strategy() -> None:
    made = solved(abstract(small(), {"flop": 6}).buckets)
    want = sg.exploitability(small(), made.strategy())
    assert made.exploitability().per_seat == pytest.approx(want.per_seat, abs=1e-4)
    value = expected_value(small(), made.strategy())
    assert made.value() == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("p", [0, 1])
def test_the_best_answer_in_lossless_buckets_is_the_best(p: int) -> None:
    made = solved(Buckets.lossless(small()), 20)
    best = made.wins(1 - p, made.average(1 - p))
    ours = made.wins(1 - p, made.average(1 - p), made.response(p))
    assert ours == pytest.approx(best, abs=1e-3)


def test_the_best_answer_is_the_same_in_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = small()
    for placement in ("device", "host"):
        on = TorchRangeEngine(tree, "cpu", placement=placement)
        monkeypatch.setitem(tree.engines, "torch", on)
        made = solved(Buckets(tree, {}), 5)
        answer = made.response(0)
        assert isinstance(answer.blocks[-1], OffloadedBlock) == (placement == "host")
        best = made.wins(1, made.average(1))
        assert made.wins(1, made.average(1), answer) == pytest.approx(best, abs=1e-3)


def by_class() -> Buckets:
    """Buckets that know the hand up to suits and nothing of the flop: of perfect recall."""
    tree = small()
    before = Buckets.lossless(tree, ["preflop"]).groupings[0].of
    boards = len(tree.units.dealt[1].cards)
    return Buckets(tree, {"preflop": before, "flop": np.repeat(before, boards, axis=0)})


@pytest.mark.parametrize("p", [0, 1])
def test_no_strategy_in_the_buckets_beats_the_best_answer(p: int) -> None:
    made = solved(by_class())
    theirs, rng = made.average(1 - p), np.random.default_rng(p)
    best = made.wins(1 - p, theirs, made.response(p))
    assert made.wins(1 - p, theirs) > best + 1  # against one who sees the flop
    tried = [made.average(p), made.last(p)]
    for _ in range(4):
        drawn: Blocks = made.batch.blank(p)
        for block, answer in zip(drawn.blocks, made.response(p).blocks, strict=True):
            assert isinstance(block, Bucketed)
            assert isinstance(answer, Bucketed)
            noise = rng.random(tuple(block.values.shape), np.float32) < 0.2
            block.values.copy_(torch.where(torch.from_numpy(noise), 1.0, answer.values))
        tried.append(drawn)
    assert max(made.wins(1 - p, theirs, strategy) for strategy in tried) <= best + 1e-4
    assert made.wins(1 - p, theirs, tried[-1]) < best - 1e-3


def test_a_schedule_that_samples_is_refused() -> None:
    with pytest.raises(sg.SubgameError, match="needs a schedule without"):
        Blueprint(Buckets.lossless(small()), "mccfr")
