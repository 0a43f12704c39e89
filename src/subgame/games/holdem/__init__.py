"""Texas hold'em: cards, hand ranks, suit isomorphism, ranges, bet sizes and betting rules.

| module | what it holds |
| --- | --- |
| `cards` | decks, cards as small integers, the one order of the 1,326 hands |
| `evaluate` | the rank of 5, 6 or 7 cards, many at once |
| `isomorphism` | boards and hands that differ only in the names of the suits |
| `ranges` | ``AA,KQs+,A5s-A2s,T9o:0.5``: a weight for each hand |
| `bets` | ``flop: 0.5x 1x a; turn: 1x a / raise 2.5r``: the bets a tree allows |
| `rules` | heads-up no-limit betting, chip by chip |
"""
