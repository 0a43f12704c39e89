"""Opponents who play otherwise than a blueprint: shovers, min-bettors, overbettors, limpers.

They are simple, and no agent should lose to them. Each asks questions that self-play does not: bets
of sizes that the agent's blueprint does not know, and ranges that nobody sensible would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Bet, Betting
from subgame.games.holdem.translation import real_action
from subgame.play.agent import Agent, Event
from subgame.play.blueprint_agent import BlueprintAgent

ALL_IN = Bet(1e9, all_in=True)


class Stranger(Agent):
    """An agent that follows the betting of a game of hold'em."""

    def __init__(self, game: Game, name: str) -> None:
        if not isinstance(game, Holdem):
            raise SubgameError(f"The agent '{name}' plays hold'em, not {game}.")
        self.name, self.first = name, game.start()
        self.betting = self.first

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.betting = self.first

    def observe(self, event: Event) -> None:
        if event.player != CHANCE:
            self.betting = self.betting.child(event.action)


class Bettor(Stranger):
    """Always makes a bet of one size: a fraction of the pot (0: the least bet), or all-in.

    >>> from subgame.games import load
    >>> bettor = Bettor(load("hunl"), "overbet", Bet(2.0))
    >>> bettor.begin(1, 0)
    >>> bettor.act("AsKs |  | ", ())
    'r500'
    """

    def __init__(self, game: Game, name: str, bet: Bet) -> None:
        super().__init__(game, name)
        self.bet = bet

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return real_action(self.betting, self.bet)


class ByBlueprint(Stranger):
    """Plays a blueprint, with some of its actions changed by `changed` where they are made."""

    def __init__(
        self, game: Game, name: str, changed: Callable[[Betting, str], str], blueprint: str | None
    ) -> None:
        super().__init__(game, name)
        self.inner, self.changed = BlueprintAgent(game, blueprint), changed

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.inner.begin(seat, seed)

    def observe(self, event: Event) -> None:
        super().observe(event)
        self.inner.observe(event)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return self.changed(self.betting, self.inner.act(infoset, legal))


def limped(betting: Betting, action: str) -> str:
    """A call before the flop, whatever the blueprint would do.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> limped(NoLimit().start(), "r300")
    'c'
    """
    return "c" if betting.street == 0 else action


def resized(factor: float) -> Callable[[Betting, str], str]:
    """Bets and raises of another size; folds, calls and all-ins as they are.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> resized(0.6)(NoLimit().start(), "r300")
    'r220'
    """

    def change(betting: Betting, action: str) -> str:
        bet = betting.bet(action)
        if bet is None or bet.fraction == 0 or bet.all_in:
            return action
        return real_action(betting, Bet(factor * bet.fraction))

    return change


def stranger(game: Game, name: str, blueprint: str | None = None) -> Agent | None:
    """The opponent of a name; None if there is none."""
    bets = {"shove": ALL_IN, "min-bet": Bet(1e-9), "overbet": Bet(2.0), "sixth": Bet(1 / 6)}
    if name in bets:
        return Bettor(game, name, bets[name])
    if name == "limp":
        return ByBlueprint(game, name, limped, blueprint)
    kind, _, factor = name.partition(":")
    if kind == "sizes":
        return ByBlueprint(game, name, resized(float(factor)), blueprint)
    return None
