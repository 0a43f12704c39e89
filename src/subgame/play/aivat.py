"""AIVAT: the same expected result as counting chips, with far less luck in it.

Burch, Schmid, Moravčík & Bowling 2018, "AIVAT: A New Variance Reduction Technique for Agent
Evaluation in Imperfect Information Games". The strategy of one agent is known, and so is chance;
the opponent's need not be.

At every step the estimator holds all histories that the opponent cannot tell apart, with weights
of chance and of the known agent alone: one infoset of the opponent at a public state, with the
known agent's range. Two things make it unbiased and quiet:

* *imaginary observations*: the payoff is the weighted mean over the known agent's range, not that
  of the one hand that was held;
* *corrections*: where chance or the known agent acts, the mean of a value function over all that
  might have followed, minus its value after what did follow. Its expectation is 0, whatever the
  value function is; a good one cancels the luck of the step.

An agent is asked for its `policy` at the public states of the hand. Where it does not know it, the
hand is counted from there on by the cards that were held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Agent, Event, policy_of
from subgame.play.match import Hand
from subgame.play.strategies import StrategyAgent
from subgame.refine.reached import Followed, Move, Reached
from subgame.refine.verbs.start import start_of
from subgame.tree.compile import compile
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
WAYS = 2_000
"""Outcomes of chance that are looked at; where there are more (the flop of a whole deck), the
luck of that deal is left in."""
FEW = 200
"""Infosets of the opponent at the start up to which the luck of the first deal is taken out by a
value function that is asked for one infoset at a time."""
KEPT = 100_000
"""Public states whose values are kept."""


class ValueFunction(Protocol):
    """A guess of what a player wins from a public state on."""

    @property
    def whole(self) -> bool:
        """Whether the values of all infosets of a public state are found at once."""

    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        """From player `p`'s infoset to what it wins where somebody acts, in chips."""

    def dealt(self, reached: Reached, p: int) -> dict[str, Floats] | None:
        """The same after every outcome of chance: [s], or None to be asked one by one."""


class SelfPlay:
    """The value function of a strategy that both players follow."""

    whole = True

    def __init__(self, strategy: Strategy) -> None:
        self.followed = Followed(strategy.tree, strategy.probs)

    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        values: list[float] = reached.values(self.followed, p, best=False).tolist()
        return values.__getitem__

    def dealt(self, reached: Reached, p: int) -> dict[str, Floats] | None:
        return reached.dealt_values(self.followed, p)


class CheckDown:
    """The value function that takes both players to check and call to the end: needs no solving."""

    whole = False

    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        return partial(mean_payoff, reached, p)

    def dealt(self, reached: Reached, p: int) -> dict[str, Floats] | None:
        return None


def mean_payoff(reached: Reached, p: int, s: int) -> float:
    """What player `p` with infoset `s` wins on average if both only check and call from here on."""
    weight = reached.reach[1 - p] * reached.fitting(p, s)
    total = weight.sum()
    return float(weight @ reached.checked_down(p, s) / total) if total > 0 else 0.0


@dataclass(eq=False)
class _Node:
    """A public state with the known agent's reach, and what follows it."""

    reached: Reached
    values: Callable[[int], float] | None = None
    means: dict[int, float] = field(default_factory=dict)
    """The mean of the value function, by the opponent's infoset."""
    children: dict[str, _Node] = field(default_factory=dict)
    dealt: dict[str, Floats] | None = None
    """After chance: the values of every outcome, where they are found at once."""
    means_after: dict[int, float] = field(default_factory=dict)
    """The mean over the known agent's actions, by the opponent's infoset."""
    unknown: bool = False
    """Whether the agent did not know its policy here."""
    first: float | None = None
    """At the start: the mean over all that may be dealt to the opponent."""
    weights: Floats | None = None

    def weight(self, o: int) -> Floats:
        """[s] pi_{-o}, found once."""
        if self.weights is None:
            self.weights = self.reached.weight(o)
        return self.weights


