"""`Visited`: the histories that a walk has visited, and what follows from them without the rules.

Parents, sequences and chance are computed in NumPy. So are the checks of recall, of actions and of
payoffs; an error names the infoset and the two histories concerned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game
from subgame.tree.public_tree import OnDemand
from subgame.tree.sequence.forest import NOTHING, first_equal, inherit
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
from subgame.tree.sequence.public_states import derive_public

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
