"""`BettingArrays`: all betting sequences of a hold'em game as flat arrays, without boards.

    >>> from subgame.games.holdem import hunl
    >>> game = hunl(300, 50, 100, "all: a / cap 1")
    >>> tree = BettingArrays.of(game)
    >>> tree
    <BettingArrays decisions=(4, 4, 4, 4), actions=(9, 8, 8, 8)>
    >>> tree.actions(tree.root)
    ('f', 'c', 'r300')

A *decision* is a betting sequence after which a player acts. Decisions are sorted by player, then
by how many actions the player has made before, street and number of actions. The actions of a
player's decisions, in this order, are the player's *sequences*; sequence 0 is the empty one.
Decisions with the same key form a `Group`, whose sequences are one slice. That is what array
kernels work with: all of a group at once, groups upwards for reach and downwards for values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS

Ints = NDArray[np.int32]
Index = NDArray[np.integer]
FOLD, CALL = -1, 0
"""Codes of actions; a bet or raise is its total in chips."""
FOLDED, SHOWN = -1, -2
"""What follows an action, if not a decision: the hand is over by a fold or by a showdown."""
STORED = ("player", "street", "first", "code", "child", "stake")


class Group(NamedTuple):
    """Decisions of a player that array kernels treat at once."""

    player: int
    street: int
    actions: int
    decisions: slice
    sequences: slice
    """The player's sequences: `actions` for each decision in turn."""
    rows: slice
    """The rows of the street's tables: the same sequences, counted on the street."""


class Terminals(NamedTuple):
    """Ends of the hand of one kind. Axis: z = terminal."""

    sequences: tuple[Ints, Ints]  # [z] the last sequence of each player
    stake: Ints  # [z] chips that player 0 wins; at a showdown, with the better hand


