"""All pure continuations below a depth limit, and which of some continuations differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats
from subgame.errors import SubgameError
from subgame.refine.continuations import Continuations
from subgame.refine.sequence.subgames import SequenceSubgame, sequence_subgames
from subgame.refine.subgame import At, Subgame
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import Treeplex, sequence_tree

Pure = tuple[tuple[int, int], ...]
"""A reduced pure strategy: (infoset, action) wherever it comes to."""
SAME = 12
"""Plans that agree to this many digits are one continuation."""


def all_pure(
    tree: PublicTree, *, at: At | Sequence[Subgame], player: int, limit: int = 4096
) -> Continuations:
    """Every reduced pure strategy below a frontier: what Proposition 1 (2018) asks for.

    As the choice is made at each leaf infoset, there need be only as many continuations as the
    richest of them has pure strategies; at the others some of these coincide and are offered
    once. Refused if there are more than `limit`.

    >>> import subgame as sg
    >>> len(all_pure(sg.compile(sg.games.load("rps-plus")), at="P2 to move", player=1))
    3
    """
    side = sequence_tree(tree).players[player]
    parts: list[tuple[SequenceSubgame, list[Pure]]] = []
    for subgame in sequence_subgames(tree, at):
        inner = subgame.tree.players[player]
        below = _children(inner)
        for s in range(len(inner.slots)):
            count = _count(inner, below, s)
            if count > limit:
                raise SubgameError(
                    f"There are {count:,} pure strategies below '{inner.slots[s]}', more than the "
                    f"limit of {limit:,}; use a later depth limit or fewer continuations."
                )
            parts.append((subgame, list(_pure(inner, below, s))))
    size = max((len(pures) for _, pures in parts), default=1)
    probs = np.zeros((size, side.num_sequences))
    probs[:, : len(side.slots)] = 1.0
    probs[:, side.first] = 1.0  # the first action where nothing else is said
    for subgame, pures in parts:
        inner, embed = subgame.tree.players[player], subgame.places[player]
        for k in range(size):
            for i, action in pures[k % len(pures)]:
                rows = embed[inner.sequences(i)]
                probs[k, rows] = 0.0
                probs[k, rows[action]] = 1.0
    names = tuple(f"pure {k}" for k in range(size))
    return Continuations(tree, player, names, probs, blueprint_first=False)


def _children(side: Treeplex) -> list[list[int]]:
    """[q] the infosets right below each sequence."""
    out: list[list[int]] = [[] for _ in range(side.num_sequences)]
    for i, parent in enumerate(side.plex.parent.tolist()):
        out[parent].append(i)
    return out


def _count(side: Treeplex, below: list[list[int]], q: int) -> int:
    """How many reduced pure strategies there are below a sequence."""
    return math.prod(
        sum(_count(side, below, r) for r in side.sequences(i).tolist()) for i in below[q]
    )


def _pure(side: Treeplex, below: list[list[int]], q: int) -> Iterator[Pure]:
    """The reduced pure strategies below a sequence."""

    def at(i: int) -> list[Pure]:
        return [
            ((i, a), *rest)
            for a, r in enumerate(side.sequences(i).tolist())
            for rest in _pure(side, below, r)
        ]

    for choice in product(*(at(i) for i in below[q])):
        yield tuple(step for part in choice for step in part)


def distinct(plans: Floats) -> NDArray[np.int64]:
    """Which rows differ from all before them: continuations that an infoset can tell apart."""
    first = np.unique(plans.round(SAME) + 0.0, axis=0, return_index=True)[1]
    return np.sort(first).astype(np.int64)
