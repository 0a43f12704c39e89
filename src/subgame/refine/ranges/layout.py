"""Strategies and arrays moved between hold'em trees that have the same boards."""

from __future__ import annotations

from subgame.engines.arrays import Floats
from subgame.tree.public_tree import Numbers
from subgame.tree.ranges.tree import RangeTree


def flat(values: Floats) -> Floats:
    """[way * boards + board, hand] from [way, board, hand]."""
    return values.reshape(-1, values.shape[2])


def transfer(
    source: RangeTree, sigma: Numbers, target: RangeTree, into: Numbers, p: int
) -> Numbers:
    """Write a strategy to where its decisions stand in another tree with the same boards.

    Decisions are known by their betting; those that the other tree lacks are left out. Actions that
    only the other tree has get probability 0.
    """
    mine, other = source.players[p], target.players[p]
    top = len(target.streets) - len(source.streets)
    for s, street in enumerate(source.streets):
        there = {state.history: j for j, state in enumerate(target.streets[top + s].states[p])}
        for j, state in enumerate(street.states[p]):
            if (k := there.get(state.history)) is None:
                continue
            block, made = mine.street_block(sigma, s), other.street_block(into, top + s)
            names, cut = target.streets[top + s].actions[p][k], other.street_actions(top + s, k)
            made[:, cut] = 0
            for a, name in enumerate(street.actions[p][j], mine.street_actions(s, j).start):
                made[:, cut.start + names.index(name)] = block[:, a]
    return into
