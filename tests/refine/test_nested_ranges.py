"""Nested solving and translation on hold'em trees, beside the same history by history."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest

import subgame as sg
from holdem_games import EIGHT
from subgame.games.holdem import nlfh
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.ranges import Range
from subgame.papers.brown2017_table2 import widened
from subgame.refine.answers import Method
from subgame.refine.verbs.nest import Nested

DECK = Deck("TJQKA", "hs")
EVEN = ("AA,KT,QJ,TT", "AA,KK:0.5,QJ,JTs:0.3,KT")
UNEVEN = (
    "AA:0.71,KJ:0.93,KQ:0.41,AJ:0.87,QJ:0.79,JJ:0.97,AT:0.53,KTs:0.37",
    "KK:0.61,KJ:0.91,QQ:0.83,AQ:0.77,AK:0.59,AJ:0.31,JT:0.47,QTs:0.73",
)
"""Weights that leave few ties between actions, which rounding decides on each engine."""
SPOTS = {"river": ("TsThJsQhAh", UNEVEN), "turn": ("QsJhThKs", EVEN)}
SMALL, LARGE = "all: 1x / cap 1", "all: 0.5x 1x / cap 1"
TECHNIQUES: dict[str, tuple[sg.Gadget, Method]] = {
    "resolve": (sg.Resolve(), "inexpensive"),
    "maxmargin": (sg.Maxmargin(), "inexpensive"),
    "reach-maxmargin": (sg.ReachMaxmargin(), "inexpensive"),
    "reach-resolve, not split": (sg.ReachResolve(split=False), "inexpensive"),
    "unsafe, expensive": (sg.Unsafe(), "expensive"),
    "resolve, expensive": (sg.Resolve(), "expensive"),
}


class Spot(NamedTuple):
    """A game with more bet sizes, compiled in both ways, and one blueprint over either."""

    large: sg.PublicTree
    blueprint: sg.Strategy
    explicit: sg.PublicTree
    by_history: sg.Strategy


def same_over(tree: sg.PublicTree, strategy: sg.Strategy) -> sg.Strategy:
    """A strategy of a hold'em tree over the explicit tree of the same game."""
    known = sg.Strategy.uniform(tree).table()
    table = {name: row for name, row in strategy.table().items() if name in known}
    return sg.Strategy.from_table(tree, table)


@cache
def spot(street: str, merge: bool = True) -> Spot:
    board, ranges = SPOTS[street]
    small, large = (
        sg.holdem.endgame(board, 4, 12, ranges, bets, deck=DECK) for bets in (SMALL, LARGE)
    )
    solved = sg.solve(sg.compile(small, merge=merge), "dcfr", iterations=100, threads=1)
    return Spot(
        sg.compile(large, merge=merge),
        solved.strategy,
        sg.compile(large, explicit=True),
        same_over(sg.compile(small, explicit=True), solved.strategy),
    )


def nest_both(at: Spot, name: str, **options: Any) -> tuple[Nested, Nested]:
    """By boards and history by history."""
    gadget, method = TECHNIQUES[name]
    ranges = sg.nest(at.large, at.blueprint, technique=gadget, method=method, **options)
    want = sg.nest(at.explicit, at.by_history, technique=gadget, method=method, **options)
    assert ranges.answers
    assert ranges.before.per_seat == pytest.approx(want.before.per_seat, abs=1e-6)
    return ranges, want


def check_equal(result: Nested, want: Nested, within: float, bounds: bool = True) -> None:
    assert result.after.per_seat == pytest.approx(want.after.per_seat, abs=within)
    if bounds:
        assert result.bound_per_seat == pytest.approx(want.bound_per_seat, abs=within)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", TECHNIQUES)
def test_the_first_iterations_are_those_of_histories(name: str, merge: bool) -> None:
    """Later, hold'em kernels still answer where nobody comes, by a trace of reach."""
    result, want = nest_both(spot("river", merge), name, schedule="cfr", iterations=3)
    check_equal(result, want, 1e-6)
    assert [a.depth for a in result.answers] == [a.depth for a in want.answers]


@pytest.mark.parametrize("name", ["maxmargin", "reach-maxmargin"])
def test_where_somebody_always_enters_all_iterations_are(name: str) -> None:
    result, want = nest_both(spot("river"), name, schedule="cfr", iterations=40)
    check_equal(result, want, 1e-6)


@pytest.mark.parametrize(("name", "merge"), list(zip(TECHNIQUES, [True, False] * 3, strict=True)))
def test_solved_answers_are_those_found_history_by_history(name: str, merge: bool) -> None:
    """With cards to come. Within gifts that are not split, answers are not unique."""
    result, want = nest_both(spot("turn", merge), name, schedule="dcfr", iterations=500)
    check_equal(result, want, 1e-5, bounds="not split" not in name)


