"""Brown & Sandholm 2017, Table 2: off-tree bets in flop hold'em, nested solving and translation.

``subgame reproduce brown2017-table2 --keep FILE`` computes the cells one by one, writes each to
FILE and continues from there after an interruption. Where the command line's libraries are not
installed, ``subgame.papers.KEYS["brown2017-table2"].run(keep=Path(FILE))`` does the same.

Notes:

* The game is the paper's: flop hold'em with 20,000 chips and blinds of 50 and 100, bets of 1/2, 3/4
  and 1 pot (one before the flop, three on it), no card abstraction. The player whose exploitability
  is measured has no bet of 3/4; the opponent has one everywhere.
* Each figure is what a best response wins beyond the value of the game that is played, the mean
  over both seats, computed exactly: the answers to all off-tree bets on all 1,755 flops, answers to
  off-tree bets after answers included, are laid over the larger game as one strategy. The value of
  owning the bet of 3/4 alone is known to the gap stated.
* The paper's figures are read as thousandths of a chip, a hundredth of what is printed: always
  folding loses 750 mbb/h, so that 1,465 mbb/h for translation cannot be meant.
* Maxmargin is the form of the paper's Appendix A, Maxmargin among the equilibria of Resolve:
  Resolve first, then every alternative payoff is raised to what Resolve leaves. The plain gadget
  lets other hands lose as much as the hand for which the bet of 3/4 is really better (6.1 mbb/h, of
  which 0.8 are the value of the bet, in an earlier run with 600 iterations).
* With subgames solved exactly no technique can lose less than Resolve to an off-tree action at the
  opponent's first decision (tests/refine/test_nested.py); later, what Resolve makes small is a
  bound.
* The figures contain what the blueprint loses in the smaller game, which is stated.
  docs/results/notes.md says what else they contain, and what is known of the expensive rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypedDict, Unpack

import subgame as sg
from subgame.abstraction.blueprint import Blueprint
from subgame.errors import did_you_mean
from subgame.games.holdem import count_boards, nlfh
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.papers.cells import Cells, cells_of, made_by
from subgame.papers.report import Found, Progress, device, marks, mbb, panel, row
from subgame.refine.answers import Method
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import range_tree


@dataclass(frozen=True, repr=False)
class Wider(Holdem):
    """Hold'em in which the player `seat` has the bet sizes `wider`, and the opponent `bets`."""

    wider: BetSizes = field(default_factory=BetSizes)
    seat: int = 0

    def actions(self, betting: Betting) -> tuple[str, ...]:
        return betting.actions(self.wider if betting.player == self.seat else self.bets)

    @property
    def parameters(self) -> dict[str, object]:
        return {**super().parameters, "wider": str(self.wider), "seat": self.seat}


def widened(game: Holdem, wider: BetSizes | str, seat: int) -> Wider:
    """`game` with the bet sizes `wider` for the player `seat`.

    >>> from subgame.games.holdem import endgame
    >>> small = endgame("Qs Jh 2h 8d 3c", pot=100, stacks=200, bets="river: 1x")
    >>> large = widened(small, "river: 0.5x 1x", 0)
    >>> small.actions(small.start()), large.actions(large.start())
    (('c', 'r100'), ('c', 'r50', 'r100'))
    """
    sizes = BetSizes.parse(wider) if isinstance(wider, str) else wider
    own = {name: getattr(game, name) for name in Holdem.__dataclass_fields__}
    return Wider(**own, wider=sizes, seat=seat)


KNOWN = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 3"
LARGER = "preflop: 0.5x 0.75x 1x / cap 1; flop: 0.5x 0.75x 1x / cap 3"
BLUEPRINT, VALUE = "Blueprint", "Value of the bet"
TRANSLATION = "randomized pseudo-harmonic mapping"
SCHEDULE = "hs-dcfr"
LEXICOGRAPHIC = sg.Maxmargin(lexicographic=True)
REACH = sg.ReachMaxmargin(lexicographic=True)
"""Gifts are those of actions that end the game (Sec. 5)."""
ROWS: dict[str, tuple[sg.Gadget, Method, float]] = {
    "Resolve": (sg.Resolve(), "inexpensive", 150.2),
    "Maxmargin": (LEXICOGRAPHIC, "inexpensive", 122.0),
    "Reach-Maxmargin": (REACH, "inexpensive", 119.1),
    "Unsafe (expensive)": (sg.Unsafe(), "expensive", 148.3),
    "Reach-Maxmargin (expensive)": (REACH, "expensive", 149.2),
}
"""Technique, whether the subgame starts before the bet (expensive), and what the paper prints."""
PRINTED = {TRANSLATION: 1465.0, **{name: paper for name, (_, _, paper) in ROWS.items()}}
UNIT = 100
"""The paper's figures are read as thousandths of a chip; the big blind is 100."""


