"""AIVAT is unbiased exactly: summed over every way a hand can go, it is the exact value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.games.base import CHANCE, TERMINAL, State
from subgame.play import Always, StrategyAgent, match
from subgame.play.agent import Policy
from subgame.play.aivat import Aivat, CheckDown
from subgame.play.match import Z95, Estimate, play_hand
from subgame.play.named import known_strategy
from subgame.play.searching import NestedAgent
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.verbs.start import start_of
from subgame.solve.evaluate import head_to_head


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
        sigma = both[player]
        name = state.information_state(player)
        actions, at = sigma.tree.players[player].lookup(name or "")
        moves = list(zip(actions, sigma.probs[player][at].tolist(), strict=True))
    return [
        each
        for action, share in moves
        if share > 0
        for each in everything(state.child(action), both, (*path, action), p * share)
    ]


@pytest.mark.parametrize(
    "name", ["kuhn", "leduc-ranks", "liars-dice(dice=1, faces=2)", "coin-toss"]
)
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


@pytest.mark.parametrize("values", ["self-play", "check-down"])
@pytest.mark.parametrize("name", ["turn", "river"])
def test_unbiased_and_quieter_on_holdem(name: str, values: str) -> None:
    """Over boards merged by suit symmetry, all-in runouts included."""
    game = GAMES[name]
    tree = sg.compile(game, merge="boards")
    ours, theirs = sg.solve(tree, iterations=50).strategy, sg.Strategy.random(tree, 1)
    for seat in (0, 1):
        aivat = Aivat(tree, ours, CheckDown() if values == "check-down" else None)
        both = (ours, theirs) if seat == 0 else (theirs, ours)
        hands = everything(game.new_initial_state(), both)
        weights = np.array([p for _, p, _ in hands])
        plain = np.array([payoff for *_, payoff in hands])
        found = np.array([aivat.of_path(path, seat) for path, _, _ in hands])
        exact = weights @ plain
        assert found @ weights == pytest.approx(exact, abs=1e-5)
        assert weights @ (found - exact) ** 2 < weights @ (plain - exact) ** 2


def test_an_agent_whose_strategy_is_partly_known() -> None:
    """Where its policy is not known nothing is corrected any more, and it stays unbiased."""
    game = sg.games.load("leduc-ranks")
    tree = sg.compile(game)
    ours, theirs = sg.solve(tree, iterations=50).strategy, sg.Strategy.random(tree, 1)

    class Forgets(StrategyAgent):
        def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
            known = super().policy(infosets, legal)
            return known if "/" not in infosets[0] else cast(Policy, None)

    hands = everything(game.new_initial_state(), (ours, theirs))
    exact = sum(p * payoff for _, p, payoff in hands)
    aivat = Aivat(tree, Forgets(ours))
    assert sum(p * aivat.of_path(path, 0) for path, p, _ in hands) == pytest.approx(exact)


def test_a_search_agent_by_its_own_policy() -> None:
    """Head to head with a p-value: a match of few hands finds the exact value of the agent."""
    game = sg.games.load("leduc-ranks")
    tree = sg.compile(game)
    blueprint, theirs = sg.solve(tree, iterations=20).strategy, sg.Strategy.random(tree, 1)
    agent = NestedAgent(blueprint, iterations=30, seconds=None)
    played = known_strategy(tree, agent)
    assert played is not None
    exact = head_to_head(tree, played, theirs).mean
    found = match(game, [agent, StrategyAgent(theirs)], hands=400, seed=1, aivat=True)
    assert found.aivat is not None
    assert found.aivat.interval95 < found.result.interval95
    deviation = (found.aivat.mean - exact) / (found.aivat.interval95 / Z95)
    p_value = math.erfc(abs(deviation) / math.sqrt(2))
    assert p_value > 1e-3


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
    game = sg.games.load("leduc-ranks")
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


def test_outcomes_of_a_flop_by_brute_force() -> None:
    """How likely each flop is, for a hand that knows what its opponent may hold."""
    game = sg.holdem.nlfh(ranks="789", suits="cds")
    deck, s = game.deck, game.deck.parse_hand("9s9c")
    held = np.random.default_rng(1).random(deck.num_hands)
    here = start_of(game).with_reach((np.ones(deck.num_hands), held)).after("c").after("c")
    found = here.outcomes(0, s)
    weights = {}
    for flop in found:
        free = deck.compatible(deck.parse(flop)) * deck.disjoint[s]
        weights[flop] = float((here.reach[1] * free).sum())
    total = sum(weights.values())
    assert found == pytest.approx({flop: weight / total for flop, weight in weights.items()})
    assert len(set(weights.values())) > 1


def test_flops_of_a_whole_deck_are_not_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their luck stays in; looking at 17,296 flops for each action would take minutes."""
    usual = ReachedRanges.outcomes

    def few(here: ReachedRanges, p: int, s: int) -> object:
        assert len(here.board) >= 3
        return usual(here, p, s)

    monkeypatch.setattr(ReachedRanges, "outcomes", few)
    game = sg.games.load("hunl")
    seated = (Always("call"), Always("call"))
    hand = play_hand(game, seated, number=0, seed=1)
    assert abs(Aivat(game, seated[0]).estimate(hand)) <= 100  # both win what they bet: the blinds
