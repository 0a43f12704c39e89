"""The hands with which a turn is solved: those of both ranges."""

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


def test_hands_that_nobody_has_change_no_solution(
    game: Holdem, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn solved with the hands of both ranges has the plans of one solved with all hands."""
    monkeypatch.setattr(turn, "LEAST_REACH", 0.0)
    here = half_of_the_hands(game, ["c", "c", "Jh9sTs", "c", "c", "Qs"])
    solver = TurnSolver(game, "turn: 1x / cap 1; river: 1x / cap 1")
    request = Request(here.player, Search(turn.ROOT, None, None, 30, None), Clock(None))
    laid = Laid(stored, EarlyState(here, stored.game.start().play("cc/cc/")).hand)
    every, few = (solver.solved(here, request, 1.0, known) for known in (None, laid))
    assert isinstance(few.reached, ReachedRanges)
    had = few.reached.held(here.player)
    assert 0 < 2 * had.sum() <= every.reached.roots(here.player).size + 1
    assert few.rows().actions == every.rows().actions
    one, two = (solved.rows().probabilities[had] for solved in (few, every))
    np.testing.assert_allclose(one, two, atol=1e-3)


def test_hands_are_kept_if_the_likely_ones_share_a_card(game: Holdem) -> None:
    here = half_of_the_hands(game, ["c", "c", "Jh9sTs", "c", "c", "Qs"])
    deck = game.deck
    one, two = np.zeros((2, deck.num_hands))
    one[deck.parse_hand("AsKs")] = two[deck.parse_hand("AsKh")] = 1.0
    rare = deck.parse_hand("9hTh")
    one[rare] = two[rare] = 1e-6  # only these meet a hand of the other player
    blocked = here.with_reach((one, two))
    assert turn.with_likely_hands(blocked) is blocked


def test_a_hand_that_we_do_not_have_is_played_by_the_blueprint(
    game: Holdem, stored: StoredBlueprint
) -> None:
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    agent = HoldemAgent(game, stored, bets=bets, iterations=5, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")]
    agent.begin(0, 0)
    for player, action in line:
        agent.observe(Event(player, action))
    here = half_of_the_hands(game, [action for _, action in line])
    state, _ = agent.early.follow(agent.line, agent.request())
    agent.early.states[agent.line] = state._replace(reached=here)
    actions, rows = agent.rows()
    reached, free = agent.live().reached, game.deck.compatible(here.board)
    assert isinstance(reached, ReachedRanges)
    np.testing.assert_array_equal(reached.held(0), here.reach[0] > 0)
    np.testing.assert_array_equal(reached.held(1), free)  # the opponent may have any hand
    other = np.flatnonzero((here.reach[0] == 0) & free)
    betting = stored.game.start().play("cc/cc/")
    known, expected = stored.range_strategy(HoldemState(game, (0, 0), here.board, betting))
    assert actions == known
    np.testing.assert_allclose(rows[other], expected[other], atol=1e-6)


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
