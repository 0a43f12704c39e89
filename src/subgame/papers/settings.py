"""What the reproductions share: how they tell of their progress, and how they are called."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of all is done (0 to 1)."""


def command(key: str, quick: bool, seed: int) -> str:
    """What to type for the same again."""
    return (
        f"subgame reproduce {key}{' --quick' if quick else ''}{f' --seed {seed}' if seed else ''}"
    )
