"""`walk`: the histories of a game, or of a part of it, as arrays.

A walk calls the rules of a `Game`. It visits histories depth first, checks the rules (each error
names the infoset and the two histories concerned) and makes a frozen table, from which public trees
are compiled. It can start at the top of a subgame (`Top`) instead of the start of the game, and can
stop at a frontier.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import count, islice
from struct import pack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.arrays import GameArrays, Rows
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.memory import Allowance
from subgame.tree.sequence.arrange import Spelling, Visited, history_name, shape
from subgame.tree.sequence.histories import FRONTIER, Histories, Ints, MoveLists, Top
from subgame.tree.sequence.levels import rows_at, visit_levels

__all__ = ["FRONTIER", "Histories", "Top", "walk"]

BYTES_PER_HISTORY = 240
"""Bytes of one history while its arrays are made, as measured."""
BYTES_BY_LEVELS = 130
"""The same where the game says its rules in arrays."""
BYTES_PER_INFOSET = 300
"""Bytes of one infoset: its entries in the tables and in the engine, without its name."""
BYTES_PER_NAME = 100
"""Bytes of a name in a table, beside its letters."""
DEEPEST = 10_000
"""The most moves that a history can have. A game with longer ones is taken never to end."""
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
        self.answers: tuple[list[Any], list[Any]] = [], []
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
        last, paid, (answers, answers_second) = self.last, self.won, self.answers
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
                            answers.append(first(state, 0))
                        if second is not None:
                            answers_second.append(second(state, 1))
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
                        key = (visited if alone else self.answers[player][-1], *key)
                    try:
                        number = known[player].get(key, 0)
                    except TypeError:  # what cannot be hashed is not a name
                        number, key = 0, (visited,)
                    if not number or visited >= again:
                        again = visited + (NAMED_AGAIN if visited > NAMED_FIRST else 1)
                        number = self._list(state, player, moves, number)
                        if player in fixed or (player >= 0 and spell is None):
                            known[player][key] = number
                    last[-1] = number
                    if keys:
                        stack.append((above, keys, depth, node))
                    above, keys, depth, node = state, keys_of[number].copy(), depth + 1, here
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
            self.infosets = sum(len(table.names) for table in self._visited().arranged().tables)
        self._check_memory()
        if progress is not None:
            progress(size)

    def _pack(self) -> None:
        """Move the lists, payoffs and answers of the last histories to the arrays."""
        packed: list[tuple[array[Any], list[Any]]] = [
            (self.chosen, self.last),
            (self.paid, self.won),
        ]
        for answers, index, known in zip(self.answers, self.numbers, self.known, strict=True):
            before = len(index)
            answers[:] = map(index.setdefault, answers, count(len(known) + 1))
            new = islice(reversed(index), len(index) - before)
            self.named += sum(BYTES_PER_NAME + len(str(name)) for name in new)
            packed.append((known, answers))
        for values, more in packed:  # five times as fast as `array.extend`
            values.frombytes(pack(f"{len(more)}{values.typecode}", *more))
            more.clear()

    def _check_memory(self, *, complete: bool = False) -> None:
        """An error if compiling or solving the histories needs too much memory."""
        size = len(self.chosen)
        need = size * BYTES_PER_HISTORY + self.infosets * BYTES_PER_INFOSET + self.named
        what = f"the tree of {size:,} histories" + ("" if complete else " so far")
        self.allowed.refuse(what, need, game=self.game, known=complete)

    # Errors ----------------------------------------------------------------------------------
    def name(self, h: int | None = None, *, but: int = 0) -> str:
        """The moves to a history, by default to the one that is being visited, `but` the last."""
        self._pack()
        parent, action = shape(np.diff(_ints(self.lists.start))[self.chosen], len(self.tops))
        h = len(parent) - 1 if h is None else h
        return history_name(self.lists, self.chosen, parent, action, h, but)

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

    def _list(self, state: Any, player: int, keys: Sequence[Any], before: int) -> int:
        """The number of a list of moves, which is checked unless it is that of `before`."""
        probs: Sequence[float] = [1.0] * len(keys)
        if player == CHANCE:
            keys, probs = [key for key, _ in keys], [prob for _, prob in keys]
        fixed = player in self.reader.fixed
        names = self.reader.names(state, player, keys)
        if fixed and player not in self.reader.fixed:
            raise _StartAgainError
        if before and names == self.lists.names[before]:
            return before
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
            name = self.answers[player][-1] if self.answers[player] else ""
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
        visited = self._visited()
        histories = visited.arranged()
        self.infosets = sum(len(table.names) for table in histories.tables)
        self._check_memory(complete=True)
        return visited.with_public(histories)

    def _visited(self) -> Visited:
        """The histories so far."""
        self._pack()
        lists, chosen, reader = self.lists, _ints(self.chosen), self.reader
        parent, action = shape(np.diff(_ints(lists.start))[chosen], len(self.tops))
        seat, paid = np.array(lists.seat)[chosen], np.array(self.paid)
        spelling = None
        if reader.spell is not None:
            spelling = Spelling(reader.spell, [reader.history(top.state) for top in self.tops])
        return Visited(
            game=self.game,
            tops=self.tops,
            lists=lists,
            chosen=chosen,
            parent=parent,
            action=action,
            known=(self._known(0, seat), self._known(1, seat)),
            paid=(paid[::2], paid[1::2]),
            node=_ints(self.node),
            node_names=self.public_of,
            node_parent=np.array(self.node_parent, dtype=np.int32),
            derive=self.derive,
            names=self._names,
            spelling=spelling,
        )

    def _known(self, p: int, seat: NDArray[np.int8]) -> Ints:
        """[h] the number of what player `p` knows; 0 where the game does not say."""
        if self.reader.spell is not None:  # every history is an infoset
            return np.arange(1, len(seat) + 1, dtype=np.int32)
        asked = [who for who, ask in self.asks.items() if who != TERMINAL and ask[p]]
        out = np.zeros(len(seat), np.int32)
        out[np.isin(seat, asked)] = self.known[p]
        return out

    def _names(self, p: int, firsts: Ints, known: Ints) -> list[str]:
        """The names of infosets: what the player knows there."""
        names = list(self.numbers[p])
        numbers = np.fromiter(self.numbers[p].values(), np.int32, len(names))
        names = [names[k] for k in np.searchsorted(numbers, known).tolist()]
        for first, name in zip(firsts.tolist(), names, strict=True):
            if not isinstance(name, str):
                raise self.fail(
                    f"player {p} acts at history {self.name(first)}, "
                    "but information_state gives no string there."
                )
        return names


def _ints(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int32)


def walk(
    game: Game,
    allowed: Allowance | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    tops: Sequence[Top] | None = None,
    stop: Callable[[State], bool] | None = None,
    arrays: GameArrays | None = None,
) -> Histories:
    """Walk the histories of `game`; see `subgame.compile` for the arguments.

    The walk starts from `tops`, if given, which form one public state. It does not continue from
    states for which `stop` returns True. By default it may use all the memory that is available.
    `arrays` are those of the game, if it has any and they were made before. From tops on they are
    used only if they are given, since making them takes longer than a small walk.
    """
    if game.num_players != 2:
        raise SubgameError(
            f"{game}: the game has {game.num_players} players; only two-player games can be solved."
        )
    allowed = Allowance.of() if allowed is None else allowed
    if tops is None and stop is None and (arrays := arrays or game.arrays()) is not None:
        return _by_levels(game, arrays, allowed, progress)
    if tops and arrays is not None and (rows := rows_at(arrays, tops)) is not None:
        return _by_levels(game, arrays, allowed, progress, (tops, rows))
    while True:
        try:
            return _Walk(game, allowed, tops or [Top(game.new_initial_state())], stop).run(progress)
        except _StartAgainError:
            pass


def _by_levels(
    game: Game,
    arrays: GameArrays,
    allowed: Allowance,
    progress: Callable[[int], None] | None,
    tops: tuple[Sequence[Top], Rows] | None = None,
) -> Histories:
    """The histories of a game that says its rules in arrays, or those below some."""

    def check(size: int) -> None:
        what = f"the tree of {size:,} histories so far"
        allowed.refuse(what, size * BYTES_BY_LEVELS, game=game, known=False)
        if progress is not None:
            progress(size)

    return visit_levels(game, arrays, check, DEEPEST, tops).arranged()
