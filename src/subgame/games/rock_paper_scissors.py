"""Rock-paper-scissors, played in turn without showing the first move.

`rps-plus` is RPS+ of Brown, Sandholm & Amos 2018, "Depth-Limited Solving for
Imperfect-Information Games", Section 2 and Fig. 1a: if either player plays Scissors, the winner
receives 2 instead of 1 and the loser loses as much. Both then play Rock and Paper 0.4 and
Scissors 0.2 of the time; in plain `rps` a third each. The value of both games is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from subgame.games.base import TERMINAL, Game, State

MOVES = ("Rock", "Paper", "Scissors")  # each beats the one before it


@dataclass(frozen=True, slots=True)
class RockPaperScissorsState(State):
    """The moves made, and what a win by or against Scissors pays."""

    scissors: float = 1.0
    moves: tuple[str, ...] = ()

    def current_player(self) -> int:
        return len(self.moves) if len(self.moves) < 2 else TERMINAL

    def legal_actions(self) -> tuple[str, ...]:
        return MOVES

    def child(self, action: str) -> Self:
        return type(self)(self.scissors, (*self.moves, action))

    def returns(self) -> tuple[float, float]:
        first, second = (MOVES.index(move) for move in self.moves)
        won = (0.0, 1.0, -1.0)[(first - second) % 3]
        if "Scissors" in self.moves:
            won *= self.scissors
        return won, -won

    def information_state(self, player: int) -> str:
        own = self.moves[player : player + 1]
        return ", ".join((*own, self.public_state()))

    def public_state(self) -> str:
        # That P1 has moved is public; the move itself is not.
        return f"P{len(self.moves) + 1} to move" if len(self.moves) < 2 else " ".join(self.moves)


class RockPaperScissors(Game):
    name = "rps"
    scissors = 1.0
    equilibrium = (1 / 3, 1 / 3, 1 / 3)

    def new_initial_state(self) -> RockPaperScissorsState:
        return RockPaperScissorsState(self.scissors)

    def blueprints(self) -> dict[str, dict[str, dict[str, float]]]:
        """`equilibrium`: the only one, for both players."""
        mixed = dict(zip(MOVES, self.equilibrium, strict=True))
        return {"equilibrium": {"P1 to move": mixed, "P2 to move": dict(mixed)}}


class RockPaperScissorsPlus(RockPaperScissors):
    """RPS+: whoever wins with or against Scissors wins 2."""

    name = "rps-plus"
    scissors = 2.0
    equilibrium = (0.4, 0.4, 0.2)
