"""Distributional alternative payoffs on random games, against linear programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from test_properties import EXACT, blueprint_of, name_of, refined

import subgame as sg
from helpers import oracle_of, profile_of
from margin_program import least_cost, root_of
from subgame.refine.report import Part


def paid(part: Part, spread: float) -> float:
    """What the opponent is paid: the sum over slots of E max(X, v), weighted; X is normal."""
    z = (part.values - part.alternatives) / spread
    most = part.alternatives + spread * (z * norm.cdf(z) + norm.pdf(z))
    return float(part.weight @ most)


def tangents(mean: float, spread: float) -> list[tuple[float, float]]:
    """Lines below E max(X, v), as a function of v; together never far below it."""
    out = []
    for z in np.concatenate([[-40.0], np.linspace(-4.5, 4.5, 91), [40.0]]).tolist():
        slope = float(norm.cdf(z))
        v = mean + spread * z
        out.append((mean + spread * (z * slope + float(norm.pdf(z))) - slope * v, slope))
    return out


DISTRIBUTIONAL = [(seed, spread) for seed in (0, 12, 24) for spread in (0.5, 3.0)]


@pytest.mark.parametrize(("seed", "spread"), DISTRIBUTIONAL)
def test_both_distributional_forms_find_the_optimum(seed: int, spread: float) -> None:
    """Theorem 2: the strategy solves the game where the opponent is told the alternative payoff.

    That optimum is found here by a linear program over tangents of the convex function it pays.
    """
    oracle, profile = oracle_of(name_of(seed)), profile_of(blueprint_of(seed))
    both = [
        refined(seed, sg.Distributional(form), iterations=700, uncertainty=spread)
        for form in ("respond", "hedge")
    ]
    for one, two in zip(both[0].parts, both[1].parts, strict=True):
        root = root_of(oracle, one.subgame, profile, one.player)
        means = zip(one.infosets, one.alternatives.tolist(), strict=True)
        best = least_cost(oracle, root, {s: tangents(mean, spread) for s, mean in means})
        for part in (one, two):
            assert paid(part, spread) >= best - EXACT
            assert paid(part, spread) <= best + 1e-2 + 1e-3 * spread
        assert paid(one, spread) == pytest.approx(paid(two, spread), abs=1e-2)


@pytest.mark.parametrize("form", ["respond", "hedge"])
def test_distributional_tends_to_resolve(form: Any) -> None:
    """About the CBVs and ever narrower, it keeps Resolve's conditions.

    The blueprint pays the opponent CBV + spread / sqrt(2 pi) at each root infoset, and max(CBV, v)
    is at most E max(X, v): so the weighted excess is at most spread / sqrt(2 pi), and what is
    missing to the optimum. The narrower, the longer it takes to come near that.
    """
    technique = sg.Distributional(form, estimate=False)
    for seed in (0, 12, 24):
        for spread, missing, iterations in ((1.0, 1e-3, 300), (0.1, 1e-3, 1500), (0.0, 1e-1, 300)):
            refinement = refined(seed, technique, iterations=iterations, uncertainty=spread)
            for part in refinement.parts:
                allowed = spread / np.sqrt(2 * np.pi) * part.weight.sum()
                assert part.bound <= allowed + missing, (seed, spread)
