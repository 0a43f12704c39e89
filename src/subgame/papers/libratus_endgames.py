"""Every technique on two endgames that Libratus played, a turn and a river.

The files are not part of the package. They are looked for in the folder that the environment
variable SUBGAME_LIBRATUS names, then in ``libratus_endgames`` and ``../shared/data`` beside it.

Notes:

* The paper gives no figures for these endgames, which were published with Libratus later. What it
  promises is compared: a safe technique leaves the opponent no more than the blueprint at any hand,
  up to the gap to which its gadget game was solved.
* The subgame is the whole endgame: the published ranges are both players' reaches, and every hand
  in them is a root infoset. Nothing happened before, so there are no gifts, and the reach variants
  are their plain forms.
* The blueprint is a few iterations of DCFR on the same tree, weak on purpose. Estimates are its own
  values; their uncertainty is the distance to its CBV.
* Exploitability is exact within the endgame, both players refined; 100 chips are a big blind.
  Margins are chips, given that the opponent came with that hand; the smallest is over all hands of
  both players, however rare. Seconds are for both players together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import subgame as sg
from subgame.games.holdem import Holdem, endgame, libratus
from subgame.papers.report import Found, Progress, Record, marks, panel, row
from subgame.refine.gadgets import Gadget, technique

FOLDERS = ("libratus_endgames", "../shared/data/libratus_endgames")
VARIABLE = "SUBGAME_LIBRATUS"
SPOTS = {
    "turn": ("subgame1.txt", "turn: 1x a; river: 1x a", 200),
    "river": ("subgame3.txt", "river: 0.5x 1x a", 1000),
}
"""Street -> file, bet sizes, iterations of each gadget."""
SCHEDULE = "dcfr"
BLUEPRINT = 50
"""Iterations of the blueprint."""
REFINED = 0.1
SAFE = ("resolve", "maxmargin", "reach-resolve", "reach-maxmargin")
FORMS: dict[str, Gadget] = {
    "unsafe": sg.Unsafe(),
    **{name: technique(name) for name in SAFE},
    "resolve, refined": sg.Resolve(refined=REFINED),
    "maxmargin, refined": sg.Maxmargin(refined=REFINED),
    "estimate-resolve": technique("estimate-resolve"),
    "estimate-maxmargin": technique("estimate-maxmargin"),
    "distributional, hedge": sg.Distributional("hedge"),
    "distributional, respond": sg.Distributional("respond"),
    "reach-estimate-distributional": technique("reach-estimate-distributional"),
}


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Full: the two published endgames; quick: a made-up river with fewer bets."""
    spots = {"river (made up)": (_made_up(), 100)} if quick else published()
    # A second thread does not help on a tree as small as the quick one.
    weak, threads = (10, 1) if quick else (BLUEPRINT, None)
    measured = []
    for k, (name, (game, iterations)) in enumerate(spots.items()):
        tell(f"{name}: blueprint", k / len(spots))
        tree = sg.compile(game)
        blueprint = sg.solve(tree, SCHEDULE, iterations=weak, threads=threads).strategy
        for j, (form, gadget) in enumerate(FORMS.items()):
            tell(f"{name}: {form}", (k + j / len(FORMS)) / len(spots))
            what = {"spot": name, "technique": form, "iterations": iterations}
            measured.append(what | _measure(tree, blueprint, gadget, iterations, game))
    return Found(
        rows=list(_rows(measured, spots)),
        data={"panels": [_panel(measured, name) for name in spots], "found": measured},
        settings={"schedule": SCHEDULE, "blueprint": weak, "refined": REFINED},
    )


def published() -> dict[str, tuple[Holdem, int]]:
    """The endgames from their files."""
    chosen = os.environ.get(VARIABLE)
    folders = [Path(chosen)] if chosen else [Path(folder) for folder in FOLDERS]
    for folder in folders:
        if all((folder / file).is_file() for file, _, _ in SPOTS.values()):
            return {
                street: (libratus.read(folder / file, bets), iterations)
                for street, (file, bets, iterations) in SPOTS.items()
            }
    files = " and ".join(file for file, _, _ in SPOTS.values())
    raise sg.SubgameError(
        f"The endgames of Libratus are not part of the package, and {files} are not in "
        f"{' or '.join(map(str, folders))}: get them from github.com/Sandholm-Lab/LibratusEndgames "
        f"and set {VARIABLE} to their folder, or run with --quick."
    )


def _made_up() -> Holdem:
    """A made-up river that is solved in a moment."""
    ranges = ("22+,A2s+,KTs+,QTs+,JTs,T9s,98s,ATo+,KJo+", "22-JJ,A2s-AJs,KTs+,Q9s+,J9s+,T8s+,97s+")
    return endgame("4s8hTc9h2s", 500, 1500, ranges, "river: 1x a", big_blind=100)


def _measure(
    tree: sg.PublicTree, blueprint: sg.Strategy, gadget: Gadget, iterations: int, game: Holdem
) -> dict[str, object]:
    """One technique: chips, mbb/h, margins, gap and time."""
    refined = sg.refine(
        tree,
        blueprint,
        at="root",
        technique=gadget,
        schedule=SCHEDULE,
        iterations=iterations,
        allow_worse=True,
    )
    gaps = [part.gap for part in refined.parts if part.gap is not None]
    thousandths = 1000 / game.rules.blinds[1]
    return {
        "before": refined.before.mean,
        "after": refined.after.mean,
        "before_mbb": refined.before.mean * thousandths,
        "after_mbb": refined.after.mean * thousandths,
        "margin": refined.margin,
        "bound": refined.bound,
        "gap": max(gaps, default=None),
        "seconds": sum(part.seconds for part in refined.parts),
    }


def _rows(measured: list[Record], spots: Record) -> Iterator[dict[str, object]]:
    for spot in spots:
        cases = [case for case in measured if case["spot"] == spot]
        chips = f"{cases[0]['before']:.4g} chips"
        yield row(f"{spot}: blueprint, mbb/h", None, cases[0]["before_mbb"], chips)
        for case in cases:
            gap = "" if case["gap"] is None else f", gap {case['gap']:.3g}"
            note = (
                f"{case['after']:.4g} chips, smallest margin {case['margin']:.3g}{gap}, "
                f"{case['seconds']:.3g} s"
            )
            yield row(f"{spot}: {case['technique']}, mbb/h", None, case["after_mbb"], note)
        safe = [case for case in cases if case["technique"] in SAFE]
        for slack, up in (("", 0.0), (", up to the gap", 1.0)):
            kept = sum(case["after"] <= case["before"] + up * case["gap"] for case in safe)
            what = f"{spot}: safe techniques no worse than the blueprint{slack}"
            yield row(what, "all", f"{kept} of {len(safe)}")


def _panel(measured: list[Record], spot: str) -> dict[str, object]:
    cases = [case for case in measured if case["spot"] == spot]
    curves = [
        marks("refined", [case["after_mbb"] for case in cases]),
        marks("blueprint", [case["before_mbb"] for case in cases], "|", 12),
    ]
    names = [case["technique"] for case in cases]
    return panel(spot, "exploitability within the endgame, mbb/h", "", curves, names=names)
