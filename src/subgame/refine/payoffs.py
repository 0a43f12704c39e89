"""Alternative payoffs and gifts: what the opponent could have had instead of this subgame.

Values here are the opponent's and normalised as in Brown & Sandholm 2017, Sec. 3: given that the
infoset is reached, i.e. the counterfactual value divided by pi_{-i}. `normalise` is the one place
where the two units meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array, Floats, as_numpy, namespace, normalise
from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.frozen import Frozen
from subgame.games.base import TERMINAL
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.solve.evaluate import counterfactual_reach
from subgame.tree.parts import both
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import SequenceTree, Treeplex, sequence_tree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.engines.contract import Engine, RangeEngine
    from subgame.refine.subgame import Subgame

Index = NDArray[np.int32]
Vector = Mapping[str, float] | Sequence[float] | Floats
T = TypeVar("T")
ROUNDING = 1e-5
"""Weights below this share of the largest are rounding: kernels compute in float32."""


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
        return as_numpy(received_gift(total, weight, gadget))


def gifts_of(trunk: Trunk, gadget: Gadget) -> Gifts:
    """What the opponent in a sequence tree gives up by each action against our plan.

    "lower": the best is taken over the action itself and those that end the game at once, whose
    value no refinement can change (2017, Sec. 5). "estimated": over all actions, by the values of
    the estimate.
    """
    tree, o, run = sequence_tree(trunk.blueprint.tree), trunk.opponent, trunk.engine
    side, our_plan = tree.players[o], np.asarray(trunk.plans[1 - o])
    if trunk.estimate is not None and gadget.gifts == "estimated":
        value = run.values(o, trunk.estimate.probs[o], our_plan).sequences
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


def _ends(tree: SequenceTree, o: int) -> NDArray[np.bool_]:
    """[q] whether an action always ends the game at once: A_z of 2017, Sec. 5."""
    h = tree.walked
    after = np.flatnonzero(h.parent >= 0)
    after = after[h.player[h.parent[after]] == o]
    ends = np.ones(tree.players[o].num_sequences, dtype=bool)
    goes_on = after[h.player[after] != TERMINAL]
    ends[tree.located[o][goes_on]] = False
    return ends


# Gifts on hold'em trees -----------------------------------------------------------------------


def rows(street: Street, p: int, j: int) -> slice:
    """The rows of a decision's actions."""
    return slice(street.first[p][j], street.first[p][j] + len(street.actions[p][j]))


def carried_gifts(
    run: RangeEngine,
    streets: list[Street],
    gadget: Gadget,
    o: int,
    ours: list[Array],
    values: list[Array],
    entry: Floats,
) -> list[Floats]:
    """Per street [row, board, hand] the opponent's gifts carried to each row (2017, Sec. 5).

    `streets` are the first streets of the engine's tree. `ours` and `values` are our reach and the
    opponent's values of all rows; `entry` [way, board, hand] is carried to the roots.
    """
    if gadget.gifts == "none":
        return [np.broadcast_to(np.zeros(1), tuple(each.shape)) for each in values]
    out, tree = list[Floats](), run.tree
    for s, street in enumerate(streets):
        if s > 0:
            entry = as_numpy(entered_gifts(run, gadget, o, entry, s))
        carried = np.zeros(values[s].shape)
        carried[: len(street.roots), :, : entry.shape[2]] = entry
        for j, parent in enumerate(street.parent[o]):
            here, value = rows(street, o, j), as_numpy(values[s][rows(street, o, j)])
            at = ours[s][street.at[o][j][1 - o]][None]
            reach = reliable(as_numpy(run.opposing(o, at, s)))
            size = np.maximum(_best(tree, gadget, street, o, j, value) - value, 0)
            carried[here] = carried[parent] + carried_gift(size, reach[0], gadget)
        out.append(carried)
        entry = carried[[row[o] for row in street.leaf_rows]]
    return out


def entered_gifts(run: RangeEngine, gadget: Gadget, o: int, entry: Floats, s: int) -> Array:
    """[root, board, hand] gifts at the roots of a street, from those at the leaves before it.

    They are on the engine's device.
    """
    found = run.enter(o, entry, s)
    if gadget.split:
        return found
    # In units of the whole game: a board is only one of many.
    weights = run.tree.units.dealt[s].weight[:, None]
    return found / (weights if isinstance(found, np.ndarray) else found.new_tensor(weights))


def reliable(weight: Array) -> Array:
    """Weights without those that are rounding: sums over nearly all hands cancel out."""
    return weight * (weight > ROUNDING * namespace(weight).amax(weight, -1, keepdims=True))


def _best(tree: RangeTree, gadget: Gadget, street: Street, o: int, j: int, value: Floats) -> Floats:
    """[action, board, hand] what each action is compared with: itself and those that count."""
    state, last = street.states[o][j], tree.holdem.rules.last_street
    after = [state.child(name) for name in street.actions[o][j]]
    counts = [
        gadget.gifts == "estimated" or (b.is_over and (b.folded >= 0 or b.street == last))
        for b in after
    ]
    if not any(counts):
        return value
    out: Floats = np.maximum(value, value[counts].max(0))
    return out


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
    _gifts: dict[tuple[str, bool, float], Any] = field(default_factory=dict, init=False)

    @cached_property
    def engine(self) -> Engine:
        return engine(self.blueprint.tree, device=self.device)

    @cached_property
    def plans(self) -> tuple[Any, Any]:
        """Both players' plans of the whole tree, as the engine has them."""
        return both(lambda p: self.engine.plan(p, self.blueprint.probs[p]))

    def gifts(self, gadget: Gadget, find: Callable[[Trunk, Gadget], T]) -> T:
        """What `find` says of the whole tree's gifts, found once per kind of gift."""
        key = (gadget.gifts, gadget.split, gadget.scale)
        if key not in self._gifts:
            self._gifts[key] = find(self, gadget)
        return cast(T, self._gifts[key])

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
        cbv = self.value_of(subgame)
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

    def value_of(self, subgame: Subgame, strategy: Strategy | None = None) -> Floats:
        """[s] what the opponent gets inside against the blueprint: by a strategy, or at best.

        With a best response found inside an abstraction this is the estimate CBV~ of 2017, App. C;
        with the last iterate of the CFR run that made the blueprint, what its experiments used.
        """
        o, run = self.opponent, engine(subgame.tree, device=self.device)
        ours = subgame.reach(1 - o, self)
        plan = run.plan(1 - o, subgame.restrict(self.blueprint, 1 - o), ours)
        if strategy is None:
            found = run.respond(o, plan)
        else:
            found = run.values(o, subgame.restrict(strategy, o), plan)
        return as_numpy(normalise(found.roots.ravel(), subgame.weight(o, ours)))


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
    if out.shape != (len(slots),):
        raise SubgameError(
            f"'{subgame.name}' has {len(slots)} root infosets of player {o}; "
            f"{out.size} numbers were given as {what}."
        )
    if not np.all(np.isfinite(out)):
        raise SubgameError(f"The {what} of a root infoset must be a number, not {given}.")
    return out
