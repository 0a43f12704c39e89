"""Nested solving: off-tree actions answered by solving, and what the answers may cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Self

import numpy as np
import pytest

import subgame as sg
from subgame.games.base import Game, State
from subgame.papers.no_limit_leduc_sizes import against_size
from subgame.refine.answers import Answer
from subgame.refine.behind import Solved, Technique, solve_gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.sequence.nested import Widened
from subgame.refine.sequence.programs import best_completion
from subgame.refine.verbs.nest import Nested, nest
from subgame.refine.verbs.translate import translate

KUHN = "no-limit-kuhn(stack=6, bets={})"
LEDUC = "no-limit-leduc(stack=4, bets={})"
DEEP = "no-limit-leduc(stack=12, bets={})"
TECHNIQUES = ["resolve", "maxmargin", "reach-maxmargin"]


@cache
def tree(name: str) -> sg.PublicTree:
    return sg.compile(sg.games.load(name))


@cache
def blueprint(name: str) -> sg.Strategy:
    return sg.solve(tree(name), "cfr+", iterations=1000).strategy


@cache
def nested(game: str, sizes: str, technique: str, method: Any = "inexpensive") -> Nested:
    return nest(
        tree(game.format(sizes)),
        blueprint(game.format("fcpa")),
        technique=technique,
        method=method,
        iterations=200,
    )


def check_bound(result: Nested) -> None:
    for p in (0, 1):
        limit = result.before.per_seat[p] + result.bound_per_seat[p]
        assert result.after.per_seat[p] <= limit + 1e-9


@dataclass(frozen=True, slots=True)
class FewerState(State):
    """A state that lists fewer actions than it takes."""

    inner: State
    drop: Callable[[State], Sequence[str]]

    def current_player(self) -> int:
        return self.inner.current_player()

    def legal_actions(self) -> tuple[str, ...]:
        dropped = self.drop(self.inner)
        return tuple(a for a in self.inner.legal_actions() if a not in dropped)

    def child(self, action: str) -> Self:
        return type(self)(self.inner.child(action), self.drop)

    def returns(self) -> tuple[float, float]:
        return self.inner.returns()

    def information_state(self, player: int) -> str | None:
        return self.inner.information_state(player)

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return self.inner.chance_outcomes()

    def public_state(self) -> str | None:
        return self.inner.public_state()


class Fewer(Game):
    name = "fewer"

    def __init__(self, game: str, drop: Callable[[Any], Sequence[str]]) -> None:
        self.game, self.drop = sg.games.load(game), drop

    def new_initial_state(self) -> FewerState:
        return FewerState(self.game.new_initial_state(), self.drop)


# How exploitable it is -----------------------------------------------------------------------


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize(("game", "sizes"), [(KUHN, "all"), (LEDUC, "all"), (DEEP, "0.5x 1x a")])
def test_better_than_translation(game: str, sizes: str, technique: str) -> None:
    """Brown & Sandholm 2017, Table 2: nested solving is far less exploitable; in Leduc, 3 times."""
    result, large = nested(game, sizes, technique), tree(game.format(sizes))
    translated = sg.exploitability(large, translate(large, blueprint(game.format("fcpa"))))
    assert result.answers
    assert float(result.after) < float(translated) / (1 if game == KUHN else 3)
    check_bound(result)


@pytest.mark.parametrize("technique", ["unsafe", "resolve", "maxmargin"])
def test_expensive(technique: str) -> None:
    result = nested(LEDUC, "all", technique, "expensive")
    check_bound(result)
    cheap = nested(LEDUC, "all", "resolve")
    assert {(a.public, a.player) for a in result.answers} == {
        (a.public, a.player) for a in cheap.answers
    }
    if technique != "unsafe":  # which has no bound of its own
        other = nested(LEDUC, "all", technique)
        assert float(result.after) == pytest.approx(float(other.after), abs=5e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_the_bound_holds_for_any_blueprint(seed: int, technique: str) -> None:
    """A random blueprint gives a lot away; CBV~ is then large and the answers hold it."""
    small, large = (tree(LEDUC.format(sizes)) for sizes in ("fcpa", "all"))
    result = nest(large, sg.Strategy.random(small, seed), technique=technique, iterations=100)
    check_bound(result)
    assert float(result.after) <= float(result.before) + 0.02


def test_off_tree_actions_after_off_tree_actions() -> None:
    depths = [answer.depth for answer in nested(DEEP, "0.5x 1x a", "resolve").answers]
    assert min(depths) == 1
    assert max(depths) >= 2


def test_one_more_size_only() -> None:
    """`against_size`: the data behind the plot of `subgame reproduce no-limit-leduc-sizes`."""
    strategy = blueprint("no-limit-leduc(stack=40, ante=10, bets=1x a)")
    result = against_size(strategy, 0.5, stack=40, techniques=("resolve",), iterations=200)
    assert result.answers > 0
    assert 0 < 3 * result.nested["resolve"] < result.translated


# What it is made of --------------------------------------------------------------------------


def first(result: Nested, player: int) -> Answer:
    return next(a for a in result.answers if a.player == player and a.depth == 1)


def test_the_alternative_payoff_is_the_best_within_the_abstraction() -> None:
    """Sec. 6: CBV~(I), computed in the smaller game alone."""
    strategy = blueprint(LEDUC.format("fcpa"))
    for player in (0, 1):
        answer = first(nested(LEDUC, "all", "resolve"), player)
        best = sg.best_response(strategy.tree, strategy, 1 - player).values
        assert answer.cbv == pytest.approx([best[name].normalised for name in answer.infosets])


@pytest.fixture
def solves(monkeypatch: pytest.MonkeyPatch) -> list[tuple[GadgetInputs, Solved]]:
    """What is solved behind gadgets from now on, one entry per answer."""
    seen: list[tuple[GadgetInputs, Solved]] = []

    def solve(how: Technique, subgame: Any, inputs: GadgetInputs, device: Any = None) -> Solved:
        seen.append((inputs, solve_gadget(how, subgame, inputs, device)))
        return seen[-1][1]

    monkeypatch.setattr(import_module("subgame.refine.sequence.nested"), "solve_gadget", solve)
    return seen


def test_maxmargin_holds_the_margin_it_found(solves: list[tuple[GadgetInputs, Solved]]) -> None:
    """The gadget game's value is the smallest margin, measured again in the subgame itself."""
    result = nest(
        tree(LEDUC.format("all")),
        blueprint(LEDUC.format("fcpa")),
        technique="maxmargin",
        schedule="lp",
    )
    for answer, (_, solved) in zip(result.answers, solves, strict=True):
        reached = answer.weight > 0
        margin = (answer.cbv - answer.values)[reached].min()
        theirs = solved.result.value * (1 if answer.player == 1 else -1)
        assert margin == pytest.approx(-theirs, abs=1e-8)


