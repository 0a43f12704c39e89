"""The sequence-form linear program of any compiled tree, through SciPy's HiGHS.

von Stengel 1996, "Efficient computation of behavior strategies". Player p chooses a realisation
plan x. Values u, one per infoset and root infoset of the opponent, bound the opponent's best
response:

    max  r . u_root
    s.t. x_root = r_p,  sum_a x(I a) = x(parent of I)               player p's plan
         u(I) <= (A x)(I a) + sum of u(J) over the opponent's infosets J right below (I a)

with A player p's payoffs. The duals of the last line are the opponent's plan. Because of the root
infosets it serves subgames as well: r_p and r are then the players' reaches there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.tree.sequence.tree import SequenceTree, Treeplex

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]


class Constraints(NamedTuple):
    """The matrices of which linear programs for player p's plan x are made."""

    plan: csr_array  # [s + i, q] flow of player p: E x = e
    start: Floats  # [s + i] e
    payoff: csr_array  # [q', q] A: player p's payoffs, by the opponent's sequences q'
    bound: csr_array  # [q', s' + i'] u(I) - sum of u(J) below, for the opponent's sequences


def flow(player: Treeplex) -> csr_array:
    """[s + i, q] rows ``x(root infoset)`` and ``sum_a x(I a) - x(parent of I)``."""
    from scipy.sparse import coo_array, csr_array

    slots, count = len(player.slots), len(player.names)
    owner = player.infoset_of
    row = np.where(owner < 0, -1 - owner, slots + owner)
    rows = np.concatenate([row, slots + np.arange(count)])
    cols = np.concatenate([np.arange(player.num_sequences), player.plex.parent])
    values = np.concatenate([np.ones(player.num_sequences), -np.ones(count)])
    return csr_array(coo_array((values, (rows, cols)), shape=(slots + count, player.num_sequences)))


def constraints(tree: SequenceTree, p: int = 0, reach: Floats | None = None) -> Constraints:
    """The matrices of the program; `reach` is p's at the root infosets, by default the tree's."""
    from scipy.sparse import coo_array, csr_array

    own, other, entries = tree.players[p], tree.players[1 - p], tree.entries
    mine, theirs = (entries.row, entries.col) if p == 0 else (entries.col, entries.row)
    value = entries.value if p == 0 else -entries.value
    shape = (other.num_sequences, own.num_sequences)
    payoff = csr_array(coo_array((value, (theirs, mine)), shape=shape))
    start = np.zeros(len(own.slots) + len(own.names))
    start[: len(own.slots)] = own.reach if reach is None else reach
    return Constraints(flow(own), start, payoff, csr_array(flow(other).T))


def maximin(
    name: str,
    parts: Constraints,
    reach: Floats,
    between: tuple[Floats, Floats],
    method: str = "highs",
    prefer: Floats | None = None,
) -> Any:
    """A plan between two bounds, [q], that wins most against a best response, by `linprog`.

    `reach` is the other player's at the root infosets, `name` what an error calls the program's
    game. Most programs have many optima, and which of them is returned depends on the processor.
    Small weights of the sequences, `prefer` [q], choose one: they are added to what is won.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    size, bounds = parts.payoff.shape[1], parts.bound.shape[1]
    objective = np.zeros(size + bounds)
    objective[size : size + len(reach)] = -reach
    if prefer is not None:
        objective[:size] = -prefer
    box = np.full((size + bounds, 2), [-np.inf, np.inf])
    box[:size] = np.stack(between, axis=1)
    result = linprog(
        objective,
        A_ub=hstack([-parts.payoff, parts.bound], format="csr"),
        b_ub=np.zeros(parts.payoff.shape[0]),
        A_eq=hstack([parts.plan, csr_array((parts.plan.shape[0], bounds))], format="csr"),
        b_eq=parts.start,
        bounds=box,
        method=method,
    )
    if result.status != 0:
        raise SubgameError(f"The linear program of {name} was not solved: {result.message}")
    return result
