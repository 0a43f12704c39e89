"""Depth-limited solving of hold'em: the first street, with what follows as a table of values.

What `limit` does history by history on sequence trees, with the limit before the next street's
cards (Brown, Sandholm & Amos 2018, Sec. 4 and 6.1). At each way out of the street, with each hand,
the opponent picks one of K strategies for the rest of the game; we play the blueprint on. The
value of that is a number per leaf, continuation and pair of hands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from subgame.engines.arrays import Array, Floats, as_numpy, namespace
from subgame.engines.contract import RangeEngine
from subgame.engines.factory import engine
from subgame.engines.street import LeafTable, StreetEngine
from subgame.errors import SubgameError, brief
from subgame.frozen import Frozen
from subgame.games.holdem.sizes import STREETS
from subgame.refine.behind import GadgetRun, Technique
from subgame.refine.continuations import Continuations
from subgame.refine.gadgets import Gadget, Unsafe
from subgame.refine.learners import GadgetInputs
from subgame.refine.limit import Limit
from subgame.refine.ranges.pairs import PairTables
from subgame.refine.ranges.subgames import RangeSubgame, cut_range_tree
from subgame.refine.subgame import Trunk, Vector, vector
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Limits, Run, complete
from subgame.tree.public_tree import Numbers, restrict
from subgame.tree.ranges.merging import Unmerged, unmerged
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.strategy import Strategy

Pair = tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class RangeLimit(Frozen):
    """The first street of a hold'em tree down to a depth limit, and the way back to the game."""

    __repr__ = brief

    whole: RangeTree
    blueprint: Strategy
    player: int
    """Who we are: the other one chooses among continuations at the limit."""
    continuations: Continuations
    within: RangeSubgame
    """What is solved: the tree itself, or a subgame of it."""
    plain: Unmerged
    """Its tree with every hand for itself."""
    device: str | None

    @property
    def standard_error(self) -> float:
        """Of the values at the limit, which are exact."""
        return 0.0

    @property
    def choices(self) -> int:
        """How many continuations the opponent has to choose from."""
        return len(self.continuations)

    @cached_property
    def run(self) -> RangeEngine:
        """The engine of the whole of it."""
        return engine(self.plain.tree, device=self.device)

    @cached_property
    def batch(self) -> RangeEngine:
        """The engine of all that follows the limit."""
        return self.run.stage(self.plain.tree.streets[1:])

    @cached_property
    def pairs(self) -> PairTables:
        """What computes values by pair of hands at the limit."""
        return PairTables(self.plain.tree, self.batch)

    @cached_property
    def tables(self) -> list[Array]:
        """[leaf, h, j] the values of some of the continuations, the first ones."""
        return []

    def grown(self, continuations: Continuations) -> RangeLimit:
        """The same with more continuations: those it has come first, and keep their tables."""
        made = replace(self, continuations=continuations)
        vars(made).update({name: getattr(self, name) for name in ("run", "batch", "pairs")})
        vars(made)["tables"] = list(self.tables)
        return made

    def solved(
        self,
        gadget: Gadget | None,
        schedule: Schedule | str | None,
        limits: Limits,
        alternatives: Vector | None,
        device: str | None,
    ) -> tuple[Result, Strategy]:
        """The result of the street, whose strategy lies over the whole game."""
        how = Technique.of(gadget or Unsafe(), self.whole, schedule, limits)
        payoffs = None
        if alternatives is not None:
            payoffs = vector(self.within, 1 - self.player, alternatives, "alternative payoff")
        result = solve_ranges(self, gadget, how, payoffs).result
        return result, result.strategy

    def inner(self, probs: Numbers, p: int) -> Numbers:
        """[q] a player's strategy of the whole game over the unmerged tree of what is solved."""
        inside = restrict(np.asarray(probs, np.float32), self.within.places[p], elsewhere=0.0)
        return self.plain.spread(p, inside)

    def below(self, probs: Numbers, p: int) -> Numbers:
        """[q] what of it follows the limit: the end of its numbers."""
        return self.inner(probs, p)[-self.batch.tree.stored(p) :]

    @cached_property
    def table(self) -> LeafTable:
        """The values of every continuation at the limit."""
        o, tables = 1 - self.player, self.tables
        ours = self.below(self.blueprint.probs[self.player], self.player)
        for probs in self.continuations.probs[len(tables) :]:
            theirs = self.below(probs, o)
            tables.append(self.pairs.values((theirs, ours) if o == 0 else (ours, theirs), o))
        return LeafTable(namespace(tables[0]).stack(tables[: len(self.continuations)]), o)

    @cached_property
    def street(self) -> StreetEngine:
        """The engine of the street that ends at the limit."""
        return StreetEngine(self.run, self.plain.tree.streets[0], self.table)

    def complete(self, played: Pair) -> Strategy:
        """A solution of the street, laid over the whole game.

        Below the limit the opponent plays the mixture of continuations that was chosen, we play
        the blueprint. Elsewhere both play the blueprint.
        """
        probs = [np.array(probs) for probs in self.blueprint.probs]
        for p in (0, 1):
            weights = self.inner(self.blueprint.probs[p], p).copy()
            if p != self.player and len(self.continuations) > 1:
                self._mix(weights, played[p])
            below = weights[-self.batch.tree.stored(p) :]
            weights = self.street.over(self.plain.tree, p, played[p], below)
            made = self.plain.tree.normalise(p, weights)
            self.within.embed(p, self.plain.gather(p, made), probs[p])
        return Strategy(self.whole, (probs[0], probs[1]))

    def _mix(self, weights: Numbers, sigma: Any) -> None:
        """Below the limit: continuations by how likely each is chosen with each hand."""
        o, run, batch = 1 - self.player, self.run, self.batch
        side = self.street.sides[o]
        ones = self.street.array(np.ones((side.roots, len(self.plain.tree.players[o].slots))))
        reach = self.street.descend(o, sigma, ones)[side.actions :]
        count = len(self.continuations)
        share = reach.reshape(-1, count, reach.shape[1])
        mixed: list[Any] = [0.0] * len(self.plain.tree.streets[1:])
        for k, probs in enumerate(self.continuations.probs):
            entry = run.enter(o, share[:, k][:, None], 1)
            rows = batch.row_reach(o, self.below(probs, o), entry.reshape(-1, entry.shape[2]))
            mixed = [a + b for a, b in zip(mixed, rows, strict=True)]
        tree = self.plain.tree
        for s, strategy in enumerate(mixed, start=1):
            street, units, values = tree.streets[s], tree.units, as_numpy(strategy)
            boards = range(units.first[s], units.first[s + 1])
            hands = [len(units[u].hands[o]) for u in boards]
            for j, (first, names) in enumerate(
                zip(street.first[o], street.actions[o], strict=True)
            ):
                here = values[first : first + len(names)]
                flat = np.concatenate([here[:, b, :n] for b, n in enumerate(hands)], axis=1).T
                cells = tree.players[o].street_cells(s, j)
                usual = weights[cells]
                weights[cells] = np.where(flat.sum(1, keepdims=True) > 0, flat, usual)


