"""Gifts in sequence trees: what the opponent gives up by each action (2017, Sec. 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats, as_numpy
from subgame.games.base import TERMINAL
from subgame.refine.gadgets import Gadget
from subgame.refine.subgame import Trunk, carried_gift, received_gift
from subgame.solve.evaluate import counterfactual_reach
from subgame.tree.sequence.tree import SequenceTree, Treeplex, sequence_tree

Index = NDArray[np.int32]


class Gifts(NamedTuple):
    """What the opponent gives up by each of the actions in a sequence tree."""

    size: Floats  # [q] the best that could have been had instead, less this; unnormalised
    reach: Floats  # [q] pi_{-i} of the infoset

    def to(self, side: Treeplex, sequence: Index, weight: Floats, gadget: Gadget) -> Floats:
        """[s] the gifts on the way to root infosets that hang below the sequences given."""
        total, q = np.zeros(len(weight)), sequence.copy()
        while (inner := q >= len(side.slots)).any():
            total += np.where(inner, carried_gift(self.size[q], self.reach[q], gadget), 0.0)
            above = side.plex.parent[side.infoset_of[np.where(inner, q, len(side.slots))]]
            q = np.where(inner, above, q)
        return as_numpy(received_gift(total, weight, gadget))


def gifts_of(trunk: Trunk, gadget: Gadget) -> Gifts:
    """What the opponent in a sequence tree gives up by each action against our plan.

    "lower": the best is taken over the action itself and those that end the game at once, whose
    value no refinement can change (2017, Sec. 5). "estimated": over all actions, by the values of
    the estimate.
    """
    tree, o, run = sequence_tree(trunk.blueprint.tree), trunk.opponent, trunk.engine
    side, our_plan = tree.players[o], np.asarray(trunk.plans[1 - o])
    if trunk.estimate is not None and gadget.gifts == "estimated":
        value = run.values(o, trunk.estimate.probs[o], our_plan).sequences
    else:
        value = run.respond(o, our_plan).sequences
    assert value is not None
    allowed = np.ones(len(value), dtype=bool) if gadget.gifts == "estimated" else _ends(tree, o)
    owner, slots = side.infoset_of, len(side.slots)
    best = np.full(len(side.names), -np.inf)
    inner = np.flatnonzero(allowed)
    inner = inner[inner >= slots]
    np.maximum.at(best, owner[inner], value[inner])
    size, reach = np.zeros(len(value)), np.zeros(len(value))
    size[slots:] = np.maximum(best[owner[slots:]] - value[slots:], 0.0)
    reach[slots:] = counterfactual_reach(tree, o, our_plan)[owner[slots:]]
    return Gifts(size, reach)


def _ends(tree: SequenceTree, o: int) -> NDArray[np.bool_]:
    """[q] whether an action always ends the game at once: A_z of 2017, Sec. 5."""
    h = tree.walked
    after = np.flatnonzero(h.parent >= 0)
    after = after[h.player[h.parent[after]] == o]
    ends = np.ones(tree.players[o].num_sequences, dtype=bool)
    goes_on = after[h.player[after] != TERMINAL]
    ends[tree.located[o][goes_on]] = False
    return ends
