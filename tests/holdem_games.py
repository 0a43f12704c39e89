"""Hold'em on decks so small that their explicit trees can be compared with."""

from __future__ import annotations

from dataclasses import replace

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.ranges import Range

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