def label(name: str) -> str:
    """A row's name as it is shown: which form of Maxmargin it has.

    >>> label("Resolve"), label("Reach-Maxmargin (expensive)")
    ('Resolve', 'Reach-Maxmargin, lexicographic (expensive)')
    """
    lexicographic = name in ROWS and ROWS[name][0].lexicographic
    return name.replace("Maxmargin", "Maxmargin, lexicographic") if lexicographic else name


@dataclass(frozen=True)
class Steps:
    """Iterations of each part; the names of cells contain those that they depend on."""

    blueprint: int = 4000
    value: int = 2000
    subgames: int = 800
    expensive: int = 400
    schedule: str = SCHEDULE
    """Of the blueprint and of the subgames; the value of the bet does not depend on it."""
    quick: bool = False

    def key(self, name: str) -> str:
        """The name of a cell."""
        parts = ["value"] if name == VALUE else ["blueprint"]
        if name in ROWS:
            parts.append("expensive" if ROWS[name][1] == "expensive" else "subgames")
        counts = {part: getattr(self, part) for part in (*parts, "quick")}
        schedule = SCHEDULE if name == VALUE else self.schedule
        return f"table2 | {name} | {json.dumps({'schedule': schedule, **counts})}"

    def games(self) -> tuple[Holdem, str]:
        """The smaller game, and the bets of the larger one."""
        if not self.quick:
            return nlfh(bets=KNOWN), LARGER
        known, larger = (bets.replace("cap 3", "cap 1") for bets in (KNOWN, LARGER))
        return nlfh(bets=known, ranks="JQKA", suits="hs"), larger


class Chosen(TypedDict, total=False):
    """Some of `Steps`."""

    schedule: str
    blueprint: int
    subgames: int
    expensive: int


FULL, QUICK = Steps(), Steps(100, 100, 60, 60, quick=True)


def named(rows: str) -> tuple[str, ...]:
    """The rows that a list like "Resolve, Unsafe (expensive)" names; all rows if it is empty."""
    chosen = tuple(name.strip() for name in rows.split(",") if name.strip())
    for name in chosen:
        if name not in PRINTED:
            raise did_you_mean("row of Table 2", name, PRINTED)
    return chosen or tuple(PRINTED)


def compute(
    steps: Steps, cells: Cells, tell: Progress, rows: Sequence[str] = tuple(PRINTED)
) -> None:
    """Compute the cells of some rows that are missing, seat by seat."""
    missing = {name: cells.lacks(steps.key(name)) for name in (BLUEPRINT, VALUE, *rows)}
    if not any(missing.values()):
        return
    where = "torch" if steps.quick else device(quick=False)
    cells.made = made_by(where)
    tell("Building the game", 0.0)
    (game, larger), count = steps.games(), steps.blueprint
    blueprint = sg.solve(
        _compiled(game), steps.schedule, iterations=count, check_every=count, device=where
    )
    if missing[BLUEPRINT]:
        within = blueprint.exploitability
        seats = [{"won": won, "seconds": blueprint.seconds / 2} for won in within.per_seat]
        cells.put(steps.key(BLUEPRINT), {str(p): seat for p, seat in enumerate(seats)})
    trees: dict[int, sg.PublicTree] = {}
    for k, name in enumerate((VALUE, *rows), 1):
        for p in missing[name]:
            tell(f"{name}, player {p}", k / (len(rows) + 2))
            if p not in trees:
                trees[p] = _compiled(widened(game, larger, 1 - p))
            began, cell = time.perf_counter(), dict[str, object]()
            if name == VALUE:
                cell = _value(trees[p], p, steps.value, where)
            elif name == TRANSLATION:
                played = sg.translate(trees[p], blueprint.strategy, "pseudo-harmonic", device=where)
                cell = {"won": sg.exploitability(trees[p], played, device=where).per_seat[p]}
            else:
                cell = _nested(trees[p], blueprint.strategy, p, name, steps, where)
            seconds = time.perf_counter() - began
            cells.put(steps.key(name), {str(p): {**cell, "seconds": seconds}})


