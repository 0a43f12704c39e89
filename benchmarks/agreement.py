"""Exploitability after each of the first iterations, by engine: all engines take the same steps.

    PYTHONPATH=src python3 benchmarks/agreement.py --out docs/results
    PYTHONPATH=src python3 benchmarks/agreement.py --out docs/results --device cuda

It writes ``engine-agreement.json``, or ``engine-agreement-cuda.json``. Every strategy is evaluated
on the explicit tree of its game, in float64. The first game is the turn of docs/nested.md. In the
other games no two actions of a player who learns are exactly as good as one another in these
iterations, so that rounding decides nothing; their ranges have uneven weights, and there is no
betting on later rivers. The best response of CFR-BR has ties in two of them: it may differ there.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import subgame as sg
from subgame.engines.factory import engine
from subgame.games.holdem.cards import Deck
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse

TWELVE, NINE = Deck("9TJQKA", "hs"), Deck("QKA", "chs")
GAMES = {
    "nested": sg.holdem.endgame(
        "Qs 9h Th Ks", 40, 120, ("AA,KT,QJ,TT", "AK,KK,QJ,JTs"), "all: 1x / cap 2", deck=TWELVE
    ),
    "river": sg.holdem.endgame(
        "Qs Jh Th Ks 9s",
        37,
        101,
        ("AA:0.31,AK:0.77,KT:0.41,QJ:0.93,T9:0.69", "AA:0.87,AK:0.29,KK:0.53,QJ:0.71,Q9:0.37"),
        "all: 0.43x 0.89x / cap 2",
        deck=TWELVE,
    ),
    "turn": sg.holdem.endgame(
        "Qs 9h Th Ks",
        43,
        131,
        ("AA:0.83,KT:0.57,QJ:0.71,JT:0.91", "AK:0.61,KK:0.97,QJ:0.43,A9:0.37"),
        "turn: 0.41x 0.83x / cap 2; river: none",
        deck=TWELVE,
    ),
    "flop": sg.holdem.endgame(
        "Qs Kh As",
        43,
        29,
        ("AA:0.7,KK:0.53,KQ:0.9,AQs:0.61", "QQ:0.8,AK:0.37,AQ:0.67"),
        "flop: 0.37x 0.8x / cap 2; turn: none; river: none",
        deck=NINE,
    ),
}
SCHEDULES = (
    "cfr",
    "cfr+",
    "lcfr",
    "dcfr",
    "hs-dcfr",
    "pcfr+",
    "pdcfr+",
    "cfr-br(responder=0)",
    "cfr-br(responder=1)",
)
ITERATIONS = 5


@cache
def explicit(name: str) -> sg.PublicTree:
    """The sequence tree of a game."""
    return sg.compile(GAMES[name], explicit=True)


@cache
def ranges(name: str) -> sg.PublicTree:
    """The range tree of a game, with all suits distinguished."""
    return sg.compile(GAMES[name], merge=False)


@cache
def places(name: str) -> list[NDArray[np.int64]]:
    """[player][sequence] where the probabilities of the explicit tree lie on the range tree."""
    tree, other = explicit(name), ranges(name)
    first, second = (np.arange(side.num_sequences, dtype=other.dtype) for side in other.players)
    numbers = sg.Strategy(other, (first, second), check=False)
    rows = {(p, infoset): row for p, infoset, row in numbers.rows()}
    out = []
    for p, side in enumerate(tree.players):
        out.append(np.zeros(side.num_sequences, np.int64))
        for i, infoset in enumerate(side.names):
            row = rows[p, infoset]
            out[p][side.sequences(i)] = [int(row[action]) for action in side.actions[i]]
    return out


def laid_over(strategy: sg.Strategy, name: str) -> sg.Strategy:
    """A strategy of the range tree on the explicit tree of the same game."""
    if strategy.tree is explicit(name):
        return strategy
    laid = [probs[place] for probs, place in zip(strategy.probs, places(name), strict=True)]
    return sg.Strategy.from_weights(explicit(name), laid)


def averages(name: str, run_by: Any, schedule: str) -> Iterator[sg.Strategy]:
    """The average strategy of an engine after each iteration, on the explicit tree."""
    plan = parse(schedule)
    cfr = Cfr(
        run_by,
        predictive=plan.predictive,
        alternating=plan.alternating,
        responder=plan.responder,
    )
    for t in range(1, ITERATIONS + 1):
        cfr.advance(plan.discounts(t, 2), t)
        first, second = (
            np.asarray(run_by.behaviour(p, cfr.pair[p].average), run_by.tree.dtype) for p in (0, 1)
        )
        yield laid_over(sg.Strategy(run_by.tree, (first, second)), name)


def lost(name: str, schedule: str, strategy: sg.Strategy) -> float:
    """Exploitability; of a schedule with a best responder that of the player who learns."""
    result, responder = sg.exploitability(explicit(name), strategy), parse(schedule).responder
    return float(result) if responder < 0 else result.per_seat[1 - int(responder)]


def measured(name: str, devices: tuple[str, ...]) -> dict[str, Any]:
    """Exploitability in chips, by schedule and engine."""
    trees = {"explicit tree": explicit(name), "ranges": ranges(name)}
    table: dict[str, Any] = {}
    for schedule in SCHEDULES if name != "nested" else ("cfr+",):
        table[schedule] = {
            f"{kind}, {device}": [
                round(lost(name, schedule, strategy), 6)
                for strategy in averages(name, engine(tree, device=device), schedule)
            ]
            for kind, tree in trees.items()
            for device in devices
        }
    return table


def spread(table: dict[str, Any]) -> float:
    """The greatest difference between engines, in chips."""
    rows = [np.array(list(by_engine.values())) for by_engine in table.values()]
    return float(max(np.ptp(row, axis=0).max() for row in rows))


def commit() -> str:
    """The commit that is measured; "unknown" outside of a repository."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    result = subprocess.run(asked, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


def main() -> None:
    """Measure all games and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="torch", help="besides cpu: torch or cuda")
    parser.add_argument("--out", default="docs/results", help="a folder")
    asked = parser.parse_args()
    devices = ("cpu", asked.device)
    games = {name: measured(name, devices) for name in GAMES}
    result: dict[str, Any] = {
        "title": "Exploitability in chips after each of the first five iterations, by engine",
        "command": f"PYTHONPATH=src python3 benchmarks/agreement.py --device {asked.device}",
        "commit": commit(),
        "machine": {"processor": platform.machine(), "python": platform.python_version()},
        "seed": 0,
        "date": datetime.now(UTC).isoformat("T", "seconds"),
        "games": games,
        "greatest difference of two engines": {name: spread(games[name]) for name in games},
    }
    if asked.device == "cuda":
        import torch

        result["machine"] |= {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    suffix = "-cuda" if asked.device == "cuda" else ""
    path = Path(asked.out) / f"engine-agreement{suffix}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["greatest difference of two engines"], indent=1))
    print(path)


if __name__ == "__main__":
    main()
