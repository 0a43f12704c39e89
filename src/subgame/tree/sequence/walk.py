"""`walk`: the histories of a game, or of a part of it, as arrays.

A walk calls the rules of a `Game`. It visits histories depth first, checks the rules (each error
names the infoset and the two histories concerned) and makes a frozen table, from which public trees
are compiled. It can start at the top of a subgame (`Top`) instead of the start of the game, and can
stop at a frontier.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.conformance import View, view_of
from subgame.tree.sequence.spot_checks import check_same, check_unchanged, is_sampled

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

BYTES_PER_HISTORY = 42
"""Bytes of one history in the arrays of `Histories`."""
BYTES_PER_INFOSET = 400
"""A generous estimate for one infoset: its name, its actions and the engine's arrays."""


FRONTIER = -2
"""`Histories.player` where a walk stopped."""


class Top(NamedTuple):
    """A history at the top of the part of the game that is walked (S_top)."""

    state: State
    chance: float = 1.0
    """Probability of all chance moves on the way to it."""
    slots: tuple[int, int] = (0, 0)
    """The number of each player's root infoset (augmented infoset) there."""


@dataclass(frozen=True, slots=True)
class InfosetTable:
    """The infosets of one player in order of first visit. Axis: i = infoset."""

    names: Sequence[str]
    actions: Sequence[tuple[str, ...]]
    first: Ints  # [i] the first history seen in it
    parent: Ints  # [i] the player's sequence leading to it, -1 - s from root infoset s
    sequence: Ints  # [i + 1] where its sequences start in the player's numbering


@dataclass(frozen=True, slots=True)
class Histories:
    """All histories in depth-first order, parents first. Axis: h = history.

    A player's *sequence* is one of the player's infosets with an action there (von Stengel 1996);
    number ``tables[p].sequence[i] + a`` is action ``a`` at infoset ``i``.
    """

    game: Game
    parent: Ints  # [h] -1 at the start
    edge: Ints  # [h] index into labels: the action or outcome that led here
    player: NDArray[np.int8]  # [h] 0, 1, CHANCE, TERMINAL or FRONTIER
    action: NDArray[np.int16]  # [h] index of that action among its siblings
    infoset: Ints  # [h] index into tables[player], -1 where nobody acts
    sequence: tuple[Ints, Ints]  # [h] each player's last sequence, -1 - s in root infoset s
    chance: Floats  # [h] probability of all chance moves on the way
    payoff: Floats  # [h] to player 0; 0 inside the tree
    node: Ints  # [h] public state
    labels: Sequence[str]
    tables: tuple[InfosetTable, InfosetTable]
    node_names: Sequence[str]
    node_parent: Ints  # [n] -1 at the root

    def path(self, h: int) -> list[str]:
        """The actions and outcomes that lead to history `h`."""
        out = []
        while self.parent[h] >= 0:
            out.append(self.labels[self.edge[h]])
            h = int(self.parent[h])
        return out[::-1]

    def state(self, h: int) -> State:
        """The game's state at history `h`, by replaying its path."""
        state = self.game.new_initial_state()
        for label in self.path(h):
            state = state.child(label)
        return state

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(slots=True)
class _Table:
    """A growing `InfosetTable`."""

    index: dict[str, int] = field(default_factory=dict)
    actions: list[tuple[str, ...]] = field(default_factory=list)
    first: array[int] = field(default_factory=lambda: array("i"))
    parent: array[int] = field(default_factory=lambda: array("i"))
    sequence: array[int] = field(default_factory=lambda: array("i", [0]))
    node: array[int] = field(default_factory=lambda: array("i"))

    def frozen(self) -> InfosetTable:
        return InfosetTable(
            list(self.index),
            self.actions,
            _ints(self.first),
            _ints(self.parent),
            _ints(self.sequence),
        )


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int32)


