"""The betting of a hold'em tree: one tree per street, the same on every board.

A street starts at its *roots*, one for each way in which the betting before it can end. It ends at
its *leaves*, which are the roots of the next street.

A *row* is one of the player's sequences on a street, as a vector over hands: one row per root, then
one per action of the player. A player's reach changes only where the player acts, so rows are all
that the kernels keep.

Terminals couple the players. A fold or a showdown reads the opponent's reach in one of the
opponent's rows and adds a value to one of the traverser's rows. An opponent's row that terminals
read is a *lane*. Lanes are grouped into chunks of `LANES`, which the kernels process at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.errors import MemoryLimitError, human_bytes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.memory import Allowance

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LANES = 16
T = TypeVar("T")
MOST_STATES = 30_000
"""Different betting states that a tree may have."""
MOST_ACTIONS = 2_000
"""Actions that the betting of a hand may have."""
SMALLER = "Narrower ranges, fewer bet sizes or a cap on raises make it smaller."
COUNTED = 12_000
"""Actions after which `check_size` no longer completes an estimate over the limit."""
SHOWDOWN, FOLD = 1, 2
"""The terminals of a chunk: bits of `BettingTree.chunk_kind`."""


class BettingTree(NamedTuple):
    """The betting of all streets as flat arrays for kernels. sp = 2 * street + player."""

    roots: Ints  # [street + 1] number of roots of each street; the last entry is 0
    rows: Ints  # [sp] number of rows: roots plus the player's actions
    infoset_at: Ints  # [sp + 1] the player's decisions, in topological order
    parent: Ints  # [i] the row that leads to the decision
    first: Ints  # [i] the row of its first action
    actions: Ints  # [i] number of actions
    chunk_at: Ints  # [sp + 1] chunks of the player's lanes
    chunk_kind: Ints  # [c] SHOWDOWN, FOLD or both
    lane_row: Ints  # [c * LANES] the player's row in each lane; 0 in the lanes left over
    end_at: Ints  # [2 c + 1] terminals that read chunk c: showdowns, then folds
    end_lane: Ints  # [e] the lane, 0 .. LANES - 1
    end_row: Ints  # [e] the row of the other player, who is paid
    end_scale: Floats  # [e] chips; negative where the player who is paid has folded
    end_first: Ints  # [e] whether it is the first one of its row; only digests of trees need it
    blank_at: Ints  # [sp + 1] offsets into the next
    blank_row: Ints  # [..] the player's rows that no terminal pays into
    leaf_at: Ints  # [sp + 1] offsets into the next
    leaf_row: Ints  # [k] the player's row at each leaf of the street


@dataclass(frozen=True)
class Ending:
    """A terminal of one street, and the row of each player that leads to it."""

    rows: tuple[int, int]
    pays: tuple[float, float]
    """[player] chips: times the difference between the weaker and the stronger hands of the
    opponent at a showdown, times all hands of the opponent otherwise."""
    showdown: bool


def _two() -> tuple[list[T], list[T]]:
    """An empty list for each player."""
    return [], []


@dataclass
class Street:
    """One street's betting as lists with names; `lay_out` makes arrays of it."""

    roots: list[Betting]
    index: int  # into STREETS
    rows: list[int]  # [player] how many there are
    parent: tuple[list[int], list[int]] = field(default_factory=_two)
    first: tuple[list[int], list[int]] = field(default_factory=_two)
    states: tuple[list[Betting], list[Betting]] = field(default_factory=_two)
    at: tuple[list[tuple[int, int]], list[tuple[int, int]]] = field(default_factory=_two)
    """[i] both players' rows where each decision is taken."""
    actions: tuple[list[tuple[str, ...]], list[tuple[str, ...]]] = field(default_factory=_two)
    endings: list[Ending] = field(default_factory=list)
    """Those of terminals; one with a rake has two."""
    leaves: list[Betting] = field(default_factory=list)
    leaf_rows: list[tuple[int, int]] = field(default_factory=list)


