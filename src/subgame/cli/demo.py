"""``subgame demo``: show what the package does, in about a minute.

The body is a list of sections. To add one, write a function that takes a `Meter` and returns a
`Section`, and put it into `SECTIONS`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from subgame.cli.arguments import JsonOption
from subgame.cli.common import announce, emit, seconds_text, stdout
from subgame.cli.console import next_steps, number_text, table
from subgame.cli.progress import Meter, load_kernels, warm_up

if TYPE_CHECKING:
    from subgame.refine.report import Refinement
    from subgame.tree.public_tree import PublicTree

FULL = ("cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "pdcfr+")
SCHEDULES = {**dict.fromkeys(FULL, 1000), "mccfr": 20000}
"""Iterations of each. An iteration of MCCFR visits only a sample of the game."""


@dataclass(frozen=True)
class Section:
    """A part of the demo: what is shown, and the same as rows for ``--json``."""

    name: str
    title: str
    body: RenderableType
    rows: list[dict[str, Any]]


def demo_command(json: JsonOption = False) -> None:
    """Show a poker spot and a safe refinement, in about a minute.

    The demo solves a river of hold'em, improves a rough solution of it safely, and compares the
    techniques and the solvers on small poker games.
    """
    from subgame.solve.solver import whole_solves

    console, began = stdout(), time.perf_counter()
    announce("The demo takes about 15 seconds, and a minute or two the first time.")
    announce("The first time, the times below include the compiling of kernels.")
    rows: dict[str, Any] = {}
    for number, make in enumerate(SECTIONS, 1):
        with Meter("the demo") as meter, whole_solves():
            section = make(meter)
        rows[section.name] = section.rows
        if not json:
            console.print(Text(f"{number}. {section.title}", style="bold"))
            console.print(section.body)
    took = time.perf_counter() - began
    if json:
        emit({"sections": rows, "seconds": took})
        return
    console.print(Text(f"The demo took {seconds_text(took)}."))
    next_steps(
        console,
        ("subgame endgame --board 'Qs Jh 2h 8d' --pot 100 --stack 300", "solve a turn"),
        ("subgame play hunl", "play hold'em against the agent"),
        ("subgame serve", "open the workbench in a browser"),
        ("subgame refine leduc uniform --at 'after round 1'", "improve a strategy in its subgames"),
        ("subgame reproduce", "list the papers' experiments"),
        ("subgame --help", "list all commands"),
    )


# Sections ------------------------------------------------------------------------------------
BOARD, POT, STACK, BETS = "Qs Jh 2h 8d 3c", 100, 200, "0.5x 1x a"
RANGES = ("66+,AJ+,KQ,A5s-A2s,JTs,T9s", "22+,A2s+,KTs+,QTs+,JTs,T9s,98s,AT+,KJ+,QJ")
"""The river of the first two sections, and of the tutorial."""
BET = "Qs Jh 2h 8d 3c | r50"
"""Its public state after OOP bets half of the pot."""


def river(meter: Meter) -> Section:
    """A river of hold'em, solved to 0.1 % of the pot, as a grid of hands."""
    import subgame as sg
    from subgame.cli.endgame_view import title
    from subgame.cli.hand_grid import cell_width, draw
    from subgame.spots.endgame import Endgame
    from subgame.tree.ranges.tree import range_tree

    tree = range_tree(sg.compile(sg.holdem.endgame(BOARD, POT, STACK, RANGES, BETS)))
    load_kernels(meter, tree, "hs-dcfr")
    meter.game = "a river"
    result = sg.solve(tree, "hs-dcfr", target=POT / 1000, progress=meter.step)
    spot = Endgame.of(result.strategy)
    decision, console = spot.decision(""), stdout()
    lost = result.exploitability.mean
    figures = (
        f"Of the pot of {POT} chips OOP (who acts first) wins {spot.ev[0]:.1f}, with "
        f"{100 * spot.equity[0]:.0f} % equity, and IP (in position) {spot.ev[1]:.1f}. "
        f"{result.iterations} iterations took {seconds_text(result.seconds)}. A best response "
        f"wins {lost:.2f} chips more, {100 * lost / POT:.2g} % of the pot."
    )
    grid = draw(decision, title(decision), console, cell_width(console))
    row = {"board": BOARD, "ev": list(spot.ev), "equity": list(spot.equity)}
    row |= {key: result.as_dict()[key] for key in ("iterations", "seconds", "exploitability")}
    heading = f"A poker spot: the river {BOARD}, a pot of {POT} and {STACK} behind"
    return Section("river", heading, Group(grid, Text(), Text(figures, "dim"), Text()), [row])


