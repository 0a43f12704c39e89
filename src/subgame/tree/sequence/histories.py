"""`Histories`: what a walk finds, as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from subgame.games.base import TERMINAL, Game, State

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

FRONTIER = -2
"""`Histories.player` where a walk stopped."""


class Top(NamedTuple):
    """A history at the top of the part of the game that is walked (S_top)."""

    state: State
    chance: float = 1.0
    """Probability of all chance moves on the way to it."""
    slots: tuple[int, int] = (0, 0)
    """The number of each player's root infoset (augmented infoset) there."""
    path: Sequence[str] = ()
    """The moves to it from the start of the game; used where the rules are arrays."""


@dataclass(frozen=True, slots=True)
class InfosetTable:
    """The infosets of one player in order of first visit. Axis: i = infoset."""

    names: Sequence[str]
    actions: Sequence[tuple[str, ...]]
    first: Ints  # [i] the first history seen in it
    sequence: Ints  # [i + 1] where its sequences start in the player's numbering


@dataclass(frozen=True, slots=True)
class Histories:
    """All histories in depth-first order, parents first. Axis: h = history.

    A player's *sequence* is one of the player's infosets with an action there (von Stengel 1996);
    number ``tables[p].sequence[i] + a`` is action ``a`` at infoset ``i``. The first numbers are
    those of the player's root infosets.
    """

    game: Game
    parent: Ints  # [h] -1 at the start
    edge: Ints  # [h] index into labels: the action or outcome that led here
    player: NDArray[np.int8]  # [h] 0, 1, CHANCE, TERMINAL or FRONTIER
    action: Ints  # [h] index of that action among its siblings
    infoset: Ints  # [h] index into tables[player], -1 where nobody acts
    sequence: tuple[Ints, Ints]  # [h] each player's last sequence, or root infoset
    chance: Floats  # [h] probability of all chance moves on the way
    payoff: Floats  # [h] to player 0; 0 inside the tree
    node: Ints  # [h] public state
    labels: Sequence[str]
    tables: tuple[InfosetTable, InfosetTable]
    node_names: Sequence[str]
    node_parent: Ints  # [n] -1 at the root

    def path(self, h: int) -> list[str]:
        """The actions and outcomes that lead to history `h`."""
        return path_of(self.parent, self.edge, self.labels, h)

    def state(self, h: int) -> State:
        """The game's state at history `h`, by replaying its path."""
        state = self.game.new_initial_state()
        for label in self.path(h):
            state = state.child(label)
        return state

    def down_to(self, top: NDArray[np.int64]) -> Histories:
        """The histories down to those at the `top` of some subgames, where a walk would stop.

        No infoset lies both above and below. Numbers are those of a walk that stops there.
        """
        below, ends = np.zeros(len(self), bool), np.zeros(len(self), bool)
        ends[top] = True
        for h, above in enumerate(self.parent.tolist()):  # parents first
            below[h] = above >= 0 and (below[above] or ends[above])
        kept = np.flatnonzero(~below)
        history, node = _numbers(kept, len(self)), np.unique(self.node[kept])
        acts = np.where(ends, -1, self.infoset)[kept]
        tables, sequence = [], []
        for p, table in enumerate(self.tables):
            own = np.unique(acts[(self.player[kept] == p) & (acts >= 0)])
            sizes = [len(table.actions[i]) for i in own.tolist()]
            roots = int(table.sequence[0])
            start = np.cumsum([roots, *sizes], dtype=np.int32)
            old = [np.arange(roots), *map(np.arange, table.sequence[own], table.sequence[own + 1])]
            place = _numbers(np.concatenate(old), int(table.sequence[-1]))
            names = [table.names[i] for i in own.tolist()]
            actions = [table.actions[i] for i in own.tolist()]
            tables.append(InfosetTable(names, actions, history[table.first[own]], start))
            sequence.append(place[self.sequence[p][kept]])
            here = (self.player[kept] == p) & (acts >= 0)
            acts[here] = _numbers(own, len(table.names))[acts[here]]
        number, above = _numbers(node, len(self.node_names)), self.parent[kept]
        up = self.node_parent[node]
        return replace(
            self,
            parent=np.where(above >= 0, history[above], -1).astype(np.int32),
            edge=self.edge[kept],
            player=np.where(ends, FRONTIER, self.player)[kept].astype(np.int8),
            action=self.action[kept],
            infoset=acts,
            sequence=(sequence[0], sequence[1]),
            chance=self.chance[kept],
            payoff=np.where(ends, 0.0, self.payoff)[kept],
            node=number[self.node[kept]],
            tables=(tables[0], tables[1]),
            node_names=[self.node_names[n] for n in node.tolist()],
            node_parent=np.where(up >= 0, number[up], -1).astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.parent)


