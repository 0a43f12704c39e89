"""A real hand in the betting of a smaller game: by hand, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from subgame.blueprints.follow import (
    DETERMINISTIC,
    AbstractDecision,
    FollowedBetting,
    factor,
)
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.games.holdem.translation import likelihood, mapping, merged

SIZES = BetSizes.parse("all: 1x / cap 1")
START = NoLimit((2000, 2000)).start()
SPREAD = mapping("pseudo-harmonic")


def menu(betting: Betting) -> tuple[str, ...]:
    return betting.actions(SIZES)


def followed(line: str) -> FollowedBetting:
    """A line, each bet taken for the most probable one."""
    hand = FollowedBetting(START, START)
    for action in START.play(line).history:
        hand = hand if action == "/" else hand.after(action, menu, DETERMINISTIC)
    return hand


def test_a_bet_between_two_sizes_is_taken_for_both() -> None:
    """A raise of half the pot lies between a call and the pot: f = (1 - 0.5) / (1 + 0.5)."""
    branches = FollowedBetting(START, START).branches("r200", menu, SPREAD)
    shares = {str(branch.abstract): share for branch, share in branches.items()}
    assert shares == pytest.approx({"c": 1 / 3, "r300": 2 / 3})
    assert {str(branch.real) for branch in branches} == {"r200"}


def test_several_bets_multiply_their_shares() -> None:
    """Both bets are half the pot. Taken for a check, the first one would end the round."""
    leaf = START.play("c r200 c / r200 c")
    standing = FollowedBetting(START, START).standing_for(leaf, menu, SPREAD)
    shares = {str(betting): share for betting, share in standing.items()}
    assert shares == pytest.approx({"cr300c/cc/": 2 / 9, "cr300c/r600c/": 4 / 9})


def test_a_hand_that_does_not_wait_stands_for_nothing() -> None:
    hand = followed("r300")
    assert hand.waiting == START.play("r300")
    capped = hand.after("r900", menu, DETERMINISTIC)  # the smaller game has no second raise
    assert str(capped.abstract) == "r300c/"
    assert capped.waiting is None  # really the small blind acts
    assert capped.branches("c", menu, SPREAD) == {}
    assert capped.after("c", menu, DETERMINISTIC) == (START.play("r300 r900 c"), None)


FLOP = START.play("c c")
DEEPER = BetSizes.parse("all: 1x / cap 3")


def deeper(betting: Betting) -> tuple[str, ...]:
    return betting.actions(DEEPER)


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        ("cc", "cc/cc/"),
        ("r200c", "cc/r200c/"),
        ("r250c", "cc/r200c/"),  # 2.5 pots behind instead of 3.2
        ("r800c", "cc/cr200r800c/"),  # 0.7 pots; not 3.2, which translation gives
        ("cr800c", "cc/r200r800c/"),  # the other player bet last
        ("r1900c", ""),  # all-in
    ],
)
def test_an_end_has_about_as_many_pots_behind(leaf: str, expected: str) -> None:
    real = FLOP.play(leaf)
    end = FollowedBetting(FLOP, FLOP).end_like(real, deeper, DETERMINISTIC)
    assert ("" if end is None else str(end)) == expected


def test_no_other_end_where_the_same_player_bet_last_is_more_alike() -> None:
    """Beside all ends of the smaller game, walked through action by action."""
    hand = FollowedBetting(FLOP, FLOP)
    ends, left = [], [FLOP]
    while left:
        here = left.pop()
        ends += [here] if here.street > FLOP.street else []
        left += [] if here.street > FLOP.street else [here.child(a) for a in deeper(here)]
    ends = [end for end in ends if not end.is_over]
    for first in range(100, 1800, 60):
        for line in (f"r{first} c", f"c r{first} c"):
            real = FLOP.play(line)
            end = hand.end_like(real, deeper, DETERMINISTIC)
            assert end is not None
            assert end.aggressor == real.aggressor
            same = [factor(other, real) for other in ends if other.aggressor == real.aggressor]
            assert factor(end, real) <= max(1.5, min(same))


def test_decisions_in_real_bets() -> None:
    """A pot-sized raise stays one in a larger pot; where nobody can raise it is a call."""
    here = AbstractDecision(START, ("f", "c", "r300"))
    larger = START.play("r200 r600")
    assert here.real_actions(larger) == ["f", "c", "r1800"]
    assert here.made_as(larger, "r1800") == [2]
    all_in = START.play("r2000")
    assert here.made_as(all_in, "c") == [1, 2]


def test_likelihoods_and_equal_actions() -> None:
    rows = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    assert likelihood(rows, {}) is None
    assert np.asarray(likelihood(rows, {0: 0.5, 1: 0.5})).tolist() == [0.375, 0.5]
    names, sums = merged(("c", "r300", "c"), rows)
    assert names == ("c", "r300")
    assert sums.tolist() == [[0.75, 0.25], [0.0, 1.0]]
