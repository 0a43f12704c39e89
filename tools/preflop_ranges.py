"""Makes ``subgame/serve/static/preflop_ranges.json``: preflop ranges heads up, by stack.

    python tools/preflop_ranges.py src/subgame/serve/static/preflop_ranges.json

For each stack it solves what ``subgame preflop --stack STACK`` solves, to 0.001 big blinds, and
keeps the ranges of both players in every pot that sees a flop with chips behind. There a call ends
the hand and equity shares the pot: the ranges know nothing of betting after the flop, so deep
stacks call wider than they should.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from subgame.games.holdem.cards import DECK
from subgame.games.holdem.ranges import Range, class_names
from subgame.spots.lines import action_name
from subgame.spots.preflop import BETS, PreflopSolution, solve_preflop

STACKS = (10, 15, 20, 30, 50, 100, 200)
LEAST = 0.01
"""Classes that come with a smaller weight are left out, and pots with a range of a smaller part of
all hands: they are hardly ever played."""
POTS = ("limped pot", "single-raised pot", "three-bet pot", "four-bet pot", "five-bet pot")


def range_of(weights: Any) -> Range:
    """A range by its weights [class], rounded to hundredths."""
    rows = zip(class_names(DECK), np.round(weights, 2).tolist(), strict=True)
    some = [f"{name}:{weight:g}" for name, weight in rows if weight >= LEAST]
    return Range.parse(",".join(some) or "AA:0")


def ranges(solution: PreflopSolution) -> list[dict[str, str]]:
    """The ranges of both players in the pots that see a flop."""
    game, rows = solution.game, list[dict[str, str]]()
    for history, probs in solution.charts.items():
        here, reach, words = game.start(), [np.ones(len(probs)), np.ones(len(probs))], list[str]()
        for action in history:
            reach[here.player] = reach[here.player] * _taken(solution, here, action)
            words.append(action_name(here, action))
            here = here.child(action)
        if "c" not in game.actions(here) or here.child("c").street == here.street:
            continue
        after = here.child("c")
        if after.is_over or min(after.behind) <= 0:
            continue
        reach[here.player] = reach[here.player] * _taken(solution, here, "c")
        pot = POTS[here.raises]
        said = ", ".join(words) + (", call" if here.to_call else ", check")
        pair = [range_of(weights) for weights in reach]
        if min(held.combos for held in pair) < LEAST * DECK.num_hands:
            continue
        rows += [
            {"seat": seat, "name": f"{pot}: {said}", "text": str(pair[p])}
            for p, seat in enumerate(("oop", "ip"))
        ]
    return rows


def _taken(solution: PreflopSolution, here: Any, action: str) -> Any:
    return solution.charts[here.history][:, solution.game.actions(here).index(action)]


def main() -> None:
    stacks = []
    for stack in STACKS:
        solution = solve_preflop(stack)
        print(stack, solution.iterations, solution.exploitability, file=sys.stderr)
        stacks.append(
            {
                "stack": stack,
                "exploitability": round(solution.exploitability, 6),
                "ranges": ranges(solution),
            }
        )
    made = {
        "command": "python tools/preflop_ranges.py src/subgame/serve/static/preflop_ranges.json",
        "bets": BETS,
        "stacks": stacks,
    }
    Path(sys.argv[1]).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
