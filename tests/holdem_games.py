"""Hold'em on decks so small that their explicit trees can be compared with."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.games.holdem.sizes import STREETS, tidy

SHORT = Deck("TJQKA", "hs")
THREE = Deck("QKA", "chs")
EIGHT = Deck("JQKA", "hs")
GAMES = {
    "river": sg.holdem.endgame(
        "QsJhThKsAh", 4, 6, ("*", "AA,KK:0.5,QJ,JTs:0.3"), "all: 1x a", deck=SHORT
    ),
    "turn": sg.holdem.endgame(
        "QsJhThKs", 4, (6, 4), ("*:0.7,AA", "AA,KJ,KTs,QJ:0.5"), "all: a", deck=SHORT
    ),
    "flop": sg.holdem.endgame(
        "Qs Kh As", 4, 4, ("AA,KK:0.5,KQ", "QQ,AcKc"), "all: a / cap 1", deck=THREE
    ),
    "suits": sg.holdem.endgame(
        "Qs Ks As", 4, 4, ("AA,KK:0.5", "QQ,AK"), "all: a / cap 1", deck=THREE
    ),
    "nlfh": replace(
        sg.holdem.nlfh(3, 1, 2, "preflop: a; flop: a", "JQKA", "hs"),
        ranges=(Range.parse("AA,KQ,QJ:0.5", EIGHT), Range.parse("KK,AJ:0.25,QJs", EIGHT)),
    ),
}


def acting(
    street: str,
    pot: int,
    to_call: int,
    stacks: tuple[int, int],
    big_blind: int,
    *,
    committed: int = 0,
    last_raise: int = 0,
    raises: int = 0,
    last: str = "river",
) -> Betting:
    """Player 0 about to act: all chips in the middle, and the chips behind of both players."""
    bets = committed, committed + to_call
    before = tidy(Fraction(pot - sum(bets), 2))
    behind = stacks[0] + bets[0], stacks[1] + bets[1]
    first = "flop" if before else "preflop"
    rules = NoLimit(behind, (0, big_blind), first, 2 * before, last)
    staked = before, before
    return Betting(rules, STREETS.index(street), staked, bets, 0, last_raise, raises)
