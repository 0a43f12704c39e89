"""The working arrays of the kernels of sequence trees. Nothing here imports Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.sequence.tree import Terminals

Floats = NDArray[np.float64]
LANES = 64
"""Terminals of one group that are evaluated together; they fit the first-level cache."""


class State(NamedTuple):
    """The arrays of one player: `contract.Regrets`, then what the engine owns. q = sequence."""

    regret: Floats  # [q] discounted cumulative counterfactual regret
    average: Floats  # [q] discounted cumulative realisation plan
    instant: Floats  # [q] last iteration's regret, the prediction of PCFR+; empty if not used
    sigma: Floats  # [q] current strategy
    reach: Floats  # [q] current realisation plan
    value: Floats  # [q] counterfactual values
    total: Floats  # [widest block] workspace
    lanes: Floats  # workspace of `sequence_kernels.evaluate`


def scratch(t: Terminals) -> Floats:
    """The workspace of `evaluate`: the lanes of the widest matrix, then one row of results."""
    return np.empty((max(t.rows.max(initial=0), t.cols.max(initial=0)) + 1) * LANES)
