"""`gauntlet`: one agent against many opponents, with numbers of deals that are fixed beforehand.

Each deal is played twice, with the seats exchanged, and estimated by AIVAT: in hold'em from both
players' strategies, if the opponent's is known, too (`subgame.play.range_match`), otherwise from
the agent's own (`subgame.play.scoring`). A gauntlet that was stopped goes on from its log.

Some opponents play otherwise than a blueprint: shovers, min-bettors, overbettors, limpers. They are
simple, and no agent should lose to them. Each asks questions that self-play does not: bets of sizes
that the agent's blueprint does not know, and ranges that nobody sensible would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.games import load
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Bet, Betting
from subgame.games.holdem.translation import merged, real_action
from subgame.play.agent import Agent, Event, Policy, draw
from subgame.play.aivat import is_known
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.contests import ALONE, Played, Series, Workers, play_contests
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import BOTH
from subgame.play.lbr import ONE_STREET, SETTINGS, LocalBestResponse
from subgame.play.match import Estimate
from subgame.play.named import AgentOptions, named_agents, whole_blueprint
from subgame.play.range_match import Pair, RangeMatch
from subgame.play.running import Table, Task, result_of
from subgame.play.scoring import aivat_result, values_of

ALL_IN = Bet(1e9, all_in=True)


class Bettor(Agent):
    """Always makes a bet of one size: a fraction of the pot (0: the least bet), or all-in.

    >>> from subgame.games import load
    >>> bettor = Bettor(load("hunl"), "overbet", Bet(2.0))
    >>> bettor.begin(1, 0)
    >>> bettor.act("AsKs |  | ", ())
    'r500'
    """

    def __init__(self, game: Game, name: str, bet: Bet) -> None:
        if not isinstance(game, Holdem):
            raise SubgameError(f"The agent '{name}' plays hold'em, not {game}.")
        self.name, self.bet, self.first = name, bet, game.start()
        self.betting = self.first

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.betting = self.first

    def observe(self, event: Event) -> None:
        if event.player != CHANCE:
            self.betting = self.betting.child(event.action)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return real_action(self.betting, self.bet)

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        return Policy((self.act("", legal),), np.ones((len(infosets), 1)))


class ByBlueprint(BlueprintAgent):
    """Plays a blueprint, with some of its actions changed by `changed` where they are made.

    It goes on as if it had made the blueprint's own action.
    """

    def __init__(
        self, game: Game, name: str, changed: Callable[[Betting, str], str], blueprint: str | None
    ) -> None:
        super().__init__(game, blueprint, name=name)
        self.changed = changed

    def observe(self, event: Event) -> None:
        real, action = self.real, event.action
        if event.player == self.seat:
            event = Event(event.player, self._unchanged(action))
        super().observe(event)
        if event.player != CHANCE:
            self.real = real.child(action)

    def _unchanged(self, action: str) -> str:
        """The blueprint's action that was changed to this one; the same action, if it may be."""
        here = self._here()
        own = [] if here is None else [real_action(self.real, bet) for bet in here.bets]
        origins = [one for one in own if self.changed(self.real, one) == action]
        return action if action in origins or not origins else origins[0]

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        policy = self.policy((infoset,), legal)
        return draw(self.random, policy.actions, policy.probabilities[0].tolist())

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        actions, probabilities = super().policy(infosets, legal)
        changed = [self.changed(self.real, action) for action in actions]
        return Policy(*merged(changed, probabilities))


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


