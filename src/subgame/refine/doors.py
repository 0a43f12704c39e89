"""Doors: gadgets as learners, for trees on top of which nothing can be put.

On a hold'em tree a gadget is not a rewritten tree but what stands at its root: on every iteration
it says with which reach the opponent comes in, and is then told what that was worth to her,

    reach = door.enter(o)
    values = <the opponent's half of the iteration>
    door.observe(values)

What it does with them is no other than in `subgame.refine.gadgets`: a door is the gadget game of a
subgame in which nobody acts, so that only the gadget's own infosets and payments are left of it,
and values that come from the tree are paid where she enters. Regret matching over one infoset or
many, discounts, predictions, trembles and random alternative payoffs are those of the kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.engines.numba.sequence import NumbaSequenceEngine as Engine
from subgame.errors import SubgameError
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.refine.boards import RangeSubgame
from subgame.refine.gadgets import Gadget, GadgetInputs, gadget_form, least_entry, ways_in
from subgame.solve.evaluate import Exploitability
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Limits, Run, complete
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import Form, FormPlayer, assemble
from subgame.tree.sequence.tree import Entries

if TYPE_CHECKING:
    from subgame.engines.numba.sequence_kernels import Root

Floats = NDArray[np.float64]
UNEVEN = 0.01
"""By how much, of all their range, alternative payoffs of equal hands may differ: rounding."""


class Door:
    """A gadget at the root of a tree. Axes: s = root slot of the opponent, q = its own sequence."""

    def __init__(
        self,
        gadget: Gadget,
        tree: PublicTree,
        inputs: GadgetInputs,
        uncertainty: Floats | None = None,
        predictive: bool = False,
        device: str | None = None,
    ) -> None:
        o = self.opponent = inputs.opponent
        self.gadget, self.inputs = gadget, inputs
        self.player = -1 if gadget.door == "none" else o
        self.tree = assemble(gadget_form(gadget, _bare(tree), inputs))
        self.run: Engine = engine(self.tree, device=device)
        self.memories = (
            self.run.memory(0, predictive=predictive),
            self.run.memory(1, predictive=predictive),
        )
        side = self.tree.players[o]
        self.choices = np.array([side.sequences(i) for i in range(len(side.names))])  # [i, action]
        self.slot = np.arange(len(inputs.weight))
        self.place, self.scale = self.slot, np.ones(len(self.slot))
        if gadget.door in ("leave", "choose"):
            ways = ways_in(gadget, inputs)
            self.slot = np.array([way.slot for way in ways])
            self.scale = np.array([way.scale for way in ways])
            self.place = self.choices[:, 0] if gadget.door == "leave" else self.choices[0]
        self.least, self.count = least_entry(gadget, side) if gadget.refined else 0.0, 1
        self._random: Root | None = None
        if gadget.door == "random":
            self._random = self.run.root(
                o,
                rule=gadget.form,
                mean=inputs.alternative,
                spread=uncertainty,
                weight=inputs.weight,
            )
        self.begin(np.ones(3))

    def begin(self, rates: Floats) -> None:
        """The reach of the coming iteration from the regrets alone; `rates` are its discounts."""
        self.run.iterate(self.memories, rates[None], False, self._root(1))

    def _root(self, ahead: int) -> Root | None:
        """What else the kernels ask for: random payoffs, or how much she trembles."""
        if not self.least:
            return self._random
        times = np.arange(self.count, self.count + ahead)
        return self.run.root(self.opponent, tremble=self.least / np.sqrt(times))

    def enter(self, p: int) -> Floats:
        """[s] player `p`'s reach on the coming iteration; ours is fixed by the trunk."""
        if p != self.opponent:
            return self.inputs.our_reach
        return self._through(self.memories[p].reach)

    def _through(self, plan: Floats) -> Floats:
        """[s] the reach into the tree of a plan [q] at the door."""
        out = np.zeros(len(self.inputs.weight))
        out[self.slot] = plan[self.place] * self.scale
        return out

    def observe(self, values: Floats, rates: Floats) -> None:
        """What she got by entering each slot, and the schedule's discounts now and next."""
        given = [np.zeros(side.num_sequences) for side in self.tree.players]
        given[self.opponent][self.place] = values[self.slot] * self.scale
        self.run.update(self.memories, (given[0], given[1]), rates, self._root(2))
        self.count += 1

    def judge(self, run: Any, played: tuple[Any, Any]) -> Exploitability:
        """NashConv / 2 of the gadget game, with the average at the door; `run` is the tree's."""
        o, us = self.opponent, 1 - self.opponent
        ours = self.inputs.our_reach
        won = run.respond(o, run.plan(us, played[us], ours)).slots
        if self.player < 0 or self._random is not None:  # nobody chooses, or there is no such game
            hers = self.enter(o)
            most, paid = won @ hers, 0.0
        else:
            sigma = self.run.behaviour(o, np.asarray(self.memories[o].average))
            plan = self.run.plan(o, sigma)
            hers = self._through(plan)
            outside = self.run.plan(us, np.ones(self.tree.players[us].num_sequences))
            value = self.run.values(o, sigma, outside)  # at the door's ends what it pays her
            paid = plan[self.choices].ravel() @ value[self.choices].ravel()
            value[self.place] += won[self.slot] * self.scale
            most = value[self.choices].max(1).sum()
        back = run.respond(us, run.plan(o, played[o], hers)).slots @ ours - paid
        wins = {us: float(most), o: float(back)}
        return Exploitability((wins[0], wins[1]))


