"""Li, Schultz, Hennes & Lanctot 2026: VAD-CFR, a rule that a language model evolved.

The paper plots exploitability after 1,000 iterations, and says that VAD-CFR is as good as or better
than all older rules on ten of eleven games, among them Leduc, goofspiel with four cards and liar's
dice with five faces. We run the same iterations of the listing and of our schedules.

Notes:

* The paper prints curves, not numbers, so only the order of the rules is compared. Its DPCFR+ is
  our pdcfr+; its HS-PCFR+(30) is not among ours.
* The rule is the first version's Listing 5. The third version's distilled form, WOP-CFR, is named
  but not defined in what we could read.
* The listing does not say whether infosets share the moving average of regrets; ours do not.
* Games with more than two players are left out: we have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import subgame as sg
from subgame.papers.report import Found, Progress, marks, panel, row
from subgame.solve.volatility import solve_volatility

GAMES = ("leduc", "goofspiel(cards=4)", "liars-dice(faces=5)", "kuhn")
RULES = ("cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "pdcfr+")
VAD = "vad-cfr"
ITERATIONS = 1000


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Full: four games; quick: Leduc alone."""
    games, measured = GAMES[:1] if quick else GAMES, list[dict[str, Any]]()
    for k, name in enumerate(games):
        tell(name, k / len(games))
        tree = sg.compile(sg.games.load(name))
        gaps = {
            rule: sg.solve(tree, rule, iterations=ITERATIONS).exploitability.mean for rule in RULES
        }
        gaps[VAD] = sg.exploitability(tree, solve_volatility(tree, ITERATIONS)).mean
        measured.append({"game": name, "exploitability": gaps})
    return Found(
        rows=list(_rows(measured)),
        data={"panels": [_panel(measured)], "found": measured},
        settings={"iterations": ITERATIONS},
    )


def _rows(measured: list[dict[str, Any]]) -> Iterator[dict[str, object]]:
    for case in measured:
        gaps = case["exploitability"]
        order = sorted(gaps, key=gaps.__getitem__)
        ours = f"{order.index(VAD) + 1} of {len(order)}"
        note = ", ".join(f"{rule} {gaps[rule]:.3g}" for rule in order)
        theirs = "1 or equal" if case["game"] != "kuhn" else None
        yield row(f"{case['game']}: rank of VAD-CFR", theirs, ours, note)


def _panel(measured: list[dict[str, Any]]) -> dict[str, object]:
    names = [case["game"] for case in measured]
    curves = [
        marks(rule, [case["exploitability"][rule] for case in measured]) for rule in (*RULES, VAD)
    ]
    title = f"exploitability after {ITERATIONS:,} iterations"
    return panel(title, "exploitability", "", curves, scale="semilog", names=names)
