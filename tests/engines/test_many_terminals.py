"""Boards with more terminals than a vector has lanes: kernels take several chunks at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import subgame as sg
from brute_ranges import Brute
from holdem_games import SHORT
from subgame.engines.numba import range_scratch
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.games.holdem.cards import Deck
from subgame.tree.ranges.betting_tree import FOLD, SHOWDOWN
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

BOTH = SHOWDOWN | FOLD
RANGES = ("AA,KK:0.5,AQ,QJ,QT:0.7", "AA,KK:0.5,QJ,JT:0.3")
CASES = {
    "apart": ("QsJhThKsAh", SHORT, "all: 0.5x 1x 2x / cap 2", [BOTH, BOTH, FOLD]),
    "all-in": ("QsJhThKsAh", SHORT, "all: 0.5x 1x 2x a / cap 2", [BOTH, SHOWDOWN, BOTH, FOLD]),
    "merged": ("AsKsTs9s8s", Deck("89TJQKA", "chs"), "all: 1x 2x / cap 2", [BOTH, FOLD]),
}
"""A board, its deck, bets, and what the terminals of a player's chunks are."""


def tree_of(name: str) -> RangeTree:
    board, deck, bets, kinds = CASES[name]
    game = sg.holdem.endgame(board, 4, 60, RANGES, bets, deck=deck)
    tree = compile_range_tree(game, merge=name == "merged")
    assert tree.betting_tree.chunk_kind.tolist() == 2 * kinds
    assert (tree.boards.size_at[0] >= 0) == (name == "merged")
    return tree


@pytest.fixture(params=[2, 4])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many chunks are evaluated at once; processors differ."""
    monkeypatch.setattr(range_scratch, "AT_ONCE", request.param)
    return int(request.param)


def drawn(engine: NumbaRangeEngine, p: int, seed: int) -> Any:
    weights = np.random.default_rng(seed).random(engine.tree.stored(p), dtype=np.float32)
    return engine.behaviour(p, weights)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", sorted(CASES))
def test_values_and_best_responses(name: str) -> None:
    """Those of plain recursion over pairs of hands."""
    tree = tree_of(name)
    engine = NumbaRangeEngine(tree, 1)
    probs = drawn(engine, 0, 1), drawn(engine, 1, 2)
    brute = Brute(tree.holdem, sg.Strategy(tree, probs))
    for p in (0, 1):
        plan = engine.plan(1 - p, probs[1 - p])
        for best in (False, True):
            response = engine.respond(p, plan) if best else engine.values(p, probs[p], plan)
            value = float((response.roots * engine.roots(p)).sum())
            assert value == pytest.approx(brute.value(p, best=best), rel=1e-6)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", sorted(CASES))
def test_iterations_in_float32(name: str) -> None:
    """Their exploitability falls; with two threads all numbers are the same, to the last bit."""
    tree = tree_of(name)
    one, two = (sg.solve(tree, "hs-dcfr", iterations=200, threads=threads) for threads in (1, 2))
    for p in (0, 1):
        np.testing.assert_array_equal(one.strategy.probs[p], two.strategy.probs[p])
    brute = Brute(tree.holdem, one.strategy)
    wins = sum(brute.value(p, best=True) for p in (0, 1)) / 2
    assert wins == pytest.approx(float(one.exploitability), abs=1e-6)
    assert wins < 0.02 * 4
