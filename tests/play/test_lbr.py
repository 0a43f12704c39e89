"""Local best response: known results, and never above the exact best response."""

from __future__ import annotations

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame import play
from subgame.games import holdem
from subgame.games.base import Game
from subgame.games.holdem.sizes import STREETS
from subgame.play import Agent, Always, StrategyAgent, Translated, match
from subgame.play.agent import Event
from subgame.play.lbr import LocalBestResponse
from subgame.play.match import mixed_seed
from subgame.play.named import known_strategy
from subgame.play.searching import NestedAgent
from subgame.refine.ranges.reached import showdown
from subgame.solve.evaluate import head_to_head


def won(game: Game, agent: Agent, setting: str) -> tuple[float, float]:
    """What LBR wins in each seat, exactly: it is a strategy like any other."""
    tree = sg.compile(game, merge="boards") if isinstance(game, holdem.Holdem) else sg.compile(game)
    lbr = known_strategy(tree, LocalBestResponse(game, agent, setting))
    played = known_strategy(tree, agent)
    assert lbr is not None
    assert played is not None
    exact, unit = head_to_head(tree, lbr, played), game.unit[1]
    return exact.per_seat[0] * unit, exact.per_seat[1] * unit


@pytest.mark.parametrize(("setting", "both"), [("fcpa", (500, 1000)), ("fc", (500, 0))])
def test_against_always_fold(setting: str, both: tuple[float, float]) -> None:
    """750 and 250 mbb/h, exactly: the paper's figures do not depend on the deck.

    The small blind is given up to LBR, 500. A bet on the button wins the big blind, 1,000; without
    bets nobody folds to LBR there, and the hand is checked down for nothing.
    """
    game = holdem.nlfh(ranks="789", suits="cds", bets="all: 1x a", stack=200)
    wins = won(game, Always("fold"), setting)
    assert wins == pytest.approx(both, abs=0.01)
    assert sum(wins) / 2 == pytest.approx(750 if setting == "fcpa" else 250, abs=0.01)


def test_the_button_of_a_whole_deck_never_folds_to_always_fold() -> None:
    """So that 250 mbb/h are won there too: even the worst hand wins a quarter of all showdowns."""
    game = holdem.hunl()
    hand = game.deck.parse_hand("3c2d")
    assert showdown(game.deck, (), 5, hand)[game.deck.disjoint[hand]].mean() > 0.25
    lbr = LocalBestResponse(game, Always("fold"), "fc")
    lbr.begin(1, 0)
    assert lbr.act("3c2d |  | ", ("f", "c")) == "c"


@pytest.mark.parametrize("name", ["leduc-ranks", "no-limit-leduc", "nlfh"])
@pytest.mark.parametrize("kind", ["uniform", "solved"])
def test_never_above_the_best_response(name: str, kind: str) -> None:
    small = holdem.nlfh(ranks="789", suits="cds", bets="all: 1x a", stack=300)
    game = small if name == "nlfh" else sg.games.load(name)
    tree = sg.compile(game, merge="boards") if name == "nlfh" else sg.compile(game)
    strategy = sg.Strategy.uniform(tree)
    if kind == "solved":
        strategy = sg.solve(tree, iterations=5).strategy
    exact = [lost * game.unit[1] for lost in sg.exploitability(tree, strategy).per_seat]
    wins = won(game, StrategyAgent(strategy), "fcpa")
    for seat in (0, 1):  # exploitability counts the seat of the strategy, LBR its own
        assert wins[seat] <= exact[1 - seat] + 1e-4 * game.unit[1]
    if kind == "uniform":
        assert sum(wins) > 0.5 * sum(exact)


def test_the_formulas_of_the_paper() -> None:
    """U(call) and U(bet) by pot, price, wp and fp, against the range that Bayes' rule leaves."""
    game = holdem.endgame("QsJhThKs", 4, 6, bets="all: 1x a", deck=GAMES["turn"].deck)
    tree = sg.compile(game, merge=False)
    agent, deck = StrategyAgent(sg.Strategy.random(tree, 1)), game.deck
    lbr = LocalBestResponse(game, agent)
    lbr.begin(1, 0)
    lbr.observe(Event(0, "r4"))
    hand, board = deck.parse_hand("QhJs"), game.board
    agent.begin(0, 0)
    held = np.flatnonzero(game.weights()[0] * deck.disjoint[hand])
    names = [game.infoset_name(int(other), board, game.start()) for other in held]
    first = agent.policy(names, ())
    weight = game.weights()[0][held] * first.probabilities[:, first.actions.index("r4")]
    raised = game.start().play("r4 r6")
    names = [game.infoset_name(int(other), board, raised) for other in held]
    folds = agent.policy(names, ()).probabilities[:, 0]
    equity = showdown(deck, board, 5, hand)[held]
    wp, fp = weight @ equity / weight.sum(), weight @ folds / weight.sum()
    kept = weight * (1 - folds)
    wp2 = kept @ equity / kept.sum()
    pot, asked, more = 8, 4, 2
    against = lbr.reached.reach[0] * lbr.reached.fitting(1, hand)
    call, bet, fold = (lbr._value(action, hand, against) for action in ("c", "r6", "f"))
    assert fold == -2
    assert call - fold == pytest.approx(wp * pot - (1 - wp) * asked, abs=1e-6)
    caught = wp2 * (pot + more) - (1 - wp2) * (asked + more)
    assert bet - fold == pytest.approx(fp * pot + (1 - fp) * caught, abs=1e-6)


