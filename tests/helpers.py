"""What many tests share: the games under test, and the bridge to the oracle's dictionaries."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import subgame as sg
from oracle import Oracle, Profile
from subgame.refine.sequence.decompose import SequenceCompact
from subgame.refine.sequence.limit import DepthLimited
from subgame.refine.sequence.subgames import SequenceSubgame
from subgame.refine.subgame import Subgame
from subgame.tree.sequence.tree import SequenceTree, sequence_tree

SMALL = [
    "coin-toss",
    "coin-toss-two",
    "rps",
    "rps-plus",
    "kuhn",
    "leduc",
    "liars-dice(dice=1, faces=3)",
    "goofspiel(cards=3)",
    "goofspiel(cards=3, order=random)",
]
RANDOM = [f"random(seed={seed})" for seed in range(200)]


@cache
def tree_of(name: str) -> SequenceTree:
    return sequence_tree(sg.compile(sg.games.load(name)))


@cache
def oracle_of(name: str) -> Oracle:
    return Oracle(sg.games.load(name))


def sequences_above(subgame: Subgame, p: int) -> NDArray[np.int32]:
    """[s] the sequence of the whole sequence tree that each root slot hangs below."""
    assert isinstance(subgame, SequenceSubgame)
    return subgame.sequence[p]


def profile_of(strategy: sg.Strategy) -> Profile:
    """A strategy as the oracle's dictionaries."""
    out: tuple[dict[str, dict[str, float]], ...] = ({}, {})
    for p, name, row in strategy.rows():
        out[p][name] = row
    return out


def strategy_of(tree: sg.PublicTree, profile: Profile) -> sg.Strategy:
    """The oracle's dictionaries as a strategy."""
    return sg.Strategy(tree, tuple(array_of(tree, p, profile[p]) for p in (0, 1)))  # type: ignore[arg-type]


def array_of(
    tree: sg.PublicTree, p: int, table: dict[str, dict[str, float]]
) -> NDArray[np.float64]:
    """infoset -> action -> number, laid over a player's sequences; ones at the root slots."""
    side = tree.players[p]
    out = np.ones(side.num_sequences)
    for i, name in enumerate(side.names):
        out[side.sequences(i)] = [table[name][action] for action in side.actions[i]]
    return out


def depth_limited(*args: Any, **options: Any) -> DepthLimited:
    """`sg.depth_limited` of a sequence tree."""
    result = sg.depth_limited(*args, **options)
    assert isinstance(result, DepthLimited)
    return result


def cfr_d(*args: Any, **options: Any) -> SequenceCompact:
    """`sg.cfr_d` of a sequence tree."""
    result = sg.cfr_d(*args, **options)
    assert isinstance(result, SequenceCompact)
    return result
