"""Depth-limited solving with multi-valued states (Brown, Sandholm & Amos 2018, Sec. 4).

A depth limit changes a game's leaves and nothing else: where the limit is, the opponent picks,
separately at each infoset there, one of K strategies for the rest of the game, and is paid its
value. The result is a tree like any other, so that every schedule, evaluation, the linear program
and every gadget work on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from subgame.engines.arrays import Floats, Ints, normalise
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.base import Game, State
from subgame.refine.depth.continuations import Continuations
from subgame.refine.depth.form import Names, descendants, limited_form
from subgame.refine.depth.leaves import Evaluator, Leaf, LeafValues, exact
from subgame.refine.gadgets import Gadget
from subgame.refine.kinds import kind_of
from subgame.refine.payoffs import Trunk, Vector, vector
from subgame.refine.solve_gadget import LP, Technique, solve_gadget
from subgame.refine.subgame import At, SequenceSubgame, Subgame, cut_at_histories, sequence_subgames
from subgame.solve.lp import solve_lp
from subgame.solve.options import check_options, with_options
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Limits, Run, complete
from subgame.tree.parts import both, embed, places, restrict
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import Form, assemble, form_of
from subgame.tree.sequence.tree import SequenceTree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.refine.depth.ranges import RangeLimit


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DepthLimited(SequenceTree):
    """A `PublicTree` that ends at a depth limit, and the way back to the whole game."""

    form: Form
    whole: SequenceTree
    limit: Limit
    leaves: tuple[Leaf, ...]
    values: tuple[LeafValues, ...]
    """Per leaf, as the form pays them: weakened and penalised if that was asked for."""
    names: Names
    within: SequenceSubgame | None

    @property
    def choices(self) -> int:
        """How many continuations the opponent has to choose from, at all infosets together."""
        o = 1 - self.limit.player
        return sum(len(kept) for leaf in self.leaves for kept in leaf.options[o])

    @property
    def standard_error(self) -> float:
        """The largest standard error of a value at the limit; 0 if they are exact."""
        return max(float(each.error.max(initial=0.0)) for each in self.values)

    def grown(self, continuations: Continuations) -> DepthLimited:
        """The same limit with other continuations."""
        subgames = [leaf.subgame for leaf in self.leaves]
        limit = replace(self.limit, at=subgames, continuations=continuations)
        return limited_tree(self.whole, limit)

    def solved(
        self,
        gadget: Gadget | None,
        schedule: Schedule | str | None,
        limits: Limits,
        alternatives: Vector | None,
        device: str | None,
    ) -> tuple[Result, Strategy]:
        """The result in this tree, or in the gadget game on it, and the strategy it makes."""
        schedule = LP if schedule is None else schedule
        if self.within is None:
            if gadget is not None or alternatives is not None:
                raise SubgameError(
                    "A tree that starts with the game has no root infosets for a technique to "
                    "hold; cut a subgame and pass it to depth_limited as within=."
                )
            if schedule == LP:
                found = solve_lp(self, device=device)
            else:
                found = complete(Run(self, parse(schedule), device=device), limits)
            return found, self.complete(found.strategy)
        if gadget is None:
            raise SubgameError("A subgame needs a technique at its root, such as 'resolve'.")
        o, given = 1 - self.limit.player, None
        if alternatives is not None:
            given = vector(self.within, o, alternatives, "alternative payoff")
        inputs, _ = Trunk(self.limit.blueprint, o, device=device).inputs(self.within, gadget, given)
        part = replace(self.within, form=self.form, tree=self)
        solved = solve_gadget(Technique.of(gadget, self, schedule, limits), part, inputs, device)
        strategy = Strategy(self, solved.sigma, solved.result.strategy.notes)
        return solved.result, self.complete(strategy)

    def complete(self, strategy: Strategy) -> Strategy:
        """A strategy of this tree, or of a gadget game on it, laid over the whole game.

        Below the limit each player plays the mixture of continuations that the player chose; for us
        that is the blueprint, unless we chose too. Elsewhere both play the blueprint.
        """
        probs = both(lambda p: self.limit.blueprint.probs[p].copy())
        for p in (0, 1):
            mine, side = self.players[p], strategy.tree.players[p]
            missing = next((name for name in mine.names if name not in side.index), None)
            if missing is not None:
                raise SubgameError(
                    f"The strategy lies over {strategy.tree!r}, which has no infoset '{missing}' "
                    f"of player {p}; solve the depth-limited tree or a gadget game on it."
                )
            here = restrict(strategy.probs[p], places(mine, side))
            embed(here, places(mine, self.whole.players[p]), probs[p])
            for leaf, names in zip(self.leaves, self.names, strict=True):
                leaf.subgame.embed(p, self._mixture(strategy, leaf, names[p], p), probs[p])
        return Strategy(self.whole, probs, dict(strategy.notes))

    def _mixture(self, strategy: Strategy, leaf: Leaf, names: list[str], p: int) -> Floats:
        """[q] the behaviour strategy below a leaf that has the value of the choice made."""
        inner, side = leaf.subgame.tree.players[p], strategy.tree.players[p]
        plan = np.zeros(inner.num_sequences)
        for s, (options, name) in enumerate(zip(leaf.options[p], names, strict=True)):
            below = inner.slot_of == s
            share = strategy.probs[p][side.sequences(side.index[name])] if name else np.ones(1)
            plan[below] = share @ leaf.plans[p][options][:, below]
        sigma: Floats = engine(leaf.subgame.tree).behaviour(p, plan)
        never = plan[inner.plex.parent] <= 0  # infosets that the choice does not come to
        slots = len(inner.slots)
        usual = leaf.subgame.restrict(self.limit.blueprint, p)[slots:]
        sigma[slots:] = np.where(never[inner.infoset_of[slots:]], usual, sigma[slots:])
        return sigma


class LeafOptions(TypedDict, total=False):
    """The values of histories at a depth limit, and where they are computed.

    If the blueprint is no equilibrium a continuation may beat it, which makes us too careful: see
    `weaken` and `penalty` (both: 2018, end of Sec. 4).
    """

    values: Evaluator
    """`exact`, the default, `Rollouts(...)` or a trained `LeafNetwork`."""
    weaken: bool
    """Lower a continuation's values at an infoset, all by as much, until its value there is no more
    than the blueprint's."""
    penalty: float | Callable[[State], float]
    """What is taken from everything but the blueprint: a number, or a function of the state such as
    a small share of the pot."""
    device: str | None
    """As in `solve`."""


