"""The best that can be played below a frontier, by linear program: it evaluates a trunk alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from subgame.engines.factory import engine
from subgame.errors import brief
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.refine.subgame import At, Subgame
from subgame.solve.program import constraints, maximin
from subgame.tree.public_tree import PublicTree, both
from subgame.tree.sequence.tree import sequence_tree
from subgame.tree.strategy import Strategy


class Completion(NamedTuple):
    """A trunk with the best that can be played below it."""

    strategy: Strategy
    value: float
    """What the player gets at least, whatever the opponent does."""

    def __repr__(self) -> str:
        return brief(self)


def best_completion(
    tree: PublicTree, strategy: Strategy, *, at: At | Sequence[Subgame], player: int
) -> Completion:
    """The best that `player` can play below a frontier, if held to `strategy` above it.

    A linear program over the whole game with the player's plan above the frontier fixed: what
    perfect safe re-solving of every subgame at once would reach. It evaluates a trunk alone.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> rock = sg.Strategy.from_table(tree, {"P1 to move": {"Rock": 1}})
    >>> best_completion(tree, rock, at="P2 to move", player=0).value
    -1.0
    """
    own, other, run = tree.players[player], tree.players[1 - player], engine(tree)
    free = np.zeros(own.num_sequences, dtype=bool)
    for subgame in sequence_subgames(tree, at):
        slots = len(subgame.tree.players[player].slots)
        free[subgame.places[player][slots:]] = True
    plan = run.plan(player, strategy.probs[player])
    parts = constraints(sequence_tree(tree), player)
    least, most = np.where(free, 0.0, plan), np.where(free, np.inf, plan)
    optimum = maximin(tree.game_name, parts, other.reach, (least, most))
    sigma = run.behaviour(player, np.maximum(optimum.x[: own.num_sequences], 0))
    held = strategy.probs
    probs = both(lambda p: np.where(free, sigma, held[p]) if p == player else held[p].copy())
    return Completion(Strategy(tree, probs), -float(optimum.fun))
