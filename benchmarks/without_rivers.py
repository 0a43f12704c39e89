"""A solution saved without its rivers beside the whole one: size, time to open a river, error.

    PYTHONPATH=src python3 benchmarks/without_rivers.py --out docs/results

It writes ``without-rivers.json``. The spots are the turn Qs Jh 2h 8d with the ranges of the preset
"single-raised", and the preset "three-bet" on the flop Qs Jh 2h. A small spot is solved first, so
that no time includes compiling.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import subgame
from subgame import compile, exploitability, solve
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.spots import endgame
from subgame.memory import Allowance
from subgame.papers.report import commit
from subgame.refine.ranges.compact_spots import CompactEndgame, open_spot, save_compact
from subgame.solve.solver import begin, complete
from subgame.spots.endgame import Endgame
from subgame.spots.lines import follow_line
from subgame.tree.ranges.tree import compile_range_tree

SCHEDULE = "hs-dcfr"
PRESETS = Path(subgame.__file__).parent / "serve" / "static" / "presets.json"
RIVERS = 12
"""Rivers that are opened, drawn by seed 0."""


def spent(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of some work, and the CPU seconds that it took."""
    began = time.process_time()
    return work(), round(time.process_time() - began, 3)


def warm_up() -> None:
    """Use every kernel once."""
    game = endgame("QsJh2h", 100, 200, ("AA,KQs,76s", "QJ,99,A5s"), "all: 1x / cap 2")
    solved = Endgame.of(solve(compile(game), SCHEDULE, iterations=2).strategy)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spot.safetensors"
        save_compact(solved, file)
        small = open_spot(file)
        assert isinstance(small, CompactEndgame)
        small.decision("c c / 8d c c / 3c")
        exploitability(small.tree, replace(small, iterations=2).whole())


def preset(name: str, board: str, **chips: str) -> Holdem:
    """A preset of the page Solve on a board, without what only the page needs."""
    rows = {row["id"]: row["value"] for row in json.loads(PRESETS.read_text())}
    value = rows[name] | chips
    streets = ("flop", "turn", "river")[len(board) // 2 - 3 :]
    bets = list[str]()
    for s in streets:
        donk = f" / donk {value[f'{s}_d']}" if value.get(f"{s}_d") else ""
        bets.append(f"{s}: {value[f'{s}_b']}{donk} / raise {value[f'{s}_r']}")
    bets += [f"cap {value['cap']}", f"all-in {value['allin']}%"]
    stacks, ranges = (value["s0"], value["s1"]), (value["oop"], value["ip"])
    return endgame(board, value["pot"], stacks, ranges, "; ".join(bets), big_blind=value["min"])


def spots() -> dict[str, tuple[Holdem, float]]:
    """Each spot, and the target in percent of the pot."""
    turn = preset("single-raised", "QsJh2h8d", pot="1650", s0="9200", s1="9200")
    return {"turn": (turn, 0.3), "three-bet flop": (preset("three-bet", "QsJh2h"), 0.5)}


def measured(name: str, folder: Path) -> dict[str, Any]:
    """One spot, solved in this process."""
    game, percent = spots()[name]
    most, pot = Allowance.of("16GiB"), float(game.start().pot)
    tree = compile_range_tree(game, memory_limit=most, merge=True, number=2.5)
    target = percent / 100 * pot
    files = {
        kind: folder / f"{kind}.safetensors" for kind in ("state", "strategy", "half", "small")
    }
    run, limits = begin(tree, SCHEDULE, target=target)
    result, solving = spent(lambda: complete(run, limits, keep=True))
    print(f"{name}: {result.iterations} iterations, {solving} CPU s", flush=True)
    whole = replace(Endgame.of(result.strategy), exploitability=result.exploitability)
    whole.save(files["state"], run=run)
    whole.save(files["strategy"])
    whole.save(files["half"], half=True)
    saving = spent(lambda: save_compact(whole, files["small"]))[1]
    sizes = {kind: path.stat().st_size for kind, path in files.items()}
    for kind in ("state", "strategy", "half"):
        files[kind].unlink()
    small, opening = spent(lambda: open_spot(files["small"]))
    assert isinstance(small, CompactEndgame)
    gap = result.exploitability.mean
    report = {
        "nodes": tree.num_nodes,
        "iterations": result.iterations,
        "CPU seconds to solve": solving,
        "bytes": {("without rivers" if kind == "small" else kind): n for kind, n in sizes.items()},
        "times smaller than": {
            kind: round(sizes[kind] / sizes["small"], 1) for kind in ("state", "strategy", "half")
        },
        "CPU seconds to save": saving,
        "CPU seconds to open the file": opening,
        **rivers(whole, small),
    }
    print(json.dumps(report, indent=1), flush=True)
    again, solving = spent(small.whole)
    after = exploitability(small.tree, again).mean
    return report | {
        "exploitability of the whole solution, % of the pot": round(100 * gap / pot, 4),
        "exploitability with every river solved again, % of the pot": round(100 * after / pot, 4),
        "CPU seconds to solve every river again": solving,
    }


def rivers(whole: Endgame, small: CompactEndgame) -> dict[str, Any]:
    """Some rivers after checks, opened one by one."""
    game, draw = whole.tree.holdem, np.random.default_rng(0)
    times, waits = list[float](), list[float]()
    evs, values = list[float](), list[float]()
    deck = [card for card in range(game.deck.size) if card not in game.board]
    while len(times) < RIVERS:
        cards = draw.permutation(deck)[: 5 - len(game.board)].tolist()
        line = "".join(f" c c / {game.deck.card_name(card)}" for card in cards)
        began = time.monotonic()
        here, seconds = spent(partial(small.decision, line))
        waits.append(time.monotonic() - began)
        pot = float(follow_line(game, line).betting.pot)
        one, two = whole.decision(line), here
        times.append(seconds)
        evs.append(100 * abs(one.ev[0] - two.ev[0]) / pot)
        likely, gap = one.chance, np.abs(np.nan_to_num(one.hand_ev - two.hand_ev))
        values.append(100 * float(likely @ gap) / pot)
    return {
        "rivers opened": RIVERS,
        "CPU seconds to open a river, median": round(float(np.median(times)), 3),
        "CPU seconds to open a river, largest": round(max(times), 3),
        "seconds to open a river, median": round(float(np.median(waits)), 3),
        "difference of a river's EV, % of its pot, mean": round(float(np.mean(evs)), 3),
        "difference of a river's EV, % of its pot, largest": round(max(evs), 3),
        "difference of a hand's EV, % of its pot, mean": round(float(np.mean(values)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=list(spots()), help="measure this spot alone")
    chosen = parser.parse_args()
    record: dict[str, Any] = {
        "command": "PYTHONPATH=src python3 benchmarks/without_rivers.py --out docs/results",
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"platform": platform.platform(), "cores": len(os.sched_getaffinity(0))},
        "load": os.getloadavg()[0],
        "seed": 0,
        "schedule": SCHEDULE,
        "spots": {},
    }
    file = chosen.out / "without-rivers.json"
    if chosen.only and file.exists():
        record["spots"] = json.loads(file.read_text())["spots"]
    warm_up()
    for name in [chosen.only] if chosen.only else spots():
        with tempfile.TemporaryDirectory() as folder:
            record["spots"][name] = measured(name, Path(folder))
        file.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
