"""The sequence form of a game that ends at a depth limit, with the choices there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats, Ints
from subgame.games.base import TERMINAL
from subgame.refine.continuations import Continuations
from subgame.refine.limit import LeafValues
from subgame.refine.sequence.leaves import Leaf
from subgame.tree.sequence.form import Form, FormPlayer
from subgame.tree.sequence.tree import Entries, Index
from subgame.tree.sequence.walk import Histories

Names = Sequence[tuple[list[str], list[str]]]
"""[leaf][player][s] the infoset where a continuation is chosen, "" where there is no choice."""


def descendants(tops: NDArray[np.integer], inner: Histories) -> Ints:
    """Where the histories of a subgame stand in a walk in which its tops stand at `tops`.

    Both walks are depth first, so that what lies below a top follows it in line.
    """
    starts = np.flatnonzero(inner.parent < 0)
    sizes = np.diff(np.append(starts, len(inner)))
    return np.arange(len(inner)) + np.repeat(tops.astype(np.int64) - starts, sizes)


def limited_form(
    base: Form,
    place: Ints,
    leaves: Sequence[Leaf],
    names: Names,
    values: Sequence[LeafValues],
    pair: Sequence[Continuations],
) -> Form:
    """The form above the limit, the choices at it and what they pay."""
    h = base.histories
    assert h is not None
    below = np.zeros(len(h), dtype=bool)
    tops = [place[leaf.subgame.top] for leaf in leaves]
    for leaf, top in zip(leaves, tops, strict=True):
        below[descendants(top, leaf.histories)] = True
    cut = below.copy()
    cut[np.concatenate(tops)] = False
    nodes = np.unique(h.node[~cut])
    renumber = np.full(len(base.node_names), -1, dtype=np.int32)
    renumber[nodes] = np.arange(len(nodes))
    at_node = [renumber[h.node[top]] for top in tops]  # [leaf][h]
    players, moved, landed = [], [], []
    for p in (0, 1):
        side, old = _trunk(base.players[p], ~below[h.tables[p].first], renumber)
        where = [old[h.sequence[p][top]] for top in tops]  # [leaf][h] the player's, at the limit
        chosen = [name[p] for name in names]
        at_limit = zip(leaves, chosen, where, at_node, strict=True)
        side, at = _choices(side, p, at_limit, pair[p].names)
        players.append(side)
        moved.append(old)
        landed.append(at)
    ends = ~below[h.player == TERMINAL]
    entries = [
        Entries(
            renumber[base.entries.node[ends]],
            moved[0][base.entries.row[ends]],
            moved[1][base.entries.col[ends]],
            base.entries.value[ends],
        )
    ]
    for leaf, leaf_values, node, *at in zip(leaves, values, at_node, *landed, strict=True):
        entries.append(_paid(leaf, leaf_values.value, at, node))
    parent = base.node_parent[nodes]
    return Form(
        f"{base.game} · depth limit",
        (players[0], players[1]),
        Entries(*(np.concatenate(column) for column in zip(*entries, strict=True))),
        [base.node_names[n] for n in nodes.tolist()],
        np.where(parent >= 0, renumber[parent], -1).astype(np.int32),
        base.node_chance[nodes],
    )


def _trunk(
    player: FormPlayer, kept: NDArray[np.bool_], renumber: Index
) -> tuple[FormPlayer, Index]:
    """A player's infosets above the limit, and the map from old to new sequences."""
    slots, start = len(player.slots), player.start
    sizes = np.diff(start)
    new = np.full(start[-1], -1, dtype=np.int32)
    stays = np.append(np.ones(slots, dtype=bool), np.repeat(kept, sizes))
    new[stays] = np.arange(stays.sum())
    which = np.flatnonzero(kept)
    return replace(
        player,
        names=[player.names[i] for i in which.tolist()],
        actions=[player.actions[i] for i in which.tolist()],
        parent=new[player.parent[which]],
        node=renumber[player.node[which]],
        origin=player.origin[which],
    ), new


def _choices(
    side: FormPlayer,
    p: int,
    at_limit: Iterable[tuple[Leaf, list[str], Index, Index]],
    titles: Sequence[str],
) -> tuple[FormPlayer, list[list[Ints]]]:
    """A player's side with the choices at the limit, and [leaf][s] the sequences they lead to.

    `at_limit` are leaves, with [s] the names of the choices, and [h] the player's sequences and the
    public states there.
    """
    names, actions, parents, nodes = [], [], [], []
    landed: list[list[Ints]] = []
    size = int(side.start[-1])
    for leaf, choices, at, node in at_limit:
        landed.append([])
        for s, (options, name) in enumerate(zip(leaf.options[p], choices, strict=True)):
            first = int(np.argmax(leaf.slots[p] == s))  # any history there
            if not name:  # nothing to choose: paid at the sequence itself
                landed[-1].append(np.array([at[first]], dtype=np.int64))
                continue
            names.append(name)
            actions.append(tuple(titles[k] for k in options.tolist()))
            parents.append(int(at[first]))
            nodes.append(int(node[first]))
            landed[-1].append(np.arange(size, size + len(options)))
            size += len(options)
    return replace(
        side,
        names=[*side.names, *names],
        actions=[*side.actions, *actions],
        parent=np.append(side.parent, parents).astype(np.int32),
        node=np.append(side.node, nodes).astype(np.int32),
        origin=np.append(side.origin, np.full(len(names), -1)).astype(np.int32),
    ), landed


def _paid(leaf: Leaf, value: Floats, landed: Sequence[list[Ints]], node: Index) -> Entries:
    """What every pair of choices pays at one leaf, times chance."""
    nodes, rows, cols, paid = [], [], [], []
    for j, (s, t) in enumerate(zip(*(slots.tolist() for slots in leaf.slots), strict=True)):
        mine, yours = leaf.options[0][s], leaf.options[1][t]
        rows.append(np.repeat(landed[0][s], len(yours)))
        cols.append(np.tile(landed[1][t], len(mine)))
        nodes.append(np.full(len(mine) * len(yours), node[j]))
        paid.append(leaf.chance[j] * value[j][np.ix_(mine, yours)].ravel())
    return Entries(
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(rows).astype(np.int32),
        np.concatenate(cols).astype(np.int32),
        np.concatenate(paid),
    )
