"""Gadgets: what stands at the root of a subgame and plays for the opponent there.

A technique is data: which door the opponent finds, and what she is paid for staying outside.
Solving it is solving a tree, the subgame with a few sequences put on top, so that every
schedule, the judge and the linear program work on gadget games as on any other. Where nothing can
be put on top, as on hold'em trees, the same gadget is a door: see `subgame.refine.doors`.

| technique | door | alternative payoff |
| --- | --- | --- |
| `Unsafe` | none: she comes as the blueprint does | none |
| `Resolve` | at each root infoset: enter or leave | CBV of the blueprint |
| `Maxmargin` | chooses the root infoset, pays the alternative to enter | CBV |
| `ReachResolve`, `ReachMaxmargin` | as above | CBV + gifts |
| `Estimate` | as Resolve or Maxmargin | value inside an abstraction, or any vector |
| `Distributional` | enters as often as the alternative lies below the value inside | random |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.tree.sequence.form import Form, FormPlayer
from subgame.tree.sequence.tree import Entries, Treeplex

Floats = NDArray[np.float64]
Index = NDArray[np.int32]
PENALTY = 100.0
"""How much a broken Resolve condition weighs beside an estimate (2017, footnote 6)."""
MARKS = ("", " · insist")
"""What the names of her second copy of the subgame end in."""


@dataclass(frozen=True)
class Gadget:
    """A subgame-solving technique as data. Made by `Resolve`, `Maxmargin`, ... or by hand."""

    name: str
    door: Literal["none", "leave", "choose", "random"]
    """"none": fixed reach; "leave": enter or leave; "choose": pick a root infoset; "random":
    enter by the distribution of the alternative payoff."""
    gifts: Literal["none", "lower", "estimated"] = "none"
    """Reach: what she gave up on the way is added to the alternative payoff. "lower" counts only
    actions that end the game (2017, Sec. 5); "estimated" all of them, by the estimate."""
    split: bool = True
    """Divide a gift among the subgames below it, so that their sum never exceeds it; otherwise
    each subgame gets the whole of it (2017, Sec. 7 "not split")."""
    scale: float = 1.0
    """Multiply gifts by this factor (2017, Appendix F)."""
    estimate: bool = False
    """Alternative payoffs from an estimate rather than from the blueprint's CBV."""
    form: Literal["respond", "hedge"] = "hedge"
    """For door "random": P(X <= v) on each iteration (Theorem 2) or the Hedge integral (App. D)."""
    refined: float = 0.0
    """The opponent keeps entering with this probability, vanishing as 1 / sqrt(t) (a linear program
    keeps it whole, so there the result is safe only up to it): among the
    equilibria of the gadget game one that also answers well where she should not come (Kubicek,
    Lisy, Sandholm 2026)."""
    keep_safe: bool = False
    """Also hold the opponent to the blueprint's CBV: Resolve's conditions beside the estimate
    (2017, footnote 6)."""

    @property
    def schedule(self) -> str:
        """The schedule that suits it: predictions fail where a random door moves all the time."""
        return "cfr+" if self.door == "random" else "pdcfr+"

    def __post_init__(self) -> None:
        if self.door not in ("none", "leave", "choose", "random"):
            raise did_you_mean("door", str(self.door), ("none", "leave", "choose", "random"))
        if self.gifts not in ("none", "lower", "estimated"):
            raise did_you_mean("kind of gifts", str(self.gifts), ("none", "lower", "estimated"))
        if not (np.isfinite(self.scale) and self.scale >= 0):
            raise ArgumentError("scale", f"is a number of at least 0, not {self.scale:g}.")
        if not 0 <= self.refined < 0.5:
            raise ArgumentError("refined", f"is a probability below 1/2, not {self.refined:g}.")
        if self.refined and self.door in ("none", "random"):
            raise SubgameError(f"{self.name} has no choice at the root that could be refined.")
        if self.form not in ("respond", "hedge"):
            raise did_you_mean("distributional form", self.form, ("respond", "hedge"))
        if self.keep_safe and self.door not in ("leave", "choose"):
            raise SubgameError(f"{self.name} cannot keep Resolve's conditions.")
        if self.keep_safe and self.refined:
            raise SubgameError("refined and keep_safe cannot be had together; choose one of them.")


def Unsafe() -> Gadget:
    """Endgame solving: the opponent arrives as in the blueprint (Ganzfried & Sandholm 2015)."""
    return Gadget("unsafe", "none")


def Resolve(**options: Any) -> Gadget:
    """Burch et al. 2014: at each root infoset she may leave with the blueprint's CBV."""
    return Gadget("resolve", "leave", **options)


