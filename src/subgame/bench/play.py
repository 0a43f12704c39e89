"""``subgame bench play``: what matches, local best response and AIVAT measure, and how fast.

Exact answers stand beside the estimates: games here are small enough to be compiled, but for the
throughput of whole hold'em. Speed is in hands a second of process time on one core, after a few
hands that fill caches. All seeds are fixed, so that everything but the speed comes out the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from subgame import games
from subgame.errors import did_you_mean
from subgame.games import holdem
from subgame.games.base import Game
from subgame.play.agent import Agent, Always
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.lbr import LocalBestResponse
from subgame.play.match import Z95, play_hand
from subgame.play.named import known_strategy
from subgame.play.running import match
from subgame.play.searching import LimitedAgent, NestedAgent
from subgame.play.strategies import StrategyAgent
from subgame.solve.evaluate import exploitability, head_to_head
from subgame.solve.solver import solve
from subgame.tree.compile import compile
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from rich.table import Table

Row = dict[str, Any]
LEDUC, FLOP, SPOT, WHOLE = "leduc", "small flop hold'em", "a river spot", "whole hold'em"
TECHNIQUES = ("unsafe", "resolve", "maxmargin", "reach-resolve", "reach-maxmargin")
SEED = 1
ROUGH, FINE = 20, 400
"""Iterations of a blueprint that can be improved, and of one near an equilibrium."""


@lru_cache(maxsize=4)
def _game(name: str) -> Game:
    made: dict[str, Callable[[], Game]] = {
        LEDUC: lambda: games.load("leduc"),
        FLOP: lambda: holdem.nlfh(ranks="789", suits="cds", bets="all: 1x a", stack=300),
        SPOT: lambda: holdem.endgame("Qs Jh 2h 8d 3c", 100, 300, bets="all: 1x a"),
        WHOLE: holdem.hunl,
    }
    return made[name]()


@lru_cache(maxsize=4)
def _tree(name: str) -> PublicTree:
    return compile(_game(name), merge="boards")


@lru_cache(maxsize=8)
def _strategy(name: str, iterations: int) -> Strategy:
    return solve(_tree(name), iterations=iterations).strategy


def _known(name: str, agent: Agent) -> Strategy:
    result = known_strategy(_tree(name), agent)
    assert result is not None
    return result


# What is measured ----------------------------------------------------------------------------
def throughput(quick: bool) -> Iterator[Row]:
    """Hands a second of process time, two agents that play the same stored strategy."""
    for name, hands, bar in ((LEDUC, 20_000, 5000), (FLOP, 10_000, 1000), (WHOLE, 10_000, 1000)):
        game, count = _game(name), hands // 20 if quick else hands
        if name == WHOLE:
            agents: list[Agent] = [BlueprintAgent(game) for _ in range(2)]
        else:
            agents = [StrategyAgent(_strategy(name, ROUGH)) for _ in range(2)]
        for number in range(count // 20):
            play_hand(game, agents, number, SEED + 1)
        began = time.process_time()
        for number in range(count):
            play_hand(game, agents, number, SEED)
        rate = count / (time.process_time() - began)
        what = f"{name}, blueprint against blueprint"
        yield _row(what, rate, "hands/s", at_least=bar, hands=count)


def lbr(quick: bool) -> Iterator[Row]:
    """What local best response wins, exactly: it is a strategy like any other.

    >>> row = next(lbr(quick=True))
    >>> row["what"], round(row["value"], 1)
    ('LBR (fcpa) against always-fold', 750.0)
    """
    for setting, paper in (("fcpa", 750), ("fc", 250)):
        won = _won(FLOP, LocalBestResponse(_game(FLOP), Always("fold"), setting), Always("fold"))
        yield _row(f"LBR ({setting}) against always-fold", won, "mbb/h", exact=paper)
    for name, iterations in ((LEDUC, 0), (LEDUC, ROUGH), (FLOP, 0), (FLOP, 5)):
        game, uniform = _game(name), Strategy.uniform(_tree(name))
        agent = StrategyAgent(_strategy(name, iterations) if iterations else uniform)
        unit, scale = game.unit
        most = scale * exploitability(_tree(name), agent.strategy).mean
        won = _won(name, LocalBestResponse(game, agent, "fcpa"), agent)
        played = f"a blueprint of {iterations} iterations" if iterations else "uniform play"
        yield _row(f"LBR (fcpa) against {played}, {name}", won, unit, at_most=most)


def _won(name: str, one: Agent, two: Agent) -> float:
    """What an agent wins against another, in the game's unit."""
    exact = head_to_head(_tree(name), _known(name, one), _known(name, two))
    return exact.mean * _game(name).unit[1]


