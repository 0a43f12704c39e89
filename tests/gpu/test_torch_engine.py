"""The PyTorch engine beside the CPU engine: the same numbers on whole blocks.

All of it runs on the CPU; what is marked `gpu` repeats it on CUDA with the fused kernels. Their
text is run by NumPy in `test_kernels`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from watcher import Watcher, solver

import subgame as sg
from holdem_games import GAMES
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.errors import MemoryLimitError
from subgame.solve.schedule import parse
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch.blocks import from_numpy  # noqa: E402
from subgame.engines.torch.layout import Level, frames, lay_out  # noqa: E402
from subgame.games.holdem.cards import Deck  # noqa: E402

SCHEDULES = [
    "cfr",
    "cfr+",
    "dcfr",
    "pcfr+",
    "pdcfr+",
    "lcfr",
    "cfr+(alternating=false)",
    "pcfr+(alternating=false)",
]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def compiled(name: str) -> RangeTree:
    return compile_range_tree(GAMES[name])


def reference(tree: RangeTree) -> Any:
    """The CPU engine; on a machine without Numba, plain PyTorch, which is compared elsewhere."""
    if importlib.util.find_spec("numba"):
        return NumbaRangeEngine(tree, 1)
    return TorchRangeEngine(tree, "cpu")


def kept(cfr: Any, p: int, field: str) -> Any:
    return np.asarray(getattr(cfr.pair[p], field))


def cpu_places(level: Level, p: int) -> Iterator[tuple[Any, Any]]:
    """For every action, where the CPU engine keeps ``[u, h]``, and which of them are hands."""
    hands, edges = level.hands[p], level.bets[p].edges
    h = np.arange(hands.wide)
    real = h < hands.held[:, None]
    tile = hands.store[:, None] + h // LANES * (edges * LANES) + h % LANES
    for e in range(edges):
        yield np.where(real, tile + e * LANES, 0), real


def hands(engine: TorchRangeEngine, p: int) -> Any:
    """Which numbers of the CPU layout belong to hands; the rest is padding."""
    mask = np.zeros(engine.tree.stored(p), dtype=bool)
    for level in engine.levels:
        for places, real in cpu_places(level, p):
            mask[places[real]] = True
    return mask


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("scratch", [1 << 30, 1])
@pytest.mark.parametrize("name", sorted(GAMES))
def test_any_strategy_is_worth_what_the_cpu_engine_says(
    name: str, scratch: int, device: str
) -> None:
    """With no scratch every board is a slice of its own."""
    tree = compiled(name)
    cpu, gpu = reference(tree), TorchRangeEngine(tree, device, scratch=scratch)
    probs = sg.Strategy.random(tree, seed=5).probs
    for p in (0, 1):
        mine, theirs = cpu.plan(1 - p, probs[1 - p]), gpu.plan(1 - p, probs[1 - p])
        want, got = cpu.values(p, probs[p], mine).roots, gpu.values(p, probs[p], theirs).roots
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        best, response = cpu.respond(p, mine).roots, gpu.respond(p, theirs).roots
        np.testing.assert_allclose(response, best, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("board", ["QsJh7h8d9c", "QsJh7h8d", "QsQh7h"])
def test_a_merged_tree_is_solved_with_every_hand(board: str, device: str) -> None:
    """What the tree's own engine does, in the tree's own layout."""
    deck = Deck("789TJQ", "cdhs")
    game = sg.holdem.endgame(board, 20, 60, bets="all: 1x / cap 1", deck=deck)
    vars(game)["symmetries"] = np.zeros(1, dtype=np.int64)  # any memory will do then
    tree = compile_range_tree(game, merge=True)
    assert tree.merged
    cpu, gpu = reference(tree), TorchRangeEngine(tree, device)
    rng, plan = np.random.default_rng(3), parse("dcfr")
    runs = [solver(one, plan) for one in (cpu, gpu)]
    for p in (0, 1):
        for field in ("regret", "average"):
            drawn = rng.random(tree.stored(p), dtype=np.float32)
            for run in runs:
                getattr(run.pair[p], field)[:] = drawn
    for run in runs:
        run.advance(plan.discounts(11, 2), 11)
    real = [np.zeros(tree.stored(p), dtype=bool) for p in (0, 1)]
    for p in (0, 1):
        assert gpu.unmerged is not None
        assert gpu.unmerged.where is not None
        where = gpu.unmerged.where[p]
        real[p][where[where >= 0]] = True
        for field in ("regret", "average"):
            want, got = (kept(run, p, field)[real[p]] for run in runs)
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())
        best, response = (
            run.engine.respond(p, run.engine.plan(1 - p, kept(run, 1 - p, "average"))).roots
            for run in runs
        )
        np.testing.assert_allclose(response, best, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", sorted(GAMES))
def test_every_schedule_takes_the_steps_of_the_cpu_engine(
    name: str, schedule: str, device: str
) -> None:
    """One iteration from random regrets: where none are there, rounding would break exact ties."""
    tree, plan = compiled(name), parse(schedule)
    cpu, gpu = reference(tree), TorchRangeEngine(tree, device)
    rng = np.random.default_rng(3)
    runs = [solver(one, plan) for one in (cpu, gpu)]
    fields = ("regret", "average", *(["instant"] if plan.predictive else []))
    for p in (0, 1):
        for field in fields:
            drawn = rng.normal(size=tree.stored(p)).astype(np.float32)
            for run in runs:
                getattr(run.pair[p], field)[:] = drawn if field == "instant" else np.abs(drawn)
    for run in runs:
        run.advance(plan.discounts(11, 2), 11)
    for p in (0, 1):
        real = hands(gpu, p)
        for field in fields:
            want, got = (kept(run, p, field)[real] for run in runs)
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=field)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", ["cfr", "dcfr"])
@pytest.mark.parametrize("player", [0, 1])
def test_a_learner_sees_what_it_sees_on_the_cpu(player: int, schedule: str, device: str) -> None:
    tree, plan = compiled("turn"), parse(schedule)
    learners = []
    for one in (reference(tree), TorchRangeEngine(tree, device, graphs=False)):
        learner = Watcher(one, player)
        run = solver(one, plan, learner)
        for p in (0, 1):
            drawn = np.random.default_rng(p).random(tree.stored(p), dtype=np.float32)
            run.pair[p].regret[:] = drawn
        run.advance(plan.discounts(11, 4), 11)
        learners.append(learner)
    for want, got in zip(learners[0].seen, learners[1].seen, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("most", [1, 1000, 1 << 26])
def test_strategies_survive_the_way_to_the_device_and_back(
    most: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boards with equally many hands go together, or some of them at a time."""
    monkeypatch.setattr("subgame.engines.torch.blocks.MOVED", most)
    for name in GAMES:
        tree = compiled(name)
        gpu = TorchRangeEngine(tree, device)
        for p in (0, 1):
            real = hands(gpu, p)
            drawn = np.random.default_rng(p).random(tree.stored(p), dtype=np.float32)
            made = from_numpy(gpu, p, drawn)
            for level, block in zip(gpu.levels, made.blocks, strict=True):
                for e, (places, some) in enumerate(cpu_places(level, p)):
                    want = np.where(some, drawn[places], 0)
                    np.testing.assert_array_equal(block[e].cpu().numpy(), want)
                    block[e][torch.from_numpy(~some).to(device)] = 7.0  # nobody's
            back = made.numpy()
            np.testing.assert_array_equal(back[real], drawn[real])
            assert not back[~real].any()


