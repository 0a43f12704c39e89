"""Ours beyond the papers: lexicographic Maxmargin, and ranges made wider where there is doubt."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import tree_of
from subgame.refine.gadgets import Adaptive, Combined
from subgame.refine.learners import GadgetInputs, doubt
from subgame.refine.report import Part, Refinement
from subgame.refine.subgame import Trunk

SEEDS = range(0, 60, 3)
EXACT = 1e-7


def refined(seed: int, technique: sg.Gadget, schedule: str = "lp", steps: int = 0) -> Refinement:
    tree = tree_of(f"random(seed={seed})")
    rough = sg.Strategy.random(tree, seed=seed)
    return sg.refine(
        tree,
        rough,
        at=f"depth {1 + seed % 2}",
        technique=technique,
        schedule=schedule,
        iterations=steps or None,
        allow_worse=True,
    )


def losses(part: Part) -> NDArray[np.float64]:
    """[s] by how much the opponent gets more than the alternative; below 0: less."""
    return np.where(part.weight > 0, part.values - part.alternatives, 0.0)


def test_lexicographic_margins_are_not_below_those_of_resolve() -> None:
    """Alternatives that cannot all be kept: the opponent's values by the blueprint.

    What Resolve loses is the least possible, and Maxmargin after it loses no more at any root
    infoset; by itself it does. Where nothing must be lost, its smallest margin is the largest.
    """
    worse = larger = 0
    for seed in SEEDS:
        parts = [
            refined(seed, sg.Estimate(gadget)).parts
            for gadget in (sg.Resolve(), sg.Maxmargin(), sg.Maxmargin(lexicographic=True))
        ]
        for resolve, plain, both in zip(*parts, strict=True):
            allowed = np.maximum(losses(resolve), 0)
            assert (losses(both) <= allowed + EXACT).all(), seed
            worse += bool((losses(plain) > allowed + 1e-3).any())
            if allowed.max(initial=0) <= EXACT:
                real = both.weight > 0
                most = losses(plain)[real].max(initial=-np.inf)
                assert losses(both)[real].max(initial=-np.inf) == pytest.approx(most, abs=1e-6)
                larger += bool(losses(resolve)[real].max(initial=-np.inf) > most + 1e-3)
    assert worse >= 3
    assert larger >= 3


def test_lexicographic_is_of_maxmargin() -> None:
    for make in (sg.Resolve, sg.ReachResolve, sg.Distributional):
        with pytest.raises(sg.SubgameError, match="cannot be lexicographic"):
            make(lexicographic=True)
    with pytest.raises(sg.SubgameError, match="two stages"):
        sg.Maxmargin(lexicographic=True).learner(inputs(0.0))


def test_what_an_even_share_promises() -> None:
    """No root infoset loses more than what is won at the others, divided by its part in the range.

    The solution loses least to the range, so no more than the blueprint does: what it gives up at
    one root infoset it wins back at others, where it cannot win more than the blueprint lost.
    """
    near, even = 0.0, 0.3
    for seed in SEEDS[:8]:
        for part in refined(seed, Combined(cap=0.0, even=even), "cfr+", 200).parts:
            real = part.weight > 0
            trunk = Trunk(
                sg.Strategy.random(tree_of(f"random(seed={seed})"), seed), 1 - part.player
            )
            reach = np.where(real, part.subgame.reach(1 - part.player, trunk), 0)
            share = (reach + even * real * reach.sum() / max(real.sum(), 1)) * part.weight
            won = share @ np.maximum(part.cbv - part.values, 0)
            lost = (share * (part.values - part.cbv)).max()
            assert lost <= won + 1e-3, seed
            near = max(near, lost / max(won, 1e-2))
    assert near > 0.1  # somewhere much is given up: the bound is not idle


def inputs(spread: float) -> GadgetInputs:
    """Two roots with values of -1 and 1; the estimates of the first are right."""
    error = np.array([[0.0, 0.0], [spread, spread]])
    ones = np.ones((2, 2))
    value = np.array([[-1.0, 1.0]] * 2)
    return GadgetInputs(1, ones, ones, ones, value, value + error, error)


def test_doubt_is_noise_beside_signal() -> None:
    assert doubt(inputs(0.1)).tolist() == [[0.0], [pytest.approx(0.01)]]
    assert doubt(inputs(3.0)).tolist() == [[0.0], [1.0]]


def test_adaptive_is_unsafe_where_there_is_no_doubt() -> None:
    """The opponent's reach is the blueprint's at the first root, and wider at the second."""
    learner = Adaptive().learner(inputs(0.5))
    assert learner is not None
    first, second = learner.enter()
    assert first.tolist() == [1.0, 1.0]
    # Doubt 1/4: a quarter of the range spread evenly, and half of it in entries (all enter half).
    assert second.tolist() == pytest.approx([1.75, 1.75])
    assert "Nothing is guaranteed" in Adaptive().promise
    assert not Adaptive().is_safe
