"""What all engines share: types and the names of devices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError

Floats = NDArray[np.float64]
CPU = "cpu"


def no_device(name: str) -> SubgameError:
    """The error for a name that is no device."""
    return SubgameError(
        f"There is no device '{name}'; the device must be cpu, cuda (a GPU; cuda:1 is the second) "
        "or torch (the GPU's code, run on the CPU)."
    )
