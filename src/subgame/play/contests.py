"""Contests of many deals: played in turn, by one process or by many, and kept in a log.

A deal depends on its number and the seed alone. So deals that a log has are not played again, and
a series that was stopped has the same share of each contest.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple, Protocol

from subgame.play.log import FORMAT
from subgame.play.match import Estimate
from subgame.play.range_match import Pair
from subgame.solve.workers import done_in_turn
from subgame.tree.log import Kind, Log

KEY = ("contest", "number")
DEALS = Kind(
    "series of deals",
    "subgame gauntlet or subgame reproduce, with --keep",
    FORMAT,
    KEY,
    KEY,
    "The series goes on; deals that the file lacks are played again with it.",
)
FIELDS = ("number", "aivat", "plain", "street", "weight")


class Deal(Protocol):
    """A deal of a contest. It can be sent to another process."""

    def play(self) -> Pair:
        """Play it, in both seatings."""


class Workers(NamedTuple):
    """Who plays the deals: this process or an executor. None begins when `more` says no."""

    executor: Executor | None = None
    more: Callable[[], bool] = lambda: True


ALONE = Workers()


class Played(NamedTuple):
    """The deals of some contests, by contest and number, and the commits that a log names."""

    pairs: dict[str, dict[int, Pair]]
    commits: dict[str, None]

    def estimates(self, contest: str) -> tuple[Estimate, Estimate]:
        """What the first agent wins, by AIVAT and in chips."""
        pairs = self.pairs[contest].values()
        aivat, plain = [pair.aivat for pair in pairs], [pair.plain for pair in pairs]
        return Estimate.of(aivat), Estimate.of(plain)


def in_turn(deals: dict[str, int]) -> list[tuple[str, int]]:
    """All deals, in an order in which every contest has the same share done at any time.

    >>> in_turn({"call": 2, "shove": 1})
    [('call', 0), ('shove', 0), ('call', 1)]
    """
    every = [(name, number) for name, count in deals.items() for number in range(count)]
    return sorted(every, key=lambda one: one[1] / deals[one[0]])


class Series(Log):
    """The log of a series of deals. `head` says of which; a log of another one is refused."""

    def __init__(self, path: Path, head: dict[str, object], commit: str = "not kept") -> None:
        super().__init__(path, DEALS, head)
        self.commit = commit

    def add(self, contest: str, pair: Pair) -> None:
        """Keep a deal, with the commit that played it."""
        self.append([{"contest": contest, **vars(pair), "commit": self.commit}])


def play_contests(
    deals: dict[str, int],
    deal: Callable[[str, int], Deal],
    *,
    log: Series | None = None,
    by: Workers = ALONE,
    tell: Callable[[str, Played], None] = lambda name, played: None,
) -> Played:
    """Play the deals of each contest that the log lacks; `deal` makes one of a contest.

    After each deal `tell` hears its contest and all that was played so far.
    """
    played = Played({name: {} for name in deals}, {})
    for record in [] if log is None else log.records:
        if record["contest"] in deals:
            pair = Pair(*(record[field] for field in FIELDS))
            played.pairs[record["contest"]][pair.number] = pair
            played.commits[record.get("commit", "not kept")] = None
    left = [(name, deal(name, k)) for name, k in in_turn(deals) if k not in played.pairs[name]]
    for (name, _), pair in done_in_turn(_play, left, by.executor, by.more):
        played.pairs[name][pair.number] = pair
        if log is not None:
            played.commits[log.commit] = None
            log.add(name, pair)
        tell(name, played)
    return played


def _play(task: tuple[str, Deal]) -> Pair:
    return task[1].play()
