"""Solving depth-limited trees: with a gadget on top, by self-play, and how good the result can be.

Brown, Sandholm & Amos 2018, Sec. 4: the self-generative approach, and Proposition 1's condition on
the root infosets, which is what the gadgets of `subgame.refine.gadgets` enforce.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from subgame.engines.factory import engine
from subgame.errors import brief
from subgame.refine.depth.continuations import Continuations
from subgame.refine.depth.limit import DepthLimited, LeafOptions, Limit, depth_limited
from subgame.refine.depth.ranges import RangeLimit
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.payoffs import Vector
from subgame.refine.subgame import At, Subgame, sequence_subgames
from subgame.solve.evaluate import best_response_strategy, exploitability
from subgame.solve.limits import check_count
from subgame.solve.lp import constraints, maximin
from subgame.solve.options import StopOptions, check_options, made_of, with_options
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Limits, whole_solves
from subgame.tree.parts import both
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import sequence_tree
from subgame.tree.strategy import Strategy

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

    def to_pandas(self) -> Any:
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
    >>> from subgame.refine.depth.continuations import all_pure
    >>> theirs = all_pure(tree, at=["p", "b"], player=1)
    >>> limited = sg.depth_limited(tree, blueprint, at=["p", "b"], continuations=theirs)
    >>> solved = sg.solve_limited(limited)
    >>> round(sg.exploitability(tree, solved.strategy).per_seat[0] * 18, 6)
    1.0
    """
    check_options(solve_limited, stop)
    gadget = None if technique is None else technique_named(technique)
    limits = made_of(Limits, stop)
    found, strategy = limited.solved(gadget, schedule, limits, alternatives, device)
    return LimitedSolution(limited, found, strategy)


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
    grown, choices = Continuations.of(blueprint, o), 0
    limited: DepthLimited | RangeLimit | None = None
    while len(grown) < count or watch is not None:
        if limited is not None:
            limited = limited.grown(grown)
        else:
            limited = depth_limited(
                tree, blueprint, at=at, player=player, continuations=grown, **leaves
            )
        if limited.choices == choices:
            return grown[:-1]
        choices = limited.choices
        solved = solve_limited(limited, schedule=schedule, iterations=iterations, device=device)
        if watch is not None:
            watch(solved)
        has = solved.result.exploitability.per_seat[player]
        value = exploitability(tree, solved.strategy, device=device).per_seat[player]
        if len(grown) == count or value <= has + CLOSED:
            break
        reply = best_response_strategy(tree, solved.strategy, o, device)
        grown = grown.add(f"response {len(grown)}", reply)
    return grown


class Completion(NamedTuple):
    """A trunk with the best that can be played below it."""

    strategy: Strategy
    value: float
    """What the player gets at least, whatever the opponent does."""

    def __repr__(self) -> str:
        return brief(self)


def best_completion(
    tree: PublicTree, strategy: Strategy, *, at: At | Sequence[Subgame], player: int
) -> Completion:
    """The best that `player` can play below a frontier, if held to `strategy` above it.

    A linear program over the whole game with the player's plan above the frontier fixed: what
    perfect safe re-solving of every subgame at once would reach. It evaluates a trunk alone.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> rock = sg.Strategy.from_table(tree, {"P1 to move": {"Rock": 1}})
    >>> best_completion(tree, rock, at="P2 to move", player=0).value
    -1.0
    """
    own, other, run = tree.players[player], tree.players[1 - player], engine(tree)
    free = np.zeros(own.num_sequences, dtype=bool)
    for subgame in sequence_subgames(tree, at):
        slots = len(subgame.tree.players[player].slots)
        free[subgame.places[player][slots:]] = True
    plan = run.plan(player, strategy.probs[player])
    parts = constraints(sequence_tree(tree), player)
    least, most = np.where(free, 0.0, plan), np.where(free, np.inf, plan)
    found = maximin(tree.game_name, parts, other.reach, (least, most))
    sigma = run.behaviour(player, np.maximum(found.x[: own.num_sequences], 0))
    held = strategy.probs
    probs = both(lambda p: np.where(free, sigma, held[p]) if p == player else held[p].copy())
    return Completion(Strategy(tree, probs), -float(found.fun))
