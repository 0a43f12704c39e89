"""`match`: play many hands, on one core or on many, into a log that survives being killed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from subgame import games
from subgame.errors import ArgumentError, SubgameError
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.sizes import STREETS
from subgame.play.agent import Agent, AgentError, Watcher
from subgame.play.log import match_log
from subgame.play.match import Estimate, Hand, observations, play_hand
from subgame.play.named import AgentOptions, named_agents
from subgame.play.scoring import Scorer, recorded
from subgame.show.html import data_frame
from subgame.solve.limits import check_seed
from subgame.solve.workers import result_in
from subgame.tree.log import Log

if TYPE_CHECKING:
    from pandas import DataFrame

LINES = 10
"""The commonest lines that a match keeps."""


@dataclass(frozen=True)
class Group:
    """Some hands of a match, and what the first agent won in them."""

    name: str
    result: Estimate

    @property
    def hands(self) -> int:
        """How many hands there are."""
        return self.result.observations

    def share(self, hands: int) -> float:
        """What the group adds to the mean over all `hands` of the match."""
        return self.result.mean * self.hands / hands

    def as_dict(self, hands: int) -> dict[str, object]:
        """The group as `subgame match --json` prints it."""
        return {
            "name": self.name,
            "hands": self.hands,
            "mean": self.result.mean,
            "share": self.share(hands),
        }


def by_street(game: Game, hands: Sequence[Hand], won: Sequence[float]) -> tuple[Group, ...]:
    """Hands by the street of the last action, in order.

    >>> import subgame as sg
    >>> moves = ((-1, "Js"), (-1, "Ks"), (0, "c"), (1, "c"), (-1, "Kh"), (0, "c"), (1, "c"))
    >>> hand = Hand(0, (0, 1), moves, 1)
    >>> [group.name for group in by_street(sg.games.load("leduc"), [hand], [1.0])]
    ['round 2']
    """
    first = STREETS.index(game.rules.street) if isinstance(game, Holdem) else None

    def name(number: int) -> str:
        return f"round {number + 1}" if first is None else STREETS[first + number]

    groups = _grouped(_street, hands, won)
    return tuple(Group(name(k), Estimate.of(groups[k])) for k in sorted(groups))


def _street(hand: Hand) -> int:
    """How often chance moved between the first and the last action."""
    players = [player for player, _ in hand.moves]
    acted = [k for k, player in enumerate(players) if player != CHANCE]
    return sum(player == CHANCE for player in players[acted[0] : acted[-1]]) if acted else 0


def by_line(hands: Sequence[Hand], won: Sequence[float]) -> tuple[Group, ...]:
    """The commonest lines of play, by the players' actions."""

    def line(hand: Hand) -> str:
        return " ".join(action for player, action in hand.moves if player != CHANCE)

    groups = sorted(_grouped(line, hands, won).items(), key=lambda item: -len(item[1]))
    return tuple(Group(name, Estimate.of(values)) for name, values in groups[:LINES])


def _grouped(
    key: Callable[[Hand], Any], hands: Iterable[Hand], won: Iterable[float]
) -> dict[Any, list[float]]:
    out: dict[Any, list[float]] = {}
    for hand, value in zip(hands, won, strict=True):
        out.setdefault(key(hand), []).append(value)
    return out


CHUNK = 500
"""Hands that a worker plays before it reports."""
IN_FLIGHT = 4
"""Chunks that wait per worker."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class MatchResult:
    """The result of a match, from the first agent's point of view.

    >>> result = match("kuhn", ["call", "fold"], hands=10, seed=1)
    >>> result.hands, result.unit
    (10, 'chips')
    """

    game: str
    agents: tuple[str, str]
    hands: int
    seconds: float
    unit: str
    result: Estimate
    per_seat: tuple[Estimate, Estimate]
    """The first agent's result in seat 0 and in seat 1."""
    streets: tuple[Group, ...]
    """Hands by the street (or round) of their last action."""
    lines: tuple[Group, ...]
    """The commonest lines of play: the players' actions."""
    log: str | None = None
    aivat: Estimate | None = None
    """The first agent's result by AIVAT, with less luck in it."""

    def summary(self) -> dict[str, object]:
        """The result as `subgame match --json` prints it."""
        return {
            "hands": self.hands,
            "seconds": self.seconds,
            "unit": self.unit,
            "mean": self.result.mean,
            "interval95": self.result.interval95,
            "aivat_mean": None if self.aivat is None else self.aivat.mean,
            "aivat_interval95": None if self.aivat is None else self.aivat.interval95,
            "log": self.log,
            "breakdown": {
                "game": self.game,
                "agents": list(self.agents),
                "seats": [estimate.mean for estimate in self.per_seat],
                "streets": [group.as_dict(self.hands) for group in self.streets],
                "lines": [group.as_dict(self.hands) for group in self.lines],
            },
        }

    def to_pandas(self) -> DataFrame:
        """A pandas data frame: all hands, by AIVAT, by seat, by street and by line."""
        seats = [Group(f"seat {seat}", won) for seat, won in enumerate(self.per_seat)]
        whole = [Group("all", self.result)]
        whole += [] if self.aivat is None else [Group("all, by AIVAT", self.aivat)]
        kinds = {"match": whole, "seat": seats, "street": self.streets, "line": self.lines}
        return data_frame(
            {
                "kind": kind,
                "name": group.name,
                "hands": group.hands,
                "mean": group.result.mean,
                "interval95": group.result.interval95,
            }
            for kind, groups in kinds.items()
            for group in groups
        )


