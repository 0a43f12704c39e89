"""The sequence-form linear program, through SciPy's HiGHS, for any compiled tree.

von Stengel 1996, "Efficient computation of behavior strategies". Player 0 chooses a realisation
plan x; player 1's best reply to it is bounded by values u, one per infoset and root slot of hers:

    max  r1 . u_slots
    s.t. x_slots = r0,  sum_a x(I a) = x(parent of I)               player 0's plan
         u(I) <= (A' x)(I a) + sum of u(J) over her infosets J right below (I a)

with A player 0's payoffs. The duals of the last line are player 1's plan. Root slots make it serve
subgames as well: r0 and r1 are then the players' reaches there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.solve.engine import engine
from subgame.solve.judge import expected_value, exploitability
from subgame.solve.result import Point, Result
from subgame.tree.public_tree import PublicTree, Treeplex
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]


class Constraints(NamedTuple):
    """The parts from which the programs of this field are put together."""

    plan: csr_array  # [i + s, q] player 0: E x = e
    start: Floats  # [i + s] e
    payoff: csr_array  # [q1, q0] A': what each sequence of player 1 is worth to player 0
    bound: csr_array  # [q1, i + s] u(I) - sum of u(J) below, for each sequence of player 1


def flow(player: Treeplex) -> csr_array:
    """[s + i, q] rows ``x(slot)`` and ``sum_a x(I a) - x(parent of I)``."""
    from scipy.sparse import coo_array, csr_array

    slots, count = len(player.slots), len(player.names)
    owner = player.infoset_of
    row = np.where(owner < 0, -1 - owner, slots + owner)
    rows = np.concatenate([row, slots + np.arange(count)])
    cols = np.concatenate([np.arange(player.num_sequences), player.plex.parent])
    values = np.concatenate([np.ones(player.num_sequences), -np.ones(count)])
    return csr_array(coo_array((values, (rows, cols)), shape=(slots + count, player.num_sequences)))


def constraints(tree: PublicTree) -> Constraints:
    """The matrices of the program above for a tree."""
    from scipy.sparse import coo_array, csr_array

    one, two = tree.players
    entries = tree.entries
    shape = (two.num_sequences, one.num_sequences)
    payoff = csr_array(coo_array((entries.value, (entries.col, entries.row)), shape=shape))
    start = np.zeros(len(one.slots) + len(one.names))
    start[: len(one.slots)] = one.reach
    return Constraints(flow(one), start, payoff, csr_array(flow(two).T))


def solve_lp(tree: PublicTree, *, method: str = "highs") -> Result:
    """Solve a tree exactly, both players from one linear program.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> round(sg.solve_lp(tree).value * -18, 9)
    1.0
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    began = time.perf_counter()
    run = engine(tree)
    one, two = tree.players
    parts = constraints(tree)
    n0, bounds = one.num_sequences, parts.bound.shape[1]
    objective = np.zeros(n0 + bounds)
    objective[n0 : n0 + len(two.slots)] = -two.reach
    none = csr_array((parts.plan.shape[0], bounds))
    found = linprog(
        objective,
        A_ub=hstack([-parts.payoff, parts.bound], format="csr"),
        b_ub=np.zeros(two.num_sequences),
        A_eq=hstack([parts.plan, none], format="csr"),
        b_eq=parts.start,
        bounds=[(0, None)] * n0 + [(None, None)] * bounds,
        method=method,
    )
    if found.status != 0:
        raise SubgameError(f"The linear program of {tree.game} was not solved: {found.message}")
    plan0 = np.maximum(found.x[:n0], 0)
    plan1 = np.maximum(-found.ineqlin.marginals, 0)
    strategy = Strategy(
        tree, (run.behaviour(0, plan0), run.behaviour(1, plan1)), {"schedule": "lp"}
    )
    seconds = time.perf_counter() - began
    gap = exploitability(tree, strategy)
    return Result(
        game=tree.game, schedule="lp", seed=0, strategy=strategy, iterations=int(found.nit),
        seconds=seconds, value=expected_value(tree, strategy), exploitability=gap,
        curve=(Point(int(found.nit), seconds, float(gap)),), stopped="optimal",
    )  # fmt: skip
