"""Alternative payoffs and gifts: what the opponent could have had instead of this subgame.

Values here are the opponent's and normalised as in Brown & Sandholm 2017, Sec. 3: what she gets
given that she came, i.e. the counterfactual value divided by pi_{-i}. This is the one place where
the two units meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.engines.numba.sequence import NumbaSequenceEngine as Engine
from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import TERMINAL
from subgame.refine.boards import Gifts, RangeSubgame
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.refine.subgame import Subgame
from subgame.solve.evaluate import counterfactual_reach
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Vector = Mapping[str, float] | Sequence[float] | Floats


def normalised(values: Floats, weight: Floats) -> Floats:
    """v(I) of Brown & Sandholm 2017 from counterfactual values; 0 where nobody comes."""
    return np.divide(values, weight, out=np.zeros_like(values), where=weight > 0)


@dataclass(frozen=True, eq=False)
class Trunk:
    """A blueprint seen from one side: we play it, the opponent may do what she likes.

    Everything about the whole tree that subgames ask for, computed once.
    """

    tree: PublicTree
    blueprint: Strategy
    opponent: int
    our_plan: Floats  # [q] of the whole tree
    her_plan: Floats  # [q]
    gift: Floats  # [q] hers: what she gives up by each of her actions, whole, unnormalised
    gift_reach: Floats  # [q] pi_{-i} of the infoset where she does
    given: Gifts | None = None
    """The same in a hold'em tree, where no array could hold it: found where it is asked for."""
    device: str | None = None

    @classmethod
    def of(
        cls,
        blueprint: Strategy,
        opponent: int,
        gadget: Gadget,
        estimate: Strategy | None,
        device: str | None = None,
    ) -> Trunk:
        tree, run = blueprint.tree, engine(blueprint.tree, device=device)
        plans = [run.plan(p, blueprint.probs[p]) for p in (0, 1)]
        ours, hers = plans[1 - opponent], plans[opponent]
        held = 0 if isinstance(tree, RangeTree) else tree.players[opponent].num_sequences
        gift = reach = np.zeros(held)
        given = None
        if isinstance(tree, RangeTree):
            given = Gifts(tree, opponent, ours, estimate, device)
        elif gadget.gifts != "none":
            gift, reach = _gifts(run, opponent, ours, gadget, estimate)
        return cls(tree, blueprint, opponent, ours, hers, gift, reach, given, device)

    def inputs(
        self,
        subgame: Subgame,
        gadget: Gadget,
        alternatives: Floats | None = None,
    ) -> tuple[GadgetInputs, Floats]:
        """What the gadget of a subgame needs, and the gifts that are in it."""
        o = self.opponent
        ours = subgame.reach(1 - o, self.our_plan)
        weight = subgame.weight(o, ours)
        run = engine(subgame.tree, device=self.device)
        plan = run.plan(1 - o, subgame.restrict(self.blueprint, 1 - o), ours)
        cbv = normalised(run.respond(o, plan).slots, weight)
        gifts = self.gifts(subgame, gadget, weight)
        base = cbv if alternatives is None else alternatives
        inputs = GadgetInputs(
            opponent=o,
            our_reach=ours,
            her_reach=subgame.reach(o, self.her_plan),
            weight=weight,
            alternative=base + gifts,
            cbv=cbv,
        )
        return inputs, gifts

    def gifts(self, subgame: Subgame, gadget: Gadget, weight: Floats) -> Floats:
        """[s] the sum of gifts on the way to each root slot (2017, eq. 1).

        Split: each slot may gain a gift of g, and as the slots below an infoset are reached with
        probability one at most, all of them together never take more than g. Not split: each slot
        may take all of it, so it gains g divided by the probability of coming there.
        """
        total = np.zeros(len(weight))
        if gadget.gifts == "none":
            return total
        if isinstance(subgame, RangeSubgame):
            found = self.given.along(subgame, gadget.gifts) if self.given else []
            hands = subgame.hands(self.opponent)
            for gift in found:
                per = gift.reach[hands] if gadget.split else weight
                total += normalised(gift.size[hands], per)
            return total * gadget.scale
        side = sequence_tree(self.tree).players[self.opponent]
        for s, q in enumerate(subgame.sequence[self.opponent].tolist()):
            while q >= len(side.slots):
                per = self.gift_reach[q] if gadget.split else weight[s]
                total[s] += self.gift[q] / per if per > 0 else 0.0
                q = int(side.plex.parent[side.infoset_of[q]])
        return total * gadget.scale

    def value_of(self, subgame: Subgame, strategy: Strategy) -> Floats:
        """[s] what she gets inside when she plays `strategy` there against the blueprint.

        With a best response found inside an abstraction this is the estimate CBV~ of 2017, App. C;
        with the last iterate of the CFR run that made the blueprint, what its experiments used.
        """
        o = self.opponent
        ours = subgame.reach(1 - o, self.our_plan)
        run = engine(subgame.tree, device=self.device)
        plan = run.plan(1 - o, subgame.restrict(self.blueprint, 1 - o), ours)
        values = run.values(o, subgame.restrict(strategy, o), plan)
        slots = len(subgame.tree.players[o].slots)
        return normalised(values[:slots], subgame.weight(o, ours))


