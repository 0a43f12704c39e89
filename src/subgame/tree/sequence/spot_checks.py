"""Checks of a game around its walk: a sample shows what a walk cannot see, or cannot hold.

`refuse_large` refuses a game whose tree cannot fit before it is walked. `spot_check` checks rules
of `State` that a walk cannot see, at a sample of the histories.

`subgame.games.conformance.check` checks them everywhere, at twice the cost of a walk.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from subgame.errors import SubgameError
from subgame.games.array_checks import check_arrays
from subgame.games.arrays import GameArrays
from subgame.games.base import CHANCE, Game, State, StateReader
from subgame.games.conformance import View, difference, view_of
from subgame.memory import Allowance
from subgame.tree.sequence.walk import BYTES_BY_LEVELS, BYTES_PER_HISTORY

PLAYOUTS = 32
MARGIN, MARGIN_SAMPLED = 10, 2
LONGEST = 200
"""Moves after which a playout ends: a game may have no end."""
WIDEST = 100_000
"""Choices that a playout lists before it ends."""
SAMPLED = 4096
"""Histories of a level that are followed in a game that says its rules in arrays."""


def refuse_large(game: Game, arrays: GameArrays | None, allowed: Allowance) -> None:
    """Raise an error if random playouts show that the tree needs more memory than is allowed.

    The product of the numbers of choices along a random playout is an unbiased estimate of the
    number of histories of that length (Knuth 1975, "Estimating the efficiency of backtrack
    programs"). By Markov's inequality it exceeds ten times that number with probability at most
    1/10, and half of 32 independent playouts do so with at most 2^32 / 10^16 < 10^-6. A playout
    ends as soon as its product says enough, so this takes milliseconds. A game that says its rules
    in arrays is sampled level by level.
    """
    if arrays is not None:
        size = estimated(arrays) / MARGIN_SAMPLED
        what = f"the tree has more than {size:,.0f} histories, as a sample shows. It"
        allowed.refuse(what, size * BYTES_BY_LEVELS, game=game, known=False)
        return
    rng = random.Random(0)
    enough = MARGIN * (1 + allowed.bytes / BYTES_PER_HISTORY)
    reader, playouts = game.reader(), list[float]()
    while len(playouts) < PLAYOUTS:
        playouts.append(_product(game, reader, rng.choice, enough))
        if sum(playout <= enough for playout in playouts) > PLAYOUTS // 2:
            return  # whatever the others say
    size = sorted(playouts)[PLAYOUTS // 2] / MARGIN
    what = f"the tree has more than {size:,.0f} histories, as random playouts show. It"
    endless = _product(game, reader, operator.itemgetter(0), math.inf) == math.inf
    hint = f"A history of more than {LONGEST} moves was found: does the game end?"
    need, hint = size * BYTES_PER_HISTORY, hint if endless else ""
    allowed.refuse(what, need, game=game, known=False, hint=hint)


def estimated(arrays: GameArrays) -> float:
    """An unbiased estimate of the number of histories, from a sample of each level.

    >>> import subgame as sg
    >>> round(estimated(sg.games.load("leduc").arrays()), -3)
    9000.0
    """
    rng, rows, total, weight = np.random.default_rng(0), arrays.start(), 1.0, 1.0
    length = np.array([len(moves.names) for moves in arrays.lists])
    for _ in range(LONGEST):
        counts = length[arrays.moves(rows)]
        size = int(counts.sum())
        if not size:
            break
        total += weight * size
        kept = np.sort(rng.permutation(size)[:SAMPLED])
        weight *= size / len(kept)  # so many histories does one of the sample stand for
        above = np.repeat(np.arange(len(counts)), counts)[kept]
        action = kept - (np.cumsum(counts) - counts)[above]
        rows = arrays.child(tuple(column[above] for column in rows), action)
    return total


def _product(
    game: Game, reader: StateReader, choose: Callable[[list[Any]], Any], enough: float
) -> float:
    """The largest estimate of a level's size along one playout; infinite if it does not end."""
    state, product, listed = reader.opened(game.new_initial_state()), 1.0, 0
    for _ in range(LONGEST):
        player = state.current_player()
        if player == CHANCE:
            choices = [outcome for outcome, _ in reader.outcomes(state)]
        elif player in (0, 1):
            choices = list(state.legal_actions())
        else:
            return product
        product *= len(choices)
        listed += len(choices)
        if not choices or product > enough or listed > WIDEST:
            return product
        state = state.child(choose(choices))
    return math.inf if enough == math.inf else product


FIRST = 64
"""Histories at the start, in the order of the walk, that are checked."""
CHECKED = 16
"""Histories from start to end that are checked, with random moves."""
Step = tuple[State, State, tuple[Any, ...]]
"""A state, the state of the same moves in a second walk, and the moves."""


def spot_check(game: Game, arrays: GameArrays | None) -> None:
    """Raise an error if states change, moves are not strings or the game is not deterministic.

    Arrays, if the game has any, are compared with the states at a sample of each level.
    """
    if arrays is not None:
        sample = np.random.default_rng(0)
        check_arrays(game, arrays, lambda size: np.sort(sample.permutation(size)[:CHECKED]))
    stack, count = [_start(game)], 0
    while stack and count < FIRST:
        step, count = stack.pop(), count + 1
        stack += _check(game, step, list)[::-1]
    if not stack:
        return  # that was all of it
    rng = random.Random(0)
    for _ in range(CHECKED):
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
