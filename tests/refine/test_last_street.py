"""All subgames after the last deal at once: the numbers of `refine`, one subgame after another."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import subgame as sg
from subgame.abstraction import abstract
from subgame.refine.gadgets import Combined
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.abstraction.blueprint import Blueprint  # noqa: E402
from subgame.refine.last_street import LastStreet  # noqa: E402

GADGETS = {
    "unsafe": sg.Unsafe(),
    "resolve": sg.Resolve(),
    "reach-maxmargin": sg.ReachMaxmargin(),
    "not split": sg.ReachMaxmargin(split=False),
    "estimate": sg.Estimate(),
    "all three": sg.ReachEstimateDistributional(),
    "combined": Combined(),
}


@cache
def made() -> Blueprint:
    """One suit: no boards are equal, so that `refine` can cut the tree."""
    bets = "preflop: none; flop: 1x / cap 1"
    tree = compile_range_tree(sg.holdem.nlfh(1000, 50, 100, bets, "89TJQKA", "s"))
    found = Blueprint(abstract(tree, {"flop": 4}).buckets, "dcfr")
    found.advance(10)
    return found


@pytest.mark.parametrize("name", GADGETS)
def test_it_is_refine_on_every_board(name: str) -> None:
    blueprint, gadget = made(), GADGETS[name]
    tree: RangeTree = blueprint.tree
    one, two = (np.asarray(blueprint.batch.behaviour(p, blueprint.last(p))) for p in (0, 1))
    want = sg.refine(
        tree,
        blueprint.strategy(),
        at="after the flop",
        technique=gadget,
        schedule="dcfr",
        iterations=15,
        estimate=sg.Strategy(tree, (one, two)),
    )
    for p in (0, 1):
        street = LastStreet(blueprint, p)
        played = street.solve(gadget, "dcfr", 15)
        assert blueprint.wins(p, played) == pytest.approx(want.after.per_seat[p], abs=0.02)
        margins = [part.margin for part in want.parts if part.player == p]
        assert street.margin(played, gadget) == pytest.approx(min(margins), abs=0.5)


def test_a_tree_of_one_street_is_refused() -> None:
    game = sg.holdem.endgame("QsJsTsKs2s", 4, 4, bets="all: a / cap 1")
    tree = compile_range_tree(game)
    with pytest.raises(sg.SubgameError, match="has one street"):
        LastStreet(Blueprint(Buckets(tree, {}), "dcfr"), 0)
