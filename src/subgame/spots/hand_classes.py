"""Hands and actions as players see them: what a hand has made or draws to, colours of actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from subgame.games.holdem.cards import DECK, RANKINGS, RANKS, Deck
from subgame.show.grid import ALL_IN, BETS, CALL, FOLD, Rgb, blend
from subgame.spots.lines import is_all_in

if TYPE_CHECKING:
    from subgame.games.holdem.rules import Betting


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
"""From the best to the worst by the standard ranking. A pair on the board alone is nothing."""
DRAWS = ("combo draw", "flush draw", "open-ended", "gutshot", "no draw")
"""A combo draw is a flush draw with a straight draw. Two gutshots count as open-ended."""


def made_order(deck: Deck = DECK) -> tuple[str, ...]:
    """`MADE` from the best to the worst with a deck's ranking; sets and trips stay together.

    >>> from subgame.games.holdem.cards import SHORT_DECK
    >>> made_order(SHORT_DECK)[2:4]
    ('flush', 'full house')
    """
    order = RANKINGS[deck.ranking].categories[::-1]
    names = {"set": "three of a kind", "trips": "three of a kind"}
    strong = sorted(MADE[: MADE.index("two pair")], key=lambda n: order.index(names.get(n, n)))
    return (*strong, *MADE[len(strong) :])


@lru_cache(maxsize=20_000)
def made_hand(hand: str, board: str, deck: Deck = DECK) -> str:
    """What a hand such as ``AsKs`` has made of a board of three to five cards.

    >>> made_hand("AsKd", "Kh7c2d"), made_hand("7s7d", "Kh7c2d"), made_hand("QsQd", "Kh7c2d")
    ('top pair', 'set', 'underpair')
    """
    own, public = _ranks(hand), _ranks(board)
    counts = Counter(own + public)
    tops = sorted({*public}, reverse=True)
    hits = [rank for rank in {*own} if rank in public]
    three = any(counts[rank] == 3 for rank in own)
    made = {*_strong(hand, board, deck)}
    made |= {"set" if own[0] == own[1] else "trips"} if three else set()
    if made:
        return min(made, key=made_order(deck).index)
    if len(hits) == 2:
        return "two pair"
    if own[0] == own[1]:
        return "overpair" if own[0] > tops[0] else "underpair"
    if hits:
        return ("top pair", "second pair", "low pair")[min(2, tops.index(hits[0]))]
    return "ace high" if max(own) == len(RANKS) - 1 else "nothing"


@lru_cache(maxsize=20_000)
def draw(hand: str, board: str, deck: Deck = DECK) -> str:
    """What a hand draws to on the flop or turn, with at least one of its own cards.

    >>> draw("AsKs", "Qs7s2d"), draw("JdTc", "Qs9h2d"), draw("JdTc", "Qs8h2d")
    ('flush draw', 'open-ended', 'gutshot')
    """
    if len(board) >= 10 or _strong(hand, board, deck):
        return "no draw"
    suits = Counter(hand[1::2] + board[1::2])
    flush = any(suits[suit] == 4 for suit in hand[1::2])
    own, public = {*_ranks(hand)}, {*_ranks(board)}
    outs = [
        rank
        for rank in map(RANKS.index, deck.ranks)
        if _straight(own | public | {rank}, deck) and not _straight(public | {rank}, deck)
    ]
    if flush:
        return "combo draw" if outs else "flush draw"
    return "open-ended" if len(outs) > 1 else "gutshot" if outs else "no draw"


def _strong(hand: str, board: str, deck: Deck) -> list[str]:
    """What there is of a straight or better, of all cards."""
    ranks = _ranks(hand + board)
    suits = Counter(hand[1::2] + board[1::2])
    suit, most = suits.most_common(1)[0]
    cards = hand + board
    suited = {RANKS.index(cards[k]) for k in range(0, len(cards), 2) if cards[k + 1] == suit}
    counts = sorted(Counter(ranks).values(), reverse=True)
    there = {
        "straight flush": most >= 5 and _straight(suited, deck),
        "four of a kind": counts[0] == 4,
        "full house": counts[0] == 3 and counts[1] >= 2,
        "flush": most >= 5,
        "straight": _straight(ranks, deck),
    }
    return [name for name, is_there in there.items() if is_there]


def _ranks(cards: str) -> list[int]:
    return [RANKS.index(rank) for rank in cards[::2]]


def _straight(ranks: Iterable[int], deck: Deck) -> bool:
    """Whether five ranks follow one another, or are those of the straight with a low ace."""
    have = {*ranks}
    runs = [{*range(low, low + 5)} for low in range(len(RANKS) - 4)]
    return any(run <= have for run in (*runs, {*map(RANKS.index, RANKINGS[deck.ranking].wheel)}))


class Look(NamedTuple):
    """How one action is shown."""

    colour: Rgb
    letter: str  # shown where there are no colours


def looks(actions: Sequence[str], betting: Betting) -> list[Look]:
    """Colour and letter of each action."""
    bets = [a for a in actions if a[0] == "r" and not is_all_in(betting, a)]
    shown = []
    for action in actions:
        if action == "f":
            shown.append(Look(FOLD, "f"))
        elif action == "c":
            shown.append(Look(CALL, "c" if betting.to_call else "x"))
        elif action in bets:
            at = bets.index(action)
            share = at / (len(bets) - 1) if len(bets) > 1 else 0.5
            shown.append(Look(blend(*BETS, share), str(at + 1) if at < 9 else "9"))
        else:
            shown.append(Look(ALL_IN, "a"))
    return shown
