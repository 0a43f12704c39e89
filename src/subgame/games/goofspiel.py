"""Goofspiel with hidden bids: each trick the higher card wins the prize, and only that is shown.

Rules as in OpenSpiel's ``goofspiel(imp_info=True, num_cards=cards, points_order=order)``. Both
hold cards 1 to `cards`; equal bids discard the prize. The simultaneous bids become player 0's
hidden bid, then player 1's. The last trick leaves no choice, so it is not part of the history: with
three cards a history ends after two bids each. (A game of one card has its single trick.)

`returns` is "win-loss" (1, 0 or -1, OpenSpiel's default) or "points": a player's points less
the mean of both, which is half the difference, as OpenSpiel's ``point_difference``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State

if TYPE_CHECKING:
    from subgame.games.arrays import GameArrays

ORDERS = ("descending", "ascending", "random")
RETURNS = ("win-loss", "points")
MOST_CARDS = 1_000
"""Cards of the largest game."""
IN_ARRAYS = range(2, 9)
"""Cards of the games whose rules are also in arrays: what a player knows is a 64-bit number."""


@dataclass(frozen=True, slots=True)
class GoofspielState(State):
    """Prizes shown, both players' bids in order, and what is public as a string.

    The public string lists the prizes, each followed by + (player 0 won it), - (player 1) or =
    (nobody); the one being played for ends in * once player 0 has bid: "4+ 3= 2*".
    """

    game: Goofspiel
    prizes: tuple[int, ...] = ()
    bids: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    public: str = ""

    def current_player(self) -> int:
        tricks = len(self.bids[1])
        if tricks == max(self.game.cards - 1, 1):
            return TERMINAL
        if len(self.prizes) == tricks:
            return CHANCE
        return 0 if len(self.bids[0]) == tricks else 1

    def legal_actions(self) -> tuple[str, ...]:
        played = self.bids[self.current_player()]
        return tuple(str(card) for card in self.game.deck if card not in played)

    def chance_outcomes(self) -> list[tuple[str, float]]:
        left = [card for card in self.game.deck if card not in self.prizes]
        return [(str(card), 1 / len(left)) for card in left]

    def child(self, action: str) -> Self:
        new, player, card = type(self), self.current_player(), int(action)
        first, second = self.bids
        if player == CHANCE:
            return self._with_prize(card)
        if player == 0:
            return new(self.game, self.prizes, ((*first, card), second), self.public + "*")
        result = "+" if first[-1] > card else "-" if first[-1] < card else "="
        state = new(self.game, self.prizes, (first, (*second, card)), self.public[:-1] + result)
        return state.with_next_prize()

    def with_next_prize(self) -> Self:
        """The next prize of a fixed order on the table; nothing changes if chance deals it."""
        if self.current_player() == TERMINAL or self.game.order == "random":
            return self
        deck = self.game.deck if self.game.order == "ascending" else self.game.deck[::-1]
        return self._with_prize(deck[len(self.prizes)])

    def _with_prize(self, card: int) -> Self:
        public = f"{self.public} {card}".lstrip()
        return type(self)(self.game, (*self.prizes, card), self.bids, public)

    def returns(self) -> tuple[float, float]:
        total = sum(self.game.deck)
        # The cards left over make up the last trick, if it was not played.
        piles = [(*pile, total - sum(pile)) for pile in (self.prizes, *self.bids)]
        tricks = zip(*piles, strict=True)
        ahead = sum(prize * ((mine > yours) - (mine < yours)) for prize, mine, yours in tricks)
        won = ahead / 2 if self.game.returns == "points" else float((ahead > 0) - (ahead < 0))
        return won, -won

    def information_state(self, player: int) -> str:
        return f"{','.join(map(str, self.bids[player]))}|{self.public}"

    def public_state(self) -> str:
        return self.public


class Goofspiel(Game):
    name = "goofspiel"
    parameter_names = ("cards", "order", "returns")

    def __init__(
        self, cards: int = 4, order: str = "descending", returns: str = "win-loss"
    ) -> None:
        if not 1 <= cards <= MOST_CARDS:
            raise SubgameError(f"Goofspiel has 1 to {MOST_CARDS:,} cards each, not cards={cards}.")
        for what, value, known in (("order", order, ORDERS), ("returns", returns, RETURNS)):
            if value not in known:
                raise SubgameError(
                    f"Goofspiel's {what} must be one of {', '.join(known)}, not '{value}'."
                )
        self.cards, self.order, self.returns = cards, order, returns
        self.deck = tuple(range(1, cards + 1))

    def new_initial_state(self) -> GoofspielState:
        return GoofspielState(self).with_next_prize()

    def arrays(self) -> GameArrays | None:
        if self.cards not in IN_ARRAYS:
            return None
        from subgame.games.goofspiel_arrays import GoofspielArrays

        return GoofspielArrays(self.cards, self.order, self.returns)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        return {"after trick 1": lambda s: len(s.bids[1]) == 1}
