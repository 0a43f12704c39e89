"""How often rough solutions of rivers play lines that better ones hardly ever play.

    PYTHONPATH=src python3 benchmarks/rough_rivers.py --out docs/results

The rivers of `tools/make_decisions.py` are solved to two targets. What is read off a solution at a
line that it hardly ever plays means nothing (`subgame.bench.decisions.RARE`), so a solution must be
good enough to know which lines those are. It writes ``rough-rivers.json``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import make_decisions as maker
from subgame.bench.decisions import RARE
from subgame.papers.report import commit

TARGETS = (1e-3, 2e-5)
"""In shares of the pot."""
ITERATIONS = 20_000
RIVERS = 44


def played(pot: str, number: int, target: float) -> dict[str, float]:
    """How often a solution plays each line on its street; empty if the line before is rare."""
    wanted = maker.Wanted(pot, "river", number, ITERATIONS, target, "cpu", 1)
    here = maker.place(wanted)
    if here is None:
        return {}
    solution = maker.solved(here.game, here.reached, wanted)
    return {
        f"{pot}, {kind}, river, {number}": solution.decision(
            " ".join(action for _, action in own)
        ).line_frequency
        for kind, own in here.lines().items()
    }


def measured() -> dict[str, Any]:
    """Lines by how often both solutions play them."""
    lines = dict[str, tuple[float, ...]]()
    for number, pot in zip(range(RIVERS), itertools.cycle(maker.POTS), strict=False):
        rough, good = (played(pot, number, target) for target in TARGETS)
        lines |= {name: (rough[name], good[name]) for name in rough}
    kept = {name: both for name, both in lines.items() if both[0] > RARE}
    never = {name: both for name, both in kept.items() if not both[1] > RARE}
    return {
        "targets, % of the pot": [100 * target for target in TARGETS],
        "lines": len(lines),
        "lines that the rough solutions play": len(kept),
        "of these hardly ever played by the better ones": len(never),
        "of these played most often by a rough one, %": round(100 * max(never.values())[0], 2),
        "percent of both, by line": {
            name: [round(100 * share, 4) for share in both]
            for name, both in sorted(never.items(), key=lambda item: -item[1][0])
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    record: dict[str, Any] = {
        "title": "Lines that rough solutions of rivers play and better ones do not",
        "command": "PYTHONPATH=src python3 benchmarks/rough_rivers.py --out docs/results",
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"platform": platform.platform()},
        "seed": 0,
        **measured(),
    }
    (folder / "rough-rivers.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
