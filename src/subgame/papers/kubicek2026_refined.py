"""Kubíček, Lisý & Sandholm 2026: gadget games have many equilibria, and some are far better.

A refined equilibrium answers well also at root infosets the opponent should not choose. The
paper reports more than 50 % lower exploitability on some games, and that refined Resolve is then
preferable to Maxmargin. We measure both forms on our own games and blueprints.

Notes:

* The paper's games and blueprints differ from ours, so only its claims are compared: more than 50 %
  lower exploitability in the best case, and Resolve preferable to Maxmargin once refined.
* The blueprints are plain CFR after few iterations: weak on purpose, as there is then much to
  refine. Every number is exact exploitability in the whole game, all subgames re-solved
  independently for both players.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import subgame as sg
from subgame.papers.report import Found, Progress, Record, marks, panel, row

SPOTS = (
    ("leduc", "after round 1"),
    ("leduc", "after the board card"),
    ("liars-dice(dice=1, faces=4)", "after the first bid"),
    ("goofspiel(cards=4)", "after trick 1"),
)
REFINED = 0.1
"""Probability with which the opponent keeps entering: constant in the linear program, falling as
1 / sqrt(t) in CFR."""
FORMS = {
    "resolve": sg.Resolve(),
    "resolve, refined": sg.Resolve(refined=REFINED),
    "maxmargin": sg.Maxmargin(),
    "maxmargin, refined": sg.Maxmargin(refined=REFINED),
}


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Full: four frontiers, three blueprints each, by CFR+ and by linear program; quick: one."""
    spots, strengths = (SPOTS[2:3], (10,)) if quick else (SPOTS, (10, 30, 100))
    iterations, measured = 100 if quick else 2000, list[Record]()
    for k, (game, at) in enumerate(spots):
        tree = sg.compile(sg.games.load(game))
        subgames = sg.cut(tree, at)
        for strength in strengths:
            tell(f"{game} {at}, blueprint of {strength} iterations", k / len(spots))
            blueprint = sg.solve(tree, "cfr", iterations=strength).strategy
            refine = partial(sg.refine, tree, blueprint, at=subgames, allow_worse=True)
            for schedule in ("cfr+", "lp"):
                gaps = {
                    name: refine(
                        technique=form, schedule=schedule, iterations=iterations
                    ).after.mean
                    for name, form in FORMS.items()
                }
                case = {"game": game, "at": at, "blueprint": strength, "schedule": schedule}
                before = sg.exploitability(tree, blueprint).mean
                measured.append({**case, "before": before, "after": gaps})
    return Found(
        rows=list(_rows(measured)),
        data={
            "panels": [_panel(measured, schedule) for schedule in ("cfr+", "lp")],
            "found": measured,
        },
        settings={"refined": REFINED, "iterations": iterations},
    )


def _rows(measured: list[Record]) -> Iterator[dict[str, object]]:
    for schedule in ("cfr+", "lp"):
        cases = [case["after"] for case in measured if case["schedule"] == schedule]
        for name in ("resolve", "maxmargin"):
            saved = [1 - case[f"{name}, refined"] / case[name] for case in cases]
            what = f"{name} by {schedule}: refined lowers exploitability by at most"
            note = f"median {np.median(saved):.0%}, least {min(saved):.0%}"
            yield row(what, "> 50 %", f"{max(saved):.0%}", note)
        wins = sum(case["resolve, refined"] <= case["maxmargin, refined"] + 1e-9 for case in cases)
        what = f"by {schedule}: refined Resolve no worse than refined Maxmargin"
        yield row(what, "preferred", f"{wins} of {len(cases)}")
    for case in measured:
        if case["schedule"] == "cfr+":
            name = f"{case['game']} {case['at']}, blueprint {case['blueprint']}"
            gaps = ", ".join(f"{gap:.4f}" for gap in case["after"].values())
            yield row(name, None, gaps, f"from {case['before']:.4f}")


def _panel(measured: list[Record], schedule: str) -> dict[str, object]:
    cases = [case for case in measured if case["schedule"] == schedule]
    curves = [marks(name, [case["after"][name] for case in cases]) for name in FORMS]
    before = marks("blueprint", [case["before"] for case in cases], "|", 12)
    names = [f"{c['game'].partition('(')[0]} {c['at']}, {c['blueprint']}" for c in cases]
    return panel(f"solved by {schedule}", "exploitability", "", [*curves, before], names=names)
