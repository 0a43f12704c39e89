"""`GameArrays`: the rules of a game for many histories at once, so that large games compile fast.

A walk over the `State`s of a game makes a few Python objects for each history. A game that is
regular can say its rules in arrays as well (`Game.arrays`): histories are rows, and one call
answers for all rows of a level of the tree. The tree is the same, array by array; the states stay
the source of names and of play.

Rows are a tuple of columns. The first axis of each column is k, the row; a game chooses which
columns it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = tuple[NDArray[Any], ...]
Numbers = NDArray[np.integer]
Floats = NDArray[np.float64]


class Moves(NamedTuple):
    """What can happen at a history: who acts, the actions or outcomes, their probabilities."""

    player: int
    names: tuple[str, ...] = ()
    probs: tuple[float, ...] = ()


OVER = Moves(-4)  # `TERMINAL`


class GameArrays(ABC):
    """A game's rules for many histories at once. Axis: k = history (row).

    >>> import subgame as sg
    >>> arrays = sg.games.load("liars-dice(dice=1, faces=2)").arrays()
    >>> arrays.lists[arrays.moves(arrays.start())[0]]
    Moves(player=-1, names=('1', '2'), probs=(0.5, 0.5))
    """

    lists: Sequence[Moves]
    """All lists of moves that occur; the first one is `OVER`."""

    @abstractmethod
    def start(self) -> Rows:
        """The first history, as one row."""

    @abstractmethod
    def moves(self, rows: Rows) -> Numbers:
        """[k] the number of each history's list of moves; 0 where the game is over."""

    @abstractmethod
    def child(self, rows: Rows, action: Numbers) -> Rows:
        """The histories after move `action` [k] of each row's list; the rows may be changed."""

    @abstractmethod
    def returns(self, rows: Rows) -> Floats:
        """[k] what player 0 is paid where the game is over; player 1 pays it."""

    @abstractmethod
    def information_state(self, rows: Rows, player: int) -> Numbers:
        """[k] a 64-bit number of what `player`, who acts, knows.

        Numbers are equal where `State.information_state` is.
        """

    @abstractmethod
    def public_state(self, rows: Rows) -> Numbers:
        """[k] a 64-bit number of what is public; equal where `State.public_state` is."""
