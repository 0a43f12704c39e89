"""A public state that play has reached: what both players may know there, and how likely.

Agents that solve while they play, local best response and AIVAT all follow a hand in this form. It
needs a game that says which moves both players see (`State.is_public`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import normalise
from subgame.engines.contract import Response
from subgame.engines.factory import engine
from subgame.frozen import Frozen
from subgame.games.base import TERMINAL, Game, State
from subgame.games.holdem.rules import Bet
from subgame.refine.subgame import Subgame
from subgame.tree.public_tree import PublicTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[Any, Any]
Move = tuple[int, str]
"""(player or `CHANCE`, action)"""


class Followed(NamedTuple):
    """What is played from a public state on: both players' strategies over a tree."""

    tree: PublicTree
    sigma: Pair  # [q]
    offered: tuple[Any, ...] = ()
    """[q] each: what the opponent chooses from at a depth limit; empty if there was none."""


class Reached(Frozen, ABC):
    """A public state that play has reached. Axis: s = infoset of a player there."""

    game: Game
    """The rules whose bet sizes are considered from here on."""
    reach: tuple[Floats, Floats]
    """[s] how likely each player alone plays so, with each infoset."""
    above: tuple[Ints, Ints]
    """[s] the infoset before the last move, from which each infoset follows."""

    @property
    @abstractmethod
    def player(self) -> int:
        """Who acts: 0 or 1, `CHANCE` or `TERMINAL`."""

    @property
    def is_over(self) -> bool:
        """Whether nobody acts any more; cards may still be dealt."""
        return self.player == TERMINAL

    @property
    def acts(self) -> bool:
        """Whether a subgame can begin here: a player acts, or chance in a game of histories."""
        return self.player >= 0

    @property
    @abstractmethod
    def actions(self) -> tuple[str, ...]:
        """What the player who acts may do, in the sizes that the game considers."""

    @property
    @abstractmethod
    def state(self) -> State:
        """One of the histories here, for questions about what both players know."""

    @abstractmethod
    def names(self, p: int) -> Sequence[str]:
        """[s] the information states of player `p`."""

    @abstractmethod
    def number(self, p: int, name: str) -> int:
        """The infoset of player `p` with that name."""

    @abstractmethod
    def outcomes(self, p: int, s: int) -> Mapping[str, float]:
        """What chance may do, and how likely that is for player `p` with infoset `s`."""

    @property
    @abstractmethod
    def ways(self) -> int:
        """About how many outcomes chance has here."""

    @abstractmethod
    def child(self, action: str) -> Self:
        """The public state after a move, with the reaches as they were."""

    @abstractmethod
    def weight(self, p: int) -> Floats:
        """[s] pi_{-p}: the reach of chance and of the other player at player `p`'s infosets."""

    @property
    @abstractmethod
    def subgame(self) -> Subgame:
        """The rest of the game, as a tree of its own."""

    @abstractmethod
    def roots(self, p: int) -> Ints:
        """[root infoset of the subgame] which infoset it is."""

    @abstractmethod
    def restrict(self, followed: Followed, p: int) -> NDArray[Any]:
        """[q] player `p`'s part of what is followed, over the subgame's tree."""

    @abstractmethod
    def cells(self, tree: PublicTree) -> Ints | None:
        """[s, action] the acting player's sequences in a tree; None if it does not come here.

        A row of -1 is an infoset that the player cannot have.
        """

    @abstractmethod
    def deals(self, tree: PublicTree) -> Sequence[str]:
        """What chance may do here; of a tree whose boards are merged, one of each kind."""

    def rows(self, followed: Followed) -> Floats | None:
        """[s, action] what the player who acts plays here; None if the tree does not know."""
        cells = self.cells(followed.tree)
        if cells is None:
            return None
        rows = np.asarray(followed.sigma[self.player])[cells].astype(np.float64)
        return np.where(cells < 0, 1 / cells.shape[1], rows)

    @abstractmethod
    def checked_down(self, p: int, s: int) -> Floats:
        """[s of the other player] what player `p` wins if both only check and call from here on.

        It is in chips, and the mean over the cards to come. At the end of the game it is what is
        paid.
        """

    @abstractmethod
    def fitting(self, p: int, s: int) -> Floats:
        """[s of the other player] the probability of chance's moves so far, given infoset `s`.

        It is up to a factor, and 0 for what player `p` knows the other one cannot have.
        """

    @abstractmethod
    def _first_values(self, followed: Followed, *, best: bool) -> Floats:
        """[root infoset, action] values of the player who acts, not normalised."""

    def after(self, action: str, probability: Floats | None = None) -> Self:
        """The public state after a move that the acting player makes with `probability` [s].

        Where nobody would come here any more, the reach stays what it was: something must be
        believed about a player who does what was not expected.
        """
        there = self.child(action)
        reach = [self.reach[p][there.above[p]] for p in (0, 1)]
        p = self.player
        if p >= 0 and probability is not None:
            now = reach[p] * probability[there.above[p]]
            reach[p] = now if (now * (there.weight(p) > 0)).sum() > 0 else reach[p]
        return there.with_reach((reach[0], reach[1]))

    @abstractmethod
    def with_reach(self, reach: tuple[Floats, Floats]) -> Self:
        """This public state with other reaches."""

    def below(self, p: int, s: int) -> int:
        """The infoset here that follows from player `p`'s infoset `s` before the last move."""
        above = self.above[p]
        return s if s < len(above) and above[s] == s else int(np.flatnonzero(above == s)[0])

    def within(self, frontier: str) -> bool:
        """Whether the public state is at or below a frontier that the game names."""
        return bool(self.game.frontiers()[frontier](self.state))

    def bet(self, action: str) -> Bet | None:
        """How large an action is, where the game's states say so; None otherwise."""
        said = getattr(self.state, "bet", None)
        size: Bet | None = None if said is None else said(action)
        return size

    # Values ------------------------------------------------------------------------------------
    def spread(self, p: int, values: Floats) -> Floats:
        """[s] numbers by root infoset of the subgame, by infoset; 0 elsewhere."""
        out = np.zeros((len(self.reach[p]), *values.shape[1:]))
        out[self.roots(p)] = values
        return out

    def values(self, followed: Followed, p: int, *, best: bool) -> Floats:
        """[s] what player `p` wins here on average, given the infoset, in chips.

        The other player follows `followed`; player `p` does too, or plays a best response.
        """
        response = self._response(followed, p, best=best)
        weight = self.subgame.weight(p, self.reach[1 - p][self.roots(1 - p)])
        return self.spread(p, normalise(response.roots.ravel(), weight))

    def dealt_values(self, followed: Followed, p: int) -> dict[str, Floats] | None:
        """`values` after every outcome of chance, if they are found together; None otherwise."""
        return None

    def _response(self, followed: Followed, p: int, *, best: bool) -> Response:
        run, o = engine(self.subgame.tree), 1 - p
        plan = run.plan(o, self.restrict(followed, o), self.reach[o][self.roots(o)])
        return run.respond(p, plan) if best else run.values(p, self.restrict(followed, p), plan)

    def action_values(self, followed: Followed, *, best: bool) -> Floats:
        """[s, action] what each action of the acting player is worth; see `values`."""
        p = self.player
        weight = self.subgame.weight(p, self.reach[1 - p][self.roots(1 - p)])
        values = self._first_values(followed, best=best)
        return self.spread(p, normalise(values, weight[:, None]))
