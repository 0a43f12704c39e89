"""Betting trees as players build them: sizes by player, donk bets, thresholds, lines, fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import subgame as sg
from holdem_games import acting
from subgame.errors import SubgameError
from subgame.games.holdem import BetSizes, Deck, Holdem, endgame
from subgame.games.holdem.rules import Betting, amounts
from subgame.games.holdem.sizes import PartChips
from subgame.tree.ranges.betting_tree import grow

FLOP = "Qs Jh 2h"
RIVER = "Qs Jh 2h 8d 3c"
DECK = Deck("89TJQK", "cdh")
AT_100 = acting("flop", 100, 0, (400, 400), 1)


def bets_at(game: Holdem, line: str = "") -> tuple[str, ...]:
    """The bets and raises after a line."""
    return tuple(a for a in game.actions(game.start().play(line)) if a[0] == "r")


def test_each_player_has_sizes_of_their_own() -> None:
    game = endgame(RIVER, 100, 1000, bets="oop: 33% / raise a; ip river: 0.75x 150% / raise 3r")
    assert bets_at(game) == ("r33",)
    assert bets_at(game, "c") == ("r75", "r150")
    assert bets_at(game, "r33") == ("r99",)
    assert bets_at(game, "c r75") == ("r1000",)


def test_fewer_streets_and_players_override_more() -> None:
    sizes = BetSizes.parse("1x; oop: 2x; turn: 3x; oop turn: 4x", "postflop")
    firsts = [[str(sizes.street(s, p).bets[0]) for s in ("flop", "turn", "river")] for p in (0, 1)]
    assert firsts == [["2x", "4x", "2x"], ["1x", "3x", "1x"]]


def test_a_donk_bet_is_a_bet_into_the_last_aggressor() -> None:
    game = endgame(FLOP, 100, 1000, bets="50% / raise 1x; turn: 75% / donk 25%; river: 1x")
    assert bets_at(game, "c r50 c /") == ("r50",)  # 25 % of 200, into the aggressor
    assert bets_at(game, "r50 c /") == ("r150",)  # the last aggressor bets on
    assert bets_at(game, "c c /") == ("r75",)  # nobody has bet
    assert bets_at(game, "r50 r250 c /") == ("r150",)  # 25 % of 600: the button raised
    assert bets_at(game, "c r50 c / c") == ("r150",)  # in position: an ordinary bet
    none = endgame(FLOP, 100, 1000, bets="50%; turn: 75% / donk none")
    assert bets_at(none, "c r50 c /") == ()
    assert bets_at(endgame(FLOP, 100, 1000, bets="50%"), "c r50 c /") == ("r100",)  # as the bets


@pytest.mark.parametrize(
    ("text", "situation", "totals"),
    [
        # 1 + 2 * 400 / 100 is 9: two bets multiply the pot by 3 each, so the first is the pot
        ("flop: 2e", AT_100, (100,)),
        ("flop: 1e", AT_100, (400,)),
        ("flop: e", acting("flop", 100, 0, (400, 400), 1, last="turn"), (100,)),
        (
            "flop: e",
            acting("flop", 100, 0, (400, 400), 1, last="river"),
            (54,),
        ),  # (9^(1/3) - 1) / 2 = 0.540
        ("flop: 2e80% 2e0.5x", AT_100, (50, 80)),
        # against a bet of 100: the pot is 300 once called, 300 are left: (3^(1/2) - 1) / 2 * 300
        (
            "flop: none / raise 2e",
            acting("flop", 200, 100, (400, 300), 1, last_raise=100, raises=1),
            (210,),
        ),
        # a bet of 300 leaves 100 behind in a pot of 700, 14 %; one of 250 leaves 25 %
        ("flop: 2.5x 3x; force-all-in 15%", AT_100, (250, 400)),
        ("flop: 2.5x 3x; force-all-in 0.14", AT_100, (250, 300)),
        ("flop: 0.5x; add-all-in 4", AT_100, (50, 400)),
        ("flop: 0.5x; add-all-in 399%", AT_100, (50,)),
        # 1.75 / 1.66 is below 1.1, 1.66 / 1.5 is not, and 1.5 / 1.45 is
        ("flop: 45% 50% 66% 75%; merge 10%", AT_100, (50, 75)),
        ("flop: 45% 50% 66% 75%; merge 0.05", AT_100, (50, 66, 75)),
        ("flop: 3.7x a; merge 0.1", AT_100, (400,)),
        ("flop: 33%; chip 0.5", AT_100, (33,)),
        ("flop: 33.3%; chip 0.5", AT_100, (PartChips(67, 2),)),
    ],
)
def test_sizes_in_chips(text: str, situation: Betting, totals: tuple[int, ...]) -> None:
    assert amounts(BetSizes.parse(text), situation) == totals


@pytest.mark.parametrize(
    "text",
    [
        "oop flop: 0.33x / donk none / raise 3r; ip flop: 1x; cap 3; all-in 0.67",
        "flop: e 2e1.5x; force-all-in 0.15; add-all-in 1.5; merge 0.1; chip 0.25",
        "river: 1x; add cr50r175; add r20; remove cr100",
    ],
)
def test_the_text_is_read_back(text: str) -> None:
    sizes = BetSizes.parse(text)
    assert str(sizes) == text
    assert BetSizes.parse(str(sizes)) == sizes


def test_lines_are_added_and_removed_one_by_one() -> None:
    bets = "river: 1x; add c r50 r175; add r20; remove c r100; remove r20 f"
    game = endgame(RIVER, 100, 1000, bets=bets)
    assert game.actions(game.start()) == ("c", "r20", "r100")
    assert game.actions(game.start().play("c")) == ("c", "r50")
    assert game.actions(game.start().play("c r50")) == ("f", "c", "r175", "r250")
    assert game.actions(game.start().play("r20")) == ("c", "r160")
    assert bets_at(game, "c r50 r175") == ("r625",)  # the sizes hold again
    ways = Counter(len(street.endings) for street in grow(game))
    assert ways == {len(set(_leaves(game))): 1}


def _leaves(game: Holdem) -> list[str]:
    out, stack = [], [game.start()]
    while stack:
        here = stack.pop()
        stack += [here.child(action) for action in game.actions(here)]
        out += [str(here)] if here.is_over else []
    return out


@pytest.mark.parametrize(
    ("bets", "message"),
    [
        ("1x; add c f", r"'cf' cannot be added: .*no bet to fold to"),
        ("1x; add r5000", r"cannot be added: .*between 1 and 1000"),
        ("1x; remove r50", r"after '' the tree has c, r100"),
        ("1x; remove r50 c", r"no such action"),
        ("none; remove c", r"no action would be left"),
    ],
)
def test_lines_that_cannot_be(bets: str, message: str) -> None:
    with pytest.raises(SubgameError, match=message):
        endgame(RIVER, 100, 1000, bets=bets)


def test_odd_pots_and_fractions_of_a_chip() -> None:
    game = endgame(RIVER, pot=6.5, stacks=(96.25, 40.5), bets="50% a", big_blind=0.5)
    assert game.actions(game.start()) == ("c", "r3.25", "r40.5")
    assert game.actions(game.start().play("r3.25")) == ("f", "c", "r9.75", "r40.5")
    state = game.start().play("r3.25 r9.75 c")
    assert (state.pot, state.at_stake) == (26, 13)
    assert state.net(0) == (13, -13)
    assert str(state) == "r3.25r9.75c"
    odd = endgame(RIVER, pot=7, stacks=100, bets="1x").start()
    assert (odd.pot, odd.behind, odd.child("r7").to_call) == (7, (100, 100), 7)
    assert odd.play("r7 f").net() == (Fraction(7, 2), Fraction(-7, 2))
    for wrong in ("six", True, float("nan"), 1e-9, None):
        with pytest.raises(SubgameError, match="pot must"):
            endgame(RIVER, wrong, 100)  # type: ignore[arg-type]


def test_a_solution_does_not_depend_on_the_unit() -> None:
    """A spot in chips, in fractions of a chip and in a multiple of chips."""
    result = []
    for unit in (1, 20):
        pot, stack = Fraction(13, 2) * unit, 20 * unit
        bets = f"50% a / raise a; chip {unit / 20:g}"
        ranges = ("KK,QJ,T9", "random")
        game = endgame("Qc Jh 8d 9c 8h", pot, stack, ranges, bets, deck=DECK, big_blind=unit)
        solved = sg.solve(sg.compile(game, merge=False), "dcfr", iterations=100)
        result.append((solved.value / unit, *solved.strategy.probs))
    assert result[0][0] == pytest.approx(result[1][0], abs=1e-5)
    for mine, yours in zip(result[0][1:], result[1][1:], strict=True):
        np.testing.assert_allclose(mine, yours, atol=1e-3)


def test_bare_percentages_get_a_hint() -> None:
    hint = BetSizes.parse("33 0.5x", "postflop").hint(60)
    assert hint is not None
    assert "33 chips, 55 % of the pot; write 33%" in hint
    assert BetSizes.parse("33% 47", "postflop").hint(60) is None
    assert BetSizes.parse("33", "postflop").hint(100) is None  # the same on the first street