def _bare(tree: PublicTree) -> Form:
    """The form of a subgame with a tree's root slots, in which nobody acts and nothing is paid."""
    none = np.zeros(0, dtype=np.int32)
    players = [
        FormPlayer(side.slots, np.ones(len(side.slots)), [], [], none, none, none)
        for side in tree.players
    ]
    entries = Entries(none, none, none, np.zeros(0))
    return Form(
        tree.game,
        (players[0], players[1]),
        entries,
        ("root",),
        np.array([-1], np.int32),
        np.zeros(1),
    )


def _even(subgame: RangeSubgame, opponent: int, numbers: Floats) -> bool:
    """Whether hands that are the same to the tree have the same numbers."""
    unit = subgame.tree.units[0]
    if len(unit.symmetries) == 1 and not subgame.tree.merged:
        return True
    images = hand_permutations(subgame.tree.holdem.deck)[unit.symmetries]
    first = unit.of.cards.first[unit.hands[opponent]]
    hands = images[:, first].min(0)  # [s] one hand of each kind
    size = int(hands.max()) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, hands, numbers)
    np.maximum.at(high, hands, numbers)
    return bool((high - low)[hands].max() <= UNEVEN * np.ptp(numbers))


class _DoorRun(Run):
    """A solve with a door: judged in the gadget game."""

    def __init__(
        self, tree: PublicTree, schedule: Schedule, door: Door, device: str | None
    ) -> None:
        super().__init__(tree, schedule, roots=lambda *_: door, device=device)  # type: ignore[arg-type]
        self.door = door

    def judge(self, played: tuple[Any, Any]) -> Exploitability:
        return self.door.judge(self.engine, played)


def solve_at_door(
    gadget: Gadget,
    subgame: RangeSubgame,
    inputs: GadgetInputs,
    solver: Schedule | str,
    limits: Limits,
    uncertainty: Floats | None = None,
    device: str | None = None,
) -> Result:
    """Solve a gadget game whose subgame is a hold'em tree."""
    if isinstance(solver, str):
        raise SubgameError(
            "There is no linear program for hold'em trees; solve the gadget game by a CFR "
            "schedule, or compile a small deck with explicit=True."
        )
    given = {"alternative payoffs": inputs.alternative, "uncertainty": uncertainty}
    for name, numbers in given.items():
        if numbers is not None and not _even(subgame, inputs.opponent, numbers):
            raise SubgameError(
                f"The {name} in {subgame.tree.game} tell hands apart that differ only in suits, "
                "which are one in its tree; give numbers that are equal for both, or compile it "
                "with merge=False (subgame endgame --apart)."
            )
    if gadget.keep_safe:
        raise SubgameError(
            f"{gadget.name} on a hold'em tree cannot keep Resolve's conditions, for which the "
            "opponent needs a second copy of the tree; leave out keep_safe."
        )
    door = Door(gadget, subgame.tree, inputs, uncertainty, solver.predictive, device)
    return complete(_DoorRun(subgame.tree, solver, door, device), limits)
