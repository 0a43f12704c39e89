"""Cards and hands: one order, and errors that point at the token."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK, Deck


def test_the_order_of_cards() -> None:
    names = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
    assert [DECK.card_name(card) for card in range(52)] == names
    assert DECK.parse(" ".join(names)) == tuple(range(52))


@pytest.mark.parametrize("deck", [DECK, Deck("TJQKA"), Deck("JQK", "hs"), Deck("23", "s")])
def test_the_order_of_hands(deck: Deck) -> None:
    pairs = sorted(itertools.combinations(range(deck.size), 2), key=lambda pair: pair[::-1])
    assert deck.hands.tolist() == [list(pair) for pair in pairs]
    low, high = deck.hands.T
    every = np.arange(deck.num_hands)
    assert (deck.hand_index(low, high) == every).all()
    assert (deck.hand_index(high, low) == every).all()
    assert (deck.hand_table[low, high] == every).all()
    assert all(deck.parse_hand(deck.hand_name(hand)) == hand for hand in range(deck.num_hands))
    assert not deck.hands.flags.writeable


def test_compatibility() -> None:
    board = DECK.parse("QsJh2h 7c")
    expected = [not set(pair) & set(board) for pair in DECK.hands.tolist()]
    assert DECK.compatible(board).tolist() == expected
    assert sum(expected) == 48 * 47 // 2
    assert DECK.compatible(()).all()
    disjoint = DECK.disjoint
    assert (disjoint.sum(1) == 50 * 49 // 2).all()
    assert (disjoint == disjoint.T).all()
    assert DECK.mask(board) == sum(1 << card for card in board)


@pytest.mark.parametrize("text", ["QsJh2h", "qs jh 2h", "Qs,Jh,2h", "[Q♠|J♥|2♥]", "QSJH-2H"])
def test_any_separators(text: str) -> None:
    assert DECK.parse(text) == (43, 38, 2)


@pytest.mark.parametrize(
    ("text", "token", "caret", "reason"),
    [
        ("QsJx2h", "Jx", 2, "no suit 'x'"),
        ("Qs 1h", "1h", 3, "no rank '1'"),
        ("QsJh2", "2", 4, "suit is missing"),
        ("QsJhQs", "Qs", 4, "already given"),
        ("Qs J h", "J", 3, "suit is missing"),
        ("10x", "10x", 0, "no suit 'x'"),
    ],
)
def test_errors_point(text: str, token: str, caret: int, reason: str) -> None:
    with pytest.raises(SubgameError) as caught:
        DECK.parse(text)
    message, shown, underline = str(caught.value).split("\n")
    assert f"at '{token}' (character {caret + 1})" in message
    assert reason in message
    assert shown == "  " + text
    assert underline == "  " + " " * caret + "^" * len(token)


def test_wrong_numbers() -> None:
    with pytest.raises(SubgameError, match="must have 3 or 4 or 5 cards, not 2"):
        DECK.parse("QsJh", counts=(3, 4, 5), what="board")
    with pytest.raises(SubgameError, match="hand 'Qs' must have 2 cards"):
        DECK.parse_hand("Qs")
    with pytest.raises(SubgameError, match="Card 52 is not in this deck"):
        DECK.card_name(52)
    with pytest.raises(SubgameError, match="is given twice"):
        DECK.mask((3, 3))
    with pytest.raises(SubgameError, match="two different cards"):
        DECK.hand_index(3, 3)
    with pytest.raises(SubgameError, match="Hand 1326 does not exist"):
        DECK.hand_name(1326)
    with pytest.raises(SubgameError, match="no rank '2'"):
        Deck("JQK", "hs").parse("2h")


@pytest.mark.parametrize(
    ("ranks", "suits"), [("AKQ", "cdhs"), ("", "cdhs"), ("A", "s"), ("22", "c"), ("23", "xy")]
)
def test_no_such_deck(ranks: str, suits: str) -> None:
    with pytest.raises(SubgameError):
        Deck(ranks, suits)
