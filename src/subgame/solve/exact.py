"""Equilibria in exact fractions, with a certificate that anybody can check.

A vertex of the sequence-form linear program is the only solution of its tight constraints. The
program is solved in floating point, which says which constraints are tight. They are solved again
in fractions by Gaussian elimination. Exact best responses then prove the equilibrium, so that
nothing depends on how the vertex was found.

Numbers of a tree (chance's probability times a payoff) are read as the fraction with a denominator
of at most `LARGEST` that rounds to them. A game with other numbers is refused.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.solve.program import constraints, maximin
from subgame.tree.public_tree import both
from subgame.tree.sequence.tree import SequenceTree, Treeplex

Plan = tuple[Fraction, ...]
Row = dict[int, Fraction]
LARGEST = 10**6
"""The largest denominator of a number of a game."""
TIGHT = 1e-9
"""A constraint is tight, or a probability 0, up to this."""
RIGHT = -1
"""The column of a row's right side."""
FORMAT = "subgame certificate 1"


@dataclass(frozen=True, eq=False)
class Certificate:
    """An exact equilibrium of a game in sequence form, with all that is needed to check it.

    `tools/check_certificate.py` checks the file of one without this package.
    """

    tree: SequenceTree
    value: Fraction
    """What player 0 wins."""
    plans: tuple[Plan, Plan]
    """[q] each player's realisation plan, by the tree's sequences."""
    payoffs: Mapping[tuple[int, int], Fraction]
    """Player 0's payoff times chance, by the sequences of players 0 and 1."""

    def as_dict(self) -> dict[str, Any]:
        """The certificate as it is written to a file; fractions are strings."""
        return {
            "format": FORMAT,
            "game": self.tree.game_name,
            "value": str(self.value),
            "players": [
                {
                    "infosets": [
                        [name, int(parent), side.sequences(i).tolist(), list(side.actions[i])]
                        for i, (name, parent) in enumerate(
                            zip(side.names, side.plex.parent, strict=True)
                        )
                    ],
                    "plan": [str(weight) for weight in plan],
                }
                for side, plan in zip(self.tree.players, self.plans, strict=True)
            ],
            "payoffs": [[row, col, str(value)] for (row, col), value in self.payoffs.items()],
        }

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(json.dumps(self.as_dict()) + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Certificate of {self.tree.game_name}: value {self.value}>"


def certify(tree: SequenceTree) -> Certificate:
    """An exact equilibrium of a whole game.

    >>> import subgame as sg
    >>> certify(sg.compile(sg.games.load("kuhn")))
    <Certificate of kuhn: value -1/18>
    """
    if any(len(side.slots) != 1 or side.reach[0] != 1 for side in tree.players):
        raise SubgameError(f"{tree!r} is a subgame's; only a whole game has a certificate.")
    payoffs: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    entries = tree.entries
    for row, col, value in zip(
        entries.row.tolist(), entries.col.tolist(), entries.value.tolist(), strict=True
    ):
        payoffs[row, col] += fraction(value)
    plans = both(lambda p: _vertex(tree, p, payoffs))
    least, most = (-best_response(tree, 1, plans, payoffs), best_response(tree, 0, plans, payoffs))
    if least != most:
        raise SubgameError(
            f"The equilibrium of {tree.game_name} was not certified: best responses win "
            f"{float(most - least):.3g} more than the value."
        )
    return Certificate(tree, most, plans, dict(payoffs))


def fraction(value: float) -> Fraction:
    """The fraction that a floating-point number stands for.

    >>> fraction(1 / 18), fraction(0.1 + 0.2)
    (Fraction(1, 18), Fraction(3, 10))
    """
    out = Fraction(value).limit_denominator(LARGEST)
    if abs(float(out) - value) > 8 * np.finfo(float).eps * abs(value):
        raise SubgameError(
            f"The number {value!r} of this game is no fraction with a denominator of at most "
            f"{LARGEST:,}, so the game cannot be solved exactly."
        )
    return out


def best_response(
    tree: SequenceTree,
    p: int,
    plans: tuple[Plan, Plan],
    payoffs: Mapping[tuple[int, int], Fraction],
) -> Fraction:
    """What player `p` wins with a best response to the other player's plan."""
    side, values = tree.players[p], [Fraction()] * tree.players[p].num_sequences
    for pair, payoff in payoffs.items():
        weight = plans[1 - p][pair[1 - p]]
        if weight:
            values[pair[p]] += weight * (payoff if p == 0 else -payoff)
    for i in reversed(range(len(side.names))):
        values[int(side.plex.parent[i])] += max(values[q] for q in side.sequences(i).tolist())
    return values[0]


def _vertex(tree: SequenceTree, p: int, payoffs: Mapping[tuple[int, int], Fraction]) -> Plan:
    """Player `p`'s plan at an optimal vertex of the linear program."""
    own, other, parts = tree.players[p], tree.players[1 - p], constraints(tree, p)
    size = own.num_sequences
    between = (np.zeros(size), np.full(size, np.inf))
    solved = maximin(tree.game_name, parts, other.reach, between, "highs-ds")
    played = np.flatnonzero(solved.x[:size] > TIGHT)
    tight = np.flatnonzero(np.abs(solved.ineqlin.residual) < TIGHT)
    rows = _flow_rows(own, played) + _tight_rows(other, tight, size, played, p, payoffs)
    values = eliminate(rows, solved.x)
    plan = [Fraction()] * size
    for q in played.tolist():
        plan[q] = values.get(q, Fraction())
    if min(plan) < 0:
        raise SubgameError(f"The linear program of {tree.game_name} has no exact vertex nearby.")
    return _spread(own, plan)


def _spread(side: Treeplex, plan: list[Fraction]) -> Plan:
    """The plan itself, after a check that it is one."""
    for i in range(len(side.names)):
        if plan[int(side.plex.parent[i])] != sum(plan[q] for q in side.sequences(i).tolist()):
            raise SubgameError(f"The exact plan does not add up at infoset '{side.names[i]}'.")
    return tuple(plan)


def _flow_rows(side: Treeplex, played: NDArray[np.int64]) -> list[Row]:
    """x(start) = 1, and at each infoset that is played: sum_a x(I a) - x(parent of I) = 0."""
    kept = set(played.tolist())
    rows: list[Row] = [{0: Fraction(1), RIGHT: Fraction(1)}]
    for i in range(len(side.names)):
        parent = int(side.plex.parent[i])
        if parent in kept:
            row = {q: Fraction(1) for q in side.sequences(i).tolist() if q in kept}
            rows.append(row | {parent: Fraction(-1)})
    return rows


def _tight_rows(
    other: Treeplex,
    tight: NDArray[np.int64],
    size: int,
    played: NDArray[np.int64],
    p: int,
    payoffs: Mapping[tuple[int, int], Fraction],
) -> list[Row]:
    """u(I) - sum of u(J) below (I a) - (A x)(I a) = 0 at the tight sequences of the opponent."""
    rows: dict[int, Row] = {q: defaultdict(Fraction) for q in tight.tolist()}
    kept, sign = set(played.tolist()), -1 if p == 0 else 1
    owner = other.infoset_of
    for q, row in rows.items():  # column `size` is the root's u, the infosets' follow
        row[size + int(owner[q]) + 1] += 1
    for i, parent in enumerate(other.plex.parent.tolist()):
        if parent in rows:
            rows[parent][size + i + 1] -= 1
    for pair, payoff in payoffs.items():
        mine, theirs = pair[p], pair[1 - p]
        if theirs in rows and mine in kept:
            rows[theirs][mine] += sign * payoff
    return [{col: value for col, value in row.items() if value} for row in rows.values()]


def eliminate(rows: Sequence[Row], near: NDArray[np.float64]) -> Row:
    """A solution of linear equations in fractions, by Gaussian elimination.

    Columns that the equations leave open are `near` a floating-point solution. The shortest row is
    eliminated first, by the column that the fewest other rows have.

    >>> third = eliminate([{0: Fraction(3), 1: Fraction(1), RIGHT: Fraction(1)}], np.zeros(2))
    >>> third[0], third[1]
    (Fraction(1, 3), Fraction(0, 1))
    """
    work = [dict(row) for row in rows]
    holders: defaultdict[int, set[int]] = defaultdict(set)
    for r, row in enumerate(work):
        for col in row.keys() - {RIGHT}:
            holders[col].add(r)
    queue = [(len(row), r) for r, row in enumerate(work)]
    heapq.heapify(queue)
    pivots: list[tuple[int, Row]] = []
    done = [False] * len(work)
    while queue:
        length, r = heapq.heappop(queue)
        row = work[r]
        if done[r] or length != len(row):
            continue
        done[r] = True
        columns = row.keys() - {RIGHT}
        if not columns:
            if row.get(RIGHT):
                raise SubgameError("The tight constraints of the linear program contradict.")
            continue
        pivot = min(columns, key=lambda col: (len(holders[col]), col))
        for col in columns:
            holders[col].discard(r)
        pivots.append((pivot, row))
        for other in holders.pop(pivot):
            _subtract(work[other], row, pivot, other, holders)
            heapq.heappush(queue, (len(work[other]), other))
    return _substituted(pivots, near)


def _subtract(
    target: Row, row: Row, pivot: int, number: int, holders: defaultdict[int, set[int]]
) -> None:
    """Remove the column `pivot` from row `target` with a multiple of `row`."""
    factor = target.pop(pivot) / row[pivot]
    for col, value in row.items():
        if col == pivot:
            continue
        new = target.get(col, 0) - factor * value
        if new:
            target[col] = Fraction(new)
            if col != RIGHT:
                holders[col].add(number)
        elif target.pop(col, None) is not None and col != RIGHT:
            holders[col].discard(number)


def _substituted(pivots: list[tuple[int, Row]], near: NDArray[np.float64]) -> Row:
    """The columns' values, from the last pivot back to the first."""
    out: Row = {}
    for pivot, row in reversed(pivots):
        total = row.get(RIGHT, Fraction())
        for col, value in row.items():
            if col not in (pivot, RIGHT):
                if col not in out:
                    out[col] = Fraction(float(near[col])).limit_denominator(LARGEST)
                total -= value * out[col]
        out[pivot] = total / row[pivot]
    return out
