"""Agents that play a stored strategy: as it is, or translated to a game with other bet sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol, runtime_checkable

import numpy as np

from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.rules import Bet, Betting
from subgame.play.agent import Agent, Event, Mixed, Policy, choose
from subgame.refine.mappings import ActionMapping, heard, mapping
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
        found = known.get(infoset)
        if found is None:
            side = self.strategy.tree.players[self.seat]
            try:
                actions, at = side.lookup(infoset)
            except KeyError:
                raise SubgameError(
                    f"The strategy of '{self.name}' has no infoset '{infoset}' of player "
                    f"{self.seat}; it was made for {self.strategy.tree.game_name}."
                ) from None
            found = actions, list(accumulate(self.strategy.probs[self.seat][at].tolist()))
            known[infoset] = found
        return found

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


class _Known:
    """A place in the smaller game's betting tree, with what follows it; computed once."""

    def __init__(self, betting: Betting, actions: tuple[str, ...]) -> None:
        self.betting, self.actions = betting, actions
        self.bets = [betting.bet(action) for action in actions]
        self.children: dict[str, Betting] = {}

    def child(self, action: str) -> Betting:
        """The betting after an action."""
        found = self.children.get(action)
        if found is None:
            found = self.children[action] = self.betting.child(action)
        return found


class Translated(Agent):
    """Plays a strategy, or an agent, of a game with few bet sizes where any size is allowed.

    Ganzfried & Sandholm 2013, and `subgame.refine.verbs.translate`: the agent follows a hand of
    the smaller game in mind. It takes the opponent's bet for one that the smaller game knows, drawn
    by the mapping, and makes its own bets in the same fraction of the real pot.
    """

    def __init__(
        self,
        strategy: Strategy | Agent,
        smaller: BettingGame,
        game: BettingGame,
        how: str | ActionMapping = "pseudo-harmonic",
        name: str = "strategy",
    ) -> None:
        for each in (smaller, game):
            if not isinstance(each, BettingGame):
                raise SubgameError(f"{each} has no bet sizes, so nothing can be translated.")
        self.inner = strategy if isinstance(strategy, Agent) else StrategyAgent(strategy, name)
        self.smaller, self.game = smaller, game
        self.how, self.name = mapping(how), name
        self.first = game.new_initial_state().betting, smaller.new_initial_state().betting
        self._known: dict[tuple[str, ...], _Known] = {}

    def begin(self, seat: int, seed: int) -> None:
        self.inner.begin(seat, seed)
        self.seat, self.random = seat, self.inner.random
        self.real, self.mind = self.first

    def observe(self, event: Event) -> None:
        if event.player == CHANCE:
            return
        # After `act` the hand in mind does not wait for the agent. A copy of the agent that only
        # observes hears of the agent's own actions.
        if self._follows(event.player):
            own = self._own(event.action) if event.player == self.seat else None
            if own is None:
                self._hear(self.real.bet(event.action))
            else:
                self.mind = self._here().child(own)
        self.real = self.real.child(event.action)

    def _own(self, action: str) -> str | None:
        """The action in mind that the agent made as this real one; None if there is none."""
        here = self._here()
        real = (real_action(self.real, bet) for bet in here.bets)
        return next((a for a, made in zip(here.actions, real, strict=True) if made == action), None)

    def _follows(self, player: int) -> bool:
        """Whether the hand in mind waits for the player who really acts."""
        return self.mind.player == player and self.mind.street == self.real.street

    def _hear(self, said: Bet | None) -> None:
        """Follow an action in mind, translated."""
        here = self._here()
        taken = heard(here.bets, said, self.how)
        if taken:
            k = self.random.choices(list(taken), list(taken.values()))[0]
            self.mind = here.child(here.actions[k])

    def _here(self) -> _Known:
        """Where the hand in mind is."""
        found = self._known.get(self.mind.history)
        if found is None:
            found = self._known[self.mind.history] = _Known(self.mind, self._menu())
        return found

    def _menu(self) -> tuple[str, ...]:
        return self.smaller.actions(self.mind)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        if not self._follows(self.seat):
            return "c"
        here = self._here()
        chosen = self.inner.act(self._in_mind(infoset), here.actions)
        self.mind = here.child(chosen)
        return real_action(self.real, here.bets[here.actions.index(chosen)])

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        if not self._follows(self.seat):
            return Policy(("c",), np.ones((len(infosets), 1)))
        names = [self._in_mind(each) for each in infosets]
        inner = self.inner.policy(names, self._here().actions)
        assert inner is not None
        real = [real_action(self.real, self.mind.bet(action)) for action in inner.actions]
        actions = tuple(dict.fromkeys(real))
        out = np.zeros((len(infosets), len(actions)))
        for k, action in enumerate(real):
            out[:, actions.index(action)] += inner.probabilities[:, k]
        return Policy(actions, out)

    def _in_mind(self, infoset: str) -> str:
        """The infoset's name in the smaller game: the same cards after the betting in mind."""
        return infoset.removesuffix(str(self.real)) + str(self.mind)


def real_action(betting: Betting, meant: Bet | None) -> str:
    """The action that makes a bet of this size here: of the same fraction of the pot.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> real_action(NoLimit().start(), Bet(1.0)), real_action(NoLimit().start(), None)
    ('r300', 'f')
    """
    if meant is None:
        return "f" if betting.to_call else "c"
    if meant.fraction == 0:
        return "c"
    least, most = betting.least_raise, betting.most_raise
    if least is None or most is None:
        return "c"
    called = betting.pot + betting.to_call
    total = most if meant.all_in else max(betting.bets) + round(meant.fraction * called)
    return f"r{min(max(total, least), most)}"
