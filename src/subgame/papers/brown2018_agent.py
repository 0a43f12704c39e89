"""The agent for whole hold'em: depth-limited, single-valued and no search, and LBR against it.

Brown, Sandholm & Amos 2018, Table 1 and Sec. 6.2. Deals are played by `RangeMatch`: both agents'
ranges are known, so AIVAT averages over all hands, and each deal is played in both seatings.

Notes:

* The opponents of the paper are not available. Instead of Baby Tartanian8 and Slumbot the agents
  play the blueprint that comes with the package, with action translation, and each other.
* Results are thousandths of a big blind per hand (mbb/h) of the first agent with 95 % intervals, by
  AIVAT over both players' ranges with values of the blueprint's self-play. Each deal is played in
  both seatings and is one observation. Lines to large pots are drawn more often, and weighted; what
  a fold pays, or an all-in after the flop, is taken exactly.
* nested follows the blueprint before the turn and solves from the turn on; single and limited also
  solve the flop to its end, with one value of a state and with four, and, after an off-tree bet,
  the round before it, with one value and with ten. These make no off-tree bets there; LBR does.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

from subgame.errors import ArgumentError, did_you_mean
from subgame.games import load
from subgame.games.holdem.game import Holdem
from subgame.memory import most_processes
from subgame.papers.report import Found, Progress, Record, commit, marks, panel, row
from subgame.play.agent import Agent
from subgame.play.blueprint_agent import BlueprintAgent, loaded
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.contests import Played, Series, Workers, play_contests
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import BOTH
from subgame.play.lbr import SETTINGS, LocalBestResponse
from subgame.play.range_match import Pair, RangeMatch
from subgame.solve.workers import own_cores, stopping

ITERATIONS, QUICK_ITERATIONS = 100, 20
"""Of each solve. Decisions have no limit of time, so that a seed gives the same figures again."""
PROCESS = 3 * 2**29
"""Bytes that a process takes, about."""


class Contest(NamedTuple):
    """Two agents that play each other."""

    name: str
    agents: tuple[str, str]
    deals: int
    paper: float | None = None


TABLE1 = (
    Contest("nested against blueprint", ("nested", "blueprint"), 2000),
    Contest("nested, purified, against blueprint", ("purified", "blueprint"), 2000),
    Contest("nested, actions below 0.15 left out, against blueprint", ("0.15", "blueprint"), 2000),
    Contest("nested, unsafe on the river, against blueprint", ("unsafe", "blueprint"), 2000),
    Contest("nested by CFR+ against blueprint", ("cfr+", "blueprint"), 2000),
    Contest("single against blueprint", ("single", "blueprint"), 2000),
    Contest("limited against blueprint", ("limited", "blueprint"), 2000),
    Contest("limited against single", ("limited", "single"), 2000),
)
LBR = (
    Contest("limited against LBR, first version", ("limited", "2018-turn"), 1000, 570.0),
    Contest("limited against LBR, second version", ("limited", "2018-flop"), 1000, 1377.0),
    Contest("blueprint against LBR, first version", ("blueprint", "2018-turn"), 1000),
    Contest("blueprint against LBR, second version", ("blueprint", "2018-flop"), 1000),
)


def made(game: Holdem, iterations: int) -> Callable[[str], Agent]:
    """Agents by name, each made once; those that solve alike share what they have solved."""
    blueprint, known = loaded(), dict[str, Agent]()

    def solving(**options: Any) -> HoldemAgent:
        how: Any = {"iterations": iterations, "seconds": None, "shallow": 0.0}  # as in the paper
        return HoldemAgent(game, blueprint, **how, **options)

    def of(name: str) -> Agent:
        if name in known:
            return known[name]
        if name == "blueprint":
            result: Agent = BlueprintAgent(game, blueprint)
        elif name in ("purified", "0.15"):
            result = copy.copy(of("nested"))
            assert isinstance(result, HoldemAgent)
            result.threshold = 1.0 if name == "purified" else float(name)
        else:
            options: dict[str, Record] = {
                "nested": {},
                "unsafe": {"technique": "unsafe"},
                "cfr+": {},
                "single": {"limited": BOTH, "choices": 1},
                "limited": {"limited": BOTH},
            }
            result = solving(**options[name])
            if name == "cfr+":
                result.search = replace(result.search, schedule=name)
        result.name = name
        known[name] = result
        return result

    return of


class Deal(NamedTuple):
    """One deal of a contest; it can be sent to another process."""

    agents: tuple[str, str]
    iterations: int
    seed: int
    number: int

    def play(self) -> Pair:
        """Play it, in both seatings."""
        return _match(self.agents, self.iterations, self.seed).pair(self.number)


@lru_cache(maxsize=1)
def _made(iterations: int) -> tuple[Holdem, Callable[[str], Agent], BlueprintValues]:
    game = load("hunl")
    assert isinstance(game, Holdem)
    return game, made(game, iterations), BlueprintValues(loaded())


@lru_cache(maxsize=len(TABLE1 + LBR))
def _match(agents: tuple[str, str], iterations: int, seed: int) -> RangeMatch:
    """A contest, made once in each process."""
    (one, two), (game, agent, values) = agents, _made(iterations)
    against = LocalBestResponse(game, agent(one), two) if two in SETTINGS else agent(two)
    return RangeMatch(game, [agent(one), against], values, seed=seed)


class Effort(TypedDict, total=False):
    """How much is played at once, and where deals are kept."""

    budget: float | None
    """Core seconds after which no deal begins."""
    keep: Path | None
    processes: int


def table1(
    quick: bool, seed: int, tell: Progress, contests: str = "", **effort: Unpack[Effort]
) -> Found:
    """Full: all contests, or those that are chosen; quick: a few deals of the first."""
    every = (TABLE1[0]._replace(deals=8),) if quick else TABLE1
    how = Settings("table1", QUICK_ITERATIONS if quick else ITERATIONS, seed)
    return _found(chosen(every, contests), how, tell, **effort)


def lbr(
    quick: bool, seed: int, tell: Progress, contests: str = "", **effort: Unpack[Effort]
) -> Found:
    """Full: both versions of LBR against the agent and its blueprint; quick: one, a few deals."""
    every = (LBR[2]._replace(deals=4),) if quick else LBR
    how = Settings("lbr", QUICK_ITERATIONS if quick else ITERATIONS, seed)
    return _found(chosen(every, contests), how, tell, **effort)


def chosen(contests: Sequence[Contest], begin: str) -> list[Contest]:
    """The contests whose names begin so.

    >>> [contest.name for contest in chosen(TABLE1, "limited against s")]
    ['limited against single']
    """
    some = [contest for contest in contests if contest.name.startswith(begin)]
    if not some:
        raise did_you_mean("contest", begin, [contest.name for contest in contests])
    return some


class Settings(NamedTuple):
    """Which contests are played, and how."""

    key: str
    iterations: int
    seed: int

    def head(self) -> dict[str, object]:
        """What a file of deals begins with."""
        name, rest = f"brown2018-{self.key}", {"seed": self.seed, "iterations": self.iterations}
        return {"experiment": name, **rest, "limited": BOTH}


def _found(
    contests: Sequence[Contest],
    how: Settings,
    tell: Progress,
    budget: float | None = None,
    keep: Path | None = None,
    processes: int = 1,
) -> Found:
    """Play the deals that are left, contests in turn, and report what there is."""
    if processes < 1:
        raise ArgumentError("processes", f"must be at least 1, not {processes}.")
    total, many = sum(contest.deals for contest in contests), most_processes(processes, PROCESS)
    agents = {contest.name: contest.agents for contest in contests}
    clock = time.process_time if many == 1 else time.perf_counter
    began = clock()

    def spent() -> float:
        return (clock() - began) * many

    def more() -> bool:
        return budget is None or spent() <= budget

    def report(name: str, played: Played) -> None:
        done = sum(map(len, played.pairs.values())) / total
        done = done if budget is None else min(1.0, spent() / budget)
        tell(f"{name}, deal {len(played.pairs[name]):,}", done)

    with ExitStack() as stack:
        played = play_contests(
            {contest.name: contest.deals for contest in contests},
            lambda name, number: Deal(agents[name], how.iterations, how.seed, number),
            log=None if keep is None else stack.enter_context(Series(keep, how.head(), commit())),
            by=Workers(None if many == 1 else stack.enter_context(stopping(own_cores(many))), more),
            tell=report,
        )
    return _reported(
        contests,
        played,
        {"iterations": how.iterations, "commits": list(played.commits) or [commit()]},
    )


def _reported(contests: Sequence[Contest], all_played: Played, settings: Record) -> Found:
    rows, data, shown = [], {}, []
    contests = [contest for contest in contests if all_played.pairs[contest.name]]
    for contest in contests:
        some = all_played.pairs[contest.name].values()
        aivat, plain = all_played.estimates(contest.name)
        played = sum(pair.street is not None for pair in some)
        count = f"{len(some):,} of {contest.deals:,} deals"
        note = f"{count}, {played:,} of them played twice; chips alone {plain}"
        rows.append(row(f"{contest.name}, mbb/h", contest.paper, f"{aivat}", note))
        data[contest.name] = {
            "mean": aivat.mean,
            "interval95": aivat.interval95 if len(some) > 1 else None,
            "plain": plain.mean,
            "plain_interval95": plain.interval95 if len(some) > 1 else None,
            "deals": len(some),
            "planned": contest.deals,
            "played": played,
        }
        shown.append(aivat)
    spread = [0.0 if estimate.observations < 2 else estimate.interval95 for estimate in shown]
    curves = [marks("mean, 95 % interval", [estimate.mean for estimate in shown], spread=spread)]
    names = [contest.name for contest in contests]
    drawn = panel("What the first agent wins", "mbb/h", "", curves, names=names)
    return Found(rows, {"contests": data, "panels": [drawn]}, settings)
