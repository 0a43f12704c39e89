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
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from subgame.games import load
from subgame.games.holdem.game import Holdem
from subgame.papers.report import Found, Progress, Record, marks, panel, row
from subgame.play.agent import Agent
from subgame.play.blueprint_agent import BlueprintAgent, loaded
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.plans import BOTH
from subgame.play.lbr import LocalBestResponse
from subgame.play.log import FORMAT
from subgame.play.match import Estimate
from subgame.play.range_match import Pair, RangeMatch
from subgame.tree.log import Kind, Log

ITERATIONS, QUICK_ITERATIONS = 100, 20
KEY = ("contest", "number")
DEALS = Kind(
    "series of deals",
    "subgame reproduce --keep",
    FORMAT,
    KEY,
    KEY,
    "The series goes on; deals that the file lacks are played again with it.",
)
"""Of each solve. Decisions have no limit of time, so that a seed gives the same figures again."""
Agents = dict[str, Agent]


class Contest(NamedTuple):
    """Two agents that play each other."""

    name: str
    agents: tuple[str, str]
    deals: int
    paper: float | None = None


TABLE1 = (
    Contest("nested against blueprint", ("nested", "blueprint"), 4000),
    Contest("nested, purified, against blueprint", ("purified", "blueprint"), 4000),
    Contest("nested, actions below 0.15 left out, against blueprint", ("0.15", "blueprint"), 4000),
    Contest("nested, unsafe on the river, against blueprint", ("unsafe", "blueprint"), 4000),
    Contest("nested by CFR+ against blueprint", ("cfr+", "blueprint"), 4000),
    Contest("single against blueprint", ("single", "blueprint"), 2000),
    Contest("limited against blueprint", ("limited", "blueprint"), 1000),
    Contest("limited against single", ("limited", "single"), 1000),
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
        return HoldemAgent(game, blueprint, iterations=iterations, seconds=None, **options)

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


def table1(
    quick: bool, seed: int, tell: Progress, budget: float | None = None, keep: Path | None = None
) -> Found:
    """Full: all contests; quick: a few deals of the first, with few iterations."""
    contests = [TABLE1[0]._replace(deals=8)] if quick else TABLE1
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    game = load("hunl")
    assert isinstance(game, Holdem)
    agent, values = made(game, iterations), BlueprintValues(loaded())
    matches = {
        contest.name: RangeMatch(
            game,
            [agent(name) for name in contest.agents],
            values,
            seed=seed,
        )
        for contest in contests
    }
    return _found("table1", contests, matches, iterations, seed, tell, budget, keep)


def lbr(
    quick: bool, seed: int, tell: Progress, budget: float | None = None, keep: Path | None = None
) -> Found:
    """Full: both versions of LBR against the agent and its blueprint; quick: one, a few deals."""
    contests = [LBR[2]._replace(deals=4)] if quick else LBR
    iterations = QUICK_ITERATIONS if quick else ITERATIONS
    game = load("hunl")
    assert isinstance(game, Holdem)
    agent, values = made(game, iterations), BlueprintValues(loaded())
    matches = {}
    for contest in contests:
        name, setting = contest.agents
        against = LocalBestResponse(game, agent(name), setting)
        matches[contest.name] = RangeMatch(game, [agent(name), against], values, seed=seed)
    return _found("lbr", contests, matches, iterations, seed, tell, budget, keep)


def _found(
    key: str,
    contests: Sequence[Contest],
    matches: dict[str, RangeMatch],
    iterations: int,
    seed: int,
    tell: Progress,
    budget: float | None,
    keep: Path | None,
) -> Found:
    """Play the deals that are left, contests in turn, and report what there is."""
    head = {
        "experiment": f"brown2018-{key}",
        "seed": seed,
        "iterations": iterations,
        "limited": BOTH,
    }
    pairs: dict[str, dict[int, Pair]] = {contest.name: {} for contest in contests}
    total, began = sum(contest.deals for contest in contests), time.process_time()
    with nullcontext() if keep is None else Log(keep, DEALS, head) as log:
        for record in [] if log is None else log.records:
            if record["contest"] in pairs:
                names = ("number", "aivat", "plain", "street", "weight")
                pair = Pair(*(record[name] for name in names))
                pairs[record["contest"]][pair.number] = pair
        while True:
            left = [contest for contest in contests if len(pairs[contest.name]) < contest.deals]
            spent = time.process_time() - began
            if not left or (budget is not None and spent > budget):
                break
            next_one = min(left, key=lambda contest: len(pairs[contest.name]) / contest.deals)
            number = next(k for k in range(next_one.deals) if k not in pairs[next_one.name])
            done = sum(map(len, pairs.values())) / total
            done = done if budget is None else spent / budget
            tell(f"{next_one.name}, deal {number + 1:,}", done)
            pair = matches[next_one.name].pair(number)
            pairs[next_one.name][number] = pair
            if log is not None:
                log.append([{"contest": next_one.name, **vars(pair)}])
    return _reported(contests, pairs, iterations)


def _reported(
    contests: Sequence[Contest], pairs: dict[str, dict[int, Pair]], iterations: int
) -> Found:
    rows, data, shown = [], {}, []
    contests = [contest for contest in contests if pairs[contest.name]]
    for contest in contests:
        some = list(pairs[contest.name].values())
        aivat, plain = (Estimate.of([getattr(p, k) for p in some]) for k in ("aivat", "plain"))
        played = sum(pair.street is not None for pair in some)
        note = f"{len(some):,} deals, {played:,} of them played twice; chips alone {plain}"
        rows.append(row(f"{contest.name}, mbb/h", contest.paper, f"{aivat}", note))
        data[contest.name] = {
            "mean": aivat.mean,
            "interval95": aivat.interval95 if len(some) > 1 else None,
            "plain": plain.mean,
            "plain_interval95": plain.interval95 if len(some) > 1 else None,
            "deals": len(some),
            "played": played,
        }
        shown.append(aivat)
    spread = [0.0 if estimate.observations < 2 else estimate.interval95 for estimate in shown]
    curves = [marks("mean, 95 % interval", [estimate.mean for estimate in shown], spread=spread)]
    names = [contest.name for contest in contests]
    drawn = panel("What the first agent wins", "mbb/h", "", curves, names=names)
    return Found(rows, {"contests": data, "panels": [drawn]}, {"iterations": iterations})