class _Walk:
    """The state of one walk: growing arrays, and the checks of the rules."""

    def __init__(
        self, game: Game, limit: float, stop: Callable[[State], bool] | None = None
    ) -> None:
        self.game, self.limit, self.stop = game, limit, stop
        self.parent, self.edge, self.infoset, self.node = (array("i") for _ in range(4))
        self.player, self.action = array("b"), array("h")
        self.sequence = (array("i"), array("i"))
        self.chance, self.payoff = array("d"), array("d")
        self.tables = (_Table(), _Table())
        self.label_index: dict[str, int] = {}
        self.action_sets: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.node_index: dict[tuple[int, str | None], int] = {}
        self.node_parent: list[int] = []
        self.tokens: tuple[list[int], list[int]] = ([], [])
        self.token_index: tuple[dict[object, int], dict[object, int]] = ({}, {})
        self.derive: bool = False
        self.public_of: list[str] = []

    # Errors ----------------------------------------------------------------------------------
    def name(self, h: int) -> str:
        path = self.path(h)
        return f"'{' '.join(path)}'" if path else "the start"

    def path(self, h: int) -> list[str]:
        """The actions and outcomes that lead to history `h`."""
        labels, out = list(self.label_index), []
        while h >= 0 and self.parent[h] >= 0:
            out.append(labels[self.edge[h]])
            h = self.parent[h]
        return out[::-1]

    def fail(self, sentence: str) -> SubgameError:
        return SubgameError(f"{self.game}: {sentence}")

    # One history -----------------------------------------------------------------------------
    def add(
        self, state: State, parent: int, edge: int, action: int, chance: float, seq: tuple[int, int]
    ) -> int:
        h = len(self.parent)
        player = state.current_player()
        if self.stop is not None and parent >= 0 and self.stop(state):
            player = FRONTIER
        elif player not in (0, 1, CHANCE, TERMINAL):
            raise self.fail(
                f"player {player} acts right after history {self.name(parent)}; "
                "the acting player must be 0, 1, chance (-1) or the end (-4)."
            )
        self.parent.append(parent)
        self.edge.append(edge)
        self.player.append(player)
        self.action.append(action)
        self.chance.append(chance)
        self.sequence[0].append(seq[0])
        self.sequence[1].append(seq[1])
        self.payoff.append(self._payoff(state, h) if player == TERMINAL else 0.0)
        self.node.append(self._node(state, h, parent))
        self.infoset.append(self._infoset(state, h, player, seq) if player >= 0 else -1)
        if self.derive:
            self._token(state, h, player, seq)
        if h % 1024 == 0:
            self._memory()
        return h

    def sampled(self, state: State, h: int, replay: bool) -> View | None:
        """The view of a history in the sample that is checked, after `check_same`; else None."""
        if not is_sampled(h) or self.player[h] == FRONTIER:
            return None
        view = view_of(state)
        if replay:
            check_same(view, self.path(h), partial(self.name, h), self.game)
        return view

    def _memory(self) -> None:
        need = len(self.parent) * BYTES_PER_HISTORY
        need += sum(len(table.index) for table in self.tables) * BYTES_PER_INFOSET
        if need > self.limit:
            raise MemoryLimitError(
                f"{self.game}: the tree needs more than {human_bytes(need)} "
                f"({len(self.parent):,} histories so far), over the limit of "
                f"{human_bytes(self.limit)}; pass a larger memory_limit to compile it anyway."
            )

    def _payoff(self, state: State, h: int) -> float:
        won = state.returns()
        if len(won) != 2:
            raise self.fail(f"history {self.name(h)} pays {len(won)} players instead of two.")
        if not all(math.isfinite(x) for x in won):
            raise self.fail(f"history {self.name(h)} pays {won[0]} and {won[1]}.")
        if abs(won[0] + won[1]) > 1e-9 * max(1.0, abs(won[0])):
            raise self.fail(
                f"history {self.name(h)} pays {won[0]:g} and {won[1]:g}, "
                "which do not sum to zero; only zero-sum games can be solved."
            )
        return float(won[0])

    def _node(self, state: State, h: int, parent: int) -> int:
        public = state.public_state()
        if h == 0:
            self.derive = public is None
        elif self.derive != (public is None):
            raise self.fail(
                f"public_state() answers at some histories and not at others ({self.name(h)}); "
                "answer everywhere, or return None everywhere to have it derived."
            )
        if self.derive:
            return 0
        above = self.node[parent] if parent >= 0 else -1
        if parent >= 0 and self.public_of[above] == public:
            return above
        key = (above, public if parent >= 0 else None)  # all tops form one public state
        if key not in self.node_index:
            self.node_index[key] = len(self.node_parent)
            self.node_parent.append(above)
            self.public_of.append(public or "")
        return self.node_index[key]

    def _infoset(self, state: State, h: int, player: int, seq: tuple[int, int]) -> int:
        name = state.information_state(player)
        if not isinstance(name, str):
            raise self.fail(
                f"player {player} acts at history {self.name(h)}, "
                "but information_state gives no string there."
            )
        actions = tuple(state.legal_actions())
        table = self.tables[player]
        i = table.index.get(name)
        if i is None:
            for action in actions:
                if not isinstance(action, str):
                    raise self.fail(
                        f"the action {action!r} at infoset '{name}' of player {player} (history "
                        f"{self.name(h)}) is not a string."
                    )
            if not actions or len(set(actions)) != len(actions):
                raise self.fail(
                    f"infoset '{name}' of player {player} has the actions {list(actions)} at "
                    f"history {self.name(h)}; there must be at least one and no two alike."
                )
            i = table.index[name] = len(table.index)
            table.actions.append(self.action_sets.setdefault(actions, actions))
            table.first.append(h)
            table.parent.append(seq[player])
            table.sequence.append(table.sequence[-1] + len(actions))
            table.node.append(self.node[h])
            return i
        if table.actions[i] != actions:
            raise self.fail(
                f"infoset '{name}' of player {player} offers {list(table.actions[i])} at history "
                f"{self.name(table.first[i])} but {list(actions)} at {self.name(h)}."
            )
        if table.parent[i] != seq[player]:
            raise self.fail(
                f"infoset '{name}' of player {player} has imperfect recall: histories "
                f"{self.name(table.first[i])} and {self.name(h)} are both in it, but there the "
                f"player came from {self._own(player, table.parent[i])} and from "
                f"{self._own(player, seq[player])}."
            )
        if table.node[i] != self.node[h]:
            raise self.fail(
                f"infoset '{name}' of player {player} crosses public states: history "
                f"{self.name(table.first[i])} is in '{self.public_of[table.node[i]]}' and "
                f"{self.name(h)} in '{self.public_of[self.node[h]]}'."
            )
        return i

    def _own(self, player: int, sequence: int) -> str:
        if sequence < 0:
            return "no earlier choice"
        table = self.tables[player]
        i = int(np.searchsorted(np.array(table.sequence), sequence, side="right")) - 1
        return f"'{list(table.index)[i]}' by {table.actions[i][sequence - table.sequence[i]]}"

    def _token(self, state: State, h: int, player: int, seq: tuple[int, int]) -> None:
        for p in (0, 1):
            token = knowledge(state, p, player, self.infoset[h], seq[p])
            index = self.token_index[p]
            self.tokens[p].append(index.setdefault(token, len(index)))


