"""Rhode Island hold'em: one hidden card each, two board cards, three rounds of limit betting.

Shi & Littman 2001, "Abstraction methods for game theoretic poker". Both ante 5. A round has at most
`raises` bets and raises, of 10 in the first round and of 20 in the other two. A card is turned
after the first and after the second round. Hands of three cards rank: straight flush, three of a
kind, straight, flush, pair, high card; aces are high only. The pot is split between equal hands.

The deck has the highest `ranks` of `suits` suits. With five ranks the game is called royal; of four
suits it has 1.2e8 histories. With ``ranks=3`` there are 1.2e7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State

if TYPE_CHECKING:
    from subgame.games.arrays import GameArrays

ANTE = 5
SIZES = (10, 20, 20)
RANKS, SUITS = "23456789TJQKA", "shdc"
HIGH, PAIR, FLUSH, STRAIGHT, TRIPS, STRAIGHT_FLUSH = range(6)


@dataclass(frozen=True, slots=True)
class RhodeIslandState(State):
    """Cards in the order in which they are dealt, and the betting: f, c or r in each round."""

    game: RhodeIsland
    cards: tuple[str, ...] = ()
    rounds: tuple[str, ...] = ("",)

    def current_player(self) -> int:
        if len(self.cards) < 2:
            return CHANCE
        betting = self.rounds[-1]
        if betting.endswith("f"):
            return TERMINAL
        if len(betting) < 2 or betting[-1] != "c":
            return len(betting) % 2
        return TERMINAL if len(self.rounds) == len(SIZES) else CHANCE

    def legal_actions(self) -> tuple[str, ...]:
        betting = self.rounds[-1]
        actions = ("f", "c") if betting.endswith("r") else ("c",)
        return (*actions, "r") if betting.count("r") < self.game.raises else actions

    def chance_outcomes(self) -> list[tuple[str, float]]:
        left = [card for card in self.game.deck if card not in self.cards]
        return [(card, 1 / len(left)) for card in left]

    def child(self, action: str) -> Self:
        new = type(self)
        if self.current_player() == CHANCE:
            rounds = (*self.rounds, "") if len(self.cards) >= 2 else self.rounds
            return new(self.game, (*self.cards, action), rounds)
        return new(self.game, self.cards, (*self.rounds[:-1], self.rounds[-1] + action))

    def is_public(self, action: str) -> bool:
        return len(self.cards) >= 2

    def returns(self) -> tuple[float, float]:
        level, staked = ANTE, [ANTE, ANTE]
        for betting, size in zip(self.rounds, SIZES, strict=False):
            for turn, action in enumerate(betting):
                level += size if action == "r" else 0
                if action != "f":
                    staked[turn % 2] = level
        betting = self.rounds[-1]
        if betting.endswith("f"):
            won = float(-staked[0] if len(betting) % 2 else staked[1])  # an odd one is player 0's
        else:
            mine, yours = (strength((self.cards[p], *self.cards[2:])) for p in (0, 1))
            won = float(level * ((mine > yours) - (mine < yours)))
        return won, -won

    def information_state(self, player: int) -> str:
        hand = self.cards[player] if player < len(self.cards) else ""
        return f"{hand}:{self.public_state()}"

    def public_state(self) -> str:
        first, *later = self.rounds
        board = self.cards[2:]
        return first + "".join(f"/{card}/{bets}" for card, bets in zip(board, later, strict=True))


def strength(cards: tuple[str, ...]) -> tuple[int, tuple[int, ...]]:
    """The kind of a hand of three cards, and the ranks that decide among equal kinds.

    >>> strength(("As", "Ks", "Qs")) > strength(("Ah", "As", "Ad")) > strength(("9s", "Ts", "8h"))
    True
    """
    ranks = sorted((RANKS.index(card[0]) for card in cards), reverse=True)
    flush = len({card[1] for card in cards}) == 1
    straight = ranks[0] == ranks[1] + 1 == ranks[2] + 2
    different = len(set(ranks))
    if different == 3:
        kind = (HIGH, FLUSH, STRAIGHT, STRAIGHT_FLUSH)[flush + 2 * straight]
        return kind, tuple(ranks)
    # The middle one of three sorted ranks is that of the pair.
    kicker = ranks[2] if ranks[0] == ranks[1] else ranks[0]
    return (PAIR if different == 2 else TRIPS), (ranks[1], kicker)


class RhodeIsland(Game):
    name = "rhode-island"
    parameter_names = ("ranks", "suits", "raises")

    def __init__(self, ranks: int = 13, suits: int = 4, raises: int = 3) -> None:
        for what, value, most in (("ranks", ranks, 13), ("suits", suits, 4), ("raises", raises, 9)):
            if not 1 <= value <= most:
                raise SubgameError(
                    f"Rhode Island hold'em has 1 to {most} {what}, not {what}={value}."
                )
        if ranks < 3 or ranks * suits < 4:
            raise SubgameError(
                "Rhode Island hold'em needs three ranks and four cards, "
                f"not ranks={ranks}, suits={suits}."
            )
        self.ranks, self.suits, self.raises = ranks, suits, raises
        self.deck = tuple(rank + suit for rank in RANKS[-ranks:] for suit in SUITS[:suits])

    def new_initial_state(self) -> RhodeIslandState:
        return RhodeIslandState(self)

    def arrays(self) -> GameArrays | None:
        from subgame.games.poker_arrays import Deck, PokerArrays, by_table

        deals = permutations(self.deck, 4)
        better = next(d for d in deals if strength((d[0], *d[2:])) > strength(d[1:]))
        worse = (better[1], better[0], *better[2:])
        deck = Deck(self.deck, 1, 2, by_table(self.deck, strength), (better, worse))
        return PokerArrays(self.new_initial_state(), deck)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        """A subgame begins before the card that is turned after a round."""
        return {
            f"after round {number}": lambda s, count=number: (
                len(s.rounds) > count
                or (len(s.rounds) == count and s.current_player() == CHANCE and len(s.cards) > 1)
            )
            for number in (1, 2)
        }
