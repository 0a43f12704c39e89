"""What the reproductions share: how they are called, where they run, and their unit."""

from __future__ import annotations

from subgame.engines.torch.runtime import load_torch
from subgame.errors import SubgameError


def command(key: str, quick: bool, seed: int, budget: float | None = None) -> str:
    """The command that repeats a run.

    >>> command("burch2014-fig4", quick=False, seed=1, budget=60.0)
    'subgame reproduce burch2014-fig4 --seed 1 --budget 60'
    """
    words = ["subgame reproduce", key]
    words += ["--quick"] if quick else []
    words += [f"--seed {seed}"] if seed else []
    words += [f"--budget {budget:g}"] if budget is not None else []
    return " ".join(words)


def device(quick: bool) -> str:
    """Where whole flop hold'em is solved: a GPU; a quick run with a small deck needs none."""
    if quick:
        return "cpu"
    if not load_torch().cuda.is_available():
        raise SubgameError(
            "Whole flop hold'em is solved on a GPU, but PyTorch finds none here; --quick does the "
            "same with a small deck."
        )
    return "cuda"


def mbb(chips: float, big_blind: int = 100) -> float:
    """Thousandths of a big blind."""
    return chips / big_blind * 1000
