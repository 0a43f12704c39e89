"""Cells of Brown & Sandholm 2017, Tables 1 and 3 to 5 and Figure 7, with any settings.

    python benchmarks/bucketed_cells.py brown2017-table3 brown2017-fig7 --out FOLDER

computes the cells of tables one by one and writes them to FOLDER/brown2017.cells.json after each,
so that a run that was interrupted continues; tables share their blueprints and cells. ``subgame
reproduce KEY --keep FOLDER/brown2017.cells.json`` reports those with its own settings.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from subgame.abstraction.recipe import Recipe
from subgame.engines.torch.runtime import load_torch
from subgame.papers.brown2017_tables import (
    BLUEPRINT,
    KEYS,
    QUICK_STEPS,
    Column,
    Settings,
    columns,
    compute,
    merged,
)
from subgame.papers.cells import cells_of, made_by


def _options(words: list[str] | None) -> argparse.Namespace:
    """The options of this module as a script."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("keys", choices=KEYS, nargs="+")
    asked.add_argument("--out", type=Path, required=True, help="folder of the cells")
    asked.add_argument("--device", default="cuda", help="cuda, or torch for the CPU")
    asked.add_argument("--quick", action="store_true", help="a small deck and few buckets")
    asked.add_argument("--features", default="strength-ochs", help="see subgame.abstraction")
    asked.add_argument("--showdown", type=int, help="board cards that features look ahead to")
    asked.add_argument("--metric", choices=("l1", "l2"), default="l2")
    asked.add_argument("--textures", type=int, default=60)
    asked.add_argument("--opponents", type=int, default=20)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--buckets", type=int, nargs="*", help="only columns with so many")
    asked.add_argument("--game", help="another game for the same table, by name")
    asked.add_argument("--only", nargs="*", help="only these rows, by the beginning of their names")
    asked.add_argument("--schedule", default="dcfr")
    asked.add_argument("--first", type=int, help="iterations of the blueprint")
    asked.add_argument("--iterations", type=int, help="iterations of each batch of subgames")
    asked.add_argument("--estimate", choices=("last", "response"), default="last")
    return asked.parse_args(words)


def _todo(options: argparse.Namespace, how: Settings) -> list[Column]:
    """The columns that were asked for."""
    todo = merged([column for key in options.keys for column in columns(key, how)])
    if options.buckets:  # in the order given
        todo = [c for count in options.buckets for c in todo if c.count == count]
    if options.game:
        todo = [replace(c, game=options.game) for c in todo]
    if options.only is not None:
        kept = tuple(options.only)
        todo = [
            replace(c, rows={n: g for n, g in c.rows.items() if n.startswith(kept)}) for c in todo
        ]
    return todo


def main(words: list[str] | None = None) -> int:
    """Compute cells, without the command line's libraries."""
    options = _options(words)
    recipe = Recipe(
        options.features,
        options.showdown,
        options.metric,
        options.textures,
        options.opponents,
        seed=options.seed,
    )
    many = QUICK_STEPS if options.quick else (None, None)
    how = Settings(
        recipe,
        options.schedule,
        options.first or many[0],
        options.iterations or many[1],
        options.estimate,
        options.quick,
    )
    todo = _todo(options, how)
    began, cuda = time.perf_counter(), load_torch().cuda

    def tell(what: str, share: float) -> None:
        peak = cuda.max_memory_allocated() / 2**30 if options.device == "cuda" else 0.0
        passed = f"{time.perf_counter() - began:7.1f} s {share:5.0%} {peak:6.1f} GiB at most"
        print(f"{passed} {what}", file=sys.stderr, flush=True)

    with cells_of(options.out / "brown2017.cells.json", made_by(options.device)) as cells:
        compute(options.keys[0], how, cells, options.device, todo, tell)
    for column in todo:
        for name in (BLUEPRINT, *column.rows):
            cell = cells.results[column.key(how, name)]
            seats = ", ".join(f"{won:.4g}" for won in cell["per seat, mbb/h"])
            line = f"{column.game} {column.count} {name}: {cell['mbb/h']:.4g} [{seats}]"
            print(f"{line} {cell['seconds']:.1f} s")
    return 0


if __name__ == "__main__":
    load_torch().set_grad_enabled(False)
    raise SystemExit(main())
