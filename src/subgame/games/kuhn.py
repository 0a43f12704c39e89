"""Kuhn poker: three cards, one bet. The value for the first player is -1/18.

H. W. Kuhn 1950, "A simplified two-person poker". Rules and payoffs as in OpenSpiel's
``kuhn_poker``: both ante 1; a bet is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from subgame.games.base import CHANCE, TERMINAL, Game, State

CARDS = "JQK"
OVER = {"pp", "bp", "bb", "pbp", "pbb"}


@dataclass(frozen=True, slots=True)
class KuhnState(State):
    """The cards dealt so far and the actions: p (pass, check or fold) and b (bet or call)."""

    cards: str = ""
    betting: str = ""

    def current_player(self) -> int:
        if len(self.cards) < 2:
            return CHANCE
        return TERMINAL if self.betting in OVER else len(self.betting) % 2

    def legal_actions(self) -> tuple[str, ...]:
        return ("p", "b")

    def chance_outcomes(self) -> list[tuple[str, float]]:
        left = [card for card in CARDS if card not in self.cards]
        return [(card, 1 / len(left)) for card in left]

    def child(self, action: str) -> Self:
        if len(self.cards) < 2:
            return type(self)(self.cards + action)
        return type(self)(self.cards, self.betting + action)

    def is_public(self, action: str) -> bool:
        return len(self.cards) >= 2

    def returns(self) -> tuple[float, float]:
        if self.betting in ("bp", "pbp"):  # a bet was passed: the bettor wins the ante
            won = 1.0 if self.betting == "bp" else -1.0
        else:
            better = CARDS.index(self.cards[0]) > CARDS.index(self.cards[1])
            won = (2.0 if self.betting.endswith("bb") else 1.0) * (1 if better else -1)
        return won, -won

    def information_state(self, player: int) -> str:
        return self.cards[player : player + 1] + self.betting

    def public_state(self) -> str:
        return self.betting


class Kuhn(Game):
    name = "kuhn"

    def new_initial_state(self) -> KuhnState:
        return KuhnState()