def Maxmargin(**options: Any) -> Gadget:
    """Moravcik et al. 2016: maximise the smallest margin over the root infosets."""
    return Gadget("maxmargin", "choose", **options)


def ReachResolve(*, split: bool = True, scale: float = 1.0, **options: Any) -> Gadget:
    """Brown & Sandholm 2017, Sec. 5, on Resolve."""
    options = {"gifts": "lower", **options}
    return Gadget("reach-resolve", "leave", split=split, scale=scale, **options)


def ReachMaxmargin(*, split: bool = True, scale: float = 1.0, **options: Any) -> Gadget:
    """Brown & Sandholm 2017, Sec. 5, on Maxmargin."""
    options = {"gifts": "lower", **options}
    return Gadget("reach-maxmargin", "choose", split=split, scale=scale, **options)


def Estimate(on: Gadget | None = None, *, keep_safe: bool = False) -> Gadget:
    """Brown & Sandholm 2017, App. C: alternative payoffs are estimates of equilibrium values."""
    base = on or Resolve()
    return replace(base, name=f"estimate-{base.name}", estimate=True, keep_safe=keep_safe)


def Distributional(form: Literal["respond", "hedge"] = "hedge", **options: Any) -> Gadget:
    """2017, Appendix C.1 and D: alternative payoffs are normal random variables."""
    options = {"estimate": True, **options}
    return Gadget("distributional", "random", form=form, **options)


def ReachEstimateDistributional(
    *, split: bool = True, scale: float = 1.0, form: Literal["respond", "hedge"] = "hedge"
) -> Gadget:
    """2017, Table 1: all three ideas at once."""
    return Gadget(
        "reach-estimate-distributional",
        "random",
        gifts="estimated",
        split=split,
        scale=scale,
        estimate=True,
        form=form,
    )


TECHNIQUES: dict[str, Callable[[], Gadget]] = {
    "unsafe": Unsafe,
    "resolve": Resolve,
    "maxmargin": Maxmargin,
    "reach-resolve": ReachResolve,
    "reach-maxmargin": ReachMaxmargin,
    "estimate": Estimate,
    "estimate-resolve": Estimate,
    "estimate-maxmargin": lambda: Estimate(Maxmargin()),
    "distributional": Distributional,
    "reach-estimate-distributional": ReachEstimateDistributional,
}


def technique(name: str | Gadget) -> Gadget:
    """A technique by name.

    >>> technique("reach-maxmargin").gifts
    'lower'
    """
    if isinstance(name, Gadget):
        return name
    if name not in TECHNIQUES:
        raise did_you_mean("technique", str(name), TECHNIQUES)
    return TECHNIQUES[name]()


# Gadget games --------------------------------------------------------------------------------


@dataclass(frozen=True)
class GadgetInputs:
    """What the gadget needs to know of the root. Axis: s = root slot of the opponent.

    All values are the opponent's, as normalised in Brown & Sandholm 2017 (given that she came).
    """

    opponent: int
    our_reach: Floats  # [our slots]
    her_reach: Floats  # [s] in the blueprint
    weight: Floats  # [s] pi_{-i}
    alternative: Floats  # [s] what she gets for staying out
    cbv: Floats  # [s] the blueprint's CBV, for `keep_safe`


@dataclass(frozen=True)
class Way:
    """A way in: a sequence that leads to root slot `slot` of her copy `copy` of the subgame."""

    slot: int
    copy: int
    scale: float
    toll: float  # paid to enter, after scaling


