"""Depth-limited solving with multi-valued states (Brown, Sandholm & Amos 2018, Sec. 4).

A depth limit changes a game's leaves and nothing else: where the limit is, the opponent picks,
separately at each infoset there, one of K strategies for the rest of the game, and is paid its
value. The result is a tree like any other, so that every schedule, evaluation, the linear program
and every gadget work on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from subgame.errors import SubgameError, brief
from subgame.games.base import Game
from subgame.refine.behind import GadgetOptions, Solving
from subgame.refine.continuations import Continuations, self_generation
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.limit import Chooser, Evaluator, LeafOptions, Limit, Play
from subgame.refine.ranges.limit import RangeLimit, limited_ranges
from subgame.refine.ranges.play import play_ranges
from subgame.refine.sequence.leaves import exact
from subgame.refine.sequence.limit import DepthLimited, limited_tree
from subgame.refine.sequence.play import play_histories
from subgame.refine.subgame import At, Subgame, Vector
from subgame.refine.verbs.cut import by_kind
from subgame.solve.evaluate import Exploitability, best_response_strategy, exploitability
from subgame.solve.limits import StopOptions, check_count, check_options, made_of, with_options
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Limits, whole_solves
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from pandas import DataFrame


@with_options(LeafOptions, Limit)
def depth_limited(
    game: Game | PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    player: int = 0,
    continuations: Continuations | None = None,
    own: Continuations | None = None,
    within: Subgame | None = None,
    **leaves: Unpack[LeafOptions],
) -> DepthLimited | RangeLimit:
    """The game down to the frontier `at`, with multi-valued states there (2018, Sec. 4).

    `player` is who we are. At each infoset at the frontier the opponent picks one of
    `continuations`, made by `biased`, `self_generated`, `all_pure` or by hand; without any the
    opponent plays the blueprint on, the plain depth limit that fails in RPS+. We play the blueprint
    on, or pick as well if `own` continuations are given. `values`, `weaken`, `penalty` and `device`
    are those of `LeafOptions`.

    With `within`, a subgame that `cut` gave, the tree is that of the subgame, to be solved with a
    gadget on top by `solve_limited`. The limit of a hold'em tree lies at the end of its first
    street, such as ``"before the turn"``; values there are exact, and only the opponent chooses.

    >>> import subgame as sg
    >>> from subgame.refine.continuations import biased
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> blueprint = sg.Strategy.published(tree, "equilibrium")
    >>> theirs = biased(blueprint, player=1)
    >>> limited = sg.depth_limited(tree, blueprint, at="P2 to move", continuations=theirs)
    >>> {move: round(p, 9) for move, p in sg.solve_lp(limited).strategy["P1 to move"].items()}
    {'Rock': 0.4, 'Paper': 0.4, 'Scissors': 0.2}
    """
    check_options(depth_limited, leaves)
    limit = Limit(blueprint, at, player, continuations, own, within, **leaves)
    return limited_at(_tree_of(game, blueprint), limit)


def limited_at(tree: PublicTree, limit: Limit) -> DepthLimited | RangeLimit:
    """A tree down to a depth limit, of either kind."""
    if limit.values is exact:  # which is what no evaluator means
        limit = replace(limit, values=None)
    return by_kind(tree, partial(limited_tree, limit=limit), partial(limited_ranges, limit=limit))


def _tree_of(game: Game | PublicTree, blueprint: Strategy) -> PublicTree:
    """The compiled game, after checking that the blueprint is one for it."""
    if not isinstance(blueprint, Strategy):
        raise SubgameError(f"The blueprint must be a Strategy, not {type(blueprint).__name__}.")
    tree = blueprint.tree
    if isinstance(game, Game) and str(game) == tree.game_name:
        return tree
    if isinstance(game, PublicTree) and (game is tree or game.digest == tree.digest):
        return game
    raise SubgameError(f"The blueprint was made for {tree!r}, not for {game!r}.")


CLOSED = 1e-9
"""A best response that wins no more than this beyond the solution has nothing to add."""


@dataclass(frozen=True, eq=False)
class LimitedSolution:
    """A solved depth-limited tree."""

    __repr__ = brief

    limited: DepthLimited | RangeLimit
    result: Result
    """Of the tree that was solved: the depth-limited one, or the gadget game on it."""
    strategy: Strategy
    """Over the whole game: as solved above the limit, `DepthLimited.complete` below it."""

    def to_pandas(self) -> DataFrame:
        """A pandas data frame of the strategy: player, infoset, action, probability."""
        return self.strategy.to_pandas()


@with_options(StopOptions)
def solve_limited(
    limited: DepthLimited | RangeLimit,
    *,
    technique: Gadget | str | None = None,
    schedule: Schedule | str | None = None,
    alternatives: Vector | None = None,
    device: str | None = None,
    **stop: Unpack[StopOptions],
) -> LimitedSolution:
    """Solve a depth-limited tree: a sequence tree by linear program, or by a CFR `schedule`.

    Hold'em trees are solved by DCFR unless another schedule is given. A CFR schedule stops as
    `StopOptions` say; exploitability is that of the result: in the depth-limited tree, or in the
    gadget game on it.

    One that starts with the game is solved as it is. One that starts `within` a subgame needs a
    `technique` for the root: "unsafe" takes both players' reaches from the blueprint; "resolve",
    "maxmargin" and the others hold the opponent to the blueprint's counterfactual best-response
    values, as Proposition 1 asks, or to `alternatives` (normalised, per root infoset), such as
    those carried over from a subgame solved before.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> blueprint = sg.solve_lp(tree).strategy
    >>> from subgame.refine.sequence.continuations import all_pure
    >>> theirs = all_pure(tree, at=["p", "b"], player=1)
    >>> limited = sg.depth_limited(tree, blueprint, at=["p", "b"], continuations=theirs)
    >>> solved = sg.solve_limited(limited)
    >>> round(sg.exploitability(tree, solved.strategy).per_seat[0] * 18, 6)
    1.0
    """
    check_options(solve_limited, stop)
    gadget = None if technique is None else technique_named(technique)
    limits = made_of(Limits, stop)
    result, strategy = limited.solved(gadget, schedule, limits, alternatives, device)
    return LimitedSolution(limited, result, strategy)


@whole_solves()
@with_options(LeafOptions, Limit)
def self_generated(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    player: int = 0,
    count: int = 10,
    schedule: Schedule | str | None = None,
    iterations: int | None = None,
    watch: Callable[[LimitedSolution], None] | None = None,
    **leaves: Unpack[LeafOptions],
) -> Continuations:
    """Continuations for the opponent of `player`, grown by self-play (2018, Sec. 4).

    Starting from the blueprint alone: solve the depth-limited game, let the opponent best-respond
    in the whole game to our solution (the blueprint below the limit), add that response to the
    continuations, and again until there are `count`. It ends earlier if the best response wins
    nothing beyond what the continuations give, or is one of them. `watch` is told every
    solution on the way; the other arguments are those of `depth_limited` and `solve_limited`.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> blueprint = sg.Strategy.published(tree, "equilibrium")
    >>> sg.self_generated(tree, blueprint, at="P2 to move").names[:2]
    ('blueprint', 'response 1')
    """
    check_count("count", count)
    check_options(self_generated, leaves)
    o, device = 1 - player, leaves.get("device")
    limited: DepthLimited | RangeLimit | None = None

    def respond(grown: Continuations) -> Continuations:
        nonlocal limited
        before = 0 if limited is None else limited.choices
        if limited is not None:
            limited = limited.grown(grown)
        else:
            limited = depth_limited(
                tree, blueprint, at=at, player=player, continuations=grown, **leaves
            )
        if limited.choices == before:  # the last response was one of them
            return grown[:-1]
        solved = solve_limited(limited, schedule=schedule, iterations=iterations, device=device)
        if watch is not None:
            watch(solved)
        has = solved.result.exploitability.per_seat[player]
        value = exploitability(tree, solved.strategy, device=device).per_seat[player]
        if len(grown) == count or value <= has + CLOSED:
            return grown
        reply = best_response_strategy(tree, solved.strategy, o, device)
        return grown.add(f"response {len(grown)}", reply)

    grown = self_generation(Continuations.of(blueprint, o), count, respond)
    return grown if watch is None or len(grown) < count else respond(grown)


@dataclass(frozen=True, eq=False)
class LimitedPlay:
    """A blueprint as it is played a few moves ahead at a time."""

    strategy: Strategy
    """Of the player who plays so; the opponent's part is the blueprint's."""
    player: int
    solved: tuple[tuple[int, str], ...]
    """(how many limits lie before it, public state) of every subgame that was solved."""
    before: Exploitability
    after: Exploitability
    seconds: float

    def __repr__(self) -> str:
        p = self.player
        return (
            f"<LimitedPlay of player {p} in {self.strategy.tree.game_name}: {len(self.solved)} "
            f"subgames, {self.before.per_seat[p]:.4g} -> {self.after.per_seat[p]:.4g} lost>"
        )


@whole_solves()
@with_options(GadgetOptions)
def play_limited(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    at: Sequence[At] | None = None,
    player: int = 0,
    continuations: Chooser | None = None,
    technique: Gadget | str = "resolve",
    values: Evaluator | None = None,
    **options: Unpack[GadgetOptions],
) -> LimitedPlay:
    """Play a blueprint by depth-limited solving, again at each of the frontiers `at`.

    The frontiers lie one below another; by default they are the public states after the
    opponent's first, second, ... action. `continuations` says what the opponent may choose from at
    a limit (by default the blueprint and its biased forms). The rest is as in `depth_limited` and
    `refine`; sequence trees are solved by linear program if no schedule is given. A hold'em tree is
    solved to the end of its first street, and then to the end.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> played = play_limited(tree, sg.Strategy.uniform(tree), player=0)
    >>> round(played.before.per_seat[0], 3), played.after.per_seat[0] < played.before.per_seat[0]
    (0.417, True)
    """
    began = time.perf_counter()
    if player not in (0, 1):
        raise SubgameError(f"A player is 0 or 1, not {player}.")
    check_options(play_limited, options)
    gadget, solving = technique_named(technique), made_of(Solving, options)
    play = Play(blueprint, at, player, continuations, gadget, solving, values)
    strategy, solved = by_kind(
        tree, partial(play_histories, play=play), partial(play_ranges, play=play)
    )
    before, after = (
        exploitability(tree, strategy, device=solving.device) for strategy in (blueprint, strategy)
    )
    return LimitedPlay(strategy, player, solved, before, after, time.perf_counter() - began)
