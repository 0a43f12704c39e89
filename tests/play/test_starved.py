"""An agent of whole hold'em with too little time: the blueprint answers, never chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Event, Policy
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import with_bet
from subgame.play.hunl.laid import Laid
from subgame.play.hunl.rest import numbers
from subgame.play.hunl.rollouts import Rollouts
from subgame.play.hunl.street import LimitedStreet, StreetPlan, mixture, street_solved
from subgame.play.hunl.turn import ENOUGH, StarvedError, TurnSolver, held, with_likely_hands
from subgame.refine.live import MINIMUM, Live
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.solver import Limits

LINE = [
    *((1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "r200"), (0, "c"), (-1, "Qs")),
    *((0, "c"), (1, "c"), (-1, "Ah"), (0, "c"), (1, "c")),
]
"""A hand that the blueprint knows."""
BETS = "all: 1x / cap 1"


class Clock:
    """Time that passes only when somebody looks."""

    def __init__(self, step: float) -> None:
        self.step, self.time = step, 0.0

    def __call__(self) -> float:
        self.time += self.step
        return self.time


@pytest.fixture(scope="module")
def stored() -> StoredBlueprint:
    trainer = Trainer(
        BlueprintRecipe("tiny", BETS, (None, 6, 6, 6), 600, ranks="9TJQKA", suits="hs")
    )
    trainer.advance(20)
    return StoredBlueprint.of(trainer)


@pytest.fixture(scope="module")
def agent(stored: StoredBlueprint) -> HoldemAgent:
    return made(stored)


def made(stored: StoredBlueprint) -> HoldemAgent:
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    limited = "flop: 1x / cap 1"
    return HoldemAgent(stored.game, stored, bets=bets, iterations=100, limited=limited, shallow=0)


def timed(agent: HoldemAgent, seconds: float, step: float) -> HoldemAgent:
    """The agent with a budget and a clock; what was decided is forgotten."""
    agent.search = replace(agent.search, seconds=seconds, now=Clock(step))
    agent.forget()
    return agent


def names(game: Holdem, line: list[tuple[int, str]]) -> list[str]:
    """The infosets of the player to act after a line."""
    state = game.new_initial_state()
    betting, board = state.betting, tuple[int, ...]()
    for player, action in line:
        if player >= 0:
            betting = betting.child(action)
        else:
            board = (*board, *game.deck.parse(action))
    free = np.flatnonzero(game.deck.compatible(board)).tolist()
    return [game.infoset_name(hand, board, betting) for hand in free]


def observed(agent: HoldemAgent | BlueprintAgent, seat: int, line: list[tuple[int, str]]) -> None:
    agent.begin(seat, 0)
    for player, action in line:
        agent.observe(Event(player, action))


@pytest.mark.parametrize("seconds", [0.05, 0.2, 1.0, 5.0])
def test_starved_it_is_the_blueprint(
    agent: HoldemAgent, stored: StoredBlueprint, seconds: float
) -> None:
    """Every look at the clock takes the whole budget, so that no solve has time."""
    timed(agent, seconds, seconds)
    blueprint, decisions = BlueprintAgent(stored.game, stored), 0
    for k, (player, _) in enumerate(LINE):
        if player < 0:
            continue
        line = LINE[:k]
        asked = names(stored.game, line)
        for other in (agent, blueprint):
            observed(other, player, line)
        own, expected = agent.policy(asked, ()), blueprint.policy(asked, ())
        assert own.actions == expected.actions
        assert np.allclose(own.probabilities, expected.probabilities, atol=1e-6)
        if k >= 3:  # on the flop and later
            assert "was not used" in str(agent.explained(asked[0]))
            decisions += 1
    assert decisions == 7


def test_with_time_it_solves(agent: HoldemAgent, stored: StoredBlueprint) -> None:
    timed(agent, 5.0, 1e-4)
    for k in (3, 7, 10):
        line = LINE[:k]
        asked = names(stored.game, line)
        observed(agent, LINE[k][0], line)
        agent.policy(asked, ())
        why = str(agent.explained(asked[0]))
        assert "was not used" not in why or "loses more than the blueprint" in why


def test_after_a_starved_decision_solving_begins_later(
    agent: HoldemAgent, stored: StoredBlueprint
) -> None:
    timed(agent, 1.0, 1.0)
    turn, river = LINE[:7], LINE[:10]
    observed(agent, 0, turn)
    agent.policy(names(stored.game, turn), ())
    agent.search = replace(agent.search, seconds=1000.0, now=Clock(1e-4))
    observed(agent, 0, river)
    agent.policy(names(stored.game, river), ())
    live = agent.live()
    assert live.solved is not None
    assert live.solved.iterations >= MINIMUM
    where = live.solved.reached.state.public_state() or ""
    assert where.startswith("Jh 9s Ts Qs Ah")
    # The same line with time from the start is solved from the turn on.
    other = timed(agent, 1000.0, 1e-4)
    observed(other, 0, river)
    assert (next(iter(other.turn.roots), None)) is None
    other.policy(names(stored.game, river), ())
    root = next(iter(other.turn.roots.values()))[0].reached.state.public_state() or ""
    assert root.startswith("Jh 9s Ts Qs |")


def test_without_time_for_the_streets_before_the_last_one_is_solved_alone(
    agent: HoldemAgent, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn was solved, its solution is forgotten, and there is no time to solve it again."""
    timed(agent, 1000.0, 1e-4)
    observed(agent, 0, LINE[:7])
    agent.policy(names(stored.game, LINE[:7]), ())
    agent.turn.roots.clear()
    solve, tried = agent.turn.solved, list[int]()

    def solved(here: ReachedRanges, *rest: Any) -> Live:
        tried.append(here.betting.street)
        if here.betting.street == 2:
            raise StarvedError(3)
        return solve(here, *rest)

    monkeypatch.setattr(agent.turn, "solved", solved)
    for line in (LINE[:10], LINE[:10], [*LINE[:10], (0, "r100")]):
        player = len(line) - 10
        observed(agent, player, line)
        agent.policy(names(stored.game, line), ())
        assert agent.decided.find(player, tuple(action for _, action in line)) is not None
        assert not agent.decided.unsolved
        live = agent.live()
        assert live.solved is not None
        assert live.solved.iterations >= MINIMUM
        where = live.solved.reached.state.public_state() or ""
        assert where.startswith("Jh 9s Ts Qs Ah")
    assert tried == [2, 3, 2, 3]  # by both players, once each


