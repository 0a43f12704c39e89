"""Subgames of sequence trees: public states, or histories that a function tells.

A gadget game is a subgame's tree with a few sequences on top, for gadgets that are finite games. It
is the second form of a gadget, independent of `subgame.refine.learners`. Every schedule, evaluation
and the linear program work on it as on any other tree. Its NashConv is a certified gap.

Gifts are what the opponent gives up by each action on the way to a subgame (2017, Sec. 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats, as_numpy, normalise
from subgame.errors import SEARCHED, SubgameError, did_you_mean
from subgame.games.arrays import GameArrays
from subgame.games.base import CHANCE, TERMINAL, State
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.subgame import (
    At,
    GadgetGame,
    Subgame,
    Trunk,
    carried_gift,
    cut_already,
    received_gift,
)
from subgame.solve.evaluate import counterfactual_reach
from subgame.tree.public_tree import Numbers, PublicTree, both, places
from subgame.tree.sequence.arrange import depths, knowledge
from subgame.tree.sequence.form import Form, FormPlayer, assemble, form_of
from subgame.tree.sequence.tree import Entries, Index, SequenceTree, Treeplex, sequence_tree
from subgame.tree.sequence.walk import Histories, Top, walk
from subgame.tree.strategy import Strategy


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


@dataclass(frozen=True, eq=False, repr=False)
class SequenceSubgame(Subgame):
    """A part of a sequence tree: root infosets are the augmented infosets at its top."""

    whole: SequenceTree
    tree: SequenceTree
    form: Form
    top: Index  # histories of the whole game at the top (S_top)
    sequence: tuple[Index, Index]  # [s] the sequence of the whole game each slot hangs below
    chance: Floats  # [s0, s1] chance's probability of each pair of slots

    @cached_property
    def places(self) -> tuple[Numbers, Numbers]:
        return both(lambda p: places(self.tree.players[p], self.whole.players[p]))

    def reach(self, p: int, trunk: Trunk) -> Floats:
        out: Floats = np.asarray(trunk.plans[p])[self.sequence[p]]
        return out

    def most(self, p: int) -> Floats:
        return np.ones(len(self.sequence[p]))

    def weight(self, p: int, opponent_reach: Floats) -> Floats:
        out: Floats = self.chance @ opponent_reach if p == 0 else opponent_reach @ self.chance
        return out

    def gifts(self, trunk: Trunk, gadget: Gadget, weight: Floats) -> Floats:
        o, amounts = trunk.opponent, trunk.gifts(gadget, gifts_of)
        return amounts.to(self.whole.players[o], self.sequence[o], weight, gadget)

    def shown(self, strategy: Strategy, p: int) -> dict[str, dict[str, float]]:
        number, other = self.whole.players[p].index, self.whole.players[1 - p].index
        return {
            f"player {p}: {name}" if name in other else name: strategy.row(p, number[name])
            for name in self.tree.players[p].names
        }

    @cached_property
    def largest_payoff(self) -> float:
        assert self.form.histories is not None
        return float(np.abs(self.form.histories.payoff).max(initial=0.0))

    def gadget_game(self, gadget: Gadget, inputs: GadgetInputs) -> GadgetGame:
        tree, o = assemble(gadget_form(gadget, self.form, inputs)), inputs.opponent
        least = least_entry(gadget, tree.players[o])
        return GadgetGame(tree, (o, least) if least else None)


def cut_sequence_tree(tree: SequenceTree, at: At) -> list[SequenceSubgame]:
    """The subgames of a sequence tree at a frontier; see `cut`."""
    if any(tuple(side.slots) != ("start",) for side in tree.players):
        raise SubgameError(f"{tree!r} is itself a subgame's; cut the tree of the whole game.")
    if callable(at):
        return [_closed_cut(tree, at)]
    arrays = tree.walked.game.arrays()
    return [cut_at_histories(tree, top, name, arrays) for name, top in roots_at(tree, at)]


def roots_at(
    tree: SequenceTree, at: str | int | Iterable[str | int]
) -> list[tuple[str, NDArray[np.int64]]]:
    """The public states of a frontier by name, and the histories at the top of each."""
    histories, nodes = tree.walked, _nodes(tree, at)
    first = nodes if len(nodes) == 1 else _first(tree, np.isin(np.arange(tree.num_nodes), nodes))
    below = np.setdiff1d(nodes, first)
    if len(below):
        raise SubgameError(
            f"The public state '{tree.node_names[int(below[0])]}' lies below another one of the "
            "frontier; subgames are disjoint, so name only one of the two."
        )
    parent_node = np.where(histories.parent >= 0, histories.node[histories.parent], -1)
    entered = histories.node != parent_node
    return [
        (tree.node_names[n], np.flatnonzero(entered & (histories.node == n)))
        for n in nodes.tolist()
    ]


def _nodes(tree: SequenceTree, at: str | int | Iterable[str | int]) -> NDArray[np.int64]:
    """The public states that `at` names."""
    if isinstance(at, int | np.integer):
        if not 0 <= at < tree.num_nodes:
            raise SubgameError(f"Public states are numbered 0 to {tree.num_nodes - 1}, not {at}.")
        return np.array([at])
    if not isinstance(at, str | Iterable):
        raise SubgameError(f"A frontier must be a name, a number or a function, not {at!r}.")
    if not isinstance(at, str):
        parts = [_nodes(tree, one) for one in at]
        if not parts:
            raise SubgameError("The frontier is empty: name at least one public state.")
        return np.unique(np.concatenate(parts))
    named = [n for n, name in enumerate(tree.node_names) if name == at]
    if named:
        return np.array(named)
    if at.isdecimal():
        return _nodes(tree, int(at))
    depth = re.fullmatch(r"depth (\d+)", at)
    frontiers = tree.walked.game.frontiers()
    if depth:
        nodes = np.flatnonzero(depths(tree.node_parent) == int(depth[1]))
    elif at in frontiers:
        nodes = _first_true(tree, frontiers[at])
    elif at in ("before chance", "after chance"):
        nodes = _chance_nodes(tree, before=at.startswith("before"))
    else:
        places = [*frontiers, "depth 1", "before chance", "after chance"]
        places += islice(filter(None, tree.node_names), SEARCHED)
        raise did_you_mean("frontier or public state", at, places)
    if not len(nodes):
        raise SubgameError(f"No public state of {tree.game_name} is at the frontier '{at}'.")
    return nodes


def _first_true(tree: SequenceTree, here: Callable[[State], bool]) -> NDArray[np.int64]:
    """The first public states on each path at which a function of the state is true."""
    h, out = tree.walked, list[int]()
    firsts = np.unique(h.node, return_index=True)[1]
    above = np.ones(tree.num_nodes, dtype=bool)  # [n] not at the frontier, nor below it
    for n, parent in enumerate(tree.node_parent.tolist()):
        above[n] = parent < 0 or above[parent]
        if above[n] and here(h.state(int(firsts[n]))):
            above[n] = False
            out.append(n)
    return np.array(out, dtype=np.int64)


def _first(tree: SequenceTree, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The wanted nodes that have no wanted ancestor."""
    passed = np.zeros(tree.num_nodes, dtype=bool)
    for n in range(1, tree.num_nodes):
        parent = tree.node_parent[n]
        passed[n] = passed[parent] or wanted[parent]
    return np.flatnonzero(wanted & ~passed)


