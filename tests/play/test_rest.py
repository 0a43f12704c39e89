"""A flop with little behind, solved to the end of the hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import subgame as sg
from recipes import trained
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem import hunl
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.play.agent import Event
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.rest import ENOUGH, LATER, RestSolver, numbers
from subgame.play.hunl.street import LimitedStreet
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.solver import Limits

BETS, FLOP, STACK = "flop: 1x / cap 1", "JdTc9d", 300
RECIPE = BlueprintRecipe(
    "tiny", "all: 1x a / cap 2", (None, 6, 6, 6), STACK, ranks="9TJQKA", suits="cd"
)


@pytest.fixture(scope="module")
def blueprint() -> StoredBlueprint:
    return trained(RECIPE, 10)


def street(blueprint: StoredBlueprint, stack: int = STACK) -> LimitedStreet:
    """After a limp; the first player holds few hands often and one hardly ever."""
    game = hunl(stack, bets=BETS, ranks="9TJQKA", suits="cd")
    reached = ReachedRanges.start(game)
    likely = np.ones(game.deck.num_hands)
    likely[game.deck.parse_hand("AdKd")] = 1e-4
    reached = reached.after("c").after("c", likely).after(FLOP)
    return LimitedStreet(blueprint, reached, blueprint.game.start().play("cc"), player=0)


def test_it_is_the_solution_of_the_rest(blueprint: StoredBlueprint) -> None:
    at = street(blueprint)
    plan = RestSolver(BetSizes.parse(BETS)).solve(at, Limits(60))
    assert (plan.iterations, plan.to_end, plan.rejected) == (60, True, "")
    game, held = at.reached.game, [np.ones(at.reached.game.deck.num_hands) for _ in (0, 1)]
    left_out = game.deck.parse_hand("AdKd")
    held[0][left_out] = 0
    one, two = (Range(weights, game.deck) for weights in held)
    bets = BetSizes.parse(f"{BETS}; {LATER}")
    first = at.reached.betting
    spot = replace(game, bets=bets, board=at.reached.board, first=first, ranges=(one, two))
    tree = sg.compile(spot)
    solved = sg.solve(tree, tree.usual_schedule, iterations=60)
    for betting in (first, first.child("c"), first.child("r200")):
        rows = plan.rows[betting.history]
        for hand in ("AcKc", "QdQc", "Ac9c"):
            k = game.deck.parse_hand(hand)
            name = game.infoset_name(k, at.reached.board, betting)
            expected = solved.strategy[name]
            for action, probability in zip(rows.actions, rows.probabilities[k], strict=True):
                assert probability == pytest.approx(expected[action], abs=2e-3)
    # A hand that hardly ever comes here plays the blueprint.
    rows = plan.rows[first.history]
    laid = at.laid.rows(first, rows.actions, at.reached.board)
    assert rows.probabilities[left_out] == pytest.approx(laid[left_out])


def test_where_it_is_used(blueprint: StoredBlueprint) -> None:
    solver, at = RestSolver(BetSizes.parse(BETS)), street(blueprint)
    assert solver.fits(at, None)
    assert not solver.fits(at, 100.0)  # how fast the machine is has not been measured
    count = numbers(solver.game(at), at.reached.betting)
    solver.pace, solver.preparing = 1.0 / count, 1.0
    assert solver.fits(at, 1.0 + ENOUGH)
    assert not solver.fits(at, 1.0 + ENOUGH / 2)
    assert not RestSolver(BetSizes.parse(BETS), shallow=0.9).fits(at, None)  # a pot is behind


def test_the_agent_says_so(blueprint: StoredBlueprint) -> None:
    game = hunl(STACK, ranks="9TJQKA", suits="cd")
    assert isinstance(game, Holdem)
    for shallow, words in ((4.0, "The rest of the hand was solved by 5"), (0.0, "to its end by 5")):
        agent = HoldemAgent(
            game, blueprint, limited=BETS, iterations=5, seconds=None, shallow=shallow
        )
        agent.begin(0, 0)
        for player, action in ((1, "c"), (0, "c"), (-1, FLOP)):
            agent.observe(Event(player, action))
        name = game.infoset_name(
            game.deck.parse_hand("AcKc"), game.deck.parse(FLOP), game.start().play("cc")
        )
        assert words in str(agent.explained(name))
