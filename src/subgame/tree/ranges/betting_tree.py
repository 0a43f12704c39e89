"""The betting of a hold'em tree: one tree per street, the same on every board.

A street starts at its *roots*, the ways in which the betting before it can have ended, and ends in
*leaves*, the roots of the next street. A player's reach changes only where she acts, so all she
needs is a *row* (a vector over her hands) per root and per own action. What couples the players
are terminals: a fold or a showdown takes the opponent's reach from one of her rows, a *lane*, and
pays into one of ours. Lanes lie side by side, `LANES` to a chunk, for the kernels to work on at
once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LANES = 16
SHOWDOWN, FOLD = 1, 2
"""What is paid from the lanes of a chunk: bits of `BettingTree.chunk_kind`."""


class BettingTree(NamedTuple):
    """The betting of all streets as a kernel sees it. sp = 2 * street + player."""

    roots: Ints  # [street + 1] ways into each street; the last entry is 0
    rows: Ints  # [sp] roots plus own actions
    infoset_at: Ints  # [sp + 1] her decisions, in topological order
    parent: Ints  # [i] the row it hangs below
    first: Ints  # [i] the row of its first action
    actions: Ints  # [i]
    chunk_at: Ints  # [sp + 1] chunks of lanes whose reach she gives
    chunk_kind: Ints  # [c] SHOWDOWN, FOLD or both
    lane_row: Ints  # [c * LANES] her row in each lane; the lanes left over repeat row 0
    end_at: Ints  # [2 c + 1] what is paid to her opponent from chunk c: showdowns, then folds
    end_lane: Ints  # [e] 0 .. LANES - 1
    end_row: Ints  # [e] her opponent's row
    end_scale: Floats  # [e] chips; negative where the opponent is the one who folds
    end_first: Ints  # [e] whether it is the first to pay into its row
    blank_at: Ints  # [sp + 1]
    blank_row: Ints  # [..] her rows that no end pays into
    leaf_at: Ints  # [sp + 1]
    leaf_row: Ints  # [k] her row at each way out of the street


@dataclass(frozen=True)
class Ending:
    """A terminal of one street: where it is in each player's rows."""

    rows: tuple[int, int]
    stake: int
    folded: int  # a player, or -1 for a showdown


@dataclass
class Street:
    """One street's betting, while it is built and for whoever wants names."""

    roots: list[Betting]
    index: int  # into STREETS
    rows: list[int] = field(default_factory=lambda: [0, 0])
    parent: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    first: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    states: tuple[list[Betting], list[Betting]] = field(default_factory=lambda: ([], []))
    home: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    """[i] the root, of the first street, below which each decision lies."""
    at: tuple[list[tuple[int, int]], list[tuple[int, int]]] = field(
        default_factory=lambda: ([], [])
    )
    """[i] both players' rows where each decision is taken."""
    actions: tuple[list[tuple[str, ...]], list[tuple[str, ...]]] = field(
        default_factory=lambda: ([], [])
    )
    endings: list[Ending] = field(default_factory=list)
    leaves: list[Betting] = field(default_factory=list)
    leaf_rows: list[tuple[int, int]] = field(default_factory=list)
    leaf_home: list[int] = field(default_factory=list)

    @property
    def decisions(self) -> int:
        return len(self.parent[0]) + len(self.parent[1])


def grow(
    game: Holdem,
    roots: Sequence[Betting] | None = None,
    added: Mapping[int, str] | None = None,
) -> list[Street]:
    """The betting trees of every street from where the game starts, or from `roots` of one street.

    `added` has one more action for some of the roots, by their number.
    """
    streets: list[Street] = []
    here = [game.start()] if roots is None else list(roots)
    index, home = here[0].street, list(range(len(here)))
    while here:
        street = Street(here, index)
        street.rows[:] = [len(here)] * 2
        for k, state in enumerate(here):
            _grow(
                game, street, state, (k, k), home[k], (added or {}).get(k) if not streets else None
            )
        streets.append(street)
        here, index, home = street.leaves, index + 1, street.leaf_home
    return streets


