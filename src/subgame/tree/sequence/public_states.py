"""Public states of a game that does not name them, from what its players know."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.games.base import State

Ints = NDArray[np.int32]


def knowledge(state: State, p: int, player: int, infoset: int, sequence: int) -> tuple[str, object]:
    """What player `p` knows at a history: the augmented infoset (Burch et al. 2014, Def. 1).

    It is the player's infoset where the player acts. Elsewhere it is the information state that
    the game gives, or the player's last infoset and action if the game gives none.
    """
    if player == p:
        return ("at", infoset)
    name = state.information_state(p)
    return ("after", sequence) if name is None else ("knows", name)


def derive_public(parent: Ints, tokens: tuple[Ints, Ints]) -> tuple[Ints, Ints, Ints]:
    """The finest public states that no augmented infoset crosses (Burch et al. 2014, Def. 1).

    Histories at which a player knows the same are joined. Then classes that do not form a tree are
    joined too (joining closed sets leaves them closed). Returns each history's class, each class's
    first history and each class's parent, parents first.
    """
    size = len(parent)
    link = np.where(parent < 0, 0, np.arange(size))  # all tops form one public state
    for ids in tokens:  # a history and the first one with the same knowledge are one class
        first = np.full(ids.max() + 1, size)
        np.minimum.at(first, ids, np.arange(size))
        link = _join(link, np.arange(size), first[ids])
    inner = np.flatnonzero(parent >= 0)
    while True:
        above, below = link[parent[inner]], link[inner]
        cross = above != below
        above, below = above[cross], below[cross]
        first_above = np.full(size, size)
        np.minimum.at(first_above, below, above)
        # A class entered from two classes, or entered from inside itself, joins them.
        joined = _join(link, above, first_above[below])
        back = below < above
        joined = _join(joined, above[back], below[back])
        if np.array_equal(joined, link):
            break
        link = joined
    firsts, node = np.unique(link, return_inverse=True)
    node_parent = np.full(len(firsts), -1)
    node_parent[node[inner[cross]]] = node[parent[inner[cross]]]
    return node.astype(np.int32), firsts.astype(np.int32), node_parent.astype(np.int32)


def _join(link: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes after joining each ``a[k]`` with ``b[k]``; a class is named by its least member."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(link)
    rows = np.concatenate([np.arange(size), a])
    cols = np.concatenate([link, b])
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    least = np.full(label.max() + 1, size)
    np.minimum.at(least, label, np.arange(size))
    joined: NDArray[np.int64] = least[label]
    return joined
