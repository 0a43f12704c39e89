"""Compiles Numba's kernels, so that no test does: ``make test`` runs this while it checks types."""

from __future__ import annotations

from dataclasses import replace

import subgame as sg
from subgame.blueprints.recipe import METHODS, BlueprintRecipe
from subgame.blueprints.training import Trainer
from subgame.engines.numba import street_kernels
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.games.holdem.cards import Deck
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.tree.ranges.tree import range_tree


def ranges() -> None:
    """Kernels of hold'em trees."""
    game = sg.holdem.endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    tree = sg.compile(game)
    for schedule, storage in (("dcfr", "float32"), ("cfr-br", "float32"), ("dcfr", "int16")):
        sg.solve(tree, schedule, iterations=2, storage=storage)
    sg.refine(tree, sg.Strategy.uniform(tree), at="root", technique="resolve", iterations=2)
    plain = NumbaRangeEngine(range_tree(tree), 1, "int16")
    plain.fused = False
    Cfr(plain).advance(parse("dcfr").discounts(1, 2), 1)
    street_kernels.load()


def sequences() -> None:
    """Kernels of sequence trees."""
    tree = sg.compile(sg.games.load("kuhn"))
    for schedule in ("cfr+", "cfr-br", "mccfr", "mccfr(sampling=chance)", "mccfr(sampling=public)"):
        sg.solve(tree, schedule, iterations=2)
    uniform = sg.Strategy.uniform(tree)
    sg.refine(tree, uniform, at=["p", "b"], technique="distributional", iterations=2)


def blueprints() -> None:
    """Kernels of hands' strengths and of sampled boards."""
    buckets = (None, 2, 2, 2)
    tiny = BlueprintRecipe(
        "tiny", "all: a / cap 1", buckets, 600, ranks="TJQKA", suits="cd", boards=2
    )
    for method in METHODS:
        Trainer(replace(tiny, method=method)).advance(1)


if __name__ == "__main__":
    ranges()
    sequences()
    blueprints()
