"""`Form`: the sequence form as plain tables, and `assemble`, which makes a `SequenceTree` of it.

A form (infosets with a parent sequence, payoff entries) is easy to build, to cut and to extend by a
gadget. `assemble` arranges it for the kernels: infosets in blocks, terminals in groups of equal
matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from subgame.games.base import CHANCE, TERMINAL
from subgame.tree.public_tree import OnDemand
from subgame.tree.sequence.arrange import depths, order_by
from subgame.tree.sequence.tree import (
    Entries,
    Floats,
    Index,
    Plex,
    SequenceTree,
    Terminals,
    Treeplex,
)
from subgame.tree.sequence.walk import Histories

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class FormPlayer:
    """One player of a `Form`. Sequences: first the root infosets, then each infoset's actions."""

    slots: Sequence[str]  # [s] names of the root infosets
    reach: Floats  # [s] the player's reach there
    names: Sequence[str]  # [i]
    actions: Sequence[tuple[str, ...]]  # [i]
    parent: Index  # [i] a root infoset or a sequence of an earlier infoset
    node: Index  # [i] public state
    origin: Index  # [i] index in the game's table of infosets; -1 for an infoset of a gadget

    @property
    def start(self) -> Index:
        """[i + 1] where each infoset's sequences start."""
        return np.cumsum([len(self.slots), *map(len, self.actions)], dtype=np.int32)

    @property
    def slot_of(self) -> Longs:
        """[q] the root infoset that each sequence lies below."""
        start = self.start
        out = np.arange(start[-1], dtype=np.int64)
        for i, parent in enumerate(self.parent):
            out[start[i] : start[i + 1]] = out[parent]
        return out


@dataclass(frozen=True)
class Form:
    """The sequence form as plain tables; `assemble` arranges it for the kernels."""

    game: str
    players: tuple[FormPlayer, FormPlayer]
    entries: Entries
    node_names: Sequence[str]
    node_parent: Index
    node_chance: Floats
    histories: Histories | None = None


def form_of(
    histories: Histories, slots: tuple[Sequence[str], Sequence[str]] = (("start",), ("start",))
) -> Form:
    """The sequence form of the histories walked.

    A whole game has one root infoset per player, the empty sequence. A subgame has one per
    augmented infoset at its top. Every reach is 1.
    """
    ends = np.flatnonzero(histories.player == TERMINAL)
    one, two = (
        FormPlayer(
            slots=slots[p],
            reach=np.ones(len(slots[p])),
            names=table.names,
            actions=table.actions,
            parent=histories.sequence[p][table.first],
            node=histories.node[table.first],
            origin=np.arange(len(table.names), dtype=np.int32),
        )
        for p, table in enumerate(histories.tables)
    )
    row, col = (sequence[ends] for sequence in histories.sequence)
    value = histories.chance[ends] * histories.payoff[ends]
    return Form(
        str(histories.game),
        (one, two),
        Entries(histories.node[ends], row, col, value),
        histories.node_names,
        histories.node_parent,
        _public_chance(histories),
        histories,
    )


def _public_chance(h: Histories) -> Floats:
    """[n] the probability that chance leads to a public state rather than to its siblings.

    Players' reaches count as one. It is 0 where a player's action leads there, and at the root.
    """
    nodes = len(h.node_names)
    step = np.flatnonzero(h.parent >= 0)
    step = step[h.node[step] != h.node[h.parent[step]]]
    by_chance = h.player[h.parent[step]] == CHANCE
    mass = np.zeros(nodes)
    np.add.at(mass, h.node[step], h.chance[step] * by_chance)
    mass[h.node[step[~by_chance]]] = 0.0
    total = np.zeros(nodes)
    np.add.at(total, h.node_parent[1:], mass[1:])
    above = np.append(0.0, total[h.node_parent[1:]])
    share: Floats = np.divide(mass, above, out=np.zeros(nodes), where=above > 0)
    return share