def test_regrets_can_be_kept_like_those_of_the_cpu_engine() -> None:
    """A checkpoint asks for arrays and writes into them whole."""
    engine = TorchRangeEngine(compiled("turn"), "cpu")
    regrets, again = (engine.regrets(0, predictive=True) for _ in range(2))
    size = len(regrets.regret)
    regrets.regret[:] = np.random.default_rng(0).random(size, dtype=np.float32)
    for name in ("regret", "average", "instant"):
        array = np.asarray(getattr(regrets, name))
        assert array.shape == getattr(again, name).shape
        getattr(again, name)[:] = array
        np.testing.assert_array_equal(np.asarray(getattr(again, name)), array)
    assert regrets.regret.numpy().any()
    assert engine.regrets(0).instant is None


@pytest.mark.parametrize("device", DEVICES)
def test_a_solved_game_has_its_value(device: str) -> None:
    tree = compiled("turn")
    plan, gpu = parse("pdcfr+"), TorchRangeEngine(tree, device)
    run = solver(gpu, plan)
    run.advance(plan.discounts(1, 61), 1)
    first, second = (np.asarray(gpu.behaviour(p, run.pair[p].average)) for p in (0, 1))
    strategy = sg.Strategy.from_weights(tree, (first, second))
    assert sg.exploitability(tree, strategy) < 1e-3


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("learner", [0, 1])
def test_cfr_br_approaches_the_value(learner: int, device: str) -> None:
    tree = compiled("turn")
    exact = sg.solve(tree, "pdcfr+", iterations=1000).value
    plan, gpu = parse(f"cfr-br(responder={1 - learner})"), TorchRangeEngine(tree, device)
    run, done, gaps = solver(gpu, plan), 0, []
    for count in (5, 25, 70):
        run.advance(plan.discounts(done + 1, count + 1), done + 1)
        done += count
        against = gpu.plan(learner, run.pair[learner].average)
        wins = gpu.respond(1 - learner, against).roots[0] @ tree.players[1 - learner].reach
        gaps.append(wins + (exact if learner == 0 else -exact))
    assert -1e-3 < gaps[2] < 0.8 * gaps[1] < 0.8**2 * gaps[0]


