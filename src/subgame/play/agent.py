"""`Agent`: something that acts, for a match, a terminal, a web page and an evaluator alike.

A hand goes like this: `begin` tells each agent its seat and a seed; `observe` tells both what
everybody sees; `act` asks the agent whose turn it is. An agent whose strategy is known also answers
`policy`, for any number of infosets at once. That is what a best response, local best response and
AIVAT need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.errors import ArgumentError, SubgameError
from subgame.games.actions import of_kind
from subgame.games.base import State

Floats = NDArray[np.float64]
Answer = TypeVar("Answer")


class Event(NamedTuple):
    """Something that both players see: an action of a player, or cards that chance deals.

    >>> Event(player=0, action="r300").action, Event(player=-1, action="Qs Jh 2h").player
    ('r300', -1)
    """

    player: int
    """0, 1 or `CHANCE`."""
    action: str


class Policy(NamedTuple):
    """What an agent does at several infosets: its actions there and their probabilities."""

    actions: tuple[str, ...]
    probabilities: Floats  # [infoset, action]


class AgentError(SubgameError):
    """An agent raised an exception, its `__cause__`; the message says which agent and where.

    >>> import subgame as sg
    >>> from subgame.play import match
    >>> class Broken(sg.Agent):
    ...     name = "broken"
    ...     def act(self, infoset, legal):
    ...         raise ZeroDivisionError
    >>> try:
    ...     match("kuhn", [Broken(), "call"], hands=1)
    ... except AgentError as error:
    ...     print(type(error.__cause__).__name__)
    ZeroDivisionError
    """


class Agent(ABC):
    """A program that plays: it is told what happens, and says what it does.

    >>> class First(Agent):
    ...     def act(self, infoset, legal):
    ...         return legal[0]
    >>> First().act("K", ("p", "b"))
    'p'
    """

    name: str = ""
    seat: int = 0
    random: Random
    recorded: Sequence[tuple[str, ...]] = ()
    """Its policies in this hand, where they are recorded: see `subgame.play.scoring`."""

    def begin(self, seat: int, seed: int) -> None:
        """A new hand begins; the agent plays `seat` (0 or 1) and draws only by `seed`."""
        self.seat, self.random = seat, Random(seed)

    def observe(self, event: Event) -> None:  # noqa: B027, most agents need not listen
        """Something happened that both players see; the agent's own actions are among it."""

    @abstractmethod
    def act(self, infoset: str, legal: Sequence[str]) -> str:
        """What to do at an information state, one of `legal` or another size that the game allows.

        `infoset` is the information state of the game that is played.
        """

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy | None:
        """What the agent would do at each of several infosets; None if that is not known.

        The infosets are the seat's own, at the public state that play has reached.
        """
        return None

    def explain(self) -> str:
        """A sentence about the last action; empty if there is nothing to tell."""
        return ""

    def close(self) -> None:  # noqa: B027, most agents hold nothing
        """Play is over: let go of programs and sockets."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Watcher(Agent):
    """An agent that is shown the whole hand: somebody outside plays, and this process deals."""

    def expect(self, hands: int) -> None:
        """A match of this many hands begins."""

    @abstractmethod
    def watch(self, number: int, state: State) -> None:
        """The hand of this number has come to a state; it ends at a terminal one."""


class Mixed(Agent):
    """An agent that draws from its `policy`."""

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        policy = self.policy((infoset,), legal)
        assert policy is not None
        return draw(self.random, policy.actions, policy.probabilities[0].tolist())


class Uniform(Mixed):
    """Takes every legal action with the same probability.

    >>> Uniform().policy(["K"], ("p", "b")).probabilities.tolist()
    [[0.5, 0.5]]
    """

    name = "uniform"

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        return Policy(tuple(legal), np.full((len(infosets), len(legal)), 1 / len(legal)))


class Always(Agent):
    """Always does one kind of thing: folds (and checks for free), calls, or makes the least raise.

    >>> Always("raise").act("AhKh |  | ", ("f", "c", "r200", "r20000"))
    'r200'
    """

    def __init__(self, kind: str) -> None:
        self.name = kind

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return of_kind(self.name, legal)

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        return Policy((of_kind(self.name, legal),), np.ones((len(infosets), 1)))


def asked(
    agent: Agent, hand: int, decision: int, call: Callable[..., Answer], *args: object
) -> Answer:
    """What an agent answers to a call in a hand; its exceptions become an `AgentError`.

    `decision` counts the agent's own decisions in the hand, from 1. Players elsewhere have errors
    of their own.

    >>> asked(Uniform(), 7, 1, Uniform().act, "K", ())
    Traceback (most recent call last):
    subgame.play.agent.AgentError: The agent 'uniform' failed in hand 7, decision 1 (act at 'K'): \
