"""A gadget of one's own, as CONTRIBUTING shows it, works on every engine without further code."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.refine.learners import Choice, GadgetInputs
from subgame.refine.report import Refinement


@dataclass(frozen=True)
class Combined(sg.Gadget):
    """Slumbot's gadget: the blueprint's range, Resolve's entries and some of every hand."""

    resolve: float = 1.0
    uniform: float = 0.1

    def learner(self, inputs: GadgetInputs, *, predictive: bool = False) -> CombinedLearner:
        return CombinedLearner(self, inputs, predictive)


class CombinedLearner:
    """Chooses the opponent's reach; arrays are [root, infoset], NumPy's or PyTorch's."""

    def __init__(self, gadget: Combined, inputs: GadgetInputs, predictive: bool) -> None:
        self.player = inputs.opponent
        self.fixed = inputs.opponent_reach + gadget.uniform
        self.share, self.choice = gadget.resolve, Choice(inputs, "leave", predictive=predictive)

    def enter(self) -> Any:
        return self.fixed + self.share * self.choice.enter()

    def observe(self, values: Any, discounts: Any) -> None:
        self.choice.observe(values, discounts)


ENGINES = [(kind, device) for kind in ("sequence", "ranges") for device in ("cpu", "torch")]


@cache
def refined(kind: str, device: str, gadget: sg.Gadget) -> Refinement:
    """A river refined behind a gadget. The blueprint is random, so no two actions are equal."""
    game = sg.holdem.endgame(
        "Qs 9h Th Ks 9s",
        40,
        120,
        ("AA,KT,QJ,TT", "AK,KK,QJ,JTs"),
        "all: 0.7x / cap 1",
        deck=Deck("9TJQKA", "hs"),
    )
    rough = sg.Strategy.random(sg.compile(game, merge=False), seed=3)
    tree = sg.compile(game, explicit=kind == "sequence", merge=False)
    known = sg.Strategy.uniform(tree).table()
    blueprint = sg.Strategy.from_table(tree, {k: v for k, v in rough.table().items() if k in known})
    return sg.refine(
        tree,
        blueprint,
        at=["Qs 9h Th Ks 9s | c"],
        technique=gadget,
        schedule="cfr+",
        iterations=50,
        device=device,
    )


@pytest.mark.parametrize(("kind", "device"), ENGINES)
def test_a_gadget_of_ones_own_works_on_every_engine(kind: str, device: str) -> None:
    if device == "torch" and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (the extra 'gpu')")
    result = refined(kind, device, Combined("combined"))
    for p in (0, 1):
        assert result.strategy.tree.sums_error(p, result.strategy.probs[p]) < 1e-5
        assert result.strategy.probs[p].min() >= 0
    assert np.isfinite(result.after.per_seat).all()
    # The same on the other engine of the tree, and on the other kind of tree.
    for other in ((kind, "cpu"), ("sequence", "cpu")):
        want = refined(*other, Combined("combined"))
        assert result.after.per_seat == pytest.approx(want.after.per_seat, abs=1e-4)
    # With the blueprint's entries alone it is Unsafe.
    alone = refined(kind, device, Combined("blueprint alone", resolve=0.0, uniform=0.0))
    unsafe = refined(kind, device, sg.Unsafe())
    assert result.after.per_seat != pytest.approx(unsafe.after.per_seat, abs=1e-2)
    for p in (0, 1):
        assert np.allclose(alone.strategy.probs[p], unsafe.strategy.probs[p], atol=1e-5)