class Chunk(NamedTuple):
    """Hands that were played, and the error that ended them."""

    hands: list[Hand]
    error: SubgameError | None = None
    trace: str = ""
    """Where it was raised, which is lost on the way from another process."""

    def failure(self, log: str | Path | None, kept: int) -> SubgameError:
        """The error, with its cause; it says what the log has."""
        error = self.error
        assert error is not None
        cause = error.__cause__ or RuntimeError(f"in another process:\n\n{self.trace}")
        if isinstance(error, AgentError) and log is not None:
            error = AgentError(f"{error} {log} has the {kept:,} hands that were played.")
        error.__cause__ = cause if isinstance(error, AgentError) else error.__cause__
        return error


@dataclass(frozen=True)
class Task:
    """What a worker is told: the game, the agents, and how hands are dealt."""

    game: Game | str
    agents: tuple[Agent | str, Agent | str]
    seed: int
    duplicate: bool
    options: AgentOptions
    aivat: bool = False

    def table(self) -> Table:
        """The game and its agents, made once in each process if they are named."""
        one, two = self.agents
        if isinstance(self.game, str) and isinstance(one, str) and isinstance(two, str):
            return _made(self.game, one, two, self.options, self.aivat)
        game = games.load(self.game) if isinstance(self.game, str) else self.game
        return Table.of(game, self.agents, self.options, self.aivat)

    def play(self, numbers: Sequence[int], table: Table | None = None) -> Chunk:
        """Play the hands of these numbers, up to the first that fails."""
        table = table or self.table()
        hands = list[Hand]()
        for number in numbers:
            try:
                hand = play_hand(table.game, table.agents, number, self.seed, self.duplicate)
                hands.append(hand if table.scorer is None else table.scorer.scored(hand))
            except SubgameError as error:
                return Chunk(hands, error, "".join(traceback.format_exception(error)))
        return Chunk(hands)


class Table(NamedTuple):
    """A game, the agents that play it, and what estimates their hands by AIVAT."""

    game: Game
    agents: tuple[Agent, Agent]
    scorer: Scorer | None

    @classmethod
    def of(
        cls, game: Game, agents: tuple[Agent | str, Agent | str], options: AgentOptions, aivat: bool
    ) -> Table:
        """The agents of a match; with `aivat` one of them is recorded."""
        seated = named_agents(game, agents, options)
        if not aivat:
            return cls(game, seated, None)
        return cls(game, *recorded(game, seated, options.blueprint))


@lru_cache(maxsize=4)
def _made(game: str, one: str, two: str, options: AgentOptions, aivat: bool) -> Table:
    return Table.of(games.load(game), (one, two), options, aivat)