@dataclass(frozen=True, eq=False)
class BettingArrays:
    """The betting of a game. Axes: d = decision, e = action of a decision."""

    player: Ints  # [d]
    street: Ints  # [d]
    first: Ints  # [d + 1] where its actions begin
    code: Ints  # [e] `FOLD`, `CALL` or a total
    child: Ints  # [e] the decision after it, or `FOLDED` or `SHOWN`
    stake: Ints  # [e] chips that player 0 wins if the hand is over; see `Terminals`
    parent: Ints  # [d] the player's last sequence before it
    groups: tuple[Group, ...]  # in the order of decisions
    rows: tuple[int, ...]  # by street, how many actions there are
    row: Ints  # [d] the row of its first action on its street
    folds: Terminals
    showdowns: Terminals
    root: int

    @classmethod
    def of(cls, game: Holdem) -> BettingArrays:
        """The betting sequences of a game."""
        walked = _walk(game)
        order = sorted(range(len(walked)), key=lambda k: (*walked[k].key, k))
        place = {k: d for d, k in enumerate(order)}
        nodes = [walked[k] for k in order]
        first = np.cumsum([0] + [len(node.code) for node in nodes])
        child = [place[k] if k >= 0 else k for node in nodes for k in node.child]
        stored = {
            "player": np.array([node.key[0] for node in nodes]),
            "street": np.array([node.key[2] for node in nodes]),
            "first": first,
            "code": np.array([code for node in nodes for code in node.code]),
            "child": np.array(child),
            "stake": np.array([stake for node in nodes for stake in node.stake]),
        }
        return cls.completed({name: array.astype(np.int32) for name, array in stored.items()})

    @classmethod
    def restored(cls, stored: Mapping[str, NDArray[Any]]) -> BettingArrays:
        """The arrays from those of `STORED` in a file.

        A ValueError says that they are not those of a betting tree.
        """
        _check(stored)
        return cls.completed(stored)

    @classmethod
    def completed(cls, stored: Mapping[str, NDArray[Any]]) -> BettingArrays:
        """The arrays from those of `STORED`; the rest follows from them."""
        player, street, first = (stored[name] for name in STORED[:3])
        child, stake = stored["child"], stored["stake"]
        many, width = len(player), np.diff(first)
        base = [int(first[np.searchsorted(player, p)]) - 1 for p in (0, 1)]
        owner = np.repeat(np.arange(many), width)
        above = np.full(many, -1)  # [d] the action that leads to it
        above[child[child >= 0]] = np.flatnonzero(child >= 0)
        last = _last_sequences(player, owner, above, base)
        depth = _depths(player, owner, last, base)
        groups, rows, row = _groups(player, street, depth, first, base)
        folds, showdowns = (
            _ends(np.flatnonzero(child == kind), player, owner, stake, last, base)
            for kind in (FOLDED, SHOWN)
        )
        return cls(
            **{name: stored[name] for name in STORED},
            parent=last[np.arange(many), player].astype(np.int32),
            groups=groups,
            rows=rows,
            row=row,
            folds=folds,
            showdowns=showdowns,
            root=int(np.flatnonzero(above < 0)[0]),
        )

    def actions(self, decision: int) -> tuple[str, ...]:
        """The actions of a decision: f, c, r with the street's total."""
        result = self._names.get(decision)
        if result is None:
            codes = self.code[self.first[decision] : self.first[decision + 1]]
            result = self._names[decision] = tuple(map(action_name, codes))
        return result

    @cached_property
    def _names(self) -> dict[int, tuple[str, ...]]:
        """Actions that were asked for, by decision."""
        return {}

    def find(self, betting: Betting) -> int | None:
        """The decision after a betting sequence; None if the sequence is not in the tree."""
        at = self.root
        for action in betting.history:
            if action == "/":
                continue
            code = action_code(action)
            lo, hi = self.first[at], self.first[at + 1]
            matches = np.flatnonzero(self.code[lo:hi] == code)
            if not len(matches) or self.child[lo + matches[0]] < 0:
                return None
            at = int(self.child[lo + matches[0]])
        return at

    @cached_property
    def player_rows(self) -> list[tuple[slice, slice]]:
        """By street, the rows of each player."""
        mine = [
            sum(g.rows.stop - g.rows.start for g in self.groups if (g.player, g.street) == (0, s))
            for s in range(len(self.rows))
        ]
        return [(slice(0, n), slice(n, rows)) for n, rows in zip(mine, self.rows, strict=True)]

    def sequences(self, player: int) -> int:
        """How many sequences a player has, with the empty one."""
        return 1 + max((g.sequences.stop - 1 for g in self.groups if g.player == player), default=0)

    def stored(self) -> dict[str, NDArray[np.int32]]:
        """What a file keeps of the arrays."""
        return {name: getattr(self, name) for name in STORED}

    def __repr__(self) -> str:
        decisions = tuple(np.bincount(self.street, minlength=len(self.rows)).tolist())
        return f"<BettingArrays decisions={decisions}, actions={self.rows}>"


def action_name(code: int) -> str:
    """An action from its code."""
    return {FOLD: "f", CALL: "c"}.get(int(code)) or f"r{int(code)}"


def action_code(name: str) -> int:
    """The code of an action: f, c, or r with a total."""
    return int(name[1:]) if name[0] == "r" else (FOLD if name == "f" else CALL)


class _Node(NamedTuple):
    key: tuple[int, int, int, int]  # player, the player's actions before, street, actions here
    code: list[int]
    child: list[int]
    stake: list[int]


def _walk(game: Holdem) -> list[_Node]:
    """All decisions, each before those that follow it."""
    result: list[_Node] = []
    stack: list[tuple[Betting, tuple[int, int], list[int] | None, int]] = []
    stack.append((game.start(), (0, 0), None, 0))
    while stack:
        betting, depth, into, at = stack.pop()
        if into is not None:
            into[at] = len(result)
        names = game.actions(betting)
        player = betting.player
        node = _Node((player, depth[player], betting.street, len(names)), [], [], [])
        result.append(node)
        deeper = (depth[0] + (player == 0), depth[1] + (player == 1))
        for name in names:
            after = betting.child(name)
            node.code.append(action_code(name))
            node.child.append(SHOWN if after.is_showdown else FOLDED)
            node.stake.append(int(after.net(0)[0]) if after.is_over else 0)
            if not after.is_over:
                stack.append((after, deeper, node.child, len(node.child) - 1))
    return result


