"""CPU seconds of compiling OpenSpiel games, beside a plain walk of them in Python.

``python tests/compile_times.py`` writes ``docs/results/compile-times.json`` and prints a table.
Three walks are recursive and clone a state for each child. The bare one asks for the acting player,
the legal actions and the payoffs. The second one also collects what each player knows at every
history (one string where all is known). The third one names the actions, too, so that it collects
what a compiled tree consists of. The least of three runs of each counts, taken in turn.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import subgame as sg
from subgame.interop.openspiel import OpenSpielGame, load
from subgame.papers.report import commit, machine

RESULT = Path(__file__).parent.parent / "docs" / "results" / "compile-times.json"
NAMES = [
    "tic_tac_toe",
    "leduc_poker",
    "liars_dice(numdice=1,dice_sides=4)",
    "goofspiel(imp_info=True,num_cards=4)",
    "kuhn_poker",
]


def walk(state: Any, asked: tuple[int, ...], found: set[str], named: bool = False) -> int:
    """The number of histories; `found` collects what the players `asked` know, and actions."""
    for player in asked:
        found.add(state.information_state_string(player))
    if state.is_terminal():
        state.returns()
        return 1
    chance = state.is_chance_node()
    moves = [a for a, _ in state.chance_outcomes()] if chance else state.legal_actions()
    if named:
        player = state.current_player()
        found.update(state.action_to_string(player, move) for move in moves)
    count = 1
    for move in moves:
        child = state.clone()
        child.apply_action(move)
        count += walk(child, asked, found, named)
    return count


def seconds(what: Callable[[], object]) -> float:
    began = time.process_time()
    what()
    return time.process_time() - began


def measured(name: str) -> dict[str, Any]:
    game: OpenSpielGame = load(name)
    start, asked = game.pyspiel_game.new_initial_state, (0,) if game.perfect else (0, 1)
    runs: dict[str, Callable[[], object]] = {
        "bare walk": lambda: walk(start(), (), set()),
        "walk with strings": lambda: walk(start(), asked, set()),
        "walk with strings and names": lambda: walk(start(), asked, set(), named=True),
        "compile": lambda: sg.compile(load(name)),
    }
    best = dict.fromkeys(runs, math.inf)
    for _ in range(3):
        for what, run in runs.items():
            best[what] = min(best[what], seconds(run))
    return {"game": name, "histories": walk(start(), (), set()), **best}


def main() -> None:
    rows = [measured(name) for name in NAMES]
    found = {
        "command": "python tests/compile_times.py",
        "commit": commit(),
        "machine": machine(("numpy", "open-spiel")),
        "rows": rows,
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        ours, walks = row["compile"], [name for name in row if "walk" in name]
        times = ", ".join(f"{name} {row[name]:.3f} ({ours / row[name]:.2f})" for name in walks)
        print(f"{row['game']}: {row['histories']:,} histories, compile {ours:.3f} s, {times}")


if __name__ == "__main__":
    main()
