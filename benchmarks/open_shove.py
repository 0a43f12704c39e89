"""What the blueprint does when the small blind goes all-in at once, 200 big blinds deep.

    python benchmarks/open_shove.py [--out FILE]

Two answers of the big blind: by translation alone, which takes the all-in for the blueprint's raise
to three big blinds, and by the game of one bet (`subgame.play.one_bet`). For each: the share of
hands that calls; what an opponent wins who goes all-in with every hand; and what one wins who knows
the answer and goes all-in or folds, whatever is better with each class of hands. The last row is
the equilibrium of push or fold, which holds that opponent to the least. All figures are exact over
pairs of hands and boards, in mbb per hand of the small blind.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.games import load
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.ranges import class_names, class_of
from subgame.play.agent import Event
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.strategies import Translated
from subgame.spots.classes import preflop
from subgame.spots.pushfold import push_fold

Floats = NDArray[np.float64]
STACK, BIG = 20_000, 100


def measured(call: Floats) -> dict[str, Any]:
    """The figures of an answer, by class of hands."""
    table, names = preflop(), class_names(DECK)
    called = table.pairs * call
    won = (STACK * (2 * table.equity - 1) * called + BIG * (table.pairs - called)).sum(1)
    total = table.pairs.sum()
    folded = -BIG / 2 * table.pairs.sum(1)
    unit = 1000 / BIG / total
    return {
        "calls": float((table.pairs.sum(0) @ call) / total),
        "classes": {
            name: round(float(share), 3)
            for name, share in zip(names, call, strict=True)
            if share > 0.01
        },
        "always all-in": float(won.sum() * unit),
        "all-in or fold at best": float(np.maximum(won, folded).sum() * unit),
    }


def by_class(probabilities: Floats) -> Floats:
    """[class] the mean over hands."""
    of = class_of(DECK)
    return np.bincount(of, probabilities) / np.bincount(of)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    agent = BlueprintAgent(load("hunl"))
    agent.begin(seat=0, seed=0)
    agent.observe(Event(1, f"r{STACK}"))
    names = [f"{DECK.hand_name(hand)} |  | r{STACK}" for hand in range(DECK.num_hands)]
    before, after = Translated.policy(agent, names, ()), agent.policy(names, ())
    chart = push_fold(STACK / BIG)
    rows = {
        "by translation": measured(by_class(1 - before.probabilities[:, 0])),
        "by the game of one bet": measured(by_class(1 - after.probabilities[:, 0])),
        "push or fold": measured(np.array([chart.call[name] for name in class_names(DECK)])),
    }
    result = {
        "command": "python benchmarks/open_shove.py --out docs/results/open-shove.json",
        "commit": subprocess.check_output(
            ["git", "rev-parse", "--short", "HEAD"], text=True
        ).strip(),
        "machine": platform.machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "unit": "mbb per hand of the small blind",
        "rows": rows,
    }
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        out.write_text(text + "\n")


if __name__ == "__main__":
    main()
