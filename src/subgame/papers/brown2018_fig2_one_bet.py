"""Brown, Sandholm & Amos 2018, Fig. 2, with the betting of the 2017 paper's Table 2."""

from __future__ import annotations

from functools import partial

from subgame.papers import brown2018_fig2
from subgame.papers.brown2017_table2 import KNOWN
from subgame.papers.brown2018_fig2 import NOTES

__all__ = ["NOTES", "run"]

run = partial(brown2018_fig2.run, bets=KNOWN)
