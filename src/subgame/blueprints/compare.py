"""What a blueprint wins and loses, exact over hands on sampled boards.

A match counts the chips of single deals. Here every pair of hands and every action is summed up on
each board, for both seats, so that only the choice of boards is left to chance. `head_to_head` is
between two blueprints; in `learned_response` an opponent learns against one in its own buckets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.engines.arrays import Array, as_numpy
from subgame.engines.sampled import Sweeps, Table
from subgame.errors import ArgumentError, SubgameError
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS

FRESH = 1 << 40
"""The first iteration whose boards no training has seen."""


class HeadToHead(NamedTuple):
    """The result for the first blueprint, in thousandths of a big blind per hand."""

    mean: float
    interval95: float
    boards: int


def head_to_head(
    one: StoredBlueprint, two: StoredBlueprint, boards: int = 100, *, seed: int = 0
) -> HeadToHead:
    """What `one` wins against `two` per hand, both seats taken in turn.

    The two have the same bets; their buckets may differ.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> from subgame.blueprints.training import Trainer
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> trainer = Trainer(recipe)
    >>> before = StoredBlueprint.of(trainer)
    >>> trainer.advance(10)
    >>> head_to_head(StoredBlueprint.of(trainer), before, 10).mean > 0
    True
    """
    rng, size = np.random.default_rng(seed), one.game.deck.size
    drawn = [rng.permutation(size)[: one.cards.showdown].tolist() for _ in range(boards)]
    return mean_of(head_to_head_on(one, two, drawn))


def head_to_head_on(
    one: StoredBlueprint, two: StoredBlueprint, boards: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """[board] what `one` wins against `two` per hand, over all hands; see `head_to_head`."""
    if one.game != two.game:
        raise SubgameError(
            "Only blueprints of the same game with the same bets can be compared hand by hand; let "
            "others play a match."
        )
    engine = _sweeps(one, (len(one.game.deck.hands),) * len(one.cards.counts))
    # Buckets of two blueprints may differ, so each hand is a bucket of its own.
    own = [np.arange(len(one.game.deck.hands), dtype=np.int16)[None]] * len(one.cards.counts)
    tables = [_by_bucket(made) for made in (one, two)]
    won = np.empty(len(boards))
    for k, board in enumerate(boards):
        ranks = rank_hands(np.array([board]), one.game.deck)
        first, second = (
            _by_hand(engine, made, table, board)
            for made, table in zip((one, two), tables, strict=True)
        )
        mixed = _mixed(engine, first, second), _mixed(engine, second, first)
        seats = [float(engine.values(0, sigma, ranks, own)[0]) for sigma in mixed]
        won[k] = (seats[0] - seats[1]) / 2 * one.game.unit[1]
    return won


def _sweeps(blueprint: StoredBlueprint, counts: tuple[int, ...]) -> Sweeps:
    from subgame.engines.numba.sampled import NumbaSweeps  # learning on a GPU needs no Numba

    return NumbaSweeps(blueprint.tree, counts, blueprint.game.deck)


def _by_bucket(blueprint: StoredBlueprint) -> list[Array]:
    """By street, [row, bucket] the probabilities of a blueprint."""
    engine = _sweeps(blueprint, blueprint.cards.counts)
    table = table_of(engine, blueprint)
    return [engine.street(table, s) for s in range(len(engine.counts))]


def _by_hand(
    engine: Sweeps, made: StoredBlueprint, table: list[Array], board: Sequence[int]
) -> Table:
    """The probabilities of a blueprint on a board, as a table with a bucket for each hand."""
    out = engine.zeros()
    for s, rows in enumerate(table):
        buckets = made.cards.of(tuple(board[: BOARD_CARDS[s]]))
        engine.street(out, s)[:, : len(buckets)] = rows[:, buckets]
    return out


def learned_response(
    blueprint: StoredBlueprint, trainer: Trainer, iterations: int, batches: int = 16
) -> HeadToHead:
    """What an opponent wins who learns against a blueprint in its buckets; mean of both seats.

    The opponent learns as in training, with the blueprint fixed, for some iterations of the
    `trainer`, whose recipe and buckets are the blueprint's, and is then evaluated on boards that
    neither has seen. It is at most the best response within the abstraction, so this is a lower
    bound of the abstract exploitability.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> trainer = Trainer(recipe)
    >>> learned_response(StoredBlueprint.of(trainer), trainer, 20).mean > 100
    True
    """
    if iterations < 1 or batches < 1:
        raise ArgumentError("iterations", "and batches must be at least 1.")
    fixed, won = table_of(trainer.engine, blueprint), []
    for p in (0, 1):
        sigma = learn(trainer, p, fixed, trainer.engine.zeros(), 0, iterations)
        won.append(values(trainer, sigma, p, batches))
    both = (won[0] + won[1]) / 2
    return mean_of(both * blueprint.game.unit[1])


def learn(
    trainer: Trainer,
    p: int,
    fixed: Table,
    regret: Table,
    done: int,
    iterations: int,
    boards: int = 0,
) -> Table:
    """Let player `p` learn against a `fixed` table, whose other rows are the opponent's.

    `regret` is what the player has learned in the iterations `done` before, and is added to. With
    `boards` the boards are those of so many iterations later. The result is a table of both
    players' strategies.
    """
    engine, unused = trainer.engine, trainer.engine.zeros()
    for k, rates in enumerate(trainer.schedule.discounts(done + 1, iterations).tolist()):
        at = FRESH + boards + done + k
        ranks, buckets = trainer.look_up(trainer.draw(at))
        sigma = facing(engine, p, engine.strategy(regret), fixed)
        sums = engine.deltas(p, sigma, ranks, buckets, at * len(ranks))
        sums *= 1 / len(ranks)
        engine.apply(p, sums, regret, unused, rates)
    return facing(engine, p, engine.strategy(regret), fixed)


def values(trainer: Trainer, sigma: Table, p: int, batches: int) -> NDArray[np.float64]:
    """[board] what player `p` wins by a table on boards that no training has seen, in chips."""
    results = []
    for k in range(batches):
        ranks, buckets = trainer.look_up(trainer.draw(2 * FRESH + k))
        results.append(as_numpy(trainer.engine.values(p, sigma, ranks, buckets)))
    return np.concatenate(results)


def mean_of(won: NDArray[np.float64]) -> HeadToHead:
    """The mean of [board] what is won, with its interval."""
    spread = float(won.std(ddof=1)) if len(won) > 1 else math.inf
    return HeadToHead(float(won.mean()), 1.96 * spread / math.sqrt(len(won)), len(won))


def table_of(engine: Sweeps, blueprint: StoredBlueprint) -> Table:
    """The probabilities of a blueprint as a table of the engine."""
    out = engine.zeros()
    for s, units in enumerate(blueprint.probabilities):
        rows = np.zeros((units.shape[0], engine.counts[s]), np.float32)
        rows[:, : units.shape[1]] = units
        engine.street(out, s)[:] = rows if isinstance(out, np.ndarray) else out.new_tensor(rows)
    return engine.strategy(out)


def facing(engine: Sweeps, p: int, mine: Table, theirs: Table) -> Table:
    """A table in which player `p` plays by `mine` and the opponent by `theirs`."""
    return _mixed(engine, mine, theirs) if p == 0 else _mixed(engine, theirs, mine)


def _mixed(engine: Sweeps, zero: Table, one: Table) -> Table:
    """A table in which player 0 plays by `zero` and player 1 by `one`."""
    out = zero * 1
    for s, (_, rows) in enumerate(engine.tree.player_rows):
        engine.street(out, s)[rows] = engine.street(one, s)[rows]
    return out
