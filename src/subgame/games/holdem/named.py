"""The games of Brown & Sandholm 2017, Tables 1 and 3 to 5, by name.

The paper does not state their bet sizes, only what an unabstracted strategy takes in double
precision: 1.1 GB, 4 GB and 35 GB. These are our choices, which take about as much.

    >>> print(*nlfh_small().start().actions(nlfh_small().bets))
    f c r300
    >>> print(*nlth_no_limp().actions(nlth_no_limp().start()))
    f r300
"""

from __future__ import annotations

from dataclasses import dataclass

from subgame.games.holdem.cards import RANKS, SUITS
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.spots import nlfh, nlth

SMALL = "preflop: 1x / cap 1; flop: 0.5x 1x / cap 2"
SMALL_ALT = "preflop: 0.5x 1x / cap 2; flop: 1x / cap 1"
LARGE = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 3"
TURN = "preflop: 1x / cap 2; flop: 1x / cap 1; turn: 1x / cap 2"


def nlfh_small(
    stack: int = 20000, bets: str = SMALL, ranks: str = RANKS, suits: str = SUITS
) -> Holdem:
    """Small flop hold'em: one pot bet before the flop, two bets of 1/2 or 1 pot on it."""
    return nlfh(stack, bets=bets, ranks=ranks, suits=suits)


def nlfh_small_alt(
    stack: int = 20000, bets: str = SMALL_ALT, ranks: str = RANKS, suits: str = SUITS
) -> Holdem:
    """Small flop hold'em, the other way round: two bets before the flop, one pot bet on it."""
    return nlfh(stack, bets=bets, ranks=ranks, suits=suits)


def nlfh_large(
    stack: int = 20000, bets: str = LARGE, ranks: str = RANKS, suits: str = SUITS
) -> Holdem:
    """Large flop hold'em: one bet before the flop, three on it, of 1/2 or 1 pot."""
    return nlfh(stack, bets=bets, ranks=ranks, suits=suits)


@dataclass(frozen=True)
class NoLimp(Holdem):
    """Hold'em in which the first player before the flop raises or folds."""

    def actions(self, betting: Betting) -> tuple[str, ...]:
        actions = betting.actions(self.bets)
        return tuple(a for a in actions if a != "c") if betting == self.rules.start() else actions


def nlth_no_limp(
    stack: int = 20000,
    small_blind: int = 50,
    big_blind: int = 100,
    bets: str = TURN,
    ranks: str = RANKS,
    suits: str = SUITS,
) -> NoLimp:
    """Turn hold'em without limping: two pot bets before the flop, one on it, two on the turn."""
    game = nlth(stack, small_blind, big_blind, bets, ranks, suits)
    own = {name: getattr(game, name) for name in Holdem.__dataclass_fields__}
    return NoLimp(**{**own, "name": "nlth-no-limp"})
