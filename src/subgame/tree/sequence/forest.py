"""A forest whose nodes are listed depth first, in arrays: what follows from its shape."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


def shape(children: Ints, roots: int) -> tuple[Ints, Ints]:
    """Each node's parent (-1 at a root) and its place among its siblings.

    `children` is how many children each node has, depth first. The list may be cut off. A depth
    first visit takes the next node from the top of a stack and puts its children there. So what is
    put at a height of the stack is what is taken from there next.

    >>> shape(np.array([2, 0, 1, 0, 2]), roots=2)
    (array([-1,  0,  0,  2, -1], dtype=int32), array([0, 0, 1, 0, 1], dtype=int32))
    """
    count = np.concatenate([[roots], children])
    open_after = np.cumsum(count - 1) + 1
    count = np.append(count, np.zeros(open_after[-1], dtype=count.dtype))
    height = np.append(0, np.cumsum(count - 1)[:-1])  # at which a node is taken
    parent = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
    put = np.repeat(height + count - 1, count) - place
    taken, order = order_by(height[1:]), order_by(put)
    above, among = np.empty(len(taken), dtype=np.int32), np.empty(len(taken), dtype=np.int32)
    above[taken], among[taken] = parent[order] - 1, place[order]
    return above[: len(children)], among[: len(children)]


def depths(parent: Ints) -> Ints:
    """How many nodes are above each node; parents come first.

    >>> depths(np.array([-1, 0, 1, 0]))
    array([0, 1, 2, 1], dtype=int32)
    """
    above = np.append(parent, -1)  # the last entry stands above the roots
    depth = (above >= 0).astype(np.int32)
    while np.any(above >= 0):  # each time twice as far up
        depth += depth[above]
        above = above[above]
    return depth[:-1]


def inherit(parent: Ints, own: tuple[Ints, Ints], chance: Floats) -> None:
    """Fill in each player's last sequence, and multiply `chance` down the forest, in place.

    `own` is the sequence of the last move where it is the player's, or that of a root; elsewhere it
    is the least integer.
    """
    depth = depths(parent)
    order = order_by(depth)
    ends = np.cumsum(np.bincount(depth)).tolist()
    for lo, hi in pairwise(ends):  # one level after the other
        here = order[lo:hi]
        above = parent[here]
        chance[here] *= chance[above]
        for sequence in own:
            last = sequence[here]
            sequence[here] = np.where(last == NOTHING, sequence[above], last)


NOTHING = np.iinfo(np.int32).min


def order_by(*keys: NDArray[np.integer]) -> NDArray[np.int64]:
    """The order by these keys, the first one first; of equal ones the earlier comes first.

    Keys are from 0 to 2^32 - 1. NumPy sorts 16 bits several times faster than more.

    >>> order_by(np.array([1, 0, 70000, 1]), np.array([2, 5, 0, 1])).tolist()
    [1, 3, 0, 2]
    """
    digits = []
    for key in reversed(keys):
        digits.append(key.astype(np.uint16))
        if key.max(initial=0) >= 1 << 16:
            digits.append((key >> 16).astype(np.uint16))
    return np.lexsort(digits)


def first_equal(numbers: Ints) -> NDArray[np.int64]:
    """The first place with the same number, for each place. Numbers are not negative.

    >>> first_equal(np.array([4, 7, 4, 7, 2])).tolist()
    [0, 1, 0, 1, 4]
    """
    first = np.zeros(numbers.max(initial=-1) + 1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last one written is the first one
    return first[numbers]
