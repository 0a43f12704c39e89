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

from subgame import games, gambit, openspiel
from subgame.errors import MemoryLimitError, SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
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
