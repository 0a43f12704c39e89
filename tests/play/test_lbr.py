"""Local best response: known results, and never above the exact best response."""

from __future__ import annotations

from random import Random

import pytest

import subgame as sg
from subgame.games import holdem
from subgame.play import Always, StrategyAgent, Translated, match
from subgame.play.lbr import SETTINGS, LocalBestResponse, showdown
from subgame.play.match import mixed_seed


def test_against_always_fold() -> None:
    """750 mbb/h: a bet on the button wins the big blind, 1,000; the small blind is given up, 500.

    Without bets nobody folds to LBR on the button, where the hand is checked down: 250 in all.
    """
    game, fold = holdem.nlfh(), Always("fold")
    bets = match(game, [LocalBestResponse(game, fold, "fcpa"), fold], hands=20)
    assert bets.result.mean == pytest.approx(750)
    calls = match(game, [LocalBestResponse(game, fold, "fc"), fold], hands=100, seed=1)
    assert calls.per_seat[0].mean == pytest.approx(500)
    assert abs(calls.per_seat[1].mean) < 2.04 * calls.per_seat[1].interval95
    assert abs(calls.result.mean - 250) < 2.04 * calls.result.interval95


def test_never_above_the_best_response() -> None:
    bets = "all: 1x a"
    game = holdem.nlfh(ranks="6789", suits="cds", bets=bets, stack=400)
    tree = sg.compile(game, merge="boards")
    strategy = sg.Strategy.uniform(tree)
    agent = StrategyAgent(strategy)
    exact = sg.exploitability(tree, strategy).mean * game.unit[1]
    lbr = LocalBestResponse(game, agent, "fcpa")
    found = match(game, [lbr, agent], hands=500, seed=2)
    assert found.result.mean - found.result.interval95 > 0
    assert found.result.mean < exact


def test_against_translation() -> None:
    """Bets that the opponent's game lacks are answered through its translation."""
    small, large = (
        holdem.nlfh(ranks="6789", suits="cds", bets=bets, stack=400)
        for bets in ("all: 1x / cap 1", "all: 0.5x 1x a / cap 2")
    )
    strategy = sg.Strategy.uniform(sg.compile(small, merge="boards"))
    agent = Translated(strategy, small, large)
    found = match(large, [LocalBestResponse(large, agent, "fcpa"), agent], hands=400, seed=2)
    assert found.result.mean > 0


def test_showdown_by_brute_force() -> None:
    deck = holdem.nlfh(ranks="6789").deck
    board, hand = deck.parse("9s 7d 6s"), deck.parse_hand("9d8d")
    found = showdown(deck, board, 5, hand, Random(1))
    opponent = deck.parse_hand("7c6c")
    total = won = 0.0
    taken = {*board, *deck.hands[hand].tolist(), *deck.hands[opponent].tolist()}
    for a in range(deck.size):
        for b in range(a):
            if not taken & {a, b}:
                ranks = holdem.evaluate.rank_hands((*board, a, b), deck)
                won += (ranks[hand] > ranks[opponent]) + 0.5 * (ranks[hand] == ranks[opponent])
                total += 1
    assert found[opponent] == pytest.approx(won / total)


def test_settings_of_2018() -> None:
    """The first action is a bet of 3/4 of the pot; later bets are on the flop or nowhere."""
    game = holdem.nlfh()
    call = Always("call")
    for setting, later in (("2018-turn", 0), ("2018-flop", 1)):
        lbr = LocalBestResponse(game, call, setting)
        raised = 0
        for k in range(0, 12, 2):  # LBR in seat 0, the big blind
            hand = sg.play.play_hand(game, (lbr, call), k, seed=mixed_seed(5))
            own = [action for player, action in hand.moves if player == 0]
            assert own[0] == "r250" or own == ["f"]
            raised += any(action[0] == "r" for action in own[1:])
        assert (raised > 0) == later
    assert set(SETTINGS) == {"fc", "fcpa", "56", "2018-flop", "2018-turn"}


def test_bad_input() -> None:
    with pytest.raises(sg.SubgameError, match="plays hold'em"):
        LocalBestResponse(sg.games.load("leduc"), Always("call"))
    with pytest.raises(sg.SubgameError, match="fcpa"):
        LocalBestResponse(holdem.nlfh(), Always("call"), "fcpb")
