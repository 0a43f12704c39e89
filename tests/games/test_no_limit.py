"""No-limit Kuhn and Leduc: they keep the rules of games, of poker, and of one another."""

from __future__ import annotations

import pytest

import subgame as sg
from subgame.games import conformance, load
from subgame.games.base import CHANCE, TERMINAL
from subgame.games.holdem.rules import Bet
from subgame.games.no_limit import NoLimitState

NAMES = [
    "no-limit-kuhn",
    "no-limit-kuhn(stack=2)",
    "no-limit-kuhn(stack=7, bets=all)",
    "no-limit-kuhn(stack=15, ante=5, bets=all, replies=none)",
    "no-limit-leduc",
    "no-limit-leduc(stack=4, bets=all)",
    "no-limit-leduc(stack=12, bets=0.5x 1x a / cap 2, replies=a)",
]


def after(name: str, *moves: str) -> NoLimitState:
    state = load(name).new_initial_state()
    for move in moves:
        state = state.child(move)
    assert isinstance(state, NoLimitState)
    return state


@pytest.mark.parametrize("name", NAMES)
def test_conforms(name: str) -> None:
    conformance.check(load(name))


def test_limit_kuhn_is_a_case_of_it() -> None:
    """With one chip behind, bets of one chip are all there is: Kuhn's game and its value."""
    assert sg.solve_lp(sg.compile(load("no-limit-kuhn", stack=2))).value == pytest.approx(-1 / 18)


def test_sizes_and_payoffs() -> None:
    root = after("no-limit-leduc(stack=12)", "K", "J")
    assert root.legal_actions() == ("c", "r2", "r11")
    bet = root.child("r2")
    assert bet.legal_actions() == ("f", "c", "r8", "r11")  # 2 to call makes a pot of 6
    assert [bet.bet(a) for a in bet.legal_actions()] == [
        None,
        Bet(0.0),
        Bet(1.0),
        Bet(1.5, all_in=True),
    ]
    assert bet.child("f").returns() == (1.0, -1.0)
    board = bet.child("c")
    assert board.current_player() == CHANCE
    assert dict(board.chance_outcomes()) == {"J": 0.25, "Q": 0.5, "K": 0.25}
    over = board.child("J").child("c").child("c")
    assert over.current_player() == TERMINAL
    assert over.returns() == (-3.0, 3.0)  # a pair of jacks
    tie = after("no-limit-leduc", "Q", "Q", "c", "c", "K", "c", "c")
    assert tie.returns() == (0.0, 0.0)


def test_every_size_and_the_least_raise() -> None:
    root = after("no-limit-kuhn(stack=8, bets=all)", "K", "J")
    assert root.legal_actions() == ("c", *(f"r{chips}" for chips in range(1, 8)))
    assert root.child("r3").legal_actions() == ("f", "c", "r6", "r7")  # by three at least
    assert root.child("r5").legal_actions() == ("f", "c", "r7")  # all-in for less
    assert root.child("r7").legal_actions() == ("f", "c")


def test_an_all_in_call_deals_the_board_out() -> None:
    called = after("no-limit-leduc", "K", "J", "r5", "c")
    assert called.current_player() == CHANCE
    assert called.child("Q").returns() == (6.0, -6.0)


def test_a_smaller_game_takes_bets_it_does_not_list() -> None:
    small = after("no-limit-leduc(stack=12)", "K", "J", "r3")
    large = after("no-limit-leduc(stack=12, bets=all)", "K", "J", "r3")
    assert small.legal_actions() == ("f", "c", "r11")
    assert set(small.legal_actions()) < set(large.legal_actions())
    assert small.information_state(1) == large.information_state(1) == "J:r3"


@pytest.mark.parametrize(
    ("moves", "sentence"),
    [
        (("r11", "r12"), "Nobody can raise after 'r11': one of the players has no chips left"),
        (("r4", "r6"), "After 'r4' a raise must be to a total between 8 and 11 chips, not to 6"),
        (("r12",), "between 1 and 11 chips, not to 12"),
        (("f",), "There is no bet to fold to"),
        (("call",), "There is no action 'call'"),
    ],
)
def test_illegal_actions_are_refused_in_a_sentence(moves: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(sg.SubgameError, match=sentence):
        after("no-limit-leduc(stack=12)", "K", "J", *moves)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no-limit-kuhn(stack=1)", "a stack of 1 and an ante of 1 leave none"),
        ("no-limit-leduc(ante=0)", "an ante of 0"),
        ("no-limit-leduc(bets=half)", "a size is a share of the pot"),
        ("no-limit-leduc(bets=flop: 1x)", "the same in every round"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(sg.SubgameError, match=sentence):
        load(name)


def test_player_one_may_consider_other_sizes() -> None:
    name = "no-limit-leduc(stack=12, bets=0.5x a, replies=none)"
    root = after(name, "K", "J")
    assert root.legal_actions() == ("c", "r1", "r11")
    assert root.child("r1").legal_actions() == ("f", "c")
    assert root.child("c").legal_actions() == ("c",)


def test_frontiers() -> None:
    tree = sg.compile(load("no-limit-leduc"))
    assert len(sg.cut(tree, "after round 1")) > 3
    assert len(sg.cut(tree, "after the board card")) > 9