LBR = "lbr:"
DEALS = {
    "blueprint": 2000,
    "single": 2000,
    **{f"{LBR}{setting}": 1000 for setting in SETTINGS if setting not in ONE_STREET},
    "sizes:0.6": 1000,
    "sizes:1.5": 1000,
    "shove": 1000,
    "min-bet": 1000,
    "sixth": 1000,
    "overbet": 1000,
    "call": 1000,
    "limp": 1000,
}
"""Opponents, and how many deals are played against each: for LBR as many as in Lisý & Bowling 2017
and Brown, Sandholm & Amos 2018."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Contest:
    """What the agent won from one opponent, in the unit of the game."""

    opponent: str
    deals: int
    """The number that was fixed beforehand."""
    played: int
    aivat: Estimate
    plain: Estimate

    def as_dict(self) -> dict[str, Any]:
        """The contest as JSON has it."""
        return {
            "opponent": self.opponent,
            "deals": self.deals,
            "played": self.played,
            "aivat_mean": self.aivat.mean,
            "aivat_interval95": self.aivat.interval95,
            "mean": self.plain.mean,
            "interval95": self.plain.interval95,
        }


def opponent(game: Game, agent: Agent, name: str, options: AgentOptions) -> Agent:
    """An opponent of the gauntlet by its name: one of `DEALS`, or an agent of a match."""
    if name.startswith(LBR):
        return LocalBestResponse(game, agent, name.removeprefix(LBR))
    if name == "single":
        whole = whole_blueprint(game, options.blueprint)
        if whole is None:
            raise SubgameError(f"Single-valued search is for whole hold'em, not for {game}.")
        limits = {key: getattr(options, key) for key in ("iterations", "seconds", "threshold")}
        made: Agent = HoldemAgent(game, whole, limited=BOTH, choices=1, **limits)  # type: ignore[arg-type]
        made.name = name
        return made
    return stranger(game, name, options.blueprint) or named_agents(game, (agent, name), options)[1]


def scaled(opponents: Sequence[str], scale: float) -> dict[str, int]:
    """The numbers of deals, times a factor; at least 2. An agent that is no opponent has 1,000."""
    if not scale > 0:
        raise ArgumentError("scale", f"must be above 0, not {scale:g}.")
    return {name: max(2, round(scale * DEALS.get(name, 1000))) for name in opponents}


def check_opponents(names: Sequence[str]) -> tuple[str, ...]:
    """The names, all of them if there are none; a name that nobody has is refused."""
    from subgame.agent_names import check_agent

    for name in names:
        kind, _, rest = name.partition(":")
        if kind == "lbr" and rest not in SETTINGS:
            raise did_you_mean("setting of LBR", rest, SETTINGS)
        if name not in DEALS and kind not in ("lbr", "sizes"):
            check_agent(name)
    return tuple(names) or tuple(DEALS)


class Seating(NamedTuple):
    """A deal of an agent and an opponent; it can be sent to another process if both are named."""

    game: Game | str
    agent: Agent | str
    opponent: str
    seed: int
    options: AgentOptions
    number: int

    def play(self) -> Pair:
        """Play the deal, in both seatings."""
        return _table(*self[:-1])(self.number)


@lru_cache(maxsize=1)
def _player(game: Game | str, agent: Agent | str, options: AgentOptions) -> tuple[Game, Agent]:
    rules = load(game) if isinstance(game, str) else game
    return rules, named_agents(rules, (agent, "uniform"), options)[0]


@lru_cache(maxsize=2 * len(DEALS))
def _table(
    game: Game | str, agent: Agent | str, name: str, seed: int, options: AgentOptions
) -> Callable[[int], Pair]:
    """What plays a deal, by its number. Agents are made once in each process."""
    rules, player = _player(game, agent, options)
    other = opponent(rules, player, name, options)
    if isinstance(rules, Holdem) and is_known(rules, player) and is_known(rules, other):
        values = values_of(rules, player, options.blueprint)
        return RangeMatch(rules, (player, other), values, seed=seed).pair
    table = Table.of(rules, (player, other), options, True)
    return partial(_pair_of_hands, table, Task(rules, table.agents, seed, True, options, True))


def _pair_of_hands(table: Table, task: Task, number: int) -> Pair:
    """A deal against an opponent whose strategy is not known: two hands, scored one by one."""
    chunk = task.play([2 * number, 2 * number + 1], table)
    if chunk.error is not None:
        raise chunk.failure(None, 0)
    names = table.agents[0].name, table.agents[1].name
    plain = result_of(table.game, names, chunk.hands, True).result
    return Pair(number, aivat_result(table.game, chunk.hands, True).mean, plain.mean, 0)


def gauntlet(
    game: Game | str,
    agent: Agent | str,
    deals: dict[str, int],
    *,
    log: Series | None = None,
    seed: int = 0,
    options: AgentOptions | None = None,
    progress: Progress | None = None,
    by: Workers = ALONE,
) -> list[Contest]:
    """What an agent wins from each opponent in `deals`, which says how many deals are played.

    What a `log` has is not played again; `head` is its first line. Opponents are played in turn, so
    that all are done at the same time. With an executor the game and the agent must be names.
    """
    chosen = options or AgentOptions()

    def tell(name: str, played: Played) -> None:
        if progress is not None:
            progress(name, len(played.pairs[name]), deals[name])

    played = play_contests(
        deals,
        lambda name, number: Seating(game, agent, name, seed, chosen, number),
        log=log,
        by=by,
        tell=tell,
    )
    return [
        Contest(name, count, len(played.pairs[name]), *played.estimates(name))
        for name, count in deals.items()
    ]


def head(game: Game | str, agent: str, seed: int, options: AgentOptions) -> dict[str, object]:
    """What the log of a gauntlet begins with: all that results depend on."""
    return {"game": str(game), "agent": agent, "seed": seed, "options": asdict(options)}
