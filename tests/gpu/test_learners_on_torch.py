"""Gadgets' learners on PyTorch's tensors and on NumPy's arrays: the same numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.engines.arrays import as_numpy
from subgame.refine.learners import GadgetInputs
from subgame.solve.schedule import parse

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

GADGETS = {
    "leave": sg.Resolve(),
    "leave, refined": sg.Resolve(refined=0.1),
    "choose": sg.Maxmargin(),
    "choose, refined": sg.Maxmargin(refined=0.1),
    "respond": sg.Distributional("respond"),
    "hedge": sg.Distributional("hedge"),
}
SHAPE = (3, 7)
TIGHT = 1e-12


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    """Inputs [root, infoset]: some root infosets are never reached, some payoffs are certain."""
    weight = rng.random(SHAPE) * (rng.random(SHAPE) < 0.8)
    weight[0, 0] = 0.0
    spread = rng.random(SHAPE) * (rng.random(SHAPE) < 0.8)
    alternative = rng.normal(size=SHAPE)
    return {
        "opponent": 1,
        "our_reach": rng.random(SHAPE),
        "opponent_reach": rng.random(SHAPE),
        "weight": weight,
        "alternative": alternative,
        "cbv": alternative,
        "spread": spread,
    }


def put(values: Any) -> Any:
    return torch.from_numpy(values.copy()) if isinstance(values, np.ndarray) else values


def close(got: Any, want: Any) -> None:
    assert got.dtype == torch.float64
    np.testing.assert_allclose(as_numpy(got), want, rtol=TIGHT, atol=TIGHT)


@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "dcfr", "pcfr+", "pdcfr+"])
@pytest.mark.parametrize("kind", GADGETS)
def test_tensors_and_arrays_give_the_same_numbers(kind: str, schedule: str) -> None:
    plan, gadget, rng = parse(schedule), GADGETS[kind], np.random.default_rng(4)
    if plan.predictive and not gadget.is_finite:
        pytest.skip("random payoffs are not predicted")
    arrays = numbers(rng)
    assert set(arrays) == {field.name for field in fields(GadgetInputs)}
    here = GadgetInputs(**arrays)
    there = GadgetInputs(**{name: put(values) for name, values in arrays.items()})
    want, got = (gadget.learner(inputs, predictive=plan.predictive) for inputs in (here, there))
    assert want is not None
    assert got is not None
    discounts = np.column_stack([plan.discounts(1, 9), np.arange(9.0)])
    close(got.enter(), want.enter())
    for t in range(8):
        values = rng.normal(size=SHAPE) * arrays["weight"]
        want.observe(values, discounts[t : t + 2])
        got.observe(put(values), put(discounts[t : t + 2]))
        close(got.enter(), want.enter())
    for name in ("regret", "average", "instant", "seen"):
        if getattr(want, name, None) is not None:
            close(getattr(got, name), getattr(want, name))
    assert np.ptp(want.enter()[arrays["weight"] > 0]) > 0.01
