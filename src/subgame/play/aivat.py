"""AIVAT: the same expected result as counting chips, with far less luck in it.

Burch, Schmid, Moravčík & Bowling 2018, "AIVAT: A New Variance Reduction Technique for Agent
Evaluation in Imperfect Information Games". The strategy of one agent is known, and so is chance;
the opponent's need not be.

At every step the estimator holds all histories that the opponent cannot tell apart (the *class*),
with weights of chance and of the known agent alone. Two things make it unbiased and quiet:

* *imaginary observations*: the payoff is the weighted mean over the class, not that of the one
  history that was played;
* *corrections*: where chance or the known agent acts, the mean of a value function over all that
  might have followed, minus the mean over what did follow. Its expectation is 0, whatever the value
  function is; a good one cancels the luck of the step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL
from subgame.play.match import Hand
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import sequence_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Weights = Mapping[int, float]
"""A class: history -> its weight by chance and the known agent."""


class Aivat:
    """Estimates what an agent with a known strategy wins, hand by hand.

    `values` is the strategy whose self-play gives the value function, by default the known one. The
    closer both players are to it, the smaller the variance.

    >>> import subgame as sg
    >>> from subgame.play import StrategyAgent, Uniform, play_hand
    >>> game = sg.games.load("kuhn")
    >>> tree = sg.compile(game)
    >>> ours = sg.solve(tree, iterations=100).strategy
    >>> aivat = Aivat(tree, ours)
    >>> hand = play_hand(game, (StrategyAgent(ours), Uniform()), number=0)
    >>> -2 <= aivat.estimate(hand) <= 2
    True
    """

    def __init__(self, tree: PublicTree, known: Strategy, values: Strategy | None = None) -> None:
        self.tree = sequence_tree(tree)
        if self.tree.histories is None or self.tree.located is None:
            raise SubgameError(f"{tree!r} keeps no histories, so AIVAT cannot look at them.")
        self.h, self.located = self.tree.histories, self.tree.located
        self.known, self.by = known, values or known

    def estimate(self, hand: Hand, agent: int = 0) -> float:
        """What the known agent (0 or 1 of the match) won in a hand, without most of its luck."""
        seat = hand.seats.index(agent)
        value = self.of_path([action for _, action in hand.moves], seat)
        return value if seat == 0 else -value

    def of_path(self, path: Sequence[str], seat: int) -> float:
        """Player 0's estimate for a hand in which `seat` is the known agent."""
        here, estimate = 0, 0.0
        group: Weights = {0: 1.0}
        for label in path:
            after = self._children[here][label]
            if self._player[here] == 1 - seat:
                group = {self._children[h][label]: w for h, w in group.items()}
            else:
                views = self._views[1 - seat]
                groups: dict[Any, dict[int, float]] = defaultdict(dict)
                for h, w in group.items():
                    for child in self._children[h].values():
                        groups[views[child]][child] = w * self._probability(h, child, seat)
                everything = {h: w for each in groups.values() for h, w in each.items()}
                group = groups[views[after]]
                estimate += self._mean(everything) - self._mean(group)
            here = after
        if self._player[here] != TERMINAL:
            raise SubgameError("The hand has not been played to its end.")
        return estimate + self._mean(group)

    def _mean(self, group: Weights) -> float:
        """The mean of the value function over a class; payoffs at the end of the game."""
        total = sum(group.values())
        return sum(w * self._value[h] for h, w in group.items()) / total if total else 0.0

    def _probability(self, h: int, child: int, seat: int) -> float:
        if self._player[h] == CHANCE:
            return float(self.h.chance[child] / self.h.chance[h])
        return float(self.known.probs[seat][self.located[seat][child]])

    @cached_property
    def _player(self) -> list[int]:
        return [int(player) for player in self.h.player]

    @cached_property
    def _children(self) -> list[dict[str, int]]:
        """[h] what follows each action or outcome."""
        out: list[dict[str, int]] = [{} for _ in range(len(self.h))]
        for h, (parent, edge) in enumerate(zip(self.h.parent, self.h.edge, strict=True)):
            if parent >= 0:
                out[parent][self.h.labels[edge]] = h
        return out

    @cached_property
    def _views(self) -> tuple[list[Any], list[Any]]:
        """[h] what each player knows; histories with equal views cannot be told apart."""
        states = [self.h.game.new_initial_state()]
        out: tuple[list[Any], list[Any]] = ([None], [None])
        for h in range(1, len(self.h)):
            parent, node = int(self.h.parent[h]), int(self.h.node[h])
            states.append(states[parent].child(self.h.labels[self.h.edge[h]]))
            for p in (0, 1):
                said = states[h].information_state(p)
                # Where the game does not say, a player knows what was known before.
                out[p].append((node, said if said is not None else out[p][parent]))
        return out

    @cached_property
    def _value(self) -> list[float]:
        """[h] player 0's expected payoff when both play `values`."""
        value: Floats = self.h.payoff.astype(np.float64).copy()
        share = np.ones(len(self.h))
        actor = self.h.player[self.h.parent]
        for p in (0, 1):
            acted = np.flatnonzero(actor == p)
            share[acted] = self.by.probs[p][self.located[p][acted]]
        dealt = np.flatnonzero(actor == CHANCE)
        share[dealt] = self.h.chance[dealt] / self.h.chance[self.h.parent[dealt]]
        for h in range(len(self.h) - 1, 0, -1):  # children come after their parents
            value[self.h.parent[h]] += share[h] * value[h]
        return [float(each) for each in value]