def test_a_bet_without_time_for_its_street_is_answered_by_the_blueprint(
    stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solve from after the bet would not know with which hands it is made."""
    agent = timed(made(stored), 1000.0, 1e-6)
    line = [*LINE[:3], (0, "r117")]
    assert agent.planner is not None
    solve, asked, answers = agent.planner._solved, list[ReachedRanges](), list[Policy]()

    def solved(here: ReachedRanges, *rest: Any) -> StreetPlan:
        asked.append(here)
        return solve(here, *rest) if answers else StreetPlan({}, 0, 0, "there is no time")

    monkeypatch.setattr(agent.planner, "_solved", solved)
    for _ in range(2):
        agent.forget()
        observed(agent, 1, line)
        answers.append(agent.policy(names(stored.game, line), ()))
    assert [here.betting.history[-1] for here in asked] == ["/", "/"]
    blueprint = BlueprintAgent(stored.game, stored)
    observed(blueprint, 1, line)
    expected = blueprint.policy(names(stored.game, line), ())
    assert answers[0].actions == expected.actions
    assert np.allclose(answers[0].probabilities, expected.probabilities, atol=1e-6)
    assert not np.allclose(answers[0].probabilities, answers[1].probabilities[:, :2], atol=1e-3)


def test_a_large_subgame_says_how_long_a_small_one_takes(stored: StoredBlueprint) -> None:
    """After one that took too long, a smaller one is solved all the same.

    So is a large one, if it was only the last that took too long.
    """
    player = HoldemAgent(stored.game, stored, iterations=20)
    first, second = [(0, "c"), (1, "c")], [(0, "c"), (1, "r400"), (0, "c")]

    def size(moves: list[tuple[int, str]]) -> float:
        """Numbers of the turn's strategy, with the hands that are solved."""
        observed(player, 0, [*LINE[:3], *moves, (-1, "Qs")])
        state, _ = player.early.follow(player.line, player.request(), len(player.line))
        here = with_likely_hands(state.doubted(0), 0)
        return held(here) * numbers(player.turn.menus[0][0], here.betting)

    large, small = size(first), size(second)
    assert 2 * small < large
    slow, starved = 1.5 / large, []
    for moves, took in ((first, [slow]), (second, [slow]), (first, [0.1 * slow, slow])):
        line = [*LINE[:3], *moves, (-1, "Qs")]
        timed(player, 1.0, 1e-6)
        player.turn.pace = None
        player.turn.least_of_last.clear()
        player.turn.least_of_last.extend(took)
        observed(player, 0, line)
        player.policy(names(stored.game, line), ())
        starved.append(bool(player.decided.unsolved))
    assert starved == [True, False, False]


def test_the_menu_grows_with_the_time(stored: StoredBlueprint) -> None:
    """The largest menu is solved of which enough iterations fit, by the last solve's pace."""
    player = HoldemAgent(stored.game, stored, iterations=20)
    line, sizes = LINE[:7], []
    menus = player.turn.menus[0]
    betting = stored.game.start().play("cc/cr200c/")
    counts = [numbers(game, betting) for game in menus]
    assert counts == sorted(counts)
    for seconds in (0.5 * counts[0], *(1.01 * count for count in counts)):
        player.search = replace(player.search, seconds=seconds, now=Clock(1e-6))
        player.decided.decided.clear()
        player.turn.roots.clear()
        player.turn.pace = 1 / ENOUGH
        player.turn.least_of_last.clear()
        observed(player, 0, line)
        sizes.append(len(player.policy(names(stored.game, line), ()).actions))
    actions = [len(game.actions(betting)) for game in menus]
    assert sizes == [actions[0], *actions]


def test_the_opponents_size_is_in_every_menu(stored: StoredBlueprint) -> None:
    solver = TurnSolver(stored.game)
    betting = stored.game.start().play("cc/cc/")
    for game in (*solver.menus[0], *solver.menus[1]):
        assert "r117" in with_bet(game, betting, "r117").actions(betting)
    river = stored.game.start().play("cc/cc/cc/")
    rich = solver.menus[1][-1].actions(river)
    pots = [river.bet(action).fraction for action in rich if action != "c"]  # type: ignore[union-attr]
    assert min(pots) < 0.51
    assert max(pots) >= 2
    assert f"r{river.most_raise}" in rich


@pytest.mark.parametrize("iterations", [1, 3, 40])
def test_a_short_solve_of_the_last_street_loses_no_more(
    stored: StoredBlueprint, iterations: int
) -> None:
    """With both players' ranges a best response wins no more than from the blueprint."""
    line = LINE[:10]
    lost = []
    for allow_worse in (False, True):
        player = HoldemAgent(
            stored.game, stored, solve_from="river", bets=BETS, iterations=iterations, seconds=None
        )
        player.search = replace(player.search, allow_worse=allow_worse)
        observed(player, 0, line)
        live = player.live()
        here = live.reached
        assert isinstance(here, ReachedRanges)
        state = player.early.follow(tuple(line), player.request())[0]
        laid = Laid(stored, state.hand).over_last_street(here)
        assert laid is not None
        share = here.reach[1] * here.weight(1)
        lost.append(
            [share @ here.values(followed, 1, best=True) for followed in (live.before, laid)]
        )
        assert (laid.sigma[0] > 0).any()
    (careful, blueprint), (careless, same) = lost
    assert same == pytest.approx(blueprint)
    assert careful <= blueprint + 1e-6 * abs(blueprint)
    assert careful <= careless + 1e-6 * abs(careless)
    assert careless > blueprint or iterations > 1


def test_a_short_solve_of_the_flop_is_mixed_with_the_blueprint(stored: StoredBlueprint) -> None:
    """A best response wins no more from the mixture than from either of its parts."""
    here = ReachedRanges.start(stored.game)
    for _, action in LINE[:3]:
        here = here.after(action)
    flop = LimitedStreet(stored, here, here.betting, 0)
    shares = []
    for iterations in (1, 4, 100):
        solved = street_solved(flop, Rollouts(2), Limits(iterations=iterations))
        on = solved.on
        laid = flop.laid.over_street(flop.street, on, here.board, flop.hands)
        played, share = mixture(on, 0, flop.reach, solved.played, laid)
        lost = [
            float((on.respond(1, on.plan(0, own, flop.reach[0])).roots * flop.reach[1]).sum())
            for own in (played[0], solved.played[0], laid[0])
        ]
        if share > 0:
            assert lost[0] <= min(lost[1:]) + 1e-9 * abs(lost[0])
        else:
            assert lost[2] <= lost[1]
        shares.append(share)
    assert shares[0] < shares[-1] == 1
