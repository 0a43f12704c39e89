"""Subgames: a part of a game that both players know they are in, and the trunk above it.

Burch et al. 2014, Def. 1: closed under descendants and under both players' augmented infosets.
Everything inside is in units of the whole game (chance weights from the very start), so values
at the root slots are the counterfactual values of Burch et al.: weighted by pi_{-i}.

Alternative payoffs and gifts, what the opponent could have had instead of a subgame, are normalised
as in Brown & Sandholm 2017, Sec. 3: given that the infoset is reached, i.e. the counterfactual
value divided by pi_{-i}. `normalise` is the one place where the two units meet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from subgame.engines.arrays import Array, Floats, as_numpy, namespace, normalise
from subgame.engines.contract import Engine
from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.frozen import Frozen
from subgame.games.base import State
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.tree.public_tree import Index, PublicTree, both, embed, restrict
from subgame.tree.strategy import Strategy

ROUNDING = 1e-5
"""Weights below this share of the largest are rounding: kernels compute in float32."""


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


def reliable(weight: Array) -> Array:
    """Weights without those that are rounding: sums over nearly all hands cancel out."""
    return weight * (weight > ROUNDING * namespace(weight).amax(weight, -1, keepdims=True))


def left(run: Engine, sigma: Sequence[Any], inputs: GadgetInputs) -> Floats:
    """What the opponent gets at best from each root infoset against our part of `sigma`.

    It has the axes of the inputs.
    """
    us, ours = 1 - inputs.opponent, inputs.our_reach.reshape(run.tree.num_roots, -1)
    won = run.respond(inputs.opponent, run.plan(us, sigma[us], ours)).roots
    normalised: Floats = normalise(won.reshape(inputs.weight.shape), inputs.weight)
    return normalised


At = str | int | Iterable[str | int] | Callable[[State], bool]
Vector = Mapping[str, float] | Sequence[float] | Floats
T = TypeVar("T")


class GadgetGame(NamedTuple):
    """A subgame with a finite gadget on top of it, as a tree of its own."""

    tree: PublicTree
    tremble: tuple[int, float] | None = None
    """A player, and the least probability of each of the player's first actions."""


@dataclass(frozen=True, eq=False)
class Subgame(Frozen, ABC):
    """A part of `whole`, as a tree of its own. Axes: s = root infoset, q = sequence."""

    whole: PublicTree
    name: str
    tree: PublicTree

    elsewhere: ClassVar[float] = 1.0
    """What a strategy has at the subgame's root infosets, or in padding."""
    overlaps: ClassVar[bool] = False
    """Whether other subgames of the same cut may have infosets of the opponent in common."""

    @property
    @abstractmethod
    def largest_payoff(self) -> float:
        """The most that can be won inside: rounding is a share of payoffs, which may cancel out."""

    @property
    @abstractmethod
    def places(self) -> tuple[Index | None, Index | None]:
        """[q] where each of the subgame's sequences stands in the whole tree, -1 where it has none.

        None if the subgame is the whole tree.
        """

    def serves(self, p: int) -> bool:
        """Whether player `p` decides anything inside."""
        return bool(self.tree.players[p].names)

    def under(self, trunk: Trunk) -> Subgame:
        """The subgame as it is solved below a trunk; of most it says nothing."""
        return self

    def restrict(self, strategy: Strategy, p: int) -> Floats:
        """[q] player `p`'s part of a strategy of the whole game, inside."""
        return restrict(strategy.probs[p], self.places[p], self.elsewhere)

    def embed(self, p: int, sigma: Floats, into: Floats) -> None:
        """Write player `p`'s strategy for the subgame into an array of the whole game."""
        embed(sigma, self.places[p], into)

    @abstractmethod
    def reach(self, p: int, trunk: Trunk) -> Floats:
        """[s] player `p`'s reach at the root infosets by the blueprint."""

    @abstractmethod
    def most(self, p: int) -> Floats:
        """[s] the most that player `p` can reach each root infoset with."""

    @abstractmethod
    def weight(self, p: int, opponent_reach: Floats) -> Floats:
        """[s] pi_{-p} of each root infoset, given the opponent's reach at theirs."""

    @abstractmethod
    def gifts(self, trunk: Trunk, gadget: Gadget, weight: Floats) -> Floats:
        """[s] what the opponent gave up on the way to each root infoset (2017, eq. 1)."""

    @abstractmethod
    def shown(self, strategy: Strategy, p: int) -> dict[str, dict[str, float]]:
        """Infoset -> action -> probability: what a strategy of the whole game plays inside."""

    def gadget_game(self, gadget: Gadget, inputs: GadgetInputs) -> GadgetGame | None:
        """A finite gadget on top of the subgame as a tree; None where nothing can be on top."""
        return None

    def check_inputs(self, gadget: Gadget, inputs: GadgetInputs) -> None:
        """Refuse a gadget, or numbers for it, that this tree cannot have."""

    def __repr__(self) -> str:
        slots = " and ".join(str(len(side.slots)) for side in self.tree.players)
        return f"<Subgame '{self.name}' of {self.whole.game_name}: {slots} root infosets>"


def cut_already(tree: PublicTree, subgames: list[Subgame]) -> list[Subgame]:
    """Subgames that a user has cut, after checking that the tree is that of all of them."""
    for subgame in subgames:
        if subgame.whole is not tree and subgame.whole.digest != tree.digest:
            raise SubgameError(f"{subgame!r} was not cut from {tree!r}.")
    return subgames


def combine(blueprint: Strategy, parts: Iterable[tuple[Subgame, int, Floats]]) -> Strategy:
    """A trunk strategy with refined subgames: (subgame, player, the player's strategy there)."""
    probs = (blueprint.probs[0].copy(), blueprint.probs[1].copy())
    for subgame, p, sigma in parts:
        subgame.embed(p, sigma, probs[p])
    return Strategy(blueprint.tree, probs)


# A blueprint seen from one side ------------------------------------------------------------------


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
            response = run.respond(o, plan)
        else:
            response = run.values(o, subgame.restrict(strategy, o), plan)
        return as_numpy(normalise(response.roots.ravel(), subgame.weight(o, ours)))


def vector(subgame: Subgame, o: int, values: Vector, what: str) -> Floats:
    """[s] a user's numbers for the opponent's root infosets, by name or in order."""
    slots = subgame.tree.players[o].slots
    if isinstance(values, Mapping):
        for name in values:
            if name not in slots:
                raise did_you_mean(f"root infoset of player {o} in '{subgame.name}'", name, slots)
        missing = [name for name in slots if name not in values]
        if missing:
            raise SubgameError(f"The {what} of root infoset '{missing[0]}' is missing.")
        values = [values[name] for name in slots]
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        out = np.full(len(slots), np.nan)
    if out.shape != (len(slots),):
        raise SubgameError(
            f"'{subgame.name}' has {len(slots)} root infosets of player {o}; "
            f"{out.size} numbers were given as {what}."
        )
    if not np.all(np.isfinite(out)):
        raise SubgameError(f"The {what} of a root infoset must be a number, not {values}.")
    return out
