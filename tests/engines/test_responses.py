"""`Engine.responses`, which some engines compute in one call, against two calls of `respond`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import tree_of
from holdem_games import GAMES
from subgame.engines.base import EngineBase
from subgame.engines.contract import Engine
from subgame.engines.factory import engine
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.solve.evaluate import exploitability_of
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.stage import stage_tree
from subgame.tree.ranges.tree import RangeTree

SEQUENCE = ["kuhn", "leduc", "random(seed=8)", "random(seed=29, ragged=true)"]


def on(device: str, tree: PublicTree) -> Engine:
    if device == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    return engine(tree, device=device)


def probs_of(run: Engine, seed: int) -> tuple[Any, Any]:
    """Random behaviour strategies, with many zeros."""
    rng = np.random.default_rng(seed)

    def drawn(p: int) -> Any:
        numbers = run.regrets(p).regret
        numbers[:] = np.maximum(rng.normal(size=np.asarray(numbers).shape), 0)
        return run.behaviour(p, numbers)

    return drawn(0), drawn(1)


def twice(run: Engine, probs: tuple[Any, Any]) -> tuple[float, float]:
    """`responses` by a best response of each player, weighted by the reach at the roots."""
    wins = []
    for p in (0, 1):
        response = run.respond(1 - p, run.plan(p, probs[p]))
        wins.append(float((response.roots * np.asarray(run.roots(1 - p))).sum()))
    return wins[0], wins[1]


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("name", SEQUENCE)
def test_sequence_games(name: str, device: str) -> None:
    run = on(device, tree_of(name))
    for seed in range(3):
        probs = probs_of(run, seed)
        assert run.responses(probs) == pytest.approx(twice(run, probs), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", sorted(GAMES))
def test_holdem(name: str, merge: bool, device: str) -> None:
    run = on(device, sg.compile(GAMES[name], merge=merge))
    for seed in range(2):
        probs = probs_of(run, seed)
        assert run.responses(probs) == pytest.approx(twice(run, probs), rel=1e-9, abs=1e-9)


def test_several_boards_and_several_betting_roots() -> None:
    tree = sg.compile(GAMES["turn"], merge=False)
    assert isinstance(tree, RangeTree)
    run = NumbaRangeEngine(stage_tree(tree, tree.streets[1:]), 1)
    assert not run.can_check
    probs = probs_of(run, 1)
    assert run.responses(probs) == pytest.approx(twice(run, probs), rel=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_16_bits(threads: int) -> None:
    """To the last bit the same with any number of threads."""
    tree = sg.compile(GAMES["turn"], merge=False)
    assert isinstance(tree, RangeTree)
    one, many = (NumbaRangeEngine(tree, count) for count in (1, threads))
    probs = probs_of(one, 5)
    assert many.responses(probs) == one.responses(probs)
    short = NumbaRangeEngine(tree, threads, "int16")
    regrets = short.regrets(0)
    assert regrets.average is not None
    regrets.average[:] = probs[0]
    stored = regrets.average, probs[1]
    assert short.responses(stored) == pytest.approx(twice(short, stored), rel=1e-12)
    assert short.responses(stored) == pytest.approx(one.responses(probs), rel=1e-2, abs=1e-3)


def test_an_engine_without_its_own_has_the_default() -> None:
    """`EngineBase` needs `plan`, `respond` and `roots` only."""
    run = engine(tree_of("leduc"))

    class Plain(EngineBase):
        tree, plan, respond, roots = run.tree, run.plan, run.respond, run.roots

    probs = probs_of(run, 4)
    plain: Any = Plain()
    assert plain.responses(probs) == pytest.approx(run.responses(probs), rel=1e-12)
    assert exploitability_of(plain, probs) == pytest.approx(float(exploitability_of(run, probs)))


@pytest.mark.parametrize("change", [np.asfortranarray, lambda probs: probs.astype(np.float32)])
def test_other_layouts_and_types_of_probabilities(change: Callable[[Any], Any]) -> None:
    run = engine(tree_of("kuhn"))
    probs = probs_of(run, 2)
    apart = [np.repeat(change(array), 2)[::2] for array in probs]
    wins = run.responses((apart[0], apart[1]))
    assert wins == pytest.approx(run.responses(probs), rel=1e-6)
    assert twice(run, (apart[0], apart[1])) == pytest.approx(wins, rel=1e-6)


def test_threads_of_python_do_not_disturb_each_other() -> None:
    """Calls of the same kernel on different trees at the same time have slots of their own."""
    runs = [engine(tree_of(name)) for name in SEQUENCE]
    cases = [(run, probs_of(run, k)) for k, run in enumerate(runs)]
    expected = [twice(run, probs) for run, probs in cases]

    def often(k: int) -> list[tuple[float, float]]:
        run, probs = cases[k]
        return [run.responses(probs) for _ in range(200)]

    with ThreadPoolExecutor(len(cases)) as pool:
        for wins, known in zip(pool.map(often, range(len(cases))), expected, strict=True):
            assert all(pair == pytest.approx(known, rel=1e-12, abs=1e-12) for pair in wins)
