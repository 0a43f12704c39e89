"""Everything that a verb returns can be pickled and copied after solving, without caches."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.refine.continuations import biased
from subgame.spots.endgame import Endgame
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

DECK = Deck("9TJQKA", "hs")
RANGES = ("AA,KT", "AK,QJ")


def turn(bets: str) -> PublicTree:
    game = sg.holdem.endgame("Qs 9h Th Ks", 40, 120, RANGES, bets, deck=DECK)
    return sg.compile(game, merge=False)


@lru_cache
def made(kind: str, device: str) -> dict[str, Any]:
    """One of everything, solved on a device."""
    options: dict[str, Any] = {"iterations": 3, "device": device}
    if kind == "sequence":
        small = sg.compile(sg.games.load("no-limit-kuhn", stack=4, bets="fcpa"))
        large = sg.compile(sg.games.load("no-limit-kuhn", stack=4, bets="all"))
        tree, at, schedule = (
            sg.compile(sg.games.load("liars-dice", faces=2)),
            "after the first bid",
            "cfr+",
        )
    else:
        small, large = turn("all: 1x / cap 1"), turn("all: 0.5x 1x / cap 1")
        tree, at, schedule = turn("all: 1x / cap 1"), "after the river", "dcfr"
    limit = at.replace("after the river", "before the river")
    solved = sg.solve(tree, schedule, **options)
    blueprint = solved.strategy
    theirs = biased(blueprint, player=1)
    limited = sg.depth_limited(tree, blueprint, at=limit, player=0, continuations=theirs)
    known = sg.solve(small, schedule, **options).strategy
    result = {
        "tree": tree,
        "result": solved,
        "strategy": blueprint,
        "exploitability": sg.exploitability(tree, blueprint, device=device),
        "refined": sg.refine(tree, blueprint, at=at, technique="resolve", **options),
        "subgames": sg.cut(tree, at),
        "nested": sg.nest(large, known, technique="resolve", **options),
        "continuations": theirs,
        "limited": limited,
        "limited solution": sg.solve_limited(limited, schedule="cfr+", **options),
        "cfr-d": sg.cfr_d(tree, at=at, subgame_iterations=2, **options),
    }
    if kind == "ranges":
        endgame = Endgame.of(blueprint, device=device)
        return result | {"endgame": endgame, "decision": endgame.decision()}
    result["best response"] = sg.best_response(tree, blueprint, 0)
    return result


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("kind", ["sequence", "ranges"])
def test_everything_pickles_after_solving(kind: str, device: str) -> None:
    if device == "torch":
        pytest.importorskip("torch")
    for name, thing in made(kind, device).items():
        again = pickle.loads(pickle.dumps(thing))
        assert type(again) is type(thing), name
        assert type(copy.deepcopy(thing)) is type(thing), name
        if not isinstance(strategy := getattr(thing, "strategy", None), Strategy):
            continue
        for one, two in zip(strategy.probs, again.strategy.probs, strict=True):
            assert np.array_equal(one, two), name
        # The copy is as good as the original: its engines are created again.
        want = sg.exploitability(strategy.tree, strategy)
        assert sg.exploitability(again.strategy.tree, again.strategy).mean == want.mean, name


@pytest.mark.parametrize("kind", ["sequence", "ranges"])
def test_pickles_do_not_hold_caches(kind: str) -> None:
    fresh = turn("all: 1x / cap 1") if kind == "ranges" else sg.compile(sg.games.load("leduc"))
    size = len(pickle.dumps(fresh))
    strategy = sg.solve(fresh, iterations=2).strategy
    for side in fresh.players:
        assert side.names[0] in side.index
    _ = strategy.table(), fresh.digest, strategy.tree.players[0].origin
    assert len(pickle.dumps(fresh)) == size


def _value(result: Any) -> float:
    return float(sg.exploitability(result.strategy.tree, result.strategy))


def test_results_cross_processes() -> None:
    result = made("sequence", "cpu")["result"]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(_value, result).result() == float(result.exploitability)
