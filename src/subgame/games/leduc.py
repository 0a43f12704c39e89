"""Leduc poker: six cards, two betting rounds. The value for the first player is -0.085606424.

Southey et al. 2005, "Bayes' Bluff: Opponent Modelling in Poker". Rules and payoffs as in
OpenSpiel's ``leduc_poker``: both ante 1; at most two raises a round, of 2 and then of 4; a pair
with the board card beats any other hand, then the higher rank wins, equal ranks split. The two
suits are distinguished, hence 936 infosets rather than 288.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from subgame.games.base import CHANCE, TERMINAL, Game, State

if TYPE_CHECKING:
    from subgame.games.arrays import GameArrays

CARDS = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
RANKS = "JQK"
ROUND_OVER = {"cc", "rc", "crc", "rrc", "crrc", "rf", "crf", "rrf", "crrf"}
RAISES = (2, 4)
MERGED = {("J", "Q"): "QK", ("J", "K"): "QK", ("K", "J"): "JQ", ("K", "Q"): "JQ"}
"""(hand, board) -> the board as `LeducAbstract` shows it, where it hides the card."""


@dataclass(frozen=True, slots=True)
class LeducState(State):
    """Hands, board and both rounds of betting: f (fold), c (check or call), r (bet or raise)."""

    hands: tuple[str, ...] = ()
    first: str = ""
    board: str = ""
    second: str = ""

    def current_player(self) -> int:
        if len(self.hands) < 2:
            return CHANCE
        if self.first not in ROUND_OVER:
            return len(self.first) % 2
        if self.first[-1] == "f" or self.second in ROUND_OVER:
            return TERMINAL
        return len(self.second) % 2 if self.board else CHANCE

    def legal_actions(self) -> tuple[str, ...]:
        betting = self.second if self.board else self.first
        actions = ("f", "c") if betting.endswith("r") else ("c",)
        return (*actions, "r") if betting.count("r") < len(RAISES) else actions

    def chance_outcomes(self) -> list[tuple[str, float]]:
        left = [card for card in CARDS if card not in self.hands]
        return [(card, 1 / len(left)) for card in left]

    def child(self, action: str) -> Self:
        new = type(self)
        if len(self.hands) < 2:
            return new((*self.hands, action))
        if self.board:
            return new(self.hands, self.first, self.board, self.second + action)
        if self.first in ROUND_OVER:
            return new(self.hands, self.first, action)
        return new(self.hands, self.first + action)

    def is_public(self, action: str) -> bool:
        return len(self.hands) >= 2

    def returns(self) -> tuple[float, float]:
        level, staked = 1, [1, 1]
        for betting, size in zip((self.first, self.second), RAISES, strict=True):
            for turn, action in enumerate(betting):
                level += size if action == "r" else 0
                if action != "f":
                    staked[turn % 2] = level
        betting = self.second or self.first
        if betting.endswith("f"):
            won = float(-staked[0] if len(betting) % 2 else staked[1])  # an odd one is player 0's
        else:
            mine, yours = self._strength(0), self._strength(1)
            won = float(level * ((mine > yours) - (mine < yours)))
        return won, -won

    def _strength(self, player: int) -> tuple[bool, int]:
        rank = self.hands[player][0]
        return rank == self.board[0], RANKS.index(rank)

    def information_state(self, player: int) -> str:
        hand = self.hands[player] if player < len(self.hands) else ""
        return f"{hand}:{self.public_state()}"

    def public_state(self) -> str:
        return f"{self.first}/{self.board}/{self.second}" if self.board else self.first


class Leduc(Game):
    name = "leduc"
    state: ClassVar = LeducState()
    cards: ClassVar[tuple[str, ...]] = CARDS
    winning: ClassVar = (("Ks", "Js", "Qs"), ("Js", "Ks", "Qs"))

    def new_initial_state(self) -> LeducState:
        return self.state

    def arrays(self) -> GameArrays | None:
        from subgame.games.poker_arrays import Deck, PokerArrays, pair_or_high

        copies = len(CARDS) // len(self.cards)
        strength = partial(pair_or_high, len(self.cards) // len(RANKS))
        return PokerArrays(self.state, Deck(self.cards, copies, 1, strength, self.winning))

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        """Burch et al. 2014 cut after the first round, before the card: five subgames."""
        return {
            "after round 1": lambda s: s.first in ROUND_OVER and not s.first.endswith("f"),
            "after the board card": lambda s: bool(s.board),
        }


class LeducRanksState(LeducState):
    """A history of Leduc in which the two cards of a rank are one."""

    __slots__ = ()

    def chance_outcomes(self) -> list[tuple[str, float]]:
        dealt = [*self.hands, self.board]
        left = {rank: 2 - dealt.count(rank) for rank in RANKS}
        total = sum(left.values())
        return [(rank, count / total) for rank, count in left.items() if count]


class LeducRanks(Leduc):
    """Leduc without suits, which never matter: 288 infosets, the same values and equilibria."""

    name = "leduc-ranks"
    state = LeducRanksState()
    cards = tuple(RANKS)
    winning = (("K", "J", "Q"), ("J", "K", "Q"))


class LeducAbstractState(LeducState):
    """A history of Leduc as seen by players who lose sight of some board cards."""

    __slots__ = ()

    def is_public(self, action: str) -> bool:
        return self.current_player() != CHANCE

    def information_state(self, player: int) -> str:
        if not self.board:
            return super().information_state(player)
        hand = self.hands[player]
        seen = MERGED.get((hand[0], self.board[0]), self.board)
        return f"{hand}:{self.first}/{seen}/{self.second}"

    def public_state(self) -> str:
        return f"{self.first}/{self.second}" if self.board else self.first


class LeducAbstract(Leduc):
    """The card abstraction of Burch et al. 2014, Fig. 5: 576 infosets.

    A player with a jack cannot tell a queen from a king on the board; a player with a king cannot
    tell a jack from a queen. The histories are those of `Leduc`, in the same order, so that a
    strategy found here can be played there (`subgame.abstraction.lift.lift`).
    """

    name = "leduc-abstract"
    state = LeducAbstractState()

    def arrays(self) -> None:
        """The board is hidden from some players here."""
        return

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        """The board card is not public here, so no subgame begins after it."""
        return {"after round 1": super().frontiers()["after round 1"]}
