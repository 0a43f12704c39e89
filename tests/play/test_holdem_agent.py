"""The agent of whole hold'em: a blueprint with ranges by Bayes' rule, then solving."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from subgame import play
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.games import holdem
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.play import Always, load, match
from subgame.play.agent import Event
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl import agent as holdem_agent
from subgame.play.hunl import early, preflop_values, turn
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import EarlyState
from subgame.play.hunl.street import LimitedStreet, StreetPlan, solve_street
from subgame.play.hunl.turn import TurnSolver
from subgame.play.named import AgentOptions, named_agents
from subgame.refine.live import Live
from subgame.refine.ranges.reached import ReachedRanges


class HandMade:
    """Raises pairs before the flop, checks and calls otherwise."""

    def range_strategy(self, state: HoldemState) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        deck, actions = state.game.deck, state.game.actions(state.betting)
        rows = np.zeros((deck.num_hands, len(actions)))
        rows[:, actions.index("c")] = 1
        if state.betting.street == 0 and actions[-1][0] == "r":
            ranks = deck.hands // deck.num_suits
            pairs = ranks[:, 0] == ranks[:, 1]
            rows[pairs] = 0
            rows[pairs, -1] = 1
        return actions, rows


@pytest.fixture(scope="module")
def game() -> Holdem:
    return holdem.hunl(stack=600, bets="all: 1x / cap 1", ranks="9TJQKA", suits="hs")


def after(agent: HoldemAgent, seat: int, line: list[tuple[int, str]]) -> HoldemAgent:
    agent.begin(seat, 0)
    for player, action in line:
        agent.observe(Event(player, action))
    return agent


def state(agent: HoldemAgent) -> EarlyState:
    """Where the blueprint leads."""
    return agent.early.follow(agent.line, agent.request())[0]


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges are as the strategies say: nobody is doubted after rare actions."""
    monkeypatch.setattr(early, "DOUBTED", 0.0)


