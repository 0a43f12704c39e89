"""A public state that play has reached: what both players may know there, and how likely.

Agents that solve while they play, local best response and AIVAT all follow a hand in this form. It
needs a game that says which moves both players see (`State.is_public`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import normalise
from subgame.engines.contract import Response
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.frozen import Frozen
from subgame.games.actions import of_kind
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.holdem.rules import Bet
from subgame.refine.kinds import kind_of
from subgame.refine.subgame import SequenceSubgame, Subgame
from subgame.tree.parts import places, restrict
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import assemble, form_of
from subgame.tree.sequence.walk import Top, walk

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
        found = np.asarray(followed.sigma[self.player])[cells].astype(np.float64)
        return np.where(cells < 0, 1 / cells.shape[1], found)

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
        """The same public state with other reaches."""

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
        found: Bet | None = None if said is None else said(action)
        return found

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
        found = self._response(followed, p, best=best)
        weight = self.subgame.weight(p, self.reach[1 - p][self.roots(1 - p)])
        return self.spread(p, normalise(found.roots.ravel(), weight))

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
        found = self._first_values(followed, best=best)
        return self.spread(p, normalise(found, weight[:, None]))


@dataclass(frozen=True, eq=False)
class ReachedHistories(Reached):
    """A public state of any game: its histories. Axis: h = history."""

    game: Game
    states: tuple[State, ...]  # [h]
    chance: Floats  # [h] the probability of chance's moves
    keys: tuple[tuple[str, ...], tuple[str, ...]]  # [s] information states
    at: tuple[Ints, Ints]  # [h] both players' infosets
    reach: tuple[Floats, Floats]
    above: tuple[Ints, Ints]

    @classmethod
    def start(cls, game: Game) -> ReachedHistories:
        """The start of a game, after what is dealt in secret."""
        return _gathered(game, [(game.new_initial_state(), 1.0, (0, 0))])

    @cached_property
    def player(self) -> int:
        found = {state.current_player() for state in self.states}
        if len(found) != 1:
            raise SubgameError(f"In {self.game} it is not known to both players who acts.")
        return found.pop()

    @property
    def acts(self) -> bool:
        return self.player != TERMINAL

    @property
    def state(self) -> State:
        return self.states[0]

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(self.state.legal_actions()) if self.player >= 0 else ()

    def names(self, p: int) -> Sequence[str]:
        return self.keys[p]

    def number(self, p: int, name: str) -> int:
        return self.keys[p].index(name)

    def outcomes(self, p: int, s: int) -> Mapping[str, float]:
        out: dict[str, float] = {}
        weight = self.chance * self.reach[1 - p][self.at[1 - p]] * (self.at[p] == s)
        for h in np.flatnonzero(weight).tolist():
            for outcome, share in self.states[h].chance_outcomes():
                out[outcome] = out.get(outcome, 0.0) + float(weight[h]) * share
        total = sum(out.values())
        return {outcome: share / total for outcome, share in out.items()}

    @property
    def ways(self) -> int:
        return len(self.state.chance_outcomes())

    def child(self, action: str) -> ReachedHistories:
        tops = []
        for state, chance, a, b in zip(self.states, self.chance, *self.at, strict=True):
            share = 1.0
            if self.player == CHANCE:
                share = dict(state.chance_outcomes()).get(action, 0.0)
            if share > 0:
                tops.append((state.child(action), float(chance) * share, (int(a), int(b))))
        if not tops:
            raise SubgameError(f"'{action}' cannot follow in {self.game}.")
        return _gathered(self.game, tops)

    def with_reach(self, reach: tuple[Floats, Floats]) -> ReachedHistories:
        return replace(self, reach=reach)

    def weight(self, p: int) -> Floats:
        out = np.zeros(len(self.keys[p]))
        np.add.at(out, self.at[p], self.chance * self.reach[1 - p][self.at[1 - p]])
        return out

    @cached_property
    def subgame(self) -> SequenceSubgame:
        tops = [
            Top(state, float(chance), (int(a), int(b)))
            for state, chance, a, b in zip(self.states, self.chance, *self.at, strict=True)
        ]
        form = form_of(walk(self.game, tops=tops), self.keys)
        tree, count = assemble(form), (len(self.keys[0]), len(self.keys[1]))
        chance = np.zeros(count)
        np.add.at(chance, self.at, self.chance)
        hangs = (np.arange(count[0], dtype=np.int32), np.arange(count[1], dtype=np.int32))
        top = np.arange(len(tops), dtype=np.int32)
        return SequenceSubgame(tree, "here", tree, form, top, hangs, chance)

    def roots(self, p: int) -> Ints:
        return np.arange(len(self.keys[p]))

    def restrict(self, followed: Followed, p: int) -> NDArray[Any]:
        part, whole = self.subgame.tree.players[p], followed.tree.players[p]
        return restrict(followed.sigma[p], places(part, whole))

    def cells(self, tree: PublicTree) -> Ints | None:
        side, names = tree.players[self.player], self.keys[self.player]
        if any(name not in side.index for name in names):
            return None
        return np.array([side.sequences(side.index[name]) for name in names])

    def deals(self, tree: PublicTree) -> Sequence[str]:
        return list({name: 0 for state in self.states for name, _ in state.chance_outcomes()})

    def _first_values(self, followed: Followed, *, best: bool) -> Floats:
        found, cells = (
            self._response(followed, self.player, best=best),
            self.cells(self.subgame.tree),
        )
        assert found.sequences is not None
        return found.sequences[cells]

    def fitting(self, p: int, s: int) -> Floats:
        out, mine = np.zeros(len(self.keys[1 - p])), self.at[p] == s
        np.add.at(out, self.at[1 - p][mine], self.chance[mine])
        return out

    def checked_down(self, p: int, s: int) -> Floats:
        out = np.zeros(len(self.keys[1 - p]))
        for h in np.flatnonzero(self.at[p] == s).tolist():
            out[self.at[1 - p][h]] += self.chance[h] * _checked_down(self.states[h], p)
        found: Floats = normalise(out, self.fitting(p, s))
        return found


def _checked_down(state: State, p: int) -> float:
    """What player `p` wins in expectation, if both only check and call."""
    player = state.current_player()
    if player == TERMINAL:
        return state.returns()[p]
    if player == CHANCE:
        return sum(
            share * _checked_down(state.child(name), p) for name, share in state.chance_outcomes()
        )
    return _checked_down(state.child(of_kind("call", state.legal_actions())), p)


def _gathered(game: Game, tops: Sequence[tuple[State, float, tuple[int, int]]]) -> ReachedHistories:
    """Histories by infoset; what is dealt in secret follows at once."""
    waiting, found = list(reversed(tops)), []
    while waiting:
        state, chance, slots = waiting.pop()
        dealt = state.chance_outcomes() if state.current_player() == CHANCE else ()
        if dealt and not state.is_public(dealt[0][0]):
            waiting += [(state.child(name), chance * share, slots) for name, share in dealt]
        else:
            found.append((state, chance, slots))
    keys: tuple[dict[str, int], dict[str, int]] = ({}, {})
    above: tuple[list[int], list[int]] = ([], [])
    at: tuple[list[int], list[int]] = ([], [])
    for state, _, slots in found:
        if state.current_player() >= 0 and not state.is_public(state.legal_actions()[0]):
            raise SubgameError(
                f"{game} does not say which moves both players see (State.is_public), so that "
                "play in it cannot be followed."
            )
        for p in (0, 1):
            name = state.information_state(p)
            if name is None:
                raise SubgameError(f"{game} does not say what each player knows at all times.")
            if name not in keys[p]:
                keys[p][name] = len(keys[p])
                above[p].append(slots[p])
            at[p].append(keys[p][name])
    ones = (np.ones(len(keys[0])), np.ones(len(keys[1])))
    return ReachedHistories(
        game=game,
        states=tuple(state for state, *_ in found),
        chance=np.array([chance for _, chance, _ in found]),
        keys=(tuple(keys[0]), tuple(keys[1])),
        at=(np.array(at[0]), np.array(at[1])),
        reach=ones,
        above=(np.array(above[0]), np.array(above[1])),
    )


def every_decision(tree: PublicTree, player: int) -> Iterator[tuple[tuple[Move, ...], Reached]]:
    """Every public state of a tree at which a player acts, with the moves that lead there."""
    waiting: list[tuple[tuple[Move, ...], Reached]] = [((), kind_of(tree).start())]
    while waiting:
        line, here = waiting.pop()
        if here.is_over or not (here.weight(0) * here.reach[0]).any():  # nobody comes here
            continue
        if here.player == player:
            yield line, here
        moves = here.deals(tree) if here.player == CHANCE else here.actions
        waiting += [((*line, (here.player, name)), here.child(name)) for name in reversed(moves)]
