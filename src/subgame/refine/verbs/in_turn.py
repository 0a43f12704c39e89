"""`refine_in_turn`: overlapping subgames one after another, each on top of the last."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from subgame.errors import SubgameError
from subgame.refine.behind import RefineOptions
from subgame.refine.gadgets import Gadget
from subgame.refine.subgame import At, Subgame
from subgame.refine.verbs.cut import subgames_of
from subgame.refine.verbs.refine import Refinement, refine
from subgame.solve.options import with_options
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy


@with_options(RefineOptions)
def refine_in_turn(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    technique: str | Gadget = "resolve",
    player: int | None = None,
    **options: Any,
) -> Refinement:
    """Refine subgames one after another; each solution is part of the blueprint of the next.

    With a safe technique no step raises exploitability, also where subgames overlap (Zhang &
    Sandholm 2021: results of subgame solving are incorporated back into the blueprint).

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("dark-hex"))
    >>> parts = sg.cut(tree, "after 2 turns", knowledge=1)
    >>> result = refine_in_turn(tree, sg.Strategy.uniform(tree), at=parts, schedule="lp")
    >>> result.after.mean < result.before.mean
    True
    """
    began, strategy = time.perf_counter(), blueprint
    steps = subgames_of(tree, at, player)
    if not steps:
        raise SubgameError("No subgame has a decision of this player.")
    done = []
    for subgame, p in steps:
        done.append(refine(tree, strategy, at=[subgame], technique=technique, player=p, **options))
        strategy = done[-1].strategy
    return Refinement(
        game=done[0].game,
        technique=done[0].technique,
        schedule=done[0].schedule,
        strategy=strategy,
        parts=tuple(part for result in done for part in result.parts),
        before=done[0].before,
        after=done[-1].after,
        seconds=time.perf_counter() - began,
    )
