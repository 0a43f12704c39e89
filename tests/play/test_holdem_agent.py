"""The agent of whole hold'em: a blueprint with ranges by Bayes' rule, then solving."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from subgame.games import holdem
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.play import Always, match
from subgame.play.agent import Event
from subgame.play.holdem_agent import HoldemAgent


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
    found = solved.policy([name], ("c", "r600"))
    assert found.probabilities.sum() == pytest.approx(1)
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
    found = after(agent, 1, line).policy(["AsKs | Jh 9s Ts Qs | cc/cc/r130"], ("f", "c"))
    assert found.actions[:2] == ("f", "c")
    assert match(game, [agent, Always("call")], hands=4, seed=1).hands == 4
    assert agent.explain()


def test_bad_input(game: Holdem) -> None:
    with pytest.raises(sg.SubgameError, match="has no street 'preflop'"):
        HoldemAgent(game, HandMade(), solve_from="preflop")
