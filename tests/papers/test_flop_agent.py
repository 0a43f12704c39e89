"""The agent in flop hold'em: all public states at once, beside the agents asked one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import subgame as sg
from subgame.abstraction.blueprint import Blueprint
from subgame.abstraction.cards import abstract
from subgame.games.base import CHANCE
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.ranges import Range
from subgame.papers import flop_agent as flop
from subgame.papers.cells import Cells
from subgame.papers.last_street import LastStreet
from subgame.play.agent import Event
from subgame.play.hunl import early
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.turn import ROOT
from subgame.play.searching import LimitedAgent, SearchAgent
from subgame.refine.gadgets import technique
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed
from subgame.tree.ranges.tree import RangeTree, compile_range_tree, range_tree

BETS = "flop: 1x / cap 1"
PREFLOP = "preflop: 1x / cap 1; "
DECK = sg.holdem.Deck("QKA", "cdhs")
RANGES = (
    "AA:0.71,AK:0.93,AQ:0.41,KK:0.79,KQ:0.97,QQ:0.53",
    "AA:0.61,AK:0.31,AQ:0.77,KK:0.59,KQ:0.83,QQ:0.47",
)
ONE, TWO = (Range.parse(text, DECK) for text in RANGES)
GAME = replace(
    sg.holdem.nlfh(2000, bets=PREFLOP + BETS, ranks="QKA", suits="cdhs"), ranges=(ONE, TWO)
)
STEPS = 12
NEAR = 1e-4
FLOP = "AcKcQd"
"""A flop on which no two actions are exactly equal, where rounding would decide."""


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent takes ranges as the strategies say, as the experiment does."""
    monkeypatch.setattr(early, "DOUBTED", 0.0)


def blueprint_of(tree: RangeTree) -> Blueprint:
    blueprint = Blueprint(abstract(tree, {"flop": 4}).buckets, "dcfr")
    blueprint.advance(10)
    return blueprint


@cache
def agent(steps: int = STEPS) -> flop.FlopAgent:
    before = blueprint_of(compile_range_tree(GAME)) if steps == STEPS else agent().blueprint
    return flop.FlopAgent(before, steps)


@cache
def solved(name: str, p: int, steps: int = STEPS) -> sg.Strategy:
    return agent(steps).over_tree(p, agent(steps).played(p, name))


class Seen:
    """A strategy of a tree, as the blueprint of an agent."""

    def range_strategy(self, state: HoldemState) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        here = ReachedRanges.start(GAME)
        here = replace(here, board=state.board, betting=state.betting)
        strategy = agent().strategy
        result = here.rows(Followed(strategy.tree, strategy.probs))
        assert result is not None
        return GAME.actions(state.betting), np.where(result.sum(1, keepdims=True) > 0, result, 0.5)


def lines(game: Holdem, p: int) -> Iterator[tuple[ReachedRanges, list[Event]]]:
    """Every public state with one flop at which player `p` acts."""
    waiting = [(ReachedRanges.start(game), list[Event]())]
    while waiting:
        here, past = waiting.pop()
        if here.is_over:
            continue
        if here.player == p:
            yield here, past
        moves = (FLOP,) if here.player == CHANCE else here.actions
        for move in moves:
            waiting.append((here.after(move), [*past, Event(here.player, move)]))


def apart(
    player: SearchAgent, p: int, strategy: sg.Strategy, off: str = "", streets: int = 2
) -> float:
    """The largest difference between what an agent and a strategy play with hands they have."""
    game, most, asked = range_tree(strategy.tree).holdem, 0.0, 0
    for here, past in lines(game, p):
        made = [event.action for event in past]
        if (off in made) != bool(off) or here.betting.street >= streets:
            continue
        player.begin(p, 0)
        for event in past:
            player.observe(event)
        want = here.rows(Followed(strategy.tree, strategy.probs))
        assert want is not None
        hands = np.flatnonzero((here.weight(p) > 0) & (game.weights()[p] > 0))
        names = [here.names(p)[hand] for hand in hands.tolist()]
        result = player.policy(names, here.actions)
        order = [here.actions.index(action) for action in result.actions]
        most = max(most, float(np.abs(result.probabilities - want[hands][:, order]).max()))
        asked += 1
    assert asked
    return most


def holdem_agent(game: Holdem = GAME) -> HoldemAgent:
    options: dict[str, Any] = {"technique": flop.SAFELY, "iterations": STEPS, "seconds": None}
    return HoldemAgent(game, Seen(), solve_from="flop", bets=BETS, **options)


@pytest.mark.parametrize("p", [0, 1])
def test_the_flop_is_solved_as_the_agent_does(p: int) -> None:
    assert apart(holdem_agent(), p, solved(flop.NESTED, p)) < NEAR
    assert apart(holdem_agent(), p, solved(flop.SAFE, p)) > 100 * NEAR


@pytest.mark.parametrize("p", [0, 1])
def test_the_range_is_doubted_as_the_agent_does(p: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "DOUBTED", 3.0)
    monkeypatch.setattr(early, "RARE", 0.5)  # with a fifth one seat has nothing to doubt
    assert max(agent().doubts(p)) > 0.05
    assert apart(holdem_agent(), p, solved(flop.DOUBTED, p)) < NEAR
    assert apart(holdem_agent(), p, solved(flop.NESTED, p)) > 100 * NEAR


