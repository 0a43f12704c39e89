"""Rules of `State` that a walk cannot see, checked at a sample of the histories.

`subgame.games.conformance.check` checks them everywhere, at twice the cost of a walk.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from subgame.errors import SubgameError
from subgame.games.array_checks import check_arrays
from subgame.games.arrays import GameArrays
from subgame.games.base import CHANCE, Game, State
from subgame.games.conformance import View, difference, view_of

FIRST = 64
"""Histories at the start, in the order of the walk, that are checked."""
PLAYOUTS = 16
"""Histories from start to end that are checked, with random moves."""

LONGEST = 200
"""Moves after which a playout ends: a game may have no end."""
Step = tuple[State, State, tuple[Any, ...]]
"""A state, the state of the same moves in a second walk, and the moves."""


def spot_check(game: Game, arrays: GameArrays | None) -> None:
    """Raise an error if states change, moves are not strings or the game is not deterministic.

    Arrays, if the game has any, are compared with the states at a sample of each level.
    """
    if arrays is not None:
        sample = np.random.default_rng(0)
        check_arrays(game, arrays, lambda size: np.sort(sample.permutation(size)[:PLAYOUTS]))
    stack, count = [_start(game)], 0
    while stack and count < FIRST:
        step, count = stack.pop(), count + 1
        stack += _check(game, step, list)[::-1]
    if not stack:
        return  # that was all of it
    rng = random.Random(0)
    for _ in range(PLAYOUTS):
        steps = [_start(game)]
        while steps and len(steps[0][2]) < LONGEST:
            steps = _check(game, steps[0], lambda choices: [rng.choice(choices)])


def _start(game: Game) -> Step:
    return game.new_initial_state(), game.new_initial_state(), ()


def _check(game: Game, step: Step, some: Callable[[Sequence[object]], list[Any]]) -> list[Step]:
    """The steps after `some` of the moves; what a walk finds itself is left to it."""
    state, twin, moves = step
    view, again = view_of(state), view_of(twin)
    if view != again:
        raise SubgameError(
            f"{game}: two walks to history {_name(moves)} differ in {difference(view, again)}; a "
            "game must be deterministic, and all chance must be in chance_outcomes()."
        )
    _check_strings(game, view, moves)
    if view.player not in (0, 1, CHANCE) or not view.choices:
        return []
    children = [(state.child(a), twin.child(a), (*moves, a)) for a in some(view.choices)]
    now = view_of(state)
    if now != view:
        raise SubgameError(
            f"{game}: the state at history {_name(moves)} changed its {difference(view, now)} when "
            "child() was called; child() must return a new state and leave the old one as it is."
        )
    return children


def _check_strings(game: Game, view: View, moves: tuple[Any, ...]) -> None:
    what = "chance outcome" if view.player == CHANCE else "action"
    for choice in view.choices:
        if not isinstance(choice, str):
            raise SubgameError(
                f"{game}: the {what} {choice!r} at history {_name(moves)} is not a string."
            )


def _name(moves: tuple[Any, ...]) -> str:
    return f"'{' '.join(moves)}'" if moves else "the start"
