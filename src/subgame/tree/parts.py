"""Parts of a tree: find a part's sequences in the whole tree, restrict and embed strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.tree.public_tree import Side

Index = NDArray[Any]
Numbers = NDArray[Any]
"""One number for each sequence of a player, of any precision."""
T = TypeVar("T")


def both(of: Callable[[int], T]) -> tuple[T, T]:
    """What a function gives for player 0 and for player 1."""
    return of(0), of(1)


def places(part: Side, whole: Side) -> Index:
    """[q] the sequence of `whole` for each sequence of `part`, by names of infosets and actions.

    It is -1 for root infosets and for infosets that `whole` does not have. Raises an error if an
    infoset of `part` has an action that `whole` does not have there.
    """
    out = np.full(part.num_sequences, -1, dtype=np.int64)
    for i, name in enumerate(part.names):
        j = whole.index.get(name)
        if j is None:
            continue
        if part.actions[i] == whole.actions[j]:
            out[part.sequences(i)] = whole.sequences(j)
            continue
        at = dict(zip(whole.actions[j], whole.sequences(j).tolist(), strict=True))
        missing = [action for action in part.actions[i] if action not in at]
        if missing:
            raise SubgameError(
                f"Infoset '{name}' has no action '{missing[0]}' in the whole tree; it has "
                f"{', '.join(whole.actions[j])}."
            )
        out[part.sequences(i)] = [at[action] for action in part.actions[i]]
    return out


def restrict(sigma: Numbers, where: Index | None, elsewhere: float = 1.0) -> Numbers:
    """[q] the part's strategy: that of the whole tree at `where`; `elsewhere` where that is -1.

    Without `where` the part is the whole tree, as in `embed`.
    """
    if where is None:
        return sigma
    out: Numbers = np.where(where >= 0, sigma[where], np.asarray(elsewhere, sigma.dtype))
    return out


def embed(sigma: Numbers, where: Index | None, into: Numbers) -> None:
    """Write a part's strategy into one of the whole tree; `where` has the part's sequences."""
    if where is None:
        into[:] = sigma
    else:
        into[where[where >= 0]] = sigma[where >= 0]
