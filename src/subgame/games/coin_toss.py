"""Coin Toss: the running example of Brown & Sandholm 2017, "Safe and Nested Subgame Solving".

`coin-toss` is Section 2, Fig. 1a. Chance flips a coin that only P1 (player 0) sees. P1 sells it for
0.5 (Heads) or -0.5 (Tails), or plays, and P2 (player 1) guesses. P1 gets -1 if the guess is right,
1 if it is wrong, and 1 if P2 forfeits. (That a forfeit pays 1 follows from the EVs of Fig. 2: Play
has the value 0 from Heads and 1/2 from Tails.) The game's value is 0; P2 must guess Heads 1/4 and
Tails 3/4 of the time. Section 5 prints these two the other way round ("Heads with probability
3/4"), which would give P1 1/2 from Tails alone; Section 2 is right.

`coin-toss-two` is Section 5, Fig. 4: after Play a public chance node (C1 below Heads, C2 below
Tails, 1/2 each way) leads to one of two identical subgames S1 and S2. The figure is an image,
and its text leaves some things open. We chose:

* Sell still pays -0.5 from Tails: the text calls EVs of 0.5 and -0.5 for Play "optimal".
* No Forfeit: the text only names Heads and Tails, "with 50% probability" each. A forfeit would
  be dominated and change no equilibrium.
* P1's half of the blueprint is not given (no technique for P2 but Unsafe reads it); we keep
  that of Fig. 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from subgame.games.base import CHANCE, TERMINAL, Game, State

HALVES = (0.5, 0.5)
GUESSES = ("Heads", "Tails", "Forfeit")
SALES = {"Heads": {"Sell": 0.25, "Play": 0.75}, "Tails": {"Sell": 0.5, "Play": 0.5}}
"""What P1 does in Fig. 2."""


@dataclass(frozen=True, slots=True)
class CoinTossState(State):
    """The coin, what followed in public, and how many subgames there are (one or two)."""

    subgames: int = 1
    coin: str = ""
    public: tuple[str, ...] = ()

    def current_player(self) -> int:
        if not self.coin:
            return CHANCE
        if not self.public:
            return 0
        if self.public[0] == "Sell" or len(self.public) > self.subgames:
            return TERMINAL
        return 1 if len(self.public) == self.subgames else CHANCE

    def legal_actions(self) -> tuple[str, ...]:
        if not self.public:
            return ("Sell", "Play")
        return GUESSES if self.subgames == 1 else GUESSES[:2]

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return list(zip(("S1", "S2") if self.coin else ("Heads", "Tails"), HALVES, strict=True))

    def child(self, action: str) -> Self:
        if not self.coin:
            return type(self)(self.subgames, action)
        return type(self)(self.subgames, self.coin, (*self.public, action))

    def is_public(self, action: str) -> bool:
        return bool(self.coin)

    def returns(self) -> tuple[float, float]:
        if self.public[0] == "Sell":
            won = 0.5 if self.coin == "Heads" else -0.5
        else:
            won = -1.0 if self.public[-1] == self.coin else 1.0
        return won, -won

    def information_state(self, player: int) -> str:
        own = (self.coin, *self.public) if player == 0 else self.public
        return " ".join(own)

    def public_state(self) -> str:
        return " ".join(self.public)


class CoinToss(Game):
    name = "coin-toss"
    subgames = 1
    guesses: ClassVar = {"Play": {"Heads": 0.5, "Tails": 0.25, "Forfeit": 0.25}}

    def new_initial_state(self) -> CoinTossState:
        return CoinTossState(self.subgames)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        return {"after Play": lambda s: "Play" in s.public and len(s.public) >= s.subgames}

    def blueprints(self) -> dict[str, dict[str, dict[str, float]]]:
        """`paper`: Fig. 2; with two subgames Section 5, and P1 as in Fig. 2."""
        return {"paper": {**SALES, **self.guesses}}


class CoinTossTwo(CoinToss):
    """Coin Toss with two subgames: Section 5, Fig. 4."""

    name = "coin-toss-two"
    subgames = 2
    guesses: ClassVar = {s: {"Heads": 0.5, "Tails": 0.5} for s in ("Play S1", "Play S2")}
