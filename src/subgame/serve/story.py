"""Coin Toss, step by step: what safe subgame solving is (Brown & Sandholm 2017, Sec. 2 to 5).

The texts are in the page. Every number is computed here, by linear programs, and kept in a file,
because the first page must not wait for them: ``python -m subgame.serve.story`` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

STORY_FILE = Path(__file__).parent.parent / "data" / "coin-toss.json"

STEPS = ("blueprint", "unsafe", "resolve", "maxmargin", "reach-maxmargin", "optimum")


def story() -> dict[str, object]:
    """What `computed` found, from the file.

    >>> steps = story()["steps"]
    >>> {step["id"]: round(step["best_response"], 3) for step in steps}["maxmargin"]
    0.375
    """
    result: dict[str, Any] = json.loads(STORY_FILE.read_text(encoding="utf-8"))
    return result


def computed() -> dict[str, object]:
    """Each step's guess of player 2, and what it is worth to player 1."""
    import subgame as sg
    from subgame.serve.gadgets import learning

    tree = sg.compile(sg.games.load("coin-toss"))
    blueprint = sg.Strategy.published(tree, "paper")
    steps = [_step("blueprint", tree, blueprint)]
    for name in STEPS[1:-1]:
        result = sg.refine(tree, blueprint, at="Play", technique=name, schedule="lp", player=1)
        step = _step(name, tree, result.strategy)
        step["rows"] = [
            {key: row[key] for key in ("infoset", "cbv", "gift", "alternative", "value", "margin")}
            for row in result.rows()
        ]
        step["promise"] = result.technique.promise
        steps.append(step)
    steps.append(_step("optimum", tree, sg.solve_lp(tree).strategy))
    return {
        "steps": steps,
        "learning": {
            name: learning(tree, blueprint, name, "Play", 1) for name in ("resolve", "maxmargin")
        },
    }


def _step(name: str, tree: PublicTree, strategy: Strategy) -> dict[str, object]:
    import subgame as sg
    from subgame.papers.coin_toss import action_values

    values = action_values(tree, strategy, 0)
    return {
        "id": name,
        "guess": strategy["Play"],
        "values": {coin: values[coin] for coin in ("Heads", "Tails")},
        "first": {coin: strategy[coin] for coin in ("Heads", "Tails")},
        "best_response": sg.exploitability(tree, strategy).per_seat[1],
    }


if __name__ == "__main__":
    STORY_FILE.write_text(json.dumps(computed()), encoding="utf-8")
