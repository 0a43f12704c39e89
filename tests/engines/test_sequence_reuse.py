"""`TorchSequenceEngine` keeps what was last played: the same bits as if it computed all anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import tree_of
from subgame.engines.contract import Mode, Regrets
from subgame.refine.sequence.subgames import SequenceSubgame
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.tree.public_tree import PublicTree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from subgame.engines.torch import TorchSequenceEngine  # noqa: E402
from subgame.engines.torch.cuda_graph import RecordedGraph  # noqa: E402

GAMES = ["leduc", "random(seed=29, ragged=true)", "a subgame of leduc"]
SCHEDULES = [
    "cfr",
    "cfr+",
    "dcfr",
    "pcfr+",
    "pdcfr+",
    "hs-dcfr",
    "cfr-br(responder=0)",
    "cfr-br(responder=1)",
    "cfr-br(responder=1, predictive=true, alpha=1)",
]
CASES = [
    (game, schedule, (i + j) % 2 == 0, (i + j) % 3 - 1)
    for i, schedule in enumerate(SCHEDULES)
    for j, game in enumerate(GAMES)
]
"""Game, schedule, alternating, who has a gadget: every two of them in every combination."""


class Anew(TorchSequenceEngine):
    """Reuses nothing."""

    def sweep(self, *args: Any, **kwargs: Any) -> Any:
        self._forget()
        return super().sweep(*args, **kwargs)


class Operations(list[Any]):
    """Tensor operations with their tensors."""

    def replay(self) -> None:
        for func, args, kwargs, place in self:
            result = func(*args, **kwargs)
            if isinstance(place, torch.Tensor) and result.data_ptr() != place.data_ptr():
                place.copy_(result)


def operations(play: Callable[[], None]) -> Operations:
    """All tensor operations of a turn: what a CUDA graph holds."""
    done = Operations()

    def note(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        done.append((func, args, kwargs or {}, result))
        return result

    with type("Noting", (TorchDispatchMode,), {"__torch_dispatch__": note})():
        play()
    return done


class Graph(RecordedGraph):
    """Stands for a CUDA graph: it replays operations, not the Python code that chose them."""

    def run(self, turn: Callable[[Any], None], rates: Any) -> None:
        if self.graph is None and self.warm:  # what is recorded here is also done
            self.rates.copy_(rates)
            self.graph = operations(partial(turn, self.rates))
        else:
            super().run(turn, rates)


class Halving:
    """A gadget: its player enters by a share that depends on all values seen so far."""

    def __init__(self, engine: Any, player: int) -> None:
        self.player, self.seen = player, engine.roots(player) * 0

    def enter(self) -> Any:
        return 1 / (1 + self.seen.abs())

    def observe(self, values: Any, discounts: Any) -> None:
        self.seen.mul_(discounts[1, 0]).add_(values)


def tree_named(name: str) -> PublicTree:
    if name != "a subgame of leduc":
        return tree_of(name)
    subgame = sg.cut(tree_of("leduc"), "after round 1")[0]
    assert isinstance(subgame, SequenceSubgame)
    return subgame.tree


def cfr_of(engine: Any, schedule: str, alternating: bool, gadget: int, seed: int) -> Cfr:
    """CFR from random regrets; `gadget` is the player who enters by one, or -1."""
    plan, rng = parse(schedule), np.random.default_rng(seed)
    cfr = Cfr(
        engine,
        predictive=plan.predictive,
        alternating=alternating,
        responder=plan.responder,
        learner=Halving(engine, gadget) if gadget >= 0 else None,
    )
    for regrets in cfr.pair:
        regrets.regret[:] = rng.normal(size=len(regrets.regret))
    return cfr


def numbers(*cfrs: Cfr) -> list[Any]:
    every = [part for cfr in cfrs for regrets in cfr.pair for part in regrets if part is not None]
    return [np.asarray(part) for part in every] + [
        np.asarray(reach) for cfr in cfrs for reach in cfr.reach
    ]


def equal(got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want)
    for one, two in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("name", "schedule", "alternating", "gadget"), CASES)
def test_reuse_changes_nothing(
    name: str, schedule: str, alternating: bool, gadget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs take turns on one engine, by one iteration and by several, and one is written to."""
    monkeypatch.setattr("subgame.engines.torch.sequence.RecordedGraph", Graph)
    tree, plan, results = tree_named(name), parse(schedule), []
    for engine in (
        Anew(tree, "cpu"),
        TorchSequenceEngine(tree, "cpu"),
        TorchSequenceEngine(tree, "cpu", graphs=True),
    ):
        one, two = (cfr_of(engine, schedule, alternating, g, 3 + g) for g in (gadget, -1))
        order = [(one, 1), (one, 1), (one, 4), (two, 1), (one, 3), (one, 2), (one, 1), (one, 4)]
        begin = {id(one): 1, id(two): 1}
        for step, (cfr, count) in enumerate([*order, (two, 1), (two, 1), (two, 2), (two, 3)]):
            cfr.advance(plan.discounts(begin[id(cfr)], count + 1), begin[id(cfr)])
            begin[id(cfr)] += count
            if step == 4:
                one.pair[0].regret[:] = np.asarray(one.pair[0].regret)[::-1]
        results.append(numbers(one, two))
    equal(results[1], results[0])
    equal(results[2], results[0])
    assert engine._recorded is not None
    first, later = (len(recorded.graph) for recorded in engine._recorded)
    assert later < first if alternating else later == first


