"""Ranges: what the grammar means, the round trip, and errors that point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.ranges import Range


def hands_of(text: str) -> set[str]:
    return {DECK.hand_name(int(hand)) for hand in np.flatnonzero(Range.parse(text).weights)}


@pytest.mark.parametrize(
    ("text", "combos"),
    [
        ("AA", 6),
        ("AKs", 4),
        ("AKo", 12),
        ("AK", 16),
        ("KA", 16),
        ("AhKh", 1),
        ("77+", 8 * 6),
        ("KTs+", 3 * 4),
        ("KQs+", 8),
        ("T9s+", 5 * 4),  # T9s, JTs, QJs, KQs, AKs
        ("AKo+", 12),
        ("T8s+", 2 * 4),
        ("32+", 12 * 16),
        ("[50]AA,KK[/50],QQ", 12),
        ("[25.0]AA:0.5[/25.0]", 0.75),
        ("QQ[50]AA[/50]", 9),
        (" ".join(["0.5"] * 1326), 663),
        ("AT+", 4 * 16),
        ("22-77", 6 * 6),
        ("77-22", 6 * 6),
        ("A5s-A2s", 4 * 4),
        ("a2S-a5S", 4 * 4),
        ("JTs-54s", 7 * 4),
        ("QTo-97o", 4 * 12),
        ("T9o:0.5", 6),
        ("random", 1326),
        ("*", 1326),
        ("*:.25", 331.5),
        ("random,22:0", 1320),
        ("random:0.25,AA", 330 + 6),
        ("AA,AA:0.5", 3),
        ("AA KK\n\tQQ;JJ", 24),
    ],
)
def test_sizes(text: str, combos: float) -> None:
    assert Range.parse(text).combos == combos
    assert Range.parse(text.lower()).combos == combos


def test_members() -> None:
    assert hands_of("KTs+") == {f"K{suit}{low}{suit}" for low in "TJQ" for suit in "cdhs"}
    assert hands_of("65s-43s") == {
        f"{a}{suit}{b}{suit}" for a, b in ("65", "54", "43") for suit in "cdhs"
    }
    assert hands_of("22-33") == hands_of("33-22") == hands_of("22,33")
    assert hands_of("KhAh") == {"AhKh"}


@pytest.mark.parametrize(
    "text",
    [
        "random",
        "random:0.5",
        "random:0",
        "AA",
        "QQ+,AK,A3s-A2s,T9o:0.5",
        "55-22,A5s-A2s:0.25,AhKh",
        "77+,AT+,KTs+,KJo-K9o:0.3333333333333333",
        "AsKs:1e-05",
    ],
)
def test_canonical_texts_stay(text: str) -> None:
    assert str(Range.parse(text)) == text


def test_numbers_are_in_the_order_of_the_hands() -> None:
    """PioSOLVER lists 2d2c, 2h2c, 2h2d, 2s2c, 2s2d, 2s2h, 3c2c, … AsAh."""
    weights = np.arange(1326) / 1325
    parsed = Range.parse(" ".join(f"{weight:.17g}" for weight in weights))
    assert (parsed.weights == weights).all()
    for hand, place in (("2d2c", 0), ("2h2c", 1), ("2s2c", 3), ("3c2c", 6), ("AsAh", 1325)):
        assert parsed.weights[DECK.parse_hand(hand)] == weights[place]
    with pytest.raises(SubgameError, match=r"1,326 weights, one for each hand; .*\(1325,\)"):
        Range.parse("1 " * 1325)
    with pytest.raises(SubgameError, match="1,326 weights"):
        Range.check("1 " * 1325)


weights_of_hands = st.lists(
    st.tuples(
        st.integers(0, 1325),
        st.integers(1, 200),
        st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(weights_of_hands)
def test_round_trip(stretches: list[tuple[int, int, float]]) -> None:
    weights = np.zeros(1326)
    for start, length, weight in stretches:
        weights[start : start + length] = weight
    assert Range.parse(str(Range(weights))) == Range(weights)


def test_round_trip_of_other_decks() -> None:
    rng = np.random.default_rng(5)
    for deck in (Deck("JQK", "hs"), Deck("TJQKA"), Deck("23456789TJQKA", "s")):
        for _ in range(20):
            original = Range(rng.integers(0, 3, deck.num_hands) / 2, deck)
            assert Range.parse(str(original), deck) == original
            assert hash(Range.parse(str(original), deck)) == hash(original)


def test_on_a_board() -> None:
    board = DECK.parse("AsKh2c")
    assert Range.parse("AA,KK,QQ").on_board(board).combos == 3 + 3 + 6
    assert Range.parse("random").on_board(board).combos == 1176


@pytest.mark.parametrize(
    ("text", "at", "token", "reason"),
    [
        ("AA,KQx+", 3, "KQx", "neither a hand"),
        ("AA, XKs", 4, "X", "no rank 'X'"),
        ("AAs", 0, "AAs", "never suited"),
        ("AA,T9o:1.5", 7, "1.5", "between 0 and 1"),
        ("AA,T9o:", 7, "", "between 0 and 1"),
        ("AA,T9o:half", 7, "half", "between 0 and 1"),
        ("AA:nan", 3, "nan", "between 0 and 1"),
        ("AhKx", 2, "Kx", "no suit 'x'"),
        ("KQs,AhAh", 4, "AhAh", "twice"),
        ("A5s-K2s", 0, "A5s-K2s", "share their high card"),
        ("KQs A5s-A2o", 4, "A5s-A2o", "alike"),
        ("22-AKs", 0, "22-AKs", "alike"),
        ("A5s-", 4, "", "neither a hand"),
        ("A5s - A2s", 4, "", "neither a hand"),
        ("AA,:0.5", 3, ":0.5", "must follow hands"),
        ("AhKh+", 0, "AhKh", "neither a hand"),
        ("AKQJT", 0, "AKQJT", "neither a hand"),
        ("AA,[50]KK", 3, "[50]", "write [/50] after its hands"),
        ("AA[/50]", 2, "[/50]", "no group is open"),
        ("[50]AA[25]KK[/25]", 6, "[25]", "a group must be closed first"),
        ("[50]AA[/5]", 6, "[/5]", "the group [50] ends with [/50]"),
        ("[150]AA[/150]", 0, "[150]", "in percent"),
        ("AA,[x]KK", 3, "[x]", "in percent"),
    ],
)
def test_errors_point(text: str, at: int, token: str, reason: str) -> None:
    with pytest.raises(SubgameError) as caught:
        Range.parse(text)
    lines = str(caught.value).split("\n")
    assert reason in lines[0]
    assert lines[1] == "  " + text
    assert lines[2] == "  " + " " * at + "^" * max(1, len(token))
    assert not token or f"at '{token}' (character {at + 1})" in lines[0]
    with pytest.raises(SubgameError) as checked:
        Range.check(text)
    assert str(checked.value) == str(caught.value)


def test_errors_in_long_texts_show_the_line() -> None:
    text = ",".join(["AA"] * 40) + "\nKK,\tQQx"
    with pytest.raises(SubgameError) as caught:
        Range.parse(text)
    assert str(caught.value).endswith("\n  KK,\tQQx\n     \t^^^")


def test_wrong_weights() -> None:
    with pytest.raises(SubgameError, match="1,326 weights"):
        Range(np.zeros(10))
    with pytest.raises(SubgameError, match=r"that of 2d2c is 2\.0"):
        Range(np.full(1326, 2.0))
    with pytest.raises(SubgameError, match="range is empty"):
        Range.parse(" , ")