def grow(
    game: Holdem,
    roots: Sequence[Betting] | None = None,
    added: Mapping[int, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Street]:
    """The betting trees of all streets, from the start of the game or from `roots` on one street.

    `added` gives some of the roots, by their number, one more action. `progress` is called now and
    then.
    """
    here, streets = roots or [game.start()], list[Street]()
    while here:  # where all are all-in, betting stays on its street, and the index counts on
        index = streets[-1].index + 1 if streets else here[0].street
        streets.append(_grown(game, here, index, {} if streets else added or {}, progress))
        here = streets[-1].leaves
    return streets


def grow_street(game: Holdem, root: Betting) -> Street:
    """The betting of one street, from a state on."""
    return _grown(game, [root], root.street, {})


def _grown(
    game: Holdem,
    roots: Sequence[Betting],
    index: int,
    added: Mapping[int, str],
    progress: Callable[[int], None] | None = None,
) -> Street:
    street = Street(list(roots), index, [len(roots)] * 2)
    for k, state in enumerate(roots):
        for count, _ in enumerate(_grow(game, street, state, k, added)):
            if progress is not None and count % COUNTED == COUNTED - 1:
                progress(count + 1)
    return street


def _grow(
    game: Holdem, street: Street, root: Betting, k: int, added: Mapping[int, str]
) -> Iterator[Betting]:
    """Add the betting from root `k` of a street, state by state.

    A loop, because recursion limits the depth.
    """
    stack = [(root, (k, k))]
    while stack:
        state, rows = stack.pop()
        yield state
        if state.is_over and state.folded >= 0:
            _end(street, rows, state)
            continue
        if state.is_over or state.street != street.index:  # all-in, or on to the next card
            if street.index == game.rules.last_street:
                _end(street, rows, state)
            else:
                street.leaves.append(state)
                street.leaf_rows.append(rows)
            continue
        p, actions = state.player, game.actions(state)
        if state is root and k in added:
            actions = (*actions, added[k])
        begin = street.rows[p]
        street.rows[p] += len(actions)
        street.parent[p].append(rows[p])
        street.first[p].append(begin)
        street.states[p].append(state)
        street.at[p].append(rows)
        street.actions[p].append(actions)
        for a in range(len(actions) - 1, -1, -1):
            below = (begin + a, rows[1]) if p == 0 else (rows[0], begin + a)
            stack.append((state.child(actions[a]), below))


def _end(street: Street, rows: tuple[int, int], state: Betting) -> None:
    """Add a terminal: a fold or a showdown.

    Let w, s and t be the reach of the opponent's weaker, stronger and equal hands, b the stake and
    r the rake. A showdown pays ``b (w - s) - r (w + t / 2)``, which is ``(b - r / 2) (w - s)``
    minus r / 2 times all of the opponent's hands: the second ending.
    """
    if state.folded >= 0:
        won = state.net()
        street.endings.append(Ending(rows, (float(won[0]), float(won[1])), showdown=False))
        return
    half = float(state.rake) / 2
    stake = float(state.at_stake) - half
    street.endings.append(Ending(rows, (stake, stake), showdown=True))
    if half:
        street.endings.append(Ending(rows, (-half, -half), showdown=False))


def check_size(
    game: Holdem,
    roots: Sequence[Betting],
    cost: Sequence[tuple[float, float]],
    allowed: Allowance,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Raise an error if the betting from `roots` needs more memory than is allowed.

    ``cost[s][p]`` is what a solver needs for one action of player p on street s, counted from the
    first. The betting is counted before any of it is kept. States that differ only in how they were
    reached are counted together. An estimate over the limit is completed if that is quick, and is
    a lower bound otherwise.
    """
    first, need, counted, depth, states = roots[0].street, 0.0, 0, 0, len(roots)
    level: dict[Any, tuple[Betting, int]] = {k: (root, 1) for k, root in enumerate(roots)}
    while level:
        below: dict[Any, tuple[Betting, int]] = {}
        for state, times in level.values():
            actions = game.actions(state)
            if not actions:
                continue
            need += times * len(actions) * cost[state.street - first][state.player]
            counted += len(actions)
            if counted >= COUNTED:
                counted = 0
                allowed.refuse("solving it", need, game=game, known=False, hint=SMALLER)
                if progress is not None:
                    progress(0)
            if states > MOST_STATES or depth > MOST_ACTIONS:
                most = f"{MOST_STATES:,} different betting states"
                if depth > MOST_ACTIONS:
                    most = f"{MOST_ACTIONS:,} actions in a row"
                raise MemoryLimitError(
                    f"{game}: the betting has more than {most}, and solving it needs at least "
                    f"{human_bytes(need)}. {SMALLER}"
                )
            for action in actions:
                child = state.child(action)
                who = (child.player, child.folded, child.checked, child.raises, child.aggressor)
                line = child.history if game.bets.added or game.bets.removed else ()
                key = (child.street, child.staked, child.bets, child.last_raise, who, line)
                states += key not in below and not child.is_over
                below[key] = child, times + (below[key][1] if key in below else 0)
        level, depth = below, depth + 1
    allowed.refuse("solving it", need, game=game, hint=SMALLER)


def decisions(streets: Sequence[Street], p: int) -> dict[tuple[str, ...], tuple[int, int]]:
    """Betting history -> (street, number) of player `p`'s decision after it."""
    return {
        state.history: (s, j)
        for s, street in enumerate(streets)
        for j, state in enumerate(street.states[p])
    }


def lay_out(streets: list[Street]) -> BettingTree:
    """The streets as flat arrays."""
    out: dict[str, list[Any]]
    out = {name: [0] if name.endswith("_at") else [] for name in BettingTree._fields}
    for street in streets:
        out["roots"].append(len(street.roots))
        out["rows"] += street.rows
        for p in (0, 1):
            touched = {ending.rows[p] for ending in street.endings}
            out["blank_row"] += [row for row in range(street.rows[p]) if row not in touched]
            out["parent"] += street.parent[p]
            out["first"] += street.first[p]
            out["actions"] += map(len, street.actions[p])
            out["leaf_row"] += [rows[p] for rows in street.leaf_rows]
            _lay_out_endings(street.endings, p, out)
            for name, of in (("blank", "blank_row"), ("infoset", "parent"), ("leaf", "leaf_row")):
                out[f"{name}_at"].append(len(out[of]))
            out["chunk_at"].append(len(out["chunk_kind"]))
    out["roots"].append(0)
    kinds: Any = {name: np.float64 if name == "end_scale" else np.int64 for name in out}
    return BettingTree(**{name: np.array(out[name], kinds[name]) for name in out})


def _lay_out_endings(endings: list[Ending], p: int, out: dict[str, list[Any]]) -> None:
    """Add the lanes of player `p` on a street, and the terminals that read them.

    Rows with a showdown come first, and among them those that have a fold as well, so that few
    chunks contain both. A chunk's showdowns come before its folds.
    """
    shown, folded = (
        {ending.rows[p] for ending in endings if ending.showdown == kind} for kind in (True, False)
    )
    ended = dict.fromkeys(ending.rows[p] for ending in endings)
    rows = sorted(ended, key=lambda row: (row not in shown, row not in folded))
    lane = {row: k for k, row in enumerate(rows)}
    half = [2 * (lane[ending.rows[p]] // LANES) + (not ending.showdown) for ending in endings]
    order = sorted(range(len(endings)), key=lambda e: (half[e], lane[endings[e].rows[p]]))
    chunks, paid = -(-len(rows) // LANES), [endings[e].rows[1 - p] for e in order]
    counts = np.bincount(np.array(half, np.int64), minlength=2 * chunks)
    first = {row: k for k, row in reversed([*enumerate(paid)])}
    out["lane_row"] += rows + [0] * (chunks * LANES - len(rows))
    out["chunk_kind"] += (SHOWDOWN * (counts[::2] > 0) + FOLD * (counts[1::2] > 0)).tolist()
    out["end_at"] += (len(out["end_row"]) + np.cumsum(counts)).tolist()
    out["end_first"] += [first[row] == k for k, row in enumerate(paid)]
    out["end_row"] += paid
    out["end_lane"] += [lane[endings[e].rows[p]] % LANES for e in order]
    out["end_scale"] += [endings[e].pays[1 - p] for e in order]
