"""What expensive Unsafe depends on (Brown & Sandholm 2017, Table 2), on a deck of eight cards.

Blueprints by several schedules are given to Unsafe, with several schedules for the subgames. The
reach that Unsafe takes from the blueprint is then changed alone: a share of even play is mixed into
the opponent's side of it.

    python benchmarks/expensive_unsafe.py OUT.json [ITERATIONS [BLUEPRINT]]
"""

from __future__ import annotations

import json
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

import subgame as sg
from subgame.papers.brown2017_table2 import QUICK, widened
from subgame.papers.report import commit, machine, mbb

SCHEDULES = ("cfr+", "dcfr", "hs-dcfr")
SHARES = (0.0, 1e-4, 1e-2)


def compiled(game: sg.Game) -> sg.PublicTree:
    """Every hand for itself, as nested solving wants it."""
    return sg.compile(game, merge="boards", memory_limit=None)


def mixed(strategy: sg.Strategy, player: int, share: float) -> sg.Strategy:
    """The strategy with even play of one player mixed in at every decision."""
    probs = [np.asarray(part) for part in strategy.probs]
    even = strategy.tree.normalise(player, np.zeros_like(probs[player]))
    probs[player] = ((1 - share) * probs[player] + share * even).astype(even.dtype)
    return sg.Strategy(strategy.tree, (probs[0], probs[1]))


def won(tree: sg.PublicTree, blueprint: sg.Strategy, p: int, schedule: str, count: int) -> float:
    """What a best response wins from player `p`, in mbb/h."""
    nested = sg.nest(
        tree,
        blueprint,
        technique=sg.Unsafe(),
        method="expensive",
        player=p,
        schedule=schedule,
        iterations=count,
        device="cpu",
    )
    return mbb(nested.after.per_seat[p])


def main() -> None:
    """Measure every pair of schedules, and write the file after each."""
    file = Path(sys.argv[1])
    count, first = (int(n) for n in [*sys.argv[2:], *("400", "1000")[len(sys.argv) - 2 :]])
    game, larger = QUICK.games()
    trees = [compiled(widened(game, larger, 1 - p)) for p in (0, 1)]
    rows, began = list[dict[str, object]](), time.process_time()
    for made in SCHEDULES:
        blueprint = sg.solve(
            compiled(game), made, iterations=first, check_every=first, device="cpu"
        )
        never = [float((np.asarray(part) < 1e-9).mean()) for part in blueprint.strategy.probs]
        for schedule, share in product(SCHEDULES, SHARES):
            seats = []
            for p in (0, 1):
                strategy = mixed(blueprint.strategy, 1 - p, share)
                seats.append(won(trees[p], strategy, p, schedule, count))
            rows.append(
                {
                    "blueprint": made,
                    "subgames": schedule,
                    "even play in the opponent's reach": share,
                    "best response wins, mbb/h": sum(seats) / 2,
                    "per seat, mbb/h": seats,
                    "the blueprint in the smaller game, mbb/h": mbb(blueprint.exploitability.mean),
                    "share of its probabilities below 1e-9": sum(never) / 2,
                }
            )
            print(round(time.process_time() - began), rows[-1], flush=True)
            report = {
                "what": "What expensive Unsafe depends on, on a deck of eight cards",
                "command": f"python benchmarks/expensive_unsafe.py OUT.json {count} {first}",
                "commit": commit(),
                "seed": 0,
                "machine": machine(),
                "iterations of a subgame": count,
                "iterations of the blueprint": first,
                "rows": rows,
            }
            file.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
