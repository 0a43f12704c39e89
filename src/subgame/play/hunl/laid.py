"""A blueprint laid over a street that is solved: what a solution is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import DETERMINISTIC, AbstractDecision, FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.arrays import as_numpy
from subgame.engines.street import StreetEngine
from subgame.games.holdem.game import HoldemState
from subgame.games.holdem.rules import Betting
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed, Reached
from subgame.tree.public_tree import both
from subgame.tree.ranges.betting_tree import Street

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WARM = 10.0
"""Regrets with which a solve begins, in pots for each hand of the opponent that is met."""


class Laid:
    """What a blueprint does below a real betting, in the bets that are solved."""

    def __init__(self, blueprint: StoredBlueprint, hand: FollowedBetting) -> None:
        """`hand` is the betting above, and the blueprint's that stands for it."""
        self.blueprint, self.hand = blueprint, hand

    def rows(self, state: Betting, names: Sequence[str], board: Sequence[int]) -> Floats:
        """[hand, action] what the player to act does; checks and calls if nothing is known.

        An action of the blueprint counts as the nearest of the real ones, which are `names`.
        """
        out = np.zeros((self.blueprint.game.deck.num_hands, len(names)))
        decision = self._decision(state)
        if decision is None:
            out[:, names.index("c")] = 1
            return out
        probabilities = self._probabilities(decision, board)
        for k, action in enumerate(decision.nearest(state, names)):
            out[:, action] += probabilities[:, k]
        return out

    def instead(self, here: Reached, action: str) -> Floats | None:
        """[hand] how likely the player to act makes a move; None if the blueprint has no such."""
        assert isinstance(here, ReachedRanges)
        decision = self._decision(here.betting)
        made = [] if decision is None else decision.made_as(here.betting, action)
        if decision is None or not made:
            return None
        share: Floats = self._probabilities(decision, here.board)[:, made].sum(1)
        return share

    def _decision(self, state: Betting) -> AbstractDecision | None:
        """The blueprint's decision that stands for a real one; None if it knows nothing like it."""
        known = self.blueprint.actions
        standing = self.hand.standing_for(state, known, DETERMINISTIC)
        there = max(standing, key=lambda betting: standing[betting], default=None)
        return None if there is None else AbstractDecision(there, known(there))

    def _probabilities(self, decision: AbstractDecision, board: Sequence[int]) -> Floats:
        """[hand, action of the blueprint] how likely each one is."""
        place = HoldemState(self.blueprint.game, (0, 0), tuple(board), decision.betting)
        return self.blueprint.range_strategy(place)[1]

    def over_street(
        self, street: Street, on: StreetEngine, board: Sequence[int], hands: Sequence[Ints]
    ) -> tuple[Floats, Floats]:
        """[own action, slot] of both players as the engine of a street has them.

        `hands` [slot] are hands of the deck. Choices at leaves are as likely as each other.
        """

        def laid(p: int) -> Floats:
            side = on.sides[p]
            width = max((d.stop - d.first for d in side.decisions), default=1)
            sigma = np.full((side.rows - side.roots, len(hands[p])), 1 / width)
            for state, first, names in zip(
                street.states[p], street.first[p], street.actions[p], strict=True
            ):
                here = slice(first - side.roots, first - side.roots + len(names))
                sigma[here] = self.rows(state, names, board)[hands[p]].T
            return sigma

        return both(laid)

    def over_last_street(self, here: ReachedRanges) -> Followed | None:
        """Both players' strategies over the subgame's tree; None if more cards are to come."""
        tree = here.subgame.tree
        if len(tree.streets) > 1:
            return None
        street = tree.streets[0]

        def laid(p: int) -> NDArray[np.float32]:
            sigma = np.zeros(tree.stored(p), np.float32)
            for state, names in zip(street.states[p], street.actions[p], strict=True):
                cells = replace(here, betting=state).cells(tree)
                assert cells is not None
                held = cells[:, 0] >= 0
                sigma[cells[held]] = self.rows(state, names, here.board)[held]
            return sigma

        return Followed(tree, both(laid))


def warm(
    on: StreetEngine, laid: Sequence[Floats], reach: Sequence[Floats], pot: float
) -> tuple[Floats, Floats]:
    """[own action, slot] regrets from which a solve begins, in proportion to what is `laid`.

    The first iteration plays the blueprint (Brown & Sandholm 2016, Strategy-Based Warm Starting).
    """

    def regrets(p: int) -> Floats:
        met = as_numpy(on.opposing(p, on.array(reach[1 - p])))[0]
        begun: Floats = WARM * pot * laid[p] * met
        return begun

    return both(regrets)
