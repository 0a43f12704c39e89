"""Options that verbs share: shown in signatures, checked by name, the same in every verb."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import subgame as sg
from helpers import tree_of
from subgame.refine.behind import GadgetOptions, RefineOptions, Solving
from subgame.refine.limit import LeafOptions, Limit
from subgame.refine.networks import Training, TrainOptions
from subgame.refine.sequence.leaf_network import train_leaf_network
from subgame.solve.limits import SolveOptions, StopOptions
from subgame.solve.solver import Limits, Run

VERBS: list[tuple[Callable[..., Any], Any]] = [
    (sg.solve, SolveOptions),
    (sg.refine, RefineOptions),
    (sg.nest, GadgetOptions),
    (sg.depth_limited, LeafOptions),
    (sg.self_generated, LeafOptions),
    (sg.solve_limited, StopOptions),
    (train_leaf_network, TrainOptions),
]


@pytest.mark.parametrize(("verb", "options"), VERBS, ids=lambda verb: verb.__name__)
def test_a_signature_names_every_option(verb: Callable[..., Any], options: Any) -> None:
    shown = inspect.signature(verb).parameters
    assert set(options.__annotations__) < set(shown)
    assert all(option.kind != inspect.Parameter.VAR_KEYWORD for option in shown.values())


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (StopOptions, (Limits,)),
        (SolveOptions, (Limits, Run)),
        (GadgetOptions, (Solving,)),
        (RefineOptions, (Solving,)),
        (LeafOptions, (Limit,)),
        (TrainOptions, (Training,)),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_every_option_is_passed_on(options: Any, kinds: tuple[Any, ...]) -> None:
    known = {name for kind in kinds for name in inspect.signature(kind).parameters}
    assert set(options.__annotations__) <= known


@pytest.mark.parametrize(
    ("verb", "arguments", "said"),
    [
        ("solve", {"iteration": 5}, "'iteration'; did you mean 'iterations'"),
        ("refine", {"at": "b", "target": 0.1}, "'target'"),
        ("nest", {"iteration": 1}, "'iteration'; did you mean 'iterations'"),
        ("depth_limited", {"at": "b", "value": 1}, "'value'; did you mean 'values'"),
        ("self_generated", {"at": "b", "weakened": 1}, "'weakened'; did you mean 'weaken'"),
        ("solve_limited", {"gap": 0.1}, "'gap'"),
        ("train_leaf_network", {"at": "b", "epoch": 5}, "'epoch'; did you mean 'epochs'"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_one(
    verb: str, arguments: dict[str, Any], said: str
) -> None:
    tree = tree_of("kuhn")
    uniform = sg.Strategy.uniform(tree)
    args: tuple[Any, ...] = (tree, uniform)
    if verb == "solve":
        args = (tree,)
    elif verb == "solve_limited":
        args = (sg.depth_limited(tree, uniform, at="b"),)
    with pytest.raises(sg.SubgameError, match=f"There is no option of {verb} called {said}"):
        (getattr(sg, verb, None) or train_leaf_network)(*args, **arguments)
