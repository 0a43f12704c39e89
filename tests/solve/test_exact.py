"""Values known from the literature, and from a second linear program written here."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

import subgame as sg
from helpers import RANDOM, SMALL, oracle_of, tree_of
from oracle import Node, Oracle
from subgame.games.base import CHANCE, TERMINAL

KNOWN = {
    "kuhn": -1 / 18,  # Kuhn 1950
    "leduc": -0.0856064240780,
    "rps": 0.0,
    "rps-plus": 0.0,
    "coin-toss": 0.0,  # Brown & Sandholm 2017, Section 2
    "coin-toss-two": 0.0,
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_values(name: str) -> None:
    result = sg.solve_lp(tree_of(name))
    assert result.value == pytest.approx(KNOWN[name], abs=1e-8)
    assert result.exploitability < 1e-7
    assert result.stopped == "optimal"


def test_rps_plus_has_one_equilibrium() -> None:
    """Rock and Paper 0.4 each, Scissors 0.2 (Brown, Sandholm & Amos 2018)."""
    tree = tree_of("rps-plus")
    wanted = pytest.approx({"Rock": 0.4, "Paper": 0.4, "Scissors": 0.2}, abs=1e-4)
    for result in (sg.solve_lp(tree), sg.solve(tree, "pcfr+", iterations=2000)):
        assert result.strategy["P1 to move"] == wanted
        assert result.strategy["P2 to move"] == wanted


# A second linear program ------------------------------------------------------------------------

Sequence = tuple[str, str] | None
"""An infoset and the action taken there, or nothing yet."""


def value_by_lp(oracle: Oracle) -> float:
    """The value of a game to player 0: von Stengel's program, straight from the histories.

    Player 0's plan x (one number per sequence) maximises u(root), where u(I) bounds what player
    1's infoset I allows: u(I) <= payoff(x, I a) + the u of the infosets right below I a.
    """
    payoff: dict[tuple[Sequence, Sequence], float] = defaultdict(float)

    def walk(node: Node, last: tuple[Sequence, Sequence], chance: float) -> None:
        if node.player == TERMINAL:
            payoff[last] += chance * node.returns[0]
        for action, child in node.children.items():
            if node.player == CHANCE:
                walk(child, last, chance * node.chance[action])
            elif node.player == 0:
                walk(child, ((node.infoset, action), last[1]), chance)
            else:
                walk(child, (last[0], (node.infoset, action)), chance)

    walk(oracle.root, (None, None), 1.0)

    def sequences(player: int) -> dict[Sequence, int]:
        infosets = oracle.infosets[player].items()
        named = [(infoset, action) for infoset, actions in infosets for action in actions]
        return {sequence: k for k, sequence in enumerate([None, *named])}

    mine, theirs = sequences(0), sequences(1)
    bound = {infoset: len(mine) + 1 + k for k, infoset in enumerate(oracle.infosets[1])}
    root, size = len(mine), len(mine) + 1 + len(bound)

    above: list[tuple[int, int, float]] = []  # row: sequence of player 1; <= 0
    for infoset, actions in oracle.infosets[1].items():
        above += [(theirs[infoset, action], bound[infoset], 1.0) for action in actions]
        above.append((theirs[oracle.parents[1][infoset]], bound[infoset], -1.0))
    above.append((theirs[None], root, 1.0))
    above += [(theirs[two], mine[one], -value) for (one, two), value in payoff.items()]

    plan: list[tuple[int, int, float]] = [(0, mine[None], 1.0)]  # row: infoset of player 0; = 0
    for row, (infoset, actions) in enumerate(oracle.infosets[0].items(), start=1):
        plan += [(row, mine[infoset, action], 1.0) for action in actions]
        plan.append((row, mine[oracle.parents[0][infoset]], -1.0))

    def matrix(cells: list[tuple[int, int, float]], rows: int) -> Any:
        row, col, value = zip(*cells, strict=True)
        return coo_array((value, (row, col)), shape=(rows, size)).tocsr()

    objective, start = np.zeros(size), np.zeros(1 + len(oracle.infosets[0]))
    objective[root], start[0] = -1, 1
    result = linprog(
        objective,
        A_ub=matrix(above, len(theirs)),
        b_ub=np.zeros(len(theirs)),
        A_eq=matrix(plan, len(start)),
        b_eq=start,
        bounds=[(0, None)] * len(mine) + [(None, None)] * (size - len(mine)),
    )
    assert result.status == 0, result.message
    return -float(result.fun)


@pytest.mark.parametrize(
    "name",
    [
        "kuhn",
        "leduc",
        "liars-dice(faces=4)",
        "goofspiel(cards=4)",
        "goofspiel(cards=4, returns=points, order=ascending)",
        pytest.param("liars-dice(dice=1, faces=6)", marks=pytest.mark.slow),
        *RANDOM[:20],
    ],
)
def test_against_a_second_program(name: str) -> None:
    """Liar's dice and the random games have values other than 0, so signs are seen."""
    result = sg.solve_lp(tree_of(name))
    assert result.value == pytest.approx(value_by_lp(oracle_of(name)), abs=1e-8)
    assert result.exploitability < 1e-7


# Every solver on every game ---------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL + RANDOM[:20])
def test_linear_program_finds_strategies(name: str) -> None:
    result = sg.solve_lp(tree_of(name))
    assert abs(result.exploitability) < 1e-7
    for _, infoset, row in result.strategy.rows():
        assert min(row.values()) >= 0, infoset
        assert sum(row.values()) == pytest.approx(1, abs=1e-12), infoset
    assert result.value == pytest.approx(result.exploitability.per_seat[1], abs=1e-7)


@pytest.mark.parametrize("name", SMALL + RANDOM[:20])
@pytest.mark.parametrize("schedule", ["cfr+", "dcfr", "pcfr+"])
def test_cfr_agrees_with_the_linear_program(name: str, schedule: str) -> None:
    """What each seat's strategy secures brackets the value, and the brackets are close."""
    tree = tree_of(name)
    exact = sg.solve_lp(tree).value
    result = sg.solve(tree, schedule, iterations=1000)
    lost_by_0, lost_by_1 = result.exploitability.per_seat
    assert -lost_by_0 - 1e-9 <= exact <= lost_by_1 + 1e-9
    assert abs(result.value - exact) <= 2 * result.exploitability + 1e-9
    assert result.exploitability < 1e-2