@pytest.mark.usefixtures("trusted")
def test_a_whole_hand(game: Holdem) -> None:
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    agent = HoldemAgent(game, HandMade(), bets=bets, iterations=20, seconds=None)
    first = after(agent, 1, []).policy(["AsAh |  | ", "AsKs |  | "], ("f", "c", "r300"))
    assert first.probabilities[0][first.actions.index("r300")] == 1
    assert first.probabilities[1][first.actions.index("c")] == 1
    # Before the flop the opponent bets what the blueprint does not know: taken for its raise.
    line = [(1, "c"), (0, "r280"), (1, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")]
    turn = [*line, (0, "c")]
    solved = after(agent, 1, turn)
    name = "AsKs | Jh 9s Ts Qs | cr280c/cc/c"
    policy = solved.policy([name], ("c", "r600"))
    assert policy.probabilities.sum() == pytest.approx(1)
    why = solved.explained(name)
    held = why.ranges[1]
    assert all(hand[0] == hand[2] for hand in held)  # only pairs raise
    assert sum(held.values()) == pytest.approx(1)
    assert why.iterations == 20
    river = [*turn, (1, "c"), (-1, "Ah"), (0, "c")]
    again = after(agent, 1, river).live()
    assert again.solved is not None
    assert again.inside
    board = (again.solved.reached.state.public_state() or "").split(" | ")[0]
    assert len(board.split()) == 5


def test_off_tree_bets_on_the_turn_and_matches(game: Holdem) -> None:
    bets = "turn: 1x / cap 1; river: a / cap 1"
    agent = HoldemAgent(game, HandMade(), bets=bets, iterations=5, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs"), (0, "r130")]
    policy = after(agent, 1, line).policy(["AsKs | Jh 9s Ts Qs | cc/cc/r130"], ("f", "c"))
    assert policy.actions[:2] == ("f", "c")
    assert match(game, [agent, Always("call")], hands=4, seed=1).hands == 4
    assert agent.explain()


def test_bad_input(game: Holdem) -> None:
    with pytest.raises(sg.SubgameError, match="has no street 'preflop'"):
        HoldemAgent(game, HandMade(), solve_from="preflop")


def test_the_opponents_first_bet_is_solved_with_the_rest(game: Holdem) -> None:
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    agent = HoldemAgent(game, HandMade(), bets=bets, iterations=5, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs"), (0, "r130")]
    live = after(agent, 1, line).live()
    assert live.solved is not None
    where = live.solved.reached.state.public_state()
    assert where == "Jh 9s Ts Qs | cc/cc/"  # one solve, from the start of the turn
    assert "r130" in live.solved.reached.actions
    river = after(agent, 1, [*line, (1, "c"), (-1, "Ah"), (0, "c")]).live()
    assert river.solved is not None
    assert river.solved.reached.state.public_state() == "Jh 9s Ts Qs Ah | cc/cc/r130c/"


def test_a_hand_that_the_range_does_not_have_is_played_well(game: Holdem) -> None:
    """Who comes to the turn otherwise than planned still has an answer: the best hand calls."""
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    agent = HoldemAgent(game, Rare(), bets=bets, iterations=30, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs"), (0, "r500")]
    policy = after(agent, 1, line).policy(["AsKs | Jh 9s Ts Qs | cc/cc/r500"], ("f", "c"))
    assert policy.actions[0] == "f"
    assert policy.probabilities[0, 0] < 0.01


def test_what_was_decided_stays_so(game: Holdem, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = HoldemAgent(game, HandMade(), bets="turn: 1x / cap 1", iterations=3, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs"), (0, "c")]
    names = ["AsKs | Jh 9s Ts Qs | cc/cc/c", "AhKs | Jh 9s Ts Qs | cc/cc/c"]
    first = after(agent, 1, line).policy(names, ("c", "r200"))
    assert "AsKs" in str(agent.explained(names[0]))
    agent.turn.roots.clear()
    monkeypatch.setattr(agent, "live", None)  # nothing is solved again
    again = after(agent, 1, line).policy(names, ("c", "r200"))
    assert (again.probabilities == first.probabilities).all()
    agent.threshold = 1.0
    pure = agent.policy(names, ("c", "r200")).probabilities
    assert ((pure == 1) == (first.probabilities == first.probabilities.max(1)[:, None])).all()


def test_our_range_is_that_of_our_decisions(game: Holdem, stored: StoredBlueprint) -> None:
    """Streets that were forgotten are solved again, otherwise than before.

    LBR asks for the answers to many bets, so that the solution with the bet that it makes may be
    forgotten. Our hands are still those with which we acted, also by a bet that the new solution
    does not have.
    """
    sizes = "turn: 1x / cap 1; river: 1x / cap 1"
    agent = HoldemAgent(
        game, stored, bets=sizes, limited="flop: 1x / cap 1", iterations=20, seconds=None, shallow=0
    )
    assert agent.planner is not None
    flop = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c")]
    turn = [*flop, (1, "c"), (-1, "Qs"), (0, "c")]
    rivers = {"c": [(1, "c"), (-1, "Ah"), (0, "c")], "r200": [(1, "r200"), (0, "c"), (-1, "Ah")]}
    rows = after(agent, 1, flop).rows()
    came = state(agent).reached.reach[1] * rows.probabilities[:, rows.actions.index("c")]
    agent.search = replace(agent.search, iterations=1)
    agent.planner.plans.clear()
    held = state(after(agent, 1, turn)).reached.reach[1]
    free = game.deck.compatible(game.deck.parse("Jh9sTsQs"))
    np.testing.assert_allclose(held[free], came[free], rtol=1e-6)
    agent.search = replace(agent.search, iterations=20)
    rows = agent.rows()
    held = agent.live().reached.reach[1]
    agent.search = replace(agent.search, iterations=1)
    for action, line in rivers.items():
        agent.turn = TurnSolver(game, sizes.replace("turn: 1x", "turn: 0.5x"))
        ours = after(agent, 1, [*turn, *line]).live().reached.reach[1]
        share = rows.probabilities[:, rows.actions.index(action)]
        np.testing.assert_allclose(ours[ours > 0], (held * share)[ours > 0], rtol=1e-5)


def test_the_last_solutions_are_kept(
    game: Holdem, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a hand, and the last ones of earlier hands; with little memory no more of a hand."""
    agent = HoldemAgent(game, stored, bets="turn: 1x / cap 1", iterations=2, seconds=None)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")]

    def kept(bets: list[str]) -> int:
        """How many are kept after questions about bets in one hand."""
        asked = after(agent, 1, line)
        for bet in bets:
            other = copy.copy(asked)
            other.observe(Event(0, bet))
            other.rows()
        return len(agent.turn.roots)

    assert kept(["r105"]) == 1
    size = turn._size(next(iter(agent.turn.roots.values()))[0])
    monkeypatch.setattr(turn, "KEPT", 2 * size)
    monkeypatch.setattr(turn, "KEPT_IN_HAND", 5 * size)
    monkeypatch.setattr(turn, "available", lambda: float("inf"))
    assert kept(["r110", "r120", "r130"]) == 4
    assert kept([]) == 2
    assert kept(["r140", "r150", "r160", "r170"]) == 5
    monkeypatch.setattr(turn, "available", lambda: 0.0)
    assert kept(["r180", "r190"]) == 2


def test_the_explanation_agrees_with_what_is_played(game: Holdem, stored: StoredBlueprint) -> None:
    """Also if another hand, with another number of iterations, decided it before."""
    flop, bets = "flop: 1x / cap 1", "turn: 1x / cap 1"
    agent = HoldemAgent(
        game, stored, bets=bets, limited=flop, iterations=3, seconds=None, shallow=0
    )
    line, name = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "r130")], "AsKs | Jh 9s Ts | cc/r130"
    first = after(agent, 1, line).policy([name], ("f", "c"))
    agent.search = replace(agent.search, iterations=40)
    again = after(agent, 1, line)
    assert again.policy([name], ("f", "c")).probabilities.tolist() == first.probabilities.tolist()
    played = dict(zip(first.actions, first.probabilities[0].tolist(), strict=True))
    assert again.explained(name).strategy == played
    turn = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs"), (0, "c")]
    agent.threshold, name = 1.0, "AsKs | Jh 9s Ts Qs | cc/cc/c"
    pure = after(agent, 1, turn).policy([name], ("c", "r200"))
    assert list(agent.explained(name).strategy.values()) == pure.probabilities[0].tolist()


def test_explaining_what_the_blueprint_does(game: Holdem) -> None:
    agent = after(HoldemAgent(game, HandMade(), seconds=None), 1, [])
    assert agent.act("AsAh |  | ", ("f", "c", "r300")) == "r300"
    agent.observe(Event(1, "r300"))
    explanation = agent.explain()
    assert "to 300 100 %" in explanation
    assert "follows its blueprint" in explanation


class Rare(HandMade):
    """It always calls, but never comes to the flop with the ace and the king of spades."""

    def range_strategy(self, state: HoldemState) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        rows = np.zeros((state.game.deck.num_hands, 2))
        rows[:, 0] = 1
        if state.betting.street == 0:
            rows[state.game.deck.parse_hand("KsAs")] = 0, 1
        return ("c", "r200"), rows


@pytest.fixture(scope="module")
def stored() -> StoredBlueprint:
    recipe = BlueprintRecipe(
        "tiny", "all: 1x / cap 1", (None, 5, 5, 5), 600, ranks="9TJQKA", suits="hs"
    )
    trainer = Trainer(recipe)
    trainer.advance(3)
    return StoredBlueprint.of(trainer)


def test_a_flop_solved_to_its_end(game: Holdem, stored: StoredBlueprint) -> None:
    flop, bets = "flop: 1x / cap 1", "turn: 1x / cap 1"
    agent = HoldemAgent(
        game, stored, bets=bets, limited=flop, iterations=3, seconds=None, shallow=0
    )
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "r130")]
    policy = after(agent, 1, line).policy(["AsKs | Jh 9s Ts | cc/r130"], ("f", "c"))
    assert policy.actions == ("f", "c")
    assert "solved to its end by 3 iterations" in str(agent.explained("AsKs | Jh 9s Ts | cc/r130"))
    # After a bet that answers ours the rest of the flop is solved again.
    off = [*line[:3], (0, "c"), (1, "r200"), (0, "r420")]
    policy = after(agent, 1, off).policy(["AsKs | Jh 9s Ts | cc/cr200r420"], ("f", "c"))
    assert policy.actions[:2] == ("f", "c")
    assert match(game, [agent, Always("raise")], hands=4, seed=2).hands == 4
    with pytest.raises(sg.SubgameError, match="StoredBlueprint"):
        HoldemAgent(game, HandMade(), limited="flop: 1x")


def test_the_table_before_the_flop_comes_with_the_package() -> None:
    """Ten self-generated values; a bet that the blueprint does not know is answered by them."""
    agent = play.load("hunl", iterations=100, seconds=None)
    assert isinstance(agent, HoldemAgent)
    assert agent.planner is not None
    assert agent.planner.table is not None
    assert agent.planner.table.choices == 10
    hands = [f"{cards} |  | r250" for cards in ("AsAh", "7s2h")]
    policy = after(agent, 0, [(1, "r250")]).policy(hands, ("f", "c"))
    assert policy.actions[:2] == ("f", "c")
    assert policy.probabilities[0, 0] < 0.01
    assert policy.probabilities[1, 0] > 0.9
    assert "solved to its end by 100 iterations" in str(agent.explained(hands[0]))


def test_an_off_tree_bet_before_the_flop_is_solved(
    game: Holdem, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflop_values, "BOARDS", 5)
    both = "preflop: 1x / raise 1x / cap 2"  # no sizes on the flop: it is not solved
    agent = HoldemAgent(
        game, stored, bets="turn: 1x", limited=both, iterations=20, seconds=None, shallow=0
    )
    name = "AsAh |  | r220"
    policy = after(agent, 0, [(1, "r220")]).policy([name], ("f", "c"))
    assert policy.actions == ("f", "c", "r600")
    assert "solved to its end by 20 iterations" in str(agent.explained(name))
    plan = state(agent).plan
    assert plan is not None
    # The opponent's range is that of the solution, which bets so with some hands only.
    rows = plan.rows[()]
    reach = state(agent).reached.reach[1]
    assert reach == pytest.approx(rows.probabilities[:, rows.actions.index("r220")])
    assert reach.min() < 0.5 * reach.max()
    # What the blueprint knows is not solved, and a later bet that the plan does not know is again.
    assert after(agent, 0, [(1, "r300")]).rows().actions == ("f", "c")
    assert state(agent).plan is None
    line = [(1, "c"), (0, "r250"), (1, "c"), (-1, "Jh9sTs")]
    assert after(agent, 1, line[:2]).rows().actions == ("f", "c", "r600")
    assert state(after(agent, 1, line)).plan is None
    again = after(agent, 0, [(1, "r220"), (0, "r440"), (1, "r600")])
    assert again.rows().actions == ("f", "c")
    assert match(game, [agent, Always("raise")], hands=4, seed=2).hands == 4


def test_a_decision_that_is_looked_up_leaves_the_same_ranges(
    game: Holdem, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the next hand, and for a copy that was not asked, both ranges are those of the solution.

    The own range is what the answers make of it, whoever asked for them first.
    """
    monkeypatch.setattr(preflop_values, "BOARDS", 5)
    both = "preflop: 1x / raise 1x / cap 2"
    agent = HoldemAgent(
        game, stored, bets="turn: 1x", limited=both, iterations=20, seconds=None, shallow=0
    )
    line = [(1, "r220"), (0, "c"), (-1, "Jh9sTs")]
    rows = after(agent, 0, line[:1]).rows()
    for move in line[1:]:
        agent.observe(Event(*move))
    ranges = state(agent).reached.reach
    free = game.deck.compatible(state(agent).reached.board)
    called = rows.probabilities[:, rows.actions.index("c")] * free
    assert called.min() < 0.9 * called.max()
    assert ranges[0] == pytest.approx(called, abs=1e-6)
    again = copy.copy(agent)
    assert after(again, 0, line[:1]).rows() is rows
    for move in line[1:]:
        again.observe(Event(*move))
    unasked = after(copy.copy(agent), 0, line)
    for player in (again, unasked):
        np.testing.assert_array_equal(state(player).reached.reach, ranges)


@pytest.mark.usefixtures("trusted")
def test_a_turn_is_solved_for_each_seat_if_they_follow_other_ranges(
    game: Holdem, stored: StoredBlueprint
) -> None:
    """At a depth limit the opponent chooses, so each player's flop is another one."""
    agent = HoldemAgent(
        game,
        stored,
        bets="turn: 1x / cap 1; river: 1x / cap 1",
        limited="flop: 1x / cap 1",
        iterations=20,
        seconds=None,
        shallow=0,
    )
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs"), (0, "c")]
    for seat in (0, 1):
        agent.begin(seat, 0)
        for player, action in line[: 6 + seat]:
            if player == seat:
                agent.rows()
            agent.observe(Event(player, action))
        ranges = state(agent).reached.reach
        agent.live()
        root = next(live for key, (live, _) in agent.turn.roots.items() if key[0] == seat)
        np.testing.assert_allclose(root.reached.reach, ranges, atol=2 * turn.FAINT)


def test_a_bet_on_a_flop_that_is_not_in_its_solution(game: Holdem, stored: StoredBlueprint) -> None:
    """It is solved from the state before it, where the opponent's range is that of the solution.

    Taken for a small bet, which most hands make, an all-in would be called by half of our hands.
    """
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "r500")]
    flop = "flop: 0.5x / cap 1"
    agent = HoldemAgent(game, stored, limited=flop, iterations=5, seconds=None, shallow=0)
    after(agent, 0, line).rows()
    early, before = state(agent), agent.early.states[agent.line[:-1]]
    assert early.plan is not None
    actions, rows = early.plan.rows[before.reached.betting.history]
    assert actions == ("c", "r100", "r500")
    np.testing.assert_allclose(early.reached.reach[1], before.reached.reach[1] * rows[:, 2])


@pytest.mark.usefixtures("trusted")
def test_a_single_valued_flop_is_solved_once_for_both_seats(
    game: Holdem, stored: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one value of a state nobody chooses; with several, or other ranges, it is another."""
    solved: list[int] = []

    def counted(at: LimitedStreet, *settings: Any) -> StreetPlan:
        solved.append(at.player)
        return solve_street(at, *settings)

    monkeypatch.setattr(early, "solve_street", counted)
    line = [(1, "c"), (0, "c"), (-1, "Jh9sTs")]
    for choices, wanted in ((1, [0]), (2, [0, 1])):
        solved.clear()
        agent = HoldemAgent(
            game,
            stored,
            limited="flop: 1x / cap 1",
            choices=choices,
            shallow=0,
            iterations=60,
            seconds=None,
        )
        for seat, moves in ((0, line), (1, [*line, (0, "c")])):
            after(copy.copy(agent), seat, moves).rows()
        assert solved == wanted
    here = state(after(agent, 0, line))
    reach = here.reached.reach
    other = replace(here.reached, reach=(reach[0] ** 2 / 2, reach[1]))
    agent.streets.with_plan(here._replace(reached=other), None, agent.request())
    assert solved == [0, 1, 0]


def test_agents_by_name(
    game: Holdem, stored: StoredBlueprint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holdem_agent, "load_kernels", lambda deck: None)
    whole = load("hunl", threshold=0.1, seconds=1)
    assert isinstance(whole, HoldemAgent)
    assert (whole.name, whole.threshold, whole.search.seconds) == ("limited", 0.1, 1)
    limited = load("hunl", "limited:resolve")
    assert isinstance(limited, HoldemAgent)
    assert limited.planner is not None
    assert isinstance(load("hunl", "blueprint"), BlueprintAgent)
    file = tmp_path / "tiny.safetensors"
    stored.save(file)
    options = AgentOptions(str(file))
    one, two = named_agents(game, ("nested", str(file)), options)
    assert isinstance(one, HoldemAgent)
    assert isinstance(two, BlueprintAgent)
    with pytest.raises(sg.SubgameError, match="it cannot play"):
        named_agents(holdem.hunl(), ("nested", "call"), options)
    with pytest.raises(sg.SubgameError, match="Values by network are for whole hold'em"):
        load("kuhn", "limited", values="network")
    with pytest.raises(sg.SubgameError, match="threshold must be a probability"):
        load("kuhn", "nested", threshold=2, iterations=1).act("K", ("p", "b"))


@pytest.mark.usefixtures("trusted")
def test_both_seats_share_the_first_solve(game: Holdem, monkeypatch: pytest.MonkeyPatch) -> None:
    """With both ranges fixed the solution is the same; hands that nobody holds change nothing."""
    bets = "turn: 1x / cap 1; river: 1x / cap 1"
    line = [(1, "c"), (0, "r280"), (1, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")]
    acts = [[*line, (0, "c")], line]

    def policies(agent: HoldemAgent) -> list[NDArray[np.float64]]:
        out = []
        for seat in (1, 0):
            rows = after(agent, seat, acts[1 - seat]).live().rows()
            live = agent.live()
            here, solved = live.reached, live.solved
            assert solved is not None
            assert live.seat == solved.player == seat
            assert solved.weight == pytest.approx(here.weight(1 - seat))
            out.append(rows.probabilities[here.reach[seat] * here.weight(seat) > 0])
        return out

    solves, solve = [], TurnSolver.solved

    def counted(turn: TurnSolver, here: ReachedRanges, *how: Any) -> Live:
        solves.append(here)
        return solve(turn, here, *how)

    monkeypatch.setattr(TurnSolver, "solved", counted)
    shared = policies(HoldemAgent(game, HandMade(), bets=bets, iterations=20, seconds=None))
    assert len(solves) == 1
    alone = HoldemAgent(game, HandMade(), bets=bets, iterations=20, seconds=None)
    monkeypatch.setattr(alone.turn, "roots", Forgetful())
    for one, two in zip(shared, policies(alone), strict=True):
        assert one == pytest.approx(two, abs=1e-5)
    assert len(solves) > 2


class Forgetful(dict[object, object]):
    """Knows nothing of the other seat."""

    def get(self, key: object, default: object = None) -> object:
        return default
