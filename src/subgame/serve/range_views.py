"""The public tree of a game of hold'em: betting and cards, walked by the lines of the rules."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from subgame.serve.solutions import action_kind
from subgame.serve.tree_views import LISTED, infoset_row
from subgame.solve.evaluate import best_response_strategy
from subgame.spots.browse import Explorer
from subgame.spots.decisions import hands_in
from subgame.spots.lines import Step, Walk, action_name, follow_line, line_text
from subgame.tree.ranges.tree import range_tree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree

CLOSE = 1e-6
"""Actions whose values differ by less than this share of the pot are equally good."""


class RangeView:
    """The public states of hold'em; each is a line of actions and cards.

    Cards are dealt one at a time. Those of a flop come from high to low, so that each flop is there
    once.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("nlfh-small(ranks=TJQKA,suits=cd)"), merge=False)
    >>> view = RangeView(tree)
    >>> [view.facts(walk)["name"] for walk in view.children(view.find(""))]
    ['fold', 'call 50', 'raise to 300']
    >>> [view.facts(walk)["id"] for walk in view.children(view.find("c c / Ad Ac"))][:2]
    ['c c / Ad Ac Kd', 'c c / Ad Ac Kc']
    """

    def __init__(self, tree: PublicTree) -> None:
        self.tree = range_tree(tree)
        self.game = self.tree.holdem
        self.about = {
            "seats": ["OOP (player 1)", "IP (player 2)"],
            "target": float(self.game.start().pot) / 200,
            "holdem": True,
        }
        self._shown: tuple[Explorer, Explorer, Explorer] | None = None
        self._lock = threading.Lock()

    def find(self, at: str) -> Walk:
        """Where a line leads."""
        return follow_line(self.game, at)

    def parent(self, node: Walk) -> Walk | None:
        """The public state before this one, or None."""
        if len(node.board) > len(_before(node, self.game.board)):
            return Walk(node.steps, node.board[:-1], node.betting)
        if not node.steps:
            return None
        *steps, (board, betting, _) = node.steps
        return Walk(tuple(steps), board, betting)

    def children(self, node: Walk) -> list[Walk]:
        """The public states that follow: after each action, or after each next card."""
        if node.betting.is_over:
            return []
        if not node.needs_cards:
            return [
                Walk(
                    (*node.steps, Step(node.board, node.betting, action)),
                    node.board,
                    node.betting.child(action),
                )
                for action in self.game.actions(node.betting)
            ]
        lowest = min(node.board[len(_before(node, self.game.board)) :], default=self.game.deck.size)
        free = [c for c in range(lowest) if c not in (*node.board, *self.game.dead)]
        return [
            Walk(node.steps, (*node.board, card), node.betting)
            for card in reversed(free[node.needs_cards - 1 :])
        ]

    def facts(self, node: Walk) -> dict[str, Any]:
        """Id, name and the acting player. Chances depend on the ranges and are left out."""
        decides = not node.betting.is_over and not node.needs_cards
        if len(node.board) > len(_before(node, self.game.board)):
            name = self.game.deck.card_name(node.board[-1])
        else:
            name = action_name(*node.steps[-1][1:]) if node.steps else ""
        return {
            "id": line_text(self.game, node, short=True),
            "name": name,
            "chance": 1.0,
            "player": node.betting.player if decides else None,
        }

    def strategies(self, strategy: Strategy, node: Walk, hands: str) -> dict[str, Any]:
        """The likeliest hands, or some of them, and the strategy of each class of hands."""
        if node.betting.is_over or node.needs_cards:
            return {"infosets_here": []}
        with self._lock:
            own, *responses = self._explorers(strategy)
            here = own.decision(line_text(self.game, node, short=True))
            values = responses[here.player].values(node, list(here.ranges))[0][here.hands]
        chosen = np.flatnonzero((here.reach > 0) & hands_in(self.game.deck, hands)[here.hands])
        order = np.lexsort((-here.hands[chosen], -here.chance[chosen].round(9)))
        pot = float(here.betting.pot)
        rows = [
            infoset_row(
                here.player,
                here.hand_names[h],
                dict(zip(here.names, here.probs[h].tolist(), strict=True)),
                dict(zip(here.names, values[h].tolist(), strict=True)),
                CLOSE * pot,
            )
            for h in chosen[order][:LISTED].tolist()
        ]
        actions = [
            {"id": action, "name": name, "kind": action_kind(here.betting, action)}
            for action, name in zip(here.actions, here.names, strict=True)
        ]
        classes = {
            row["class"]: [row["weight"], *(row[name] for name in here.names)]
            for row in here.class_table(values=False)
        }
        listed = {"hands_in_all": len(chosen), "pot": pot, "board": self.game.deck.name(node.board)}
        ranks = self.game.deck.ranks[::-1]
        grid = {"actions": actions, "classes": classes, "ranks": ranks}
        return {"infosets_here": rows, "grid": grid, **listed}

    def _explorers(self, strategy: Strategy) -> tuple[Explorer, Explorer, Explorer]:
        """Of a strategy, and with a best response of either player to it; the last are kept."""
        if self._shown is None or self._shown[0].strategy is not strategy:
            one, two = (best_response_strategy(self.tree, strategy, p) for p in (0, 1))
            first, second = strategy.probs
            self._shown = (
                Explorer(strategy),
                Explorer(Strategy(self.tree, (one, second))),
                Explorer(Strategy(self.tree, (first, two))),
            )
        return self._shown


def _before(node: Walk, first: tuple[int, ...]) -> tuple[int, ...]:
    """The board when somebody last acted."""
    return node.steps[-1].board if node.steps else first