def test_a_search_agent_is_measured() -> None:
    """LBR follows the strategy that the agent solves as it plays."""
    game = sg.games.load("leduc-ranks")
    tree = sg.compile(game)
    agent = NestedAgent(sg.Strategy.uniform(tree), iterations=20, seconds=None)
    blueprint = StrategyAgent(agent.blueprint)
    played = known_strategy(tree, agent)
    assert played is not None
    wins = sum(won(game, agent, "fcpa"))
    assert wins <= 2 * sg.exploitability(tree, played).mean + 1e-6
    assert wins < sum(won(game, blueprint, "fcpa"))
    lbr = LocalBestResponse(game, agent, "fcpa")
    assert match(game, [lbr, agent], hands=4, seed=2).hands == 4


def test_against_translation() -> None:
    """Bets that the opponent's game lacks are answered through its translation."""
    small, large = (
        holdem.nlfh(ranks="6789", suits="cds", bets=bets, stack=400)
        for bets in ("all: 1x / cap 1", "all: 0.5x 1x a / cap 2")
    )
    strategy = sg.Strategy.uniform(sg.compile(small, merge="boards"))
    agent = Translated(strategy, small, large)
    result = match(large, [LocalBestResponse(large, agent, "fcpa"), agent], hands=150, seed=2)
    assert result.result.mean > 0


def test_showdown_by_brute_force() -> None:
    deck = holdem.nlfh(ranks="6789").deck
    board, hand = deck.parse("9s 7d 6s"), deck.parse_hand("9d8d")
    equity = showdown(deck, board, 5, hand)
    opponent = deck.parse_hand("7c6c")
    total = won = 0.0
    taken = {*board, *deck.hands[hand].tolist(), *deck.hands[opponent].tolist()}
    for a in range(deck.size):
        for b in range(a):
            if not taken & {a, b}:
                ranks = holdem.evaluate.rank_hands((*board, a, b), deck)
                won += (ranks[hand] > ranks[opponent]) + 0.5 * (ranks[hand] == ranks[opponent])
                total += 1
    assert equity[opponent] == pytest.approx(won / total)


def test_settings_of_2018() -> None:
    """The first action is a bet of 3/4 of the pot; later bets are on the flop or nowhere."""
    game = holdem.nlfh()
    call = Always("call")
    for setting, later in (("2018-turn", 0), ("2018-flop", 1)):
        lbr = LocalBestResponse(game, call, setting)
        raised = 0
        for k in range(0, 12, 2):  # LBR in seat 0, the big blind
            hand = play.play_hand(game, (lbr, call), k, seed=mixed_seed(5))
            own = [action for player, action in hand.moves if player == 0]
            assert own[0] == "r250" or own == ["f"]
            raised += any(action[0] == "r" for action in own[1:])
        assert (raised > 0) == later


@pytest.mark.parametrize("street", [0, 1])
def test_bets_on_one_street_alone(street: int) -> None:
    game, call = holdem.nlfh(), Always("call")
    lbr = LocalBestResponse(game, call, f"fcpa-{STREETS[street]}")
    bets = set()
    for k in range(0, 24, 2):  # LBR in seat 0
        hand, betting = play.play_hand(game, (lbr, call), k, seed=mixed_seed(5)), game.start()
        for player, action in hand.moves:
            if player == 0 and action[0] == "r":
                bets.add(betting.street)
            betting = betting if player < 0 else betting.child(action)
    assert bets == {street}


def test_bad_input() -> None:
    with pytest.raises(sg.SubgameError, match="needs a game with bet sizes"):
        LocalBestResponse(sg.games.load("leduc"), Always("call"), "2018-turn")
    with pytest.raises(sg.SubgameError, match="does not say which moves"):
        LocalBestResponse(sg.games.load("goofspiel(cards=3)"), Always("call"))
    with pytest.raises(sg.SubgameError, match="fcpa"):
        LocalBestResponse(holdem.nlfh(), Always("call"), "fcpb")


def test_all_hands_at_once_as_one_by_one() -> None:
    """On every board that may follow both look at all of them, and choose the same."""
    game = holdem.nlfh(ranks="789A", suits="cds", bets="all: 1x a", stack=400)
    tree = sg.compile(game, merge="boards")
    agent = StrategyAgent(sg.Strategy.random(tree, 3))
    lbr = LocalBestResponse(game, agent, "fcpa")
    lbr.begin(0, 0)
    for player, action in ((1, "c"), (0, "c"), (-1, "7c8d9s")):
        lbr.observe(Event(player, action))
    names = lbr.reached.names(0)
    held = [names[s] for s in np.flatnonzero(lbr.reached.weight(0)).tolist()]
    policy = lbr.policy(held, ())
    assert len(policy.actions) > 1
    for name, row in zip(held, policy.probabilities, strict=True):
        assert lbr.policy([name], ()).actions == (policy.actions[int(row.argmax())],)
