"""The opponent's range after actions that its strategy hardly ever takes."""

from __future__ import annotations

import numpy as np
import pytest

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.play.agent import Event
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import DOUBTED, RARE, TREMBLE
from subgame.play.hunl.turn import with_likely_hands

BETS = "all: 1x / cap 1"
LINE = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "r200"), (0, "c"), (-1, "Qs")]
SEAT, OPPONENT = 0, 1


@pytest.fixture(scope="module")
def agent() -> HoldemAgent:
    recipe = BlueprintRecipe("tiny", BETS, (None, 6, 6, 6), 600, ranks="9TJQKA", suits="hs")
    trainer = Trainer(recipe)
    trainer.advance(20)
    blueprint = StoredBlueprint.of(trainer)
    made = HoldemAgent(blueprint.game, blueprint, bets=BETS, iterations=5, seconds=None)
    made.begin(SEAT, 0)
    for player, action in LINE:
        made.observe(Event(player, action))
    return made


def test_how_likely_the_rarest_action_was(agent: HoldemAgent) -> None:
    """Of the opponent's alone, each with the range that it had there."""
    state, _ = agent.early.follow(agent.line, agent.request())
    known = [agent.early.states[tuple(LINE[:k])].reached.reach for k in range(len(LINE) + 1)]
    likely = [
        after[OPPONENT].sum() / before[OPPONENT].sum()
        for (player, _), before, after in zip(LINE, known[:-1], known[1:], strict=True)
        if player == OPPONENT
    ]
    assert len(likely) == 2
    assert state.rarest == pytest.approx(min(likely))
    assert state.rarest < 1


@pytest.mark.parametrize("rarest", [1.0, RARE, 0.09, 0.02, TREMBLE, 1e-9, 0.0])
def test_the_range_gets_some_of_every_hand(agent: HoldemAgent, rarest: float) -> None:
    """Nothing after usual actions, and never more than `DOUBTED` times what it had."""
    state, _ = agent.early.follow(agent.line, agent.request())
    before, after = state.reached, state._replace(rarest=rarest).doubted(SEAT)
    np.testing.assert_array_equal(after.reach[SEAT], before.reach[SEAT])
    free = before.game.deck.compatible(before.board) > 0
    added = after.reach[OPPONENT] - before.reach[OPPONENT]
    assert not added[~free].any()
    assert added[free] == pytest.approx(added[free].mean())
    share = added.sum() / before.reach[OPPONENT].sum()
    usual = rarest >= RARE
    assert share == pytest.approx(0 if usual else min(DOUBTED, TREMBLE / max(rarest, 1e-9)))


def test_the_turn_is_solved_with_that_range(agent: HoldemAgent) -> None:
    state, _ = agent.early.follow(agent.line, agent.request())
    rare = state._replace(rarest=0.01)
    agent.early.states[agent.line] = rare
    agent.turn.roots.clear()
    reach = agent.live().reached.reach
    agent.early.states[agent.line] = state
    for p in (0, 1):
        np.testing.assert_allclose(reach[p], with_likely_hands(rare.doubted(SEAT), SEAT).reach[p])
    assert (reach[OPPONENT] > with_likely_hands(state.reached, SEAT).reach[OPPONENT]).any()
