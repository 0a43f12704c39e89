"""The PyTorch engine of hold'em trees by the contract: roots, units, strategies, recorded turns."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdem_games import GAMES, SHORT
from subgame.engines.contract import Mode, Regrets
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule, parse
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch.batch import RangeBatch  # noqa: E402
from subgame.engines.torch.cuda_graph import RecordedGraph  # noqa: E402

SCHEDULES = ["cfr", "cfr+", "dcfr", "pdcfr+", "cfr+(alternating=false)"]


class Shy:
    """A learner on arrays that stay: the opponent enters less where entering does not pay."""

    def __init__(self, engine: Any, player: int) -> None:
        self.player, self.reach = player, engine.roots(player)

    def enter(self) -> Any:
        return self.reach

    def observe(self, values: Any, discounts: Any) -> None:
        self.reach[...] = self.reach * (0.7 + 0.2 * (values > 1e-3)) / (1 + 0.01 * discounts[1, 3])


def solver(engine: Any, plan: Schedule, **options: Any) -> Cfr:
    return Cfr(
        engine,
        predictive=plan.predictive,
        alternating=plan.alternating,
        responder=plan.responder,
        **options,
    )


def gap(engine: TorchRangeEngine, sigma: Any) -> float:
    """Exploitability: the mean over both seats."""
    tree = engine.tree
    won = [
        engine.respond(1 - p, engine.plan(p, sigma[p])).roots[0] @ tree.players[1 - p].reach
        for p in (0, 1)
    ]
    return float(sum(won) / 2)


def decisions(tree: RangeTree, p: int) -> list[Any]:
    """[hand, action] the places of each decision in the layout of `Strategy`."""
    side: Any = tree.players[p]
    return [
        side.cells(u, j)
        for u, unit in enumerate(tree.units)
        for j in range(len(tree.streets[unit.street].states[p]))
    ]


@pytest.mark.parametrize(
    ("name", "schedule"),
    [*(("river", schedule) for schedule in SCHEDULES), ("turn", "dcfr"), ("nlfh", "pdcfr+")],
)
def test_small_games_are_solved(name: str, schedule: str) -> None:
    plan, engine = parse(schedule), TorchRangeEngine(compile_range_tree(GAMES[name]), "cpu")
    run = solver(engine, plan)
    gaps = []
    for first, count in ((1, 11), (11, 51)):
        run.advance(plan.discounts(first, count), first)
        gaps.append(gap(engine, [engine.behaviour(p, run.pair[p].average) for p in (0, 1)]))
    assert -1e-6 < gaps[1] < min(0.06, gaps[0] / 2)


@pytest.mark.parametrize("merge", [False, True])
def test_strategies_are_probabilities(merge: bool) -> None:
    deck = Deck("789TJQ", "cdhs")
    game = holdem.endgame("QsJh7h8d", 20, 60, bets="all: 1x", deck=deck)
    tree = compile_range_tree(game, merge=True) if merge else compile_range_tree(GAMES["suits"])
    assert tree.merged == merge
    engine, plan = TorchRangeEngine(tree, "cpu"), parse("pdcfr+")
    run = solver(engine, plan)
    run.advance(plan.discounts(1, 4), 1)
    rates = engine.rates(plan.discounts(4, 1), 4)[0]
    for p in (0, 1):
        average = np.asarray(run.pair[p].average)
        behaviour = engine.behaviour(p, run.pair[p].average)
        now = np.asarray(engine.current(p, run.pair[p], rates))
        for cells in decisions(tree, p):
            for sigma in (np.asarray(behaviour)[cells], now[cells]):
                assert (sigma >= 0).all()
                np.testing.assert_allclose(sigma.sum(1), 1, rtol=1e-6)
            total = average[cells].sum(1, keepdims=True)
            want = np.where(
                total > 0, average[cells] / np.maximum(total, 1e-30), 1 / cells.shape[1]
            )
            np.testing.assert_allclose(np.asarray(behaviour)[cells], want, rtol=1e-6, atol=1e-7)
        best = engine.respond(1 - p, engine.plan(p, behaviour)).roots
        again = engine.respond(1 - p, engine.plan(p, np.asarray(behaviour))).roots
        np.testing.assert_allclose(again, best, atol=1e-6)
        for block, whole in zip(behaviour.blocks, behaviour.weights.blocks, strict=True):
            assert block.dtype == torch.float32
            assert block.shape == whole.shape
            assert float(block.min()) >= 0


def test_nothing_learned_is_uniform() -> None:
    tree = compile_range_tree(GAMES["turn"])
    engine = TorchRangeEngine(tree, "cpu")
    blank = engine.regrets(0)
    rates = engine.rates(np.ones((1, 3)), 1)[0]
    for sigma in (engine.behaviour(0, blank.average), engine.current(0, blank, rates)):
        for cells in decisions(tree, 0):
            np.testing.assert_allclose(np.asarray(sigma)[cells], 1 / cells.shape[1])


def test_rates_count_iterations() -> None:
    engine = TorchRangeEngine(compile_range_tree(GAMES["river"]), "cpu")
    rates = engine.rates(np.full((3, 3), 0.5), 2**24)
    assert rates.dtype == torch.float32
    np.testing.assert_array_equal(rates[:, :3], 0.5)
    assert rates[:, 3].tolist() == [2**24 - 1, 0, 1]


def test_values_of_a_sweep_are_those_of_an_evaluation() -> None:
    """In all modes that follow a strategy; `Response.roots` only has more digits."""
    tree = compile_range_tree(GAMES["turn"])
    engine, rng = TorchRangeEngine(tree, "cpu"), np.random.default_rng(1)
    drawn = [rng.random(tree.stored(p)).astype(np.float32) for p in (0, 1)]
    one, two = (Regrets(engine.behaviour(p, drawn[p]), None, None) for p in (0, 1))
    rates, reach = engine.rates(np.ones((1, 3)), 1)[0], (engine.roots(0), engine.roots(1))
    for mode in (Mode.EVALUATE, Mode.BEST):
        got = engine.sweep(0, mode, (one, two), (rates, rates), reach)
        plan = engine.plan(1, drawn[1])
        best = mode == Mode.BEST
        want = (engine.respond(0, plan) if best else engine.values(0, drawn[0], plan)).roots
        assert got.shape == want.shape == (1, len(tree.players[0].slots))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_rows_of_a_street() -> None:
    """The rows at the roots are the roots; pi_{-p} of a player who always wins one chip."""
    tree = compile_range_tree(GAMES["nlfh"])
    engine, plan = TorchRangeEngine(tree, "cpu"), parse("dcfr")
    run = solver(engine, plan)
    run.advance(plan.discounts(1, 6), 1)
    for p in (0, 1):
        sigma, reach = engine.behaviour(1 - p, run.pair[1 - p].average), run.reach[1 - p]
        slots = len(tree.players[p].slots)
        rows = engine.row_values(p, sigma, reach)
        best = engine.respond(p, engine.plan(1 - p, sigma)).roots
        np.testing.assert_allclose(rows[0][0, :, :slots], best, rtol=1e-6, atol=1e-9)
        reached = engine.row_reach(1 - p, sigma, reach)
        mine, yours = engine.roots(p), engine.roots(1 - p)
        wide = engine.levels[0].hands[1 - p].wide
        padded = torch.nn.functional.pad(yours, (0, wide - yours.shape[1]))[None]
        torch.testing.assert_close(reached[0][:1], padded.double())
        weight = engine.opposing(p, padded.double(), 0)[0, :, :slots]
        assert float((weight * mine).sum()) == pytest.approx(1)
        leaves = engine.levels[0].bets[1 - p].leaves
        below = engine.enter(1 - p, reached[0][leaves], 1)
        torch.testing.assert_close(below, reached[1][: len(leaves)])


@pytest.mark.parametrize("learning", [False, True])
@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "cfr+(alternating=false)"])
def test_many_roots_are_solved_as_each_alone(schedule: str, learning: bool) -> None:
    plan, rng = parse(schedule), np.random.default_rng(3)
    game = holdem.nlfh(2000, 50, 100, "preflop: 1x / cap 1; flop: 1x / cap 1", "JQKA", "hs")
    engine, ways = TorchRangeEngine(compile_range_tree(game), "cpu"), grow(game)[0].leaves
    level = engine.levels[1]
    real = level.hands[0].tables.above >= 0
    reach = [rng.random((len(ways), *real.shape)) * real for _ in "01"]

    def solved(batch: RangeBatch, chosen: list[int], start: list[Any]) -> Any:
        learner = Shy(batch, 1) if learning else None
        mine, yours = (weights[chosen].reshape(-1, real.shape[1]) for weights in reach)
        run = solver(batch, plan, learner=learner, reach=(mine, yours))
        for p in (0, 1):
            run.pair[p].regret.blocks[0].copy_(start[p])
        run.advance(plan.discounts(11, 4), 11)
        return run

    together = engine.stage(grow(game, ways))
    start = [
        torch.from_numpy(100 * rng.random(tuple(together.blank(p).blocks[0].shape))).float()
        for p in (0, 1)
    ]
    whole = solved(together, list(range(len(ways))), start)
    best = together.respond(1, together.plan(0, whole.pair[0].average, whole.reach[0])).roots
    assert best.shape == (len(ways) * level.units, level.hands[1].wide)
    for k in range(len(ways)):
        batch = engine.stage(grow(game, [ways[k]]))
        some = [_below(together, p, k) for p in (0, 1)]
        run = solved(batch, [k], [start[p][some[p]] for p in (0, 1)])
        for p in (0, 1):
            for field in ("regret", "average"):
                alone, all_of_it = (getattr(cfr.pair[p], field) for cfr in (run, whole))
                want, got = alone.blocks[0] * torch.from_numpy(real), all_of_it.blocks[0][some[p]]
                got = got * torch.from_numpy(real)
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-2)
        single = batch.respond(1, batch.plan(0, run.pair[0].average, run.reach[0])).roots
        rows = slice(k * level.units, (k + 1) * level.units)
        np.testing.assert_allclose(best[rows], single, rtol=1e-4, atol=1e-4)


def test_boards_side_by_side_are_solved_as_each_alone() -> None:
    plan, rng, bets, deck = parse("dcfr"), np.random.default_rng(1), "all: 1x / cap 2", SHORT
    boards = [tuple(rng.choice(deck.size, 5, replace=False).tolist()) for _ in range(3)]
    game = holdem.endgame(boards[0], 100, 400, bets=bets, deck=deck)
    engine = TorchRangeEngine(compile_range_tree(game, boards=boards), "cpu")
    weights = 0.9 * rng.random((2, 3, deck.num_hands)) + 0.1
    hands = np.stack([unit.hands[0] for unit in engine.tree.units])
    wide = ((0, 0), (0, engine.levels[0].hands[0].wide - hands.shape[1]))
    one, two = (np.pad(np.take_along_axis(w, hands, 1), wide) for w in weights)
    together = solver(engine, plan, reach=(one, two))
    assert engine.roots(0).shape == one.shape
    start = [100 * torch.rand(run.regret.blocks[0].shape) for run in together.pair]
    for p in (0, 1):
        together.pair[p].regret.blocks[0].copy_(start[p])
    together.advance(plan.discounts(11, 6), 11)
    best = engine.respond(1, engine.plan(0, together.pair[0].average, one)).roots
    for k, board in enumerate(boards):
        ranges = weights[0, k], weights[1, k]
        tree = compile_range_tree(holdem.endgame(board, 100, 400, ranges, bets, deck=deck))
        alone = TorchRangeEngine(tree, "cpu")
        run = solver(alone, plan)
        for p in (0, 1):
            run.pair[p].regret.blocks[0].copy_(start[p][:, k : k + 1])
        run.advance(plan.discounts(11, 6), 11)
        want = alone.respond(1, alone.plan(0, run.pair[0].average)).roots[0] * tree.deals
        got = best[k, : len(want)] * engine.tree.deals
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def _below(batch: RangeBatch, p: int, k: int) -> Any:
    """Actions of player `p` below way `k` into the first street."""
    bet = batch.levels[0].bets[p]
    root = [*range(bet.roots), *[-1] * bet.edges]
    for node in bet.infosets:
        root[node.first : node.first + node.actions] = [root[node.parent]] * node.actions
    return torch.from_numpy(np.flatnonzero(np.array(root[bet.roots :]) == k))


def test_strategies_of_a_batch_come_and_go() -> None:
    tree = compile_range_tree(GAMES["turn"])
    engine = TorchRangeEngine(tree, "cpu")
    batch = engine.stage(tree.streets)
    drawn = np.random.default_rng(0).random(tree.stored(1)).astype(np.float32)
    here, there = engine.behaviour(1, drawn), batch.behaviour(1, drawn)
    np.testing.assert_array_equal(np.asarray(here), np.asarray(there))
    for a, b in zip(here.blocks, there.blocks, strict=True):
        assert torch.equal(a, b)


# Recorded turns ------------------------------------------------------------------------------
class Replay(RecordedGraph):
    """Repeats for ever what was recorded first, as a graph does: it knows no later call."""

    def record(self, turn: Callable[[Any], None]) -> Any:
        return SimpleNamespace(replay=lambda: turn(self.rates))


@pytest.mark.parametrize("learning", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_recorded_turn_can_be_replayed(
    schedule: str, learning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that changes between turns and calls comes through arrays that stay."""
    monkeypatch.setattr("subgame.engines.torch.batch.RecordedGraph", Replay)
    tree, plan, runs = compile_range_tree(GAMES["turn"]), parse(schedule), []
    for graphs in (False, True):
        engine = TorchRangeEngine(tree, "cpu", graphs=graphs)
        run = solver(engine, plan, learner=Shy(engine, 0) if learning else None)
        for first in (1, 5, 8):
            run.advance(plan.discounts(first, 4), first)
        assert (engine._recorded is not None) == graphs
        runs.append(run)
    for p in (0, 1):
        for want, got in zip(runs[0].pair[p], runs[1].pair[p], strict=True):
            if want is not None:
                np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_a_graph_does_not_keep_a_solve_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subgame.engines.torch.batch.RecordedGraph", Replay)
    plan, tree = parse("dcfr"), compile_range_tree(GAMES["river"])
    engine = TorchRangeEngine(tree, "cpu", graphs=True)
    run = solver(engine, plan)
    run.advance(plan.discounts(1, 2), 1)
    first = engine._recorded
    assert first is not None
    assert first.belongs_to(run)
    run.advance(plan.discounts(2, 2), 2)
    assert engine._recorded is first
    del run
    gc.collect()
    other = solver(engine, plan)
    assert not first.belongs_to(other)
    other.advance(plan.discounts(1, 2), 1)
    assert engine._recorded is not first
