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

from subgame import games
from subgame.errors import MemoryLimitError, SubgameError
from subgame.games import holdem
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.interop import gambit, openspiel
from subgame.refine.decompose import Compact, cfr_d, compact, trunk_of
from subgame.refine.depth.continuations import Continuations, all_pure, biased
from subgame.refine.depth.leaf_network import (
    LeafNetwork,
    load_leaf_networks,
    save_leaf_networks,
    train_leaf_network,
)
from subgame.refine.depth.leaves import Rollouts, exact
from subgame.refine.depth.limit import DepthLimited, depth_limited
from subgame.refine.depth.play import LimitedPlay, play_limited
from subgame.refine.depth.solve import (
    LimitedSolution,
    best_completion,
    self_generated,
    solve_limited,
)
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
from subgame.refine.nested.mappings import ActionMapping
from subgame.refine.nested.nest import Nested, nest
from subgame.refine.nested.translation import translate
from subgame.refine.refine import Refinement, blueprint, refine
from subgame.refine.subgame import Subgame, combine, cut
from subgame.solve.endgame import Endgame
from subgame.solve.evaluate import (
    BestResponse,
    Exploitability,
    best_response,
    expected_value,
    exploitability,
    head_to_head,
)
from subgame.solve.lp import solve_lp
from subgame.solve.results import Point, Result, Step
from subgame.solve.schedule import (
    CFR,
    CFRBR,
    DCFR,
    HSDCFR,
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
    "HSDCFR",
    "LCFR",
    "MCCFR",
    "TERMINAL",
    "ActionMapping",
    "BestResponse",
    "CFRPlus",
    "Compact",
    "Continuations",
    "DepthLimited",
    "Distributional",
    "Endgame",
    "Estimate",
    "Exploitability",
    "Gadget",
    "Game",
    "LeafNetwork",
    "LimitedPlay",
    "LimitedSolution",
    "Maxmargin",
    "MemoryLimitError",
    "Nested",
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
    "Rollouts",
    "Schedule",
    "State",
    "Step",
    "Strategy",
    "Subgame",
    "SubgameError",
    "Unsafe",
    "all_pure",
    "best_completion",
    "best_response",
    "biased",
    "blueprint",
    "cfr_d",
    "combine",
    "compact",
    "compile",
    "cut",
    "depth_limited",
    "exact",
    "expected_value",
    "exploitability",
    "gambit",
    "games",
    "head_to_head",
    "holdem",
    "load_leaf_networks",
    "nest",
    "openspiel",
    "play_limited",
    "refine",
    "save_leaf_networks",
    "self_generated",
    "solve",
    "solve_limited",
    "solve_lp",
    "train_leaf_network",
    "translate",
    "trunk_of",
]
__version__ = "0.1.0"
