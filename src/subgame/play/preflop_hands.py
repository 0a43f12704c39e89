"""What each hand wins before the flop, by self-play of a blueprint and its table of leaves.

`subgame.play.hunl.preflop_values` has, for each way to the flop, what each pair of classes of hands
wins. Here the betting before it is summed: both players follow the blueprint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.preflop_values import PreflopValues

Floats = NDArray[np.float64]
BLUEPRINT = 0
"""The first continuation of the table: the player goes on by the blueprint."""


class PreflopHands:
    """Values of hands before the flop. Axes: i = class of the player, j = class of the opponent."""

    def __init__(self, blueprint: StoredBlueprint) -> None:
        self.blueprint, self.table = blueprint, PreflopValues.of(blueprint)
        self.classes = self.table.classes
        self.size = np.bincount(self.classes).astype(np.float64)
        self.meets = self.table.pairs / self.size[:, None]  # [i, j] hands that one hand may meet
        self.leaf = {leaf.history: k for k, leaf in enumerate(self.table.leaves)}

    def values(self, abstract: Betting, scale: float, p: int, reach: Floats) -> Floats:
        """[hand] what each hand of player `p` wins from a betting of the blueprint on.

        `reach` is [hand] that of the other player; pots are `scale` times the blueprint's.
        """
        theirs = np.bincount(self.classes, reach, len(self.size)) / self.size
        met = self.meets @ theirs
        won = self._won(abstract, p, theirs) * scale
        values: Floats = (won / np.where(met > 0, met, 1.0))[self.classes]
        return values

    def _won(self, here: Betting, p: int, theirs: Floats) -> Floats:
        """[i] what a hand wins, times the reach of the hands that it may meet."""
        if here.is_over and not here.is_showdown:
            return float(here.net()[p]) * (self.meets @ theirs)
        if here.is_over:
            return float(here.at_stake) * ((self.meets * self.table.equity) @ theirs)
        if here.street > 0:
            k = self.leaf.get(here.history)
            paid = self.table.values[p, BLUEPRINT, k] if k is not None else self.table.equity / 2
            return float(here.pot) * ((self.meets * paid) @ theirs)
        decision = self.blueprint.decision(here)
        units = self.blueprint.rows(decision).astype(np.float64)  # [action, class]
        share = units / units.sum(0)
        won = np.zeros(len(self.size))
        for action, row in zip(self.blueprint.tree.actions(decision), share, strict=True):
            if here.player == p:
                won += row * self._won(here.child(action), p, theirs)
            else:
                won += self._won(here.child(action), p, theirs * row)
        return won
