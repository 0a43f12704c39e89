"""Alternative payoffs and gifts: what the opponent could have had instead of this subgame.

Values here are the opponent's and normalised as in Brown & Sandholm 2017, Sec. 3: given that the
infoset is reached, i.e. the counterfactual value divided by pi_{-i}. `normalise` is the one place
where the two units meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array
from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.frozen import Frozen
from subgame.games.base import TERMINAL
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.refine.learners import normalise
from subgame.solve.evaluate import counterfactual_reach
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import Treeplex
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.engines.contract import Engine
    from subgame.refine.subgame import Subgame

Floats = NDArray[np.float64]
Index = NDArray[np.int32]
Vector = Mapping[str, float] | Sequence[float] | Floats


# Gifts (Brown & Sandholm 2017, Sec. 5) ---------------------------------------------------------


def carried_gift(size: Array, reach: Array, gadget: Gadget) -> Array:
    """What a gift adds to the sum that is carried down to the root infosets below it.

    `size` is the best CBV(I, a) minus CBV(I, a'), unnormalised; `reach` is pi_{-i}(I). *Split*: a
    root infoset may gain the normalised gift itself. The root infosets below I are reached with
    probability one at most in all, so together they never take more than it. *Not split*: each may
    take all of it; see `received_gift`.
    """
    return gadget.scale * (normalise(size, reach) if gadget.split else size)


def received_gift(carried: Array, weight: Array, gadget: Gadget) -> Array:
    """The gifts of a root infoset (eq. 1), from the sum carried to it; `weight` is its pi_{-i}.

    Not split, a gift is divided by the probability of coming to the root infoset: for a board card
    that is the factor 1,755 of the paper.
    """
    return carried if gadget.split else normalise(carried, weight)


class Gifts(NamedTuple):
    """What the opponent gives up by each of the actions in a sequence tree."""

    size: Floats  # [q] the best that could have been had instead, less this; unnormalised
    reach: Floats  # [q] pi_{-i} of the infoset

    def to(self, side: Treeplex, sequence: Index, weight: Floats, gadget: Gadget) -> Floats:
        """[s] the gifts on the way to root infosets that hang below the sequences given."""
        total, q = np.zeros(len(weight)), sequence.copy()
        while (inner := q >= len(side.slots)).any():
            total += np.where(inner, carried_gift(self.size[q], self.reach[q], gadget), 0.0)
            above = side.plex.parent[side.infoset_of[np.where(inner, q, len(side.slots))]]
            q = np.where(inner, above, q)
        found: Floats = received_gift(total, weight, gadget)
        return found


def gifts_of(
    run: Engine, o: int, our_plan: Floats, gadget: Gadget, estimate: Strategy | None
) -> Gifts:
    """What opponent `o` of a sequence tree gives up by each action against our plan.

    "lower": the best is taken over the action itself and those that end the game at once, whose
    value no refinement can change (2017, Sec. 5). "estimated": over all actions, by the values of
    `estimate`.
    """
    tree = run.tree
    side: Any = tree.players[o]
    if estimate is not None and gadget.gifts == "estimated":
        value = run.values(o, estimate.probs[o], our_plan).sequences
    else:
        value = run.respond(o, our_plan).sequences
    assert value is not None
    allowed = np.ones(len(value), dtype=bool) if gadget.gifts == "estimated" else _ends(tree, o)
    owner, slots = side.infoset_of, len(side.slots)
    best = np.full(len(side.names), -np.inf)
    inner = np.flatnonzero(allowed)
    inner = inner[inner >= slots]
    np.maximum.at(best, owner[inner], value[inner])
    size, reach = np.zeros(len(value)), np.zeros(len(value))
    size[slots:] = np.maximum(best[owner[slots:]] - value[slots:], 0.0)
    reach[slots:] = counterfactual_reach(tree, o, our_plan)[owner[slots:]]
    return Gifts(size, reach)


def _ends(tree: Any, o: int) -> NDArray[np.bool_]:
    """[q] whether an action always ends the game at once: A_z of 2017, Sec. 5."""
    h = tree.histories
    if h is None or tree.located is None:
        raise SubgameError(f"{tree!r} keeps no histories, so its gifts cannot be computed.")
    after = np.flatnonzero(h.parent >= 0)
    after = after[h.player[h.parent[after]] == o]
    ends = np.ones(tree.players[o].num_sequences, dtype=bool)
    goes_on = after[h.player[after] != TERMINAL]
    ends[tree.located[o][goes_on]] = False
    return ends


# A blueprint seen from one side ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trunk(Frozen):
    """A blueprint seen from one side: we play it, the opponent may do anything.

    Everything about the whole tree that subgames ask for, computed once.
    """

    blueprint: Strategy
    opponent: int
    estimate: Strategy | None = None
    """Whose values count for gifts of kind "estimated"."""
    device: str | None = None

    @property
    def tree(self) -> PublicTree:
        return self.blueprint.tree

    @cached_property
    def engine(self) -> Engine:
        return engine(self.tree, device=self.device)

    @cached_property
    def plans(self) -> tuple[Any, Any]:
        """Both players' plans of the whole tree, as the engine has them."""
        one, two = (self.engine.plan(p, self.blueprint.probs[p]) for p in (0, 1))
        return one, two

    @cached_property
    def _gifts(self) -> dict[str, Any]:
        return {}

    def gifts(self, gadget: Gadget, find: Any) -> Any:
        """What `find` says of the whole tree's gifts, found once per kind of gift."""
        if gadget.gifts not in self._gifts:
            self._gifts[gadget.gifts] = find(self, gadget)
        return self._gifts[gadget.gifts]

    def inputs(
        self,
        subgame: Subgame,
        gadget: Gadget,
        alternatives: Floats | None = None,
        spread: Floats | None = None,
    ) -> tuple[GadgetInputs, Floats]:
        """What the gadget of a subgame needs, and the gifts that are in its alternatives.

        The standard deviation `spread` of a random alternative is by default the distance between
        the estimate and the blueprint's CBV.
        """
        o = self.opponent
        ours = subgame.reach(1 - o, self)
        weight = subgame.weight(o, ours)
        cbv = normalise(self._respond(subgame, ours), weight)
        if alternatives is None and gadget.estimate:
            alternatives = self.value_of(subgame, self.estimate or self.blueprint)
        base = cbv if alternatives is None else alternatives
        gifts = np.zeros(len(weight))
        if gadget.gifts != "none":
            gifts = subgame.gifts(self, gadget, weight)
        inputs = GadgetInputs(
            opponent=o,
            our_reach=ours,
            opponent_reach=subgame.reach(o, self),
            weight=weight,
            alternative=base + gifts,
            cbv=cbv,
            spread=np.abs(base - cbv) if spread is None else spread,
        )
        return inputs, gifts

    def _respond(self, subgame: Subgame, ours: Floats) -> Floats:
        """[s] what the opponent gets inside at best, unnormalised, if we play the blueprint."""
        run = engine(subgame.tree, device=self.device)
        us = 1 - self.opponent
        plan = run.plan(us, subgame.restrict(self.blueprint, us), ours)
        return run.respond(self.opponent, plan).roots.ravel()

    def value_of(self, subgame: Subgame, strategy: Strategy) -> Floats:
        """[s] what the opponent gets inside by playing `strategy` there against the blueprint.

        With a best response found inside an abstraction this is the estimate CBV~ of 2017, App. C;
        with the last iterate of the CFR run that made the blueprint, what its experiments used.
        """
        o = self.opponent
        ours = subgame.reach(1 - o, self)
        run = engine(subgame.tree, device=self.device)
        plan = run.plan(1 - o, subgame.restrict(self.blueprint, 1 - o), ours)
        found = run.values(o, subgame.restrict(strategy, o), plan)
        out: Floats = normalise(found.roots.ravel(), subgame.weight(o, ours))
        return out


def vector(subgame: Subgame, o: int, given: Vector, what: str) -> Floats:
    """[s] a user's numbers for the opponent's root infosets, by name or in order."""
    slots = subgame.tree.players[o].slots
    if isinstance(given, Mapping):
        for name in given:
            if name not in slots:
                raise did_you_mean(f"root infoset of player {o} in '{subgame.name}'", name, slots)
        missing = [name for name in slots if name not in given]
        if missing:
            raise SubgameError(f"The {what} of root infoset '{missing[0]}' is missing.")
        given = [given[name] for name in slots]
    try:
        out = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        out = np.full(len(slots), np.nan)
    else:
        if out.shape != (len(slots),):
            raise SubgameError(
                f"'{subgame.name}' has {len(slots)} root infosets of player {o}; "
                f"{out.size} numbers were given as {what}."
            )
    if not np.all(np.isfinite(out)):
        raise SubgameError(f"The {what} of a root infoset must be a number, not {given}.")
    return out