def _gifts(
    run: Engine, o: int, our_plan: Floats, gadget: Gadget, estimate: Strategy | None
) -> tuple[Floats, Floats]:
    """[q] max over a of CBV(I, a) minus CBV(I, a'), unnormalised, and pi_{-i}(I).

    "lower": a runs over a' itself and the actions that end the game at once, whose value no
    refinement can change (2017, Sec. 5). "estimated": over all, by the values of `estimate`.
    """
    tree, side = run.tree, run.tree.players[o]
    if estimate is not None and gadget.gifts == "estimated":
        value = run.values(o, estimate.probs[o], our_plan)
    else:
        value = run.respond(o, our_plan).sequences
    allowed = np.ones(len(value), dtype=bool) if gadget.gifts == "estimated" else _ends(tree, o)
    owner, slots = side.infoset_of, len(side.slots)
    best = np.full(len(side.names), -np.inf)
    inner = np.flatnonzero(allowed)
    inner = inner[inner >= slots]
    np.maximum.at(best, owner[inner], value[inner])
    gift, reach = np.zeros(len(value)), np.zeros(len(value))
    gift[slots:] = np.maximum(best[owner[slots:]] - value[slots:], 0.0)
    reach[slots:] = counterfactual_reach(tree, o, our_plan)[owner[slots:]]
    return gift, reach


def _ends(tree: SequenceTree, o: int) -> NDArray[np.bool_]:
    """[q] whether an action always ends the game at once: A_z of 2017, Sec. 5."""
    h = tree.histories
    if h is None or tree.located is None:
        raise SubgameError(f"{tree!r} keeps no histories, so gifts in it are not known.")
    after = np.flatnonzero(h.parent >= 0)
    after = after[h.player[h.parent[after]] == o]
    ends = np.ones(tree.players[o].num_sequences, dtype=bool)
    goes_on = after[h.player[after] != TERMINAL]
    ends[tree.located[o][goes_on]] = False
    return ends


def vector(subgame: Subgame, o: int, given: Vector, what: str) -> Floats:
    """[s] a user's numbers for the opponent's root infosets, by name or in order."""
    slots = subgame.tree.players[o].slots
    if isinstance(given, Mapping):
        for name in given:
            if name not in slots:
                raise did_you_mean(f"root infoset of player {o} in '{subgame.name}'", name, slots)
        missing = [name for name in slots if name not in given]
        if missing:
            raise SubgameError(f"The {what} of root infoset '{missing[0]}' is missing.")
        given = [given[name] for name in slots]
    try:
        out = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        out = np.full(len(slots), np.nan)
    else:
        if out.shape != (len(slots),):
            raise SubgameError(
                f"'{subgame.name}' has {len(slots)} root infosets of player {o}; "
                f"{out.size} numbers were given as {what}."
            )
    if not np.all(np.isfinite(out)):
        raise SubgameError(f"The {what} of a root infoset is a number, not {given}.")
    return out