def _grow(
    game: Holdem,
    street: Street,
    state: Betting,
    rows: tuple[int, int],
    home: int,
    added: str | None = None,
) -> None:
    if state.is_over and state.folded >= 0:
        street.endings.append(Ending(rows, state.at_stake, state.folded))
        return
    if state.is_over or state.street != street.index:  # all-in, or on to the next card
        if street.index == game.rules.last_street:
            street.endings.append(Ending(rows, state.at_stake, -1))
        else:
            street.leaves.append(state)
            street.leaf_rows.append(rows)
            street.leaf_home.append(home)
        return
    p, actions = state.player, game.actions(state)
    if added is not None:
        actions = (*actions, added)
    begin = street.rows[p]
    street.rows[p] += len(actions)
    street.parent[p].append(rows[p])
    street.first[p].append(begin)
    street.states[p].append(state)
    street.home[p].append(home)
    street.at[p].append(rows)
    street.actions[p].append(actions)
    for a, action in enumerate(actions):
        below = (begin + a, rows[1]) if p == 0 else (rows[0], begin + a)
        _grow(game, street, state.child(action), below, home)


def decisions(streets: Sequence[Street], p: int) -> dict[tuple[str, ...], tuple[int, int]]:
    """From the actions so far to (street, number) of player `p`'s decision."""
    return {
        state.history: (s, j)
        for s, street in enumerate(streets)
        for j, state in enumerate(street.states[p])
    }


def lay_out(streets: list[Street]) -> BettingTree:
    """The streets as flat arrays."""
    infoset_at, parent, first, actions = [0], [], [], []
    chunk_at, kinds, lane_row, end_at, ends = [0], [], [], [0], []
    leaf_at, leaf_row = [0], []
    blank_at, blank_row = [0], []
    for street in streets:
        for p in (0, 1):
            touched = {ending.rows[p] for ending in street.endings}
            blank_row += [row for row in range(street.rows[p]) if row not in touched]
            blank_at.append(len(blank_row))
            parent += street.parent[p]
            first += street.first[p]
            actions += [len(names) for names in street.actions[p]]
            infoset_at.append(len(parent))
            leaf_row += [rows[p] for rows in street.leaf_rows]
            leaf_at.append(len(leaf_row))
            for chunk in _chunks(street, p):
                lanes = [row for row, _ in chunk]
                lane_row += lanes + [0] * (LANES - len(lanes))
                kind = 0
                for showdown in (True, False):
                    paid = [
                        (lane, ending.rows[1 - p], _scale(ending, 1 - p))
                        for lane, (_, endings) in enumerate(chunk)
                        for ending in endings
                        if (ending.folded < 0) == showdown
                    ]
                    kind |= (SHOWDOWN if showdown else FOLD) if paid else 0
                    ends += paid
                    end_at.append(len(ends))
                kinds.append(kind)
            chunk_at.append(len(kinds))
    ints: list[Any] = [
        np.array(values, dtype=np.int64)
        for values in (
            [len(street.roots) for street in streets] + [0],
            [street.rows[p] for street in streets for p in (0, 1)],
            infoset_at,
            parent,
            first,
            actions,
            chunk_at,
            kinds,
            lane_row,
            end_at,
            [lane for lane, _, _ in ends],
            [row for _, row, _ in ends],
        )
    ]
    scale = np.array([scale for _, _, scale in ends], dtype=np.float64)
    rest = [
        np.array(values, dtype=np.int64)
        for values in (_first(ends, end_at, chunk_at), blank_at, blank_row, leaf_at, leaf_row)
    ]
    return BettingTree._make([*ints, scale, *rest])


def _first(
    ends: list[tuple[int, int, float]], end_at: list[int], chunk_at: list[int]
) -> list[bool]:
    """Which ends are the first to pay into their row, street by street and player by player."""
    out = []
    for begin, end in pairwise(chunk_at):
        seen: set[int] = set()
        for _, row, _ in ends[end_at[2 * begin] : end_at[2 * end]]:
            out.append(row not in seen)
            seen.add(row)
    return out


def _scale(ending: Ending, p: int) -> float:
    return float(-ending.stake if ending.folded == p else ending.stake)


def _chunks(street: Street, p: int) -> list[list[tuple[int, list[Ending]]]]:
    """Player `p`'s rows that end the hand, with the endings of each, `LANES` at a time.

    Rows with a showdown come first, among them those with a fold too, so that few chunks need
    both.
    """
    by_row: dict[int, list[Ending]] = {}
    for ending in street.endings:
        by_row.setdefault(ending.rows[p], []).append(ending)

    def order(item: tuple[int, list[Ending]]) -> tuple[bool, bool]:
        kinds = {ending.folded < 0 for ending in item[1]}
        return True not in kinds, False not in kinds

    lanes = sorted(by_row.items(), key=order)
    return [lanes[at : at + LANES] for at in range(0, len(lanes), LANES)]
