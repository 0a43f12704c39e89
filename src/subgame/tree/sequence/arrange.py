"""`Visited`: the histories that a walk has visited, and what follows from them without the rules.

Parents, sequences and chance are computed in NumPy. So are the checks of recall, of actions and of
payoffs; an error names the infoset and the two histories concerned. Public states of a game that
does not name them follow from what its players know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.tree.public_tree import OnDemand
from subgame.tree.sequence.histories import (
    Floats,
    Histories,
    InfosetTable,
    Ints,
    MoveLists,
    Replayed,
    Top,
    path_name,
    path_of,
    spelled,
)


def knowledge(state: State, p: int, player: int, infoset: int, sequence: int) -> tuple[str, object]:
    """What player `p` knows at a history: the augmented infoset (Burch et al. 2014, Def. 1).

    It is the player's infoset where the player acts. Elsewhere it is the information state that
    the game gives, or the player's last infoset and action if the game gives none.
    """
    if player == p:
        return ("at", infoset)
    name = state.information_state(p)
    return ("after", sequence) if name is None else ("knows", name)


def derive_public(parent: Ints, tokens: tuple[Ints, Ints], ended: Ints) -> tuple[Ints, Ints, Ints]:
    """The finest public states that no augmented infoset crosses (Burch et al. 2014, Def. 1).

    Histories at which a player knows the same are joined. Then classes that do not form a tree are
    joined too (joining closed sets leaves them closed). Nobody decides anything where the game is
    over, so nobody is asked there: `ended` is the number of the last move there, else -1, and each
    last move from a class leads to a class of its own. Returns each history's class, each class's
    first history and each class's parent, parents first.
    """
    size = len(parent)
    going = np.flatnonzero((ended < 0) | (parent < 0))
    link = np.where(parent < 0, 0, np.arange(size))  # all tops form one public state
    for ids in tokens:  # a history and the first one with the same knowledge are one class
        link = _join(link, going, going[first_equal(ids[going])])
    inner = going[parent[going] >= 0]
    while True:
        above, below = link[parent[inner]], link[inner]
        cross = above != below
        above, below = above[cross], below[cross]
        some_above = np.zeros(size, dtype=np.int64)
        some_above[below] = above
        # A class entered from two classes, or entered from inside itself, joins them.
        joined = _join(link, above, some_above[below])
        back = below < above
        joined = _join(joined, above[back], below[back])
        if joined is link:
            break
        link = joined
    ends = np.flatnonzero((ended >= 0) & (parent >= 0))
    above, move = link[parent[ends]], ended[ends]
    order = order_by(above, move)  # equal moves from a class come one after the other
    above, move, ends = above[order], move[order], ends[order]
    first = np.append(True, (above[1:] != above[:-1]) | (move[1:] != move[:-1]))[: len(ends)]
    link[ends] = ends[first][np.cumsum(first) - 1]
    new = link == np.arange(size)  # a class is named by its least member
    firsts, node = np.flatnonzero(new), (np.cumsum(new) - 1)[link]
    cross = np.flatnonzero((parent >= 0) & (link != link[parent]))
    node_parent = np.full(len(firsts), -1)
    node_parent[node[cross]] = node[parent[cross]]
    return node.astype(np.int32), firsts.astype(np.int32), node_parent.astype(np.int32)


def _join(link: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes after joining each ``a[k]`` with ``b[k]``; a class is named by its least member."""
    while True:
        a, b = link[a], link[b]
        apart = a != b
        if not apart.any():
            return link
        a, b = a[apart], b[apart]
        root = np.arange(len(link))
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while np.any(root != (above := root[root])):
            root = above
        link = root[link]