def _numbers(kept: NDArray[Any], size: int) -> Ints:
    """[old number] the new number of what is kept, in the same order."""
    out = np.full(size, -1, np.int32)
    out[kept] = np.arange(len(kept))
    return out


def path_of(parent: Ints, edge: Ints, labels: Sequence[str], h: int) -> list[str]:
    """The actions and outcomes that lead to history `h`."""
    out = []
    while parent[h] >= 0:
        out.append(labels[edge[h]])
        h = int(parent[h])
    return out[::-1]


def path_name(path: Callable[[int], Sequence[str]], firsts: Ints, n: int) -> str:
    """The name of a public state that the game does not name: the path of its first history."""
    return " ".join(path(int(firsts[n]))) or "the start"


class Replayed(Sequence[str]):
    """Names that states give. All are made when one is first asked for.

    Each name is that of the state of one history (`firsts`): what `player` knows, or what is public
    if there is no player. The histories are in depth-first order, so each state above them is made
    once, from those at the `tops`.
    """

    def __init__(
        self,
        tops: Sequence[Top],
        parent: Ints,
        edge: Ints,
        labels: Sequence[str],
        firsts: Ints,
        player: int | None = None,
    ) -> None:
        self.tops, self.parent, self.edge, self.labels = tops, parent, edge, labels
        self.firsts, self.player = firsts, player

    @cached_property
    def names(self) -> list[str]:
        starts = dict(zip(np.flatnonzero(self.parent < 0).tolist(), self.tops, strict=True))
        path, states, out = [-1], list[State](), []  # -1 is above all tops
        for h in self.firsts.tolist():
            down = list[int]()
            while h != path[-1]:  # up to the last history that is above both
                if h > path[-1]:
                    down.append(h)
                    h = int(self.parent[h])
                else:
                    path.pop()
                    states.pop()
            for below in reversed(down):
                path.append(below)
                top = starts.get(below)
                states.append(top.state if top else states[-1].child(self.labels[self.edge[below]]))
            out.append(str(self._name(states[-1])))
        return out

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key != "names"}

    def _name(self, state: State) -> str | None:
        if self.player is None:
            return state.public_state()
        return state.information_state(self.player)

    def __len__(self) -> int:
        return len(self.firsts)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        return self.names[i]


def spelled(
    spell: Callable[[Sequence[Any]], str],
    parent: Ints,
    places: Ints,
    keys: Sequence[Any],
    before: Sequence[Sequence[Any]],
    first: Ints,
    i: int,
) -> str:
    """The name of an infoset of a game whose players know all moves, those `before` included."""
    h, out = int(first[i]), []
    while parent[h] >= 0:
        out.append(keys[places[h]])
        h = int(parent[h])
    root = int(np.count_nonzero(parent[:h] < 0))
    return spell([*before[root], *out[::-1]])


class MoveLists:
    """The distinct lists of actions or outcomes. Axes: s = list, k = place in all lists."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.index: dict[tuple[Any, ...], int] = {}
        self.names: list[tuple[str, ...]] = []  # [s]
        self.keys: list[list[Any]] = []  # [s] the last one first
        self.key: list[Any] = []  # [k]
        self.player, self.seat = array("b"), array("b")  # [s] what `Histories` says; who acts
        self.start = array("i", [0])  # [s + 1]
        self.label, self.prob = array("i"), array("d")  # [k]
        self.add(TERMINAL, TERMINAL)  # the first list is that of all ends

    def add(
        self,
        player: int,
        seat: int,
        names: tuple[str, ...] = (),
        keys: Sequence[object] = (),
        probs: Sequence[float] = (),
    ) -> int:
        """The number of a list, which may be there already."""
        result = self.index.setdefault((player, seat, names, *keys, *probs), len(self.names))
        if result < len(self.names):
            return result
        self.player.append(player)
        self.seat.append(seat)
        self.label.extend(self.labels.setdefault(name, len(self.labels)) for name in names)
        self.prob.extend(probs)
        self.key.extend(keys)
        self.names.append(names)
        self.keys.append(list(keys)[::-1])
        self.start.append(len(self.label))
        return result