def test_what_players_share_goes_to_the_device_once() -> None:
    tree = compile_range_tree(sg.holdem.endgame("QsJh2h8d", 100, 300, bets="all: a"))
    engine = TorchRangeEngine(tree, "cpu")
    for place in (*engine.places, *engine.stage(tree.streets).places):
        one, two = place.tables
        assert all(mine is yours for mine, yours in zip(one, two, strict=True))


@pytest.mark.parametrize("name", [*sorted(GAMES), "a real turn"])
def test_an_estimate_knows_how_large_tables_are(name: str) -> None:
    real = sg.holdem.endgame("QsJh2h8d", 100, 300, bets="all: a")
    tree = compile_range_tree(GAMES.get(name, real))
    for estimated, level in zip(frames(tree), lay_out(tree), strict=True):
        frame = level.frame
        assert estimated._replace(tables=0, bets=frame.bets) == frame._replace(tables=0)
        assert frame.tables <= estimated.tables <= (frame.tables if name == "a real turn" else 1e9)


def test_refusals_are_sentences() -> None:
    tree = compiled("river")
    with pytest.raises(sg.SubgameError, match="There is no device 'tpu'"):
        TorchRangeEngine(tree, "tpu")
    with pytest.raises(MemoryLimitError, match="needs at least"):
        TorchRangeEngine(tree, "cpu", memory_limit=10)
    with pytest.raises(sg.SubgameError, match="did you mean 'bfloat16'"):
        TorchRangeEngine(tree, "cpu", storage="bfloat")  # type: ignore[arg-type]
    with pytest.raises(sg.SubgameError, match="without sampling"):
        TorchRangeEngine(tree, "cpu").sample(None, None, "", None)
    with pytest.raises(sg.SubgameError, match="hold'em trees"):
        TorchRangeEngine(sg.compile(sg.games.load("kuhn")), "cpu")  # type: ignore[arg-type]
