"""Strategies of parts: a part's sequences found in the whole, to restrict and to embed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.tree.public_tree import Side

Index = NDArray[Any]
Numbers = NDArray[Any]


def places(part: Side, whole: Side) -> Index:
    """[q] where a part's sequences stand in another tree, by names of infosets and actions.

    -1 for root infosets and for infosets that the other tree does not have. Refuses a part whose
    infoset has an action that the other tree does not have there.
    """
    out = np.full(part.num_sequences, -1, dtype=np.int64)
    for i, name in enumerate(part.names):
        j = whole.index.get(name)
        if j is None:
            continue
        there = whole.sequences(j)
        if part.actions[i] != whole.actions[j]:
            at = dict(zip(whole.actions[j], there.tolist(), strict=True))
            missing = [action for action in part.actions[i] if action not in at]
            if missing:
                raise SubgameError(f"Infoset '{name}' has no action '{missing[0]}' there.")
            there = np.array([at[action] for action in part.actions[i]])
        out[part.sequences(i)] = there
    return out


def restrict(sigma: Numbers, where: Index, elsewhere: float = 1.0) -> Numbers:
    """[q] a strategy of the whole, in the part whose sequences stand at `where`."""
    out: Numbers = np.where(where >= 0, sigma[where], np.asarray(elsewhere, sigma.dtype))
    return out


def embed(sigma: Numbers, where: Index, into: Numbers) -> None:
    """Write a part's strategy to where its sequences stand in the whole."""
    real = where >= 0
    into[where[real]] = sigma[real]
