"""Nested depth-limited play of hold'em: the first street to a limit, then all that follows it.

Brown, Sandholm & Amos 2018, Sec. 5. What follows stands behind a gadget before the next cards are
dealt. Its alternative payoffs are carried from the limit: what the opponent could get there by
the best continuation, against our strategy of the first street. All boards are solved together.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from subgame.engines.arrays import as_numpy, namespace
from subgame.errors import SubgameError
from subgame.refine.depth.before_cards import BeforeCards
from subgame.refine.depth.ranges import RangeLimit, solve_ranges
from subgame.refine.gadgets import GadgetInputs
from subgame.refine.learners import normalise
from subgame.refine.nested.ranges import flat, reliable
from subgame.refine.solve_gadget import Technique
from subgame.solve.cfr import Learner
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Run, complete
from subgame.tree.strategy import Strategy


def play_ranges(limited: RangeLimit, how: Technique) -> Strategy:
    """Our strategy of a hold'em tree, solved to its limit and from there to the end."""
    p, o, run = limited.player, 1 - limited.player, limited.run
    gadget, schedule, batch = how.gadget, cast(Schedule, how.schedule), limited.batch
    if gadget.entry == "blueprint" or not gadget.is_finite:
        raise SubgameError(
            f"{gadget.name} cannot pass alternative payoffs to the next solve; use resolve."
        )
    street, played = limited.street, solve_ranges(limited, None, how, None).played
    ours = street.descend(p, played[p], street.roots(p))
    leaf = ours[street.at_leaves[p]]
    weight = reliable(as_numpy(street.opposing(o, leaf))[:, None])[:, 0]
    below = street.leaf_values(ours)
    best = normalise(as_numpy(namespace(below).amax(below, 0)), weight)
    entry = as_numpy(run.enter(p, leaf[:, None], 1))
    size = np.maximum(entry.max((1, 2), keepdims=True), 1e-100)  # kernels like numbers near one
    inputs = GadgetInputs(o, as_numpy(leaf), np.ones_like(weight), weight / size[:, 0], best, best)
    device = [street.run.array(each) for each in (inputs.weight, inputs.alternative)]
    placed = GadgetInputs(o, None, None, device[0], device[1], device[1])
    held = as_numpy(batch.roots(o))
    reach = flat(entry / size)
    solve = Run(
        batch.tree,
        schedule,
        on=batch,
        learner=lambda _: BeforeCards(
            _learner(how, placed, predictive=schedule.predictive), run, 1
        ),
        reach=(reach, held) if p == 0 else (held, reach),
    )
    complete(solve, how.limits)
    tree = limited.plain.tree
    made = street.over(tree, p, played[p], np.asarray(solve.played()[p]))
    probs = [np.array(each) for each in limited.blueprint.probs]
    limited.within.embed(p, limited.plain.gather(p, tree.normalise(p, made)), probs[p])
    return Strategy(limited.whole, (probs[0], probs[1]), dict(limited.blueprint.notes))


def _learner(how: Technique, inputs: GadgetInputs, *, predictive: bool) -> Learner:
    """The gadget's learner; one that lets the opponent choose."""
    found = how.gadget.learner(inputs, predictive=predictive)
    assert found is not None
    return found