def gadget_form(gadget: Gadget, form: Form, inputs: GadgetInputs) -> Form:
    """The subgame's form with the gadget on top of it."""
    o = inputs.opponent
    if gadget.door in ("none", "random"):
        reach = inputs.her_reach if gadget.door == "none" else np.ones(len(inputs.her_reach))
        players = list(form.players)
        players[o] = replace(players[o], reach=reach)
        players[1 - o] = replace(players[1 - o], reach=inputs.our_reach)
        return replace(form, players=(players[0], players[1]), histories=None, located=None)
    doors = ways_in(gadget, inputs)
    hers, root, enter = _opponent(form.players[o], gadget, doors, len(inputs.weight))
    # Our reach is moved into the payoffs, which `1 / pi_{-i}` would otherwise blow up where we
    # seldom come. It scales our regrets below a slot alike; where we never come any scale will do.
    reached = inputs.our_reach > 0
    unit = np.where(reached, inputs.our_reach, inputs.our_reach[reached].min(initial=1.0))
    ours = _us(form.players[1 - o], reached.astype(np.float64))
    sign = 1.0 if o == 0 else -1.0  # entries are player 0's payoffs
    her_sequence, our_sequence = (form.entries.row, form.entries.col)[:: 1 if o == 0 else -1]
    payoff = form.entries.value * unit[_root_slots(form.players[1 - o])[our_sequence]]
    our_sequence = _shift(our_sequence, len(form.players[1 - o].slots), 1)
    constant = len(form.players[1 - o].slots)  # our extra slot, always reached
    node, her, our, value = [], [], [], []
    slot_of = _root_slots(form.players[o])[her_sequence]
    for copy in range(1 + gadget.keep_safe):
        scale = np.zeros(len(inputs.weight))
        for door in doors:
            if door.copy == copy:
                scale[door.slot] = door.scale
        node.append(form.entries.node)
        her.append(root(her_sequence, copy))
        our.append(our_sequence)
        value.append(payoff * scale[slot_of])
    tolls = [(q, -door.toll) for q, door in zip(enter, doors, strict=True)]
    if gadget.door == "leave":
        first = len(hers.slots)
        tolls += [
            (first + 2 * s + 1, inputs.alternative[s] * inputs.weight[s])
            for s in range(len(inputs.weight))
        ]
    node.append(np.zeros(len(tolls), dtype=np.int32))  # the gadget stands in the root public state
    her.append(np.array([q for q, _ in tolls], dtype=np.int32))
    our.append(np.full(len(tolls), constant, dtype=np.int32))
    value.append(sign * np.array([toll for _, toll in tolls]))
    sides = (np.concatenate(her), np.concatenate(our))
    entries = Entries(
        np.concatenate(node),
        sides[0 if o == 0 else 1],
        sides[1 if o == 0 else 0],
        np.concatenate(value),
    )
    players = [hers, ours] if o == 0 else [ours, hers]
    return Form(
        f"{form.game} · {gadget.name}",
        (players[0], players[1]),
        entries,
        form.node_names,
        form.node_parent,
        form.node_chance,
    )


def ways_in(gadget: Gadget, inputs: GadgetInputs) -> list[Way]:
    """The ways in, in the order of her actions.

    Behind "leave" doors values count as they are (weighted by pi_{-i}, as Burch et al.); behind
    "choose" doors they are normalised, for margins of different root infosets are compared.
    With `keep_safe` there is a second way to every root infoset, and beside all that the gadget
    pays she wins there PENALTY times whatever exceeds her CBV: an exact penalty function.
    """
    if gadget.door == "leave":
        units = dict.fromkeys(range(len(inputs.weight)), 1.0)
        out = [Way(s, 0, 1.0, 0.0) for s in units]
    else:
        units = {s: 1 / w for s, w in enumerate(inputs.weight.tolist()) if w > 0}
        out = [Way(s, 0, unit, inputs.alternative[s]) for s, unit in units.items()]
    if gadget.keep_safe:
        lost = PENALTY * inputs.cbv * inputs.weight
        out += [Way(s, 1, PENALTY * unit, lost[s] * unit) for s, unit in units.items()]
    return out


def least_entry(gadget: Gadget, her: Treeplex) -> float:
    """How likely the refined option keeps each of her choices in a gadget game on iteration 1.

    Of two choices each is kept this likely; more of them share it, or none would be left to her.
    """
    return gadget.refined and 2 * gadget.refined / len(her.actions[0])


def _opponent(player: FormPlayer, gadget: Gadget, doors: list[Way], slots: int) -> Any:
    """Her side: the gadget's infosets, then one copy of her subgame per kind of door.

    Returns the side, a function from old sequences and a copy to new ones, and the doors'
    sequences.
    """
    if gadget.door == "leave":
        names = [f"{name} · enter?" for name in player.slots]
        actions: list[tuple[str, ...]] = [("enter", "leave")] * slots
        slot_names, parents = list(player.slots), list(range(slots))
    else:
        names, slot_names, parents = ["which root infoset?"], ["start"], [0]
        actions = [tuple(f"{player.slots[d.slot]} #{k}" for k, d in enumerate(doors) if not d.copy)]
    if gadget.keep_safe:
        parents += range(len(slot_names), len(slot_names) + slots)
        slot_names += [name + MARKS[1] for name in player.slots]
        names += [f"{name}{MARKS[1]}?" for name in player.slots]
        actions += [("insist", "pass")] * slots
    first = len(slot_names)
    plain = len(actions[0]) if gadget.door == "choose" else 2 * slots
    enter = []
    for k, door in enumerate(doors):
        at = k if gadget.door == "choose" else 2 * door.slot
        enter.append(first + (plain + 2 * door.slot if door.copy else at))
    size = first + sum(len(a) for a in actions)
    inner = sum(len(a) for a in player.actions)
    landing = np.full((2, slots), enter[0])  # where no door leads nothing is paid: anywhere will do
    for q, door in zip(enter, doors, strict=True):
        landing[door.copy, door.slot] = q

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
