"""Agents that play a stored strategy: as it is, or translated to a game with other bet sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol, runtime_checkable

import numpy as np

from subgame.blueprints.follow import AbstractDecision, FollowedBetting, Menu
from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.translation import (
    ActionMapping,
    is_unlike,
    mapping,
    merged,
    real_action,
)
from subgame.play.agent import Agent, Event, Mixed, Policy, choose
from subgame.tree.strategy import Strategy


class StrategyAgent(Mixed):
    """Plays a strategy in the game that the strategy was made for.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> agent = StrategyAgent(sg.Strategy.uniform(tree))
    >>> agent.begin(seat=0, seed=1)
    >>> agent.policy(["K"], ("p", "b")).probabilities.tolist()
    [[0.5, 0.5]]
    """

    def __init__(self, strategy: Strategy, name: str = "strategy") -> None:
        self.strategy, self.name = strategy, name
        self._known: tuple[dict[str, Row], dict[str, Row]] = ({}, {})

    def row(self, infoset: str) -> Row:
        """The actions and their cumulative probabilities at an infoset of the agent's seat."""
        known = self._known[self.seat]
        known_row = known.get(infoset)
        if known_row is None:
            side = self.strategy.tree.players[self.seat]
            try:
                actions, at = side.lookup(infoset)
            except KeyError:
                raise SubgameError(
                    f"The strategy of '{self.name}' has no infoset '{infoset}' of player "
                    f"{self.seat}; it was made for {self.strategy.tree.game_name}."
                ) from None
            known_row = actions, list(accumulate(self.strategy.probs[self.seat][at].tolist()))
            known[infoset] = known_row
        return known_row

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return choose(self.random, *self.row(infoset))

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        rows = [self.row(infoset) for infoset in infosets]
        cumulative = np.array([sums for _, sums in rows])
        return Policy(rows[0][0], np.diff(cumulative, prepend=0.0, axis=1))


Row = tuple[tuple[str, ...], list[float]]


class BettingState(Protocol):
    """A state of a game with the betting of no-limit hold'em."""

    @property
    def betting(self) -> Betting:
        """The betting so far."""


@runtime_checkable
class BettingGame(Protocol):
    """A game with the betting of no-limit hold'em."""

    def new_initial_state(self) -> BettingState:
        """The initial state."""

    def actions(self, betting: Betting) -> tuple[str, ...]:
        """What may be done there, in the sizes that the game considers."""


class Translated(Agent):
    """Plays a strategy, or an agent, of a game with few bet sizes where any size is allowed.

    Ganzfried & Sandholm 2013, and `subgame.refine.verbs.translate`: the agent follows a hand of
    the smaller game. It takes the opponent's bet for one that the smaller game knows, drawn by the
    mapping, and makes its own bets in the same fraction of the real pot.
    """

    def __init__(
        self,
        strategy: Strategy | Agent,
        smaller: BettingGame,
        game: BettingGame,
        how: str | ActionMapping = "pseudo-harmonic",
        name: str = "strategy",
    ) -> None:
        for checked in (smaller, game):
            if not isinstance(checked, BettingGame):
                raise SubgameError(f"{checked} has no bet sizes, so nothing can be translated.")
        self.inner = strategy if isinstance(strategy, Agent) else StrategyAgent(strategy, name)
        self.menu: Menu = smaller.actions
        self.how, self.name = mapping(how), name
        self.unlike = False
        """Whether the opponent's last bet is unlike the one that it was taken for."""
        self.first = game.new_initial_state().betting, smaller.new_initial_state().betting
        self._known: dict[tuple[str, ...], AbstractDecision] = {}

    def begin(self, seat: int, seed: int) -> None:
        self.inner.begin(seat, seed)
        self.seat, self.random = seat, self.inner.random
        self.real, self.abstract = self.first
        self.unlike = False

    def observe(self, event: Event) -> None:
        if event.player == CHANCE:
            return
        # After `act` the abstract betting does not wait for the agent. A copy of the agent that
        # only observes sees the agent's own actions.
        here, self.unlike = self._here(), False
        if here is not None:
            own = here.made_as(self.real, event.action) if event.player == self.seat else []
            if own:
                self.abstract = here.child(own[0])
            elif shares := here.translated(self.real, event.action, self.how):
                k = self.random.choices(list(shares), list(shares.values()))[0]
                self.abstract = here.child(k)
                self.unlike = is_unlike(self.real.bet(event.action), here.bets[k])
        self.real = self.real.child(event.action)

    def _here(self) -> AbstractDecision | None:
        """The decision of the smaller game that stands for the real one; None if none does."""
        waiting = FollowedBetting(self.real, self.abstract).waiting
        if waiting is None:
            return None
        here = self._known.get(waiting.history)
        if here is None:
            here = self._known[waiting.history] = AbstractDecision(waiting, self.menu(waiting))
        return here

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        here = self._here()
        if here is None:
            return "c"
        k = here.actions.index(self.inner.act(self._abstract_name(infoset), here.actions))
        self.abstract = here.child(k)
        return real_action(self.real, here.bets[k])

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        here = self._here()
        if here is None:
            return Policy(("c",), np.ones((len(infosets), 1)))
        inner = self.inner.policy([self._abstract_name(name) for name in infosets], here.actions)
        assert inner is not None
        real = [real_action(self.real, self.abstract.bet(action)) for action in inner.actions]
        return Policy(*merged(real, inner.probabilities))

    def _abstract_name(self, infoset: str) -> str:
        """The infoset's name in the smaller game: the same cards after the abstract betting."""
        return infoset.removesuffix(str(self.real)) + str(self.abstract)
