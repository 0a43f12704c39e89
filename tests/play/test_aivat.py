"""AIVAT is unbiased exactly: summed over every way a hand can go, it is the exact value."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import cast

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.holdem.evaluate import rank_hands
from subgame.play import Always, StrategyAgent, match
from subgame.play.agent import Event, Policy
from subgame.play.aivat import Aivat, CheckDown
from subgame.play.match import Z95, Estimate, play_hand
from subgame.play.named import known_strategy
from subgame.play.packed import rounded
from subgame.play.scoring import Recorder
from subgame.play.searching import NestedAgent
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.verbs.cut import start_of
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
        hand
        for action, share in moves
        if share > 0
        for hand in everything(state.child(action), both, (*path, action), p * share)
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
        estimates = np.array([aivat.of_path(path, seat) for path, _, _ in hands])
        exact = weights @ plain
        assert estimates @ weights == pytest.approx(exact, abs=1e-5)
        assert weights @ (estimates - exact) ** 2 < weights @ (plain - exact) ** 2


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
    result = match(game, [agent, StrategyAgent(theirs)], hands=400, seed=1, aivat=True)
    assert result.aivat is not None
    assert result.aivat.interval95 < result.result.interval95
    deviation = (result.aivat.mean - exact) / (result.aivat.interval95 / Z95)
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
    outcomes = here.outcomes(0, s)
    weights = {}
    for flop in outcomes:
        free = deck.compatible(deck.parse(flop)) * deck.disjoint[s]
        weights[flop] = float((here.reach[1] * free).sum())
    total = sum(weights.values())
    assert outcomes == pytest.approx({flop: weight / total for flop, weight in weights.items()})
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


# Against anybody: the agent's strategy as it was recorded -------------------------------------
def every_recorded(
    game: Game, ours: sg.Strategy, theirs: sg.Strategy, seat: int
) -> list[tuple[tuple[str, ...], float, float, tuple[tuple[str, ...], ...]]]:
    """(path, probability, payoff of player 0, recorded policies) of every hand.

    The player in `seat` is recorded and plays by its strategy in 255ths.
    """
    agent = Recorder(game, StrategyAgent(ours))
    out = []

    def walk(state: State, path: tuple[str, ...], p: float) -> None:
        player = state.current_player()
        if player == TERMINAL:
            agent.begin(seat, 0)
            for event, infoset, legal in decisions(path):
                if infoset:
                    agent.act(infoset, legal)
                    agent.done = event.action
                agent.observe(event)
            out.append((path, p, state.returns()[0], tuple(agent.recorded)))
            return
        if player == CHANCE:
            moves = list(state.chance_outcomes())
        else:
            name = state.information_state(player) or ""
            sigma = (ours if player == seat else theirs).probs[player]
            actions, at = ours.tree.players[player].lookup(name)
            shares = sigma[at]
            if player == seat:
                shares = rounded(shares[None]).astype(float)[0] / 255
            moves = list(zip(actions, shares.tolist(), strict=True))
        for action, share in moves:
            if share > 0:
                walk(state.child(action), (*path, action), p * share)

    def decisions(path: tuple[str, ...]) -> list[tuple[Event, str, tuple[str, ...]]]:
        state, events = game.new_initial_state(), []
        for action in path:
            player = state.current_player()
            own = (state.information_state(player) or "") if player == seat else ""
            legal = state.legal_actions() if player >= 0 else ()
            if state.is_public(action):
                events.append((Event(player, action), own, tuple(legal)))
            state = state.child(action)
        return events

    walk(game.new_initial_state(), (), 1.0)
    return out


@pytest.mark.parametrize(
    ("name", "seat"), [("kuhn", 0), ("kuhn", 1), ("coin-toss", 0), ("leduc-ranks", 1)]
)
def test_a_recorded_strategy_is_enough(name: str, seat: int) -> None:
    """The opponent is a stranger, the values are wrong, and the mean is exact."""
    game = sg.games.load(name)
    tree = sg.compile(game)
    ours, theirs = sg.solve(tree, iterations=50).strategy, sg.Strategy.random(tree, 1)
    hands = every_recorded(game, ours, theirs, seat)
    for values in (ours, sg.Strategy.random(tree, 2)):  # good ones, and wrong ones
        aivat = Aivat(tree, Always("call"), values)  # it is not asked
        exact = sum(p * payoff for _, p, payoff, _ in hands)
        mean = sum(p * aivat.of_path(path, seat, kept) for path, p, _, kept in hands)
        assert sum(p for _, p, _, _ in hands) == pytest.approx(1, abs=1e-12)
        assert mean == pytest.approx(exact, abs=1e-12)


def test_where_nothing_was_recorded_the_cards_count() -> None:
    game = sg.games.load("kuhn")
    tree = sg.compile(game)
    ours, theirs = sg.Strategy.random(tree, 3), sg.Strategy.random(tree, 1)
    hands = every_recorded(game, ours, theirs, 0)
    exact = sum(p * payoff for _, p, payoff, _ in hands)
    aivat = Aivat(tree, Always("call"), ours)
    for kept in (0, 1):
        mean = sum(p * aivat.of_path(path, 0, all_[:kept]) for path, p, _, all_ in hands)
        assert mean == pytest.approx(exact, abs=1e-12)


def test_deals_that_are_drawn_are_as_likely_as_they_are() -> None:
    """The luck of a deal is taken out by other deals of the same distribution."""
    game = sg.holdem.nlfh(ranks="789", suits="cds")
    deck, s = game.deck, game.deck.parse_hand("9s9c")
    held = np.random.default_rng(1).random(deck.num_hands)
    here = start_of(game).with_reach((np.ones(deck.num_hands), held)).after("c").after("c")
    assert isinstance(here, ReachedRanges)
    shares, random = here.outcomes(0, s), Random(1)
    drawn = Counter(here.sampled_deal(0, s, random) for _ in range(4000))
    assert set(drawn) <= set(shares)
    squares = sum((drawn[name] - 4000 * p) ** 2 / (4000 * p) for name, p in shares.items())
    assert squares < len(shares) + 4 * math.sqrt(2 * len(shares))  # chi-squared, 4 deviations


def test_the_mean_of_a_showdown() -> None:
    """All boards by brute force, and drawn ones within four standard errors."""
    game = sg.holdem.hunl()
    deck, random = game.deck, Random(2)
    s = deck.parse_hand("9s9c")
    held = np.random.default_rng(1).random(deck.num_hands) ** 4
    start = start_of(game).with_reach((np.ones(deck.num_hands), held))
    before = start.after("r20000").after("c")
    flop = before.after("7c8dTh")
    assert isinstance(before, ReachedRanges)
    assert isinstance(flop, ReachedRanges)
    exact, mean = 0.0, flop.mean_showdown(0, s, random)
    left = [card for card in range(52) if card not in {*flop.board, *deck.hands[s].tolist()}]
    total = 0.0
    for dealt in itertools.combinations(left, 2):
        whole = (*flop.board, *dealt)
        rank = rank_hands(whole, deck)
        fits = held * deck.disjoint[s] * deck.compatible(whole)
        exact += float(fits @ np.sign(rank[s].astype(int) - rank)) * 20000
        total += float(fits.sum())
    assert mean == pytest.approx(exact / total, rel=1e-6)
    several = [before.mean_showdown(0, s, random) for _ in range(20)]
    many = [flop_mean(before, s, random) for _ in range(400)]
    error = np.std(several) / math.sqrt(20) + np.std(many) / math.sqrt(400)
    assert abs(np.mean(several) - np.mean(many)) < 4 * error


def flop_mean(before: ReachedRanges, s: int, random: Random) -> float:
    """What is won after one flop that is drawn, on one turn and river that are drawn."""
    flop = before.after(before.sampled_deal(0, s, random))
    river = flop.after(flop.sampled_deal(0, s, random))
    river = river.after(river.sampled_deal(0, s, random))
    return river.mean_showdown(0, s, random)