def knowledge(state: State, p: int, player: int, infoset: int, sequence: int) -> tuple[str, object]:
    """What player `p` knows at a history: the augmented infoset (Burch et al. 2014, Def. 1).

    It is the player's infoset where the player acts. Elsewhere it is the information state that
    the game gives, or the player's last infoset and action if the game gives none.
    """
    if player == p:
        return ("at", infoset)
    name = state.information_state(p)
    return ("after", sequence) if name is None else ("knows", name)


def walk(
    game: Game,
    memory_limit: float = math.inf,
    progress: Callable[[int], None] | None = None,
    *,
    tops: Sequence[Top] | None = None,
    stop: Callable[[State], bool] | None = None,
) -> Histories:
    """Walk the histories of `game`; see `subgame.compile` for the arguments.

    The walk starts from `tops`, if given, which form one public state. It does not continue from
    states for which `stop` returns True.
    """
    if game.num_players != 2:
        raise SubgameError(
            f"{game}: the game has {game.num_players} players; only two-player games can be solved."
        )
    w = _Walk(game, memory_limit, stop)
    labels = w.label_index
    # One entry: state, parent, edge label, action index, chance reach, last own sequences.
    stack: list[tuple[State, int, int, int, float, tuple[int, int]]] = [
        (top.state, -1, -1, 0, top.chance, (-1 - top.slots[0], -1 - top.slots[1]))
        for top in reversed(tops or [Top(game.new_initial_state())])
    ]
    while stack:
        item = stack.pop()
        state, chance, seq = item[0], item[4], item[5]
        h = w.add(*item)
        view = w.sampled(state, h, replay=tops is None)
        if progress is not None and h % 16384 == 0:
            progress(h)
        player = w.player[h]
        children: list[tuple[State, int, int, int, float, tuple[int, int]]] = []
        if player == CHANCE:
            for a, (outcome, prob) in enumerate(_outcomes(w, state, h)):
                edge = labels.setdefault(outcome, len(labels))
                children.append((state.child(outcome), h, edge, a, chance * prob, seq))
        elif player >= 0:
            table, i = w.tables[player], w.infoset[h]
            base = table.sequence[i]
            for a, action in enumerate(table.actions[i]):
                edge = labels.setdefault(action, len(labels))
                own = (base + a, seq[1]) if player == 0 else (seq[0], base + a)
                children.append((state.child(action), h, edge, a, chance, own))
        if view is not None:
            check_unchanged(state, view, partial(w.name, h), game)
        stack.extend(reversed(children))
    w._memory()
    return _freeze(w)


