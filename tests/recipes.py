"""Recipes of blueprints so small that they train in a moment, and a walk over their actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import HoldemState
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.below import FACTOR

FLOP = BlueprintRecipe(
    "flop",
    "preflop: 1x / cap 1; flop: 1x / cap 2",
    (None, None),
    600,
    ranks="JQKA",
    suits="hs",
    last="flop",
    boards=8,
    pairs=60,
)


def trained(recipe: BlueprintRecipe, iterations: int) -> StoredBlueprint:
    trainer = Trainer(recipe)
    trainer.advance(iterations)
    return StoredBlueprint.of(trainer)


class Walk:
    """What player 0 wins with one pair of hands, action by action; one player may be biased."""

    def __init__(
        self, blueprint: StoredBlueprint, board: tuple[int, ...], choice: int, biased: int = 0
    ) -> None:
        self.blueprint, self.board, self.choice = blueprint, board, choice
        self.biased = biased
        self.ranks = rank_hands(board, blueprint.game.deck)

    def value(self, betting: Betting, hands: tuple[int, int]) -> float:
        if betting.folded >= 0:
            return float(betting.net()[0])
        if betting.is_over:
            one, two = (int(self.ranks[hand]) for hand in hands)
            return float(betting.at_stake) * float(np.sign(one - two))
        p, cards = betting.player, (0, 3, 4, 5)[betting.street]
        state = HoldemState(self.blueprint.game, (0, 0), self.board[:cards], betting)
        actions, rows = self.blueprint.range_strategy(state)
        share: NDArray[np.float64] = rows[hands[p]].copy()
        if p == self.biased and self.choice:
            share[[("fcr".index(a[0]) + 1) == self.choice for a in actions]] *= FACTOR
        share /= share.sum()
        result = 0.0
        for action, part in zip(actions, share.tolist(), strict=True):
            result += part * self.value(betting.child(action), hands) if part else 0.0
        return result