def _chance_nodes(tree: SequenceTree, *, before: bool) -> NDArray[np.int64]:
    h = tree.walked
    inner = np.flatnonzero(h.parent >= 0)
    step = inner[(h.node[inner] != h.node[h.parent[inner]]) & (h.player[h.parent[inner]] == CHANCE)]
    above, below = h.node[h.parent[step]], h.node[step]
    seen = np.bincount(tree.node_parent[np.unique(below)], minlength=tree.num_nodes)
    public = seen[above] > 1  # a deal that nobody can tell from another is no public event
    wanted = np.zeros(tree.num_nodes, dtype=bool)
    wanted[above[public] if before else below[public]] = True
    return _first(tree, wanted)


def cut_at_histories(
    tree: SequenceTree, top: NDArray[np.int64], name: str, arrays: GameArrays | None = None
) -> SequenceSubgame:
    """The subgame below the histories `top` of a tree; the game is walked from there on.

    `arrays` are the rules of the game in arrays, if it has them: then no states are made below.
    """
    histories, located = tree.walked, tree.located
    states = [histories.state(h) for h in top.tolist()]
    known: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    """What a player knows -> (the slot's number, a state there, the player's sequence)."""
    tops = []
    for h, state in zip(top.tolist(), states, strict=True):
        mine = []
        for p in (0, 1):
            q = int(located[p][h])
            # By name alone: a terminal history and a decision of one name are one root infoset.
            key = (state.information_state(p), q)
            mine.append(known[p].setdefault(key, (len(known[p]), state, q))[0])
        path = histories.path(h) if arrays else ()
        tops.append(Top(state, float(histories.chance[h]), (mine[0], mine[1]), path))
    slots = both(lambda p: [_slot_name(tree, state, p, q) for _, state, q in known[p].values()])
    chance = np.zeros((len(slots[0]), len(slots[1])))
    for item in tops:
        chance[item.slots] += item.chance
    form = form_of(walk(histories.game, tops=tops, arrays=arrays), slots)
    hangs = both(lambda p: np.array([q for *_, q in known[p].values()], dtype=np.int32))
    return SequenceSubgame(tree, name, assemble(form), form, top.astype(np.int32), hangs, chance)


