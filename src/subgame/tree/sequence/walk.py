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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.memory import Allowance
from subgame.tree.public_tree import OnDemand
from subgame.tree.sequence.public_states import derive_public

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

BYTES_PER_HISTORY = 240
"""Bytes of one history while its arrays are made, as measured."""
BYTES_PER_INFOSET = 300
"""Bytes of one infoset: its entries in the tables and in the engine, without its name."""
BYTES_PER_NAME = 100
"""Bytes of a name in a table, beside its letters."""
DEEPEST = 10_000
"""The most moves that a history can have. A game with longer ones is taken never to end."""
LONGEST = 40
"""Moves of a history that an error names; those between the first and the last are left out."""

FRONTIER = -2
"""`Histories.player` where a walk stopped."""
_ACTING = (0, 1, TERMINAL, CHANCE, FRONTIER)


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
        return _path(self.parent, self.edge, self.labels, h)

    def state(self, h: int) -> State:
        """The game's state at history `h`, by replaying its path."""
        state = self.game.new_initial_state()
        for label in self.path(h):
            state = state.child(label)
        return state

    def __len__(self) -> int:
        return len(self.parent)


_Moves = tuple[tuple[int, int, Any], ...]
"""Actions or outcomes as (number, index of the label, key), the last one first."""


@dataclass(slots=True)
class _Table:
    """A growing `InfosetTable`. Axis: i = infoset."""

    index: dict[int, int] = field(default_factory=dict)  # number of the name -> infoset
    names: list[str] = field(default_factory=list)
    actions: list[tuple[str, ...]] = field(default_factory=list)
    keys: list[Sequence[Any]] = field(default_factory=list)
    moves: list[_Moves] = field(default_factory=list)
    first: array[int] = field(default_factory=lambda: array("i"))
    parent: array[int] = field(default_factory=lambda: array("i"))
    sequence: array[int] = field(default_factory=lambda: array("i", [0]))
    node: array[int] = field(default_factory=lambda: array("i"))

    def frozen(self) -> InfosetTable:
        return InfosetTable(
            self.names,
            self.actions,
            _ints(self.first),
            _ints(self.parent),
            _ints(self.sequence),
        )


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int32)


_Step = tuple[Any, Any, int, int, int, float, int, int, int]
"""A history to be visited: the state above it and the key of its last move (at a top, its own state
and None), then its parent, edge, action, chance and sequences, and its number of moves."""


