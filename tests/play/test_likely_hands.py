"""The hands with which a turn is solved, and the opponent's range after a solved street."""

from __future__ import annotations

import numpy as np
import pytest

from recipes import trained
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.play.agent import Event
from subgame.play.hunl import turn
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import EarlyState, Request
from subgame.play.hunl.laid import Laid
from subgame.play.hunl.turn import TurnSolver
from subgame.refine.live import Clock, Search
from subgame.refine.ranges.reached import ReachedRanges


@pytest.fixture(scope="module")
def stored() -> StoredBlueprint:
    bets = "all: 1x / cap 1"
    recipe = BlueprintRecipe("tiny", bets, (None, 6, 6, 6), 600, ranks="9TJQKA", suits="hs")
    return trained(recipe, 20)


@pytest.fixture(scope="module")
def game(stored: StoredBlueprint) -> Holdem:
    return stored.game


def half_of_the_hands(game: Holdem, line: list[str]) -> ReachedRanges:
    """A public state to which both players come with every other hand."""
    here = ReachedRanges.start(game)
    for action in line:
        here = here.after(action)
    some = np.arange(game.deck.num_hands) % 2 == 0
    return here.with_reach((here.reach[0] * some, here.reach[1] * ~some))


def test_hands_that_the_opponent_does_not_have_change_no_solution(
    game: Holdem, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn solved with the opponent's range has the plans of one solved with all hands.

    After few iterations: rounding grows from one to the next where actions are as good.
    """
    monkeypatch.setattr(turn, "LEAST_REACH", 0.0)
    here = half_of_the_hands(game, ["c", "c", "Jh9sTs", "c", "c", "Qs"])
    solver, seat = TurnSolver(game, "turn: 1x / cap 1; river: 1x / cap 1"), here.player
    request = Request(seat, Search(turn.ROOT, None, None, 4, None), Clock(None))
    laid = Laid(stored, EarlyState(here, stored.game.start().play("cc/cc/")).hand)
    every, few = (solver.solved(here, request, 1.0, known) for known in (None, laid))
    sizes = [solved.reached.roots(1 - seat).size for solved in (few, every)]
    assert 0 < 2 * sizes[0] <= sizes[1] + 1
    assert few.rows().actions == every.rows().actions
    had = here.reach[seat] > 0
    one, two = (solved.rows().probabilities[had] for solved in (few, every))
    np.testing.assert_allclose(one, two, atol=1e-3)


def test_all_hands_are_kept_if_the_opponent_has_none(game: Holdem) -> None:
    here = half_of_the_hands(game, ["c", "c", "Jh9sTs", "c", "c", "Qs"])
    nobody = here.with_reach((here.reach[0], 0 * here.reach[1]))
    kept = turn.with_likely_hands(nobody, 0)
    np.testing.assert_array_equal(kept.held(1), game.deck.compatible(here.board))


def test_later_solves_meet_every_hand(game: Holdem, stored: StoredBlueprint) -> None:
    """The first one has the opponent's range, and all hands of our own."""
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    agent = HoldemAgent(game, stored, bets=bets, iterations=5, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")]
    agent.begin(0, 0)
    for player, action in line:
        agent.observe(Event(player, action))
    here = half_of_the_hands(game, [action for _, action in line])
    state, _ = agent.early.follow(agent.line, agent.request())
    agent.early.states[agent.line] = state._replace(reached=here, rarest=1.0)
    live, free = agent.live(), game.deck.compatible(here.board)
    assert live.solved is not None
    for reached, opponents in ((live.solved.reached, here.reach[1] > 0), (live.reached, free)):
        assert isinstance(reached, ReachedRanges)
        np.testing.assert_array_equal(reached.held(0), free)
        np.testing.assert_array_equal(reached.held(1), opponents)


def test_the_opponent_may_follow_the_solution_or_the_blueprint(
    game: Holdem, stored: StoredBlueprint
) -> None:
    """With even odds, if the blueprint has the action; otherwise it is the solution's."""
    flop = "flop: 0.5x 1x / cap 1"
    agent = HoldemAgent(game, stored, limited=flop, iterations=5, seconds=None, shallow=0)
    agent.begin(1, 0)
    for player, action in ((1, "c"), (0, "c"), (-1, "Jh9sTs")):
        agent.observe(Event(player, action))
    solved = agent.early.decide(agent.line, agent.request())
    assert solved.planned is not None
    assert solved.planned.actions == ("c", "r100", "r200")  # the blueprint bets 200
    betting, actions = stored.game.start().play("cc/"), solved.planned.actions
    known, rows = stored.range_strategy(HoldemState(game, (0, 0), solved.reached.board, betting))
    for action, expected in {
        "r200": (solved.planned.probabilities[:, 2] + rows[:, known.index("r200")]) / 2,
        "r100": solved.planned.probabilities[:, actions.index("r100")],
    }.items():
        after = agent.streets.after(solved, (0, action), 1)
        reach = solved.reached.reach[0] * expected
        np.testing.assert_allclose(after.reached.reach[0], reach)
        assert after.rarest == pytest.approx(
            min(solved.rarest, reach.sum() / solved.reached.reach[0].sum())
        )
