"""Probabilities over a hold'em tree, in the kernels' layout ``[board][tile][action][LANES]``.

The tiles of a street's boards are consecutive. So all numbers of a street are one block
``[tile, action, LANES]``, in which a decision is a slice of the middle axis, and the boards of a
street are processed together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.ranges.betting_tree import LANES, Street
from subgame.tree.ranges.hand_order import BoardArrays

Ints = NDArray[np.int64]
CHUNK = 1 << 18
"""Numbers processed at once, so that they stay in the cache."""

HUGE = 1e37
"""Sums of weights above this may overflow float32."""


class Chunk(NamedTuple):
    """Some tiles of one street."""

    where: slice
    """Where they are in the player's array."""
    actions: int
    """Number of actions at all the player's decisions on the street."""
    decisions: list[slice]
    """The actions of each decision among them."""
    padded: Ints
    """[k] the tiles with padding."""
    padding: NDArray[np.bool_]
    """[k, LANES] which lanes of these tiles are padding."""


def chunks(streets: list[Street], boards: BoardArrays, p: int) -> Iterator[Chunk]:
    """Player `p`'s numbers, a few tiles at a time."""
    start = 0
    for s, street in enumerate(streets):
        actions = street.rows[p] - len(street.roots)
        hands = boards.hands[p::2][boards.street == s]
        tiles = -(-hands // LANES)
        held = np.full(int(tiles.sum()), LANES)  # [tile] lanes that are hands
        some = tiles > 0
        held[np.cumsum(tiles)[some] - 1] = (hands - (tiles - 1) * LANES)[some]
        firsts = [first - len(street.roots) for first in street.first[p]]
        decisions = [
            slice(first, first + len(names))
            for first, names in zip(firsts, street.actions[p], strict=True)
        ]
        step = max(1, CHUNK // max(1, actions * LANES))
        for at in range(0, len(held) if actions else 0, step):
            here = held[at : at + step]
            end = start + len(here) * actions * LANES
            padded = np.flatnonzero(here < LANES)
            padding = np.arange(LANES) >= here[padded, None]
            yield Chunk(slice(start, end), actions, decisions, padded, padding)
            start = end


def normalise(
    streets: list[Street], boards: BoardArrays, p: int, weights: NDArray[Any]
) -> NDArray[np.float32]:
    """[q] probabilities in proportion to weights; uniform where they sum to 0, 0 in padding."""
    if weights.max(initial=0) > HUGE:
        weights = weights / np.float64(weights.max())
    out = np.empty(len(weights), dtype=np.float32)
    for chunk in chunks(streets, boards, p):
        given = weights[chunk.where].reshape(-1, chunk.actions, LANES)
        made = out[chunk.where].reshape(-1, chunk.actions, LANES)
        for cut in chunk.decisions:
            total = given[:, cut].sum(1, keepdims=True)
            none = total <= 0
            total[none] = 1
            np.divide(given[:, cut], total, out=made[:, cut], casting="same_kind")
            if none.any():
                made[:, cut] += none / np.float32(cut.stop - cut.start)
        made[chunk.padded] *= ~chunk.padding[:, None]
    return out


def sums_error(streets: list[Street], boards: BoardArrays, p: int, probs: NDArray[Any]) -> float:
    """The largest difference from 1 of a hand's probabilities summed over a decision's actions."""
    worst = 0.0
    for chunk in chunks(streets, boards, p):
        given = probs[chunk.where].reshape(-1, chunk.actions, LANES)
        for cut in chunk.decisions:
            total = given[:, cut].sum(1)
            total[chunk.padded] = np.where(chunk.padding, 1, total[chunk.padded])
            worst = max(worst, float(total.max()) - 1, 1 - float(total.min()))
    return worst
