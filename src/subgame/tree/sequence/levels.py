"""`visit_levels`: the histories of a game that says its rules in arrays, level by level.

The result is what a walk over the game's states finds, in the same order, also from the top of a
subgame on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.arrays import GameArrays, Rows
from subgame.games.base import Game
from subgame.tree.sequence.arrange import Visited
from subgame.tree.sequence.histories import Floats, Ints, MoveLists, Replayed, Top

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class _Level:
    """The histories of one length. Axes: k = history, e = end, a = history where a player acts."""

    parent: Ints  # [k] in the level above
    first: Ints  # [k + 1] the first child, in the level below
    chosen: Ints  # [k] list of moves
    node: Ints  # [k] public state, by number of discovery
    paid: Floats  # [e]
    known: tuple[Longs, Longs]  # [player][a] what the acting player knows


class _Nodes:
    """Public states: a state above with a new public number."""

    def __init__(self) -> None:
        self.index: dict[tuple[int, int], int] = {}
        self.parent: list[int] = []

    def enter(self, above: Ints, public: Longs, here: Longs) -> Ints:
        """[k] the public states of histories below states `above`, with public numbers.

        `here` [k] is the public number of the state above.
        """
        out, changed = above.copy(), np.flatnonzero(public != here)
        numbers, code = np.unique(public[changed], return_inverse=True)
        pair = above[changed].astype(np.int64) * max(len(numbers), 1) + code
        pairs, which = np.unique(pair, return_inverse=True)
        up, place = np.divmod(pairs, max(len(numbers), 1))
        new = np.empty(len(pairs), np.int32)
        for k, key in enumerate(zip(up.tolist(), numbers[place].tolist(), strict=True)):
            new[k] = self.index.setdefault(key, len(self.parent))
            if new[k] == len(self.parent):
                self.parent.append(key[0])
        out[changed] = new[which]
        return out


def rows_at(arrays: GameArrays, tops: Sequence[Top]) -> Rows | None:
    """The histories at the tops; None if the arrays do not have them or not at one level."""
    paths = [top.path for top in tops]
    rows = _at(arrays.start(), np.zeros(len(paths), np.int64))
    if len(set(map(len, paths))) > 1:
        return None
    for labels in zip(*paths, strict=True):
        lists = [arrays.lists[k].names for k in arrays.moves(rows).tolist()]
        if any(label not in names for names, label in zip(lists, labels, strict=True)):
            return None
        actions = [names.index(label) for names, label in zip(lists, labels, strict=True)]
        rows = arrays.child(rows, np.array(actions))
    return rows


def visit_levels(
    game: Game,
    arrays: GameArrays,
    check: Callable[[int], None],
    deepest: int,
    tops: tuple[Sequence[Top], Rows] | None = None,
) -> Visited:
    """All histories of a game, or those below `tops`, whose rows are given, in one public state.

    `check` is called with their number before they are made.
    """
    starts, rows = tops or ([Top(game.new_initial_state())], arrays.start())
    nodes, levels, total = _Nodes(), list[_Level](), len(starts)
    player, length = (np.array(column) for column in _columns(arrays))
    parent, node = np.full(total, -1, np.int32), np.zeros(total, np.int32)
    nodes.parent.append(-1)
    public = np.full(total, arrays.public_state(rows)[0], np.int64)  # that of the first top
    while True:
        chosen = np.asarray(arrays.moves(rows), np.int32)
        acting = player[chosen]
        one, two = (
            arrays.information_state(_at(rows, acting == p), p).astype(np.int64) for p in (0, 1)
        )
        counts = length[chosen]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        paid = np.asarray(arrays.returns(_at(rows, chosen == 0)), np.float64)
        levels.append(_Level(parent, first, chosen, node, paid, (one, two)))
        if not first[-1]:
            break
        if len(levels) > deepest:
            raise SubgameError(
                f"{game}: a history goes on after {deepest:,} moves; only games that end after at "
                f"most {deepest:,} moves can be compiled."
            )
        total += int(first[-1])
        check(total)
        parent = np.repeat(np.arange(len(chosen), dtype=np.int32), counts)
        rows = arrays.child(_at(rows, parent), np.arange(len(parent)) - first[parent])
        above, public = public[parent], arrays.public_state(rows).astype(np.int64)
        node = nodes.enter(node[parent], public, above)
    return _in_order((game, starts), arrays, levels, np.array(nodes.parent, np.int32))


def _columns(arrays: GameArrays) -> tuple[list[int], list[int]]:
    return [moves.player for moves in arrays.lists], [len(moves.names) for moves in arrays.lists]


def _at(rows: Rows, where: NDArray[np.generic]) -> Rows:
    return tuple(column[where] for column in rows)


def _in_order(
    start: tuple[Game, Sequence[Top]], arrays: GameArrays, levels: list[_Level], node_parent: Ints
) -> Visited:
    """The histories of all levels in depth-first order."""
    game, tops = start
    places = _places(levels)
    size = sum(map(len, places))
    parent, action = np.full(size, -1, np.int32), np.zeros(size, np.int32)
    action[places[0]] = np.arange(len(tops))
    chosen, node, paid = np.empty(size, np.int32), np.empty(size, np.int32), np.zeros(size)
    for d, (here, level) in enumerate(zip(places, levels, strict=True)):
        chosen[here], node[here] = level.chosen, level.node
        paid[here[level.chosen == 0]] = level.paid
        if d:
            parent[here] = places[d - 1][level.parent]
            action[here] = np.arange(len(here)) - levels[d - 1].first[level.parent]
    paid = paid[chosen == 0]
    player = np.array(_columns(arrays)[0])
    one, two = (_numbered(levels, places, player == p, p, size) for p in (0, 1))
    levels.clear()
    lists, chosen = _lists(arrays, chosen)
    firsts, node, node_parent = _renumbered(node, node_parent)
    first, label = np.array(lists.start, np.int32), np.array(lists.label, np.int32)
    edge, inner = np.full(size, -1, np.int32), np.flatnonzero(parent >= 0)
    edge[inner] = label[first[chosen[parent[inner]]] + action[inner]]
    return Visited(
        game=game,
        tops=tops,
        lists=lists,
        chosen=chosen,
        parent=parent,
        action=action,
        known=(one, two),
        paid=(paid, -paid),
        node=node,
        node_names=Replayed(tops, parent, edge, list(lists.labels), firsts),
        node_parent=node_parent,
    )


def _places(levels: list[_Level]) -> list[Ints]:
    """[level][k] the number of each history in depth-first order."""
    before = [np.zeros(1, np.int32)]  # histories below the earlier ones of a level, with these
    for level in reversed(levels):
        below = before[-1][level.first]
        sizes = 1 + np.diff(below)
        before.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
    before.reverse()
    places = [before[0][:-1]]
    for above, level, earlier in zip(levels, levels[1:], before[1:], strict=False):
        older = earlier[:-1] - earlier[above.first[level.parent]]  # below the earlier siblings
        places.append(places[-1][level.parent] + 1 + older)
    return places


def _numbered(
    levels: list[_Level], places: list[Ints], mine: NDArray[np.bool_], p: int, size: int
) -> Ints:
    """[h] the number of what player `p` knows where the player acts, 0 elsewhere."""
    out = np.zeros(size, np.int32)
    known = np.concatenate([level.known[p] for level in levels])
    here = [place[mine[level.chosen]] for place, level in zip(places, levels, strict=True)]
    out[np.concatenate(here)] = np.unique(known, return_inverse=True)[1] + 1
    return out


def _lists(arrays: GameArrays, chosen: Ints) -> tuple[MoveLists, Ints]:
    """The lists of moves by first occurrence, and [h] the list of each history."""
    lists, number = MoveLists(), np.zeros(len(arrays.lists), np.int32)
    for k in chosen[np.sort(np.unique(chosen, return_index=True)[1])].tolist():
        if k:
            player, names, probs = arrays.lists[k]
            number[k] = lists.add(player, player, names, names, probs or (1.0,) * len(names))
    return lists, number[chosen]


def _renumbered(node: Ints, above: Ints) -> tuple[Ints, Ints, Ints]:
    """Public states by first occurrence: their first histories, those of each history, parents."""
    first = np.empty(len(above), np.int32)
    first[node[::-1]] = np.arange(len(node), dtype=np.int32)[::-1]  # the last one written counts
    order = np.argsort(first)
    number = np.empty(len(above), np.int32)
    number[order] = np.arange(len(above), dtype=np.int32)
    parent = above[order]
    return first[order], number[node], np.where(parent >= 0, number[parent], -1).astype(np.int32)
