"""Convergence of two checkouts of subgame at equal iterations, on eleven spots.

    python benchmarks/exact_matching.py OLD NEW [SPOT ...] [--out FILE]

OLD and NEW are folders of checkouts. Each spot is solved by the same schedule in a process of its
own, which imports the package from one of them, and its exploitability is measured at the same
iterations: in per cent of the pot, in games without one in thousandths of a chip. The two last
games are sequence trees, as a control.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from race_commits import commit, processor

POINTS = (10, 30, 100, 300)
FEW = (10, 30, 100)
SPOTS = {
    "river-srp": POINTS,
    "river-3bet": POINTS,
    "river-45": POINTS,
    "river-177": POINTS,
    "turn-srp": FEW,
    "turn-3bet": FEW,
    "turn": FEW,
    "small-deck-flop": POINTS,
    "smaller-deck-flop": POINTS,
    "leduc": POINTS,
    "goofspiel(4)": POINTS,
}
SCHEDULES = ("hs-dcfr", "cfr+")


def tree_of(name: str) -> tuple[Any, float]:
    """A spot, and the chips that make a hundredth of its unit."""
    import subgame as sg
    from subgame.bench.holdem_spots import SPOTS as KNOWN
    from subgame.games.holdem.cards import Deck

    if name in KNOWN:
        return KNOWN[name].tree(), KNOWN[name].pot / 100
    if name == "small-deck-flop":
        deck = Deck("9TJQKA", "chs")
        game = sg.holdem.endgame("Qs Kh 9s", 10, 40, bets="all: 0.5x a", deck=deck)
        return sg.compile(game), 0.1
    if name == "smaller-deck-flop":
        deck = Deck("TJQKA", "chs")
        game = sg.holdem.endgame("Qs Kh As", 4, 40, bets="all: 1x / cap 1", deck=deck)
        return sg.compile(game), 0.04
    name, _, size = name.rstrip(")").partition("(")
    arguments = {"cards": int(size)} if size else {}
    return sg.compile(sg.games.load(name, **arguments)), 1e-3


def curve(name: str, schedule: str) -> list[float]:
    """The exploitability of a spot at its iterations."""
    from subgame.solve.schedule import parse
    from subgame.solve.solver import Run

    tree, unit = tree_of(name)
    run, out = Run(tree, parse(schedule), threads=1), []
    for count in SPOTS[name]:
        run.advance(count - run.iteration)
        out.append(float(run.measure()) / unit)
    return out


def asked(checkout: Path, name: str) -> dict[str, list[float]]:
    """The curves of all schedules, with the package of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, __file__, "--child", name]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    answer: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("spots", nargs="*", default=list(SPOTS))
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args()
    about = {
        "command": "python benchmarks/exact_matching.py OLD NEW",
        "commits": [commit(options.old), commit(options.new)],
        "machine": f"{processor()}, one thread",
    }
    rows = []
    for name in options.spots:
        old, new = asked(options.old, name), asked(options.new, name)
        for schedule in SCHEDULES:
            pair = {"old": old[schedule], "new": new[schedule]}
            rows.append({"spot": name, "schedule": schedule, "iterations": SPOTS[name]} | pair)
            both = zip(SPOTS[name], *pair.values(), strict=True)
            print(f"{name:16} {schedule:8}", *(f"{n}: {x:.4g} -> {y:.4g};" for n, x, y in both))
            sys.stdout.flush()
        if options.out:
            options.out.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--child":
        print(json.dumps({schedule: curve(sys.argv[2], schedule) for schedule in SCHEDULES}))
    else:
        main()