def _acting(histories: Histories, h: int, p: int) -> tuple[int, int, int]:
    """Who acts, in which infoset, and `p`'s last sequence: what `knowledge` asks for."""
    return int(histories.player[h]), int(histories.infoset[h]), int(histories.sequence[p][h])


def _slot_name(tree: SequenceTree, state: State, p: int, sequence: int) -> str:
    name = state.information_state(p)
    if name is not None:
        return name
    side = tree.players[p]
    i = int(side.infoset_of[sequence])
    if i < 0:
        return side.slots[-1 - i]
    action = side.actions[i][(sequence - side.first[i]) // side.stride[i]]
    return f"{side.names[i]} · {action}"


def _closed_cut(tree: SequenceTree, at: Callable[[State], bool]) -> SequenceSubgame:
    """A cut by a function of the state: one subgame, checked to be closed."""
    h, located = tree.walked, tree.located
    states: list[State] = []
    inside = np.zeros(len(h), dtype=bool)
    top = []
    known: tuple[dict[object, tuple[bool, int]], dict[object, tuple[bool, int]]] = ({}, {})
    for k in range(len(h)):  # depth first, so the parent's state is already there
        parent = int(h.parent[k])
        state = (
            h.game.new_initial_state() if parent < 0 else states[parent].child(h.labels[h.edge[k]])
        )
        states.append(state)
        inside[k] = parent >= 0 and inside[parent]
        if not inside[k] and at(state):
            inside[k] = True
            top.append(k)
        for p in (0, 1):
            token = (knowledge(state, p, *_acting(h, k, p)), int(h.sequence[p][k]))
            was, first = known[p].setdefault(token, (bool(inside[k]), k))
            if was != inside[k]:
                what = _slot_name(tree, state, p, int(located[p][k]))
                raise SubgameError(
                    f"The subgame must contain whole infosets: in '{what}' player {p} cannot tell "
                    f"history '{' '.join(h.path(first))}' from '{' '.join(h.path(k))}', "
                    "but only one of them is inside."
                )
    if not top:
        raise SubgameError("The function is true at no public state, so there is no subgame.")
    return cut_at_histories(tree, np.array(top), "forest")


def sequence_subgames(tree: PublicTree, at: At | Sequence[Subgame]) -> list[SequenceSubgame]:
    """The subgames at a frontier of a sequence tree."""
    whole = sequence_tree(tree)
    if isinstance(at, Sequence) and at and all(isinstance(place, Subgame) for place in at):
        subgames = cut_already(tree, [place for place in at if isinstance(place, Subgame)])
    else:
        subgames = list(cut_sequence_tree(whole, cast(At, at)))
    if any(subgame.overlaps for subgame in subgames):
        raise SubgameError("Subgames cut by knowledge overlap; only refine solves them.")
    out = [subgame for subgame in subgames if isinstance(subgame, SequenceSubgame)]
    if len(out) < len(subgames):
        raise SubgameError(f"{tree!r} is not a sequence tree; this needs its histories.")
    return out
