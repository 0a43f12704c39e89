"""Brown, Sandholm & Amos 2018, Fig. 2, with the betting of the 2017 paper's Table 2."""

from __future__ import annotations

from subgame.papers import brown2018_fig2
from subgame.papers.brown2017_table2 import KNOWN
from subgame.papers.report import Report
from subgame.papers.settings import Progress

KEY = "brown2018-fig2-one-bet"


def run(quick: bool = False, seed: int = 0, progress: Progress | None = None) -> Report:
    """On a GPU; quick: a deck of eight cards and one bet on the flop, on the CPU."""
    return brown2018_fig2.run(quick, seed, progress, KEY, KNOWN)
