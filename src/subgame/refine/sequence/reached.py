"""Public states that play has reached, in games that are followed by their histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import normalise
from subgame.errors import SubgameError
from subgame.games.actions import of_kind
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.refine.reached import Floats, Followed, Ints, Reached
from subgame.refine.sequence.subgames import SequenceSubgame
from subgame.tree.public_tree import PublicTree, places, restrict
from subgame.tree.sequence.form import assemble, form_of
from subgame.tree.sequence.walk import Top, walk


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
        players = {state.current_player() for state in self.states}
        if len(players) != 1:
            raise SubgameError(f"In {self.game} it is not known to both players who acts.")
        return players.pop()

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
        values, cells = (
            self._response(followed, self.player, best=best),
            self.cells(self.subgame.tree),
        )
        assert values.sequences is not None
        return values.sequences[cells]

    def fitting(self, p: int, s: int) -> Floats:
        out, mine = np.zeros(len(self.keys[1 - p])), self.at[p] == s
        np.add.at(out, self.at[1 - p][mine], self.chance[mine])
        return out

    def checked_down(self, p: int, s: int) -> Floats:
        out = np.zeros(len(self.keys[1 - p]))
        for h in np.flatnonzero(self.at[p] == s).tolist():
            out[self.at[1 - p][h]] += self.chance[h] * _checked_down(self.states[h], p)
        payoffs: Floats = normalise(out, self.fitting(p, s))
        return payoffs


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
    waiting, histories = list(reversed(tops)), []
    while waiting:
        state, chance, slots = waiting.pop()
        dealt = state.chance_outcomes() if state.current_player() == CHANCE else ()
        if dealt and not state.is_public(dealt[0][0]):
            waiting += [(state.child(name), chance * share, slots) for name, share in dealt]
        else:
            histories.append((state, chance, slots))
    keys: tuple[dict[str, int], dict[str, int]] = ({}, {})
    above: tuple[list[int], list[int]] = ([], [])
    at: tuple[list[int], list[int]] = ([], [])
    for state, _, slots in histories:
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
        states=tuple(state for state, *_ in histories),
        chance=np.array([chance for _, chance, _ in histories]),
        keys=(tuple(keys[0]), tuple(keys[1])),
        at=(np.array(at[0]), np.array(at[1])),
        reach=ones,
        above=(np.array(above[0]), np.array(above[1])),
    )
