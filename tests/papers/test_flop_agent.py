"""The agent in flop hold'em: all public states at once, beside the agents asked one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import subgame as sg  # noqa: E402
from subgame.abstraction.blueprint import Blueprint  # noqa: E402
from subgame.abstraction.cards import abstract  # noqa: E402
from subgame.games.base import CHANCE  # noqa: E402
from subgame.games.holdem.game import HoldemState  # noqa: E402
from subgame.games.holdem.ranges import Range  # noqa: E402
from subgame.papers import flop_agent as flop  # noqa: E402
from subgame.play.agent import Event  # noqa: E402
from subgame.play.holdem_agent import HoldemAgent  # noqa: E402
from subgame.play.searching import LimitedAgent, SearchAgent  # noqa: E402
from subgame.refine.live.ranges import ReachedRanges  # noqa: E402
from subgame.refine.live.reached import Followed  # noqa: E402
from subgame.tree.ranges.tree import compile_range_tree, range_tree  # noqa: E402

BETS = "flop: 0.5x 1x / cap 1"
DECK = sg.holdem.Deck("JQKA", "hs")
RANGES = ("AA:0.71,KJ:0.93,KQ:0.41,QJ:0.79,JJ:0.97", "KK:0.61,AJ:0.31,AQ:0.77,AK:0.59,QJ:0.83")
GAME = replace(
    sg.holdem.nlfh(2000, bets=f"preflop: 1x / cap 1; {BETS}", ranks="JQKA", suits="hs"),
    ranges=tuple(Range.parse(each, DECK) for each in RANGES),
)
STEPS = 20
FLOPS = ("JsQhAs", "KsAhKh")


@cache
def agent() -> flop.FlopAgent:
    tree = compile_range_tree(GAME)
    blueprint = Blueprint(abstract(tree, {"flop": 4}).buckets, "dcfr")
    blueprint.advance(10)
    return flop.FlopAgent(blueprint, STEPS)


@cache
def solved(name: str, p: int) -> sg.Strategy:
    return agent().over_tree(p, agent().played(p, name))


class Seen:
    """A strategy of a tree, as the blueprint of an agent."""

    def range_strategy(self, state: HoldemState) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        here = ReachedRanges.start(GAME)
        here = replace(here, board=state.board, betting=state.betting)
        strategy = agent().strategy
        found = here.rows(Followed(strategy.tree, strategy.probs))
        assert found is not None
        return GAME.actions(state.betting), np.where(found.sum(1, keepdims=True) > 0, found, 0.5)


def lines(game: Any, p: int, flop: str) -> Iterator[tuple[ReachedRanges, list[Event]]]:
    """Every public state with one flop at which player `p` acts."""
    waiting = [(ReachedRanges.start(game), list[Event]())]
    while waiting:
        here, past = waiting.pop()
        if here.is_over:
            continue
        if here.player == p:
            yield here, past
        moves = (flop,) if here.player == CHANCE else here.actions
        for move in moves:
            waiting.append((here.after(move), [*past, Event(here.player, move)]))


def apart(player: SearchAgent, p: int, strategy: sg.Strategy, flop: str, off: str = "") -> float:
    """The largest difference between what an agent and a strategy play with hands they have."""
    game, most, asked = range_tree(strategy.tree).holdem, 0.0, 0
    for here, past in lines(game, p, flop):
        made = [event.action for event in past]
        if (off in made) != bool(off):
            continue
        player.begin(p, 0)
        for event in past:
            player.observe(event)
        want = here.rows(Followed(strategy.tree, strategy.probs))
        assert want is not None
        hands = np.flatnonzero((here.weight(p) > 0) & (game.weights()[p] > 0))
        names = [here.names(p)[hand] for hand in hands]
        found = player.policy(names, here.actions)
        order = [here.actions.index(action) for action in found.actions]
        most, asked = max(most, np.abs(found.probabilities - want[hands][:, order]).max()), asked + 1
    assert asked
    return most


@pytest.mark.parametrize("p", [0, 1])
def test_the_flop_is_solved_as_the_agent_does(p: int) -> None:
    player = HoldemAgent(
        GAME, Seen(), solve_from="flop", bets=BETS, iterations=STEPS, seconds=None
    )
    for cards in FLOPS:
        assert apart(player, p, solved(flop.NESTED, p), cards) < 1e-3


@pytest.mark.parametrize("p", [0, 1])
def test_a_depth_limit_is_solved_as_the_agent_does(p: int) -> None:
    player = LimitedAgent(
        agent().strategy, technique=flop.ROOT, at="after the flop", iterations=STEPS, seconds=None
    )
    assert apart(player, p, solved(flop.MULTIPLE, p), FLOPS[0]) < 1e-3