def match(
    game: Game | str,
    agents: Sequence[Agent | str],
    hands: int = 1000,
    *,
    seed: int = 0,
    duplicate: bool = False,
    log: str | Path | None = None,
    aivat: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
    options: AgentOptions | None = None,
) -> MatchResult:
    """Let two agents play a match and estimate what the first one wins.

    An agent is an `Agent` or a name (`subgame.play.named`): ``"uniform"``, ``"call"``, a file. With
    `duplicate` each deal is played twice with the seats exchanged; `hands` is then even. With `log`
    every hand is written to that file as it is played; a match whose log exists goes on where it
    was. With an `executor` of `concurrent.futures`, or one of another library with its interface,
    hands are played in parallel; the result is the same. With `aivat` the result is also estimated
    by AIVAT, from the strategy of the first agent whose strategy is known (`subgame.play.scoring`).
    `options` are for named agents that need a blueprint or solve while they play.

    >>> result = match("kuhn", ["uniform", "call"], hands=200, seed=1)
    >>> result.hands, result.unit
    (200, 'chips')
    """
    if hands < 1:
        raise ArgumentError("hands", f"must be at least 1, not {hands}.")
    if duplicate and hands % 2:
        raise ArgumentError("hands", f"must be even in a duplicate match, not {hands}.")
    if len(agents) != 2:
        raise ArgumentError("agents", f"must be two agents, not {len(agents)}.")
    check_seed(seed)
    task = Task(game, (agents[0], agents[1]), seed, duplicate, options or AgentOptions(), aivat)
    begin = time.perf_counter()
    with ExitStack() as stack:
        table = task.table()
        _seat(stack, table.agents, hands, executor)
        names = (table.agents[0].name, table.agents[1].name)
        book = None
        if log is not None:
            head: dict[str, object] = {"game": str(table.game), "agents": list(names)}
            head |= {"seed": seed, "duplicate": duplicate}
            book = stack.enter_context(closing(match_log(log, head)))
        played = _played(task, table, hands, book, executor, progress)
    result = result_of(table.game, names, played, duplicate)
    less = None if table.scorer is None else table.scorer.result(played, duplicate)
    seconds, kept_at = time.perf_counter() - begin, None if log is None else str(log)
    return replace(result, seconds=seconds, log=kept_at, aivat=less)


def _seat(stack: ExitStack, agents: Sequence[Agent], hands: int, executor: Executor | None) -> None:
    """Tell agents that watch how many hands there are; all agents are closed with the stack."""
    for agent in agents:
        stack.callback(agent.close)
        if isinstance(agent, Watcher):
            if executor is not None:
                raise SubgameError(
                    f"'{agent.name}' plays one hand at a time, so the match cannot be played "
                    "by several processes."
                )
            agent.expect(hands)


def _played(
    task: Task,
    table: Table,
    hands: int,
    book: Log | None,
    executor: Executor | None,
    progress: Progress | None,
) -> list[Hand]:
    """All hands of a match: those in its log, and the others as they are played now."""
    records = [] if book is None else book.records
    kept = {hand.number: hand for hand in map(Hand.of, records)}
    before = frozenset(kept)
    left = (number for number in range(hands) if number not in before)
    failed: Chunk | None = None
    for chunk in _parallel(executor, task, left) if executor else _serial(task, table, left):
        kept |= {hand.number: hand for hand in chunk.hands}
        if book is not None:
            book.append(hand.record() for hand in chunk.hands)
        if progress is not None:
            progress(len(kept), hands)
        failed = failed or (chunk if chunk.error is not None else None)
    if failed is not None:
        raise failed.failure(None if book is None else book.path, len(kept))
    return [kept[number] for number in range(hands)]


def _serial(task: Task, table: Table, numbers: Iterator[int]) -> Iterable[Chunk]:
    """One hand after another; each is in the log before the next one begins."""
    for number in numbers:
        chunk = task.play([number], table)
        yield chunk
        if chunk.error is not None:
            return


def _parallel(executor: Executor, task: Task, numbers: Iterator[int]) -> Iterable[Chunk]:
    """Chunks as they are finished, with a bounded number of them waiting.

    After an error no new ones begin; those that are being played are still counted.
    """
    waiting: set[Future[Chunk]] = set()
    most = IN_FLIGHT * (getattr(executor, "_max_workers", None) or 8)
    while True:
        while len(waiting) < most and (chunk := list(islice(numbers, CHUNK))):
            waiting.add(executor.submit(task.play, chunk))
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            played = result_in(future)
            yield played
            if played.error is not None:
                numbers = iter(())
                waiting = {other for other in waiting if not other.cancel()}


def result_of(
    game: Game, names: tuple[str, str], hands: Sequence[Hand], duplicate: bool
) -> MatchResult:
    """The result of hands that were played, wherever they were dealt."""
    unit, scale = game.unit
    won = [hand.won * scale for hand in hands]
    seats = [[w for hand, w in zip(hands, won, strict=True) if hand.seats[s] == 0] for s in (0, 1)]
    return MatchResult(
        game=str(game),
        agents=names,
        hands=len(hands),
        seconds=0.0,
        unit=unit,
        result=Estimate.of(list(observations(won, duplicate))),
        per_seat=(Estimate.of(seats[0]), Estimate.of(seats[1])),
        streets=by_street(game, hands, won),
        lines=by_line(hands, won),
    )
