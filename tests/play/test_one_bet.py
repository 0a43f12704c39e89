"""Bets that a blueprint does not know at all: call or fold by the game of one bet."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.games import holdem, load
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.game import HoldemState
from subgame.games.holdem.ranges import class_of
from subgame.play.agent import Event, Policy
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.one_bet import one_bet
from subgame.refine.ranges.reached import ReachedRanges
from subgame.spots.classes import preflop
from subgame.spots.pushfold import push_fold

Floats = NDArray[np.float64]


def answered(agent: BlueprintAgent | HoldemAgent, line: str) -> Policy:
    """What the big blind does with every hand after a line before the flop."""
    agent.begin(seat=0, seed=0)
    betting = holdem.hunl().start()
    for action in line.split():
        agent.observe(Event(betting.player, action))
        betting = betting.child(action)
    names = [f"{DECK.hand_name(hand)} |  | {betting}" for hand in range(DECK.num_hands)]
    return agent.policy(names, ())


def won_by_shoves(call: Floats) -> float:
    """What the small blind wins by all-in or fold at best, in big blinds, 200 of them deep."""
    table, of = preflop(), class_of(DECK)
    share = np.bincount(of, call) / np.bincount(of)
    called = table.pairs * share
    won = (200 * (2 * table.equity - 1) * called + table.pairs - called).sum(1)
    return float(np.maximum(won, -0.5 * table.pairs.sum(1)).sum() / table.pairs.sum())


@pytest.fixture(scope="module")
def agent() -> BlueprintAgent:
    return BlueprintAgent(load("hunl"))


def test_an_open_shove_is_answered_as_in_push_or_fold(agent: BlueprintAgent) -> None:
    policy = answered(agent, "r20000")
    assert policy.actions == ("f", "c")
    call = policy.probabilities[:, 1]
    assert call[DECK.parse_hand("AsAh")] > 0.99
    assert call[DECK.parse_hand("6s5h")] < 0.01
    least = push_fold(200).value
    assert won_by_shoves(call) == pytest.approx(least, abs=0.005)


def test_nearly_all_in_is_not_a_small_raise(agent: BlueprintAgent) -> None:
    call = answered(agent, "r19900").probabilities[:, 1]
    assert won_by_shoves(call) < -0.4


def test_the_agent_that_solves_answers_alike(agent: BlueprintAgent) -> None:
    nested = HoldemAgent(holdem.hunl(), agent.blueprint, iterations=1, seconds=None)
    one, two = answered(agent, "r20000"), answered(nested, "r20000")
    assert one.actions == two.actions
    assert np.allclose(one.probabilities, two.probabilities, atol=1e-6)


def test_bets_that_are_known_are_answered_by_the_blueprint(agent: BlueprintAgent) -> None:
    own = agent.blueprint.game
    place = HoldemState(own, (0, 0), (), own.start().play("r300"))
    actions, probabilities = agent.blueprint.range_strategy(place)
    policy = answered(agent, "r300")
    assert policy.actions == actions
    assert np.allclose(policy.probabilities, probabilities)


def test_a_raise_is_not_taken_for_all_in() -> None:
    ranks, suits = "9TJQKA", "cd"
    buckets = (None, 6, 6, 6)
    recipe = BlueprintRecipe("tiny", "all: a / cap 1", buckets, 2000, ranks=ranks, suits=suits)
    trainer = Trainer(recipe)
    trainer.advance(10)
    game = holdem.hunl(2000, bets="all: 0.5x 1x a", ranks=ranks, suits=suits)
    player = BlueprintAgent(game, StoredBlueprint.of(trainer))
    start = game.new_initial_state().betting
    for action, unlike in (("r300", True), ("r2000", False)):
        player.begin(seat=0, seed=1)
        player.observe(Event(1, action))
        names = [
            f"{game.deck.hand_name(h)} |  | {start.child(action)}"
            for h in range(game.deck.num_hands)
        ]
        policy = player.policy(names, ())
        assert policy.actions == ("f", "c")
        taken = player._here() is None or player.unlike
        assert taken == unlike
        assert player.act(names[-1], ()) in ("f", "c")


@pytest.mark.parametrize("line", ["cc/cc/cc/r5000", "cc/cc/cc/cr400", "r300c/cc/cr900r4000"])
def test_the_answer_is_that_of_a_linear_program(line: str) -> None:
    game = holdem.hunl(6000, bets="all: 1x", ranks="9TJQKA", suits="cd")
    betting = game.start().play(line)
    board = game.deck.parse("9cTdJcQdKd")[: (0, 3, 4, 5)[betting.street]]
    random = np.random.default_rng(1)
    reach = [random.random(game.deck.num_hands) for _ in range(2)]
    bet = one_bet(game, board, betting, reach)
    theirs, ours = bet.theirs, bet.ours
    # The least sum over h of theirs[h] * max(gain[h], 0), over calls from 0 to 1.
    none, n = bet.gains(np.zeros(len(ours))), len(ours)
    table = np.stack([bet.gains(row) - none for row in np.eye(n)], axis=1)
    least = linprog(
        np.concatenate([np.zeros(n), theirs]),
        A_ub=np.hstack([table, -np.eye(n)]),
        b_ub=-none,
        bounds=[(0, 1)] * n + [(0, None)] * n,
    )
    won = float(theirs @ np.maximum(bet.gains(bet.solved(2000)[1]), 0))
    most = float(theirs @ np.maximum(none, 0))
    assert won == pytest.approx(least.fun, abs=2e-3 * most)
    assert float(theirs @ np.maximum(bet.gains(bet.solved()[1]), 0)) < least.fun + 0.02 * most


def test_after_such_a_bet_the_range_is_that_of_the_game_of_one_bet() -> None:
    """Without a solve of the street: strong hands, and so many others that a call is level."""
    game, line = holdem.hunl(), ("r300", "c", "9h2dKd", "r3600")
    agent = HoldemAgent(game, StoredBlueprint.load(), solve_from="river", seconds=None)
    agent.begin(seat=1, seed=0)
    here = ReachedRanges.start(game)
    for action in line:
        agent.observe(Event(here.player, action))
        here = here.child(action)
    before = agent.early.follow(agent.line[:-1], agent.request())[0].reached.reach
    state = agent.early.follow(agent.line, agent.request())[0]
    after, answer = state.reached.reach[0], state.answer
    assert answer is not None
    assert (state.reached.reach[1] == before[1]).all()
    kept = np.divide(after, before[0], out=np.zeros_like(after), where=before[0] > 0)
    for strong in ("9c9s", "2c2s"):
        assert kept[DECK.parse_hand(strong)] > 0.95
    assert 0.05 < after.sum() / before[0].sum() < 0.5
    # With hands that call sometimes a call pays what a fold does.
    bet = one_bet(game, state.reached.board, state.reached.betting, before)
    call = answer.probabilities[:, 1]
    mixed = np.flatnonzero((bet.ours > 0) & (call > 0.02) & (call < 0.98))
    assert len(mixed) > 1
    met = bet.theirs * kept @ bet.showdowns.pairs[:, mixed]
    gain = -(bet.theirs * kept) @ bet._calls[:, mixed] / met
    assert np.abs(gain).max() < 0.05 * 3900
