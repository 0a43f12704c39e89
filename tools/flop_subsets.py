"""Makes ``subgame/data/flops.json``: small sets of weighted flops that stand for all 1,755.

    python tools/flop_subsets.py FOLDER

Wanted are weights above 0 on few flops, with which the weighted means of many features are those of
all flops: the equity of each class of hands against a random hand, its square (how much it varies
from flop to flop), and how often each suit pattern, pair, high card and straight comes. Flops are
added one by one, each time the one that helps most, the weights by non-negative least squares; then
flops are exchanged as long as that helps.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

import preflop_data
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.isomorphism import canonical_boards
from subgame.games.holdem.ranges import class_of
from subgame.spots.flops import texture

Floats = NDArray[np.float64]
SIZES = (25, 49, 95, 184)
EXCHANGES = 60
SHARES = (1.0, 0.5, 0.3)
"""How much equities, their squares and textures count."""


def textures() -> tuple[list[str], Floats]:
    """Names, and [flop, texture] 1 where a flop has it."""
    result = [texture(tuple(cards)) for cards in canonical_boards((3,)).cards.tolist()]
    names = sorted({f"{key} {value}" for kinds in result for key, value in kinds.items()})
    table = np.zeros((len(result), len(names)))
    for f, kinds in enumerate(result):
        for key, value in kinds.items():
            table[f, names.index(f"{key} {value}")] = 1
    return names, table


def features(equity: Floats) -> tuple[Floats, Floats]:
    """[flop, feature] in units of their spread over all flops, and [feature] the means wanted."""
    weights = canonical_boards((3,)).weights / 22100
    combos = np.bincount(class_of(DECK)) / DECK.num_hands
    parts = []
    for share, table, scale in (
        (SHARES[0], equity, np.sqrt(combos)),
        (SHARES[1], equity**2, np.sqrt(combos)),
        (SHARES[2], textures()[1], np.array(1.0)),
    ):
        centre = weights @ table
        spread = np.sqrt(weights @ (table - centre) ** 2)
        parts.append(share * scale * (table - centre) / np.maximum(spread, 1e-9))
    made = np.concatenate([*parts, np.ones((len(weights), 1)) * 10], axis=1)
    return made, np.append(np.zeros(made.shape[1] - 1), 10.0)


def choose(table: Floats, wanted: Floats, size: int) -> tuple[list[int], Floats]:
    """The flops of a subset and their weights, which sum to about 1."""
    chosen: list[int] = []
    weights, rest = np.zeros(0), wanted
    while len(chosen) < size:
        chosen.append(_next(table, rest, chosen))
        weights, _ = nnls(table[chosen].T, wanted)
        rest = wanted - table[chosen].T @ weights
    best = float(np.linalg.norm(rest))
    for _ in range(EXCHANGES):
        out = int(np.argmin(weights))
        tried = chosen[:out] + chosen[out + 1 :]
        some, _ = nnls(table[tried].T, wanted)
        tried.append(_next(table, wanted - table[tried].T @ some, [*tried, chosen[out]]))
        some, norm = nnls(table[tried].T, wanted)
        if norm >= best - 1e-12:
            break
        chosen, weights, best = tried, some, float(norm)
    keep = weights > 0
    return [f for f, k in zip(chosen, keep, strict=True) if k], weights[keep]


def _next(table: Floats, rest: Floats, chosen: list[int]) -> int:
    """The flop whose features point most in the direction of what is missing."""
    fit = table @ rest / np.linalg.norm(table, axis=1)
    fit[chosen] = -np.inf
    return int(np.argmax(fit))


def quality(equity: Floats, chosen: list[int], weights: Floats) -> dict[str, float]:
    """How far the means of a subset are from those of all flops."""
    every = canonical_boards((3,)).weights / 22100
    some = weights / weights.sum()
    combos = np.bincount(class_of(DECK)) / DECK.num_hands
    means, result = every @ equity, some @ equity[chosen]
    spread = np.sqrt(every @ (equity - means) ** 2)
    seen = np.sqrt(np.maximum(some @ equity[chosen] ** 2 - result**2, 0))
    _, kinds = textures()
    off = 100 * np.abs(some @ kinds[chosen] - every @ kinds)
    error = 100 * (result - means)
    return {
        "equity of a class, root mean square error in points": float(np.sqrt(combos @ error**2)),
        "equity of a class, largest error in points": float(np.abs(error).max()),
        "spread over flops, mean of the ratio": float(combos @ (seen / spread)),
        "frequency of a texture, largest error in points": float(off.max()),
    }


def make(equity: Floats, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """The contents of the file; `equity` is [flop, class], against a random hand."""
    boards, (table, wanted) = canonical_boards((3,)), features(equity)
    out: dict[str, Any] = {"made_by": "python tools/flop_subsets.py FOLDER", "subsets": {}}
    for size in sizes:
        chosen, weights = choose(table, wanted, size)
        order = np.argsort(-weights)
        out["subsets"][str(len(chosen))] = {
            "flops": [
                [
                    DECK.name(boards.cards[chosen[k]][::-1].tolist()),
                    round(22100 * float(weights[k] / weights.sum()), 2),
                ]
                for k in order.tolist()
            ],
            "quality": {name: round(q, 3) for name, q in quality(equity, chosen, weights).items()},
        }
        print(len(chosen), out["subsets"][str(len(chosen))]["quality"], file=sys.stderr)
    return out


if __name__ == "__main__":
    text = (
        json.dumps(make(preflop_data.make()["flop_equity"].astype(np.float64)))
        .replace('"flops"', '\n"flops"')
        .replace('"quality"', '\n"quality"')
    )
    (Path(sys.argv[1]) / "flops.json").write_text(text + "\n", encoding="utf-8")
