"""`refuse_large`: a game whose tree cannot fit is refused before it is walked."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from typing import Any

from subgame.games.base import CHANCE, Game, StateReader
from subgame.memory import Allowance
from subgame.tree.sequence.walk import BYTES_PER_HISTORY

PLAYOUTS = 32
MARGIN = 10
LONGEST = 200
"""Moves after which a playout ends: a game may have no end."""
WIDEST = 100_000
"""Choices that a playout lists before it ends."""


def refuse_large(game: Game, allowed: Allowance) -> None:
    """Raise an error if random playouts show that the tree needs more memory than is allowed.

    The product of the numbers of choices along a random playout is an unbiased estimate of the
    number of histories of that length (Knuth 1975, "Estimating the efficiency of backtrack
    programs"). By Markov's inequality it exceeds ten times that number with probability at most
    1/10, and half of 32 independent playouts do so with at most 2^32 / 10^16 < 10^-6. A playout
    ends as soon as its product says enough, so this takes milliseconds.
    """
    rng = random.Random(0)
    enough = MARGIN * (1 + allowed.bytes / BYTES_PER_HISTORY)
    reader, playouts = game.reader(), list[float]()
    while len(playouts) < PLAYOUTS:
        playouts.append(_product(game, reader, rng.choice, enough))
        if sum(playout <= enough for playout in playouts) > PLAYOUTS // 2:
            return  # whatever the others say
    size = sorted(playouts)[PLAYOUTS // 2] / MARGIN
    what = f"{game}: the tree has more than {size:,.0f} histories, as random playouts show. It"
    endless = _product(game, reader, operator.itemgetter(0), math.inf) == math.inf
    hint = f"A history of more than {LONGEST} moves was found: does the game end?"
    need = size * BYTES_PER_HISTORY
    allowed.refuse(what, need, known=False, hint=hint if endless else "")


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
