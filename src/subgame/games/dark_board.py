"""Dark hex and phantom tic-tac-toe: board games in which nobody sees the opponent's stones.

A player who tries a taken cell learns that it is taken, and nothing else. In the classical rules
the player then tries again; in the abrupt rules the turn passes. Almost nothing is public but whose
turn it is and how many stones there are. Rules as OpenSpiel's ``dark_hex`` (``gameversion=cdh`` and
``adh``, ``obstype=reveal-nothing``) and ``phantom_ttt`` (which has 3x3 only). A win counts 1.

Player 0 connects the first row of a hex board with the last one, player 1 the first column with the
last one. Cells are numbered by row from 0 on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from subgame.errors import SubgameError
from subgame.games.base import TERMINAL, Game, State

MOST_CELLS = 1_000
"""Cells of the largest board."""
STONES = "xo"


@dataclass(slots=True, eq=False)  # not frozen, because that takes twice as long to make
class DarkBoardState(State):
    """The board as a string of x, o and dots, and what each player has tried, in order."""

    game: DarkBoard
    board: str
    tries: tuple[str, str] = ("", "")
    player: int = 0
    won: float = 0.0

    def current_player(self) -> int:
        return self.player

    def legal_actions(self) -> tuple[str, ...]:
        """The cells that the player does not know to be taken."""
        tried = self.tries[self.player].replace("!", "").split()
        return tuple(cell for cell in self.game.names if cell not in tried)

    def child(self, action: str) -> Self:
        cell, me = int(action), self.player
        free = self.board[cell] == "."
        mine = f"{self.tries[me]} {action}" + ("" if free else "!")
        tries = (mine, self.tries[1]) if me == 0 else (self.tries[0], mine)
        if not free:
            player = 1 - me if self.game.abrupt else me
            return type(self)(self.game, self.board, tries, player)
        board = self.board[:cell] + STONES[me] + self.board[cell + 1 :]
        won = 0.0
        if self.game.wins(board, me):
            won = 1.0 if me == 0 else -1.0
        over = won or "." not in board
        return type(self)(self.game, board, tries, TERMINAL if over else 1 - me, won)

    def returns(self) -> tuple[float, float]:
        return self.won, -self.won

    def information_state(self, player: int) -> str:
        """The cells the player has tried; ! marks those that were taken, * the player's turn."""
        turn = "*" if self.player == player else ""
        return f"{STONES[player]}{self.tries[player]}{turn}"


class DarkBoard(Game):
    """A board on which only one's own stones are seen."""

    parameter_names: tuple[str, ...] = ("rows", "cols", "abrupt")

    def __init__(self, rows: int, cols: int, abrupt: bool) -> None:
        if not (rows >= 1 and cols >= 1 and rows * cols <= MOST_CELLS):
            raise SubgameError(
                f"A board has 1 to {MOST_CELLS:,} cells, not rows={rows} times cols={cols}."
            )
        self.rows, self.cols, self.abrupt = rows, cols, abrupt
        self.names = tuple(map(str, range(rows * cols)))

    @abstractmethod
    def wins(self, board: str, player: int) -> bool:
        """Whether the player who has just moved has won."""

    def new_initial_state(self) -> DarkBoardState:
        return DarkBoardState(self, "." * (self.rows * self.cols))

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        """Both players know how many stones there are, or turns in the abrupt rules."""

        def turns(state: DarkBoardState) -> int:
            taken = sum(stone != "." for stone in state.board)
            return taken + (sum(t.count("!") for t in state.tries) if self.abrupt else 0)

        def after(count: int) -> Callable[[Any], bool]:
            return lambda state: turns(state) >= count

        what = "turns" if self.abrupt else "stones"
        return {f"after {n} {what}": after(n) for n in range(1, min(len(self.names), 10))}


class DarkHex(DarkBoard):
    name = "dark-hex"

    def __init__(self, rows: int = 2, cols: int = 2, abrupt: bool = True) -> None:
        super().__init__(rows, cols, abrupt)

    def wins(self, board: str, player: int) -> bool:
        """Whether a chain of the player's stones connects the two sides."""
        side, stone = self._sides[player], STONES[player]
        seen = {cell for cell in side[0] if board[cell] == stone}
        grown = list(seen)
        while grown:
            cell = grown.pop()
            if cell in side[1]:
                return True
            fresh = {near for near in self._near[cell] if board[near] == stone} - seen
            seen |= fresh
            grown.extend(fresh)
        return False

    @cached_property
    def _sides(self) -> tuple[tuple[set[int], set[int]], tuple[set[int], set[int]]]:
        cells, cols = range(self.rows * self.cols), self.cols
        left, right = ({c for c in cells if c % cols == end} for end in (0, cols - 1))
        return (set(cells[:cols]), set(cells[-cols:])), (left, right)

    @cached_property
    def _near(self) -> list[list[int]]:
        steps = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
        return [
            [
                (row + down) * self.cols + col + right
                for down, right in steps
                if 0 <= row + down < self.rows and 0 <= col + right < self.cols
            ]
            for row in range(self.rows)
            for col in range(self.cols)
        ]


class PhantomTicTacToe(DarkBoard):
    name = "phantom-ttt"
    parameter_names = ("rows", "cols", "line", "abrupt")

    def __init__(self, rows: int = 2, cols: int = 3, line: int = 2, abrupt: bool = False) -> None:
        super().__init__(rows, cols, abrupt)
        if not 1 <= line <= max(rows, cols):
            raise SubgameError(
                f"A line of tic-tac-toe must fit the board: 1 to {max(rows, cols)}, not {line}."
            )
        self.line = line

    def wins(self, board: str, player: int) -> bool:
        """Whether the player has a whole line: a row, a column or a diagonal."""
        stone = STONES[player]
        return any(all(board[cell] == stone for cell in line) for line in self._lines)

    @cached_property
    def _lines(self) -> list[list[int]]:
        out = []
        for row in range(self.rows):
            for col in range(self.cols):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    cells = [(row + k * down, col + k * right) for k in range(self.line)]
                    if all(0 <= r < self.rows and 0 <= c < self.cols for r, c in cells):
                        out.append([r * self.cols + c for r, c in cells])
        return out
