"""Made hands and draws, beside the evaluator of all hands and what players call them."""

from __future__ import annotations

from random import Random

import pytest

from subgame.games.holdem.cards import DECK
from subgame.games.holdem.evaluate import rank_hands
from subgame.spots.hand_classes import DRAWS, MADE, draw, made_hand


@pytest.mark.parametrize(
    ("hand", "board", "made", "drawn"),
    [
        ("AsAd", "Kh7c2d", "overpair", "no draw"),
        ("KsQs", "Kh7s2s", "top pair", "flush draw"),
        ("7d6d", "Kh7c2d", "second pair", "no draw"),
        ("2s3s", "Kh7c2d", "low pair", "no draw"),
        ("5s5d", "Kh7c2d", "underpair", "no draw"),
        ("KsKd", "Kh7c2d", "set", "no draw"),
        ("Ks3d", "KhKc2d", "trips", "no draw"),
        ("Ks7d", "Kh7c2d", "two pair", "no draw"),
        ("Ks7d", "Kh2c2d", "top pair", "no draw"),
        ("QsJd", "7h7c2d", "nothing", "no draw"),
        ("As3d", "7h7c2d", "ace high", "no draw"),
        ("As3d", "4h5cKd", "ace high", "gutshot"),
        ("9s8s", "7s6dAs", "nothing", "combo draw"),
        ("9s8d", "7s6dAc", "nothing", "open-ended"),
        ("9s8d", "JhTc5d7c", "straight", "no draw"),
        ("QsTd", "8hJcAd", "nothing", "open-ended"),  # a nine or a king
        ("AhKh", "2h7h9h", "flush", "no draw"),
        ("AhKh", "2h7h9c4d3s", "ace high", "no draw"),
        ("KdKc", "KhKs2d", "four of a kind", "no draw"),
        ("2d2c", "KhKs2s", "full house", "no draw"),
        ("5h4h", "Ah2h3h", "straight flush", "no draw"),
        ("AsKd", "7h8h9hThJh", "straight flush", "no draw"),
        ("AsKd", "QhJcTd9s", "straight", "no draw"),
        ("3s2d", "JhTc9d8s", "nothing", "no draw"),  # the straight draw is the board's alone
    ],
)
def test_what_players_call_it(hand: str, board: str, made: str, drawn: str) -> None:
    assert (made_hand(hand, board), draw(hand, board)) == (made, drawn)


@pytest.mark.parametrize("seed", range(6))
def test_strong_hands_are_ordered_as_by_the_evaluator(seed: int) -> None:
    board = DECK.name(Random(seed).sample(range(DECK.size), 5))
    ranks = rank_hands(tuple(DECK.parse(board)), DECK)
    strong, result = MADE[:5], dict[str, set[int]]()
    gone = {board[k : k + 2] for k in range(0, 10, 2)}
    for hand, rank in zip(DECK.hand_names, ranks.tolist(), strict=True):
        if not {hand[:2], hand[2:]} & gone:
            result.setdefault(made_hand(hand, board), set()).add(rank)
    weak = {rank for name, strengths in result.items() if name not in strong for rank in strengths}
    below = max(weak, default=-1)
    for name in reversed([name for name in strong if name in result]):
        assert min(result[name]) > below
        below = max(result[name])


@pytest.mark.parametrize("seed", range(20))
def test_a_draw_is_completed_by_the_next_card(seed: int) -> None:
    cards = Random(seed).sample(range(DECK.size), 6)
    hand, board = DECK.name(cards[:2]), DECK.name(cards[2:])
    drawn = draw(hand, board)
    assert drawn in DRAWS
    after = {
        made_hand(hand, board + DECK.card_name(card))
        for card in range(DECK.size)
        if card not in cards
    }
    if drawn in ("flush draw", "combo draw"):
        assert after & {"flush", "straight flush"}
    if drawn in ("open-ended", "gutshot", "combo draw"):
        assert after & {"straight", "straight flush"}
    if drawn == "no draw" and made_hand(hand, board) not in MADE[:5]:
        assert "flush" not in after or hand[1] != hand[3]
