"""The two kinds of tree: each verb says what it does on either."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from subgame.errors import SubgameError
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import SequenceTree

A = TypeVar("A")
B = TypeVar("B")


def by_kind(
    tree: PublicTree, sequence: Callable[[SequenceTree], A], ranges: Callable[[RangeTree], B]
) -> A | B:
    """Call the function for the kind of a tree.

    >>> import subgame as sg
    >>> kuhn = sg.compile(sg.games.load("kuhn"))
    >>> by_kind(kuhn, lambda tree: "a sequence tree", lambda tree: "a hold'em tree")
    'a sequence tree'
    """
    if isinstance(tree, SequenceTree):
        return sequence(tree)
    if not isinstance(tree, RangeTree):
        raise SubgameError(
            "The tree must be a PublicTree, as subgame.compile(game) makes it, not "
            f"{type(tree).__name__}."
        )
    if tree.not_plain:
        raise SubgameError(
            f"{tree.game_name} {tree.not_plain}; safe subgame solving, nested and depth-limited "
            "solving and CFR-D need a zero-sum game in which both players may choose everywhere. "
            "Solve it as a whole instead (sg.solve, subgame endgame)."
        )
    return ranges(tree)
