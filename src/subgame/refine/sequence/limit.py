"""Depth limits of sequence trees: the form above the limit, with choices and values at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from subgame.engines.arrays import Floats, Ints, normalise
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.refine.behind import LP, Technique, solve_gadget
from subgame.refine.continuations import Continuations
from subgame.refine.gadgets import Gadget
from subgame.refine.limit import LeafValues, Limit
from subgame.refine.sequence.leaves import Leaf, exact
from subgame.refine.sequence.limited_form import Names, descendants, limited_form
from subgame.refine.sequence.subgames import SequenceSubgame, cut_at_histories, sequence_subgames
from subgame.refine.subgame import Trunk, Vector, vector
from subgame.solve.lp import solve_lp
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Limits, Run, complete
from subgame.tree.public_tree import both, embed, places, restrict
from subgame.tree.sequence.form import Form, assemble, form_of
from subgame.tree.sequence.tree import SequenceTree
from subgame.tree.strategy import Strategy


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
        return max(float(values.error.max(initial=0.0)) for values in self.values)

    def grown(self, continuations: Continuations) -> DepthLimited:
        """This limit with other continuations."""
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
                result = solve_lp(self, device=device)
            else:
                result = complete(Run(self, parse(schedule), device=device), limits)
            return result, self.complete(result.strategy)
        if gadget is None:
            raise SubgameError("A subgame needs a technique at its root, such as 'resolve'.")
        o, payoffs = 1 - self.limit.player, None
        if alternatives is not None:
            payoffs = vector(self.within, o, alternatives, "alternative payoff")
        inputs, _ = Trunk(self.limit.blueprint, o, device=device).inputs(
            self.within, gadget, payoffs
        )
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
    values = tuple(paid(limit, leaf) for leaf in leaves)
    names = _names(leaves)
    form = limited_form(base, place, leaves, names, values, pair)
    made = assemble(form)
    return DepthLimited(
        **{entry.name: getattr(made, entry.name) for entry in fields(SequenceTree)},
        form=form,
        whole=tree,
        limit=limit,
        leaves=leaves,
        values=values,
        names=names,
        within=within,
    )


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
    places, probs = subgame.places, [continuations.probs for continuations in pair]
    return Leaf(subgame, both(lambda p: np.stack([restrict(x, places[p]) for x in probs[p]])))


def _names(leaves: Sequence[Leaf]) -> Names:
    """The infosets of all choices at the limit; each player's have different names."""
    out, taken = [], (set[str](), set[str]())
    for leaf in leaves:
        names: tuple[list[str], list[str]] = ([], [])
        for p, side in enumerate(leaf.subgame.tree.players):
            for slot, options in zip(side.slots, leaf.options[p], strict=True):
                name = f"{slot} · continuation" if len(options) > 1 else ""
                while name in taken[p]:
                    name += "'"
                taken[p].update(filter(None, [name]))
                names[p].append(name)
        out.append(names)
    return out


def paid(limit: Limit, leaf: Leaf) -> LeafValues:
    """The values at a leaf, with continuations weakened and penalised (2018, Sec. 4)."""
    leaf_values = (limit.values or exact)(leaf)
    shape = (len(leaf.first), len(leaf.sigma[0]), len(leaf.sigma[1]))
    if leaf_values.value.shape != shape or not np.all(np.isfinite(leaf_values.value)):
        raise SubgameError(
            f"The values at '{leaf.subgame.name}' are not {shape[0]} x {shape[1]} x {shape[2]} "
            "numbers, one per history and pair of continuations."
        )
    penalty = limit.penalty
    fee = np.array(
        [penalty(state) for state in leaf.states()] if callable(penalty) else penalty or 0.0
    )
    if not (np.all(np.isfinite(fee)) and fee.min() >= 0):
        raise SubgameError(f"A penalty must be a number of at least 0, not {fee.min()}.")
    less = np.zeros(shape)  # what player 0's payoff is changed by
    for p in (0, 1):
        sign = 1.0 if p == 0 else -1.0
        values = sign * (
            leaf_values.value[:, :, 0] if p == 0 else leaf_values.value[:, 0, :]
        )  # [h, k]
        down = _excess(limit, leaf, values, p) if limit.weaken else np.zeros_like(values)
        down[:, 1:] += fee.reshape(-1, 1)
        less -= sign * (down[:, :, None] if p == 0 else down[:, None, :])
    return LeafValues(leaf_values.value + less, leaf_values.error)


def _excess(limit: Limit, leaf: Leaf, values: Floats, p: int) -> Floats:
    """[h, k] by how much continuation k beats the blueprint at the infoset of `p` at history h.

    v(I) is the mean of v(h) by what `p` believes when the other one plays the blueprint
    (Sec. 3); where that never brings `p`, by chance alone.
    """
    slot, size = leaf.slots[p], len(leaf.subgame.tree.players[p].slots)
    plan = engine(leaf.subgame.whole).plan(1 - p, limit.blueprint.probs[1 - p])
    belief = leaf.chance * plan[leaf.subgame.sequence[1 - p]][leaf.slots[1 - p]]
    never = np.bincount(slot, belief, size)[slot] <= 0
    belief = np.where(never, leaf.chance, belief)
    value = np.zeros((size, values.shape[1]))
    np.add.at(value, slot, values * belief[:, None])
    value = normalise(value, np.bincount(slot, belief, size)[:, None])
    excess: Floats = np.maximum(value - value[:, :1], 0.0)[slot]
    return excess