@pytest.mark.parametrize("name", ["maxmargin", "resolve, expensive"])
def test_pytorch_answers_as_the_cpu_does(name: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    at, (gadget, method) = spot("turn"), TECHNIQUES[name]
    one, two = (
        sg.nest(
            at.large,
            at.blueprint,
            technique=gadget,
            method=method,
            schedule="dcfr",
            iterations=20,
            device=device,
        )
        for device in ("cpu", "torch")
    )
    assert len(one.answers) == len(two.answers)
    check_equal(two, one, 2e-3)


@pytest.mark.parametrize("name", ["resolve", "maxmargin"])
def test_answers_cost_no_more_than_the_bound(name: str) -> None:
    at, (gadget, method) = spot("turn"), TECHNIQUES[name]
    for iterations in (3, 30):
        options: dict[str, Any] = {"schedule": "dcfr", "iterations": iterations}
        nested = sg.nest(at.large, at.blueprint, technique=gadget, method=method, **options)
        for p in (0, 1):
            assert (
                nested.after.per_seat[p]
                <= nested.before.per_seat[p] + nested.bound_per_seat[p] + 1e-6
            )


# One player with more bet sizes --------------------------------------------------------------
GAME = replace(
    nlfh(2000, 10, 20, "preflop: 1x / cap 1; flop: 1x 2x / cap 1", "JQKA", "hs"),
    ranges=(Range.parse("AA,KQ,QJ", EIGHT), Range.parse("KK,AJ,QJ", EIGHT)),
)
WIDER = "preflop: 1x / cap 1; flop: 1x 1.5x 2x / cap 1"


@cache
def wide() -> Spot:
    """One board stands for several in one tree, so the blueprint is that of all histories."""
    explicit, tree = sg.compile(GAME, explicit=True), sg.compile(GAME, merge="boards")
    by_history = sg.solve(explicit, iterations=60).strategy
    index = [side.index for side in explicit.players]
    table = {
        name: by_history.row(p, index[p][name])
        for p, side in enumerate(tree.players)
        for name in side.names
        if name in index[p]  # the other hands are not held together with any of the opponent
    }
    larger = widened(GAME, WIDER, 0)
    return Spot(
        sg.compile(larger, merge="boards"),
        sg.Strategy.from_table(tree, table),
        sg.compile(larger, explicit=True),
        by_history,
    )


def test_margins_with_more_sizes_for_the_opponent() -> None:
    """The smallest margin that Maxmargin attains is unique, whatever else its solution does."""
    result, want = nest_both(wide(), "maxmargin", player=1, schedule="pcfr+", iterations=200)
    assert {a.player for a in result.answers} == {1}
    for answer in result.answers:
        if answer.depth > 1:
            continue
        margin = (answer.cbv - answer.values)[answer.weight > 0].min()
        other = min(
            float((a.cbv - a.values)[a.weight > 0].min())
            for a in want.answers
            if a.depth == 1 and a.public.rpartition("| ")[2] == answer.public
        )
        assert margin == pytest.approx(other, abs=0.1)  # of 40 chips and more in the pot
    assert result.after.per_seat[1] == pytest.approx(want.after.per_seat[1], abs=0.02)


def test_translation_with_more_sizes_for_the_opponent() -> None:
    at = wide()
    result = sg.exploitability(at.large, sg.translate(at.large, at.blueprint))
    want = sg.exploitability(at.explicit, sg.translate(at.explicit, at.by_history))
    assert result.per_seat == pytest.approx(want.per_seat, rel=1e-5)


@pytest.mark.parametrize("merge", [True, False])
def test_translation_where_the_round_in_mind_stays_open(merge: bool) -> None:
    """Nobody may raise the bet of half the pot; in mind it was a check, after which we bet."""
    at = spot("turn", merge)
    result = sg.exploitability(at.large, sg.translate(at.large, at.blueprint))
    want = sg.exploitability(at.explicit, sg.translate(at.explicit, at.by_history))
    assert result.per_seat == pytest.approx(want.per_seat, rel=1e-5)


def test_an_open_round_in_mind_ends_with_a_call() -> None:
    """The three hands that a call of half the pot may be in mind, weighted by hand."""
    board, ranges = SPOTS["turn"]
    small, large = (
        sg.compile(sg.holdem.endgame(board, 4, 12, ranges, bets, deck=DECK), merge=False)
        for bets in (SMALL, LARGE)
    )
    blueprint = sg.Strategy.random(small, seed=5)
    result = sg.translate(large, blueprint)
    share = (1 - 0.5) / (1 + 0.5)  # of a bet of half the pot that is taken for a check: f(1/2)
    turn, river = "KhTs | Qs Jh Th Ks | {}", "KhTs | Qs Jh Th Ks Ah | {}/c"
    lines = {
        "cc": share * blueprint[turn.format("c")]["c"],
        "cr4c": share * blueprint[turn.format("c")]["r4"],
        "r4c": (1 - share) * blueprint[turn.format("r4")]["c"],
    }
    checked = sum(w * blueprint[river.format(line)]["c"] for line, w in lines.items())
    got = result[river.format("r2c")]["c"]
    assert got == pytest.approx(checked / sum(lines.values()), abs=1e-6)


# What cannot be done -------------------------------------------------------------------------
def test_what_cannot_be_done_is_said() -> None:
    at = spot("river")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"technique": "unsafe"}, "expensive"),
        ({"technique": "distributional"}, "distributional"),
        ({"technique": sg.Resolve(keep_safe=True)}, "keep_safe"),
        ({"technique": "resolve", "schedule": "lp"}, "linear program"),
    ]
    for options, match in refused:
        with pytest.raises(sg.SubgameError, match=match):
            sg.nest(at.large, at.blueprint, **options)
    with pytest.raises(sg.SubgameError, match="board by board"):
        sg.nest(at.large, at.by_history)
    with pytest.raises(sg.SubgameError, match="merge="):
        sg.nest(sg.compile(GAME), at.blueprint)
