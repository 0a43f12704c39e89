"""Amounts of chips, converted between our names, ACPC, Slumbot and PHH."""

from __future__ import annotations

import random

import pytest

from pokerkit_hands import random_rules
from subgame.errors import SubgameError
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.play.protocols.notation import ACPC, PHH, SLUMBOT, nearest_legal

NOTATIONS = (ACPC, SLUMBOT, PHH)


def random_action(betting: Betting, rng: random.Random) -> str:
    choices = ["c", "c", "f" if betting.to_call else "c"]
    if betting.least_raise is not None and betting.most_raise is not None:
        least, most = int(betting.least_raise), int(betting.most_raise)
        choices += [f"r{least}", f"r{rng.randint(least, most)}", f"r{rng.randint(least, most)}"]
    return rng.choice(choices)


def play_random(rules: NoLimit, rng: random.Random) -> None:
    """A random hand, action by action; chips are counted apart from the rules."""
    state = rules.start()
    hand = [
        int(min(chips, blind))
        for chips, blind in zip(rules.stacks, rules.blinds[::-1], strict=True)
    ]
    before, street = [0, 0], 0  # chips of earlier streets
    while not state.is_over:
        if state.street != street:
            before, street = list(hand), state.street
        player, action = state.player, random_action(state, rng)
        if action == "c":
            hand[player] = int(min(max(hand), rules.stacks[player]))
        elif action != "f":
            hand[player] = before[player] + int(action[1:])
            assert ACPC.write(state, action) == f"r{hand[player]}"
            assert SLUMBOT.write(state, action) == f"b{hand[player] - before[player]}"
            assert PHH.write(state, action) == f"cbr {hand[player] - before[player]}"
        for notation in NOTATIONS:
            assert notation.read(state, notation.write(state, action)) == action
        state = state.child(action)
    for notation in (ACPC, SLUMBOT):
        line = notation.line(state)
        assert notation.read_line(rules, line) == state
        assert line.count("/") == (rules.last_street if state.is_showdown else state.street)


@pytest.mark.parametrize("hands", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_every_amount_comes_back(hands: int) -> None:
    rng = random.Random(5)
    for k in range(hands):
        rules = random_rules(rng) if k % 2 else NoLimit()
        play_random(rules, rng)


def test_lines_of_the_published_protocols() -> None:
    """The example of the ACPC's protocol document, and that of Slumbot's API."""
    betting = ACPC.read_line(NoLimit(), "r300r900c/r1800r3600r9000c/r20000c/")
    assert str(betting) == "r300r900c/r900r2700r8100c/r11000c"
    assert betting.is_showdown
    assert ACPC.line(betting) == "r300r900c/r1800r3600r9000c/r20000c/"
    for line, ours in {
        "b200c/kk/kk/kb200": "r200c/cc/cc/cr200",
        "b20000c///": "r20000c",
        "cb300c/kk/kb300c/kb1200c": "cr300c/cc/cr300c/cr1200c",
    }.items():
        betting = SLUMBOT.read_line(NoLimit(), line)
        assert str(betting) == ours
        assert SLUMBOT.line(betting) == line


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("r300x", "not an action"),
        ("r300c", "is on street 1"),
        ("r300c/c/", "is on street 3"),
        ("r300c//", "is on street 3"),
        ("cc/cc/cc/cc/", "more streets"),
        ("r300cc/", "the street ends before 'c'"),
        ("fc", "the street ends before 'c'"),
        ("r150", "between 200 and 20000"),
        ("r99999999999999999999", "not an action"),
        ("cc/f", "no bet to fold to"),
        ("cc/r50", "In the line 'cc/r50', at 'r50'"),
    ],
)
def test_bad_lines(line: str, says: str) -> None:
    with pytest.raises(SubgameError, match=says):
        ACPC.read_line(NoLimit(), line)


def test_a_check_is_not_a_call_for_slumbot() -> None:
    start = NoLimit().start()
    with pytest.raises(SubgameError, match="'k' is a check"):
        SLUMBOT.read(start, "k")
    with pytest.raises(SubgameError, match="'c' is a call"):
        SLUMBOT.read(start.child("c"), "c")


def test_illegal_actions_become_what_the_dealer_of_the_acpc_makes_of_them() -> None:
    facing = NoLimit().start().play("r20000")
    assert nearest_legal(facing, "r20000") == "c"  # nobody can raise
    free = NoLimit().start().play("c")
    assert nearest_legal(free, "f") == "c"
    assert nearest_legal(free, "r-50") == "r200"
