"""Zhang & Sandholm 2021: subgames cut by order of knowledge (KLSS) beside those of public states.

The paper says that plain 1-KLSS at every infoset can raise exploitability, that it lowered it in
all its experiments, and that it cannot raise it if each solution becomes part of the blueprint ("in
turn") or if subgames are chosen that do not overlap ("apart").

Notes:

* The paper's games are larger and its blueprints others, so only these statements are compared.
* Blueprints are CFR after 8 iterations and the uniform strategy. All infosets of a frontier are
  solved for both players, by CFR+. Every figure is exact exploitability of the whole strategy.
* Where OpenSpiel has the game, its exploitability of each strategy is computed too; the largest
  difference is a row.
* Abrupt dark hex on 3x3 does not fit: its histories cannot be listed. 2x3 has 149,953.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import subgame as sg
from subgame.errors import SubgameError
from subgame.interop import openspiel
from subgame.papers.report import Found, Progress, Record, marks, panel, row
from subgame.refine.sequence.knowledge import apart
from subgame.refine.verbs.refine import refine_in_turn
from subgame.tree.public_tree import PublicTree

SPOTS = (
    ("dark-hex", "after 2 turns"),
    ("phantom-ttt(abrupt=true)", "after 2 turns"),
    ("battleship(rows=1, cols=4, ship=2, shots=3)", "after 2 shots"),
    ("goofspiel(cards=4)", "after trick 1"),
    ("leduc", "after round 1"),
    ("phantom-ttt(rows=2, cols=4, abrupt=true)", "after 3 turns"),
    ("dark-hex(rows=2, cols=3)", "after 3 turns"),
)
TECHNIQUES = ("unsafe", "resolve", "maxmargin")
SAFE = ("1-KLSS in turn", "1-KLSS apart")


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Full: seven frontiers and two blueprints each; quick: the first with fewer iterations."""
    spots = SPOTS[:1] if quick else SPOTS
    how = {"schedule": "cfr+", "iterations": 100 if quick else 200}
    cases = list[Record]()
    for k, (game, at) in enumerate(spots):
        tree = sg.compile(sg.games.load(game))
        blueprints = {
            "uniform": sg.Strategy.uniform(tree),
            "cfr 8": sg.solve(tree, "cfr", iterations=8).strategy,
        }
        for name, blueprint in blueprints.items():
            tell(f"{game} {at}, blueprint {name}", k / len(spots))
            cases.append({"game": game, "at": at, "blueprint": name})
            cases[-1] |= measured(tree, blueprint, at, how)
    return Found(
        rows=list(_rows(cases)),
        data={"panels": [_panel(cases)], "cases": cases},
        settings=dict(how),
    )


def measured(tree: PublicTree, blueprint: sg.Strategy, at: str, how: Record) -> dict[str, object]:
    """Exploitability by every way to cut and every technique, and OpenSpiel's where it runs."""
    common, known = sg.cut(tree, at), sg.cut(tree, at, knowledge=1)
    made = {"blueprint": blueprint}
    for technique in TECHNIQUES:
        for label, parts in ((technique, common), (f"1-KLSS {technique}", known)):
            made[label] = sg.refine(
                tree, blueprint, at=parts, technique=technique, allow_worse=True, **how
            ).strategy
    made["1-KLSS in turn"] = refine_in_turn(
        tree, blueprint, at=known, technique="maxmargin", allow_worse=True, **how
    ).strategy
    alone = apart(known)
    made["1-KLSS apart"] = sg.refine(
        tree, blueprint, at=alone, technique="maxmargin", allow_worse=True, **how
    ).strategy
    gaps = {label: sg.exploitability(tree, strategy).mean for label, strategy in made.items()}
    theirs = _openspiel(tree)
    out: Record = {
        "exploitability": gaps,
        "subgames": [len(common), len(known), len(alone)],
    }
    if theirs is not None:
        out["openspiel"] = {label: theirs(strategy) for label, strategy in made.items()}
    return out


def _openspiel(tree: PublicTree) -> Callable[[sg.Strategy], float] | None:
    """OpenSpiel's exploitability of a strategy, if it is installed and has the game."""
    try:
        import pyspiel

        game = openspiel.pyspiel_game(tree)
    except (ImportError, SubgameError):
        return None
    return lambda strategy: float(pyspiel.exploitability(game, openspiel.policy(strategy)))


def _rows(cases: list[Record]) -> Iterator[dict[str, object]]:
    for technique in TECHNIQUES[1:]:
        label = f"1-KLSS {technique}"
        raised = [case for case in cases if _change(case, label) > 1e-4]
        worst = max(_change(case, label) for case in cases)
        note = f"largest rise {worst:.4f}" if raised else ""
        what = f"plain {label} raises exploitability"
        yield row(what, "possible; never seen", f"{len(raised)} of {len(cases)}", note)
    for label in SAFE:
        worst = max(_change(case, label) for case in cases)
        yield row(f"{label}, Maxmargin: largest rise", "0", f"{max(worst, 0.0):.1e}")
    apart_by = [
        abs(case["openspiel"][label] - gap)
        for case in cases
        if "openspiel" in case
        for label, gap in case["exploitability"].items()
    ]
    if apart_by:
        note = f"{len(apart_by)} strategies"
        yield row(
            "OpenSpiel's exploitability: largest difference", None, f"{max(apart_by):.1e}", note
        )
    for case in cases:
        gaps = ", ".join(f"{k} {v:.4f}" for k, v in case["exploitability"].items())
        yield row(f"{case['game']} {case['at']}, {case['blueprint']}", None, gaps)


def _change(case: Record, label: str) -> float:
    gaps = case["exploitability"]
    return float(gaps[label] - gaps["blueprint"])


def _panel(cases: list[Record]) -> dict[str, object]:
    labels = ["maxmargin", "1-KLSS resolve", "1-KLSS maxmargin", *SAFE]
    curves = [marks(label, [case["exploitability"][label] for case in cases]) for label in labels]
    before = marks("blueprint", [case["exploitability"]["blueprint"] for case in cases], "|", 12)
    names = [f"{case['game']} {case['at']}, {case['blueprint']}" for case in cases]
    return panel("1-KLSS", "exploitability", "", [*curves, before], names=names)
