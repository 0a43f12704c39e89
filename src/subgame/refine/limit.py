"""A depth limit and depth-limited play, as users ask for them (2018, Sec. 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypedDict, TypeVar

from subgame.engines.arrays import Floats
from subgame.errors import SubgameError
from subgame.games.base import State
from subgame.refine.behind import Solving
from subgame.refine.continuations import Continuations, biased
from subgame.refine.gadgets import Gadget
from subgame.refine.subgame import At, Subgame
from subgame.tree.strategy import Strategy


class LeafValues(NamedTuple):
    """What player 0 wins from each history on. Axes: h = history at the limit, k, m = both's."""

    value: Floats  # [h, k, m] v^<k, m>(h), given that h was reached
    error: Floats  # [h, k, m] its standard error; 0 where the value is exact


LeafT_contra = TypeVar("LeafT_contra", contravariant=True)
ValuesT_co = TypeVar("ValuesT_co", covariant=True)


class LeafEvaluator(Protocol[LeafT_contra, ValuesT_co]):
    """Values at a depth limit: a function of what lies at the limit.

    It is asked for a public state with all its histories (`refine.sequence.leaves.Leaf`), or in
    whole hold'em for the end of a street (`play.hunl.street.StreetEnd`), and says what is won there
    by the continuations of the players.
    """

    def __call__(self, leaf: LeafT_contra, /) -> ValuesT_co:
        """The values of a leaf."""


Evaluator = LeafEvaluator[Any, LeafValues]
"""Anything that values the histories of a `Leaf`: `exact`, `Rollouts(...)`, a `LeafNetwork`, or a
function of your own."""


class LeafOptions(TypedDict, total=False):
    """The values of histories at a depth limit, and where they are computed.

    If the blueprint is no equilibrium a continuation may beat it, which makes us too careful: see
    `weaken` and `penalty` (both: 2018, end of Sec. 4).
    """

    values: Evaluator | None
    """Exact, the default, `Rollouts(...)` or a trained `LeafNetwork`."""
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
    values: Evaluator | None = None
    """None: exact values."""
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
        for continuations in filter(None, (theirs, own)):
            if continuations.tree is not tree and continuations.tree.digest != tree.digest:
                raise SubgameError(
                    f"The continuations lie over {continuations.tree!r}, not over {tree!r}."
                )
            if (self.weaken or self.penalty) and not continuations.blueprint_first:
                raise SubgameError(
                    "Weakening and penalties compare with the blueprint, which must be the first "
                    "continuation."
                )
            out[continuations.player] = continuations
        return out


Chooser = Callable[[Sequence[Subgame]], Continuations]
"""From the subgames at a limit to what the opponent may play in them."""


@dataclass(frozen=True, eq=False)
class Play:
    """Depth-limited play, as `play_limited` was asked for it."""

    blueprint: Strategy
    at: Sequence[At] | None
    player: int
    continuations: Chooser | None
    gadget: Gadget
    solving: Solving
    values: Evaluator | None

    def offered(self, leaves: Sequence[Subgame]) -> Continuations:
        """What the opponent may choose from at a limit."""
        if self.continuations is not None:
            return self.continuations(leaves)
        return biased(self.blueprint, 1 - self.player)


Played = tuple[Strategy, tuple[tuple[int, str], ...]]
"""What is played, and (how many limits lie before it, public state) of what was solved."""
