"""What the reproductions share: how they tell of their progress, and how they are called."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of all is done (0 to 1)."""


def command(key: str, quick: bool, seed: int, budget: float | None = None) -> str:
    """What to type for the same again.

    >>> command("burch2014-fig4", quick=False, seed=1, budget=60.0)
    'subgame reproduce burch2014-fig4 --seed 1 --budget 60'
    """
    words = ["subgame reproduce", key]
    words += ["--quick"] if quick else []
    words += [f"--seed {seed}"] if seed else []
    words += [f"--budget {budget:g}"] if budget is not None else []
    return " ".join(words)