@pytest.mark.parametrize("make", [sg.ReachResolve, sg.ReachMaxmargin])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gifts_that_are_not_split_are_larger(
    make: Any, seed: int, solves: list[tuple[GadgetInputs, Solved]]
) -> None:
    """2017, Sec. 7: a root infoset takes the whole gift, divided by how rarely it is reached."""
    small, large = tree(LEDUC.format("fcpa")), tree(LEDUC.format("all"))
    strategy = sg.Strategy.random(small, seed)
    gifts = []
    for split in (True, False):
        solves.clear()
        gadget = make(split=split, gifts="estimated")  # folding is too bad here for "lower" ones
        result = nest(large, strategy, technique=gadget, iterations=20)
        assert np.isfinite(result.after.mean)
        assert all(np.isfinite(answer.values).all() for answer in result.answers)
        assert all(np.isfinite(inputs.alternative).all() for inputs, _ in solves)
        pairs = zip(result.answers, solves, strict=True)
        # Below the first off-tree action the blueprint is the answers', which differ.
        gifts.append([i.alternative - i.cbv for answer, (i, _) in pairs if answer.depth == 1])
    larger = 0
    for one, whole in zip(*gifts, strict=True):
        assert (one >= 0).all()
        assert (whole >= one - 1e-12).all()
        larger += int((whole > one + 1e-9).sum())
    assert larger > 0


def test_on_the_tree_the_blueprint_stays() -> None:
    result, small = nested(LEDUC, "all", "resolve"), blueprint(LEDUC.format("fcpa"))
    for p, name, row in small.rows():
        there = result.strategy.row(p, result.strategy.tree.players[p].index[name])
        assert {a: q for a, q in there.items() if a in row} == pytest.approx(row)
        assert sum(there.values()) == pytest.approx(1)


def test_without_off_tree_actions_nothing_changes() -> None:
    strategy = blueprint(KUHN.format("fcpa"))
    result = nest(strategy.tree, strategy)
    assert not result.answers
    assert result.after == result.before
    assert result.bound == 0
    assert all(
        np.allclose(a, b) for a, b in zip(result.strategy.probs, strategy.probs, strict=True)
    )


def test_one_player_alone() -> None:
    both = nested(KUHN, "all", "resolve")
    one = nest(
        tree(KUHN.format("all")),
        blueprint(KUHN.format("fcpa")),
        technique="resolve",
        player=1,
        iterations=200,
    )
    assert {answer.player for answer in one.answers} == {1}
    assert one.after.per_seat[1] == both.after.per_seat[1]


