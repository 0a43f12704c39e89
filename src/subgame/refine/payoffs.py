"""Alternative payoffs and gifts: what the opponent could have had instead of this subgame.

Values here are the opponent's and normalised as in Brown & Sandholm 2017, Sec. 3: given that the
infoset is reached, i.e. the counterfactual value divided by pi_{-i}. `normalise` is the one place
where the two units meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from subgame.engines.arrays import Array, Floats, namespace, normalise
from subgame.engines.contract import Engine
from subgame.refine.gadgets import Gadget, GadgetInputs

ROUNDING = 1e-5
"""Weights below this share of the largest are rounding: kernels compute in float32."""


def carried_gift(size: Array, reach: Array, gadget: Gadget) -> Array:
    """What a gift adds to the sum that is carried down to the root infosets below it.

    `size` is the best CBV(I, a) minus CBV(I, a'), unnormalised; `reach` is pi_{-i}(I). *Split*: a
    root infoset may gain the normalised gift itself. The root infosets below I are reached with
    probability one at most in all, so together they never take more than it. *Not split*: each may
    take all of it; see `received_gift`.
    """
    return gadget.scale * (normalise(size, reach) if gadget.split else size)


def received_gift(carried: Array, weight: Array, gadget: Gadget) -> Array:
    """The gifts of a root infoset (eq. 1), from the sum carried to it; `weight` is its pi_{-i}.

    Not split, a gift is divided by the probability of coming to the root infoset: for a board card
    that is the factor 1,755 of the paper.
    """
    return carried if gadget.split else normalise(carried, weight)


def reliable(weight: Array) -> Array:
    """Weights without those that are rounding: sums over nearly all hands cancel out."""
    return weight * (weight > ROUNDING * namespace(weight).amax(weight, -1, keepdims=True))


def left(run: Engine, sigma: Sequence[Any], inputs: GadgetInputs) -> Floats:
    """What the opponent gets at best from each root infoset against our part of `sigma`.

    It has the axes of the inputs.
    """
    us, ours = 1 - inputs.opponent, inputs.our_reach.reshape(run.tree.num_roots, -1)
    won = run.respond(inputs.opponent, run.plan(us, sigma[us], ours)).roots
    normalised: Floats = normalise(won.reshape(inputs.weight.shape), inputs.weight)
    return normalised