def aivat(quick: bool) -> Iterator[Row]:
    """How much of the standard deviation AIVAT removes, and whether its mean is the exact one."""
    for name, hands in ((LEDUC, 5000), (SPOT, 1000)):
        game, tree, ours = _game(name), _tree(name), _strategy(name, FINE)
        count = hands // 20 if quick else hands
        for against, theirs in (("itself", ours), ("random play", Strategy.random(tree, SEED))):
            agents = [StrategyAgent(ours), StrategyAgent(theirs)]
            result = match(game, agents, count, seed=SEED, aivat=True)
            assert result.aivat is not None
            exact = head_to_head(tree, ours, theirs).mean * game.unit[1]
            error = result.aivat.interval95 / Z95
            yield _row(
                f"AIVAT on {name}, near equilibrium against {against}",
                100 * (1 - result.aivat.interval95 / result.result.interval95),
                "% less standard deviation",
                hands=count,
                mean=result.result.mean,
                interval95=result.result.interval95,
                aivat_mean=result.aivat.mean,
                aivat_interval95=result.aivat.interval95,
                exact_mean=exact,
                p_value=math.erfc(abs(result.aivat.mean - exact) / error / math.sqrt(2)),
            )


def agents(quick: bool) -> Iterator[Row]:
    """How exploitable agents that search are on Leduc: their whole strategies, exactly."""
    blueprint = _strategy(LEDUC, ROUGH)
    plain = exploitability(blueprint.tree, blueprint).mean
    yield _row(f"blueprint of {ROUGH} iterations", plain, "chips")
    for kind in (NestedAgent, LimitedAgent):
        for technique in TECHNIQUES[1:3] if quick else TECHNIQUES:
            agent = kind(blueprint, technique=technique, iterations=200, seconds=None)
            gap = exploitability(blueprint.tree, _known(LEDUC, agent)).mean
            yield _row(f"{kind.name}:{technique}", gap, "chips", at_most=plain)


def _row(what: str, value: float, unit: str, **more: object) -> Row:
    return {"what": what, "value": float(value), "unit": unit, **more}


SECTIONS = {"throughput": throughput, "lbr": lbr, "aivat": aivat, "agents": agents}
TITLES = {
    "throughput": "Hands a second a core, process time",
    "lbr": "Local best response, exact values",
    "aivat": "AIVAT",
    "agents": "Exploitability on Leduc, exact",
}


def run(
    only: str | None = None, quick: bool = False, progress: Callable[[str], None] | None = None
) -> dict[str, object]:
    """The rows of all `SECTIONS`, or of one; `quick` plays fewer hands."""
    if only is not None and only not in SECTIONS:
        raise did_you_mean("section", only, SECTIONS)
    tell = progress or (lambda line: None)
    out: dict[str, Any] = {"seed": SEED}
    for name in [only] if only else SECTIONS:
        out[name] = []
        for row in SECTIONS[name](quick):
            tell(f"{row['what']}: {row['value']:,.4g} {row['unit']}")
            out[name].append(row)
    return out


def table(measured: dict[str, Any]) -> Table:
    """One table, section by section, with what each figure should be."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, title="Instruments", title_justify="left")
    shown.add_column("what")
    for column in ("found", "unit", "should be"):
        shown.add_column(column, justify="left" if column == "unit" else "right")
    for name in (section for section in SECTIONS if section in measured):
        shown.add_section()
        shown.add_row(f"[bold]{TITLES[name]}[/]", "", "", "")
        for row in measured[name]:
            bars = {"at_least": "≥", "at_most": "≤", "exact": "="}
            bar = next((f"{sign} {row[k]:,.4g}" for k, sign in bars.items() if k in row), "")
            bar = f"p = {row['p_value']:.2g}" if "p_value" in row else bar
            shown.add_row(row["what"], f"{row['value']:,.4g}", row["unit"], bar)
    return shown
