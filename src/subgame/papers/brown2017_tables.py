"""Brown & Sandholm 2017, Tables 1 and 3 to 5 and Figure 7: subgames of blueprints in buckets.

``subgame reproduce KEY --keep FILE`` computes the cells that are missing, writes each to FILE and
reports all. Tables share their blueprints and cells. ``python benchmarks/bucketed_cells.py``
computes cells with other settings.

Notes:

* The bet sizes of the paper's games are not known; ours are those of the games named, which take
  about as much memory. The last street is in buckets, all before it is not abstracted.
* Each figure is what a best response that sees every card wins, the mean of both seats, after every
  subgame after the last deal was solved by the technique.
* Compare ratios to the blueprint row: the arXiv version of the paper prints all of Table 3 at a
  tenth of the NIPS version, whose figures are shown here.
* Combined is not in the paper: the blueprint's range, with Resolve's entries up to a fifth of its
  mass and a tenth of it spread evenly.
* Gifts of Reach-Maxmargin count only what the opponent could have had by folding. Where its rows
  equal Maxmargin's to the last digit, no gift had an effect: probably a coarse blueprint plays so
  badly that no hand does better to fold.
* Turn hold'em has few iterations, 100 for blueprints and 50 for subgames: without buckets 100 leave
  11 mbb/h. The lowest rows would fall further with more of them.
* Gifts of every Reach row count only actions that end the game, as the paper's Sec. 5 says of its
  experiments. Estimates of what any other action would have paid, not split, lose more than the
  blueprint: then no hand of the opponent enters most subgames.
* Adaptive is not in the paper: Combined, with both shares multiplied by the subgame's doubt, the
  mean square of |CBV - CBV~| as a share of the variance of the hands' values. Its factors 2 and 1
  were chosen on a deck of 10 cards and on small flop hold'em.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from subgame.abstraction.blueprint import Blueprint
from subgame.abstraction.cards import abstract
from subgame.abstraction.recipe import Recipe
from subgame.games import load
from subgame.papers.cells import Cells, cell_of, cells_of, made_by
from subgame.papers.last_street import LastStreet, Outcome
from subgame.papers.report import Found, Progress, Record, device, mbb, panel, row
from subgame.refine.gadgets import (
    Adaptive,
    Combined,
    Distributional,
    Estimate,
    Gadget,
    Maxmargin,
    ReachEstimateDistributional,
    ReachMaxmargin,
    Resolve,
    Unsafe,
)
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

PAPER = "Brown & Sandholm 2017, Safe and Nested Subgame Solving for Imperfect-Information Games"
BLUEPRINT = "Blueprint"
ROWS: dict[str, Gadget] = {
    "Unsafe": Unsafe(),
    "Resolve": Resolve(),
    "Maxmargin": Maxmargin(),
    "Reach-Maxmargin": ReachMaxmargin(),
    "Reach-Maxmargin (not split)": ReachMaxmargin(split=False),
    "Estimate": Estimate(),
    "Estimate + Distributional": Distributional(),
    "Reach-Estimate + Distributional": ReachEstimateDistributional(gifts="lower"),
    "Reach-Estimate + Distributional (not split)": ReachEstimateDistributional(
        split=False, gifts="lower"
    ),
    "Combined (not in the paper)": Combined(),
    "Adaptive (not in the paper)": Adaptive(),
}
LATER = ("(not split)", "Combined (not in the paper)")
"""Rows of turn hold'em that are computed after the others."""
SCALES = (0.0, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)
"""Figure 7: what gifts are multiplied by."""
SMALL, LARGE, TURN = "nlfh-small", "nlfh-large", "nlth-no-limp"
SCALED = {f"Reach-Maxmargin, gifts x {k:g}": ReachMaxmargin(scale=k) for k in SCALES}
STEPS = {SMALL: (400, 400), LARGE: (400, 200), TURN: (100, 50)}
"""Iterations of the blueprint, and of each batch of subgames."""
TEXTURED = 100
"""Buckets that each class of boards has at least: with few, boards are not kept apart."""
FIGURES: dict[str, dict[int, tuple[float, ...]]] = {
    SMALL: {
        200: (886.9, 146.8, 601.6, 300.5, 298.8, 248.7, 116.6, 104.4, 102.1, 95.60),
        2000: (373.7, 39.58, 177.9, 139.9, 139.0, 98.07, 62.61, 62.45, 57.98, 49.24),
        30000: (91.28, 5.514, 54.07, 43.43, 41.47, 25.88, 24.23, 34.30, 22.58, 17.33),
    },
    LARGE: {
        200: (283.7, 65.59, 179.6, 134.7, 134.0, 130.3, 52.62, 49.56, 49.33, 49.13),
        2000: (165.2, 38.22, 101.7, 77.89, 72.22, 66.79, 41.93, 38.98, 38.52, 37.22),
        30000: (41.41, 396.8, 23.11, 19.50, 18.80, 16.41, 30.09, 10.54, 9.840, 8.777),
    },
    TURN: {
        200: (684.6, 130.4, 454.9, 427.6, 424.4, 333.4, 120.6, 119.4, 116.8, 113.3),
        2000: (465.1, 85.95, 321.5, 299.6, 298.3, 229.4, 89.43, 87.83, 85.80, 83.24),
        20000: (345.5, 79.34, 251.8, 234.4, 233.5, 175.5, 76.44, 74.35, 72.59, 70.68),
    },
}
"""mbb/h by game and buckets: the blueprint, then `ROWS` in order, without our own."""
QUICK = {"stack": 2000, "ranks": "JQKA", "suits": "hs"}
QUICK_COUNTS = (4, 16)
QUICK_STEPS = (40, 20)


