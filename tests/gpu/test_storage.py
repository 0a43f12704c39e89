"""Regrets and averages in 16 bits: what is lost, and that it is lost evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.solve.schedule import parse
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from watcher import solver  # noqa: E402

from subgame.engines.rounding import TOP  # noqa: E402
from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch import storage as keeping  # noqa: E402
from subgame.engines.torch.storage import ALIGNED, LINE, Chance, Scaled, Storage  # noqa: E402

SHORT: list[Storage] = ["bfloat16", "int16"]


def drawn(shape: tuple[int, ...], seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def chance(number: float, first: int, real: Any) -> Chance:
    return Chance(torch.tensor([1.0, 1.0, 1.0, number]), first, real.int() - 1)


def unit_of(block: Any, values: Any) -> Any:
    """What the last bit of each number is worth."""
    if isinstance(block, Scaled):
        ones = Scaled(torch.ones_like(block.ints), block.scales)
        return ones.peek(slice(0, block.shape[1]))
    return values.abs() * 2.0**-7


@pytest.mark.parametrize("shape", [(3, 5, 96), (2, 70, 32), (1, 1, 32), (0, 2, 32)])
def test_integers_share_a_scale_by_lines(shape: tuple[int, int, int]) -> None:
    block, values = keeping.blank("int16", shape, "cpu"), drawn(shape)
    values[:, 0] *= 1000  # so that lines differ
    block.copy_(values)
    assert block.scales.shape == (shape[0], -(-shape[1] * shape[2] // LINE))
    for action in range(shape[0]):
        line = torch.arange(shape[1] * shape[2]) // LINE
        for k in range(block.scales.shape[1]):
            top = values[action].flatten()[line == k].abs().max()
            assert float(block.scales[action, k]) == pytest.approx(float(top) / TOP, rel=1e-6)
    assert ((block[:] - values).abs() <= 0.501 * unit_of(block, values)).all()
    assert block.copy_(torch.zeros(shape))[:].abs().max().item() == 0 if shape[0] else True


def test_blocks_of_integers_are_read_and_written_like_tensors() -> None:
    values = drawn((4, 2 * ALIGNED + 3, 64))
    block = keeping.blank("int16", (4, 2 * ALIGNED + 3, 64), "cpu")
    block[:] = values
    whole = block[:]
    for units in (slice(0, ALIGNED), slice(ALIGNED, 2 * ALIGNED), slice(ALIGNED, 2 * ALIGNED + 3)):
        torch.testing.assert_close(keeping.cut(block, units)[:], whole[:, units], rtol=0, atol=0)
    for units in (slice(5, 6), slice(3, 40), slice(0, 67)):
        torch.testing.assert_close(keeping.peek(block, units), whole[:, units], rtol=0, atol=0)
    other = block.clone()
    other[1] = whole[2]
    other[2:4] += whole[0:2]  # as whoever adds strategies does
    torch.testing.assert_close(other[1], whole[2], rtol=0, atol=2e-4)
    torch.testing.assert_close(other[3], whole[3] + whole[1], rtol=0, atol=4e-4)
    torch.testing.assert_close(other[0], whole[0], rtol=0, atol=0)
    block.copy_(other)
    torch.testing.assert_close(block[:], other[:], rtol=0, atol=0)
    assert not block.zero_()[:].any()


@pytest.mark.parametrize("kind", SHORT)
def test_chance_rounds_evenly(kind: Storage) -> None:
    """The mean over many iterations is the number itself, and each is a neighbour of it."""
    shape, many = (2, 8, 96), 400
    values, real = drawn(shape), torch.ones(shape[1:], dtype=torch.bool)
    block, total = keeping.blank(kind, shape, "cpu"), torch.zeros(shape, dtype=torch.float64)
    for seed in range(many):
        chance(float(seed), 1000, real).keep(block, slice(0, 2), values, keeping.AVERAGE)
        kept = keeping.load(block, slice(0, 2), torch.float32)
        assert ((kept - values).abs() <= 1.01 * unit_of(block, values)).all()
        total += kept
    off = (total / many - values) / unit_of(block, values)
    assert off.abs().max() < 6 * 0.5 / many**0.5
    assert abs(off.mean()) < 6 * 0.5 / (many * off.numel()) ** 0.5


def test_draws_differ_by_place_action_iteration_and_salt() -> None:
    real = torch.ones((4, 32), dtype=torch.bool)
    bits = chance(7.0, 64, real).draw(slice(3, 5), 0)
    assert len(bits.unique()) == bits.numel()
    torch.testing.assert_close(
        chance(7.0, 96, real[1:]).draw(slice(3, 5), 0), bits[:, 1:], rtol=0, atol=0
    )
    for other in (
        chance(8.0, 64, real).draw(slice(3, 5), 0),
        chance(7.0, 64, real).draw(slice(3, 5), 1),
        chance(7.0, 64, real).draw(slice(4, 6), 0),
    ):
        assert (bits == other).float().mean() < 0.01
    spread = (bits >> 24).float()
    assert 100 < spread.mean() < 156


def compiled(name: str) -> RangeTree:
    tree = sg.compile(GAMES[name])
    assert isinstance(tree, RangeTree)
    return tree


def stepped(engine: TorchRangeEngine, schedule: str, count: int) -> Any:
    plan, rng = parse(schedule), np.random.default_rng(5)
    run = solver(engine, plan)
    for part in (part for regrets in run.pair for part in regrets if part is not None):
        for s, block in enumerate(part.blocks):
            block.copy_(torch.from_numpy(rng.random(tuple(block.shape), dtype=np.float32)))
            assert part.blocks[s] is block
    run.advance(plan.discounts(11, count + 1), 1)
    return run.pair


@pytest.mark.parametrize("schedule", ["dcfr", "cfr", "pcfr+", "cfr-br(responder=0)"])
@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("name", ["flop", "nlfh", "river"])
def test_a_step_differs_by_rounding(name: str, kind: Storage, schedule: str) -> None:
    """From the same numbers, up to the last bits; where a strategy is none, that does not count."""
    tree = compiled(name)
    near = {"bfloat16": 2.0**-6, "int16": 5e-4}[kind]
    single, short = TorchRangeEngine(tree, "cpu"), TorchRangeEngine(tree, "cpu", storage=kind)
    exact, got = stepped(single, schedule, 1), stepped(short, schedule, 1)
    for p in (0, 1):
        if parse(schedule).responder == p:
            continue
        for part in (0, 1):
            for s, block in enumerate(got[p][part].blocks):
                want = exact[p][part].blocks[s] * (short.places[s].tables[p].above >= 0)
                kept = keeping.peek(block, slice(0, want.shape[1]))
                if kind == "bfloat16":
                    kept = kept * (short.places[s].tables[p].above >= 0)
                assert (kept - want).abs().max() <= near * want.abs().max()


@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("name", ["flop", "suits"])
def test_slices_and_runs_change_nothing(name: str, kind: Storage) -> None:
    """Chance knows places, not slices; and the same run gives the same numbers."""
    tree = compiled(name)
    whole = stepped(TorchRangeEngine(tree, "cpu", storage=kind), "dcfr", 3)
    for scratch in (1 << 30, 1):
        again = stepped(TorchRangeEngine(tree, "cpu", storage=kind, scratch=scratch), "dcfr", 3)
        for p, part in np.ndindex(2, 2):
            a, b = (side[p][part].numpy() for side in (whole, again))
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_rounding_to_the_nearest_would_lose_what_is_added() -> None:
    """Where the sum is a thousand times as large; by chance it comes through."""
    real = torch.ones((4, 64), dtype=torch.bool)
    for kind in SHORT:
        sums = {}
        for salt in (None, keeping.AVERAGE):
            block = keeping.blank(kind, (1, 4, 64), "cpu")
            block.copy_(torch.full((1, 4, 64), 1000.0))
            added = {"bfloat16": 1.0, "int16": 0.01}[kind]
            for t in range(300):
                old = keeping.load(block, slice(0, 1), torch.float32)
                chance(float(t), 0, real).keep(block, slice(0, 1), old + added, salt)
            sums[salt] = float(keeping.peek(block, slice(0, 4)).mean()) - 1000
        if kind == "bfloat16":
            assert sums[None] == 0
        assert sums[keeping.AVERAGE] == pytest.approx(300 * added, rel=0.1)


def test_games_are_solved_in_sixteen_bits() -> None:
    """As far as in float32, where rounding to the nearest would have stalled."""
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 300, bets="all: 1x a / cap 1")
    plan, gaps, tree = parse("dcfr"), {}, compile_range_tree(game)
    kinds: list[Storage] = ["float32", *SHORT]
    for kind in kinds:
        engine = TorchRangeEngine(tree, "cpu", storage=kind)
        run = solver(engine, plan)
        run.advance(plan.discounts(1, 81), 1)
        won = [
            engine.respond(1 - p, engine.plan(p, run.pair[p].average)).roots[0]
            @ tree.players[1 - p].reach
            for p in (0, 1)
        ]
        gaps[kind] = sum(won) / 2  # % of the pot
    assert gaps["float32"] < 0.3
    for kind in SHORT:
        assert gaps[kind] == pytest.approx(gaps["float32"], rel=0.1)


@pytest.mark.parametrize("kind", SHORT)
def test_strategies_come_and_go(kind: Storage) -> None:
    """A batch stores as its engine does; what is evaluated is not rounded on the way."""
    tree = compiled("turn")
    engine, single = TorchRangeEngine(tree, "cpu", storage=kind), TorchRangeEngine(tree, "cpu")
    assert engine.stage(tree.streets).storage == kind
    assert engine.stage(tree.streets, storage="float32").storage == "float32"
    assert engine.estimate().device < single.estimate().device
    probs = sg.Strategy.random(tree, seed=1).probs
    for p in (0, 1):
        a, b = (
            one.values(p, probs[p], one.plan(1 - p, probs[1 - p])).roots for one in (single, engine)
        )
        np.testing.assert_array_equal(a, b)
        average = engine.regrets(p).average
        assert average is not None
        average[:] = probs[p]
        back = np.asarray(engine.behaviour(p, average))
        exact = np.asarray(single.behaviour(p, probs[p]))  # without what is nobody's
        assert np.abs(back - exact).max() < 2.0**-7
        assert keeping.kind_of(average.blocks[0]) == kind
