"""Texas hold'em: cards, hand ranks, suit isomorphism, ranges, bet sizes, betting rules, games.

| module | what it holds |
| --- | --- |
| `cards` | decks, cards as small integers, the order of the 1,326 hands, rankings |
| `evaluate` | the rank of 5, 6 or 7 cards, many at once |
| `isomorphism` | boards and hands that differ only in the names of the suits |
| `ranges` | ``AA,KTs+,A5s-A2s,T9o:0.5``: a weight for each hand |
| `bets` | ``flop: 0.5x 1x a; turn: 1x a / raise 2.5r``: the bets a tree allows |
| `rules` | heads-up no-limit betting, chip by chip |
| `game` | hold'em as a `Game` |
| `spots` | endgames and whole hands, from what players write |
| `libratus` | the published endgames of Libratus |
"""

from subgame.games.holdem import libratus
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import DECK, SHORT_DECK, Deck
from subgame.games.holdem.counts import count_boards, count_nodes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.games.holdem.spots import endgame, hunl, nlfh, nlth

__all__ = [
    "DECK",
    "SHORT_DECK",
    "BetSizes",
    "Betting",
    "Deck",
    "Holdem",
    "NoLimit",
    "Range",
    "count_boards",
    "count_nodes",
    "endgame",
    "hunl",
    "libratus",
    "nlfh",
    "nlth",
]
