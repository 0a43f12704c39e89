"""Nested depth-limited play of hold'em: the first street to a limit, then all that follows it.

Brown, Sandholm & Amos 2018, Sec. 5. What follows stands behind a gadget before the next cards are
dealt. Its alternative payoffs are carried from the limit: what the opponent could get there by
the best continuation, against our strategy of the first street. All boards are solved together.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from subgame.engines.arrays import Array, as_kind, as_numpy, namespace, normalise
from subgame.engines.contract import RangeEngine
from subgame.errors import SubgameError
from subgame.games.holdem.sizes import STREETS
from subgame.refine.behind import Technique
from subgame.refine.learners import GadgetInputs
from subgame.refine.limit import Limit, Play, Played
from subgame.refine.ranges.limit import RangeLimit, limited_ranges, solve_ranges
from subgame.refine.ranges.subgames import flat
from subgame.refine.subgame import reliable
from subgame.solve.cfr import Learner
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Run, complete
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.strategy import Strategy


def play_ranges(tree: RangeTree, play: Play) -> Played:
    """What `play_limited` plays on a hold'em tree: to its limit, and from there to the end."""
    where = play.at[0] if play.at else f"before the {STREETS[tree.streets[0].index + 1]}"
    device, offered = play.solving.device, play.offered([])
    limit = Limit(play.blueprint, where, play.player, offered, device=device)
    how = play.solving.technique(play.gadget, tree)
    strategy = _to_the_end(limited_ranges(tree, limit), how)
    return strategy, ((0, "start"), (1, str(where)))


def _to_the_end(limited: RangeLimit, how: Technique) -> Strategy:
    """Our strategy, solved to the limit and from there to the end."""
    p, o, run = limited.player, 1 - limited.player, limited.run
    gadget, schedule, batch = how.gadget, cast(Schedule, how.schedule), limited.batch
    if gadget.entry == "blueprint" or not gadget.is_finite:
        raise SubgameError(
            f"{gadget.name} cannot pass alternative payoffs to the next solve; use resolve."
        )
    street, played = limited.street, solve_ranges(limited, None, how, None).played
    ours = street.descend(p, played[p], street.roots(p))
    leaf = ours[street.at_leaves[p]]
    weight = reliable(as_numpy(street.opposing(o, leaf)))
    below = street.leaf_values(ours)
    best = as_numpy(namespace(below).amax(below, 0))
    entry = as_numpy(run.enter(p, leaf[:, None], 1))
    size = np.maximum(entry.max((1, 2), keepdims=True), 1e-100)  # kernels like numbers near one
    alternative = street.run.array(normalise(best, weight))
    placed = street.run.array(weight / size[:, 0])
    inputs = GadgetInputs.of(o, (None, None), placed, alternative)
    held = as_numpy(batch.roots(o))
    reach = flat(entry / size)
    solve = Run(
        batch.tree,
        schedule,
        on=batch,
        learner=lambda _: BeforeCards(
            _learner(how, inputs, predictive=schedule.predictive), run, 1
        ),
        reach=(reach, held) if p == 0 else (held, reach),
    )
    complete(solve, how.limits)
    tree = limited.plain.tree
    made = street.over(tree, p, played[p], np.asarray(solve.played()[p]))
    probs = [np.array(probs) for probs in limited.blueprint.probs]
    limited.within.embed(p, limited.plain.gather(p, tree.normalise(p, made)), probs[p])
    return Strategy(limited.whole, (probs[0], probs[1]), dict(limited.blueprint.notes))


class BeforeCards:
    """A gadget that stands before the cards of a street: one choice for all boards that follow.

    A depth limit of hold'em lies before the next street's cards, so that the opponent's values
    there are known by hand, not by hand and board. What is solved below it are all boards of the
    street at once (`RangeEngine.stage`), with this as the learner of `solve.cfr.Cfr`: the entry
    that `learner` chooses is carried down to every board, and values come up summed over boards.
    """

    def __init__(self, learner: Learner, run: RangeEngine, street: int) -> None:
        """`run` is of the tree that holds the `street` and the one above it.

        The arrays of `learner` are ``[leaf * boards + board, hand]`` of the street above: one row
        per leaf, if that has a single board.
        """
        self.learner, self.run, self.street = learner, run, street
        self.player = learner.player
        first = run.tree.units.first
        self.above, self.here = (first[s + 1] - first[s] for s in (street - 1, street))
        """Boards of the street above, and of the street."""
        self.like = learner.enter()

    def enter(self) -> Array:
        """[way * boards + board, hand] the opponent's reach on the coming iteration."""
        entry = self.learner.enter().reshape(-1, self.above, self.like.shape[1])
        reach = self.run.enter(self.player, entry, self.street)
        return reach.reshape(-1, reach.shape[2])

    def observe(self, values: Array, discounts: Array) -> None:
        """Learn from the values of all boards together; see `subgame.solve.cfr.Learner`."""
        here = values.reshape(-1, self.here, values.shape[1])
        above = self.run.rise(self.player, here, self.street)
        risen = as_kind(above[..., : self.like.shape[1]], self.like).reshape(self.like.shape)
        self.learner.observe(risen, discounts)


def _learner(how: Technique, inputs: GadgetInputs, *, predictive: bool) -> Learner:
    """The gadget's learner; one that lets the opponent choose."""
    learner = how.gadget.learner(inputs, predictive=predictive)
    assert learner is not None
    return learner