class _Walk:
    """The state of one walk: growing arrays, and the checks of the rules.

    Columns of `Histories` grow by one entry per history. `ends` and `paid` are the terminals and
    what they pay. States are made when they are visited, so that a walk holds one per move of the
    longest history.
    """

    def __init__(
        self, game: Game, allowed: Allowance, stop: Callable[[State], bool] | None = None
    ) -> None:
        self.game, self.allowed, self.stop = game, allowed, stop
        self.reader = game.reader()
        self.parent, self.edge, self.infoset, self.node = (array("i") for _ in range(4))
        self.player, self.action = array("b"), array("h")
        self.sequence = (array("i"), array("i"))
        self.chance, self.paid, self.ends = array("d"), array("d"), array("i")
        self.tables = (_Table(), _Table())
        self.label_index: dict[str, int] = {}
        self.action_sets: dict[tuple[str, ...], tuple[tuple[str, ...], Sequence[Any], _Moves]] = {}
        self.node_index: dict[tuple[int, str | None], int] = {}
        self.node_parent: list[int] = []
        self.known = (array("i"), array("i"))
        self.numbers: dict[str, int] = {}  # of all information states
        self.derive: bool = False
        self.public_of: list[str] = []
        self.named = 0  # bytes of all names
        self.roots = 1

    def run(self, tops: Sequence[Top], progress: Callable[[int], None] | None) -> None:
        """Visit all histories. This loop is most of the time of a compilation."""
        self.roots = 1 + max(max(top.slots) for top in tops)
        self.derive = derive = tops[0].state.public_state() is None
        reader, stop = self.reader, self.stop
        stack: list[_Step] = [
            (reader.opened(state), None, -1, -1, 0, chance, -1 - slots[0], -1 - slots[1], 0)
            for state, chance, slots in reversed(tops)
        ]
        facts, replace, parents = reader.facts, reader.replace if stop is None else None, self.parent
        add_parent, add_edge, add_action = parents.append, self.edge.append, self.action.append
        add_player, add_chance, add_node = self.player.append, self.chance.append, self.node.append
        add_first, add_second = (each.append for each in self.sequence)
        know_first, know_second = (each.append for each in self.known)
        numbers, number = self.numbers, self.numbers.setdefault
        h = node = -1
        while stack:
            state, key, parent, edge, action, chance, first, second, depth = stack.pop()
            if parent >= 0:
                if replace is None or (stack and stack[-1][0] is state):
                    state = state.child(key)
                else:  # the last child of its state
                    replace(state, key)
            player, public, moves, (mine, yours) = facts(state, derive)
            if stop is not None and parent >= 0 and stop(reader.closed(state)):
                player = FRONTIER
            h += 1
            infoset, size, one, two = -1, len(numbers), -1, -1
            if mine is not None:
                one = number(mine, size)
            if yours is mine:
                two = one
            elif yours is not None:
                two = number(yours, len(numbers))
            if len(numbers) > size:
                self._count_names(mine if one == size else None, yours if two >= size else None)
            add_parent(parent)
            add_edge(edge)
            add_action(action)
            if not derive or public is not None:
                node = self._node(public, h, parent)
            add_player(player if player in _ACTING else self._nobody(player, parent))
            add_chance(chance)
            add_node(node)
            add_first(first)
            add_second(second)
            if player == TERMINAL:
                self.ends.append(h)
                self.paid.append(self._payoff(moves, h))
            elif player == 0:
                infoset, base, steps = self._infoset(state, mine, one, moves, h, 0)
                for a, e, key in steps:
                    stack.append((state, key, h, e, a, chance, base + a, second, depth + 1))
            elif player == 1:
                infoset, base, steps = self._infoset(state, yours, two, moves, h, 1)
                for a, e, key in steps:
                    stack.append((state, key, h, e, a, chance, first, base + a, depth + 1))
            elif player == CHANCE:
                for (a, e, key), prob in self._outcomes(state, h):
                    stack.append((state, key, h, e, a, chance * prob, first, second, depth + 1))
            self.infoset.append(infoset)
            if derive:
                know_first(one)
                know_second(two)
            if h % 1024 == 0 or depth > DEEPEST:
                self._check(h, depth, progress)
        self.check_memory(complete=True)

    def _check(self, h: int, depth: int, progress: Callable[[int], None] | None) -> None:
        if depth > DEEPEST:
            raise self.fail(
                f"history {self.name(h)} has more than {DEEPEST:,} moves; only games that end "
                f"after at most {DEEPEST:,} moves can be compiled."
            )
        self.check_memory()
        if progress is not None:
            progress(h)

    # Errors ----------------------------------------------------------------------------------
    def name(self, h: int) -> str:
        labels, out = list(self.label_index), []
        while h >= 0 and self.parent[h] >= 0:
            out.append(labels[self.edge[h]])
            h = self.parent[h]
        if len(out) > LONGEST:
            out[LONGEST // 2 : -LONGEST // 2] = ["..."]
        return f"'{' '.join(reversed(out))}'" if out else "the start"

    def fail(self, sentence: str) -> SubgameError:
        return SubgameError(f"{self.game}: {sentence}")

    def _nobody(self, player: int, parent: int) -> int:
        raise self.fail(
            f"player {player} acts right after history {self.name(parent)}; "
            "the acting player must be 0, 1, chance (-1) or the end (-4)."
        )

    # One history -----------------------------------------------------------------------------
    def check_memory(self, *, complete: bool = False) -> None:
        """Raise an error if compiling or solving needs more memory than is allowed."""
        infosets = sum(len(table.actions) for table in self.tables)
        size = len(self.parent)
        need = size * BYTES_PER_HISTORY + infosets * BYTES_PER_INFOSET + self.named
        what = f"{self.game}: the tree of {size:,} histories"
        self.allowed.refuse(what if complete else f"{what} so far", need, known=complete)

    def _payoff(self, won: Sequence[float], h: int) -> float:
        if len(won) != 2:
            raise self.fail(f"history {self.name(h)} pays {len(won)} players instead of two.")
        first, second = won
        if first == -second and first - first == 0:  # finite
            return float(first)
        if not (math.isfinite(first) and math.isfinite(second)):
            raise self.fail(f"history {self.name(h)} pays {first} and {second}.")
        if abs(first + second) > 1e-9 * max(1.0, abs(first)):
            raise self.fail(
                f"history {self.name(h)} pays {first:g} and {second:g}, "
                "which do not sum to zero; only zero-sum games can be solved."
            )
        return float(first)

    def _node(self, public: str | None, h: int, parent: int) -> int:
        """The number of the public state of a history whose game names its public states."""
        if self.derive or public is None:
            raise self.fail(
                f"public_state() answers at some histories and not at others ({self.name(h)}); "
                "answer everywhere, or return None everywhere to have it derived."
            )
        above = self.node[parent] if parent >= 0 else -1
        if parent >= 0 and self.public_of[above] == public:
            return above
        key = (above, public if parent >= 0 else None)  # all tops form one public state
        found = self.node_index.get(key)
        if found is None:
            found = self.node_index[key] = len(self.node_parent)
            self.node_parent.append(above)
            self.public_of.append(public)
            self.named += len(public) + BYTES_PER_NAME
        return found

    def _infoset(
        self, state: Any, name: str | None, number: int, keys: Sequence[Any], h: int, player: int
    ) -> tuple[int, int, _Moves]:
        """The acting player's infoset, which is checked, its first sequence and its actions."""
        table, sequence, node = self.tables[player], self.sequence[player][h], self.node[h]
        i = table.index.get(number, -1)
        if i < 0:
            self._add_infoset(state, name, keys, h, player)
            i = table.index[number] = len(table.index)
        moves = table.moves[i]
        if table.keys[i] != keys:
            names = self.reader.names(state, keys)
            if table.actions[i] != names:
                raise self.fail(
                    f"infoset '{name}' of player {player} offers {list(table.actions[i])} at "
                    f"history {self.name(table.first[i])} but {list(names)} at {self.name(h)}."
                )
            moves = self._moves(names, keys)
        if table.parent[i] != sequence:
            raise self.fail(
                f"infoset '{name}' of player {player} has imperfect recall: histories "
                f"{self.name(table.first[i])} and {self.name(h)} are both in it, but there the "
                f"player came from {self._own(player, table.parent[i])} and from "
                f"{self._own(player, sequence)}."
            )
        if table.node[i] != node:
            raise self.fail(
                f"infoset '{name}' of player {player} crosses public states: history "
                f"{self.name(table.first[i])} is in '{self.public_of[table.node[i]]}' and "
                f"{self.name(h)} in '{self.public_of[node]}'."
            )
        return i, table.sequence[i], moves

    def _add_infoset(
        self, state: Any, name: str | None, keys: Sequence[Any], h: int, player: int
    ) -> None:
        if not isinstance(name, str):
            raise self.fail(
                f"player {player} acts at history {self.name(h)}, "
                "but information_state gives no string there."
            )
        actions = self.reader.names(state, keys)
        try:
            known = self.action_sets.get(actions)  # equal ones are checked and stored once
        except TypeError:  # cannot be hashed, so not a string
            known = None
        if known is None or known[1] != keys:
            self._check_actions(actions, name, h, player)
            known = self.action_sets[actions] = actions, keys, self._moves(actions, keys)
        table = self.tables[player]
        table.names.append(name)
        table.actions.append(known[0])
        table.keys.append(known[1])
        table.moves.append(known[2])
        table.first.append(h)
        table.parent.append(self.sequence[player][h])
        table.sequence.append(table.sequence[-1] + len(actions))
        table.node.append(self.node[h])

    def _check_actions(self, actions: tuple[str, ...], name: str, h: int, player: int) -> None:
        if bad := [action for action in actions if not isinstance(action, str)]:
            raise self.fail(
                f"the action {bad[0]!r} at infoset '{name}' of player {player} (history "
                f"{self.name(h)}) is not a string."
            )
        if not actions or len(set(actions)) != len(actions):
            raise self.fail(
                f"infoset '{name}' of player {player} has the actions {list(actions)} at "
                f"history {self.name(h)}; there must be at least one and no two alike."
            )

    def _count_names(self, *names: str | None) -> None:
        self.named += sum(len(str(name)) + BYTES_PER_NAME for name in names if name is not None)

    def _moves(self, names: Sequence[str], keys: Sequence[Any]) -> _Moves:
        labels = self.label_index
        moves = [
            (a, labels.setdefault(name, len(labels)), key)
            for a, (name, key) in enumerate(zip(names, keys, strict=True))
        ]
        return tuple(reversed(moves))

    def _own(self, player: int, sequence: int) -> str:
        if sequence < 0:
            return "no earlier choice"
        table = self.tables[player]
        i = int(np.searchsorted(np.array(table.sequence), sequence, side="right")) - 1
        return f"'{table.names[i]}' by {table.actions[i][sequence - table.sequence[i]]}"

    def _knowledge(self, p: int) -> Ints:
        """Numbers for what player `p` knows; equal ones are equal knowledge, see `knowledge`."""
        known, acts = _ints(self.known[p]), np.array(self.player, dtype=np.int8) == p
        unnamed = 3 * (_ints(self.sequence[p]) + self.roots) + 1
        return np.where(known < 0, unnamed, 3 * known + 2 * acts)

    def _outcomes(self, state: Any, h: int) -> list[tuple[tuple[int, int, Any], float]]:
        """The outcomes of chance with their probabilities, the last one first."""
        keys, outcomes = self.reader.outcomes(state)
        names, probs = [name for name, _ in outcomes], [prob for _, prob in outcomes]
        if any(not prob >= 0 for prob in probs) or not abs(sum(probs) - 1) <= 1e-9:
            raise self.fail(
                f"the chance probabilities at history {self.name(h)} are "
                f"{probs} and sum to {sum(probs):g} instead of 1."
            )
        if bad := [name for name in names if not isinstance(name, str)]:
            raise self.fail(
                f"the chance outcome {bad[0]!r} at history {self.name(h)} is not a string."
            )
        if len(set(names)) != len(names):
            raise self.fail(f"two chance outcomes at history {self.name(h)} have the same name.")
        return list(zip(self._moves(names, keys), reversed(probs), strict=True))

    def frozen(self) -> Histories:
        parent, edge, labels = _ints(self.parent), _ints(self.edge), list(self.label_index)
        node, node_parent = _ints(self.node), np.array(self.node_parent, dtype=np.int32)
        names: Sequence[str] = self.public_of
        if self.derive:
            known = self._knowledge(0), self._knowledge(1)
            node, firsts, node_parent = derive_public(parent, known)
            names = OnDemand(len(firsts), partial(_path_name, parent, edge, labels, firsts))
        payoff = np.zeros(len(parent))
        payoff[_ints(self.ends)] = self.paid
        return Histories(
            game=self.game,
            parent=parent,
            edge=edge,
            player=np.array(self.player, dtype=np.int8),
            action=np.array(self.action, dtype=np.int16),
            infoset=_ints(self.infoset),
            sequence=(_ints(self.sequence[0]), _ints(self.sequence[1])),
            chance=np.array(self.chance),
            payoff=payoff,
            node=node,
            labels=labels,
            tables=(self.tables[0].frozen(), self.tables[1].frozen()),
            node_names=names,
            node_parent=node_parent,
        )


def _path(parent: Ints, edge: Ints, labels: Sequence[str], h: int) -> list[str]:
    """The actions and outcomes that lead to history `h`."""
    out = []
    while parent[h] >= 0:
        out.append(labels[edge[h]])
        h = int(parent[h])
    return out[::-1]


def _path_name(parent: Ints, edge: Ints, labels: Sequence[str], firsts: Ints, n: int) -> str:
    """The name of a public state that the game does not name: the path of its first history."""
    return " ".join(_path(parent, edge, labels, int(firsts[n]))) or "the start"


def walk(
    game: Game,
    allowed: Allowance | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    tops: Sequence[Top] | None = None,
    stop: Callable[[State], bool] | None = None,
) -> Histories:
    """Walk the histories of `game`; see `subgame.compile` for the arguments.

    The walk starts from `tops`, if given, which form one public state. It does not continue from
    states for which `stop` returns True. By default it may use all the memory that is available.
    """
    if game.num_players != 2:
        raise SubgameError(
            f"{game}: the game has {game.num_players} players; only two-player games can be solved."
        )
    found = _Walk(game, Allowance.of() if allowed is None else allowed, stop)
    found.run(tops or [Top(game.new_initial_state())], progress)
    return found.frozen()