def assemble(form: Form) -> SequenceTree:
    """Arrange a form for the kernels."""
    (one, first), (two, second) = map(_lay_out, form.players)
    node, row, col, value = form.entries
    h = form.histories
    return SequenceTree(
        of_game=form.game,
        players=(one, two),
        terminals=_group(Entries(node, first[row], second[col], value)),
        node_names=form.node_names,
        node_parent=form.node_parent,
        node_chance=form.node_chance,
        histories=h,
        located=() if h is None else (first[h.sequence[0]], second[h.sequence[1]]),
    )


def _lay_out(player: FormPlayer) -> tuple[Treeplex, Index]:
    """A player's infosets sorted into blocks, and the map from old to new sequences."""
    slots, count, start = len(player.slots), len(player.names), player.start
    sizes = np.diff(start).astype(np.int64)
    # The infoset of each sequence after the root infosets.
    owner = np.repeat(np.arange(count), sizes)
    depth = depths(np.append(np.full(slots, -1), owner)[player.parent])
    order = order_by(depth, sizes)
    key = depth[order] * (sizes.max(initial=0) + 1) + sizes[order]
    edges = np.flatnonzero(np.diff(key, prepend=-1, append=-2))
    width = np.diff(edges)
    actions = sizes[order][edges[:-1]]
    block_start = slots + np.concatenate([[0], np.cumsum(width * actions)])
    within = np.arange(count) - np.repeat(edges[:-1], width)
    first = np.repeat(block_start[:-1], width) + within
    stride = np.repeat(width, width)
    new = np.arange(start[-1], dtype=np.int64)  # old sequence -> new; root infosets stay
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    which = np.arange(start[-1] - slots) - np.repeat(start[:-1] - slots, sizes)
    new[slots:] = first[rank[owner]] + stride[rank[owner]] * which
    plex = Plex(
        new[player.parent[order]].astype(np.int32),
        edges.astype(np.int32),
        actions.astype(np.int32),
        block_start[:-1].astype(np.int32),
    )
    treeplex = Treeplex(
        plex=plex,
        slots=tuple(player.slots),
        reach=player.reach,
        names=_reordered(player.names, order),
        actions=[player.actions[i] for i in order.tolist()],
        node=player.node[order],
        origin=player.origin[order],
        first=first.astype(np.int32),
        stride=stride.astype(np.int32),
        num_sequences=int(start[-1]),
    )
    return treeplex, new.astype(np.int32)


def _reordered(names: Sequence[str], order: NDArray[np.int64]) -> Sequence[str]:
    """The names in another order; those made on demand still are."""
    if isinstance(names, list):
        return [names[i] for i in order.tolist()]
    return OnDemand(len(names), partial(_at, names, order))


def _at(names: Sequence[str], order: NDArray[np.int64], i: int) -> str:
    return names[int(order[i])]