def _outcomes(w: _Walk, state: State, h: int) -> Sequence[tuple[str, float]]:
    outcomes = state.chance_outcomes()
    total = sum(prob for _, prob in outcomes)
    if any(not prob >= 0 for _, prob in outcomes) or not abs(total - 1) <= 1e-9:
        raise w.fail(
            f"the chance probabilities at history {w.name(h)} are "
            f"{[prob for _, prob in outcomes]} and sum to {total:g} instead of 1."
        )
    for name, _ in outcomes:
        if not isinstance(name, str):
            raise w.fail(f"the chance outcome {name!r} at history {w.name(h)} is not a string.")
    if len({name for name, _ in outcomes}) != len(outcomes):
        raise w.fail(f"two chance outcomes at history {w.name(h)} have the same name.")
    return outcomes


def _freeze(w: _Walk) -> Histories:
    parent = _ints(w.parent)
    node, names, node_parent = _ints(w.node), w.public_of, np.array(w.node_parent, dtype=np.int32)
    if w.derive:
        node, firsts, node_parent = derive_public(parent, w.tokens)
        names = [w.name(int(h)).strip("'") for h in firsts]
    return Histories(
        game=w.game,
        parent=parent,
        edge=_ints(w.edge),
        player=np.array(w.player, dtype=np.int8),
        action=np.array(w.action, dtype=np.int16),
        infoset=_ints(w.infoset),
        sequence=(_ints(w.sequence[0]), _ints(w.sequence[1])),
        chance=np.array(w.chance),
        payoff=np.array(w.payoff),
        node=node,
        labels=list(w.label_index),
        tables=(w.tables[0].frozen(), w.tables[1].frozen()),
        node_names=names,
        node_parent=node_parent,
    )


def derive_public(parent: Ints, tokens: tuple[list[int], list[int]]) -> tuple[Ints, Ints, Ints]:
    """The finest public states that no augmented infoset crosses (Burch et al. 2014, Def. 1).

    Histories at which a player knows the same are joined. Then classes that do not form a tree are
    joined too (joining closed sets leaves them closed). Returns each history's class, each class's
    first history and each class's parent, parents first.
    """
    size = len(parent)
    link = np.where(parent < 0, 0, np.arange(size))  # all tops form one public state
    for known in tokens:  # a history and the first one with the same knowledge are one class
        ids = np.array(known)
        first = np.full(ids.max() + 1, size)
        np.minimum.at(first, ids, np.arange(size))
        link = _join(link, np.arange(size), first[ids])
    inner = np.flatnonzero(parent >= 0)
    while True:
        above, below = link[parent[inner]], link[inner]
        cross = above != below
        above, below = above[cross], below[cross]
        first_above = np.full(size, size)
        np.minimum.at(first_above, below, above)
        # A class entered from two classes, or entered from inside itself, joins them.
        joined = _join(link, above, first_above[below])
        back = below < above
        joined = _join(joined, above[back], below[back])
        if np.array_equal(joined, link):
            break
        link = joined
    firsts, node = np.unique(link, return_inverse=True)
    node_parent = np.full(len(firsts), -1)
    node_parent[node[inner[cross]]] = node[parent[inner[cross]]]
    return node.astype(np.int32), firsts.astype(np.int32), node_parent.astype(np.int32)


def _join(link: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes after joining each ``a[k]`` with ``b[k]``; a class is named by its least member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(link)
    rows = np.concatenate([np.arange(size), a])
    cols = np.concatenate([link, b])
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    least = np.full(label.max() + 1, size)
    np.minimum.at(least, label, np.arange(size))
    joined: NDArray[np.int64] = least[label]
    return joined
