"""All subgames after the last deal at once: the numbers of `refine`, one subgame after another."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.abstraction import abstract
from subgame.refine.gadgets import Adaptive, Combined
from subgame.refine.subgame import Subgame, Trunk
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.stage import stage_tree
from subgame.tree.ranges.tree import compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.abstraction.blueprint import Blueprint  # noqa: E402
from subgame.papers.last_street import LastStreet  # noqa: E402

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
    """One suit: no boards are equal, so that `refine` can cut the tree.

    With bets of the pot many actions are worth the same to the last bit, and rounding decides which
    is learned; here they are others.
    """
    bets = "preflop: 0.8x / cap 1; flop: 0.7x / cap 1"
    tree = compile_range_tree(sg.holdem.nlfh(1000, 50, 100, bets, "89TJQKA", "s"))
    result = Blueprint(abstract(tree, {"flop": 6}).buckets, "dcfr")
    result.advance(15)
    return result


@cache
def strategies() -> tuple[sg.Strategy, sg.Strategy]:
    """The blueprint and the last iterate, for `refine`."""
    result, last = made(), [np.asarray(made().batch.behaviour(p, made().last(p))) for p in (0, 1)]
    return result.strategy(), sg.Strategy(result.tree, (last[0], last[1]))


@cache
def street_of(p: int) -> LastStreet:
    return LastStreet(made(), p)


@cache
def subgames() -> list[Subgame]:
    return sg.cut(made().tree, "after the flop")


@pytest.mark.parametrize("p", [0, 1])
@pytest.mark.parametrize("name", GADGETS)
def test_gadgets_are_given_what_refine_gives_them(name: str, p: int) -> None:
    """On every way and board, whatever the gadget needs: reach, values, gifts, uncertainty."""
    gadget, (average, last) = GADGETS[name], strategies()
    result = street_of(p).inputs(gadget)
    trunk = Trunk(average, 1 - p, last)
    parts = subgames()
    assert len(parts) == len(result.weight) > 50
    boards = len(made().tree.units.dealt[1].cards)
    ways = len(parts) // boards
    for k in np.random.default_rng(p).permutation(len(parts))[:6].tolist():
        want, gifts = trunk.inputs(parts[k % boards * ways + k // boards], gadget)
        assert (gadget.gifts == "none") or p == 1 or gifts.any()
        many, real = len(want.weight), want.weight > 0

        def row(values: Any, k: int = k, many: int = many) -> Any:
            return values[k, :many].numpy()

        assert row(result.alternative)[real] == pytest.approx(want.alternative[real], 1e-5, 2e-2)
        assert row(result.cbv)[real] == pytest.approx(want.cbv[real], abs=1e-3)
        assert want.spread is not None
        assert row(result.spread)[real] == pytest.approx(want.spread[real], abs=1e-2)
        for mine, other in (
            (row(result.weight), want.weight),
            (result.our_reach[k].numpy()[: len(want.our_reach)], want.our_reach),
            (row(result.opponent_reach), want.opponent_reach),
        ):  # up to a factor
            assert mine / mine.max() == pytest.approx(other / other.max(), abs=1e-5)


@pytest.mark.parametrize("p", [0, 1])
def test_it_is_refine_on_every_board(p: int) -> None:
    """By simultaneous CFR: with schedules that alternate, `refine` differs between devices, too.

    There a trace of an action that is never taken decides between actions of the same worth.
    """
    average, last = strategies()
    want = sg.refine(
        made().tree,
        average,
        at=subgames(),
        technique="resolve",
        schedule="cfr",
        iterations=10,
        estimate=last,
        player=p,
        allow_worse=True,
    )
    street = street_of(p)
    played = street.solve(sg.Resolve(), "cfr", 10)
    assert made().wins(p, played) == pytest.approx(want.after.per_seat[p], abs=1e-5)
    assert street.margin(played, sg.Resolve()) == pytest.approx(want.margin, rel=1e-4)


def test_solved_it_loses_less() -> None:
    street = street_of(0)
    played = street.solve(sg.Resolve(), "dcfr", 30)
    assert made().wins(0, played) < made().exploitability().per_seat[0] - 0.1


@pytest.mark.parametrize("boards", [1, 3])
def test_batches_of_boards_make_no_difference(boards: int) -> None:
    """As many at a time as the memory given holds, to rounding as all at once."""
    whole = street_of(1)
    assert len(whole.batches) == 1
    limit = whole._needed(boards)
    cut = LastStreet(made(), 1, memory_limit=limit)
    assert max(units.stop - units.start for units, _ in cut.batches) == boards
    assert cut.memory <= limit < whole.memory
    reach, both = sg.ReachMaxmargin(split=False), sg.Maxmargin(lexicographic=True)
    for gadget in (reach,) if boards == 1 else (reach, both, Adaptive()):
        want, result = (street.evaluate(gadget, "dcfr", 2) for street in (whole, cut))
        assert (result.won, result.margin) == pytest.approx((want.won, want.margin), rel=1e-5)
    if boards > 1:
        played = cut.solve(reach, "dcfr", 2)
        result = cut.evaluate(reach, "dcfr", 2)
        assert made().wins(1, played) == pytest.approx(result.won, rel=1e-9)
        assert cut.margin(played, reach) == pytest.approx(result.margin, rel=1e-9)


def test_only_the_last_street_can_have_some_boards() -> None:
    with pytest.raises(sg.SubgameError, match="Only the last street alone"):
        stage_tree(made().tree, made().tree.streets, slice(0, 1))


@pytest.mark.parametrize("p", [0, 1])
def test_without_gifts_a_technique_is_its_plain_form(p: int) -> None:
    street, gadget = street_of(p), sg.ReachMaxmargin()
    assert street.plain(gadget).gifts == ("lower" if (street._gifts(gadget) > 0).any() else "none")
    assert street.plain(replace(gadget, scale=0.0)) == replace(gadget, gifts="none")
    assert street.plain(sg.Unsafe()) == sg.Unsafe()


def test_memory_that_is_too_small_is_refused() -> None:
    with pytest.raises(sg.SubgameError, match="and only 1000 B are free"):
        LastStreet(made(), 0, memory_limit="1 kB")


def test_a_tree_of_one_street_is_refused() -> None:
    game = sg.holdem.endgame("QsJsTsKs2s", 4, 4, bets="all: a / cap 1")
    tree = compile_range_tree(game)
    with pytest.raises(sg.SubgameError, match="has one street"):
        LastStreet(Blueprint(Buckets(tree, {}), "dcfr"), 0)
