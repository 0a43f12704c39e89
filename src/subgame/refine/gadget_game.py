"""Gadget games: a subgame's tree with a few sequences on top, for gadgets that are finite games.

The second form of a gadget, independent of `subgame.refine.learners`. Every schedule, evaluation
and the linear program work on it as on any other tree. Its NashConv is a certified gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.tree.sequence.form import Form, FormPlayer
from subgame.tree.sequence.tree import Entries, Treeplex

Floats = NDArray[np.float64]
Index = NDArray[np.int32]
PENALTY = 100.0
"""How much a broken Resolve condition weighs beside an estimate (2017, footnote 6)."""
MARKS = ("", " · insist")
"""What the names of the opponent's second copy of the subgame end in."""


@dataclass(frozen=True)
class Entrance:
    """A sequence that leads to root slot `slot` of the opponent's copy `copy` of the subgame."""

    slot: int
    copy: int
    scale: float
    toll: float  # paid to enter, after scaling


def gadget_form(gadget: Gadget, form: Form, inputs: GadgetInputs) -> Form:
    """The subgame's form with the gadget on top of it."""
    o = inputs.opponent
    if gadget.entry in ("blueprint", "random", "custom"):
        given = inputs.opponent_reach
        reach = {o: given if gadget.entry == "blueprint" else np.ones(len(given))}
        reach[1 - o] = inputs.our_reach
        one, two = (replace(side, reach=reach[p]) for p, side in enumerate(form.players))
        return replace(form, players=(one, two), histories=None)
    ways = entrances(gadget, inputs)
    theirs, root, enter = _opponent(form.players[o], gadget, ways, len(inputs.weight))
    # Our reach is moved into the payoffs, which `1 / pi_{-i}` would otherwise blow up where we
    # seldom come. It scales our regrets below a slot alike; where we never come any scale will do.
    reached = inputs.our_reach > 0
    unit = np.where(reached, inputs.our_reach, inputs.our_reach[reached].min(initial=1.0))
    ours = _us(form.players[1 - o], reached.astype(np.float64))
    sign = 1.0 if o == 0 else -1.0  # entries are player 0's payoffs
    their_sequence, our_sequence = (form.entries.row, form.entries.col)[:: 1 if o == 0 else -1]
    payoff = form.entries.value * unit[_root_slots(form.players[1 - o])[our_sequence]]
    our_sequence = _shift(our_sequence, len(form.players[1 - o].slots), 1)
    constant = len(form.players[1 - o].slots)  # our extra slot, always reached
    slot_of = _root_slots(form.players[o])[their_sequence]
    paid = []  # (public state, their sequence, our sequence, player 0's payoff)
    for copy in range(1 + gadget.keep_safe):
        scale = np.zeros(len(inputs.weight))
        for way in ways:
            if way.copy == copy:
                scale[way.slot] = way.scale
        theirs_here = root(their_sequence, copy)
        paid.append((form.entries.node, theirs_here, our_sequence, payoff * scale[slot_of]))
    tolls = [(q, -way.toll) for q, way in zip(enter, ways, strict=True)]
    if gadget.entry == "leave":
        first = len(theirs.slots)
        tolls += [
            (first + 2 * s + 1, inputs.alternative[s] * inputs.weight[s])
            for s in range(len(inputs.weight))
        ]
    entered = np.array([q for q, _ in tolls], dtype=np.int32)
    top = np.zeros(len(tolls), dtype=np.int32)  # the gadget stands in the root public state
    payment = sign * np.array([toll for _, toll in tolls])
    paid.append((top, entered, np.full(len(tolls), constant, dtype=np.int32), payment))
    node, their, our, value = (np.concatenate(column) for column in zip(*paid, strict=True))
    entries = Entries(node, *((their, our) if o == 0 else (our, their)), value)
    players = (theirs, ours) if o == 0 else (ours, theirs)
    name, nodes = f"{form.game} · {gadget.name}", (form.node_names, form.node_parent)
    return Form(name, players, entries, *nodes, form.node_chance)


