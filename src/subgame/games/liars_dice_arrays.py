"""The rules of liar's dice in arrays: see `subgame.games.arrays` and `subgame.games.liars_dice`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subgame.games.arrays import OVER, Floats, GameArrays, Moves, Numbers, Rows
from subgame.games.base import CHANCE


class LiarsDiceArrays(GameArrays):
    """Columns: the dice rolled [k, die], how many, the last bid, all bids as bits, whose turn.

    The bit above those of all bids says that somebody was called a liar.
    """

    def __init__(self, dice: int, faces: int, legal: Sequence[tuple[str, ...]]) -> None:
        self.dice, self.faces, self.bids = dice, faces, len(legal) - 1
        names = tuple(str(face) for face in range(1, faces + 1))
        acting = [Moves(player, actions) for player in (0, 1) for actions in legal]
        self.lists = [OVER, Moves(CHANCE, names, (1 / faces,) * faces), *acting]

    def start(self) -> Rows:
        one = np.zeros(1, np.int16)
        return np.zeros((1, 2 * self.dice), np.int8), one, one - 1, one.astype(np.int64), one

    def moves(self, rows: Rows) -> Numbers:
        _, rolled, bid, said, turn = rows
        moves = np.where(rolled < 2 * self.dice, 1, 2 + turn * (self.bids + 1) + bid + 1)
        return np.where(said >> self.bids, 0, moves)

    def child(self, rows: Rows, action: Numbers) -> Rows:
        dice, rolled, bid, said, turn = rows
        rolling = rolled < 2 * self.dice
        roll = np.flatnonzero(rolling)
        dice[roll, rolled[roll]] = action[roll] + 1
        new = bid + 1 + action  # the number of all bids: somebody is called a liar
        said = np.where(rolling, said, said | (np.int64(1) << new))
        called = new == self.bids
        bid = np.where(rolling | called, bid, new).astype(np.int16)
        turn = np.where(rolling, turn, 1 - turn).astype(np.int16)
        return dice, (rolled + rolling).astype(np.int16), bid, said, turn

    def returns(self, rows: Rows) -> Floats:
        dice, _, bid, _, turn = rows
        quantity, face = bid // self.faces + 1, bid % self.faces + 1
        matches = ((dice == face[:, None]) | (dice == self.faces)).sum(1)
        # It is the bidder's turn, who wins if the bid holds.
        return np.where((matches >= quantity) == (turn == 0), 1.0, -1.0)

    def information_state(self, rows: Rows, player: int) -> Numbers:
        dice, _, _, said, _ = rows
        return said * self.faces**self.dice + self._hand(dice, player)

    def _hand(self, dice: NDArray[np.int8], player: int) -> NDArray[np.int64]:
        cup = np.sort(dice[:, player * self.dice : (player + 1) * self.dice], axis=1)
        return (cup.astype(np.int64) - 1) @ self.faces ** np.arange(self.dice)

    def public_state(self, rows: Rows) -> Numbers:
        return rows[3]
