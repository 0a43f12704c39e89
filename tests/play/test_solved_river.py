"""The river after a turn that was solved: more sizes, the opponent's range, and its gadget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recipes import trained
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem.game import HoldemState
from subgame.play.agent import Event
from subgame.play.hunl.agent import HoldemAgent
from subgame.refine import live as live_module
from subgame.refine.gadgets import Resolve
from subgame.refine.live import Live
from subgame.refine.ranges.reached import ReachedRanges

TURN = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")]
RIVER = [*TURN, (0, "c"), (1, "c"), (-1, "Ah")]


@pytest.fixture(scope="module")
def stored() -> StoredBlueprint:
    recipe = BlueprintRecipe(
        "tiny", "all: 1x / cap 1", (None, 6, 6, 6), 600, ranks="9TJQKA", suits="hs"
    )
    return trained(recipe, 20)


def at(stored: StoredBlueprint, line: list[tuple[int, str]], **options: object) -> HoldemAgent:
    """An agent in seat 0 after a line."""
    agent = HoldemAgent(stored.game, stored, iterations=30, seconds=None, **options)  # type: ignore[arg-type]
    agent.begin(0, 0)
    for player, action in line:
        agent.observe(Event(player, action))
    return agent


def reached(live: Live) -> ReachedRanges:
    assert isinstance(live.reached, ReachedRanges)
    return live.reached


def test_the_river_has_more_sizes_than_the_turn_solved_for_it(stored: StoredBlueprint) -> None:
    turn, river = (at(stored, line).live() for line in (TURN, RIVER))
    before, after = turn, river.rows().actions
    for _, action in RIVER[len(TURN) :]:
        before = before.after(action)
    known = before.rows().actions
    assert known == ("c", "r200", "r500")
    assert set(known) < set(after)
    assert len(after) >= 5
    np.testing.assert_allclose(river.rows().probabilities.sum(1), 1, rtol=1e-5)


def test_sizes_that_are_asked_for_are_the_only_ones(stored: StoredBlueprint) -> None:
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    assert at(stored, RIVER, bets=bets).live().rows().actions == ("c", "r200")


def test_alternatives_are_what_the_turn_left_the_opponent(stored: StoredBlueprint) -> None:
    """With more sizes, too: the CBV of what was followed so far, in its own sizes."""
    agent = at(stored, RIVER, technique=Resolve())
    turn = at(stored, TURN).live()
    before = turn
    for k, (player, action) in enumerate(RIVER[len(TURN) :], len(TURN)):
        line = tuple(action for _, action in RIVER[:k])
        before = before.after(action, agent.decided.find(0, line) if player == 0 else None)
    solved = agent.live().solved
    assert solved is not None
    expected = before.reached.values(before.before, 1, best=True)
    np.testing.assert_allclose(solved.alternative, expected, rtol=1e-4, atol=1e-3)


def test_the_opponent_may_follow_the_turns_solution_or_the_blueprint(
    stored: StoredBlueprint,
) -> None:
    """With even odds, if the blueprint has the action; otherwise it is the solution's."""
    live = at(stored, [*TURN, (0, "c")]).live()
    rows, here = live.rows(), reached(live)
    betting = stored.game.start().play("cc/cc/c")
    known, advice = stored.range_strategy(HoldemState(stored.game, (0, 0), here.board, betting))
    assert "r200" in known
    assert "r100" in rows.actions
    assert "r100" not in known
    for action in ("r100", "r200"):
        share = rows.probabilities[:, rows.actions.index(action)]
        if action in known:
            share = (share + advice[:, known.index(action)]) / 2
        after = reached(live.after(action))
        np.testing.assert_allclose(after.reach[1], here.reach[1] * share)


def test_a_river_solved_too_short_is_played_as_the_turn_had_it(
    stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "MINIMUM", 10**9)
    turn = at(stored, TURN).live()
    hurried = replace(turn, search=replace(turn.search, iterations=None, seconds=0.01))
    for _, action in RIVER[len(TURN) :]:
        hurried = hurried.after(action)
    played = hurried.ready(live_module.Clock(0.01))
    assert played.inside
    assert played.reached is hurried.reached
    assert played.before is hurried.before
