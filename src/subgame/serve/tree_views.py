"""Public trees as the page walks them: what a view must do, and the view of explicit trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

DRAWN = 40
"""Public states that are drawn below the one that is looked at."""
BESIDE = 30
"""Public states that are drawn beside it and beside those that lead to it."""
LISTED = 200
"""Infosets that are listed at a public state."""


Node = TypeVar("Node")
"""A public state as a view names it."""
Row = dict[str, object]
"""A row of what the page is told."""


class View(Protocol[Node]):
    """The public states of a tree, as the page walks them."""

    about: Row
    """What the page is told of the whole tree."""

    @property
    def tree(self) -> PublicTree:
        """The tree."""

    def find(self, at: str) -> Node:
        """The public state of a name in an address; the first one if it is empty."""

    def parent(self, node: Node) -> Node | None:
        """The public state before this one, or None."""

    def children(self, node: Node) -> list[Node]:
        """The public states that follow."""

    def facts(self, node: Node) -> Row:
        """Id, name, chance and the acting player: 0, 1, 2 for both, None for chance or the end."""

    def strategies(self, strategy: Strategy, node: Node, hands: str) -> Row:
        """The infosets of a public state: the strategy there, and what each action is worth.

        The worth of an action is that against the opponent's strategy, if the player goes on with a
        best response (Brown & Sandholm 2017 write it as a counterfactual best-response value).
        """


def around(view: View[Node], at: Node) -> dict[str, Any]:
    """The public states to draw: those that lead to `at`, those beside them, and the next ones."""
    path = [at]
    while (above := view.parent(path[0])) is not None:
        path.insert(0, above)
    shown = list(path)
    for node in path[:-1]:
        shown += view.children(node)[:BESIDE]
    queue, most = [at], len(shown) + DRAWN
    while queue and len(shown) < most:
        more = view.children(queue.pop(0))
        shown += more
        queue += more
    known = {}
    for node in shown:
        row, above = view.facts(node), view.parent(node)
        row["parent"] = None if above is None else view.facts(above)["id"]
        known[row["id"]] = row | {"children": len(view.children(node))}
    ids = [view.facts(node)["id"] for node in path]
    return {"at": ids[-1], "path": ids, "nodes": list(known.values())}


class SequenceView:
    """The public states of a game that was compiled history by history: their numbers."""

    def __init__(self, tree: PublicTree) -> None:
        from subgame.tree.sequence.tree import sequence_tree

        self.tree = sequence_tree(tree)
        self.about: Row = {
            "seats": ["Player 1", "Player 2"],
            "target": 1e-3,
            "sequences": [side.num_sequences for side in self.tree.players],
        }
        self._below: list[list[int]] = [[] for _ in range(self.tree.num_nodes)]
        for node, parent in enumerate(self.tree.node_parent.tolist()):
            if parent >= 0:
                self._below[parent].append(node)
        self._acting: list[int | None] = [None] * self.tree.num_nodes
        for p, side in enumerate(self.tree.players):
            for node in set(side.node.tolist()):
                self._acting[node] = p if self._acting[node] is None else 2

    def find(self, at: str) -> int:
        """The number itself."""
        if not (at or "0").isdecimal() or len(at) > 12 or int(at or 0) >= self.tree.num_nodes:
            raise SubgameError(f"The game has the public states 0 to {self.tree.num_nodes - 1}.")
        return int(at or 0)

    def parent(self, node: int) -> int | None:
        """The public state before this one, or None."""
        above = int(self.tree.node_parent[node])
        return above if above >= 0 else None

    def children(self, node: int) -> list[int]:
        """The public states that follow."""
        return self._below[node]

    def facts(self, node: int) -> Row:
        """Id, name, chance and the acting player."""
        return {
            "id": node,
            "name": self.tree.node_names[node],
            "chance": float(self.tree.node_chance[node]),
            "player": self._acting[node],
        }

    def strategies(self, strategy: Strategy, node: int, hands: str) -> Row:
        """One row per infoset; `hands` means nothing here."""
        import numpy as np

        from subgame.papers.coin_toss import action_values

        rows: list[Row] = []
        for p, side in enumerate(self.tree.players):
            here = np.flatnonzero(side.node == node).tolist()
            worth = action_values(self.tree, strategy, p) if here else {}
            for i in here[:LISTED]:
                name = side.names[i]
                rows.append(infoset_row(p, name, strategy.row(p, i), worth[name]))
        return {"infosets_here": rows}


def infoset_row(
    player: int,
    name: str,
    probabilities: Mapping[str, float],
    values: Mapping[str, float],
    tolerance: float = 1e-9,
) -> Row:
    """An infoset as the page shows it; values that are not known (nan) become None."""
    known = [value for value in values.values() if value == value]
    best = max(known, default=0.0) - tolerance
    return {
        "player": player,
        "infoset": name,
        "actions": [
            {
                "name": action,
                "probability": share,
                "value": values[action] if values[action] == values[action] else None,
                "best": values[action] >= best,
            }
            for action, share in probabilities.items()
        ],
    }


def figures(tree: PublicTree, strategy: Strategy) -> Row:
    """The exploitability and the value of a strategy."""
    from subgame.solve.evaluate import expected_value, exploitability

    gap = exploitability(tree, strategy)
    return {
        "exploitability": gap.mean,
        "per_seat": list(gap.per_seat),
        "value": expected_value(tree, strategy),
    }