class Aivat:
    """Estimates what an agent with a known strategy wins, hand by hand.

    `known` is the agent, or its strategy. `values` is the value function, or the strategy whose
    self-play gives it; by default that of the known strategy, or `CheckDown`. The closer both
    players are to it, the smaller the variance. `game` is what is played, or its tree.

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

    def __init__(
        self,
        game: Game | PublicTree,
        known: Agent | Strategy,
        values: ValueFunction | Strategy | None = None,
    ) -> None:
        self.known = StrategyAgent(known) if isinstance(known, Strategy) else known
        if values is None:
            own = self.known.strategy if isinstance(self.known, StrategyAgent) else None
            values = CheckDown() if own is None else own
        self.values = SelfPlay(values) if isinstance(values, Strategy) else values
        self.start = start_of(game)
        self.tops: dict[int, _Node] = {}
        self.size = 0

    def estimate(self, hand: Hand, agent: int = 0) -> float:
        """What the known agent (0 or 1 of the match) won in a hand, without most of its luck."""
        seat = hand.seats.index(agent)
        value = self.of_path([action for _, action in hand.moves], seat)
        return value if seat == 0 else -value

    def of_path(self, path: Sequence[str], seat: int) -> float:
        """Player 0's estimate for a hand in which `seat` is the known agent."""
        if self.size > KEPT or seat not in self.tops:
            self.size, self.tops[seat] = 0, _Node(self.start)
        o, node, state = 1 - seat, self.tops[seat], self.start.game.new_initial_state()
        line: list[Move] = []
        seen = 0
        for label in path:
            if state.is_public(label):
                break
            state, seen = state.child(label), seen + 1
        s = node.reached.number(o, _known(state, o))
        estimate = 0.0
        if self.values.whole or len(node.reached.reach[o]) <= FEW:
            estimate = self._first(node, o) - self._mean(node, o, s)
        for label in path[seen:]:
            player = state.current_player()
            state = state.child(label)
            line.append((player, label))
            if player == o:
                node = self._child(node, label, None)
            elif player == CHANCE:
                if node.reached.ways <= WAYS:
                    estimate += self._mean(node, o, s) - self._outcome(node, label, o, s)
                node = self._child(node, label, None)
            else:
                mean, after, node = self._over_actions(node, line, seat, s)
                if node.unknown:
                    break
                estimate += mean - after
            s = node.reached.number(o, _known(state, o))
        if node.unknown:
            estimate += _after(self.start.game, path).returns()[o]
        elif node.reached.player == TERMINAL:
            estimate += self._mean(node, o, s)
        else:
            raise SubgameError("The hand has not been played to its end.")
        return -estimate if o == 1 else estimate

    # Values, all of them the opponent's -----------------------------------------------------------
    def _mean(self, node: _Node, o: int, s: int) -> float:
        """The mean of the value function over the known agent's range."""
        found = node.means.get(s)
        if found is None:
            found = node.means[s] = self._found(node, o, s)
        return found

    def _found(self, node: _Node, o: int, s: int) -> float:
        here = node.reached
        if here.is_over or (here.player == CHANCE and here.ways > WAYS):
            return mean_payoff(here, o, s)
        if here.player == CHANCE:
            shares = here.outcomes(o, s)
            return sum(share * self._outcome(node, name, o, s) for name, share in shares.items())
        if node.values is None:
            node.values = self.values.here(here, o)
        return node.values(s)

    def _first(self, node: _Node, o: int) -> float:
        """The mean over all that may be dealt to the opponent."""
        if node.first is None:
            weight = node.weight(o) * node.reached.reach[o]
            values = [self._mean(node, o, s) for s in np.flatnonzero(weight).tolist()]
            node.first = float(weight[weight > 0] @ values / weight.sum())
        return node.first

    def _outcome(self, node: _Node, name: str, o: int, s: int) -> float:
        """The value after one outcome of chance, for the infoset that follows from `s`."""
        if node.dealt is None and not node.reached.is_over:
            node.dealt = self.values.dealt(node.reached, o) or {}
        if node.dealt:
            return float(node.dealt[name][s])
        child = self._child(node, name, None)
        return self._mean(child, o, child.reached.below(o, s))

    def _over_actions(
        self, node: _Node, line: Sequence[Move], seat: int, s: int
    ) -> tuple[float, float, _Node]:
        """(mean over the known agent's actions, value after the one taken, what follows it)."""
        o, taken = 1 - seat, line[-1][1]
        if not node.children and not node.unknown:
            self._ask(node, line[:-1], seat)
        if node.unknown:
            return 0.0, 0.0, node
        if taken not in node.children:
            raise SubgameError(
                f"The agent '{self.known.name}' did '{taken}', which its policy does not know."
            )
        follow = node.children[taken]
        if s not in node.means_after:
            total = mean = 0.0
            for child in node.children.values():
                below = child.reached.below(o, s)
                share = float(child.weight(o)[below])
                total += share
                mean += share * self._mean(child, o, below) if share > 0 else 0.0
            node.means_after[s] = mean / total if total > 0 else 0.0
        return node.means_after[s], self._mean(follow, o, follow.reached.below(o, s)), follow

    def _ask(self, node: _Node, line: Sequence[Move], seat: int) -> None:
        """The known agent's actions at a public state, with its range after each of them."""
        agent, here = self.known, node.reached
        agent.begin(seat, 0)
        for player, action in line:
            agent.observe(Event(player, action))
        names, held = here.names(seat), np.flatnonzero(here.reach[seat]).tolist()
        policy = policy_of(agent, [names[k] for k in held], here.actions)
        if policy is None:
            node.unknown = True
            return
        for k, action in enumerate(policy.actions):
            share = np.zeros(len(here.reach[seat]))
            share[held] = policy.probabilities[:, k]
            if (share[held] > 0).any():
                self._child(node, action, share)

    def _child(self, node: _Node, label: str, share: Floats | None) -> _Node:
        if label not in node.children:
            node.children[label] = _Node(node.reached.after(label, share))
            self.size += 1
        return node.children[label]


def _after(game: Game, path: Sequence[str]) -> State:
    state = game.new_initial_state()
    for label in path:
        state = state.child(label)
    return state


def _known(state: State, p: int) -> str:
    return state.information_state(p) or ""


def is_known(game: Game, agent: Agent) -> bool:
    """Whether an agent knows its strategy for a whole range, asked at its first decision."""
    line, here = list[Move](), start_of(game)
    while here.player == CHANCE:
        line.append((CHANCE, next(iter(here.outcomes(0, 0)))))
        here = here.child(line[-1][1])
    agent.begin(here.player, 0)
    for player, action in line:
        agent.observe(Event(player, action))
    held = np.flatnonzero(here.reach[here.player] * here.weight(here.player))[:1]
    names = [here.names(here.player)[s] for s in held.tolist()]
    return policy_of(agent, names, here.actions) is not None


def value_function(game: Game, agent: Agent) -> ValueFunction:
    """The value function that suits an agent: self-play of its strategy or blueprint.

    Without one it is self-play of the uniform strategy, in hold'em checking down.
    """
    for name in ("strategy", "blueprint"):
        strategy = getattr(agent, name, None)
        if isinstance(strategy, Strategy) and strategy.tree.game_name == str(game):
            return SelfPlay(strategy)
    if isinstance(game, Holdem):
        return CheckDown()
    return SelfPlay(Strategy.uniform(compile(game)))