ZeroDivisionError: division by zero.
    """
    try:
        return call(*args)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, AgentError) or isinstance(agent, Watcher):
            raise
        what = getattr(call, "__name__", "call")
        where = f"{what} at '{args[0]}'" if args and isinstance(args[0], str) else what
        place = f"failed in hand {hand}, decision {decision} ({where:.200})"
        raise _failed(agent, place, error) from error


def policy_of(agent: Agent, infosets: Sequence[str], legal: Sequence[str]) -> Policy | None:
    """The strategy of an agent at information states, if it says it; see `asked`.

    >>> policy_of(Uniform(), ["K"], ())
    Traceback (most recent call last):
    subgame.play.agent.AgentError: The agent 'uniform' failed when it was asked for its strategy \
at 'K': ZeroDivisionError: division by zero.
    """
    try:
        return agent.policy(infosets, legal)
    except (MemoryError, AgentError):
        raise
    except Exception as error:
        place = "failed when it was asked for its strategy"
        first = f" at '{infosets[0]:.200}'" if infosets else ""
        raise _failed(agent, place + first, error) from error


def _failed(agent: Agent, place: str, error: Exception) -> AgentError:
    said = str(error).strip().rstrip(".")
    why = said if isinstance(error, SubgameError) else f"{type(error).__name__}: {said}"
    name = agent.name or type(agent).__name__
    return AgentError(f"The agent '{name}' {place}: {why.rstrip(': ')}.")


def decided(agent: Agent, hand: int, decision: int, infoset: str, legal: Sequence[str]) -> str:
    """What an agent does at an information state; see `asked`."""
    action = asked(agent, hand, decision, agent.act, infoset, legal)
    if not isinstance(action, str):
        raise AgentError(
            f"The agent '{agent.name or type(agent).__name__}' answered {action!r:.80} in hand "
            f"{hand}, decision {decision}; an action is a text, here one of {', '.join(legal)}."
        )
    return action


def thresholded(probabilities: Floats, least: float) -> Floats:
    """[infoset, action] without actions below a probability; the most probable one always stays.

    Ganzfried, Sandholm & Waugh 2012: thresholding, and with ``least=1`` purification.

    >>> thresholded(np.array([[0.6, 0.3, 0.1]]), 0.2).round(2).tolist()
    [[0.67, 0.33, 0.0]]
    >>> thresholded(np.array([[0.6, 0.3, 0.1]]), 1).tolist()
    [[1.0, 0.0, 0.0]]
    """
    if not 0 <= least <= 1:
        raise ArgumentError("threshold", f"must be a probability from 0 to 1, not {least}.")
    kept = np.where(
        probabilities >= np.minimum(least, probabilities.max(1, keepdims=True)), probabilities, 0.0
    )
    shares: Floats = kept / kept.sum(1, keepdims=True)
    return shares


def draw(random: Random, actions: Sequence[str], probabilities: Sequence[float]) -> str:
    """One of the actions, drawn by its probability."""
    return choose(random, actions, list(accumulate(probabilities)))


def choose(random: Random, actions: Sequence[str], cumulative: Sequence[float]) -> str:
    """One of the actions, drawn by cumulative probabilities."""
    return actions[min(bisect(cumulative, random.random() * cumulative[-1]), len(actions) - 1)]
