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
from subgame.tree.sequence.packed import Packed
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
    names: list[Any] = field(default_factory=list)
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


_Step = tuple[Any, Any, int, int, tuple[int, int, int, float, int, int]]
"""A history to be visited: the state above it and the key of its last move (at a top, its own state
and None), the public state and the number of moves there, and its row of `_Walk.rows`."""


class _Walk:
    """The state of one walk: growing arrays, and the checks of the rules.

    `rows` and `visits` are what leads to each history and what is found at it; `one` and `two` are
    the numbers of what the players know. `paid` is what the terminals pay. States are made when
    they are visited, so that a walk holds one per move of the longest history.
    """

    def __init__(
        self, game: Game, allowed: Allowance, stop: Callable[[State], bool] | None = None
    ) -> None:
        self.game, self.allowed, self.stop = game, allowed, stop
        self.reader = game.reader()
        self.paid = array("d")
        self.tables = (_Table(), _Table())
        self.label_index: dict[str, int] = {}
        self.action_sets: dict[tuple[str, ...], tuple[tuple[str, ...], Sequence[Any], _Moves]] = {}
        self.node_index: dict[tuple[int, str | None], int] = {}
        self.node_parent: list[int] = []
        self.numbers: dict[str, int] = {}  # of all information states
        self.derive: bool = False
        self.public_of: list[str] = []
        self.rows = Packed(parent="i", edge="i", action="h", chance="d", first="i", second="i")
        self.visits = Packed(player="b", infoset="i", node="i", one="i", two="i")
        self.named = 0  # bytes of all names
        self.roots = 1

    def run(self, tops: Sequence[Top], progress: Callable[[int], None] | None) -> None:
        """Visit all histories. This loop is most of the time of a compilation."""
        self.roots = 1 + max(max(top.slots) for top in tops)
        self.derive = derive = tops[0].state.public_state() is None
        reader, stop = self.reader, self.stop
        facts, replace = reader.facts, reader.replace if stop is None else None
        stack: list[_Step] = [
            (reader.opened(state), None, -1, -1, (-1, -1, 0, chance, -1 - slots[0], -1 - slots[1]))
            for state, chance, slots in reversed(tops)
        ]
        rows, visits, numbers = self.rows.rows, self.visits.rows, self.numbers
        h = node = -1
        while stack:
            state, key, above, depth, row = stack.pop()
            parent, _, _, chance, first, second = row
            if parent >= 0:
                if replace is None or (stack and stack[-1][0] is state):
                    state = state.child(key)
                else:  # the last child of its state
                    replace(state, key)
            player, public, moves, (mine, yours) = facts(state, derive)
            if stop is not None and parent >= 0 and stop(reader.closed(state)):
                player = FRONTIER
            rows.append(row)
            h, depth, infoset, size, one, two = h + 1, depth + 1, -1, len(numbers), -1, -1
            if not derive or public is not None:
                node = self._node(public, above)
            if mine is not None:
                one = numbers.setdefault(mine, size)
                if one == size:
                    self.named += len(str(mine)) + BYTES_PER_NAME
            if yours is mine:
                two = one
            elif yours is not None:
                size = len(numbers)
                two = numbers.setdefault(yours, size)
                if two == size:
                    self.named += len(str(yours)) + BYTES_PER_NAME
            if player == TERMINAL:
                self.paid.append(self._payoff(moves))
            elif player == 0:
                infoset, base, steps = self._infoset(state, mine, one, moves, 0, first, node, h)
                for a, e, key in steps:
                    stack.append((state, key, node, depth, (h, e, a, chance, base + a, second)))
            elif player == 1:
                infoset, base, steps = self._infoset(state, yours, two, moves, 1, second, node, h)
                for a, e, key in steps:
                    stack.append((state, key, node, depth, (h, e, a, chance, first, base + a)))
            elif player == CHANCE:
                for (a, e, key), p in self._outcomes(state):
                    stack.append((state, key, node, depth, (h, e, a, chance * p, first, second)))
            elif player != FRONTIER:
                self._nobody(player, parent)
            visits.append((player, infoset, node, one, two))
            if h % 1024 == 0 or depth > DEEPEST:
                self._check(depth, progress)
        self.check_memory(complete=True)

    def _check(self, depth: int, progress: Callable[[int], None] | None) -> None:
        if depth > DEEPEST:
            raise self.fail(
                f"history {self.name()} has more than {DEEPEST:,} moves; only games that end "
                f"after at most {DEEPEST:,} moves can be compiled."
            )
        size = self.check_memory()
        if progress is not None:
            progress(size - 1)

    # Errors ----------------------------------------------------------------------------------
    def name(self, h: int | None = None) -> str:
        """The moves to a history; by default to the one that is being visited."""
        size, rows = self.rows.pack(), self.rows.columns()
        parent, edge, labels, out = rows["parent"], rows["edge"], list(self.label_index), []
        h = size - 1 if h is None else h
        while h >= 0 and parent[h] >= 0:
            out.append(labels[edge[h]])
            h = int(parent[h])
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
    def check_memory(self, *, complete: bool = False) -> int:
        """The number of histories. An error if compiling or solving them needs too much memory."""
        infosets = sum(len(table.actions) for table in self.tables)
        size, _ = self.rows.pack(), self.visits.pack()
        need = size * BYTES_PER_HISTORY + infosets * BYTES_PER_INFOSET + self.named
        what = f"{self.game}: the tree of {size:,} histories"
        self.allowed.refuse(what if complete else f"{what} so far", need, known=complete)
        return size

    def _payoff(self, won: Sequence[float]) -> float:
        if len(won) != 2:
            raise self.fail(f"history {self.name()} pays {len(won)} players instead of two.")
        first, second = won
        if first == -second and first - first == 0:  # finite
            return float(first)
        if not (math.isfinite(first) and math.isfinite(second)):
            raise self.fail(f"history {self.name()} pays {first} and {second}.")
        if abs(first + second) > 1e-9 * max(1.0, abs(first)):
            raise self.fail(
                f"history {self.name()} pays {first:g} and {second:g}, "
                "which do not sum to zero; only zero-sum games can be solved."
            )
        return float(first)

    def _node(self, public: str | None, above: int) -> int:
        """The number of the public state of a history whose game names its public states."""
        if self.derive or public is None:
            raise self.fail(
                f"public_state() answers at some histories and not at others ({self.name()}); "
                "answer everywhere, or return None everywhere to have it derived."
            )
        if above >= 0 and self.public_of[above] == public:
            return above
        key = (above, public if above >= 0 else None)  # all tops form one public state
        found = self.node_index.get(key)
        if found is None:
            found = self.node_index[key] = len(self.node_parent)
            self.node_parent.append(above)
            self.public_of.append(public)
            self.named += len(public) + BYTES_PER_NAME
        return found

    def _infoset(
        self,
        state: Any,
        name: str | None,
        number: int,
        keys: Sequence[Any],
        player: int,
        sequence: int,
        node: int,
        h: int,
    ) -> tuple[int, int, _Moves]:
        """The acting player's infoset, which is checked, its first sequence and its actions."""
        table = self.tables[player]
        i = table.index.get(number, -1)
        if i < 0:
            i = table.index[number] = len(table.index)
            actions, kept, moves = self._actions(state, name, keys, player)
            base = table.sequence[-1]
            table.names.append(name)
            table.actions.append(actions)
            table.keys.append(kept)
            table.moves.append(moves)
            table.first.append(h)
            table.parent.append(sequence)
            table.sequence.append(base + len(moves))
            table.node.append(node)
            return i, base, moves
        moves = table.moves[i]
        if table.keys[i] != keys:
            names = self.reader.names(state, keys)
            if table.actions[i] != names:
                raise self.fail(
                    f"infoset '{name}' of player {player} offers {list(table.actions[i])} at "
                    f"history {self.name(table.first[i])} but {list(names)} at {self.name()}."
                )
            moves = self._moves(names, keys)
        if table.parent[i] != sequence:
            raise self.fail(
                f"infoset '{name}' of player {player} has imperfect recall: histories "
                f"{self.name(table.first[i])} and {self.name()} are both in it, but there the "
                f"player came from {self._own(player, table.parent[i])} and from "
                f"{self._own(player, sequence)}."
            )
        if table.node[i] != node:
            raise self.fail(
                f"infoset '{name}' of player {player} crosses public states: history "
                f"{self.name(table.first[i])} is in '{self.public_of[table.node[i]]}' and "
                f"{self.name()} in '{self.public_of[node]}'."
            )
        return i, table.sequence[i], moves

    def _actions(
        self, state: Any, name: str | None, keys: Sequence[Any], player: int
    ) -> tuple[tuple[str, ...], Sequence[Any], _Moves]:
        """The actions of a new infoset; equal ones are checked and stored once."""
        if not isinstance(name, str):
            raise self.fail(
                f"player {player} acts at history {self.name()}, "
                "but information_state gives no string there."
            )
        actions = self.reader.names(state, keys)
        try:
            known = self.action_sets.get(actions)
        except TypeError:  # cannot be hashed, so not a string
            known = None
        if known is not None and known[1] == keys:
            return known
        if bad := [action for action in actions if not isinstance(action, str)]:
            raise self.fail(
                f"the action {bad[0]!r} at infoset '{name}' of player {player} (history "
                f"{self.name()}) is not a string."
            )
        if not actions or len(set(actions)) != len(actions):
            raise self.fail(
                f"infoset '{name}' of player {player} has the actions {list(actions)} at "
                f"history {self.name()}; there must be at least one and no two alike."
            )
        known = self.action_sets[actions] = actions, keys, self._moves(actions, keys)
        return known

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

    def _outcomes(self, state: Any) -> list[tuple[tuple[int, int, Any], float]]:
        """The outcomes of chance with their probabilities, the last one first."""
        keys, outcomes = self.reader.outcomes(state)
        names, probs = [name for name, _ in outcomes], [prob for _, prob in outcomes]
        if any(not prob >= 0 for prob in probs) or not abs(sum(probs) - 1) <= 1e-9:
            raise self.fail(
                f"the chance probabilities at history {self.name()} are "
                f"{probs} and sum to {sum(probs):g} instead of 1."
            )
        if bad := [name for name in names if not isinstance(name, str)]:
            raise self.fail(
                f"the chance outcome {bad[0]!r} at history {self.name()} is not a string."
            )
        if len(set(names)) != len(names):
            raise self.fail(f"two chance outcomes at history {self.name()} have the same name.")
        return list(zip(self._moves(names, keys), reversed(probs), strict=True))

    def frozen(self) -> Histories:
        """The table of all histories."""
        rows, visits = self.rows.columns(), self.visits.columns()
        parent, edge, labels = rows["parent"], rows["edge"], list(self.label_index)
        node, node_parent = visits["node"], np.array(self.node_parent, dtype=np.int32)
        sequence, player = (rows["first"], rows["second"]), visits["player"]
        names: Sequence[str] = self.public_of
        if self.derive:  # equal numbers are equal knowledge, see `knowledge`
            first, second = (
                np.where(known < 0, 3 * (last + self.roots) + 1, 3 * known + 2 * (player == p))
                for p, (known, last) in enumerate(
                    zip((visits["one"], visits["two"]), sequence, strict=True)
                )
            )
            node, firsts, node_parent = derive_public(parent, (first, second))
            names = OnDemand(len(firsts), partial(_path_name, parent, edge, labels, firsts))
        payoff = np.zeros(len(parent))
        payoff[player == TERMINAL] = self.paid
        return Histories(
            game=self.game,
            parent=parent,
            edge=edge,
            player=player,
            action=rows["action"],
            infoset=visits["infoset"],
            sequence=sequence,
            chance=rows["chance"],
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
