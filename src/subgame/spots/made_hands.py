"""What a hand has made of a board, and what it draws to, in players' words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

RANKS = "23456789TJQKA"
MADE = (
    "straight flush",
    "four of a kind",
    "full house",
    "flush",
    "straight",
    "set",
    "trips",
    "two pair",
    "overpair",
    "top pair",
    "underpair",
    "second pair",
    "low pair",
    "ace high",
    "nothing",
)
"""From the best to the worst. A pair on the board alone is nothing."""
DRAWS = ("combo draw", "flush draw", "open-ended", "gutshot", "no draw")
"""A combo draw is a flush draw with a straight draw. Two gutshots count as open-ended."""


@lru_cache(maxsize=20_000)
def made_hand(hand: str, board: str) -> str:
    """What a hand such as ``AsKs`` has made of a board of three to five cards.

    >>> made_hand("AsKd", "Kh7c2d"), made_hand("7s7d", "Kh7c2d"), made_hand("QsQd", "Kh7c2d")
    ('top pair', 'set', 'underpair')
    """
    own, public = _ranks(hand), _ranks(board)
    strong = _strong(hand, board)
    if strong:
        return strong
    counts = Counter(own + public)
    tops = sorted({*public}, reverse=True)
    hits = [rank for rank in {*own} if rank in public]
    if any(counts[rank] == 3 for rank in own):
        return "set" if own[0] == own[1] else "trips"
    if len(hits) == 2:
        return "two pair"
    if own[0] == own[1]:
        return "overpair" if own[0] > tops[0] else "underpair"
    if hits:
        return ("top pair", "second pair", "low pair")[min(2, tops.index(hits[0]))]
    return "ace high" if max(own) == len(RANKS) - 1 else "nothing"


@lru_cache(maxsize=20_000)
def draw(hand: str, board: str) -> str:
    """What a hand draws to on the flop or turn, with at least one of its own cards.

    >>> draw("AsKs", "Qs7s2d"), draw("JdTc", "Qs9h2d"), draw("JdTc", "Qs8h2d")
    ('flush draw', 'open-ended', 'gutshot')
    """
    if len(board) >= 10 or _strong(hand, board):
        return "no draw"
    suits = Counter(hand[1::2] + board[1::2])
    flush = any(suits[suit] == 4 for suit in hand[1::2])
    own, public = {*_ranks(hand)}, {*_ranks(board)}
    outs = [
        rank
        for rank in range(len(RANKS))
        if _straight(own | public | {rank}) and not _straight(public | {rank})
    ]
    if flush:
        return "combo draw" if outs else "flush draw"
    return "open-ended" if len(outs) > 1 else "gutshot" if outs else "no draw"


def _strong(hand: str, board: str) -> str:
    """A straight or better, of all cards; empty if there is none."""
    ranks = _ranks(hand + board)
    suits = Counter(hand[1::2] + board[1::2])
    suit, most = suits.most_common(1)[0]
    cards = hand + board
    suited = {RANKS.index(cards[k]) for k in range(0, len(cards), 2) if cards[k + 1] == suit}
    counts = sorted(Counter(ranks).values(), reverse=True)
    if most >= 5 and _straight(suited):
        return "straight flush"
    if counts[0] == 4:
        return "four of a kind"
    if counts[0] == 3 and counts[1] >= 2:
        return "full house"
    if most >= 5:
        return "flush"
    return "straight" if _straight(ranks) else ""


def _ranks(cards: str) -> list[int]:
    return [RANKS.index(rank) for rank in cards[::2]]


def _straight(ranks: Iterable[int]) -> bool:
    """Whether five ranks follow one another; the ace is also below the two."""
    have = {*ranks}
    have |= {-1} if len(RANKS) - 1 in have else set()
    return any(all(low + k in have for k in range(5)) for low in range(-1, len(RANKS) - 4))