@dataclass(frozen=True, eq=False)
class Limit:
    """A depth limit, as `depth_limited` was asked for it."""

    blueprint: Strategy
    at: At | Sequence[Subgame]
    player: int
    continuations: Continuations | None = None
    own: Continuations | None = None
    within: Subgame | None = None
    values: Evaluator = exact
    weaken: bool = False
    penalty: float | Callable[[State], float] = 0.0
    device: str | None = None

    @property
    def pair(self) -> list[Continuations]:
        """[player] both players' continuations, the blueprint alone where none were given."""
        player, theirs, own = self.player, self.continuations, self.own
        if player not in (0, 1):
            raise SubgameError(f"A player is 0 or 1, not {player}.")
        if theirs is not None and theirs.player == player:
            raise SubgameError(f"The continuations are player {player}'s own; pass them as own=.")
        if own is not None and own.player != player:
            raise SubgameError(f"own= takes continuations of player {player}, not of {own.player}.")
        tree, out = self.blueprint.tree, [Continuations.of(self.blueprint, p) for p in (0, 1)]
        for given in filter(None, (theirs, own)):
            if given.tree is not tree and given.tree.digest != tree.digest:
                raise SubgameError(f"The continuations lie over {given.tree!r}, not over {tree!r}.")
            if (self.weaken or self.penalty) and not given.blueprint_first:
                raise SubgameError(
                    "Weakening and penalties compare with the blueprint, which must be the first "
                    "continuation."
                )
            out[given.player] = given
        return out

    def paid(self, leaf: Leaf) -> LeafValues:
        """The values at a leaf, with continuations weakened and penalised (2018, Sec. 4)."""
        found = self.values(leaf)
        shape = (len(leaf.first), len(leaf.sigma[0]), len(leaf.sigma[1]))
        if found.value.shape != shape or not np.all(np.isfinite(found.value)):
            raise SubgameError(
                f"The values at '{leaf.subgame.name}' are not {shape[0]} x {shape[1]} x {shape[2]} "
                "numbers, one per history and pair of continuations."
            )
        penalty = self.penalty
        fee = np.array(
            [penalty(each) for each in leaf.states()] if callable(penalty) else penalty or 0.0
        )
        if not (np.all(np.isfinite(fee)) and fee.min() >= 0):
            raise SubgameError(f"A penalty must be a number of at least 0, not {fee.min()}.")
        less = np.zeros(shape)  # what player 0's payoff is changed by
        for p in (0, 1):
            sign = 1.0 if p == 0 else -1.0
            values = sign * (found.value[:, :, 0] if p == 0 else found.value[:, 0, :])  # [h, k]
            down = self._excess(leaf, values, p) if self.weaken else np.zeros_like(values)
            down[:, 1:] += fee.reshape(-1, 1)
            less -= sign * (down[:, :, None] if p == 0 else down[:, None, :])
        return LeafValues(found.value + less, found.error)

    def _excess(self, leaf: Leaf, values: Floats, p: int) -> Floats:
        """[h, k] by how much continuation k beats the blueprint at the infoset of `p` at history h.

        v(I) is the mean of v(h) by what `p` believes when the other one plays the blueprint
        (Sec. 3); where that never brings `p`, by chance alone.
        """
        slot, size = leaf.slots[p], len(leaf.subgame.tree.players[p].slots)
        plan = engine(leaf.subgame.whole).plan(1 - p, self.blueprint.probs[1 - p])
        belief = leaf.chance * plan[leaf.subgame.sequence[1 - p]][leaf.slots[1 - p]]
        never = np.bincount(slot, belief, size)[slot] <= 0
        belief = np.where(never, leaf.chance, belief)
        value = np.zeros((size, values.shape[1]))
        np.add.at(value, slot, values * belief[:, None])
        value = normalise(value, np.bincount(slot, belief, size)[:, None])
        excess: Floats = np.maximum(value - value[:, :1], 0.0)[slot]
        return excess


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
    >>> from subgame.refine.depth.continuations import biased
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> blueprint = sg.Strategy.published(tree, "equilibrium")
    >>> theirs = biased(blueprint, player=1)
    >>> limited = sg.depth_limited(tree, blueprint, at="P2 to move", continuations=theirs)
    >>> {move: round(p, 9) for move, p in sg.solve_lp(limited).strategy["P1 to move"].items()}
    {'Rock': 0.4, 'Paper': 0.4, 'Scissors': 0.2}
    """
    check_options(depth_limited, leaves)
    limit = Limit(blueprint, at, player, continuations, own, within, **leaves)
    return kind_of(_tree_of(game, blueprint)).limited(limit)


def limited_tree(tree: SequenceTree, limit: Limit) -> DepthLimited:
    """What `depth_limited` gives for a sequence tree."""
    within = limit.within
    if within is not None and not isinstance(within, SequenceSubgame):
        raise SubgameError(f"{within!r} was not cut from {tree!r}.")
    pair = limit.pair
    base = form_of(tree.walked) if within is None else within.form
    place = _places(tree, within)
    subgames = _inside(tree, sequence_subgames(tree, limit.at), place)
    leaves = tuple(_leaf(subgame, pair) for subgame in subgames)
    paid = tuple(limit.paid(leaf) for leaf in leaves)
    names = _names(leaves)
    form = limited_form(base, place, leaves, names, paid, pair)
    made = assemble(form)
    return DepthLimited(
        **{each.name: getattr(made, each.name) for each in fields(SequenceTree)},
        form=form,
        whole=tree,
        limit=limit,
        leaves=leaves,
        values=paid,
        names=names,
        within=within,
    )


# What lies where -----------------------------------------------------------------------------


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


def _places(tree: SequenceTree, within: SequenceSubgame | None) -> Ints:
    """[h] where each of the game's histories stands in the form to be cut; -1 outside it."""
    count = len(tree.walked)
    if within is None:
        return np.arange(count)
    out = np.full(count, -1)
    inner = within.tree.walked
    out[descendants(within.top, inner)] = np.arange(len(inner))
    return out


