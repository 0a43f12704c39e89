"""The policy of a decision as a line of text: probabilities of all infosets in 255ths."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.play.agent import Policy

UNITS = 255
Kept = tuple[str, ...]
"""The actions of a decision, and last the packed probabilities of all infosets; empty: unknown."""


def rounded(probabilities: NDArray[np.float64]) -> NDArray[np.uint8]:
    """[infoset, action] probabilities in 255ths that add up to 1; rows of zeros stay.

    >>> rounded(np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [[128, 76, 51], [255, 0, 0], [0, 0, 0]]
    """
    total = probabilities.sum(1, keepdims=True)
    exact = UNITS * probabilities / np.where(total > 0, total, 1.0)
    low = np.floor(exact)
    left = np.rint((exact - low).sum(1, keepdims=True))
    rank = np.argsort(np.argsort(low - exact, axis=1, kind="stable"), axis=1, kind="stable")
    units: NDArray[np.uint8] = (low + (rank < left)).astype(np.uint8)
    return units


def packed(actions: Sequence[str], units: NDArray[np.uint8]) -> Kept:
    """The actions and the probabilities as a line of text; the last action's follow from them."""
    data = zlib.compress(np.ascontiguousarray(units[:, :-1].T).tobytes(), 9)
    return (*actions, b64encode(data).decode())


def unpacked(kept: Sequence[str], infosets: int) -> Policy:
    """The policy that was kept; infosets that the agent could not have are as good as any."""
    *actions, code = kept
    try:
        data = zlib.decompress(b64decode(code, validate=True))
        units = np.frombuffer(data, np.uint8).reshape(len(actions) - 1, infosets).T
    except (ValueError, zlib.error):
        raise SubgameError(
            f"The policy of the actions {', '.join(actions)} is damaged: it does not tell the "
            f"probabilities of {infosets:,} hands."
        ) from None
    last = UNITS - units.sum(1, keepdims=True, dtype=np.int64)
    if (last < 0).any():
        raise SubgameError("The probabilities of a kept policy add up to more than 1.")
    return Policy(tuple(actions), np.hstack([units, last]) / UNITS)
