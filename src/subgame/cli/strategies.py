"""Strategies that a command line names: files, and the words uniform and random."""

from __future__ import annotations

import json as jsonlib
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError, check_regular, read_text
from subgame.solve.limits import check_seed

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

JSON = "a JSON file {infoset: {action: probability}}"
STRATEGY = "a strategy saved by solve --out, a JSON file, or the word uniform or random"


def check_strategy(text: str) -> None:
    """Refuse a STRATEGY argument that is neither a word nor a file, before any work is done."""
    if text.lower().endswith(".json"):
        check_regular(text, JSON)
    elif text.lower() not in ("uniform", "random"):
        check_regular(text, STRATEGY, math.inf)


def read_strategy(tree: PublicTree, text: str, seed: int = 0) -> Strategy:
    """The strategy that a STRATEGY argument names."""
    import numpy as np

    import subgame as sg

    check_strategy(text)
    if text.lower() == "uniform":
        return sg.Strategy.uniform(tree)
    if text.lower() == "random":
        check_seed(seed)
        return sg.Strategy.random(tree, seed)
    path = Path(text)
    if path.suffix.lower() == ".json":
        return sg.Strategy.from_table(tree, read_table(path))
    loaded = sg.Strategy.load(path, tree)
    first, second = (np.array(probs) for probs in loaded.probs)  # kernels need writable ones
    return replace(loaded, probs=(first, second))


def read_table(path: Path) -> dict[str, dict[str, float]]:
    """The table in a JSON file: infoset -> action -> probability."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise SubgameError(f"{path} contains '{twice}' twice.")
        return result

    text = read_text(path, JSON)
    try:
        table = jsonlib.loads(text, object_pairs_hook=once)
    except SubgameError:
        raise
    except RecursionError:
        raise SubgameError(f"{path} is nested too deeply to be a strategy.") from None
    except ValueError as error:
        why = "contains a number that is too long"  # more digits than Python reads
        if isinstance(error, jsonlib.JSONDecodeError):
            where = f"in line {error.lineno}, column {error.colno}"
            why = f"is not valid JSON: {error.msg} {where}"
        raise SubgameError(f"{path} {why}.") from None
    if not isinstance(table, dict):
        raise SubgameError(f"{path} must contain a JSON object that maps infosets to actions.")
    for infoset, row in table.items():
        if not isinstance(row, dict):
            raise SubgameError(f"{path} must map infoset '{infoset}' to an object of actions.")
        for action, p in row.items():
            where = f"{path} gives action '{action}' at infoset '{infoset}'"
            if isinstance(p, bool) or not isinstance(p, int | float):
                said = jsonlib.dumps(p)
                raise SubgameError(f"{where} the probability {said}, which is not a number.")
            if isinstance(p, int) and abs(p) > 1:
                raise SubgameError(f"{where} a probability that is not between 0 and 1.")
    return table
