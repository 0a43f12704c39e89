"""`head_to_head`: what one blueprint wins against another, exact over hands on sampled boards.

A match counts the chips of single deals. Here every pair of hands and every action is summed up on
each board, for both seats, so that only the choice of boards is left to chance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba.sampled import NumbaSweeps
from subgame.errors import SubgameError
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS

Floats = NDArray[np.float32]


class HeadToHead(NamedTuple):
    """The result for the first blueprint, in thousandths of a big blind per hand."""

    mean: float
    interval95: float
    boards: int


def head_to_head(
    one: StoredBlueprint, two: StoredBlueprint, boards: int = 100, *, seed: int = 0
) -> HeadToHead:
    """What `one` wins against `two` per hand, both seats taken in turn.

    The two have the same bets and the same buckets: two stages of one training.

    >>> from subgame.blueprints.recipe import Recipe
    >>> from subgame.blueprints.training import Trainer
    >>> recipe = Recipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, ranks="9TJQKA", suits="cd")
    >>> trainer = Trainer(recipe)
    >>> before = StoredBlueprint.of(trainer)
    >>> trainer.advance(10)
    >>> head_to_head(StoredBlueprint.of(trainer), before, 10).mean > 0
    True
    """
    for a, b in zip(one.cards.stored().values(), two.cards.stored().values(), strict=True):
        if a.shape != b.shape or (a != b).any() or one.recipe.bets != two.recipe.bets:
            raise SubgameError(
                "Only blueprints with the same bets and buckets can be compared hand by hand; let "
                "others play a match."
            )
    engine = NumbaSweeps(one.tree, one.cards.counts, one.game.deck)
    first, second = _table(engine, one), _table(engine, two)
    mixed = _mixed(engine, first, second), _mixed(engine, second, first)
    rng, won = np.random.default_rng(seed), np.empty(boards)
    for k in range(boards):
        board = rng.permutation(one.game.deck.size)[: one.cards.showdown]
        ranks = rank_hands(board[None], one.game.deck)
        streets = BOARD_CARDS[: len(one.probabilities)]
        buckets = [one.cards.of(board[:cards].tolist())[None] for cards in streets]
        seats = [float(engine.values(0, sigma, ranks, buckets)[0]) for sigma in mixed]
        won[k] = (seats[0] - seats[1]) / 2 * one.game.unit[1]
    spread = float(won.std(ddof=1)) if boards > 1 else math.inf
    return HeadToHead(float(won.mean()), 1.96 * spread / math.sqrt(boards), boards)


def _table(engine: NumbaSweeps, blueprint: StoredBlueprint) -> Floats:
    """The probabilities of a blueprint as a table of the engine."""
    out = engine.zeros()
    for s, units in enumerate(blueprint.probabilities):
        engine.street(out, s)[:, : units.shape[1]] = units
    found: Floats = engine.strategy(out)
    return found


def _mixed(engine: NumbaSweeps, zero: Floats, one: Floats) -> Floats:
    """A table in which player 0 plays by `zero` and player 1 by `one`."""
    out = zero.copy()
    for s, (_, rows) in enumerate(engine.tree.player_rows):
        engine.street(out, s)[rows] = engine.street(one, s)[rows]
    return out