def shape(children: Ints, roots: int) -> tuple[Ints, Ints]:
    """Each node's parent (-1 at a root) and its place among its siblings.

    `children` is how many children each node has, depth first. The list may be cut off. A depth
    first visit takes the next node from the top of a stack and puts its children there. So what is
    put at a height of the stack is what is taken from there next.

    >>> shape(np.array([2, 0, 1, 0, 2]), roots=2)
    (array([-1,  0,  0,  2, -1], dtype=int32), array([0, 0, 1, 0, 1], dtype=int32))
    """
    count = np.concatenate([[roots], children])
    open_after = np.cumsum(count - 1) + 1
    count = np.append(count, np.zeros(open_after[-1], dtype=count.dtype))
    height = np.append(0, np.cumsum(count - 1)[:-1])  # at which a node is taken
    parent = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
    put = np.repeat(height + count - 1, count) - place
    taken, order = order_by(height[1:]), order_by(put)
    above, among = np.empty(len(taken), dtype=np.int32), np.empty(len(taken), dtype=np.int32)
    above[taken], among[taken] = parent[order] - 1, place[order]
    return above[: len(children)], among[: len(children)]


def depths(parent: Ints) -> Ints:
    """How many nodes are above each node; parents come first.

    >>> depths(np.array([-1, 0, 1, 0]))
    array([0, 1, 2, 1], dtype=int32)
    """
    above = np.append(parent, -1)  # the last entry stands above the roots
    depth = (above >= 0).astype(np.int32)
    while np.any(above >= 0):  # each time twice as far up
        depth += depth[above]
        above = above[above]
    return depth[:-1]


def inherit(parent: Ints, own: tuple[Ints, Ints], chance: Floats) -> None:
    """Fill in each player's last sequence, and multiply `chance` down the forest, in place.

    `own` is the sequence of the last move where it is the player's, or that of a root; elsewhere it
    is the least integer.
    """
    depth = depths(parent)
    order = order_by(depth)
    ends = np.cumsum(np.bincount(depth)).tolist()
    for lo, hi in pairwise(ends):  # one level after the other
        here = order[lo:hi]
        above = parent[here]
        chance[here] *= chance[above]
        for sequence in own:
            last = sequence[here]
            sequence[here] = np.where(last == NOTHING, sequence[above], last)


NOTHING = np.iinfo(np.int32).min


def order_by(*keys: NDArray[np.integer]) -> NDArray[np.int64]:
    """The order by these keys, the first one first; of equal ones the earlier comes first.

    Keys are from 0 to 2^32 - 1. NumPy sorts 16 bits several times faster than more.

    >>> order_by(np.array([1, 0, 70000, 1]), np.array([2, 5, 0, 1])).tolist()
    [1, 3, 0, 2]
    """
    digits = []
    for key in reversed(keys):
        digits.append(key.astype(np.uint16))
        if key.max(initial=0) >= 1 << 16:
            digits.append((key >> 16).astype(np.uint16))
    return np.lexsort(digits)


