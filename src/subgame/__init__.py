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
`refine`, `nest`, `translate`, `depth_limited`, `cfr_d`, `match`. The rest is reached by module,
such as `subgame.refine.continuations`.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

from subgame import _interrupt as _interrupt  # first: the imports below take a moment

if _typing.TYPE_CHECKING:
    from subgame import abstraction as abstraction
    from subgame import games, holdem
    from subgame.errors import SubgameError
    from subgame.games.base import Game, State
    from subgame.play.agent import Agent
    from subgame.play.running import match
    from subgame.refine.gadgets import (
        Adaptive,
        Combined,
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
    from subgame.refine.verbs.cut import cut
    from subgame.refine.verbs.decompose import cfr_d
    from subgame.refine.verbs.depth import (
        depth_limited,
        play_limited,
        self_generated,
        solve_limited,
    )
    from subgame.refine.verbs.nest import nest
    from subgame.refine.verbs.refine import refine as refine
    from subgame.refine.verbs.translate import translate
    from subgame.solve.evaluate import best_response, exploitability
    from subgame.solve.lp import solve_lp
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
    from subgame.tree.compile import compile
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

_MODULES = "abstraction games holdem refine solve"
_NAMES = {
    "errors": "SubgameError",
    "games.base": "Game State",
    "play.agent": "Agent",
    "play.running": "match",
    "refine.gadgets": "Adaptive Combined Distributional Estimate Gadget Maxmargin "
    "ReachEstimateDistributional ReachMaxmargin ReachResolve Resolve Unsafe",
    "refine.verbs.cut": "cut",
    "refine.verbs.decompose": "cfr_d",
    "refine.verbs.depth": "depth_limited play_limited self_generated solve_limited",
    "refine.verbs.nest": "nest",
    "refine.verbs.translate": "translate",
    "solve.evaluate": "best_response exploitability",
    "solve.lp": "solve_lp",
    "solve.schedule": "CFR CFRBR CFRPlus DCFR HSDCFR LCFR MCCFR PCFRPlus PDCFRPlus Schedule",
    "tree.compile": "compile",
    "tree.public_tree": "PublicTree",
    "tree.strategy": "Strategy",
}
"""What is imported when it is first used, so that ``import subgame`` takes milliseconds: modules,
and the names of each module. The imports above say the same to type checkers."""
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> _typing.Any:
    if name in _MODULES.split():
        value: _typing.Any = _importlib.import_module(f"subgame.{name}")
    elif name in _HOME:
        value = getattr(_importlib.import_module(f"subgame.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'subgame' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


__all__ = [
    "CFR",
    "CFRBR",
    "DCFR",
    "HSDCFR",
    "LCFR",
    "MCCFR",
    "Adaptive",
    "Agent",
    "CFRPlus",
    "Combined",
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