@pytest.mark.parametrize("p", [0, 1])
def test_no_number_of_iterations_is_below_the_blueprint(p: int) -> None:
    """Of all flops as much of each solution is played as loses nothing."""
    before, schedule = agent().blueprint, agent().schedule
    base, street = before.wins(p, before.average(p)), LastStreet(before, p)
    for iterations in (1, 5, STEPS):
        played = street.accepted(technique("maxmargin"), schedule, iterations)
        whole = street.evaluate(technique("maxmargin"), schedule, iterations)
        assert played.won <= base + 1e-4
        assert played.margin >= -1e-3
        assert played.solution == pytest.approx(whole.won, rel=1e-4)
        assert 0 <= played.share <= 1


@pytest.mark.parametrize("p", [0, 1])
def test_a_depth_limit_is_solved_as_the_agent_does(p: int) -> None:
    options: dict[str, Any] = {"at": "after the flop", "seconds": None, "technique": ROOT}
    player = LimitedAgent(agent().strategy, iterations=STEPS, **options)
    assert apart(player, p, solved(flop.MULTIPLE, p), streets=1) < NEAR
    assert apart(player, p, solved(flop.SINGLE, p), streets=1) > 100 * NEAR
    # The flop after two iterations: later ranges are nearly pure, and many actions exactly equal.
    # All of such a short solve is played here.
    player = LimitedAgent(agent().strategy, iterations=2, allow_worse=True, **options)
    assert apart(player, p, solved(flop.MULTIPLE, p, 2)) < NEAR
    assert apart(player, p, solved(flop.NESTED, p, 2)) > 100 * NEAR


@pytest.mark.parametrize("p", [0, 1])
def test_an_off_tree_bet_is_answered_as_the_agent_does(p: int) -> None:
    larger = compile_range_tree(flop.with_bet(GAME, p))
    base, off = solved(flop.NESTED, p), larger.holdem.bets.added[0]
    assert off == ("cc/cr150", "cc/r150")[p]
    result = agent().off_tree(p, flop.ANSWERED, base, larger)
    assert apart(holdem_agent(larger.holdem), p, result, "r150") < NEAR
    translated = agent().off_tree(p, flop.TRANSLATED, base, larger)
    assert apart(holdem_agent(larger.holdem), p, translated, "r150") > 100 * NEAR


def test_exploitability_is_that_of_the_game_tree() -> None:
    """The assembled strategies, evaluated history by history on a deck of eight cards."""
    deck = sg.holdem.Deck("JQKA", "hs")
    some = (Range.parse("AA,KQ,QJ:0.5", deck), Range.parse("KK,AJ:0.25,QJs", deck))
    game = sg.holdem.nlfh(600, bets=PREFLOP + BETS, ranks="JQKA", suits="hs")
    game = replace(game, ranges=some)
    made = flop.FlopAgent(blueprint_of(compile_range_tree(game, merge=False)), 4)
    tree = sg.compile(game, explicit=True)
    names = sg.Strategy.uniform(tree).table().keys()
    for name in (flop.NESTED, flop.MULTIPLE):
        blocks = [made.played(p, name) for p in (0, 1)]
        seats = [made.over_tree(p, blocks[p]) for p in (0, 1)]
        both = sg.Strategy(seats[0].tree, (seats[0].probs[0], seats[1].probs[1])).table()
        played = sg.Strategy.from_table(tree, {infoset: both[infoset] for infoset in names})
        exact = sg.exploitability(tree, played).per_seat
        result = [made.blueprint.wins(p, blocks[p]) for p in (0, 1)]
        assert result == pytest.approx(exact, abs=1e-4)
        assert sum(result) < 2 * made.blueprint.exploitability().mean


def test_cells_are_kept_and_shown(tmp_path: Path) -> None:
    how = flop.settings(quick=True, seed=0)
    cells = Cells(tmp_path / "cells.json")
    for c, count in enumerate(flop.QUICK_COUNTS):
        for k, name in enumerate(name for name in flop.ROWS if c == 0 or name not in flop.ONCE):
            seats = {str(p): {"won": (k + 1.0), "margin": None, "seconds": 1.0} for p in (0, 1)}
            cells.put(flop.key_of(how, count, name), seats)
    result = flop.run(True, 0, lambda what, share: None, keep=tmp_path / "cells.json")
    ours = [line["ours"] for line in result.rows[:7]]
    assert ours == pytest.approx([10, 20, 30, 40, 50, 60, 70])
    assert len(result.rows) == 19
    assert "the blueprint's is 0.5 times that" in result.rows[1]["note"]


def test_schedules_and_gadgets_are_those_of_their_row() -> None:
    blueprint, street = agent().blueprint, LastStreet(agent().blueprint, 0)
    paper = f"cfr+(alpha=0.5, discounted=30, skipped={STEPS // 2})"
    wanted = {
        flop.PAPER: street.solve(ROOT, paper, STEPS),
        "the flop solved by Resolve": street.solve(sg.Resolve(), "dcfr", STEPS),
    }
    won = {name: blueprint.wins(0, blocks) for name, blocks in wanted.items()}
    assert abs(won[flop.PAPER] - won["the flop solved by Resolve"]) > 1e-3
    for name, lost in won.items():
        assert blueprint.wins(0, agent().played(0, name)) == pytest.approx(lost, abs=1e-6)


@pytest.mark.parametrize("name", flop.THRESHOLDS)
def test_actions_are_left_out_as_the_agent_does(name: str) -> None:
    player = holdem_agent()
    player.threshold = flop.THRESHOLDS[name]
    result = agent().over_tree(0, agent().played(0, name, agent().played(0, flop.NESTED)))
    assert apart(player, 0, result) < NEAR
    assert apart(holdem_agent(), 0, result) > 100 * NEAR
