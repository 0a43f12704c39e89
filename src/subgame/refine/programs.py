"""The linear programs of Moravcik et al. 2016, on the same subgame object as the gadgets.

With x our plan in the subgame and v the opponent's counterfactual best-response values,

    LP1 (endgame solving)  min  sum of the opponent's blueprint reach times v
    LP2 (re-solving)       find x with  v(I) <= CBV(I) at every root infoset I
    LP3 (max-margin)       max  m  with  CBV(I) - v(I) >= m

They share nothing with the gadget games but the subgame, and so are their oracle.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from subgame.engines.arrays import Floats, normalise
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.refine.gadgets import GadgetInputs
from subgame.refine.subgame import SequenceSubgame
from subgame.solve.lp import constraints


class Programme(NamedTuple):
    """A solved program: our strategy inside, the objective and the opponent's values."""

    sigma: Floats  # [q] our strategy, over the subgame's own tree
    objective: float  # LP1: the opponent's expected value; LP2: 0; LP3: the subgame margin
    values: Floats  # [s] what the opponent can get at each root infoset, normalised


def program(
    kind: Literal["lp1", "lp2", "lp3"], subgame: SequenceSubgame, inputs: GadgetInputs
) -> Programme:
    """Solve LP1, LP2 or LP3 through HiGHS. Gifts are part of the inputs' alternative payoffs."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, diags_array, hstack, vstack

    o = inputs.opponent
    us, them = subgame.tree.players[1 - o], subgame.tree.players[o]
    parts = constraints(subgame.tree, 1 - o, np.ones(len(us.slots)))
    # Well-scaled however seldom we come: our reach goes into the payoffs, and the opponent's values
    # are normalised by pi_{-i} of the root infoset they lie below.
    unit = np.where(inputs.weight > 0, inputs.weight, 1.0)
    payoff = (
        diags_array(1 / unit[them.slot_of])
        @ parts.payoff
        @ diags_array(inputs.our_reach[us.slot_of])
    )
    size, bounds, slots = us.num_sequences, parts.bound.shape[1], len(them.slots)
    # Variables: our plan x, our payoff u = -v per infoset and root infoset of theirs, the margin m.
    objective = np.zeros(size + bounds + 1)
    reached = np.flatnonzero(inputs.weight > 0)
    rows, right = None, np.zeros(0)
    if kind == "lp1":
        objective[size : size + slots] = -inputs.opponent_reach * unit
    elif kind in ("lp2", "lp3"):  # -u(I) + m <= CBV(I), with m = 0 in LP2
        objective[-1] = -1.0 if kind == "lp3" else 0.0
        count = len(reached)
        entry = np.concatenate([-np.ones(count), np.full(count, kind == "lp3")])
        row = np.tile(np.arange(count), 2)
        col = np.concatenate([size + reached, np.full(count, size + bounds)])
        rows = coo_array((entry, (row, col)), shape=(count, size + bounds + 1))
        right = inputs.alternative[reached]
    else:
        raise SubgameError(f"The program must be lp1, lp2 or lp3, not '{kind}'.")
    replies = hstack([-payoff, parts.bound, csr_array((them.num_sequences, 1))])
    found = linprog(
        objective,
        A_ub=replies if rows is None else vstack([replies, rows]),
        b_ub=np.concatenate([np.zeros(them.num_sequences), right]),
        A_eq=hstack([parts.plan, csr_array((parts.plan.shape[0], bounds + 1))]),
        b_eq=parts.start,
        bounds=[(0, None)] * size + [(None, None)] * (bounds + 1),
        method="highs",
    )
    if found.status != 0:
        raise SubgameError(f"{kind.upper()} of '{subgame.name}' was not solved: {found.message}")
    run = engine(subgame.tree)
    sigma = run.behaviour(1 - o, np.maximum(found.x[:size], 0))
    plan = run.plan(1 - o, sigma, inputs.our_reach)
    values = normalise(run.respond(o, plan).roots.ravel(), inputs.weight)
    return Programme(sigma, float(found.fun) * (-1 if kind == "lp3" else 1), values)