@dataclass(frozen=True)
class Settings:
    """How cells are computed; part of their names, so that those of other settings stay."""

    recipe: Recipe = field(default_factory=lambda: Recipe(opponents=20, textures=60))
    """Boards are kept apart in fewer classes where a class would have few buckets."""
    schedule: str = "dcfr"
    first: int | None = None
    """Iterations of the blueprint; by default those of `STEPS`."""
    iterations: int | None = None
    """Iterations of each batch of subgames."""
    estimate: str = "last"
    """Estimated values: of the "last" iterate, or of the best "response" in the abstraction."""
    quick: bool = False

    def at(self, game: str) -> Settings:
        """These settings with the iterations that a game has."""
        first, iterations = STEPS.get(game, STEPS[LARGE])
        return replace(self, first=self.first or first, iterations=self.iterations or iterations)

    @property
    def by_potential(self) -> Settings:
        """These settings with hands clustered by their potential in whole Texas hold'em."""
        return replace(self, recipe=replace(self.recipe, features="potential", showdown=5))

    def recipe_for(self, count: int) -> Recipe:
        """The recipe of a column with so many buckets."""
        classes = min(self.recipe.textures or 1, count // TEXTURED)
        return replace(self.recipe, textures=classes if classes > 1 else None)

    def game(self, name: str) -> Any:
        return load(name, **QUICK) if self.quick else load(name)


@dataclass(frozen=True)
class Column:
    """One column of a table: a game, its buckets (0: none), and the techniques asked for."""

    game: str
    count: int
    rows: dict[str, Gadget]

    def key(self, how: Settings, technique: str) -> str:
        said = asdict(how.at(self.game))
        said["recipe"] = {k: v for k, v in asdict(how.recipe).items() if v != getattr(Recipe(), k)}
        return f"{self.game} | {self.count} | {technique} | {json.dumps(said)}"


def columns(key: str, how: Settings) -> list[Column]:
    """The columns of a table or figure."""
    if key == "brown2017-fig7":
        return [Column(SMALL, QUICK_COUNTS[-1] if how.quick else 30000, SCALED)]
    games = {"brown2017-table3": [SMALL], "brown2017-table4": [LARGE], "brown2017-table5": [TURN]}
    out = []
    for game in games.get(key, list(FIGURES)):
        counts = QUICK_COUNTS if how.quick else tuple(FIGURES[game])
        if key == "brown2017-table1" or (how.quick and game != SMALL):
            counts = counts[-1:]
        out += [Column(game, count, ROWS) for count in counts]
        out.append(Column(game, 0, {}))
    return out


def compute(
    key: str,
    how: Settings,
    cells: Cells,
    where: str,
    chosen: list[Column] | None = None,
    progress: Progress | None = None,
) -> None:
    """Compute the cells that are missing, column by column."""
    todo = merged(columns(key, how) if chosen is None else chosen)
    tell = progress or (lambda what, share: None)
    trees: dict[str, RangeTree] = {}
    for c, column in enumerate(todo):
        names = [BLUEPRINT, *column.rows]
        missing = {n: cells.lacks(column.key(how, n)) for n in names}
        if not any(missing.values()):
            continue
        if column.game not in trees:
            trees.clear()  # one at a time: they are large
            tell(f"Building {column.game}", c / len(todo))
            trees[column.game] = compile_range_tree(how.game(column.game))
        done = [n for n in names if not missing[n]]
        now = how.at(column.game)
        for technique, cell in _column(column, trees[column.game], now, cells, where, missing):
            cells.put(column.key(how, technique), cell)
            part = "one seat of " if cells.lacks(column.key(how, technique)) else ""
            done += [] if part else [technique]
            share = (c + len(done) / len(names)) / len(todo)
            tell(f"{column.game}, {column.count:,} buckets: {part}{technique} done", share)


def _column(
    column: Column,
    tree: RangeTree,
    how: Settings,
    cells: Cells,
    where: str,
    missing: dict[str, list[int]],
) -> Iterator[tuple[str, dict[str, object]]]:
    """The cells that are missing from a column, seat by seat."""
    assert how.first is not None
    assert how.iterations is not None
    began = time.perf_counter()
    street = ("flop", "turn")[len(tree.streets) - 2]
    cache = None if cells.file is None else cells.file.parent / "clusters"
    on = None if how.quick else where
    counts = {street: column.count} if column.count else {}
    made = abstract(tree, counts, how.recipe_for(column.count), device=on, cache=cache)
    clustered = time.perf_counter() - began
    blueprint = Blueprint(made.buckets, how.schedule, device=where)
    blueprint.advance(how.first)
    if missing[BLUEPRINT]:
        cell = cell_of(blueprint.exploitability().per_seat, time.perf_counter() - began)
        cell["value for player 0, mbb/h"] = mbb(blueprint.value())
        cell["quality"] = {name: asdict(quality) for name, quality in made.quality.items()}
        yield BLUEPRINT, {**cell, "seconds of clustering": clustered}
    jobs = [(n, p) for n, lacking in missing.items() if n != BLUEPRINT for p in lacking]
    if alone := len(tree.streets) > 2:  # then both seats' values are too large to keep
        jobs.sort(key=lambda job: (job[0].endswith(LATER), job[1] ^ job[0].endswith(LATER)))
    seats: dict[int, LastStreet] = {}
    known: dict[tuple[int, Gadget], Outcome] = {}
    for name, p in jobs:
        began = time.perf_counter()
        if p not in seats:
            if alone:
                seats.clear()
            seats[p] = _seat(blueprint, p, how)
        gadget = seats[p].plain(column.rows[name])
        at = p, replace(gadget, name="")
        if at not in known:
            known[at] = seats[p].evaluate(gadget, how.schedule, how.iterations)
        yield name, {str(p): {**known[at]._asdict(), "seconds": time.perf_counter() - began}}


def _seat(blueprint: Blueprint, p: int, how: Settings) -> LastStreet:
    """The subgames of one player, with the opponent's values as estimated."""
    answer = blueprint.response(1 - p) if how.estimate == "response" else None
    return LastStreet(blueprint, p, answer)


def merged(todo: list[Column]) -> list[Column]:
    """Columns of several tables, those of the same blueprint as one."""
    out: dict[tuple[str, int], Column] = {}
    for column in todo:
        at = column.game, column.count
        before = out.get(at, column)
        out[at] = replace(before, rows={**before.rows, **column.rows})
    return list(out.values())


def run(
    key: str,
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Found:
    """On a GPU; quick: a deck of eight cards and few buckets, by PyTorch on the CPU."""
    how = Settings()
    how = replace(how, recipe=replace(how.recipe, seed=seed))
    if quick:
        how = replace(how, first=QUICK_STEPS[0], iterations=QUICK_STEPS[1], quick=True)
    todo = columns(key, how)
    with cells_of(keep) as cells:
        if any(cells.lacks(c.key(how, n)) for c in todo for n in (BLUEPRINT, *c.rows)):
            where = "torch" if quick else device(quick)
            cells.made = made_by(where)
            compute(key, how, cells, where, todo, progress)
    return compared(key, how, cells)


def compared(key: str, how: Settings, cells: Cells) -> Found:
    """The cells that there are beside the paper's, and their ratios to the blueprint row."""
    rows, series, data = [], [], dict[str, Record]()
    for column in columns(key, how):
        paper = FIGURES[column.game].get(column.count, ()) if column.rows is ROWS else ()
        rest = [None] * (1 + len(column.rows) - len(paper))
        theirs = dict(zip((BLUEPRINT, *column.rows), (*paper, *rest), strict=True))
        names = [n for n in theirs if not cells.lacks(column.key(how, n))]
        column_cells = [cells.results[column.key(how, n)] for n in names]
        ours = [cell["mbb/h"] for cell in column_cells]
        title = f"{column.game}, {column.count:,}" if column.count else f"{column.game}, exact"
        for name, mine, cell in zip(names, ours, column_cells, strict=True):
            other = theirs[name]
            ratio = f"{mine / ours[0]:.3f} of the blueprint"
            ratio += "" if other is None else f" (paper {other / paper[0]:.3f})"
            seats = ", ".join(f"{won:.4g}" for won in cell["per seat, mbb/h"])
            rows.append(row(f"{title}: {name}", other, mine, f"{ratio}; seats {seats}"))
        potential = cells.results.get(column.key(how.by_potential, BLUEPRINT))
        if potential is not None and paper:
            mine = potential["mbb/h"]
            note = f"{mine / ours[0]:.3f} of the blueprint" if ours else ""
            rows.append(row(f"{title}: Blueprint, by hold'em potential", paper[0], mine, note))
        if names and not column.count:
            value = -column_cells[0]["value for player 0, mbb/h"]  # who has the big blind
            rows.append(row(f"{title}: value for the small blind", None, value))
        data[title] = dict(zip(names, column_cells, strict=True))
        places = [list(theirs).index(name) for name in names]
        series.append({"label": title, "x": places, "y": ours, "line": ""})
        if paper:
            shown = {"label": f"{title}, paper", "x": list(range(len(paper))), "y": list(paper)}
            series.append({**shown, "line": "", "marker": "x"})
    names = [BLUEPRINT, *columns(key, how)[0].rows]
    title = key.removeprefix("brown2017-").replace("table", "Table ").replace("fig", "Figure ")
    panels = [panel(title, "mbb/h", "", series, scale="semilog", names=names)]
    every = [cell for by_name in data.values() for cell in by_name.values()]
    more = {
        "iterations of blueprint and subgames": {c.game: STEPS[c.game] for c in columns(key, how)},
        "cells made by": sorted({cell.get("made", "not recorded") for cell in every}),
        "seconds of all cells": sum(cell["seconds"] for cell in every),
    }
    return Found(rows, {"panels": panels, **data}, {**asdict(how), **({} if how.quick else more)})


KEYS = tuple(f"brown2017-{name}" for name in ("table1", "table3", "table4", "table5", "fig7"))
table1, table3, table4, table5, fig7 = (partial(run, key) for key in KEYS)