@pytest.mark.parametrize("gadget", [-1, 0, 1])
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("schedule", ["cfr+", "pcfr+"])
def test_each_player_is_matched_once_an_iteration(
    schedule: str, alternating: bool, gadget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("_match_into", "_walk_into"):
        plain = getattr(TorchSequenceEngine, name)

        def counted(*args: Any, plain: Any = plain, name: str = name) -> Any:
            calls.append(name)
            return plain(*args)

        monkeypatch.setattr(TorchSequenceEngine, name, counted)
    cfr = cfr_of(TorchSequenceEngine(tree_of("kuhn"), "cpu"), schedule, alternating, gadget, 1)
    cfr.advance(parse(schedule).discounts(1, 11), 1)
    first = int(alternating)  # the first iteration finds nothing of player 0
    assert calls.count("_match_into") == calls.count("_walk_into") == 20 + first


def test_what_is_written_within_an_iteration_is_seen() -> None:
    """Regrets, reach, a snapshot, other rates, and what is no vector of the engine's."""
    results = []
    for engine in (Anew(tree_of("leduc"), "cpu"), TorchSequenceEngine(tree_of("leduc"), "cpu")):
        pair = [engine.regrets(p, predictive=True) for p in (0, 1)]
        reach = (engine.roots(0), engine.roots(1))
        array, rng, seen = np.ones(len(pair[1].regret)), np.random.default_rng(2), list[Any]()

        def turn(
            rates: Any,
            engine: Any = engine,
            pair: Any = pair,
            reach: Any = reach,
            array: Any = array,
            rng: Any = rng,
            seen: Any = seen,
        ) -> None:
            def look(theirs: Regrets, ahead: Any = rates[0]) -> None:
                args = ((pair[0], theirs), (rates[0], ahead), reach)
                seen.append(engine.sweep(0, Mode.EVALUATE, *args).numpy().copy())
                seen.append(engine.sweep(0, Mode.BEST, *args).numpy().copy())

            look(pair[1])
            for part in (pair[1].regret, pair[1].instant, pair[0].regret):
                part[:] = rng.normal(size=len(part))
                look(pair[1])
            look(pair[1], rates[1])
            look(pair[1], rates[0] * 0.3)
            look(pair[1], rates[0] * 0.1)
            look(pair[1])
            reach[1].mul_(1.1)
            look(pair[1])
            copy = engine.snapshot(pair[1])
            look(copy)
            pair[1].regret[:] = rng.normal(size=len(array))
            look(copy)
            copy.regret[:] = rng.normal(size=len(array))
            look(copy)
            for _ in range(2):
                array[:] = rng.random(len(array))
                look(Regrets(array, None, None))

        engine.repeat(turn, engine.rates(parse("pdcfr+").discounts(5, 4), 5), object())
        results.append(seen)
    equal(results[1], results[0])
