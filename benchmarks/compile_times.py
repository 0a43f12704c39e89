"""CPU seconds of compiling OpenSpiel games, beside plain walks of them in Python.

``python benchmarks/compile_times.py`` writes ``docs/results/compile-times.json`` and prints it.
Four walks are recursive and clone a state for each child. The bare one asks for the acting player,
the moves and the payoffs. The second one asks for what any compiler must know: also the information
state of the acting player and the names of the moves. The third one asks for what ours asks: the
information states of both players, wherever the game goes on, from which the public states follow
(nobody's, where the moves say all that is known). The last one asks for all of this at all
histories. Walks and compilation take turns; the fastest run of each counts.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL
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


def bare(state: Any) -> int:
    """The number of histories."""
    if state.is_terminal():
        state.returns()
        return 1
    chance = state.is_chance_node()
    moves = [a for a, _ in state.chance_outcomes()] if chance else state.legal_actions()
    count = 1
    for move in moves:
        child = state.clone()
        child.apply_action(move)
        count += bare(child)
    return count


def walk(state: Any, asked: tuple[int, ...] | None, result: set[str], *, ends: bool = False) -> int:
    """`bare` with names: `result` gets them, and what the players `asked` (None: who acts) know.

    They are also asked where the game is over if `ends`.
    """
    player = state.current_player()
    if player == TERMINAL:
        if ends and asked is not None:
            result.update(map(state.information_state_string, asked))
        state.returns()
        return 1
    chance = player == CHANCE
    moves = [a for a, _ in state.chance_outcomes()] if chance else state.legal_actions()
    for observer in asked if asked is not None else () if chance else (player,):
        result.add(state.information_state_string(observer))
    result.update(state.action_to_string(player, move) for move in moves)
    count = 1
    for move in moves:
        child = state.clone()
        child.apply_action(move)
        count += walk(child, asked, result, ends=ends)
    return count


def seconds(what: Callable[[], object]) -> float:
    began = time.process_time()
    what()
    return time.process_time() - began


def measured(name: str) -> dict[str, Any]:
    game: OpenSpielGame = load(name)
    start, asked = game.pyspiel_game.new_initial_state, () if game.spelled else (0, 1)
    histories = bare(start())
    best: dict[str, float] = {}
    for _ in range(3 if histories > 100_000 else 10):
        fresh = load(name)  # nothing is remembered from the last time
        runs: dict[str, Callable[[], object]] = {
            "bare walk": lambda: bare(start()),
            "walk of a compiler": lambda: walk(start(), None, set()),
            "walk that asks as ours": lambda: walk(start(), asked, set()),
            "walk that asks at all histories": lambda: walk(start(), (0, 1), set(), ends=True),
            "compile": partial(sg.compile, fresh),
        }
        for what, run in runs.items():
            best[what] = min(best.get(what, math.inf), seconds(run))
    return {"game": name, "histories": histories, **best}


def main() -> None:
    rows = [measured(name) for name in NAMES]
    result = {
        "command": "python benchmarks/compile_times.py",
        "commit": commit(),
        "machine": machine(("numpy", "open-spiel")),
        "rows": rows,
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        ours, walks = row["compile"], [name for name in row if "walk" in name]
        times = ", ".join(f"{name} {row[name]:.3f} ({ours / row[name]:.2f})" for name in walks)
        print(f"{row['game']}: {row['histories']:,} histories, compile {ours:.3f} s, {times}")


if __name__ == "__main__":
    main()