def _check(stored: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error unless arrays fit each other and point into each other."""
    player, street, first, code, child, stake = (stored[name] for name in STORED)
    many, ends = len(player), len(child)
    sizes = [array.shape for array in (player, street, first, code, child, stake)]
    fits = sizes == [(many,), (many,), (many + 1,), (ends,), (ends,), (ends,)] and many > 0
    fits = fits and all(array.dtype.kind == "i" for array in stored.values())
    if not (fits and first[0] == 0 and first[-1] == ends and np.diff(first).min() > 0):
        raise ValueError("the actions of the decisions do not fit")
    below = np.sort(child[child >= 0])  # every decision but the first follows one action
    if len(below) != many - 1 or child.max() >= many or child.min() < min(FOLDED, SHOWN):
        raise ValueError("the decisions are no tree")
    if many > 1 and np.diff(below).min(initial=1) < 1:
        raise ValueError("a decision follows two actions")
    players, streets = np.unique(player), (street.min(), street.max())
    if players.tolist() != [0, 1] or np.diff(player).min() < 0:
        raise ValueError("both players must have decisions, the first player's first")
    if streets[0] < 0 or streets[1] >= len(STREETS):
        raise ValueError("there is no such street")


def _last_sequences(player: Ints, owner: Index, above: Index, base: list[int]) -> NDArray[np.int64]:
    """[d, player] the last sequence of each player before a decision."""
    last = np.full((len(player), 2), -1, dtype=np.int64)
    for start in range(len(player)):
        path = []
        at = start
        while last[at, 0] < 0:
            path.append(at)
            if len(path) > len(player):
                raise ValueError("the decisions form a circle")
            if above[at] < 0:
                last[at] = 0
                path.pop()
                break
            at = int(owner[above[at]])
        for d in reversed(path):
            before = int(owner[above[d]])
            last[d] = last[before]
            last[d, player[before]] = above[d] - base[player[before]]
    return last


def _depths(
    player: Ints, owner: Index, last: NDArray[np.int64], base: list[int]
) -> NDArray[np.int64]:
    """[d] how many actions the player has made before."""
    depth = np.zeros(len(player), dtype=np.int64)
    for d, p in enumerate(player):  # decisions are sorted by this number
        if last[d, p] > 0:
            depth[d] = depth[owner[last[d, p] + base[p]]] + 1
    return depth


def _groups(
    player: Ints, street: Ints, depth: Index, first: Ints, base: list[int]
) -> tuple[tuple[Group, ...], tuple[int, ...], Ints]:
    """Decisions that are alike, the rows of each street and [d] the first row of each decision."""
    width = np.diff(first)
    used: dict[int, int] = defaultdict(int)
    groups, row = [], np.zeros(len(player), dtype=np.int32)
    keys = np.stack([player, depth, street, width])
    edges = np.flatnonzero(np.append(True, (np.diff(keys, axis=1) != 0).any(0)))
    for lo, hi in pairwise([*edges.tolist(), len(player)]):
        p, s, n = int(player[lo]), int(street[lo]), int(width[lo])
        count = (hi - lo) * n
        begin = int(first[lo]) - base[p]
        rows = slice(used[s], used[s] + count)
        groups.append(Group(p, s, n, slice(lo, hi), slice(begin, begin + count), rows))
        row[lo:hi] = used[s] + n * np.arange(hi - lo)
        used[s] += count
    return tuple(groups), tuple(used[s] for s in range(max(used) + 1)), row


def _ends(
    over: Index,
    player: Ints,
    owner: Index,
    stake: Ints,
    last: NDArray[np.int64],
    base: list[int],
) -> Terminals:
    """Terminals after the actions `over`: folds or showdowns."""
    sequences = last[owner[over]].copy()
    actor = player[owner[over]]
    sequences[np.arange(len(over)), actor] = over - np.array(base)[actor]
    one, two = sequences.T.astype(np.int32)
    return Terminals((one, two), stake[over])