def first_equal(numbers: Ints) -> NDArray[np.int64]:
    """The first place with the same number, for each place. Numbers are not negative.

    >>> first_equal(np.array([4, 7, 4, 7, 2])).tolist()
    [0, 1, 0, 1, 4]
    """
    first = np.zeros(numbers.max(initial=-1) + 1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last one written is the first one
    return first[numbers]


LONGEST = 40
"""Moves of a history that an error names; those between the first and the last are left out."""

Naming = Callable[[int, Ints, Ints], Sequence[str]]
"""From a player, the first histories of the infosets and the numbers of what is known there, to
the names of the infosets."""


@dataclass(frozen=True)
class Spelling:
    """How a game in which all moves are known says what is known."""

    spell: Callable[[Sequence[Any]], str]
    before: Sequence[Sequence[Any]]  # [top] the keys of the moves before it


@dataclass(frozen=True)
class Visited:
    """Histories in depth-first order, perhaps not all of them yet. Axes: h = history, e = end.

    Each history has its list of moves (`chosen`), which says who acts. Where a player is asked,
    `known` is the number of the answer, 0 for none.
    """

    game: Game
    tops: Sequence[Top]
    lists: MoveLists
    chosen: Ints  # [h]
    parent: Ints  # [h]
    action: Ints  # [h] the place among the siblings
    known: tuple[Ints, Ints]  # [h]
    paid: tuple[Floats, Floats]  # [e] to each player
    node: Ints  # [h] public state; empty if they are derived
    node_names: Sequence[str]
    node_parent: Ints
    derive: bool = False
    names: Naming | None = None  # None: a state that is replayed gives the name
    spelling: Spelling | None = None

    def name(self, h: int) -> str:
        """The moves to a history."""
        return history_name(self.lists, self.chosen, self.parent, self.action, h)

    def fail(self, sentence: str) -> SubgameError:
        return SubgameError(f"{self.game}: {sentence}")

    def with_public(self, histories: Histories) -> Histories:
        """The histories with public states that are derived, if the game names none."""
        if not self.derive:
            return histories
        one, two = (  # equal numbers are equal knowledge, see `knowledge`
            np.where(known == 0, 3 * last + 1, 3 * known + 2 * (histories.player == p))
            for p, (known, last) in enumerate(zip(self.known, histories.sequence, strict=True))
        )
        by_chance = histories.player[histories.parent] == CHANCE
        last = np.where(by_chance, 0, histories.edge + 1)
        ended = np.where(histories.player == TERMINAL, last, -1)
        node, firsts, parent = derive_public(histories.parent, (one, two), ended)
        path = partial(path_of, histories.parent, histories.edge, histories.labels)
        names = OnDemand(len(firsts), partial(path_name, path, firsts))
        return replace(histories, node=node, node_parent=parent, node_names=names)

    def arranged(self) -> Histories:
        """The table of these histories, which are checked; derived public states are missing."""
        lists, chosen, parent, action = self.lists, self.chosen, self.parent, self.action
        start, player = np.array(lists.start, np.int32), np.array(lists.player)[chosen]
        inner, size = np.flatnonzero(parent >= 0), len(parent)
        above = parent[inner]
        places = np.full(size, -1, np.int32)
        place = places[inner] = start[chosen[above]] + action[inner]
        edge, chance, payoff = np.full(size, -1, np.int32), np.empty(size), np.zeros(size)
        edge[inner] = np.array(lists.label, np.int32)[place]
        chance[inner] = np.array(lists.prob)[place]
        payoff[player == TERMINAL] = self.paid[0]
        infoset, tables, sequence = np.full(size, -1, np.int32), [], []
        tops, roots = self.tops[: size - len(inner)], np.flatnonzero(parent < 0)
        chance[roots] = [top.chance for top in tops]
        for p in (0, 1):
            here, mine = np.flatnonzero(player == p), inner[player[above] == p]
            infoset[here], table = self._infosets(p, here, places, edge)
            last = np.full(size, NOTHING, np.int32)
            last[roots] = [top.slots[p] for top in tops]
            last[mine] = table.sequence[infoset[parent[mine]]] + action[mine]
            tables.append(table)
            sequence.append(last)
        one, two = sequence
        inherit(parent, (one, two), chance)
        histories = Histories(
            game=self.game,
            parent=parent,
            edge=edge,
            player=player,
            action=action,
            infoset=infoset,
            sequence=(one, two),
            chance=chance,
            payoff=payoff,
            node=self.node,
            labels=list(lists.labels),
            tables=(tables[0], tables[1]),
            node_names=self.node_names,
            node_parent=self.node_parent,
        )
        self._check_rules(histories)
        return histories

    def _infosets(
        self, p: int, here: NDArray[np.int64], places: Ints, edge: Ints
    ) -> tuple[Ints, InfosetTable]:
        """The infoset of each history `here`, where player `p` acts, and their table."""
        known, lists = self.known[p][here], self.lists
        first = first_equal(known)
        new = first == np.arange(len(here))
        firsts = here[new].astype(np.int32)
        actions = [lists.names[k] for k in self.chosen[firsts].tolist()]
        roots = 1 + max(top.slots[p] for top in self.tops)
        start = np.cumsum([roots, *map(len, actions)], dtype=np.int32)
        names: Sequence[str]
        if self.spelling is not None:
            spell, before = self.spelling.spell, self.spelling.before
            item = partial(spelled, spell, self.parent, places, lists.key, before, firsts)
            names = OnDemand(len(firsts), item)
        elif self.names is not None:
            names = self.names(p, firsts, known[new])
        else:
            names = Replayed(self.tops, self.parent, edge, list(lists.labels), firsts, p)
        table = InfosetTable(names, actions, firsts, start)
        return (np.cumsum(new, dtype=np.int32) - 1)[first], table

    # Errors ----------------------------------------------------------------------------------
    def _check_rules(self, histories: Histories) -> None:
        """Raise an error that names the first history at which a rule is broken, if any is."""
        one, two = self.paid
        with np.errstate(invalid="ignore"):
            zero = np.abs(one + two) <= 1e-9 * np.maximum(1.0, np.abs(one))
        ends = np.flatnonzero(histories.player == TERMINAL)
        wrong = ends[~(zero & np.isfinite(one))][:1].tolist()
        equal: dict[tuple[str, ...], int] = {}
        lists = [equal.setdefault(names, len(equal)) for names in self.lists.names]
        moves = np.array(lists, np.int32)[self.chosen]
        columns = [
            [moves, own, *([] if self.derive else [self.node])] for own in histories.sequence
        ]
        for p, table in enumerate(histories.tables):
            here = np.flatnonzero(histories.player == p)
            first = table.first[histories.infoset[here]]
            differ = np.any([column[here] != column[first] for column in columns[p]], axis=0)
            wrong += here[differ][:1].tolist()
        if wrong:
            h = min(wrong)
            p = int(histories.player[h])
            if p == TERMINAL:
                raise self._bad_payoff(h, int(np.searchsorted(ends, h)))
            raise self._bad_infoset(histories, h, p)

    def _bad_payoff(self, h: int, end: int) -> SubgameError:
        first, second = (float(paid[end]) for paid in self.paid)
        if not (math.isfinite(first) and math.isfinite(second)):
            return self.fail(f"history {self.name(h)} pays {first} and {second}.")
        return self.fail(
            f"history {self.name(h)} pays {first:g} and {second:g}, "
            "which do not sum to zero; only zero-sum games can be solved."
        )

    def _bad_infoset(self, histories: Histories, h: int, player: int) -> SubgameError:
        table, i = histories.tables[player], int(histories.infoset[h])
        first, infoset = int(table.first[i]), f"infoset '{table.names[i]}' of player {player}"
        names = self.lists.names[self.chosen[h]]
        if names != table.actions[i]:
            return self.fail(
                f"{infoset} offers {list(table.actions[i])} at history {self.name(first)} but "
                f"{list(names)} at {self.name(h)}."
            )
        last, there = (int(histories.sequence[player][k]) for k in (h, first))
        if last != there:
            return self.fail(
                f"{infoset} has imperfect recall: histories {self.name(first)} and {self.name(h)} "
                f"are both in it, but there the player came from {_own(table, there)} "
                f"and from {_own(table, last)}."
            )
        return self.fail(
            f"{infoset} crosses public states: history {self.name(first)} is in "
            f"'{self.node_names[self.node[first]]}' and {self.name(h)} in "
            f"'{self.node_names[self.node[h]]}'."
        )


def history_name(
    lists: MoveLists, chosen: Sequence[int] | Ints, parent: Ints, action: Ints, h: int, but: int = 0
) -> str:
    """The moves to a history, `but` the last."""
    out = []
    while parent[h] >= 0:
        place, h = action[h], int(parent[h])
        out.append(lists.names[chosen[h]][place])
    out = out[but:]
    if len(out) > LONGEST:
        out[LONGEST // 2 : -LONGEST // 2] = ["..."]
    return f"'{' '.join(reversed(out))}'" if out else "the start"


def _own(table: InfosetTable, sequence: int) -> str:
    if sequence < table.sequence[0]:
        return "no earlier choice"
    i = int(np.searchsorted(table.sequence, sequence, side="right")) - 1
    return f"'{table.names[i]}' by {table.actions[i][sequence - table.sequence[i]]}"
