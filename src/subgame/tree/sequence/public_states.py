"""Public states of a game that does not name them, from what its players know."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.games.base import State
from subgame.tree.sequence.forest import first_equal, order_by

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


def derive_public(parent: Ints, tokens: tuple[Ints, Ints], ended: Ints) -> tuple[Ints, Ints, Ints]:
    """The finest public states that no augmented infoset crosses (Burch et al. 2014, Def. 1).

    Histories at which a player knows the same are joined. Then classes that do not form a tree are
    joined too (joining closed sets leaves them closed). Nobody decides anything where the game is
    over, so nobody is asked there: `ended` is the number of the last move there, else -1, and each
    last move from a class leads to a class of its own. Returns each history's class, each class's
    first history and each class's parent, parents first.
    """
    size = len(parent)
    going = np.flatnonzero((ended < 0) | (parent < 0))
    link = np.where(parent < 0, 0, np.arange(size))  # all tops form one public state
    for ids in tokens:  # a history and the first one with the same knowledge are one class
        link = _join(link, going, going[first_equal(ids[going])])
    inner = going[parent[going] >= 0]
    while True:
        above, below = link[parent[inner]], link[inner]
        cross = above != below
        above, below = above[cross], below[cross]
        some_above = np.zeros(size, dtype=np.int64)
        some_above[below] = above
        # A class entered from two classes, or entered from inside itself, joins them.
        joined = _join(link, above, some_above[below])
        back = below < above
        joined = _join(joined, above[back], below[back])
        if joined is link:
            break
        link = joined
    ends = np.flatnonzero((ended >= 0) & (parent >= 0))
    above, move = link[parent[ends]], ended[ends]
    order = order_by(above, move)  # equal moves from a class come one after the other
    above, move, ends = above[order], move[order], ends[order]
    first = np.append(True, (above[1:] != above[:-1]) | (move[1:] != move[:-1]))[: len(ends)]
    link[ends] = ends[first][np.cumsum(first) - 1]
    new = link == np.arange(size)  # a class is named by its least member
    firsts, node = np.flatnonzero(new), (np.cumsum(new) - 1)[link]
    cross = np.flatnonzero((parent >= 0) & (link != link[parent]))
    node_parent = np.full(len(firsts), -1)
    node_parent[node[cross]] = node[parent[cross]]
    return node.astype(np.int32), firsts.astype(np.int32), node_parent.astype(np.int32)


def _join(link: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classes after joining each ``a[k]`` with ``b[k]``; a class is named by its least member."""
    while True:
        a, b = link[a], link[b]
        apart = a != b
        if not apart.any():
            return link
        a, b = a[apart], b[apart]
        root = np.arange(len(link))
        np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while np.any(root != (above := root[root])):
            root = above
        link = root[link]
