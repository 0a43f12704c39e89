"""AIVAT is unbiased exactly: summed over every way a hand can go, it is the exact value."""

from __future__ import annotations

import numpy as np
import pytest

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL, State
from subgame.play import StrategyAgent, match
from subgame.play.aivat import Aivat
from subgame.play.match import Estimate, play_hand


def everything(
    state: State, both: tuple[sg.Strategy, sg.Strategy], path: tuple[str, ...] = (), p: float = 1.0
) -> list[tuple[tuple[str, ...], float, float]]:
    """(path, probability, payoff of player 0) of every hand; player k plays by both[k]."""
    player = state.current_player()
    if player == TERMINAL:
        return [(path, p, state.returns()[0])]
    if player == CHANCE:
        moves = list(state.chance_outcomes())
    else:
        row = both[player][f"player {player}: {state.information_state(player)}"]
        moves = list(row.items())
    return [
        each
        for action, share in moves
        if share > 0
        for each in everything(state.child(action), both, (*path, action), p * share)
    ]


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars-dice(dice=1, faces=2)", "coin-toss"])
@pytest.mark.parametrize("seat", [0, 1])
def test_unbiased_and_quieter(name: str, seat: int) -> None:
    game = sg.games.load(name)
    tree = sg.compile(game)
    ours = sg.solve(tree, iterations=50).strategy
    theirs = sg.Strategy.random(tree, 1)
    aivat = Aivat(tree, ours)
    both = (ours, theirs) if seat == 0 else (theirs, ours)
    hands = everything(game.new_initial_state(), both)
    exact = sum(p * payoff for _, p, payoff in hands)
    values = np.array([aivat.of_path(path, seat) for path, _, _ in hands])
    weights = np.array([p for _, p, _ in hands])
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert values @ weights == pytest.approx(exact, abs=1e-12)
    variance = weights @ (values - exact) ** 2
    plain = weights @ (np.array([payoff for *_, payoff in hands]) - exact) ** 2
    assert variance < 0.5 * plain


def test_unbiased_with_any_value_function() -> None:
    game = sg.games.load("kuhn")
    tree = sg.compile(game)
    ours, theirs, values = (sg.Strategy.random(tree, seed) for seed in (1, 2, 3))
    aivat = Aivat(tree, ours, values)
    hands = everything(game.new_initial_state(), (ours, theirs))
    exact = sum(p * payoff for _, p, payoff in hands)
    assert sum(p * aivat.of_path(path, 0) for path, p, _ in hands) == pytest.approx(exact)


def test_a_match_with_known_strategies() -> None:
    """Self-play near equilibrium: the standard deviation falls by more than 85 % (the paper's)."""
    game = sg.games.load("leduc")
    tree = sg.compile(game)
    ours = sg.solve(tree, iterations=300).strategy
    agents = (StrategyAgent(ours), StrategyAgent(ours))
    hands = [play_hand(game, agents, k, seed=1) for k in range(800)]
    aivat = Aivat(tree, ours)
    quiet = Estimate.of([aivat.estimate(hand) for hand in hands])
    plain = Estimate.of([hand.won for hand in hands])
    assert quiet.interval95 < 0.15 * plain.interval95
    assert abs(quiet.mean) < 2.04 * quiet.interval95
    assert match(game, agents, hands=800, seed=1).result == plain
