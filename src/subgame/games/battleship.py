"""Battleship with one ship each: place it, then shoot in turn.

Rules as OpenSpiel's ``battleship`` with one ship of value 1, a loss multiplier of 1 and no repeated
shots. Player 0 places a ship of `ship` cells in a row or a column, then player 1. Both players then
shoot `shots` times in turn. Everybody sees where a shot goes and whether it hits. The player whose
ship is sunk loses 1, and the game ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from subgame.errors import SubgameError
from subgame.games.base import TERMINAL, Game, State

MOST_CELLS = 1_000
"""Cells of the largest board."""


@dataclass(slots=True, eq=False)  # not frozen, because that takes twice as long to make
class BattleshipState(State):
    """The ships, and the shots of both players with their results."""

    game: Battleship
    ships: tuple[str, ...] = ()
    shots: tuple[str, ...] = ()  # "4" is a miss in cell 4, "4!" a hit
    player: int = 0

    def current_player(self) -> int:
        return self.player

    def legal_actions(self) -> tuple[str, ...]:
        if len(self.ships) < 2:
            return self.game.places
        mine = {shot.rstrip("!") for shot in self.shots[self.player :: 2]}
        return tuple(cell for cell in self.game.cells if cell not in mine)

    def child(self, action: str) -> Self:
        if len(self.ships) < 2:
            return type(self)(self.game, (*self.ships, action), (), 1 - self.player)
        hit = action in self.ships[1 - self.player].split("-")
        shots = (*self.shots, action + "!" * hit)
        over = len(shots) == 2 * self.game.shots or self._sunk(shots, self.player)
        return type(self)(self.game, self.ships, shots, TERMINAL if over else 1 - self.player)

    def _sunk(self, shots: tuple[str, ...], shooter: int) -> bool:
        return sum(shot.endswith("!") for shot in shots[shooter::2]) == self.game.ship

    def returns(self) -> tuple[float, float]:
        won = float(self._sunk(self.shots, 0)) - float(self._sunk(self.shots, 1))
        return won, -won

    def information_state(self, player: int) -> str:
        ship = self.ships[player] if len(self.ships) > player else ""
        return f"{ship}|{self.public_state()}"

    def public_state(self) -> str:
        return f"{len(self.ships)} {' '.join(self.shots)}"

    def is_public(self, action: str) -> bool:
        return len(self.ships) == 2


class Battleship(Game):
    name = "battleship"
    parameter_names = ("rows", "cols", "ship", "shots")

    def __init__(self, rows: int = 2, cols: int = 2, ship: int = 1, shots: int = 2) -> None:
        cells = rows * cols
        if not (rows >= 1 and cols >= 1 and cells <= MOST_CELLS and 1 <= ship <= max(rows, cols)):
            raise SubgameError(
                f"A ship must fit a board of at most {MOST_CELLS:,} cells, not ship={ship} on "
                f"rows={rows} times cols={cols}."
            )
        if not 1 <= shots <= cells:
            raise SubgameError(f"Battleship has 1 to {cells} shots a player here, not {shots}.")
        self.rows, self.cols, self.ship, self.shots = rows, cols, ship, shots
        self.cells = tuple(map(str, range(cells)))
        across = [
            [row * cols + col + k for k in range(ship)]
            for row in range(rows)
            for col in range(cols - ship + 1)
        ]
        down = [
            [(row + k) * cols + col for k in range(ship)]
            for row in range(rows - ship + 1)
            for col in range(cols)
            if ship > 1
        ]
        self.places = tuple("-".join(map(str, ship_cells)) for ship_cells in across + down)

    def new_initial_state(self) -> BattleshipState:
        return BattleshipState(self)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        return {
            "after the ships": lambda s: len(s.ships) == 2,
            "after 2 shots": lambda s: len(s.shots) == 2,
        }
