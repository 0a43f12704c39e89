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

`Aivat` estimates hands that were played, with one known agent. `subgame.play.range_match` plays
hands of hold'em between two known agents. Both add up the steps of a hand in a `Tally`, and take
any `ValueFunction`: `SelfPlay`, `CheckDown`, `subgame.play.blueprint_values.BlueprintValues`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, Game, State
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Agent, Event, Policy, Watcher, policy_of
from subgame.play.match import Hand, mixed_seed
from subgame.play.packed import unpacked
from subgame.play.strategies import StrategyAgent
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed, Move, Reached
from subgame.refine.verbs.cut import start_of
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


class ValueFunction(ABC):
    """A guess of what players win from a public state on."""

    whole = False
    """Whether the values of all infosets of a public state are found at once."""

    def samples(self, reached: Reached) -> int | None:
        """Outcomes of chance that are drawn to take out the luck of a deal.

        None: all are looked at; 0: its luck is left in.
        """
        return None if reached.ways <= WAYS else 0

    @abstractmethod
    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        """From player `p`'s infoset to what it wins where somebody acts, in chips."""

    def dealt(self, reached: Reached, p: int) -> dict[str, Floats] | None:
        """`here` after every outcome of chance: [s], or None to be asked one by one."""
        return None

    def opening(self, reached: Reached, p: int) -> Floats | None:
        """[s] what player `p` wins at the start of the game; None if only `here` says so."""
        return None

    def mean(self, reached: Reached) -> float:
        """What player 0 wins on average over both players' ranges, in chips."""
        weight, value = reached.reach[0] * reached.weight(0), self.here(reached, 0)
        return weighted_mean((weight[s], value(s)) for s in np.flatnonzero(weight).tolist())

    def mean_after_deal(self, reached: Reached) -> float:
        """`mean` after one of many deals, all of which are asked for."""
        return self.mean(reached)

    def knows(self, reached: Reached) -> bool:
        """Whether the betting so far is that of a strategy behind the values, bet by bet.

        Agents that follow that strategy translate nothing there, which they may do by chance.
        """
        return False


class SelfPlay(ValueFunction):
    """The value function of a strategy that both players follow."""

    whole = True

    def __init__(self, strategy: Strategy) -> None:
        self.followed = Followed(strategy.tree, strategy.probs)

    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        values: list[float] = reached.values(self.followed, p, best=False).tolist()
        return values.__getitem__

    def dealt(self, reached: Reached, p: int) -> dict[str, Floats] | None:
        return reached.dealt_values(self.followed, p)


class CheckDown(ValueFunction):
    """The value function that takes both players to check and call to the end: needs no solving."""

    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        return partial(mean_payoff, reached, p)


def mean_payoff(reached: Reached, p: int, s: int) -> float:
    """What player `p` with infoset `s` wins on average if both only check and call from here on."""
    weight = reached.reach[1 - p] * reached.fitting(p, s)
    total = weight.sum()
    return float(weight @ reached.checked_down(p, s) / total) if total > 0 else 0.0


def weighted_mean(weighted: Iterable[tuple[float, float]]) -> float:
    """The mean of values with weights; 0 if there are none."""
    pairs = list(weighted)
    total = sum(weight for weight, _ in pairs)
    return float(sum(weight * value for weight, value in pairs) / total) if total > 0 else 0.0


def range_policy(agent: Agent, here: Reached) -> Policy | None:
    """[s] what an agent does with each infoset that it may have, 0 with others; None: not known."""
    p = here.player
    held = np.flatnonzero(here.reach[p] * here.weight(p) > 0)
    names = here.names(p)
    policy = policy_of(agent, [names[s] for s in held.tolist()], here.actions)
    if policy is None:
        return None
    probabilities = np.zeros((len(here.reach[p]), len(policy.actions)))
    probabilities[held] = policy.probabilities
    return Policy(policy.actions, probabilities)


@dataclass
class Tally:
    """The estimate of one hand, step by step."""

    estimate: float = 0.0
    """What a player wins without luck, in chips."""
    weight: float = 1.0
    """How likely what happened is, over how often it is drawn."""

    def correct(self, mean: float, value: float, ratio: float = 1.0) -> None:
        """Take out the luck of a step: its expectation is 0, whatever the value function is.

        `mean` is the value function's over all that might have followed, `value` that after what
        did follow; `ratio` is how likely that is over how often it is drawn.
        """
        self.estimate += self.weight * (mean - ratio * value)
        self.weight *= ratio

    def end(self, paid: float) -> None:
        """The hand is over, or is not followed any further: it pays so much on average."""
        self.estimate += self.weight * paid


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
    twins: dict[tuple[str, ...], _Node] = field(default_factory=dict)
    """Where the known agent acts: the same public state, by the policy that was recorded."""
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


