"""An estimate of how long Tables 3 and 4 of Brown & Sandholm 2017 take on the CPU.

    python benchmarks/brown2017_hours.py --out FOLDER

times iterations of PyTorch on one core, on some of the 1,755 flops, and writes the hours of all
cells to FOLDER/brown2017-hours.json: iterations times cells. A cell itself is not computed, and
iterations of a blueprint, a twentieth of all, count as those of subgames.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.runtime import load_torch
from subgame.games import load
from subgame.papers.brown2017_tables import FIGURES, LARGE, ROWS, SMALL, STEPS
from subgame.papers.cells import made_by
from subgame.papers.report import Record
from subgame.refine.gadgets import Gadget, Resolve
from subgame.refine.learners import GadgetInputs
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.tree.ranges.tree import compile_range_tree

PLAN = parse("dcfr")


def measured(game: str, flops: int, **deck: Any) -> float:
    """CPU seconds of an iteration of the subgames on all flops, with Resolve."""
    holdem: Any = load(game, **deck)
    tree = compile_range_tree(holdem)
    engine = TorchRangeEngine(tree, "cpu", scratch=1 << 28)
    every, batch = engine.frames[-1].units, engine.stage(tree.streets[-1:], units=slice(0, flops))
    ways = batch.roots(0)
    inputs = GadgetInputs(1, ways, ways, ways, ways * 0, ways * 0)
    gadget: Gadget = Resolve()
    subgames = Cfr(batch, learner=gadget.learner(inputs), averages=(True, False))
    subgames.advance(PLAN.discounts(1, 2), 1)
    began = time.process_time()
    subgames.advance(PLAN.discounts(2, 3), 2)
    return (time.process_time() - began) / 2 * every / flops


def hours(game: str, seconds: float) -> float:
    """All cells of a table: a blueprint for each column, every technique in both seats."""
    (first, iterations), columns = STEPS[game], len(FIGURES[game])
    return columns * (first + 2 * len(ROWS) * iterations) * seconds / 3600


def main(words: list[str] | None = None) -> int:
    """Measure and write."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path, required=True, help="folder of the result")
    asked.add_argument("--flops", type=int, default=16, help="flops that iterations are timed on")
    options = asked.parse_args(words)
    load_torch().set_num_threads(1)
    report: Record = {
        "what": "estimated CPU hours of Tables 3 and 4 on one core, from timed iterations",
        "command": f"python benchmarks/brown2017_hours.py --flops {options.flops} --out FOLDER",
        "made": made_by(),
    }
    for name, game in (("brown2017-table3", SMALL), ("brown2017-table4", LARGE)):
        seconds = measured(game, options.flops)
        report[name] = {"seconds of an iteration": seconds, "hours": hours(game, seconds)}
        print(name, report[name], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "brown2017-hours.json"
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    load_torch().set_grad_enabled(False)
    raise SystemExit(main())
