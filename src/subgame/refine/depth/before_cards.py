"""`BeforeCards`: a gadget before the cards of a street are dealt."""

from __future__ import annotations

from typing import cast

from subgame.engines.arrays import Array, as_kind
from subgame.engines.contract import RangeEngine
from subgame.solve.cfr import Learner
from subgame.tree.ranges.tree import RangeTree


class BeforeCards:
    """A gadget that stands before the cards of a street: one choice for all boards that follow.

    A depth limit of hold'em lies before the next street's cards, so that the opponent's values
    there are known by hand, not by hand and board. What is solved below it are all boards of the
    street at once (`RangeEngine.stage`), with this as the learner of `solve.cfr.Cfr`: the entry
    that `learner` chooses is carried down to every board, and values come up summed over boards.
    """

    def __init__(self, learner: Learner, run: RangeEngine, street: int) -> None:
        """`run` is of the tree that holds the `street` and the one above it.

        The arrays of `learner` are ``[leaf * boards + board, hand]`` of the street above: one row
        per leaf, if that has a single board.
        """
        self.learner, self.run, self.street = learner, run, street
        self.player = learner.player
        first = cast(RangeTree, run.tree).units.first
        self.above, self.here = (first[s + 1] - first[s] for s in (street - 1, street))
        """Boards of the street above, and of the street."""
        self.like = learner.enter()

    def enter(self) -> Array:
        """[way * boards + board, hand] the opponent's reach on the coming iteration."""
        entry = self.learner.enter().reshape(-1, self.above, self.like.shape[1])
        found = self.run.enter(self.player, entry, self.street)
        return found.reshape(-1, found.shape[2])

    def observe(self, values: Array, discounts: Array) -> None:
        """Learn from the values of all boards together; see `subgame.solve.cfr.Learner`."""
        here = values.reshape(-1, self.here, values.shape[1])
        found = self.run.rise(self.player, here, self.street)
        risen = as_kind(found[..., : self.like.shape[1]], self.like).reshape(self.like.shape)
        self.learner.observe(risen, discounts)
