"""What the agent loses in flop hold'em, exactly, by the time of a decision.

    python benchmarks/flop_budgets.py [--device cuda] [--seconds 0.1,0.5,2,10] [--out FILE]
    python benchmarks/flop_budgets.py --device torch --ranks 9TJQKA --buckets 1000,100

First the agent of hold'em (`HoldemAgent`) solves some flops with each budget on this machine; its
fewest iterations with a budget stand for that budget. Then all flops after every betting are solved
by so many iterations (`subgame.papers.last_street`), and of each solution as much is played as
loses nothing compared with the blueprint (`subgame.refine.accept`). What a best response wins in
the whole game is computed exactly, beside what it wins from the blueprint and from the whole
solutions. "Doubted" is with the range that the agent assumes (`early.EarlyState.doubted`), the
others with ranges as the strategies say. With Maxmargin it is never more than from the blueprint by
theory; with Unsafe, the agent's technique for the first street that it solves, that is measured.
The exit code is 1 if a row is above the blueprint.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.blueprint import Blueprint
from subgame.abstraction.cards import abstract
from subgame.engines.torch.runtime import load_torch
from subgame.games import load
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.papers.brown2017_tables import SMALL
from subgame.papers.flop_agent import FlopAgent, settings
from subgame.papers.last_street import LastStreet
from subgame.papers.report import mbb
from subgame.play.agent import Event
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.turn import StarvedError
from subgame.refine.gadgets import technique
from subgame.tree.ranges.tree import compile_range_tree

ITERATIONS = (1, 2, 5, 10, 20, 50)
"""Rows besides those of the budgets."""
MOST = 1000
"""More iterations are not computed: a budget in which more are possible counts as so many."""
ASKED = 3
"""Flops that the agent solves with each budget."""
DOUBTED = "unsafe, doubted"
TECHNIQUES = ("unsafe", DOUBTED, "maxmargin")
BUCKETS = "30000,200"


class Even:
    """A blueprint in which all actions are as likely as each other."""

    def __init__(self, game: Holdem) -> None:
        self.game = game

    def range_strategy(self, state: HoldemState) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        actions = self.game.actions(state.betting)
        return actions, np.full((self.game.deck.num_hands, len(actions)), 1 / len(actions))


def iterations_in(game: Holdem, seconds: float) -> list[int]:
    """How many iterations the agent has on some flops in a decision of so many seconds."""
    bets, counts = str(game.bets).split("; ")[-1], []
    player = HoldemAgent(
        game, Even(game), solve_from="flop", bets=bets, iterations=None, seconds=seconds
    )
    for k in range(ASKED + 1):  # the first one loads kernels
        player.begin(0, 0)
        flop = game.deck.name([k, k + 1, k + 2])
        for who, action in ((1, "c"), (0, "c"), (-1, flop)):
            player.observe(Event(who, action))
        name = player.streets.start.reached.names(0)[game.deck.num_hands - 1]
        player.policy([name], ())
        try:
            solved = player.live().solved
        except StarvedError:  # the blueprint is followed
            solved = None
        counts.append(0 if solved is None else solved.iterations)
    return counts[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", default="0.1,0.5,2,10")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ranks", default="23456789TJQKA", help="of the deck, with four suits")
    parser.add_argument("--buckets", default=BUCKETS)
    asked = parser.parse_args()
    how, began = settings(quick=False, seed=0), time.perf_counter()
    game = load(SMALL, ranks=asked.ranks)
    assert isinstance(game, Holdem)
    budgets = {}
    for seconds in (float(word) for word in asked.seconds.split(",")):
        budgets[seconds] = iterations_in(game, seconds)
        print(
            f"{time.perf_counter() - began:6.1f} s: in {seconds:g} s {budgets[seconds]}", flush=True
        )
    asked_for = sorted({min(min(some), MOST) for some in budgets.values()} - {0})
    counts = [*asked_for, *(count for count in ITERATIONS if count not in asked_for)]
    result: dict[str, object] = {
        "command": f"python {' '.join(sys.argv)}",
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip(),
        "machine": {
            "processor": platform.machine(),
            "cpus": os.cpu_count(),
            "device": asked.device,
        },
        "date": datetime.now(UTC).date().isoformat(),
        "seed": 0,
        "game": str(game),
        "iterations of the agent by seconds": {f"{s:g}": some for s, some in budgets.items()},
        "unit": "mbb/h, what a best response wins, the mean of both seats",
    }
    tree, worse = compile_range_tree(game), 0
    for buckets in map(int, asked.buckets.split(",")):
        on = asked.device if asked.device == "cuda" else None
        made = abstract(tree, {"flop": buckets}, how.recipe_for(buckets), device=on)
        blueprint = Blueprint(made.buckets, how.schedule, device=asked.device)
        blueprint.advance(how.first or 40)
        agent = FlopAgent(blueprint)
        known = [LastStreet(blueprint, p) for p in (0, 1)]
        doubted = [LastStreet(blueprint, p, doubts=agent.doubts(p)) for p in (0, 1)]
        base = [blueprint.wins(p, blueprint.average(p)) for p in (0, 1)]
        rows = [{"technique": "blueprint", "accepted": mbb(sum(base) / 2)}]
        result[f"{buckets:,} buckets, doubts by way"] = [agent.doubts(p) for p in (0, 1)]
        for name in TECHNIQUES:
            for count in counts:
                streets = doubted if name == DOUBTED else known
                gadget = technique("unsafe" if name == DOUBTED else name)
                played = [s.accepted(gadget, agent.schedule, count) for s in streets]
                row: dict[str, Any] = {
                    "technique": name,
                    "iterations": count,
                    "seconds": [s for s, some in budgets.items() if min(*some, MOST) == count],
                    "accepted": mbb(sum(outcome.won for outcome in played) / 2),
                    "all of the solution": mbb(
                        sum(outcome.solution or 0 for outcome in played) / 2
                    ),
                    "share": sum(outcome.share for outcome in played) / 2,
                    "above the blueprint by": mbb(
                        max(now.won - before for now, before in zip(played, base, strict=True))
                    ),
                }
                worse += row["above the blueprint by"] > 1e-6
                rows.append(row)
                print(f"{time.perf_counter() - began:6.1f} s: {buckets} buckets {row}", flush=True)
                result[f"{buckets:,} buckets"] = rows
                if asked.out is not None:
                    asked.out.parent.mkdir(parents=True, exist_ok=True)
                    asked.out.write_text(json.dumps(result, indent=1) + "\n")
    return int(worse > 0)


if __name__ == "__main__":
    load_torch().set_grad_enabled(False)
    sys.exit(main())