class RangeSolution(NamedTuple):
    """A solved depth-limited street."""

    result: Result
    """Its strategy lies over the whole game."""
    played: Pair  # [own action, hand] both players' strategies of the street


def limited_ranges(tree: RangeTree, limit: Limit) -> RangeLimit:
    """The depth-limited first street of a hold'em tree, or of a subgame of it."""
    if limit.own is not None or limit.weaken or limit.penalty or limit.values is not None:
        raise SubgameError(
            "On hold'em trees values at a depth limit are exact and only the opponent chooses; "
            "own, values, weaken and penalty are for sequence trees."
        )
    part = cut_range_tree(tree, "root")[0] if limit.within is None else limit.within
    if not isinstance(part, RangeSubgame):
        raise SubgameError("The subgame of a hold'em tree must be made by subgame.cut.")
    check_limit(part.tree, limit.at)
    player = limit.player
    theirs = limit.continuations or Continuations.of(limit.blueprint, 1 - player)
    if theirs.player == player:
        raise SubgameError(f"The continuations are player {player}'s own; the opponent chooses.")
    plain = unmerged(part.tree)
    return RangeLimit(tree, limit.blueprint, player, theirs, part, plain, limit.device)


def check_limit(tree: RangeTree, at: object, side: str = "before") -> None:
    """Refuse a frontier of a hold'em tree that is not the end of its first street."""
    streets = tree.streets
    if len(streets) < 2:
        raise SubgameError(f"{tree!r} has only one street, so it cannot be cut at a later one.")
    wanted = f"{side} the {STREETS[streets[1].index]}"
    if at != wanted:
        raise SubgameError(f"The frontier of this hold'em tree must be '{wanted}', not {at!r}.")


def solve_ranges(
    limited: RangeLimit, technique: Gadget | None, how: Technique, alternatives: Floats | None
) -> RangeSolution:
    """Solve a depth-limited street, behind a gadget if there is one."""
    if not isinstance(how.schedule, Schedule):
        raise SubgameError("There is no linear program for hold'em trees; use a CFR schedule.")
    run: Run
    if technique is None:
        run = Run(limited.whole, how.schedule, on=limited.street, finish=limited.complete)
    else:
        o = 1 - limited.player
        trunk = Trunk(limited.blueprint, o, device=limited.device)
        inputs, _ = trunk.inputs(limited.within, technique, alternatives)
        limited.within.check_inputs(technique, inputs)
        run = GadgetRun(
            limited.plain.tree,
            how.schedule,
            technique,
            _seated(limited, inputs),
            on=limited.street,
            finish=limited.complete,
        )
    result = complete(run, how.limits)
    return RangeSolution(result, run.played())


def _seated(limited: RangeLimit, inputs: GadgetInputs) -> GadgetInputs:
    """Gadget inputs in the order of the unmerged tree's hands."""
    ours, theirs = (limited.plain.slots[p] for p in (1 - inputs.opponent, inputs.opponent))
    return inputs.mapped(lambda values: values[ours], lambda values: values[theirs])
