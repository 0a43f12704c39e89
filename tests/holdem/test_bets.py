"""Bet sizes: the grammar, its round trip, errors that point, and exact chips."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdem_games import acting
from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.rules import Betting, amounts
from subgame.games.holdem.sizes import STREETS, Size, StreetSizes

HALF, POT, ALL_IN = Size("pot", 0.5), Size("pot", 1), Size("all-in")
FLOP = acting("flop", 100, 0, (1000, 1000), 10)


def test_the_grammar_by_example() -> None:
    sizes = BetSizes.parse("flop: 0.5x 1x a; turn: 1x a / raise 2.5r")
    assert sizes == BetSizes(
        flop=StreetSizes((HALF, POT, ALL_IN)),
        turn=StreetSizes((POT, ALL_IN), ((Size("raise", 2.5),),)),
    )
    assert sizes.flop.sizes(3) == sizes.flop.bets
    assert sizes.river.sizes(0) == ()


def test_general_clauses_give_way_to_special_ones() -> None:
    sizes = BetSizes.parse("river: a\nall: 0.5x / cap 2\npostflop: 1x; cap 4; all-in .67; chip 50")
    assert sizes.preflop == StreetSizes((HALF,), cap=2)
    assert sizes.flop == sizes.turn == StreetSizes((POT,))
    assert sizes.river == StreetSizes((ALL_IN,))
    assert (sizes.cap, sizes.all_in, sizes.chip) == (4, 0.67, 50)
    both = BetSizes.parse("turn, river: bet 1x, a / raise none")
    assert both.turn == both.river == StreetSizes((POT, ALL_IN), ((),))


def test_numbered_raises() -> None:
    street = BetSizes.parse("river: 1x / raise 3r / raise3 a").river
    three = (Size("raise", 3),)
    assert [street.sizes(n) for n in range(6)] == [(POT,), three, three] + [(ALL_IN,)] * 3
    street = BetSizes.parse("river: 1x / raise2 a").river
    assert [street.sizes(n) for n in range(4)] == [(POT,), (POT,), (ALL_IN,), (ALL_IN,)]


positive = st.floats(1e-3, 1e4, allow_nan=False)
size_lists = st.lists(
    st.one_of(
        st.builds(Size, st.just("pot"), positive),
        st.builds(Size, st.just("chips"), st.integers(1, 10**6).map(float)),
        st.just(ALL_IN),
    ),
    max_size=4,
    unique=True,
).map(tuple)
raise_lists = st.one_of(
    size_lists,
    st.lists(
        st.builds(Size, st.just("raise"), st.floats(1.01, 50)), min_size=1, max_size=3, unique=True
    ).map(tuple),
)
caps = st.one_of(st.none(), st.integers(0, 9))
streets = st.builds(StreetSizes, size_lists, st.lists(raise_lists, max_size=3).map(tuple), caps)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        BetSizes,
        **dict.fromkeys(STREETS, streets),
        cap=caps,
        all_in=st.floats(1e-6, 1),
        chip=st.integers(1, 1000),
    )
)
def test_round_trip(sizes: BetSizes) -> None:
    assert BetSizes.parse(str(sizes)) == sizes


@pytest.mark.parametrize(
    ("text", "at", "token", "reason"),
    [
        ("flop: 0.5x; turn: half", 18, "half", "a size is"),
        ("flop: 0.5x 0.5x", 11, "0.5x", "already given"),
        ("flop: 0.5x 0x", 11, "0x", "above 0"),
        ("flop: 1x / raise 0.5r", 17, "0.5r", "more than 1 times the bet"),
        ("flop: 0", 6, "0", "chips must be above 0"),
        ("flop: 0%", 6, "0%", "above 0"),
        ("flop: 3f", 6, "3f", "a size is"),
        ("oop: 1x; oop: 2x", 9, "oop", "already given"),
        ("oop 1x", 0, "oop", "a colon must follow the name of a player"),
        ("ip turn: 1x / donk 1x", 14, "donk", "only the player out of position"),
        ("turn: 1x / donk 1x / donk 2x", 21, "donk", "already given"),
        ("turn: 1x / donk", 11, "donk", "sizes must follow"),
        ("turn: 1x / donk 2r", 16, "2r", "only preflop has one"),
        ("1x; add c b50", 10, "b50", "a line must follow 'add'"),
        ("1x; remove", 4, "remove", "a line must follow 'remove'"),
        ("merge x", 6, "x", "a number must follow"),
        ("flop: 2.5r", 6, "2.5r", "only preflop has one"),
        ("preflop, flop: 2.5r", 15, "2.5r", "only preflop has one"),
        ("flap: 1x", 0, "flap", "no street 'flap'"),
        ("flop: 1x; flop: a", 10, "flop", "already given"),
        ("0.5x 1y", 5, "1y", "a size is"),
        ("flop 1x", 0, "flop", "a colon must follow"),
        ("often 1x", 0, "often", "other clauses look like"),
        ("1x 2.5r", 3, "2.5r", "only preflop has one"),
        ("1x; a", 4, "a", "already given"),
        ("flop: 1x / raise", 11, "raise", "sizes must follow"),
        ("flop: 1x / raise2 a / raise2 1x", 22, "raise2", "raises must be in order"),
        ("flop: 1x / a", 11, "a", "bets come first"),
        ("flop: 1x / cap", 11, "cap", "whole number must follow"),
        ("flop: 1x / cap two", 15, "two", "whole number must follow"),
        ("cap 1 2", 6, "2", "takes one number"),
        ("cap 1; cap 2", 7, "cap", "already given"),
        ("all-in 1.5", 7, "1.5", "at most 1"),
        ("all-in 67%%", 7, "67%%", "a number must follow"),
        ("chip 0", 5, "0", "above 0"),
        (": 1x", 0, ":", "before the colon"),
        ("flop: turn: 1x", 10, ":", "one colon"),
        ("flop:", 4, ":", "missing"),
    ],
)
def test_errors_point(text: str, at: int, token: str, reason: str) -> None:
    with pytest.raises(SubgameError) as caught:
        BetSizes.parse(text)
    first, shown, underline = str(caught.value).split("\n")
    assert reason in first
    assert f"at '{token}' (character {at + 1})" in first
    assert shown == "  " + text
    assert underline == "  " + " " * at + "^" * len(token)


def test_errors_of_objects() -> None:
    with pytest.raises(SubgameError, match="empty"):
        BetSizes.parse(" ; ")
    with pytest.raises(SubgameError, match="kind 'pot' cannot have the amount -1"):
        Size("pot", -1)
    with pytest.raises(SubgameError, match=r"first bet on the .* has none before it"):
        BetSizes(flop=StreetSizes((Size("raise", 2),)))
    with pytest.raises(SubgameError, match="no street 'showdown'"):
        BetSizes().street("showdown")
    with pytest.raises(SubgameError, match="at most 1"):
        BetSizes(all_in=2)


@pytest.mark.parametrize(
    ("text", "situation", "totals"),
    [
        ("flop: 0.5x 1x a", FLOP, (50, 100, 1000)),
        # a bet of 50 into 100: half the pot after the call, 100, on top of 50; or three times 50
        (
            "flop: none / raise 0.5x 3r 400",
            acting("flop", 150, 50, (1000, 950), 10, last_raise=50, raises=1),
            (150, 400),
        ),
        # a re-raise by somebody with 50 in already: to 150, pot 300 + 100, pot after call 400
        (
            "flop: 1x",
            acting("flop", 300, 100, (950, 850), 10, committed=50, last_raise=100, raises=2),
            (550,),
        ),
        # small blind opens: 2.5 big blinds; the pot is 2 + 4 after the call of 1 -> to 2 + 4
        (
            "preflop: 2.5r 1x a",
            acting("preflop", 3, 1, (199, 198), 2, committed=1, last_raise=2),
            (5, 6, 200),
        ),
        # the big blind's option after a limp
        (
            "preflop: 3r",
            acting("preflop", 4, 0, (198, 198), 2, committed=2, last_raise=2),
            (6,),
        ),
        # halves go up; a third of 100 is written, not binary
        ("flop: 0.125x 0.335x", FLOP, (13, 34)),
        # too small: lifted to a big blind, and to the last raise
        ("flop: 0.01x", FLOP, (10,)),
        (
            "flop: none / raise 1.1r",
            acting("flop", 180, 80, (1000, 920), 10, last_raise=80, raises=1),
            (160,),
        ),
        # above the share: all-in; exactly the share: not
        ("flop: 5x 6x; all-in 0.5", FLOP, (500, 1000)),
        # more than the stack, and the other's shorter stack
        ("flop: 20x", FLOP, (1000,)),
        ("flop: 20x", acting("flop", 100, 0, (1000, 300), 10), (300,)),
        ("flop: 20x 1x", acting("flop", 100, 0, (70, 300), 10), (70,)),
        # all-in for less than the least raise
        ("flop: 1x", acting("flop", 180, 80, (120, 500), 10, last_raise=80, raises=1), (120,)),
        # the other has less than the least raise left: the least raise puts that player all-in
        ("flop: 1x a", acting("flop", 180, 80, (1000, 5), 10, last_raise=80, raises=1), (160,)),
        # chips of 25: to the nearest; the least raise is rounded up; all-in stays exact
        ("flop: 0.6x 0.01x a; chip 25", acting("flop", 100, 0, (990, 990), 10), (25, 50, 990)),
        # nothing to raise with, nobody to raise, the cap
        ("flop: 1x a", acting("flop", 180, 80, (80, 500), 10, last_raise=80, raises=1), ()),
        ("flop: 1x a", acting("flop", 180, 80, (500, 0), 10, last_raise=80, raises=1), ()),
        (
            "flop: 1x a; cap 2",
            acting("flop", 300, 50, (500, 500), 10, last_raise=50, raises=2),
            (),
        ),
        (
            "flop: a / cap 3; cap 2",
            acting("flop", 300, 50, (500, 500), 10, last_raise=50, raises=2),
            (500,),
        ),
        ("turn: 1x", FLOP, ()),
    ],
)
def test_chips(text: str, situation: Betting, totals: tuple[int, ...]) -> None:
    assert amounts(BetSizes.parse(text), situation) == totals


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 500),
    st.integers(1, 300),
    st.integers(1, 2000),
    st.integers(1, 2000),
    st.floats(0.01, 1),
    st.sampled_from([1, 5, 25]),
)
def test_amounts_are_legal(
    pot: int, bet: int, mine: int, yours: int, share: float, chip: int
) -> None:
    sizes = BetSizes.parse(
        f"flop: none / raise 0.1x 0.7x 3x 2r 123 a; all-in {share:f}; chip {chip}"
    )
    here = acting("flop", pot + bet, bet, (mine, yours), 10, last_raise=bet, raises=1)
    totals = amounts(sizes, here)
    assert bool(totals) == (mine > bet)
    assert list(totals) == sorted(set(totals))
    for total in totals:
        assert here.least_raise is not None
        assert here.least_raise <= total <= here.all_in
        assert total % chip == 0 or total == here.all_in


def test_sizes_without_a_street_are_for_those_that_are_asked_for() -> None:
    assert BetSizes.parse("0.5x a / cap 2; chip 5") == BetSizes.parse("all: 0.5x a / cap 2; chip 5")
    assert BetSizes.parse("1x", "postflop") == BetSizes.parse("postflop: 1x")
    assert BetSizes.parse("1x; river: a", "postflop") == BetSizes.parse("postflop: 1x; river: a")