def _compiled(game: sg.Game) -> sg.PublicTree:
    """Every hand for itself, as nested solving wants it."""
    return sg.compile(game, merge="boards", memory_limit=None)


def _value(tree: sg.PublicTree, p: int, iterations: int, where: str) -> dict[str, object]:
    """What the opponent of player `p`, who has the bet, wins at equilibrium, and the gap.

    It lies between what either player's strategy guarantees.
    """
    made = Blueprint(Buckets(range_tree(tree), {}), SCHEDULE, device=where)
    made.advance(iterations)
    lost = made.exploitability().per_seat
    return {"won": (lost[p] - lost[1 - p]) / 2, "gap": sum(lost)}


def _nested(
    tree: sg.PublicTree, blueprint: sg.Strategy, p: int, name: str, steps: Steps, where: str
) -> dict[str, object]:
    """Every off-tree bet against player `p` answered by one of `ROWS`."""
    gadget, method, _ = ROWS[name]
    nested = sg.nest(
        tree,
        blueprint,
        technique=gadget,
        method=method,
        player=p,
        schedule=steps.schedule,
        iterations=steps.expensive if method == "expensive" else steps.subgames,
        device=where,
    )
    margin = min(float((a.cbv - a.values)[a.weight > 0].min()) for a in nested.answers)
    won = nested.after.per_seat[p]
    return {"won": won, "margin": margin, "off-tree bets": len(nested.answers)}


def run(
    quick: bool,
    seed: int,
    tell: Progress,
    keep: Path | None = None,
    rows: str = "",
    **chosen: Unpack[Chosen],
) -> Found:
    """On a GPU; quick: a deck of eight cards and one bet on the flop, by PyTorch on the CPU.

    `rows` are the names of some rows of `PRINTED`, and `chosen` some of `Steps`.
    """
    steps, names = replace(QUICK if quick else FULL, **chosen), named(rows)
    with cells_of(keep) as cells:
        compute(steps, cells, tell, names)
    return compared(steps, cells, names)


def compared(steps: Steps, cells: Cells, names: Sequence[str] = tuple(PRINTED)) -> Found:
    """The cells of some rows beside the paper's, less the value of the game that is played."""
    by_name = {name: cells.results[steps.key(name)] for name in (BLUEPRINT, VALUE, *names)}
    value, rows, ours = by_name[VALUE], [], dict[str, float]()
    for name in names:
        printed, both = PRINTED[name], (by_name[name]["per seat, mbb/h"], value["per seat, mbb/h"])
        seats = [won - worth for won, worth in zip(*both, strict=True)]
        ours[name] = sum(seats) / 2
        note = f"printed {printed:g}; seats {seats[0]:.4g}, {seats[1]:.4g}"
        rows.append(row(label(name), printed / UNIT, ours[name], note))
    gap = ", ".join(f"{mbb(gain):.2g}" for gain in value["gap"])
    if set(ours) == set(PRINTED):
        best = min(ROWS, key=lambda name: ours[name])
        times = ours[TRANSLATION] / ours[best]
        printed = PRINTED[TRANSLATION] / min(PRINTED.values())
        note = f"times; {label(best)}"
        rows.append(row("translation against the best nested row", printed, times, note))
    rows += [
        row("the value of owning the bet", None, value["mbb/h"], f"to gaps of {gap} mbb/h"),
        row("the blueprint in the smaller game", None, by_name[BLUEPRINT]["mbb/h"]),
    ]
    curves = [
        marks("paper, in thousandths of a chip", [PRINTED[name] / UNIT for name in ours]),
        marks("ours", list(ours.values()), "D"),
    ]
    title = "Table 2: exploitability against bets of 3/4 pot"
    shown = panel(title, "mbb/h", "", curves, scale="semilog", names=[label(name) for name in ours])
    game, larger = steps.games()
    settings = {"game": str(game), "larger": larger, "flops": count_boards(game)[1]}
    data = {"panels": [shown], "mbb/h": ours, "cells": by_name}
    made = sorted({cell.get("made", "not recorded") for cell in by_name.values()})
    return Found(rows, data, {**settings, **asdict(steps), "cells made by": made})