def test_any_game_with_a_smaller_tree() -> None:
    """Limit Leduc, of which we know no second raise: nothing here is about bet sizes."""

    def second_raise(state: Any) -> Sequence[str]:
        return ("r",) if "r" in (state.second if state.board else state.first) else ()

    small = sg.compile(Fewer("leduc-ranks", second_raise))
    large = sg.compile(sg.games.load("leduc-ranks"))
    strategy = sg.solve(small, iterations=500).strategy
    result = nest(large, strategy, technique="resolve", iterations=200)
    check_bound(result)
    assert {answer.action for answer in result.answers} == {"r"}
    at_random = sg.Strategy.from_table(large, strategy.table())  # uniform where we know nothing
    assert float(result.after) < sg.exploitability(large, at_random).mean / 2


def test_the_widened_game_is_a_game() -> None:
    from subgame.games.conformance import check

    game = Widened(sg.games.load(LEDUC.format("fcpa")), {(0, f"{c}:"): ("r1",) for c in "JQK"})
    assert check(game).histories > check(sg.games.load(LEDUC.format("fcpa"))).histories


# Edges ---------------------------------------------------------------------------------------


def test_edges_are_answered_legally() -> None:
    """The least bet, all-in, all-in for less: a distribution over what the rules allow."""
    game = "no-limit-kuhn(stack=8, bets={})"
    result = nest(tree(game.format("all")), blueprint(game.format("fcpa")), iterations=100)
    answered = {(answer.public, answer.player) for answer in result.answers}
    assert (":r1", 1) in answered  # the least bet
    assert (":cr6", 0) in answered
    for hand in "JQK":
        least, large, all_in = (result.strategy[f"{hand}:{line}"] for line in ("r1", "r5", "r7"))
        assert set(large) == {"f", "c", "r7"}  # a raise to 7 is all-in for less
        assert set(all_in) == {"f", "c"}  # and after it nobody bets
        for row in (least, large, all_in):
            assert sum(row.values()) == pytest.approx(1)
        assert {a for a, q in least.items() if q > 0} <= {"f", "c", "r5", "r7"}  # our own sizes
    with pytest.raises(sg.SubgameError, match="Nobody can raise after 'r7'"):
        sg.games.load(game.format("all")).new_initial_state().child("K").child("J").child(
            "r7"
        ).child("r9")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"technique": "unsafe"}, "Use method='expensive'"),
        ({"technique": "estimate"}, "estimates alternative payoffs"),
        ({"technique": "distributional"}, "estimates alternative payoffs"),
        ({"method": "cheap"}, "There is no method of nested solving called 'cheap'"),
        ({"player": 2}, "A player is 0 or 1, not 2"),
    ],
)
def test_wrong_wishes_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.SubgameError, match=sentence):
        nest(tree(KUHN.format("all")), blueprint(KUHN.format("fcpa")), **options)


def test_trees_that_do_not_fit_are_refused() -> None:
    with pytest.raises(sg.SubgameError, match="is not a smaller version of"):
        nest(tree(KUHN.format("fcpa")), blueprint(KUHN.format("all")))
    hidden = sg.compile(Fewer("rps", lambda state: ("Scissors",)))
    with pytest.raises(sg.SubgameError, match="is not seen by both players"):
        nest(sg.compile(sg.games.load("rps")), sg.Strategy.uniform(hidden), player=1)


# Brown & Sandholm 2017, Table 2 ---------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_no_answer_to_a_first_action_loses_less_than_resolve(seed: int | None) -> None:
    """Resolve makes small what Table 2 measures, Maxmargin its smallest margin.

    Who may take an off-tree action at the start wins, over the root infosets I, the sum of
    pi_{-i}(I) max(CBV~(I), v(I, a)): the value of Resolve's gadget game. So with subgames solved
    exactly no technique can be below Resolve, whatever the blueprint.
    """

    def first_raise(state: Any) -> Sequence[str]:
        return ("r",) if not state.first and not state.board else ()

    small, large = sg.compile(Fewer("leduc-ranks", first_raise)), tree("leduc-ranks")
    strategy = (
        sg.solve(small, iterations=300).strategy
        if seed is None
        else sg.Strategy.random(small, seed)
    )
    result = {
        technique: nest(large, strategy, technique=technique, player=1, schedule="lp")
        for technique in TECHNIQUES
    }
    won = {
        technique: float(sg.best_response(large, nested.strategy, 0).value)
        for technique, nested in result.items()
    }
    best = best_completion(large, result["maxmargin"].strategy, at="r", player=1).value
    assert [answer.public for answer in result["resolve"].answers] == ["r"]
    assert won["resolve"] == pytest.approx(-best, abs=1e-7)  # any strategy after the raise
    assert min(won.values()) >= won["resolve"] - 1e-7
    if seed is None:  # a raise that is good for some hands: Maxmargin holds the others no better
        assert won["maxmargin"] > won["resolve"] + 0.05
