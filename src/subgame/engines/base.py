"""What every engine has in common: the words they share, and how a device is called."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError

Floats = NDArray[np.float64]
CPU = "cpu"


class Response(NamedTuple):
    """A counterfactual best response: it maximises value at every infoset, reached or not."""

    slots: Floats  # [s] value of each root slot, unnormalised (Burch et al. 2014)
    values: Floats  # [i] the same at every infoset
    sequences: Floats  # [q] and for every action there
    choice: NDArray[np.int32]  # [i] the action that attains it


def no_device(name: str) -> SubgameError:
    """What is said to a name that no device has."""
    return SubgameError(
        f"There is no device '{name}'; there are cpu, cuda (a GPU; cuda:1 is the second) and torch "
        "(what a GPU runs, on the CPU)."
    )
