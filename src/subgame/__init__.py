"""subgame: solve and play two-player zero-sum imperfect-information games.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> result = sg.solve(tree, sg.CFRPlus(), iterations=1000)
    >>> round(result.value, 3)
    -0.056

Six nouns: `Game` (rules), `PublicTree` (a game compiled to arrays), `Strategy` (probabilities
laid over a tree), `Schedule` (a CFR variant as data), `Gadget` (what stands at the root of a
subgame) and `Agent` (something that acts).

The verbs take any tree and any device: `compile`, `solve`, `exploitability`, `best_response`,
`refine`, `nest`, `translate`, `depth_limited`, `cfr_d`. The rest is reached by module, such as
`subgame.refine.depth.continuations`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from subgame import _interrupt as _interrupt  # first: the imports below take a moment

if TYPE_CHECKING:
    from subgame import abstraction as abstraction
    from subgame import gambit as gambit
    from subgame import games, holdem
    from subgame import notebook as notebook
    from subgame import openspiel as openspiel
    from subgame import play as play
    from subgame.errors import MemoryLimitError as MemoryLimitError
    from subgame.errors import SubgameError
    from subgame.games.base import CHANCE as CHANCE
    from subgame.games.base import TERMINAL as TERMINAL
    from subgame.games.base import Game, State
    from subgame.play.agent import Agent
    from subgame.play.running import match
    from subgame.refine.decompose import Compact as Compact
    from subgame.refine.decompose import cfr_d
    from subgame.refine.decompose import compact as compact
    from subgame.refine.decompose import trunk_of as trunk_of
    from subgame.refine.depth.continuations import Continuations as Continuations
    from subgame.refine.depth.continuations import all_pure as all_pure
    from subgame.refine.depth.continuations import biased as biased
    from subgame.refine.depth.leaf_network import LeafNetwork as LeafNetwork
    from subgame.refine.depth.leaf_network import load_leaf_networks as load_leaf_networks
    from subgame.refine.depth.leaf_network import save_leaf_networks as save_leaf_networks
    from subgame.refine.depth.leaf_network import train_leaf_network as train_leaf_network
    from subgame.refine.depth.leaves import Rollouts as Rollouts
    from subgame.refine.depth.leaves import exact as exact
    from subgame.refine.depth.limit import DepthLimited as DepthLimited
    from subgame.refine.depth.limit import depth_limited
    from subgame.refine.depth.play import LimitedPlay as LimitedPlay
    from subgame.refine.depth.play import play_limited
    from subgame.refine.depth.solve import LimitedSolution as LimitedSolution
    from subgame.refine.depth.solve import best_completion as best_completion
    from subgame.refine.depth.solve import self_generated, solve_limited
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
    from subgame.refine.gadgets import GadgetInputs as GadgetInputs
    from subgame.refine.nested.mappings import ActionMapping as ActionMapping
    from subgame.refine.nested.nest import Nested as Nested
    from subgame.refine.nested.nest import nest
    from subgame.refine.nested.translation import translate
    from subgame.refine.refine import Refinement as Refinement
    from subgame.refine.refine import blueprint as blueprint
    from subgame.refine.refine import refine as refine
    from subgame.refine.subgame import Subgame as Subgame
    from subgame.refine.subgame import combine as combine
    from subgame.refine.subgame import cut
    from subgame.solve.evaluate import BestResponse as BestResponse
    from subgame.solve.evaluate import Exploitability as Exploitability
    from subgame.solve.evaluate import best_response, exploitability
    from subgame.solve.evaluate import expected_value as expected_value
    from subgame.solve.evaluate import head_to_head as head_to_head
    from subgame.solve.lp import solve_lp
    from subgame.solve.results import Point as Point
    from subgame.solve.results import Result as Result
    from subgame.solve.results import Step as Step
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
    from subgame.solve.solver import solve as solve
    from subgame.spots.endgame import Endgame as Endgame
    from subgame.tree.compile import compile
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

_MODULES = "abstraction gambit games holdem notebook openspiel play refine solve"
_NAMES = {
    "errors": "MemoryLimitError SubgameError",
    "games.base": "CHANCE Game State TERMINAL",
    "play.agent": "Agent",
    "play.running": "match",
    "refine.decompose": "Compact cfr_d compact trunk_of",
    "refine.depth.continuations": "Continuations all_pure biased",
    "refine.depth.leaf_network": "LeafNetwork load_leaf_networks save_leaf_networks "
    "train_leaf_network",
    "refine.depth.leaves": "Rollouts exact",
    "refine.depth.limit": "DepthLimited depth_limited",
    "refine.depth.play": "LimitedPlay play_limited",
    "refine.depth.solve": "LimitedSolution best_completion self_generated solve_limited",
    "refine.gadgets": "Distributional Estimate Gadget GadgetInputs Maxmargin "
    "ReachEstimateDistributional ReachMaxmargin ReachResolve Resolve Unsafe",
    "refine.nested.mappings": "ActionMapping",
    "refine.nested.nest": "Nested nest",
    "refine.nested.translation": "translate",
    "refine.refine": "Refinement blueprint",
    "refine.subgame": "Subgame combine cut",
    "spots.endgame": "Endgame",
    "solve.evaluate": "BestResponse Exploitability best_response expected_value exploitability "
    "head_to_head",
    "solve.lp": "solve_lp",
    "solve.results": "Point Result Step",
    "solve.schedule": "CFR CFRBR CFRPlus DCFR HSDCFR LCFR MCCFR PCFRPlus PDCFRPlus Schedule",
    "tree.compile": "compile",
    "tree.public_tree": "PublicTree",
    "tree.strategy": "Strategy",
}
"""What is imported when it is first used, so that ``import subgame`` takes milliseconds: modules,
and the names of each module. The imports above say the same to type checkers."""
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _MODULES.split():
        value: Any = import_module(f"subgame.{name}")
    elif name in _HOME:
        value = getattr(import_module(f"subgame.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'subgame' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES.split(), *_HOME})


__all__ = [
    "CFR",
    "CFRBR",
    "DCFR",
    "HSDCFR",
    "LCFR",
    "MCCFR",
    "Agent",
    "CFRPlus",
    "Distributional",
    "Estimate",
    "Gadget",
    "Game",
    "Maxmargin",
    "PCFRPlus",
    "PDCFRPlus",
    "PublicTree",
    "ReachEstimateDistributional",
    "ReachMaxmargin",
    "ReachResolve",
    "Resolve",
    "Schedule",
    "State",
    "Strategy",
    "SubgameError",
    "Unsafe",
    "abstraction",
    "best_response",
    "cfr_d",
    "compile",
    "cut",
    "depth_limited",
    "exploitability",
    "games",
    "holdem",
    "match",
    "nest",
    "play_limited",
    "refine",
    "self_generated",
    "solve",
    "solve_limited",
    "solve_lp",
    "translate",
]
__version__ = "0.1.0"