def safely(meter: Meter) -> Section:
    """A rough solution of that river, solved again after a bet: unsafely and safely."""
    import subgame as sg

    tree = sg.compile(sg.holdem.endgame(BOARD, POT, STACK, RANGES, BETS), merge=False)
    rough = sg.solve(tree, "cfr+", iterations=15).strategy
    gadgets = (sg.Unsafe(), sg.Resolve(), sg.Maxmargin())
    numbers = ("before", "after", "margin", "time")
    heading = "The river after 15 iterations, solved again where OOP has bet 50 (% of the pot)"
    shown = table("technique", *numbers, "safe", numbers=numbers, title=heading)
    rows: list[dict[str, Any]] = []
    for number, gadget in enumerate(gadgets):
        meter.update(f"Refining the river by {gadget.name}", "", number / len(gadgets))
        row, cells = _refined(sg.refine(tree, rough, at=BET, technique=gadget, iterations=500))
        rows.append(row)
        shown.add_row(gadget.name, *cells, Text("yes" if gadget.is_safe else "no", style="dim"))
    meaning = (
        "Before and after: how much a best response wins. Unsafe solving assumes that OOP bets "
        "the range of the rough solution; an opponent who bets another range wins more. A safe "
        "technique is never more exploitable than the strategy that it improves.\n"
    )
    title = "Safe refinement: the spot is solved again during play"
    return Section("safely", title, Group(shown, Text(meaning, "dim")), rows)


def _refined(result: Refinement) -> tuple[dict[str, Any], list[str]]:
    """What a refinement changed, as a row for ``--json`` and as cells of a table."""
    measured = {
        "exploitability_before": result.before.mean,
        "exploitability_after": result.after.mean,
        "margin": result.margin,
    }
    cells = [f"{value:.4f}" for value in measured.values()]
    row = {"technique": result.technique.name, **measured, "seconds": result.seconds}
    return row, [*cells, seconds_text(result.seconds)]


def schedules(meter: Meter) -> Section:
    """Every schedule on Kuhn and Leduc, and the linear program."""
    import subgame as sg

    rows: list[dict[str, Any]] = []
    parts: list[RenderableType] = []
    for schedule in SCHEDULES:
        warm_up(meter, schedule)
    for name in ("kuhn", "leduc"):
        meter.game = name
        tree = sg.compile(sg.games.load(name))
        exact = sg.solve_lp(tree)
        results = [
            sg.solve(tree, schedule, iterations=count, progress=meter.step)
            for schedule, count in SCHEDULES.items()
        ]
        numbers = ("iterations", "exploitability", "value", "time")
        shown = table("schedule", *numbers, numbers=numbers, title=_title(tree))
        for result in [*results, exact]:
            answer = result.as_dict()
            keys = ("game", "schedule", "iterations", "seconds", "value", "exploitability")
            rows.append({key: answer[key] for key in keys})
            shown.add_row(
                _what(result.schedule),
                f"{result.iterations:,}",
                f"{max(result.exploitability.mean, 0.0):.2g}",
                number_text(result.value),
                seconds_text(result.seconds),
                end_section=result is results[-1],
            )
        parts.append(shown)
    title = "Solving: seven variants of CFR and a linear program"
    return Section("schedules", title, Group(*parts), rows)


ROUGH, FINE = 30, 500
"""Iterations of the blueprint whose subgames are refined, and of each gadget."""


def techniques(meter: Meter) -> Section:
    """A rough blueprint of Leduc refined after its first betting round by every technique."""
    import subgame as sg

    tree = sg.compile(sg.games.load("leduc"))
    rough = sg.solve(tree, "cfr+", iterations=ROUGH).strategy
    subgames = sg.cut(tree, "after round 1")
    safe = (sg.Resolve(), sg.Maxmargin(), sg.ReachResolve(), sg.ReachMaxmargin())
    others = (sg.Estimate(), sg.Distributional(), sg.ReachEstimateDistributional())
    gadgets = (sg.Unsafe(), *safe, *others, sg.Resolve(refined=0.1))
    title = f"Leduc: a blueprint of {ROUGH} iterations, refined in its five subgames"
    numbers = ("before", "after", "margin", "time")
    shown = table("technique", *numbers, "safe", numbers=numbers, title=title)
    rows: list[dict[str, Any]] = []
    for number, gadget in enumerate(gadgets):
        name = gadget.name + (", refined" if gadget.refined else "")
        meter.update(f"Refining leduc by {name}", "", number / len(gadgets))
        how: dict[str, Any] = {"technique": gadget, "schedule": "pdcfr+", "iterations": FINE}
        result = sg.refine(tree, rough, at=subgames, **how)
        row, cells = _refined(result)
        rows.append(row | {"game": tree.game_name, "technique": name})
        safety = "nearly" if gadget.refined else "yes" if gadget.is_safe else "no"
        shown.add_row(name, *cells, Text(safety, style="dim"))
    meaning = (
        "Before and after: exploitability. Safe: a best response wins no more than before. "
        "Margin: how much less the opponent wins than before, at the worst root infoset.\n"
    )
    title = "Refining: each subgame is solved again, by each of the techniques"
    return Section("techniques", title, Group(shown, Text(meaning, "dim")), rows)


SECTIONS: list[Callable[[Meter], Section]] = [river, safely, techniques, schedules]


def _title(tree: PublicTree) -> str:
    infosets = " + ".join(f"{len(player.names):,}" for player in tree.players)
    return f"{tree.game_name.capitalize()}: {tree.num_nodes:,} public states, {infosets} infosets"


def _what(schedule: str) -> str:
    """A schedule's name and the year of its paper, from its docstring."""
    from subgame.solve.schedule import NAMED

    if schedule not in NAMED:
        return "linear program"
    year = re.match(r".+? \(.*?(\d{4})", NAMED[schedule].__doc__ or "")
    return f"{schedule} ({year[1]})" if year else schedule
