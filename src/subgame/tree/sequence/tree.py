"""`SequenceTree`: the sequence form of a game (von Stengel 1996), blocked by public state.

Each player has a *treeplex*: infosets, each with one of the player's sequences as its parent. A
player's reach changes only where the player acts, so an engine needs only a reach vector and a
value vector over each player's sequences. Terminals couple the two players bilinearly,
``v0 = M r1`` and ``v1 = -M' r0``. Chance is inside ``M``; chance nodes are never traversed.

Axis letters: i infoset, q sequence, s root infoset, b block, n public node, g terminal group,
l lane (one terminal of a group).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.frozen import Frozen
from subgame.show.charts import Node
from subgame.show.charts import tree as draw_tree
from subgame.tree.public_tree import PublicTree, Reals
from subgame.tree.sequence.walk import Histories

Index = NDArray[np.int32]
Floats = NDArray[np.float64]
DRAWN = 20_000
"""Public states of the largest tree of which the first levels are drawn."""


class Plex(NamedTuple):
    """A player's treeplex as arrays for kernels.

    Infosets at the same depth of the player's own decisions and with the same number of actions
    form a block, so that a kernel runs over long contiguous arrays ``[action, infoset]``: sequence
    ``block_sequence[b] + a * S + k`` is action a at the k-th of the block's S infosets. Blocks
    are in topological order. Sequences ``0 .. len(slots) - 1`` are the root infosets.
    """

    parent: Index  # [i] the sequence that leads to the infoset
    block_infoset: Index  # [b + 1] the first infoset of each block
    block_actions: Index  # [b] number of actions
    block_sequence: Index  # [b] the first sequence of each block


class Terminals(NamedTuple):
    """All terminals as arrays for kernels, in groups whose matrices are equal up to a factor.

    The lanes of a group share one sparse matrix ``M`` and differ in their sequences and in a
    scale. Both ``M`` (its rows are player 0's sequences) and its transpose are stored.
    """

    rows: Index  # [g] number of rows of M
    cols: Index  # [g] number of columns
    lanes: Index  # [g] number of lanes
    row_sequence: Index  # flat [g][row, lane]: player 0's sequences
    col_sequence: Index  # flat [g][col, lane]: player 1's
    scale: Floats  # flat [g][lane]
    node: Index  # flat [g][lane]: the public state of the terminal
    row_sequence_at: Index  # [g] offsets into the flat arrays
    col_sequence_at: Index
    scale_at: Index
    row_ptr: Index  # flat [g][rows + 1] compressed rows of M, offsets into row_col / row_value
    row_ptr_at: Index
    row_col: Index
    row_value: Floats
    col_ptr: Index  # the same for the transpose
    col_ptr_at: Index
    col_row: Index
    col_value: Floats


class Entries(NamedTuple):
    """The sequence-form payoff matrix as coordinates: player 0's payoffs times chance."""

    node: Index
    row: Index  # player 0's sequence
    col: Index  # player 1's sequence
    value: Floats


class Group(NamedTuple):
    """Terminals that share a matrix, as coordinates. Axes: l lane, e entry of the matrix."""

    row_sequence: Index  # [row, l]
    col_sequence: Index  # [col, l]
    scale: Floats  # [l]
    node: Index  # [l]
    row: NDArray[np.int64]  # [e]
    col: Index  # [e]
    value: Floats  # [e]

    @property
    def entries(self) -> Entries:
        """The entries of all lanes."""
        return Entries(
            np.tile(self.node, len(self.row)),
            self.row_sequence[self.row].ravel(),
            self.col_sequence[self.col].ravel(),
            np.outer(self.value, self.scale).ravel(),
        )


@dataclass(frozen=True, eq=False)
class Treeplex(Frozen):
    """One player's part of a `SequenceTree`."""

    plex: Plex
    slots: Sequence[str]  # [s] names of the root infosets
    reach: Floats  # [s] the player's reach at the root; ones, or a range
    names: Sequence[str]  # [i]
    actions: Sequence[tuple[str, ...]]  # [i]
    node: Index  # [i] public node
    origin: Index  # [i] index in the game's table of infosets; -1 for an infoset of a gadget
    first: Index  # [i] the sequence of its first action
    stride: Index  # [i] distance from one action's sequence to the next
    num_sequences: int

    def sequences(self, i: int) -> NDArray[np.int64]:
        """The sequences of infoset `i`, one per action."""
        count = len(self.actions[i])
        return np.arange(count, dtype=np.int64) * int(self.stride[i]) + int(self.first[i])

    def lookup(self, name: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The actions and sequences of the infoset of that name, or a KeyError."""
        i = self.index[name]
        return self.actions[i], self.sequences(i)

    def decisions(self) -> Iterator[tuple[NDArray[np.int64], tuple[str, ...]]]:
        """For each infoset: its sequences [1, action] and its actions."""
        for i, actions in enumerate(self.actions):
            yield self.sequences(i)[None], actions

    @cached_property
    def index(self) -> dict[str, int]:
        """From an infoset's name to its number."""
        return {name: i for i, name in enumerate(self.names)}

    def blocks(self) -> Iterator[tuple[slice, int]]:
        """For each block: its sequences ``[action, infoset]``, and its number of actions."""
        plex, sizes = self.plex, np.diff(self.plex.block_infoset)
        columns = np.stack([plex.block_sequence, sizes, plex.block_actions], axis=1)
        for start, size, actions in columns.tolist():
            yield slice(start, start + actions * size), actions

    @cached_property
    def infoset_of(self) -> Index:
        """[q] the infoset a sequence belongs to; ``-1 - s`` for root infoset s."""
        out = -1 - np.arange(self.num_sequences, dtype=np.int32)
        for b, (where, actions) in enumerate(self.blocks()):
            lo, hi = self.plex.block_infoset[b : b + 2]
            out[where] = np.tile(np.arange(lo, hi), actions)
        return out

    @cached_property
    def slot_of(self) -> Index:
        """[q] the root infoset from which a sequence is reached."""
        out = np.arange(self.num_sequences, dtype=np.int32)
        for i in range(len(self.names)):  # blocks are in topological order
            out[self.sequences(i)] = out[self.plex.parent[i]]
        return out


@dataclass(frozen=True, eq=False, repr=False)
class SequenceTree(PublicTree):
    """A game, or a part of it, in sequence form; made by `assemble`."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)
    usual_schedule: ClassVar[str] = "pdcfr+"

    players: tuple[Treeplex, Treeplex]
    terminals: Terminals
    node_names: Sequence[str]
    node_parent: Index  # [n] -1 at the root
    node_chance: Floats  # [n] probability among its siblings if entered by chance, else 0
    located: tuple[Index, ...] = ()
    """[player][h] each player's sequence at each history; empty if there are no histories."""

    @property
    def walked(self) -> Histories:
        """The histories, for what cannot be done without them."""
        if self.histories is None:
            raise SubgameError(f"{self!r} keeps no histories, so it cannot be cut or followed.")
        return self.histories

    @property
    def num_nodes(self) -> int:
        return len(self.node_names)

    def drawn(self) -> str:
        if self.num_nodes > DRAWN:
            return ""
        counts = [np.bincount(side.node, minlength=self.num_nodes) for side in self.players]
        notes = [f"({one} and {two} infosets)" for one, two in zip(*counts, strict=True)]
        rows = zip(self.node_names, self.node_parent.tolist(), notes, strict=True)
        return draw_tree([Node(*row) for row in rows])

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[np.generic]] = list(self.terminals)
        for player in self.players:
            arrays += [*player.plex, player.reach, player.node, player.first, player.stride]
        return sum(array.nbytes for array in arrays)

    @cached_property
    def entries(self) -> Entries:
        """The terminals as coordinates of the sequence-form payoff matrix."""
        parts = [self.group(g).entries for g in range(len(self.terminals.rows))]
        empty = np.zeros(0, np.int32)
        none = Entries(empty, empty, empty, np.zeros(0))
        return Entries(*(np.concatenate(part) for part in zip(*parts, none, strict=True)))

    def group(self, g: int) -> Group:
        """One group of terminals."""
        t = self.terminals
        m, n, lanes = int(t.rows[g]), int(t.cols[g]), int(t.lanes[g])
        ptr = t.row_ptr[t.row_ptr_at[g] :][: m + 1]
        at = slice(ptr[0], ptr[-1])
        return Group(
            t.row_sequence[t.row_sequence_at[g] :][: m * lanes].reshape(m, lanes),
            t.col_sequence[t.col_sequence_at[g] :][: n * lanes].reshape(n, lanes),
            t.scale[t.scale_at[g] :][:lanes],
            t.node[t.scale_at[g] :][:lanes],
            np.repeat(np.arange(m), np.diff(ptr)),
            t.row_col[at],
            t.row_value[at],
        )

    def normalise(self, p: int, weights: Reals) -> Floats:
        out = np.ones(self.players[p].num_sequences)
        for where, actions in self.players[p].blocks():
            part = np.asarray(weights[where], dtype=np.float64).reshape(actions, -1)
            total = part.sum(0)
            made = np.full(part.shape, 1 / actions)
            np.divide(part, total, out=made, where=total > 0)
            out[where] = made.ravel()
        return out

    def sums_error(self, p: int, probs: Reals) -> float:
        worst = 0.0
        for where, actions in self.players[p].blocks():
            total = probs[where].reshape(actions, -1).sum(0)
            worst = max(worst, float(np.abs(total - 1).max(initial=0)))
        return worst

    @cached_property
    def digest(self) -> str:
        """A hash of structure, names and payoffs, which a stored strategy must match."""
        sha = hashlib.sha256()
        for player in self.players:
            sha.update("\x1f".join(player.names).encode())
            sha.update("\x1e".join("\x1f".join(a) for a in player.actions).encode())
            sha.update("\x1f".join(player.slots).encode())
            for array in (player.plex.parent, player.first, player.reach):
                sha.update(array.tobytes())
        entries = self.entries
        order = np.lexsort((entries.col, entries.row))
        for values in (entries.row, entries.col, np.round(entries.value, 10) + 0.0):
            sha.update(values[order].tobytes())
        return sha.hexdigest()[:16]


def sequence_tree(tree: PublicTree) -> SequenceTree:
    """The tree itself if it is a sequence tree; an error for hold'em compiled board by board."""
    if not isinstance(tree, SequenceTree):
        raise SubgameError(
            f"{tree!r} is compiled board by board, but this needs a tree compiled history by "
            "history; compile the game with explicit=True."
        )
    return tree
