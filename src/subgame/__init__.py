"""subgame: solve and play two-player zero-sum imperfect-information games.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> result = sg.solve(tree, sg.CFRPlus(), iterations=1000)
    >>> round(result.value, 3)
    -0.056

Six nouns: `Game` (rules), `PublicTree` (a game compiled to arrays), `Strategy` (probabilities
laid over a tree), `Schedule` (a CFR variant as data), `Gadget` (what stands at the root of a
subgame) and `Agent` (something that acts).
"""

from __future__ import annotations

from subgame import gambit, games, openspiel
from subgame.errors import MemoryLimitError, SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.refine.decompose import Compact, cfr_d, compact, trunk_of
from subgame.refine.gadgets import (
    Distributional,
    Estimate,
    Gadget,
    Maxmargin,
    ReachEstimateDistributional,
    ReachMaxmargin,
    ReachResolve,
    Resolve,
    Unsafe,
)
from subgame.refine.refine import Refinement, blueprint, refine
from subgame.refine.subgame import Subgame, combine, cut
from subgame.solve.judge import (
    BestResponse,
    Exploitability,
    best_response,
    expected_value,
    exploitability,
    head_to_head,
)
from subgame.solve.lp import solve_lp
from subgame.solve.result import Point, Result, Step
from subgame.solve.schedule import (
    CFR,
    CFRBR,
    DCFR,
    LCFR,
    MCCFR,
    CFRPlus,
    PCFRPlus,
    PDCFRPlus,
    Schedule,
)
from subgame.solve.solver import solve
from subgame.tree.compile import compile
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

__all__ = [
    "CFR",
    "CFRBR",
    "CHANCE",
    "DCFR",
    "LCFR",
    "MCCFR",
    "TERMINAL",
    "BestResponse",
    "CFRPlus",
    "Compact",
    "Distributional",
    "Estimate",
    "Exploitability",
    "Gadget",
    "Game",
    "Maxmargin",
    "MemoryLimitError",
    "PCFRPlus",
    "PDCFRPlus",
    "Point",
    "PublicTree",
    "ReachEstimateDistributional",
    "ReachMaxmargin",
    "ReachResolve",
    "Refinement",
    "Resolve",
    "Result",
    "Schedule",
    "State",
    "Step",
    "Strategy",
    "Subgame",
    "SubgameError",
    "Unsafe",
    "best_response",
    "blueprint",
    "cfr_d",
    "combine",
    "compact",
    "compile",
    "cut",
    "expected_value",
    "exploitability",
    "gambit",
    "games",
    "head_to_head",
    "openspiel",
    "refine",
    "solve",
    "solve_lp",
    "trunk_of",
]
__version__ = "0.1.0"
