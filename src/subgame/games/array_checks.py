"""`check_arrays`: a game's arrays say the same as its states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.arrays import GameArrays, Moves, Rows
from subgame.games.base import CHANCE, TERMINAL, Game, State

Pick = Callable[[int], NDArray[np.int64]]
"""Which of so many histories of a level are followed."""


def check_arrays(game: Game, arrays: GameArrays, pick: Pick = np.arange) -> None:
    """Raise an error that names a history at which arrays and states differ, if there is one.

    Histories are followed level by level; `pick` chooses which, by default all.
    """
    pairs = _Pairs(game)
    states, paths, rows = [game.new_initial_state()], [()], arrays.start()
    while states:
        lists = [arrays.lists[m] for m in arrays.moves(rows).tolist()]
        for state, path, moves in zip(states, paths, lists, strict=True):
            if _moves(state) != moves:
                raise _differ(game, path, "moves", _moves(state), moves)
        pairs.check(arrays, rows, states, paths)
        choices = [(k, a) for k, moves in enumerate(lists) for a in range(len(moves.names))]
        chosen = [choices[c] for c in pick(len(choices)).tolist()]
        above, action = np.array(chosen, np.int64).reshape(-1, 2).T
        paths = [(*paths[k], lists[k].names[a]) for k, a in chosen]
        states = [states[k].child(lists[k].names[a]) for k, a in chosen]
        if states:
            rows = arrays.child(tuple(column[above] for column in rows), action)


class _Pairs:
    """Names that states have given, and the numbers of the arrays for them."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.names: dict[tuple[str, object], tuple[object, tuple[str, ...]]] = {}

    def check(
        self,
        arrays: GameArrays,
        rows: Rows,
        states: list[State],
        paths: list[tuple[str, ...]],
    ) -> None:
        """Payoffs are equal, and names are equal where numbers are."""
        public = arrays.public_state(rows).tolist()
        players = np.array([state.current_player() for state in states])
        for state, path, number in zip(states, paths, public, strict=True):
            self._match("public state", state.public_state(), number, path)
        for p in (0, 1, TERMINAL):
            here = np.flatnonzero(players == p)
            part = tuple(column[here] for column in rows)
            if p == TERMINAL:
                values = arrays.returns(part).tolist()
            else:
                values = arrays.information_state(part, p).tolist()
            for k, value in zip(here.tolist(), values, strict=True):
                if p != TERMINAL:
                    known = states[k].information_state(p)
                    self._match(f"information state of player {p}", known, value, paths[k])
                elif states[k].returns() != (value, -value):
                    raise _differ(self.game, paths[k], "payoff", states[k].returns()[0], value)

    def _match(self, what: str, name: object, number: int, path: tuple[str, ...]) -> None:
        for key, value in (((f"{what} ", name), number), ((what, number), name)):
            before, there = self.names.setdefault(key, (value, path))
            if before != value:
                raise SubgameError(
                    f"{self.game}: the arrays number the {what} at {_said(path)} as {number}, and "
                    f"differ from the states at {_said(there)}; equal names need equal numbers, "
                    "and others other ones."
                )


def _moves(state: State) -> Moves:
    player = state.current_player()
    if player == CHANCE:
        names, probs = zip(*state.chance_outcomes(), strict=True)
        return Moves(player, names, probs)
    return Moves(player, tuple(state.legal_actions()) if player != TERMINAL else ())


def _differ(
    game: Game, path: tuple[str, ...], what: str, state: object, array: object
) -> SubgameError:
    return SubgameError(
        f"{game}: the {what} at {_said(path)} differ: {state} by the states, {array} by the arrays."
    )


def _said(path: tuple[str, ...]) -> str:
    return f"'{' '.join(path)}'" if path else "the start"
