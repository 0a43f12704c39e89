"""Gadget games: a subgame's tree with a few sequences on top, for gadgets that are finite games.

The second form of a gadget, independent of `subgame.refine.learners`. Every schedule, evaluation
and the linear program work on it as on any other tree. Its NashConv is a certified gap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats, normalise
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.tree.public_tree import both
from subgame.tree.sequence.form import Form, FormPlayer
from subgame.tree.sequence.tree import Entries, Index, Treeplex

PENALTY = 100.0
"""How much a broken Resolve condition weighs beside an estimate (2017, footnote 6)."""
MARKS = ("", " · insist")
"""What the names of the opponent's second copy of the subgame end in."""


class Ways(NamedTuple):
    """How the opponent enters. Axes: c = copy of the subgame, s = root infoset."""

    scale: Floats  # [c, s] what values are multiplied by behind the way; 0 where there is no way
    toll: Floats  # [c, s] paid to enter, after scaling


def gadget_form(gadget: Gadget, form: Form, inputs: GadgetInputs) -> Form:
    """The subgame's form with a gadget that is a finite game on top of it."""
    o = inputs.opponent
    if gadget.entry == "blueprint":
        reach = {o: inputs.opponent_reach, 1 - o: inputs.our_reach}
        players = both(lambda p: replace(form.players[p], reach=reach[p]))
        return replace(form, players=players, histories=None)
    ways = ways_in(gadget, inputs)
    theirs, moved, enter = _opponent(form.players[o], gadget, ways.scale > 0)
    # Our reach is moved into the payoffs, which `1 / pi_{-i}` would otherwise blow up where we
    # seldom come. It scales our regrets below a slot alike; where we never come any scale will do.
    reached = inputs.our_reach > 0
    unit = np.where(reached, inputs.our_reach, inputs.our_reach[reached].min(initial=1.0))
    their_sequence, our_sequence = (form.entries.row, form.entries.col)[:: 1 if o == 0 else -1]
    side = form.players[1 - o]
    payoff = form.entries.value * unit[side.slot_of[our_sequence]]
    constant = len(side.slots)  # our extra slot, always reached
    parent, slots = _shift(side.parent, constant), [*side.slots, "always"]
    ours = replace(side, slots=slots, reach=np.append(reached, 1.0), parent=parent)
    our_sequence = _shift(our_sequence, constant)
    slot_of = form.players[o].slot_of[their_sequence]
    paid = [  # (public state, their sequence, our sequence, player 0's payoff)
        (form.entries.node, moved(their_sequence, copy), our_sequence, payoff * scale[slot_of])
        for copy, scale in enumerate(ways.scale)
    ]
    entered, won = enter[ways.scale > 0], -ways.toll[ways.scale > 0]
    if gadget.entry == "leave":  # the sequence after that of entering
        entered = np.append(entered, enter[0] + 1)
        won = np.append(won, inputs.alternative * inputs.weight)
    top = np.zeros(len(won), np.int32)  # the gadget stands in the root public state
    paid.append((top, entered, top + np.int32(constant), won if o == 0 else -won))
    node, their, our, value = (np.concatenate(column) for column in zip(*paid, strict=True))
    entries = Entries(node, *((their, our) if o == 0 else (our, their)), value)
    players = (theirs, ours) if o == 0 else (ours, theirs)
    name = f"{form.game} · {gadget.name}"
    return replace(form, game=name, players=players, entries=entries, histories=None)


def ways_in(gadget: Gadget, inputs: GadgetInputs) -> Ways:
    """The ways in, for every copy of the subgame that the opponent has.

    Behind "leave" ways values count as they are (weighted by pi_{-i}, as Burch et al.); behind
    "choose" ways they are normalised, for margins of different root infosets are compared.
    With `keep_safe` there is a second way to every root infoset, and beside all that the gadget
    pays, the opponent wins there PENALTY times what exceeds the CBV: an exact penalty function.
    """
    unit, toll = np.ones(len(inputs.weight)), np.zeros(len(inputs.weight))
    if gadget.entry == "choose":
        unit, toll = normalise(unit, inputs.weight), inputs.alternative
    if not gadget.keep_safe:
        return Ways(unit[None], toll[None])
    lost = PENALTY * inputs.cbv * inputs.weight
    return Ways(np.stack([unit, PENALTY * unit]), np.stack([toll, lost * unit]))


def least_entry(gadget: Gadget, opponent: Treeplex) -> float:
    """How likely the refined option keeps each choice in a gadget game on iteration 1.

    Of two choices each is kept this likely; more of them share it.
    """
    return gadget.refined and 2 * gadget.refined / len(opponent.actions[0])


def _opponent(player: FormPlayer, gadget: Gadget, real: NDArray[np.bool_]) -> Any:
    """The opponent's side: the gadget's infosets, then a copy of the subgame per kind of way.

    `real` [c, s] says where there are ways.

    Returns the side, a function from old sequences and a copy to new ones, and [c, s] the ways'
    sequences.
    """
    slots, every = len(player.slots), np.arange(len(player.slots))
    if gadget.entry == "leave":
        names = [f"{name} · enter?" for name in player.slots]
        actions: list[tuple[str, ...]] = [("enter", "leave")] * slots
        slot_names, parents, enter = list(player.slots), list(range(slots)), [2 * every]
    else:
        names, slot_names, parents = ["which root infoset?"], ["start"], [0]
        some = [player.slots[s] for s in np.flatnonzero(real[0]).tolist()]
        actions = [tuple(f"{name} #{k}" for k, name in enumerate(some))]
        enter = [real[0].cumsum() - 1]
    if gadget.keep_safe:
        parents += range(len(slot_names), len(slot_names) + slots)
        slot_names += [name + MARKS[1] for name in player.slots]
        names += [f"{name}{MARKS[1]}?" for name in player.slots]
        enter.append(sum(map(len, actions)) + 2 * every)
        actions += [("insist", "pass")] * slots
    first, inner = len(slot_names), sum(map(len, player.actions))
    size = first + sum(map(len, actions))
    # Where no way leads nothing is paid: anywhere will do.
    landing = (first + np.where(real, np.stack(enter), 0)).astype(np.int32)

    def moved(sequence: Index, copy: int) -> Index:
        at_slot = landing[copy][np.minimum(sequence, slots - 1)]
        below = sequence - slots + size + copy * inner
        return np.where(sequence < slots, at_slot, below)

    copies = range(len(real))
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
    return side, moved, landing


def _shift(sequence: Index, slots: int) -> Index:
    """Sequences after one more root slot."""
    return np.where(sequence < slots, sequence, sequence + 1).astype(np.int32)