def _inside(
    tree: SequenceTree, subgames: list[SequenceSubgame], place: Ints
) -> list[SequenceSubgame]:
    """The subgames, or what of them lies in the part that is solved."""
    out = []
    for subgame in subgames:
        here = place[subgame.top] >= 0
        if here.all():
            out.append(subgame)
        elif here.any():
            out.append(cut_at_histories(tree, subgame.top[here].astype(np.int64), subgame.name))
    if not out:
        raise SubgameError("No part of the frontier lies inside the subgame.")
    return out


def _leaf(subgame: SequenceSubgame, pair: Sequence[Continuations]) -> Leaf:
    """The continuations, restricted to one subgame."""
    places, probs = subgame.places, [each.probs for each in pair]
    return Leaf(subgame, both(lambda p: np.stack([restrict(x, places[p]) for x in probs[p]])))


def _names(leaves: Sequence[Leaf]) -> Names:
    """The infosets of all choices at the limit; each player's have different names."""
    out, taken = [], (set[str](), set[str]())
    for leaf in leaves:
        names: tuple[list[str], list[str]] = ([], [])
        for p, side in enumerate(leaf.subgame.tree.players):
            for slot, options in zip(side.slots, leaf.options[p], strict=True):
                name = f"{slot} · how to go on?" if len(options) > 1 else ""
                while name in taken[p]:
                    name += "'"
                taken[p].update(filter(None, [name]))
                names[p].append(name)
        out.append(names)
    return out
