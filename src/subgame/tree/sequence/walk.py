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
from dataclasses import replace
from functools import partial
from itertools import count, islice
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.memory import Allowance
from subgame.tree.public_tree import OnDemand
from subgame.tree.sequence.forest import NOTHING, first_equal, inherit, shape
from subgame.tree.sequence.histories import (
    FRONTIER,
    Histories,
    InfosetTable,
    Ints,
    MoveLists,
    Top,
    path_name,
    path_of,
    spelled,
)
from subgame.tree.sequence.public_states import derive_public

__all__ = ["FRONTIER", "Histories", "Top", "walk"]

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

NAMED_FIRST, NAMED_AGAIN = 64, 128
"""Moves are named at so many first histories, and then once in so many, to see if names change."""
PACKED = 1024
"""About so many histories are visited before memory is checked and progress is told."""


class _StartAgainError(Exception):
    """The reader found that it has to read the game in another way."""


class _Walk:
    """The state of one walk: growing arrays. What needs no rules is computed from them at the end.

    Each history has its list of moves (`chosen`), which says who acts. The lengths of these lists
    are the shape of the tree. Where a player is asked, `known` is the number of the answer, 0 for
    none. `paid` is what the terminals pay. States are made when they are visited, so that a walk
    holds one per move of the longest history.
    """

    def __init__(
        self,
        game: Game,
        allowed: Allowance,
        tops: Sequence[Top],
        stop: Callable[[State], bool] | None,
    ) -> None:
        self.game, self.allowed, self.tops, self.stop = game, allowed, tops, stop
        self.slots = [1 + max(slots) for slots in zip(*(top.slots for top in tops), strict=True)]
        self.derive = tops[0].state.public_state() is None
        self.reader, self.lists = game.reader(), MoveLists()
        self.asks = self.reader.asks(self.derive)
        self.chosen, self.node, self.paid = array("i"), array("i"), array("d")
        self.known = array("i"), array("i")
        self.numbers: tuple[dict[Any, int], dict[Any, int]] = {None: 0}, {None: 0}
        # Lists, payoffs and answers of the last histories, which are not yet in the arrays.
        self.last: list[int] = []
        self.won: list[float] = []
        self.told: tuple[list[Any], list[Any]] = [], []
        self.node_index: dict[tuple[int, str | None], int] = {}
        self.node_parent: list[int] = []
        self.public_of: list[str] = []
        self.infosets = self.named = 0  # how many infosets there are at least; bytes of all names
        self.unchecked = 32 * PACKED  # histories after which the infosets are checked

    def run(self, progress: Callable[[int], None] | None) -> Histories:
        """Visit all histories. This loop is most of the time of a compilation."""
        reader, stop, keys_of, asks = self.reader, self.stop, self.lists.keys, self.asks
        become = reader.become if stop is None else None
        public_of, fixed, spell = reader.public_of, reader.fixed, reader.spell
        last, paid, (told, told_second) = self.last, self.won, self.told
        known: dict[int, dict[Any, int]] = {0: {}, 1: {}, CHANCE: {}}
        stack: list[tuple[Any, list[Any], int, int]] = []
        keys: list[Any]
        visited = again = 0  # histories that go on, and when moves are named again
        for top in self.tops:
            state, depth, here = reader.opened(top.state), 0, -1
            above, keys, node = state, [], -1  # the history above and its moves that are left
            while True:
                last.append(0)
                player = state.current_player()
                if player != TERMINAL:
                    try:
                        first, second = asks[player]
                        if first is not None:
                            told.append(first(state, 0))
                        if second is not None:
                            told_second.append(second(state, 1))
                    except (KeyError, RuntimeError):
                        self._unasked(player)
                        raise
                if public_of is not None:
                    here = self._node(public_of(state), node)
                if stop is not None and depth and stop(reader.closed(state)):
                    last[-1] = self.lists.add(FRONTIER, player)
                elif player == TERMINAL:
                    won = state.returns()
                    if len(won) != 2:
                        raise self.fail(
                            f"history {self.name()} pays {len(won)} players instead of two."
                        )
                    paid += won
                else:
                    visited += 1
                    moves = state.legal_actions() if player >= 0 else reader.outcomes(state)
                    key = tuple(moves)
                    if player not in fixed:
                        alone = player == CHANCE or spell is not None
                        key = (visited if alone else self.told[player][-1], *key)
                    try:
                        found = known[player].get(key, 0)
                    except TypeError:  # what cannot be hashed is not a name
                        found, key = 0, (visited,)
                    if not found or visited >= again:
                        again = visited + (NAMED_AGAIN if visited > NAMED_FIRST else 1)
                        found = self._list(state, player, moves, found)
                        if player in fixed or (player >= 0 and spell is None):
                            known[player][key] = found
                    last[-1] = found
                    if keys:
                        stack.append((above, keys, depth, node))
                    above, keys, depth, node = state, keys_of[found].copy(), depth + 1, here
                    if depth > DEEPEST or len(last) >= PACKED:
                        self._check(depth, progress)
                if not keys:
                    if not stack:
                        break
                    above, keys, depth, node = stack.pop()
                key = keys.pop()
                if keys or become is None:
                    state = above.child(key)
                else:  # nothing needs the state above any more
                    become(above, key)
                    state = above
        return self._frozen()

    def _check(self, depth: int, progress: Callable[[int], None] | None) -> None:
        if depth > DEEPEST:
            raise self.fail(
                f"history {self.name()} goes on after {DEEPEST:,} moves; only games that end "
                f"after at most {DEEPEST:,} moves can be compiled."
            )
        self._pack()
        size = len(self.chosen)
        if size > self.unchecked:
            self.unchecked *= 32
            self._arranged()
        self._check_memory()
        if progress is not None:
            progress(size)

    def _pack(self) -> None:
        """Move the lists, payoffs and answers of the last histories to the arrays."""
        packed: list[tuple[array[Any], list[Any]]] = [
            (self.chosen, self.last),
            (self.paid, self.won),
        ]
        for told, index, known in zip(self.told, self.numbers, self.known, strict=True):
            before = len(index)
            told[:] = map(index.setdefault, told, count(len(known) + 1))
            new = islice(reversed(index), len(index) - before)
            self.named += sum(BYTES_PER_NAME + len(str(name)) for name in new)
            packed.append((known, told))
        for values, more in packed:  # five times as fast as `array.extend`
            values.frombytes(pack(f"{len(more)}{values.typecode}", *more))
            more.clear()

    def _check_memory(self, *, complete: bool = False) -> None:
        """An error if compiling or solving the histories needs too much memory."""
        size = len(self.chosen)
        need = size * BYTES_PER_HISTORY + self.infosets * BYTES_PER_INFOSET + self.named
        what = f"{self.game}: the tree of {size:,} histories"
        self.allowed.refuse(what if complete else f"{what} so far", need, known=complete)

    # Errors ----------------------------------------------------------------------------------
    def name(self, h: int | None = None, *, but: int = 0) -> str:
        """The moves to a history, by default to the one that is being visited, `but` the last."""
        self._pack()
        parent, action = shape(np.diff(_ints(self.lists.start))[self.chosen], len(self.tops))
        out, h = [], len(parent) - 1 if h is None else h
        while parent[h] >= 0:
            place, h = action[h], int(parent[h])
            out.append(self.lists.names[self.chosen[h]][place])
        out = out[but:]
        if len(out) > LONGEST:
            out[LONGEST // 2 : -LONGEST // 2] = ["..."]
        return f"'{' '.join(reversed(out))}'" if out else "the start"

    def fail(self, sentence: str) -> SubgameError:
        return SubgameError(f"{self.game}: {sentence}")

    def _unasked(self, player: int) -> None:
        """Raise an error if nobody can be asked here, and try again if fewer can be asked."""
        if player not in self.asks:
            raise self.fail(
                f"player {player} acts right after history {self.name(but=1)}; "
                "the acting player must be 0, 1, chance (-1) or the end (-4)."
            ) from None
        if self.reader.refused(player):
            raise _StartAgainError from None

    # One history -----------------------------------------------------------------------------
    def _node(self, public: str | None, above: int) -> int:
        """The number of the public state of a history whose game names its public states."""
        if public is None and self.derive:
            return -1
        if public is None or self.derive:
            raise self.fail(
                f"public_state() answers at some histories and not at others ({self.name()}); "
                "answer everywhere, or return None everywhere to have it derived."
            )
        result = above
        if above < 0 or self.public_of[above] != public:
            key = (above, public if above >= 0 else None)  # all tops form one public state
            result = self.node_index.setdefault(key, len(self.node_parent))
            if result == len(self.node_parent):
                self.node_parent.append(above)
                self.public_of.append(public)
                self.named += len(public) + BYTES_PER_NAME
        self.node.append(result)
        return result

    def _list(self, state: Any, player: int, keys: Sequence[Any], found: int) -> int:
        """The number of a list of moves, which is checked unless it is the one `found` before."""
        probs: Sequence[float] = [1.0] * len(keys)
        if player == CHANCE:
            keys, probs = [key for key, _ in keys], [prob for _, prob in keys]
        fixed = player in self.reader.fixed
        names = self.reader.names(state, player, keys)
        if fixed and player not in self.reader.fixed:
            raise _StartAgainError
        if found and names == self.lists.names[found]:
            return found
        bad = [name for name in names if not isinstance(name, str)]
        if player == CHANCE:
            if any(not prob >= 0 for prob in probs) or not abs(sum(probs) - 1) <= 1e-9:
                raise self.fail(
                    f"the chance probabilities at history {self.name()} are "
                    f"{probs} and sum to {sum(probs):g} instead of 1."
                )
            if bad:
                raise self.fail(
                    f"the chance outcome {bad[0]!r} at history {self.name()} is not a string."
                )
            if len(set(names)) != len(names):
                raise self.fail(f"two chance outcomes at history {self.name()} have the same name.")
        else:
            name = self.told[player][-1] if self.told[player] else ""
            if bad:
                raise self.fail(
                    f"the action {bad[0]!r} at infoset '{name}' of player {player} (history "
                    f"{self.name()}) is not a string."
                )
            if not names or len(set(names)) != len(names):
                raise self.fail(
                    f"infoset '{name}' of player {player} has the actions {list(names)} at "
                    f"history {self.name()}; there must be at least one and no two alike."
                )
        return self.lists.add(player, player, names, keys, probs)

    # All histories ---------------------------------------------------------------------------
    def _frozen(self) -> Histories:
        """The table of all histories."""
        result, known = self._arranged()
        self._check_memory(complete=True)
        if not self.derive:
            return result
        one, two = (  # equal numbers are equal knowledge, see `knowledge`
            np.where(each == 0, 3 * last + 1, 3 * each + 2 * (result.player == p))
            for p, (each, last) in enumerate(zip(known, result.sequence, strict=True))
        )
        last = np.where(result.player[result.parent] == CHANCE, 0, result.edge + 1)
        ended = np.where(result.player == TERMINAL, last, -1)
        node, firsts, parent = derive_public(result.parent, (one, two), ended)
        path = partial(path_of, result.parent, result.edge, result.labels)
        names = OnDemand(len(firsts), partial(path_name, path, firsts))
        return replace(result, node=node, node_parent=parent, node_names=names)

    def _arranged(self) -> tuple[Histories, list[Ints]]:
        """All histories so far, which are checked, and the numbers of what the players know."""
        self._pack()
        lists, chosen = self.lists, _ints(self.chosen)
        start, player = _ints(lists.start), np.array(lists.player)[chosen]
        parent, action = shape(np.diff(start)[chosen], len(self.tops))
        inner, size = np.flatnonzero(parent >= 0), len(parent)
        above = parent[inner]
        places = np.full(size, -1, np.int32)
        place = places[inner] = start[chosen[above]] + action[inner]
        edge, chance, payoff = np.full(size, -1, np.int32), np.empty(size), np.zeros(size)
        edge[inner] = _ints(lists.label)[place]
        chance[inner] = np.array(lists.prob)[place]
        payoff[player == TERMINAL] = self.paid[::2]
        infoset, tables, sequence = np.full(size, -1, np.int32), [], []
        tops, roots = self.tops[: size - len(inner)], np.flatnonzero(parent < 0)
        chance[roots] = [top.chance for top in tops]
        spell = self.reader.spell
        known = [self._known(p, np.array(lists.seat)[chosen]) for p in (0, 1)]
        before = [self.reader.history(top.state) for top in tops] if spell else []
        for p in (0, 1):
            here, mine = np.flatnonzero(player == p), inner[player[above] == p]
            infoset[here], table = self._infosets(p, here, known[p][here])
            if spell is not None:
                item = partial(spelled, spell, parent, places, lists.key, before, table.first)
                table = replace(table, names=OnDemand(len(table.first), item))
            last = np.full(size, NOTHING, np.int32)
            last[roots] = [top.slots[p] for top in tops]
            last[mine] = table.sequence[infoset[parent[mine]]] + action[mine]
            tables.append(table)
            sequence.append(last)
        one, two = sequence
        inherit(parent, (one, two), chance)
        found = Histories(
            game=self.game,
            parent=parent,
            edge=edge,
            player=player,
            action=action,
            infoset=infoset,
            sequence=(one, two),
            chance=chance,
            payoff=payoff,
            node=_ints(self.node),
            labels=list(lists.labels),
            tables=(tables[0], tables[1]),
            node_names=self.public_of,
            node_parent=np.array(self.node_parent, dtype=np.int32),
        )
        self._check_rules(found)
        self.infosets = sum(len(table.names) for table in tables)
        return found, known

    def _known(self, p: int, seat: NDArray[np.int8]) -> Ints:
        """[h] the number of what player `p` knows; 0 where the game does not say."""
        if self.reader.spell is not None:  # every history is an infoset
            return np.arange(1, len(seat) + 1, dtype=np.int32)
        asked = [who for who, ask in self.asks.items() if who != TERMINAL and ask[p]]
        out = np.zeros(len(seat), np.int32)
        out[np.isin(seat, asked)] = self.known[p]
        return out

    def _infosets(self, p: int, here: NDArray[np.int64], known: Ints) -> tuple[Ints, InfosetTable]:
        """The infoset of each history `here`, where player `p` acts, and their table."""
        first, lists = first_equal(known), self.lists.names
        new = first == np.arange(len(here))
        firsts, names = here[new].astype(np.int32), list(self.numbers[p])
        if self.reader.spell is None:
            numbers = np.fromiter(self.numbers[p].values(), np.int32, len(names))
            names = [names[k] for k in np.searchsorted(numbers, known[new]).tolist()]
            told = [isinstance(name, str) for name in names]
            if not all(told):
                raise self.fail(
                    f"player {p} acts at history {self.name(firsts[told.index(False)])}, "
                    "but information_state gives no string there."
                )
        actions = [lists[k] for k in _ints(self.chosen)[firsts].tolist()]
        start = np.cumsum([self.slots[p], *map(len, actions)], dtype=np.int32)
        table = InfosetTable(names, actions, firsts, start)
        return (np.cumsum(new, dtype=np.int32) - 1)[first], table

    def _check_rules(self, found: Histories) -> None:
        """Raise an error that names the first history at which a rule is broken, if any is."""
        one, two = np.array(self.paid).reshape(-1, 2).T
        with np.errstate(invalid="ignore"):
            zero = np.abs(one + two) <= 1e-9 * np.maximum(1.0, np.abs(one))
        wrong = np.flatnonzero(found.player == TERMINAL)[~(zero & np.isfinite(one))][:1].tolist()
        equal: dict[tuple[str, ...], int] = {}
        lists = [equal.setdefault(names, len(equal)) for names in self.lists.names]
        moves = np.array(lists)[self.chosen]
        for p, table in enumerate(found.tables):
            here = np.flatnonzero(found.player == p)
            first = table.first[found.infoset[here]]
            columns = [moves, found.sequence[p], *([] if self.derive else [found.node])]
            differ = np.any([column[here] != column[first] for column in columns], axis=0)
            wrong += here[differ][:1].tolist()
        if wrong:
            h = min(wrong)
            p = int(found.player[h])
            raise self._bad_payoff(found, h) if p == TERMINAL else self._bad_infoset(found, h, p)

    def _bad_payoff(self, found: Histories, h: int) -> SubgameError:
        k = 2 * int(np.count_nonzero(found.player[:h] == TERMINAL))
        first, second = self.paid[k : k + 2]
        if not (math.isfinite(first) and math.isfinite(second)):
            return self.fail(f"history {self.name(h)} pays {first} and {second}.")
        return self.fail(
            f"history {self.name(h)} pays {first:g} and {second:g}, "
            "which do not sum to zero; only zero-sum games can be solved."
        )

    def _bad_infoset(self, found: Histories, h: int, player: int) -> SubgameError:
        table, i = found.tables[player], int(found.infoset[h])
        first, infoset = int(table.first[i]), f"infoset '{table.names[i]}' of player {player}"
        names = self.lists.names[self.chosen[h]]
        if names != table.actions[i]:
            return self.fail(
                f"{infoset} offers {list(table.actions[i])} at history {self.name(first)} but "
                f"{list(names)} at {self.name(h)}."
            )
        last, there = (int(found.sequence[player][k]) for k in (h, first))
        if last != there:
            return self.fail(
                f"{infoset} has imperfect recall: histories {self.name(first)} and {self.name(h)} "
                f"are both in it, but there the player came from {_own(table, there)} "
                f"and from {_own(table, last)}."
            )
        return self.fail(
            f"{infoset} crosses public states: history {self.name(first)} is in "
            f"'{self.public_of[self.node[first]]}' and {self.name(h)} in "
            f"'{self.public_of[self.node[h]]}'."
        )


def _own(table: InfosetTable, sequence: int) -> str:
    if sequence < table.sequence[0]:
        return "no earlier choice"
    i = int(np.searchsorted(table.sequence, sequence, side="right")) - 1
    return f"'{table.names[i]}' by {table.actions[i][sequence - table.sequence[i]]}"


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int32)


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
    allowed = Allowance.of() if allowed is None else allowed
    while True:
        try:
            return _Walk(game, allowed, tops or [Top(game.new_initial_state())], stop).run(progress)
        except _StartAgainError:
            pass
