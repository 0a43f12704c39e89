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
from subgame.cli.progress import Meter, warm_up

if TYPE_CHECKING:
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
    """Show what subgame does, in about a minute.

    The demo solves Kuhn and Leduc poker with every schedule and exactly, evaluates strategies, and
    improves one in its subgames.
    """
    from subgame.solve.solver import whole_solves

    console, began = stdout(), time.perf_counter()
    announce("The demo takes about 20 seconds, and a minute the first time.")
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
        ("subgame games", "list all games"),
        ("subgame solve leduc --target 1e-6", "solve a game yourself"),
        ("subgame exploit kuhn uniform", "see where a strategy loses most"),
        ("subgame refine leduc uniform --at 'after round 1'", "improve a strategy in its subgames"),
        ("subgame reproduce", "list the papers' experiments"),
        ("subgame --help", "list all commands"),
    )


# Sections ------------------------------------------------------------------------------------
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
        shown = table("schedule", "description", *numbers, numbers=numbers, title=_title(tree))
        for result in [*results, exact]:
            answer = result.as_dict()
            keys = ("game", "schedule", "iterations", "seconds", "value", "exploitability")
            rows.append({key: answer[key] for key in keys})
            shown.add_row(
                result.schedule,
                Text(_what(result.schedule), style="dim"),
                f"{result.iterations:,}",
                f"{max(result.exploitability.mean, 0.0):.2g}",
                number_text(result.value),
                seconds_text(result.seconds),
                end_section=result is results[-1],
            )
        parts.append(shown)
    title = "Solving: seven variants of counterfactual regret minimisation and a linear program"
    return Section("schedules", title, Group(*parts), rows)


def evaluation(meter: Meter) -> Section:
    """The exploitability of several strategies, from uniform to exact."""
    import subgame as sg

    tree = sg.compile(sg.games.load("leduc"))
    candidates = {
        "uniform": sg.Strategy.uniform(tree),
        "random": sg.Strategy.random(tree),
        **{
            f"cfr+, {count:,} iterations": sg.solve(tree, "cfr+", iterations=count).strategy
            for count in (10, 100, 1000, 10000)
        },
        "linear program": sg.solve_lp(tree).strategy,
    }
    numbers = ("exploitability", "against player 0", "against player 1")
    shown = table("strategy", *numbers, numbers=numbers, title="Leduc: what a best response wins")
    rows = []
    for name, strategy in candidates.items():
        gap = sg.exploitability(tree, strategy)
        lost = {"exploitability": gap.mean, "exploitability_per_seat": list(gap.per_seat)}
        rows.append({"game": tree.game_name, "strategy": name, **lost})
        shown.add_row(name, f"{max(gap.mean, 0.0):.2g}", *map(number_text, gap.per_seat))
    title = "Evaluating: a best response gives the exact exploitability"
    return Section("judging", title, shown, rows)


ROUGH = 30
"""Iterations of the blueprint whose subgames are refined."""


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
    numbers = ("before", "after", "smallest margin", "time")
    shown = table("technique", *numbers, "safe", numbers=numbers, title=title)
    rows: list[dict[str, Any]] = []
    for number, gadget in enumerate(gadgets):
        name = gadget.name + (" (refined)" if gadget.refined else "")
        meter.update(f"Refining leduc by {name}", "", number / len(gadgets))
        found = sg.refine(tree, rough, at=subgames, technique=gadget, schedule="pdcfr+")
        measured = {
            "exploitability_before": found.before.mean,
            "exploitability_after": found.after.mean,
            "margin": found.margin,
        }
        row = {"game": tree.game_name, "technique": name, **measured, "seconds": found.seconds}
        rows.append(row)
        told = "in the limit" if gadget.refined else "yes" if gadget.is_safe else "no"
        cells = [f"{value:.4f}" for value in measured.values()]
        shown.add_row(name, *cells, seconds_text(found.seconds), Text(told, style="dim"))
    meaning = (
        "  Before and after: exploitability. Safe: a best response wins no more than before.\n"
        "  Margin: how much less the opponent can win at a root infoset than before."
    )
    title = "Refining: each subgame is solved again, by each of the techniques"
    return Section("techniques", title, Group(shown, Text(meaning, "dim")), rows)


SECTIONS: list[Callable[[Meter], Section]] = [schedules, evaluation, techniques]


def _title(tree: PublicTree) -> str:
    infosets = " + ".join(f"{len(player.names):,}" for player in tree.players)
    return f"{tree.game_name.capitalize()}: {tree.num_nodes:,} public states, {infosets} infosets"


def _what(schedule: str) -> str:
    """A schedule's name and year, from its docstring."""
    from subgame.solve.schedule import NAMED

    if schedule not in NAMED:
        return "Linear program, exact"
    words = re.match(r"(.+?) \(.*?(\d{4})", NAMED[schedule].__doc__ or "")
    return f"{words[1]}, {words[2]}" if words else ""
