"""The betting rules: known hands, and step by step against PokerKit."""

from __future__ import annotations

import random

import pytest

from pokerkit_hands import act, random_rules, their_state
from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.rules import NOBODY, Betting, NoLimit

SMALL = NoLimit(stacks=(1000, 1000), blinds=(5, 10))


def test_the_blinds() -> None:
    hand = SMALL.start()
    assert (hand.bets, hand.behind, hand.player, hand.to_call) == ((10, 5), (990, 995), 1, 5)
    assert (hand.least_raise, hand.most_raise) == (20, 1000)


def test_the_big_blind_has_an_option() -> None:
    limped = SMALL.start().play("c")
    assert (limped.player, limped.to_call, limped.least_raise) == (0, 0, 20)
    assert limped.child("c").street == 1
    assert limped.child("c").player == 0
    raised = limped.child("r30")
    assert (raised.player, raised.to_call) == (1, 20)
    assert raised.child("c").street == 1


def test_a_whole_hand() -> None:
    hand = SMALL.start().play("r30 c / c r40 c / c c / r100 r200 c")
    assert hand.is_showdown
    assert str(hand) == "r30c/cr40c/cc/r100r200c"
    assert (hand.at_stake, hand.pot) == (270, 540)
    assert (hand.net(0), hand.net(1), hand.net(NOBODY)) == ((270, -270), (-270, 270), (0, 0))


def test_least_raises() -> None:
    hand = SMALL.start().play("r30")
    assert hand.least_raise == 50
    assert hand.child("r100").least_raise == 170
    flop = hand.child("c")
    assert flop.least_raise == 10
    assert flop.child("r40").least_raise == 80


def test_all_in_calls_and_uncalled_chips() -> None:
    short = NoLimit(stacks=(300, 1000), blinds=(5, 10))
    hand = short.start().play("r1000")
    assert (hand.to_call, hand.least_raise) == (290, None)
    called = hand.child("c")
    assert called.is_showdown
    assert (called.pot, called.at_stake, called.street) == (1300, 300, 0)
    folded = hand.child("f")
    assert folded.net() == (-10, 10)
    # a call for less than the bet leaves nothing to bet
    assert SMALL.start().play("r1000 c").is_showdown
    # all-in for less than a full raise is a raise all the same
    less = short.start().play("r200")
    assert (less.least_raise, less.most_raise) == (300, 300)
    after = less.child("r300")
    assert (after.to_call, after.least_raise) == (100, None)


@pytest.mark.parametrize(
    ("stacks", "bets", "over"),
    [
        ((7, 1000), (7, 5), False),  # the big blind is all-in: call two more, or fold
        ((4, 1000), (4, 5), True),
        ((5, 1000), (5, 5), True),
        ((1000, 3), (10, 3), True),
        ((1000, 5), (10, 5), True),
        ((1000, 6), (10, 5), False),
    ],
)
def test_short_blinds(stacks: tuple[int, int], bets: tuple[int, int], over: bool) -> None:
    hand = NoLimit(stacks, blinds=(5, 10)).start()
    assert (hand.bets, hand.is_over) == (bets, over)
    if not over:
        assert hand.least_raise is None
        assert hand.child("c").is_showdown
        assert hand.child("c").at_stake == min(stacks)


def test_later_streets() -> None:
    turn = NoLimit(stacks=(900, 900), blinds=(5, 10), street="turn", pot=200).start()
    assert (turn.player, turn.pot, turn.behind, turn.least_raise) == (0, 200, (900, 900), 10)
    assert turn.play("r100 f").net() == (100, -100)
    assert turn.play("r900 c").net(1) == (-1000, 1000)
    river = turn.play("cc")
    assert (river.street, river.pot, river.behind) == (3, 200, (900, 900))
    assert river.play("cc").is_showdown
    assert NoLimit((0, 900), street="river", pot=200).start().is_showdown


def count(hand: Betting, sizes: BetSizes) -> tuple[int, int]:
    if hand.is_over:
        return 0, 1
    below = [count(hand.child(action), sizes) for action in hand.actions(sizes)]
    return 1 + sum(nodes for nodes, _ in below), sum(ends for _, ends in below)


def test_a_tree_of_abstract_bets() -> None:
    river = NoLimit((200, 200), blinds=(5, 10), street="river", pot=200).start()
    # check, or all-in; each followed by the like; fold or call against all-in
    assert count(river, BetSizes.parse("river: a")) == (4, 5)
    assert count(river, BetSizes.parse("all: none")) == (2, 1)
    assert river.play("r200").actions(BetSizes.parse("river: a")) == ("f", "c")
    for action in SMALL.start().actions(BetSizes.parse("preflop: 2r 0.5x 1x 33 a")):
        SMALL.start().child(action)


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        ("r15", "between 20 and 1000"),
        ("r1001", "between 20 and 1000"),
        ("x", "no action 'x'"),
        ("r", "no action 'r'"),
        ("c c f", "no bet to fold"),
        ("f c", "is over"),
        ("r1000 r1000", "Nobody can raise"),
    ],
)
def test_illegal_actions(actions: str, says: str) -> None:
    with pytest.raises(SubgameError, match=says):
        SMALL.start().play(actions)


def test_impossible_hands() -> None:
    for wrong in (
        {"street": "showdown"},
        {"stacks": (0, 10)},
        {"blinds": (10, 5)},
        {"pot": 10},
        {"street": "flop"},
        {"street": "flop", "pot": -10},
        {"street": "flop", "pot": 10, "rake": 1.0},
        {"street": "flop", "pot": 10, "rake": 0.05, "rake_cap": -1.0},
    ):
        with pytest.raises(SubgameError):
            NoLimit(**wrong)
    with pytest.raises(SubgameError, match="not over"):
        SMALL.start().net()
    with pytest.raises(SubgameError, match="must be player 0 or 1"):
        SMALL.start().play("r1000 c").net()
    with pytest.raises(SubgameError, match="is over"):
        SMALL.start().play("f").child("c")


def test_in_lockstep_with_pokerkit() -> None:
    pokerkit = pytest.importorskip("pokerkit")
    rng = random.Random(11)
    lengths = []
    for _ in range(250):
        rules = random_rules(rng)
        mine, theirs = rules.start(), their_state(pokerkit, rules)
        while not mine.is_over:
            mine = mine.child(act(mine, theirs, rng))
        assert not theirs.status
        won = theirs.payoffs[0]
        winner = NOBODY if won == 0 else int(won < 0)
        assert mine.net(winner) == tuple(theirs.payoffs)
        lengths.append(len(mine.history))
    assert max(lengths) > 8