@dataclass
class _Followed:
    """A hand that is followed from its start: its state, and what both players have seen."""

    state: State
    seat: int
    """Of the known agent."""
    recorded: Sequence[Sequence[str]] | None
    number: int
    line: list[Move] = field(default_factory=list)
    decisions: int = 0
    """Of the known agent so far."""

    @property
    def opponent(self) -> int:
        return 1 - self.seat

    @property
    def infoset(self) -> str:
        """The opponent's information state."""
        return self.state.information_state(self.opponent) or ""

    def dealt(self, path: Sequence[str]) -> Sequence[str]:
        """Deal what only one player sees; the moves that follow."""
        for k, label in enumerate(path):
            if self.state.is_public(label):
                return path[k:]
            self.state = self.state.child(label)
        return ()

    def move(self, label: str) -> int:
        """Make a move; who made it."""
        player = self.state.current_player()
        self.state = self.state.child(label)
        self.line.append((player, label))
        self.decisions += player == self.seat
        return player

    @property
    def kept(self) -> tuple[str, ...]:
        """What was recorded of the known agent's last decision; empty if nothing was."""
        recorded = self.recorded or ()
        return tuple(recorded[self.decisions - 1]) if self.decisions <= len(recorded) else ()


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
        """What the known agent (0 or 1 of the match) won in a hand, without most of its luck.

        Its strategy is the one that was recorded with the hand (`subgame.play.scoring`); without
        one the agent is asked.
        """
        seat = hand.seats.index(agent)
        path = [action for _, action in hand.moves]
        recorded = hand.policies[agent] if hand.policies else None
        value = self.of_path(path, seat, recorded, hand.number)
        return value if seat == 0 else -value

    def of_path(
        self,
        path: Sequence[str],
        seat: int,
        recorded: Sequence[Sequence[str]] | None = None,
        number: int = 0,
    ) -> float:
        """Player 0's estimate for a hand in which `seat` is the known agent.

        `recorded` are the agent's policies in the hand. Where outcomes of chance are sampled,
        `number` is the seed.
        """
        hand = _Followed(self.start.game.new_initial_state(), seat, recorded, number)
        if self.size > KEPT or seat not in self.tops:
            self.size, self.tops[seat] = 0, _Node(self.start)
        shared = recorded is None or len(self.start.reach[seat]) <= FEW
        node = self.tops[seat] if shared else _Node(self.start)  # ranges of hold'em take memory
        labels = hand.dealt(path)
        tally, s = Tally(), node.reached.number(hand.opponent, hand.infoset)
        self._first_deal(tally, node, hand.opponent, s)
        for label in labels:
            if node.reached.is_over:  # only cards are left, and their mean is paid below
                break
            node = self._step(tally, node, hand, label, s)
            if node.unknown:
                break
            s = node.reached.number(hand.opponent, hand.infoset)
        if node.unknown:
            tally.end(_after(self.start.game, path).returns()[hand.opponent])
        elif node.reached.is_over:
            tally.end(self._paid(node, hand, s))
        else:
            raise SubgameError("The hand has not been played to its end.")
        return -tally.estimate if seat == 0 else tally.estimate

    def _first_deal(self, tally: Tally, node: _Node, o: int, s: int) -> None:
        """Take out the luck of the opponent's first cards."""
        if self.values.whole or len(node.reached.reach[o]) <= FEW:
            tally.correct(self._first(node, o), self._mean(node, o, s))
            return
        values = self.values.opening(node.reached, o)
        if values is not None:
            weight = node.weight(o) * node.reached.reach[o]
            tally.correct(float(weight @ values / weight.sum()), float(values[s]))

    def _step(self, tally: Tally, node: _Node, hand: _Followed, label: str, s: int) -> _Node:
        """One move of the hand: its correction, and the public state that follows."""
        o, player = hand.opponent, hand.move(label)
        if player == o:
            return self._child(node, label, None)
        if player == CHANCE:
            count = self.values.samples(node.reached)
            if count is None:
                tally.correct(self._mean(node, o, s), self._outcome(node, label, o, s))
            elif count:
                names = self._sample(node, hand, s, count)
                drawn = [self._drawn(node, name, o, s) for name in names]
                tally.correct(sum(drawn) / len(drawn), self._drawn(node, label, o, s))
            return self._child(node, label, None)
        if hand.recorded is not None:
            node = node.twins.setdefault(hand.kept, _Node(node.reached))
        mean, after, below = self._over_actions(node, hand, s)
        if not below.unknown:
            tally.correct(mean, after)
        return below

    def _sample(self, node: _Node, hand: _Followed, s: int, count: int) -> list[str]:
        """Some outcomes of chance as likely as they are after this hand's line; seeded by it."""
        here, o = node.reached, hand.opponent
        assert isinstance(here, ReachedRanges)
        random = Random(mixed_seed(hand.number, len(hand.line)))
        return [here.sampled_deal(o, s, random) for _ in range(count)]

    def _drawn(self, node: _Node, name: str, o: int, s: int) -> float:
        """The value after one of many outcomes of chance."""
        child = _Node(node.reached.after(name))
        return self._mean(child, o, child.reached.below(o, s))

    def _paid(self, node: _Node, hand: _Followed, s: int) -> float:
        """What the opponent is paid on average where nobody acts any more."""
        here = node.reached
        if isinstance(here, ReachedRanges) and here.betting.is_showdown:
            random = Random(mixed_seed(hand.number, len(hand.line)))
            return here.mean_showdown(hand.opponent, s, random)
        return mean_payoff(here, hand.opponent, s)

    # Values, all of them the opponent's -----------------------------------------------------------
    def _mean(self, node: _Node, o: int, s: int) -> float:
        """The mean of the value function over the known agent's range."""
        mean = node.means.get(s)
        if mean is None:
            mean = node.means[s] = self._computed(node, o, s)
        return mean

    def _computed(self, node: _Node, o: int, s: int) -> float:
        here = node.reached
        if here.is_over or (here.player == CHANCE and self.values.samples(here) is not None):
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
            dealt = np.flatnonzero(weight).tolist()
            node.first = weighted_mean((weight[s], self._mean(node, o, s)) for s in dealt)
        return node.first

    def _outcome(self, node: _Node, name: str, o: int, s: int) -> float:
        """The value after one outcome of chance, for the infoset that follows from `s`."""
        if node.dealt is None and not node.reached.is_over:
            node.dealt = self.values.dealt(node.reached, o) or {}
        if node.dealt:
            return float(node.dealt[name][s])
        child = self._child(node, name, None)
        return self._mean(child, o, child.reached.below(o, s))

    def _over_actions(self, node: _Node, hand: _Followed, s: int) -> tuple[float, float, _Node]:
        """(mean over the known agent's actions, value after the one taken, what follows it)."""
        o, taken = hand.opponent, hand.line[-1][1]
        if not node.children and not node.unknown:
            self._ask(node, hand)
        if node.unknown:
            return 0.0, 0.0, node
        if taken not in node.children:
            raise SubgameError(
                f"The agent '{self.known.name}' did '{taken}', which its policy does not know."
            )
        follow = node.children[taken]
        if s not in node.means_after:
            children = [(child, child.reached.below(o, s)) for child in node.children.values()]
            node.means_after[s] = weighted_mean(
                (child.weight(o)[below], self._mean(child, o, below))
                for child, below in children
                if child.weight(o)[below] > 0
            )
        return node.means_after[s], self._mean(follow, o, follow.reached.below(o, s)), follow

    def _ask(self, node: _Node, hand: _Followed) -> None:
        """The known agent's actions at a public state, with its range after each of them."""
        policy = None
        if hand.kept:
            policy = unpacked(hand.kept, len(node.reached.reach[hand.seat]))
        elif hand.recorded is None:
            self.known.begin(hand.seat, 0)
            for player, action in hand.line[:-1]:
                self.known.observe(Event(player, action))
            policy = range_policy(self.known, node.reached)
        if policy is None:
            node.unknown = True
            return
        held = node.reached.reach[hand.seat] > 0
        for action, share in zip(policy.actions, policy.probabilities.T, strict=True):
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


def is_known(game: Game, agent: Agent) -> bool:
    """Whether an agent knows its strategy for a whole range, asked at its first decision."""
    if isinstance(agent, Watcher):  # somebody outside, whom no question may reach
        return False
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
