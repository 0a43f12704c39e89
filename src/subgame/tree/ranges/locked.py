"""Fixed frequencies in a hold'em tree; `subgame.spots.locks` makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Locked:
    """Fixed frequencies of one player: these hands play so at these decisions."""

    cells: NDArray[np.int64]  # [k] sequences, all actions of each infoset
    probs: NDArray[np.float32]  # [k]

    @property
    def bytes(self) -> bytes:
        """For the digest of a tree."""
        return self.cells.tobytes() + self.probs.tobytes()

    def put(self, into: NDArray[np.float32], scale: float = 1.0) -> NDArray[np.float32]:
        """Write the probabilities, times `scale`, into numbers by sequence."""
        into[self.cells] = np.float32(scale) * self.probs
        return into


Locks = tuple[Locked | None, Locked | None]
"""Those of player 0 and player 1."""
