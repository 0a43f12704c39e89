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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State

if TYPE_CHECKING:
    from subgame.games.arrays import GameArrays

LIAR = "Liar"
MOST_BIDS = 1_000
"""Bids of the largest game."""
LARGEST = 62
"""Bits of what a player knows in the largest game that is compiled with arrays."""


@dataclass(slots=True, eq=False)  # not frozen, because that takes twice as long to make
class LiarsDiceState(State):
    """The rolls in order, each player's dice as that player sees them, and the bidding."""

    game: LiarsDice
    rolls: tuple[int, ...] = ()
    hands: tuple[str, str] = ("", "")
    bid: int = -1  # the rank of the last one
    bidding: str = ""
    player: int = CHANCE

    def current_player(self) -> int:
        return self.player

    def legal_actions(self) -> tuple[str, ...]:
        return self.game.legal[self.bid + 1]

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return self.game.outcomes

    def child(self, action: str) -> Self:
        if self.player == CHANCE:
            return self._rolled(int(action))
        if action == LIAR:
            bid, player = self.bid, TERMINAL
        else:
            bid, player = self.game.rank[action], 1 - self.player
        bidding = f"{self.bidding} {action}"
        return type(self)(self.game, self.rolls, self.hands, bid, bidding, player)

    def _rolled(self, face: int) -> Self:
        dice = self.game.dice
        rolls = (*self.rolls, face)
        # Faces of two digits need a separator: 1 and 12 are not 11 and 2.
        glue = "" if self.game.faces < 10 else ","
        first, second = (
            glue.join(map(str, sorted(cup))) if len(cup) == dice else ""
            for cup in (rolls[:dice], rolls[dice:])
        )
        player = 0 if len(rolls) == 2 * dice else CHANCE
        return type(self)(self.game, rolls, (first, second), player=player)

    def is_public(self, action: str) -> bool:
        return self.player != CHANCE

    def returns(self) -> tuple[float, float]:
        quantity, face = self.game.bids[self.bid]
        matches = self.rolls.count(face)
        if face != self.game.faces:
            matches += self.rolls.count(self.game.faces)
        caller = (self.bidding.count(" ") - 1) % 2
        winner = 1 - caller if matches >= quantity else caller
        return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)

    def information_state(self, player: int) -> str:
        return self.hands[player] + self.bidding

    def public_state(self) -> str:
        return self.bidding


class LiarsDice(Game):
    name = "liars-dice"
    parameter_names = ("dice", "faces")

    def __init__(self, dice: int = 1, faces: int = 6) -> None:
        if dice < 1 or faces < 2:
            raise SubgameError(
                f"Liar's dice needs at least one die each with at least two faces, "
                f"not dice={dice}, faces={faces}."
            )
        if 2 * dice * faces > MOST_BIDS:
            raise SubgameError(
                f"Liar's dice has at most {MOST_BIDS:,} bids, two for each die and face, not "
                f"{2 * dice * faces:,} as with dice={dice}, faces={faces}."
            )
        self.dice, self.faces = dice, faces
        self.bids = [(q, f) for q in range(1, 2 * dice + 1) for f in range(1, faces + 1)]
        names = tuple(f"{quantity}-{face}" for quantity, face in self.bids)
        self.rank = {name: rank for rank, name in enumerate(names)}
        # legal[rank + 1] follows the bid of that rank; before any bid there is no liar to call.
        self.legal = [names, *((*names[rank + 1 :], LIAR) for rank in range(len(names)))]
        self.outcomes = [(str(face), 1 / faces) for face in range(1, faces + 1)]

    def new_initial_state(self) -> LiarsDiceState:
        return LiarsDiceState(self)

    def arrays(self) -> GameArrays | None:
        if (len(self.bids) + 1) + self.dice * self.faces.bit_length() > LARGEST:
            return None
        from subgame.games.liars_dice_arrays import LiarsDiceArrays

        return LiarsDiceArrays(self.dice, self.faces, self.legal)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        return {"after the first bid": lambda s: " " in s.bidding}
