"""Probabilities over a hold'em tree, in the kernels' layout ``[board][tile][action][LANES]``.

The tiles of a street's boards are consecutive. So all numbers of a street are one block
``[tile, action, LANES]``, in which a decision is a slice of the middle axis, and the boards of a
street are processed together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.tree.public_tree import Reals
from subgame.tree.ranges.betting_tree import LANES, Street
from subgame.tree.ranges.boards import Seat


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


Ints = NDArray[np.int64]
CHUNK = 1 << 18
"""Numbers processed at once, so that they stay in the cache."""

HUGE = 1e37
"""Sums of weights above this may overflow float32."""


class Decisions(NamedTuple):
    """The player's decisions on a street, those with the most actions first."""

    first: Ints  # [d] the first action of each
    longer: list[int]  # [k] how many have more than k actions
    of: Ints  # [action] its decision

    @classmethod
    def on(cls, street: Street, p: int) -> Decisions:
        """Those of player `p`."""
        first = np.asarray(street.first[p], np.int64) - len(street.roots)
        count = np.array([len(names) for names in street.actions[p]], np.int64)
        order = np.argsort(-count, kind="stable")
        longer = [int((count > k).sum()) for k in range(int(count.max(initial=0)))]
        return cls(first[order], longer, np.repeat(np.argsort(order), count))

    def totals(self, numbers: Reals) -> Reals:
        """[tile, d, lane] the sums of ``[tile, action, lane]`` over each decision's actions."""
        out = numbers.take(self.first, axis=1)
        for k, many in enumerate(self.longer[1:], 1):
            out[:, :many] += numbers.take(self.first[:many] + k, axis=1)
        return out


def chunks(
    side: Seat, *arrays: Reals
) -> Iterator[tuple[list[Reals], Decisions, Ints, NDArray[np.bool_]]]:
    """A player's numbers, a few tiles of a street at a time: views ``[tile, action, lane]``.

    With them come the street's decisions, [k] the tiles with padding, and [k, 1, lane] which of
    their lanes are hands.
    """
    boards, p = side.units.boards, side.player
    for s, street in enumerate(side.streets):
        hands = boards.hands[p::2][boards.street == s]
        tiles = -(-hands // LANES)
        held = np.full(int(tiles.sum()), LANES)  # [tile] lanes that are hands
        some = tiles > 0
        held[np.cumsum(tiles)[some] - 1] = (hands - (tiles - 1) * LANES)[some]
        decisions = Decisions.on(street, p)
        step = max(1, CHUNK // max(1, len(decisions.of) * LANES))
        for at in range(0, len(held) if len(decisions.of) else 0, step):
            here = held[at : at + step]
            short = np.flatnonzero(here < LANES)
            real = np.arange(LANES) < here[short, None, None]
            views = [side.street_block(array, s)[at : at + step] for array in arrays]
            yield views, decisions, short, real


def normalise(side: Seat, weights: Reals) -> NDArray[np.float32]:
    """[q] probabilities in proportion to weights; uniform where they sum to 0, 0 in padding."""
    if weights.max(initial=0) > HUGE:
        weights = weights / np.float64(weights.max())
    out = np.empty(len(weights), dtype=np.float32)
    for (weighed, made), decisions, short, real in chunks(side, weights, out):
        total = decisions.totals(weighed)
        none = total <= 0
        total[none] = 1
        of = decisions.of
        np.divide(weighed, total.take(of, axis=1), out=made, casting="same_kind")
        if none.any():
            made += none.take(of, axis=1) / np.bincount(of)[of].astype(np.float32)[:, None]
        made[short] *= real
    return out


def sums_error(side: Seat, probs: Reals) -> float:
    """The largest difference from 1 of a hand's probabilities summed over a decision's actions."""
    worst = 0.0
    for (played,), decisions, short, real in chunks(side, probs):
        total = decisions.totals(played)
        total[short] = np.where(real, total[short], 1)
        worst = max(worst, float(total.max()) - 1, 1 - float(total.min()))
    return worst
