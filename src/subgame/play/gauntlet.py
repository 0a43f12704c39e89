"""`gauntlet`: one agent against many opponents, with numbers of deals that are fixed beforehand.

Each deal is played twice, with the seats exchanged, and each hand is estimated by AIVAT from the
agent's own strategy (`subgame.play.scoring`). An opponent has a log of its own, so a gauntlet that
was stopped goes on where it was.

Some opponents play otherwise than a blueprint: shovers, min-bettors, overbettors, limpers. They are
simple, and no agent should lose to them. Each asks questions that self-play does not: bets of sizes
that the agent's blueprint does not know, and ranges that nobody sensible would have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.games import load
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Bet, Betting
from subgame.games.holdem.translation import real_action
from subgame.play.agent import Agent, Event
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import BOTH
from subgame.play.lbr import SETTINGS, LocalBestResponse
from subgame.play.log import match_log
from subgame.play.match import Hand
from subgame.play.named import AgentOptions, named_agents, whole_blueprint
from subgame.play.running import Chunk, MatchResult, Table, Task, result_of
from subgame.play.scoring import aivat_result
from subgame.solve.workers import done_in_turn
from subgame.tree.log import Log

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


LBR = "lbr:"
DEALS = {
    "blueprint": 2000,
    "single": 2000,
    **{f"{LBR}{setting}": 1000 for setting in SETTINGS},
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
    """What the agent won from one opponent."""

    opponent: str
    deals: int
    """The number that was fixed beforehand; the result says how many hands were played."""
    result: MatchResult

    def as_dict(self) -> dict[str, Any]:
        """The contest as JSON has it; all sums are the agent's, in the unit of the game."""
        assert self.result.aivat is not None
        plain, less = self.result.result, self.result.aivat
        return {
            "opponent": self.opponent,
            "deals": self.deals,
            "played": self.result.hands // 2,
            "aivat_mean": less.mean,
            "aivat_interval95": less.interval95,
            "mean": plain.mean,
            "interval95": plain.interval95,
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


class Workers(NamedTuple):
    """Who plays the deals of a gauntlet, and for how long.

    With an `executor` deals are played in parallel; the game and the agent must then be names. No
    deal begins after some `seconds`; those that have begun are played to their end, and a contest
    says how many it has.
    """

    executor: Executor | None = None
    seconds: float | None = None


ALONE = Workers()


class Seating(NamedTuple):
    """An agent and an opponent; it can be sent to another process if both are named."""

    game: Game | str
    agent: Agent | str
    opponent: str
    seed: int
    options: AgentOptions

    def play(self, deal: int) -> Chunk:
        """Both hands of a deal."""
        table = _table(self.game, self.agent, self.opponent, self.options)
        task = Task(table.game, table.agents, self.seed, True, self.options, True)
        return task.play([2 * deal, 2 * deal + 1], table)


@lru_cache(maxsize=1)
def _player(game: Game | str, agent: Agent | str, options: AgentOptions) -> tuple[Game, Agent]:
    rules = load(game) if isinstance(game, str) else game
    return rules, named_agents(rules, (agent, "uniform"), options)[0]


@lru_cache(maxsize=2 * len(DEALS))
def _table(game: Game | str, agent: Agent | str, name: str, options: AgentOptions) -> Table:
    """The agents, made once in each process, and what estimates their hands."""
    rules, player = _player(game, agent, options)
    return Table.of(rules, (player, opponent(rules, player, name, options)), options, True)


def gauntlet(
    game: Game | str,
    agent: Agent | str,
    deals: dict[str, int],
    *,
    logs: Path | None = None,
    seed: int = 0,
    options: AgentOptions | None = None,
    progress: Progress | None = None,
    by: Workers = ALONE,
) -> list[Contest]:
    """What an agent wins from each opponent in `deals`, which says how many deals are played.

    With a folder for `logs` each opponent has a log there, and what it has is not played again.
    Opponents are played in turn, so that all are done at the same time.
    """
    chosen, rules = options or AgentOptions(), load(game) if isinstance(game, str) else game
    hands: dict[str, dict[int, Hand]] = {name: {} for name in deals}
    with ExitStack() as stack:
        books = {} if logs is None else _books(rules, agent, deals, logs, seed)
        for name, book in books.items():
            stack.enter_context(closing(book))
            hands[name] = {hand.number: hand for hand in map(Hand.of, book.records)}
        seatings = {name: Seating(game, agent, name, seed, chosen) for name in deals}
        left = [
            (seatings[name], deal)
            for name, deal in in_turn(deals)
            if not {2 * deal, 2 * deal + 1} <= hands[name].keys()
        ]
        began = time.monotonic()

        def more() -> bool:
            return by.seconds is None or time.monotonic() - began <= by.seconds

        for (seating, _), chunk in done_in_turn(_deal, left, by.executor, more):
            name = seating.opponent
            hands[name] |= {hand.number: hand for hand in chunk.hands}
            if name in books:
                books[name].append(hand.record() for hand in chunk.hands)
            if chunk.error is not None:
                raise chunk.failure(logs, len(hands[name]))
            if progress is not None:
                progress(name, len(hands[name]), 2 * deals[name])
    return [
        _contest(rules, agent, name, count, [hands[name][k] for k in sorted(hands[name])])
        for name, count in deals.items()
    ]


def _books(
    game: Game, agent: Agent | str, opponents: Iterable[str], logs: Path, seed: int
) -> dict[str, Log]:
    """The log of each opponent in a folder."""
    logs.mkdir(parents=True, exist_ok=True)
    who = agent if isinstance(agent, str) else agent.name
    head: dict[str, object] = {"game": str(game), "seed": seed, "duplicate": True}
    return {
        name: match_log(
            logs / f"{name.replace(':', '-').replace('/', '-')}.jsonl",
            {**head, "agents": [who, name]},
        )
        for name in opponents
    }


def in_turn(deals: dict[str, int]) -> list[tuple[str, int]]:
    """All deals, in an order in which every opponent has the same share done at any time.

    >>> in_turn({"call": 2, "shove": 1})
    [('call', 0), ('shove', 0), ('call', 1)]
    """
    every = [(name, deal) for name, count in deals.items() for deal in range(count)]
    return sorted(every, key=lambda one: one[1] / deals[one[0]])


def _deal(task: tuple[Seating, int]) -> Chunk:
    return task[0].play(task[1])


def _contest(game: Game, agent: Agent | str, name: str, deals: int, hands: list[Hand]) -> Contest:
    """The contest of the deals of which both hands were played."""
    numbers = {hand.number for hand in hands}
    whole = [hand for hand in hands if hand.number ^ 1 in numbers]
    names = agent if isinstance(agent, str) else agent.name, name
    result = replace(result_of(game, names, whole, True), aivat=aivat_result(game, whole, True))
    return Contest(name, deals, result)