def entrances(gadget: Gadget, inputs: GadgetInputs) -> list[Entrance]:
    """The ways in, in the order of the opponent's actions.

    Behind "leave" ways values count as they are (weighted by pi_{-i}, as Burch et al.); behind
    "choose" ways they are normalised, for margins of different root infosets are compared.
    With `keep_safe` there is a second way to every root infoset, and beside all that the gadget
    pays, the opponent wins there PENALTY times what exceeds the CBV: an exact penalty function.
    """
    if gadget.entry == "leave":
        units = dict.fromkeys(range(len(inputs.weight)), 1.0)
        out = [Entrance(s, 0, 1.0, 0.0) for s in units]
    else:
        units = {s: 1 / w for s, w in enumerate(inputs.weight.tolist()) if w > 0}
        out = [Entrance(s, 0, unit, inputs.alternative[s]) for s, unit in units.items()]
    if gadget.keep_safe:
        lost = PENALTY * inputs.cbv * inputs.weight
        out += [Entrance(s, 1, PENALTY * unit, lost[s] * unit) for s, unit in units.items()]
    return out


def least_entry(gadget: Gadget, opponent: Treeplex) -> float:
    """How likely the refined option keeps each choice in a gadget game on iteration 1.

    Of two choices each is kept this likely; more of them share it.
    """
    return gadget.refined and 2 * gadget.refined / len(opponent.actions[0])


def _opponent(player: FormPlayer, gadget: Gadget, ways: list[Entrance], slots: int) -> Any:
    """The opponent's side: the gadget's infosets, then one copy of the subgame per kind of way.

    Returns the side, a function from old sequences and a copy to new ones, and the ways'
    sequences.
    """
    if gadget.entry == "leave":
        names = [f"{name} · enter?" for name in player.slots]
        actions: list[tuple[str, ...]] = [("enter", "leave")] * slots
        slot_names, parents = list(player.slots), list(range(slots))
    else:
        names, slot_names, parents = ["which root infoset?"], ["start"], [0]
        actions = [tuple(f"{player.slots[d.slot]} #{k}" for k, d in enumerate(ways) if not d.copy)]
    if gadget.keep_safe:
        parents += range(len(slot_names), len(slot_names) + slots)
        slot_names += [name + MARKS[1] for name in player.slots]
        names += [f"{name}{MARKS[1]}?" for name in player.slots]
        actions += [("insist", "pass")] * slots
    first = len(slot_names)
    plain = len(actions[0]) if gadget.entry == "choose" else 2 * slots
    enter = []
    for k, way in enumerate(ways):
        at = k if gadget.entry == "choose" else 2 * way.slot
        enter.append(first + (plain + 2 * way.slot if way.copy else at))
    size = first + sum(len(a) for a in actions)
    inner = sum(len(a) for a in player.actions)
    landing = np.full((2, slots), enter[0])  # where no way leads nothing is paid: anywhere will do
    for q, way in zip(enter, ways, strict=True):
        landing[way.copy, way.slot] = q

    def moved(sequence: Index, copy: int) -> Index:
        old = np.asarray(sequence)
        at_slot = landing[copy][np.minimum(old, slots - 1)]
        return np.where(old < slots, at_slot, old - slots + size + copy * inner).astype(np.int32)

    copies = range(1 + gadget.keep_safe)
    side = FormPlayer(
        slots=slot_names,
        reach=np.ones(first),
        names=[*names, *(name + MARKS[c] for c in copies for name in player.names)],
        actions=[*actions, *(a for _ in copies for a in player.actions)],
        parent=np.concatenate(
            [np.array(parents, np.int32), *(moved(player.parent, c) for c in copies)]
        ),
        node=np.concatenate([np.zeros(len(names), np.int32), *(player.node for _ in copies)]),
        origin=np.concatenate(
            [np.full(len(names), -1, np.int32), *(player.origin for _ in copies)]
        ),
    )
    return side, moved, enter


def _us(player: FormPlayer, reach: Floats) -> FormPlayer:
    """Our side: reach fixed by the trunk, and one more slot that is always reached."""
    slots = len(player.slots)
    return replace(
        player,
        slots=[*player.slots, "always"],
        reach=np.append(reach, 1.0),
        parent=_shift(player.parent, slots, 1),
    )


def _shift(sequence: Index, slots: int, by: int) -> Index:
    return np.where(sequence < slots, sequence, sequence + by).astype(np.int32)


def _root_slots(player: FormPlayer) -> NDArray[np.int64]:
    """[q] the root slot that each sequence lies below."""
    start = player.start
    out = np.arange(start[-1], dtype=np.int64)
    for i, parent in enumerate(player.parent):
        out[start[i] : start[i + 1]] = out[parent]
    return out
