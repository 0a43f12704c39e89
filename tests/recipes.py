"""Recipes of blueprints so small that they train in a moment."""

from __future__ import annotations

from subgame.blueprints.recipe import Recipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer

FLOP = Recipe(
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


def trained(recipe: Recipe, iterations: int) -> StoredBlueprint:
    trainer = Trainer(recipe)
    trainer.advance(iterations)
    return StoredBlueprint.of(trainer)
