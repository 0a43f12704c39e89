"""Decomposition: a game kept as a trunk and the values at the roots of its subgames.

Burch et al. 2014. `compact` forgets what a strategy does in its subgames and keeps the opponent's
counterfactual values at their roots; `cfr_d` finds a trunk strategy and such values without ever
holding more than the trunk and one subgame. Either way a subgame's strategy is reconstructed when
play reaches it, by the re-solving gadget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from subgame.games.base import Game
from subgame.refine.compact import CfrD, Compact
from subgame.refine.ranges.decompose import cfr_d_ranges, compact_ranges
from subgame.refine.sequence.decompose import cfr_d_histories, compact_histories
from subgame.refine.subgame import At
from subgame.refine.verbs.cut import by_kind
from subgame.solve.evaluate import exploitability
from subgame.solve.limits import check_count
from subgame.solve.schedule import CFR, Schedule, parse
from subgame.solve.solver import whole_solves
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy


def compact(tree: PublicTree, strategy: Strategy, *, at: At) -> Compact:
    """Forget a solved strategy below a frontier, keeping what re-solving needs.

    The values kept are counterfactual best-response values against the strategy, so that a
    re-solved subgame lets neither player gain (Burch et al. 2014, Theorem 1).
    """
    values: Compact = by_kind(
        tree,
        lambda tree: compact_histories(tree, strategy, at),
        lambda tree: compact_ranges(tree, strategy, at),
    )
    notes = {"exploitability": float(exploitability(tree, strategy))}
    return replace(values, notes=notes)


@whole_solves()
def cfr_d(
    game: Game | PublicTree,
    *,
    at: At,
    iterations: int = 1000,
    subgame_iterations: int = 100,
    schedule: Schedule | str | None = None,
    subgame_schedule: Schedule | str | None = None,
    keep_subgames: bool = True,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[int, Callable[[], Compact]], None] | None = None,
) -> Compact:
    """CFR-D (Burch et al. 2014): solve a game while holding its trunk and one subgame's strategy.

    On each of `iterations` the subgames are solved one after the other under the current trunk
    strategy (`subgame_iterations` of `subgame_schedule`, from nothing), their root values update
    the trunk, and the solutions are thrown away; only the average root values stay. With
    ``keep_subgames=False`` the subgames' rules are compiled anew each time as well, so that peak
    memory is really that of the trunk and one subgame; that is slow. `watch` is called after each
    iteration with a function that gives the result so far. `at` is a frontier, as `cut` takes it.

    The trunk of a hold'em tree is its first street, so `at` is such as ``"after the turn"``. All
    boards and ways out of it are solved together, on any `device`.

    >>> import subgame as sg
    >>> game = sg.games.load("leduc-ranks")
    >>> compact = cfr_d(game, at="after round 1", iterations=3, subgame_iterations=5)
    >>> len(compact.values)  # ways of betting in round 1 without a fold
    5
    """
    check_count("iterations", iterations)
    check_count("subgame_iterations", subgame_iterations)
    plan, inner = (
        CFR() if variant is None else parse(variant) for variant in (schedule, subgame_schedule)
    )
    tell, show = progress or (lambda t, of: None), watch or (lambda t, result: None)
    how = CfrD(at, iterations, subgame_iterations, plan, inner, keep_subgames, device, tell, show)
    if isinstance(game, Game):
        return cfr_d_histories(game, how)
    return by_kind(game, partial(cfr_d_histories, how=how), partial(cfr_d_ranges, how=how))