def _group(entries: Entries) -> Terminals:
    """Merge entries of equal node and sequences, then gather equal matrices into groups."""
    order = _order(entries.node, entries.row, entries.col)
    node, row, col = (entry[order] for entry in entries[:3])
    value = entries.value[order]
    fresh = _changes(node, row, col)
    value = np.add.reduceat(value, np.flatnonzero(fresh)) if len(value) else value
    node, row, col = node[fresh], row[fresh], col[fresh]
    keep = value != 0
    node, row, col, value = node[keep], row[keep], col[keep], value[keep]
    starts = np.flatnonzero(_changes(node))
    sizes = np.diff(np.append(starts, len(node)))
    turned = _order(node, col, row)
    rows, local_row = _numbered(node, row, starts, sizes)
    cols, local_col = _numbered(node[turned], col[turned], starts, sizes)
    local_col[turned] = local_col.copy()
    scale = value[starts]
    matrix = value / np.repeat(scale, sizes)
    # Rounding differs with the order in which chances are multiplied, so it is ignored.
    keys = np.column_stack([local_row, local_col, matrix.round(12) + 0.0])
    groups: dict[bytes, list[int]] = {}
    single = np.flatnonzero(sizes == 1)  # these have the same matrix, so one of them is looked at
    for k in np.sort(np.append(np.flatnonzero(sizes > 1), single[:1])).tolist():
        groups.setdefault(keys[starts[k] : starts[k] + sizes[k]].tobytes(), []).append(k)
    parts = [single if sizes[group[0]] == 1 else np.array(group) for group in groups.values()]
    first = np.array([part[0] for part in parts], dtype=np.int64)
    lanes = np.concatenate([*parts, np.zeros(0, np.int64)])  # flat [g][lane]: an index of `starts`
    count = np.array([len(part) for part in parts], dtype=np.int64)
    inside, which = _ranges(starts[first], sizes[first])
    m, n = (np.diff(np.append(at, len(held)))[first] for held, at in (rows, cols))
    local_row, local_col, matrix = local_row[inside], local_col[inside], matrix[inside]
    turned = order_by(which, local_col, local_row)
    return Terminals(
        rows=m.astype(np.int32),
        cols=n.astype(np.int32),
        lanes=count.astype(np.int32),
        row_sequence=_gathered(*rows, lanes, count, m),
        col_sequence=_gathered(*cols, lanes, count, n),
        scale=scale[lanes],
        node=node[starts[lanes]],
        row_sequence_at=_offsets(m * count),
        col_sequence_at=_offsets(n * count),
        scale_at=_offsets(count),
        row_ptr=_pointers(which, local_row, m),
        row_ptr_at=_offsets(m + 1),
        row_col=local_col.astype(np.int32),
        row_value=matrix,
        col_ptr=_pointers(which[turned], local_col[turned], n),
        col_ptr_at=_offsets(n + 1),
        col_row=local_row[turned].astype(np.int32),
        col_value=matrix[turned],
    )


def _order(*keys: Index) -> NDArray[np.int64]:
    """The order of the entries by these keys, the first one first."""
    if np.all(keys[0][1:] > keys[0][:-1]):
        return np.arange(len(keys[0]))
    return order_by(*keys)


def _changes(*keys: Index) -> NDArray[np.bool_]:
    """[e] whether any of the sorted keys differs from the one before."""
    out = np.ones(len(keys[0]), dtype=np.bool_)
    out[1:] = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        out[1:] |= key[1:] != key[:-1]
    return out


def _numbered(
    node: Index, sequence: Index, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[tuple[Index, NDArray[np.int64]], NDArray[np.int64]]:
    """The distinct sequences of every node, where each node's start, and [e] the local number."""
    fresh = _changes(node, sequence)
    number = np.cumsum(fresh) - 1
    first = number[starts]
    return (sequence[fresh], first), number - np.repeat(first, sizes)


def _ranges(start: Longs, size: Longs) -> tuple[Longs, Longs]:
    """The numbers from each start on, as many as its size; and which start they belong to."""
    which = np.repeat(np.arange(len(size)), size)
    return np.arange(len(which)) + (start - np.cumsum(size) + size)[which], which


def _gathered(sequence: Index, first: Longs, lanes: Longs, count: Longs, rows: Longs) -> Index:
    """Flat [g][row, lane]: the sequences of all lanes of each group."""
    k, which = _ranges(np.zeros(len(rows), np.int64), rows * count)
    row, lane = np.divmod(k, count[which])
    return sequence[first[lanes[_offsets(count)[which] + lane]] + row]


def _pointers(which: Longs, row: Longs, rows: Longs) -> Index:
    """Flat [g][rows + 1]: where each row of each group starts among its sorted entries."""
    k, group = _ranges(np.zeros(len(rows), np.int64), rows + 1)
    wide = int(rows.max(initial=0)) + 1
    return np.searchsorted(which * wide + row, group * wide + k).astype(np.int32)


def _offsets(sizes: Longs) -> Index:
    out: Index = np.cumsum(np.append(0, sizes), dtype=np.int32)[:-1]
    return out
