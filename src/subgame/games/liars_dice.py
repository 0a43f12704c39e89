"""Liar's dice: bid on how many dice of all show a face, or call the last bidder a liar.

Rules and payoffs as in OpenSpiel's ``liars_dice(numdice=dice, dice_sides=faces)`` with its
default bidding rule. Bids are ordered 1-1, 1-2, ..., 2-1, ... (quantity-face), each higher than
the last; the highest face is wild and counts as every face. A called bid that holds wins 1 for
the bidder, else for the caller. One die of six faces each has 294,883 histories and 24,576
infosets, so a state carries its strings ready made.

Chance rolls the dice one by one, player 0's first. A player sees their dice, sorted, only after all
are rolled. Seeing them one by one would distinguish orders that OpenSpiel's infosets merge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State

LIAR = "Liar"


class _Table:
    """What all states of one game share."""

    __slots__ = ("dice", "faces", "legal", "quantity_and_face", "rank", "rolls")

    def __init__(self, dice: int, faces: int) -> None:
        self.dice, self.faces = dice, faces
        self.quantity_and_face = [
            (q, f) for q in range(1, 2 * dice + 1) for f in range(1, faces + 1)
        ]
        names = tuple(f"{q}-{f}" for q, f in self.quantity_and_face)
        self.rank = {name: rank for rank, name in enumerate(names)}
        # legal[rank + 1] follows the bid of that rank; before any bid there is no liar to call.
        self.legal = [names, *((*names[rank + 1 :], LIAR) for rank in range(len(names)))]
        self.rolls = [(str(face), 1 / faces) for face in range(1, faces + 1)]


class LiarsDiceState(State):
    """The rolls in order, each player's dice as that player sees them, and the bidding."""

    __slots__ = ("_bid", "_bidding", "_hands", "_player", "_rolls", "_table")

    def __init__(
        self,
        table: _Table,
        rolls: tuple[int, ...] = (),
        hands: tuple[str, str] = ("", ""),
        bid: int = -1,
        bidding: str = "",
        player: int = CHANCE,
    ) -> None:
        self._table = table
        self._rolls = rolls
        self._hands = hands
        self._bid = bid
        self._bidding = bidding
        self._player = player

    def current_player(self) -> int:
        return self._player

    def legal_actions(self) -> tuple[str, ...]:
        return self._table.legal[self._bid + 1]

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return self._table.rolls

    def child(self, action: str) -> Self:
        if self._player == CHANCE:
            return self._rolled(int(action))
        if action == LIAR:
            bid, player = self._bid, TERMINAL
        else:
            bid, player = self._table.rank[action], 1 - self._player
        bidding = f"{self._bidding} {action}"
        return type(self)(self._table, self._rolls, self._hands, bid, bidding, player)

    def _rolled(self, face: int) -> Self:
        dice = self._table.dice
        rolls = (*self._rolls, face)
        # Faces of two digits need a separator: 1 and 12 are not 11 and 2.
        glue = "" if self._table.faces < 10 else ","
        first, second = (
            glue.join(map(str, sorted(cup))) if len(cup) == dice else ""
            for cup in (rolls[:dice], rolls[dice:])
        )
        player = 0 if len(rolls) == 2 * dice else CHANCE
        return type(self)(self._table, rolls, (first, second), player=player)

    def is_public(self, action: str) -> bool:
        return self._player != CHANCE

    def returns(self) -> tuple[float, float]:
        quantity, face = self._table.quantity_and_face[self._bid]
        matches = self._rolls.count(face)
        if face != self._table.faces:
            matches += self._rolls.count(self._table.faces)
        caller = (self._bidding.count(" ") - 1) % 2
        winner = 1 - caller if matches >= quantity else caller
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)

    def information_state(self, player: int) -> str:
        return self._hands[player] + self._bidding

    def public_state(self) -> str:
        return self._bidding


class LiarsDice(Game):
    name = "liars-dice"

    def __init__(self, dice: int = 1, faces: int = 6) -> None:
        if dice < 1 or faces < 2:
            raise SubgameError(
                f"Liar's dice needs at least one die each with at least two faces, "
                f"not dice={dice}, faces={faces}."
            )
        self._table = _Table(dice, faces)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"dice": self._table.dice, "faces": self._table.faces}

    def new_initial_state(self) -> LiarsDiceState:
        return LiarsDiceState(self._table)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        return {"after the first bid": lambda s: " " in s.public_state()}
