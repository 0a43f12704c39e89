"""What every engine has in common: the words they share, and how a device is called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError

Floats = NDArray[np.float64]
CPU = "cpu"


def no_device(name: str) -> SubgameError:
    """What is said to a name that no device has."""
    return SubgameError(
        f"There is no device '{name}'; there are cpu, cuda (a GPU; cuda:1 is the second) and torch "
        "(what a GPU runs, on the CPU)."
    )
