"""Depth-limited solving with multi-valued states (Brown, Sandholm & Amos 2018, Sec. 4).

A depth limit changes a game's leaves and nothing else: where the limit is, the opponent picks,
separately at each infoset there, one of K strategies for the rest of the game, and is paid its
value. The result is a tree like any other, so that every schedule, evaluation, the linear program
and every gadget work on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.base import TERMINAL, Game, State
from subgame.refine.depth.continuations import Continuations, distinct
from subgame.refine.depth.leaves import Evaluator, Leaf, LeafValues, adjusted, exact
from subgame.refine.depth.ranges import RangeLimit, limited_ranges
from subgame.refine.subgame import At, SequenceSubgame, Subgame, cut_at_histories, sequence_subgames
from subgame.tree.parts import embed, places, restrict
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.form import Form, FormPlayer, assemble, form_of
from subgame.tree.sequence.tree import Entries, Index, SequenceTree, sequence_tree
from subgame.tree.sequence.walk import Histories
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Offer(NamedTuple):
    """What is on offer at one leaf: which continuations, and where the choice is made."""

    options: tuple[list[Indices], list[Indices]]  # [s] numbers of those that differ there
    names: tuple[list[str], list[str]]  # [s] the infoset of the choice, "" where there is none


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DepthLimited(SequenceTree):
    """A `PublicTree` that ends at a depth limit, and the way back to the whole game."""

    form: Form
    whole: SequenceTree
    blueprint: Strategy
    player: int
    """Who we are: the other one chooses among continuations at the limit."""
    leaves: tuple[Leaf, ...]
    values: tuple[LeafValues, ...]
    """Per leaf, as the form pays them: weakened and penalised if that was asked for."""
    offers: tuple[Offer, ...]
    within: SequenceSubgame | None

    @property
    def standard_error(self) -> float:
        """The largest standard error of a value at the limit; 0 if they are exact."""
        return max(float(each.error.max(initial=0.0)) for each in self.values)

    def complete(self, strategy: Strategy) -> Strategy:
        """A strategy of this tree, or of a gadget game on it, laid over the whole game.

        Below the limit each player plays the mixture of continuations that the player chose; for us
        that is the blueprint, unless we chose too. Elsewhere both play the blueprint.
        """
        probs = (self.blueprint.probs[0].copy(), self.blueprint.probs[1].copy())
        for p in (0, 1):
            mine, side = self.players[p], strategy.tree.players[p]
            missing = next((name for name in mine.names if name not in side.index), None)
            if missing is not None:
                raise SubgameError(
                    f"The strategy lies over {strategy.tree!r}, which has no infoset '{missing}' "
                    f"of player {p}; solve the depth-limited tree or a gadget game on it."
                )
            here = restrict(strategy.probs[p], places(mine, side))
            embed(here, places(mine, self.whole.players[p]), probs[p])
            for leaf, offer in zip(self.leaves, self.offers, strict=True):
                leaf.subgame.embed(p, self._mixture(strategy, leaf, offer, p), probs[p])
        return Strategy(self.whole, probs, dict(strategy.notes))

    def _mixture(self, strategy: Strategy, leaf: Leaf, offer: Offer, p: int) -> Floats:
        """[q] the behaviour strategy below a leaf that has the value of the choice made."""
        inner, side = leaf.subgame.tree.players[p], strategy.tree.players[p]
        plan = np.zeros(inner.num_sequences)
        for s, (options, name) in enumerate(zip(offer.options[p], offer.names[p], strict=True)):
            below = inner.slot_of == s
            share = strategy.probs[p][side.sequences(side.index[name])] if name else np.ones(1)
            plan[below] = share @ leaf.plans[p][options][:, below]
        sigma: Floats = engine(leaf.subgame.tree).behaviour(p, plan)
        never = plan[inner.plex.parent] <= 0  # infosets that the choice does not come to
        slots = len(inner.slots)
        usual = leaf.subgame.restrict(self.blueprint, p)[slots:]
        sigma[slots:] = np.where(never[inner.infoset_of[slots:]], usual, sigma[slots:])
        return sigma


def depth_limited(
    game: Game | PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    player: int = 0,
    continuations: Continuations | None = None,
    own: Continuations | None = None,
    values: Evaluator = exact,
    weaken: bool = False,
    penalty: float | Callable[[State], float] = 0.0,
    within: Subgame | None = None,
    device: str | None = None,
) -> DepthLimited | RangeLimit:
    """The game down to the frontier `at`, with multi-valued states there (2018, Sec. 4).

    `player` is who we are. At each infoset at the frontier the opponent picks one of
    `continuations`, made by `biased`, `self_generated`, `all_pure` or by hand; without any the
    opponent plays the blueprint on, the plain depth limit that fails in RPS+. We play the blueprint
    on, or pick as well if `own` continuations are given. `values` gives the values of histories at
    the frontier: `exact`, `Rollouts(...)` or a trained `LeafNetwork`.

    If the blueprint is no equilibrium a continuation may beat it, which makes us too careful.
    `weaken` then lowers a continuation's values at an infoset, all by as much, until its value
    there is no more than the blueprint's; `penalty`, a number or a function of the state such as a
    small share of the pot, is taken from everything but the blueprint (both: end of Sec. 4).

    With `within`, a subgame that `cut` gave, the tree is that of the subgame, to be solved with a
    gadget on top by `solve_limited`. The limit of a hold'em tree lies at the end of its first
    street, such as ``"before the turn"``; values there are exact, and only the opponent chooses.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> blueprint = sg.blueprint(tree, "equilibrium")
    >>> theirs = sg.biased(blueprint, player=1)
    >>> limited = sg.depth_limited(tree, blueprint, at="P2 to move", continuations=theirs)
    >>> {move: round(p, 9) for move, p in sg.solve_lp(limited).strategy["P1 to move"].items()}
    {'Rock': 0.4, 'Paper': 0.4, 'Scissors': 0.2}
    """
    tree = _tree_of(game, blueprint)
    if isinstance(tree, RangeTree):
        if own is not None or weaken or penalty or values is not exact:
            raise SubgameError(
                "On hold'em trees values at a depth limit are exact and only the opponent chooses; "
                "own, values, weaken and penalty are for sequence trees."
            )
        return limited_ranges(tree, blueprint, at, player, continuations, within, device)
    return limited_tree(
        sequence_tree(tree),
        blueprint,
        at,
        (continuations, own),
        player,
        values,
        weaken,
        penalty,
        within,
    )


def limited_tree(
    tree: SequenceTree,
    blueprint: Strategy,
    at: At | Sequence[Subgame],
    choices: tuple[Continuations | None, Continuations | None],
    player: int,
    values: Evaluator = exact,
    weaken: bool = False,
    penalty: float | Callable[[State], float] = 0.0,
    within: Subgame | None = None,
) -> DepthLimited:
    """What `depth_limited` gives for a sequence tree; `choices` are the opponent's and our own."""
    continuations, own = choices
    if within is not None and not isinstance(within, SequenceSubgame):
        raise SubgameError(f"{within!r} was not cut from {tree!r}.")
    pair = _pair(blueprint, player, continuations, own, weaken or bool(penalty))
    base = form_of(_histories(tree)) if within is None else within.form
    place = _places(tree, within)
    subgames = _inside(tree, sequence_subgames(tree, at), place)
    leaves = tuple(_leaf(subgame, pair) for subgame in subgames)
    paid = tuple(adjusted(leaf, values(leaf), blueprint, weaken, penalty) for leaf in leaves)
    offers = _offers(leaves)
    form = _limited_form(base, place, leaves, offers, paid, pair)
    made = assemble(form)
    return DepthLimited(
        **{each.name: getattr(made, each.name) for each in fields(SequenceTree)},
        form=form,
        whole=tree,
        blueprint=blueprint,
        player=player,
        leaves=leaves,
        values=paid,
        offers=offers,
        within=within,
    )


# What lies where -----------------------------------------------------------------------------


def _tree_of(game: Game | PublicTree, blueprint: Strategy) -> PublicTree:
    """The compiled game, after checking that the blueprint is one for it."""
    if not isinstance(blueprint, Strategy):
        raise SubgameError(f"The blueprint must be a Strategy, not {type(blueprint).__name__}.")
    tree = blueprint.tree
    same = (
        str(game) == tree.game
        if isinstance(game, Game)
        else (game is tree or (isinstance(game, PublicTree) and game.digest == tree.digest))
    )
    if not same:
        raise SubgameError(f"The blueprint was made for {tree!r}, not for {game!r}.")
    return tree if isinstance(game, Game) else game


def _histories(tree: SequenceTree) -> Histories:
    if tree.histories is None:
        raise SubgameError(f"{tree!r} keeps no histories, so it cannot be cut.")
    return tree.histories


def _places(tree: SequenceTree, within: SequenceSubgame | None) -> Indices:
    """[h] where each of the game's histories stands in the form to be cut; -1 outside it."""
    count = len(_histories(tree))
    if within is None:
        return np.arange(count)
    if within.whole is not tree and within.whole.digest != tree.digest:
        raise SubgameError(f"{within!r} was not cut from {tree!r}.")
    out = np.full(count, -1)
    inner = within.form.histories
    assert inner is not None
    out[descendants(within.top, inner)] = np.arange(len(inner))
    return out


def descendants(tops: NDArray[np.integer], inner: Histories) -> Indices:
    """Where the histories of a subgame stand in a walk in which its tops stand at `tops`.

    Both walks are depth first, so that what lies below a top follows it in line.
    """
    starts = np.flatnonzero(inner.parent < 0)
    sizes = np.diff(np.append(starts, len(inner)))
    shift: Indices = np.repeat(tops.astype(np.int64) - starts, sizes)
    return np.arange(len(inner)) + shift


def _inside(
    tree: SequenceTree, subgames: list[SequenceSubgame], place: Indices
) -> list[SequenceSubgame]:
    """The subgames, or what of them lies in the part that is solved."""
    out = []
    for subgame in subgames:
        here = place[subgame.top] >= 0
        if here.all():
            out.append(subgame)
        elif here.any():
            out.append(cut_at_histories(tree, subgame.top[here].astype(np.int64), subgame.name))
    if not out:
        raise SubgameError("No part of the frontier lies inside the subgame.")
    return out


def _pair(
    blueprint: Strategy,
    player: int,
    continuations: Continuations | None,
    own: Continuations | None,
    measured: bool,
) -> list[Continuations]:
    """[player] both players' continuations, the blueprint alone where none were given."""
    if player not in (0, 1):
        raise SubgameError(f"A player is 0 or 1, not {player}.")
    if continuations is not None and continuations.player == player:
        raise SubgameError(f"The continuations are player {player}'s own; pass them as own=.")
    if own is not None and own.player != player:
        raise SubgameError(f"own= takes continuations of player {player}, not of {own.player}.")
    tree, out = blueprint.tree, [Continuations.of(blueprint, p) for p in (0, 1)]
    for given in filter(None, (continuations, own)):
        if given.tree is not tree and given.tree.digest != tree.digest:
            raise SubgameError(f"The continuations lie over {given.tree!r}, not over {tree!r}.")
        if measured and not given.blueprint_first:
            raise SubgameError(
                "Weakening and penalties compare with the blueprint, which must be the first "
                "continuation."
            )
        out[given.player] = given
    return out


def _leaf(subgame: SequenceSubgame, pair: Sequence[Continuations]) -> Leaf:
    """The continuations, restricted to one subgame."""
    sigma = []
    for p, given in enumerate(pair):
        inner = given.probs[:, subgame.places[p]]
        inner[:, : len(subgame.tree.players[p].slots)] = 1.0
        sigma.append(inner)
    return Leaf(subgame, (sigma[0], sigma[1]))


def _offers(leaves: Sequence[Leaf]) -> tuple[Offer, ...]:
    """At each leaf infoset, the continuations that differ there."""
    out, taken = [], (set[str](), set[str]())
    for leaf in leaves:
        options: tuple[list[Indices], list[Indices]] = ([], [])
        names: tuple[list[str], list[str]] = ([], [])
        for p in (0, 1):
            side = leaf.subgame.tree.players[p]
            for s, slot in enumerate(side.slots):
                kept = distinct(leaf.plans[p][:, side.slot_of == s])
                name = f"{slot} · how to go on?" if len(kept) > 1 else ""
                while name in taken[p]:
                    name += "'"
                taken[p].update(filter(None, [name]))
                options[p].append(kept)
                names[p].append(name)
        out.append(Offer(options, names))
    return tuple(out)


# The form ------------------------------------------------------------------------------------


def _limited_form(
    base: Form,
    place: Indices,
    leaves: Sequence[Leaf],
    offers: Sequence[Offer],
    values: Sequence[LeafValues],
    pair: Sequence[Continuations],
) -> Form:
    """The form above the limit, the choices at it and what they pay."""
    h, located = base.histories, base.located
    assert h is not None
    assert located is not None
    below = np.zeros(len(h), dtype=bool)
    tops = [place[leaf.subgame.top] for leaf in leaves]
    for leaf, top in zip(leaves, tops, strict=True):
        below[descendants(top, leaf.histories)] = True
    cut = below.copy()
    cut[np.concatenate(tops)] = False
    nodes = np.unique(h.node[~cut])
    renumber = np.full(len(base.node_names), -1, dtype=np.int32)
    renumber[nodes] = np.arange(len(nodes))
    players, moved, landed = [], [], []
    for p in (0, 1):
        kept = ~below[h.tables[p].first]
        side, old = _trunk(base.players[p], kept, renumber)
        where = [old[located[p][top]] for top in tops]  # [leaf][h] the player's, at the limit
        side, at = _choices(side, p, leaves, offers, where, renumber[h.node], tops, pair[p].names)
        players.append(side)
        moved.append(old)
        landed.append(at)
    ends = ~below[h.player == TERMINAL]
    entries = [
        Entries(
            renumber[base.entries.node[ends]],
            moved[0][base.entries.row[ends]],
            moved[1][base.entries.col[ends]],
            base.entries.value[ends],
        )
    ]
    for k, (leaf, offer, found) in enumerate(zip(leaves, offers, values, strict=True)):
        at_node = renumber[h.node[tops[k]]]
        entries.append(_paid(leaf, offer, found.value, (landed[0][k], landed[1][k]), at_node))
    parent = base.node_parent[nodes]
    return Form(
        f"{base.game} · depth limit",
        (players[0], players[1]),
        Entries(*(np.concatenate(column) for column in zip(*entries, strict=True))),
        [base.node_names[n] for n in nodes.tolist()],
        np.where(parent >= 0, renumber[parent], -1).astype(np.int32),
        base.node_chance[nodes],
    )


def _trunk(
    player: FormPlayer, kept: NDArray[np.bool_], renumber: Index
) -> tuple[FormPlayer, Index]:
    """A player's infosets above the limit, and the map from old to new sequences."""
    slots, start = len(player.slots), player.start
    sizes = np.diff(start)
    new = np.full(start[-1], -1, dtype=np.int32)
    stays = np.append(np.ones(slots, dtype=bool), np.repeat(kept, sizes))
    new[stays] = np.arange(stays.sum())
    which = np.flatnonzero(kept)
    return replace(
        player,
        names=[player.names[i] for i in which.tolist()],
        actions=[player.actions[i] for i in which.tolist()],
        parent=new[player.parent[which]],
        node=renumber[player.node[which]],
        origin=player.origin[which],
    ), new


def _choices(
    side: FormPlayer,
    p: int,
    leaves: Sequence[Leaf],
    offers: Sequence[Offer],
    where: Sequence[Index],
    node: Index,
    tops: Sequence[Indices],
    titles: Sequence[str],
) -> tuple[FormPlayer, list[list[Indices]]]:
    """A player's side with the choices at the limit, and [leaf][s] the sequences they lead to."""
    names, actions, parents, nodes = [], [], [], []
    landed: list[list[Indices]] = []
    size = int(side.start[-1])
    for leaf, offer, at, top in zip(leaves, offers, where, tops, strict=True):
        slots = leaf.slots[p]
        landed.append([])
        for s, (options, name) in enumerate(zip(offer.options[p], offer.names[p], strict=True)):
            first = int(np.argmax(slots == s))  # any history there
            if not name:  # nothing to choose: paid at the sequence itself
                landed[-1].append(np.array([at[first]], dtype=np.int64))
                continue
            names.append(name)
            actions.append(tuple(titles[k] for k in options.tolist()))
            parents.append(int(at[first]))
            nodes.append(int(node[top[first]]))
            landed[-1].append(np.arange(size, size + len(options)))
            size += len(options)
    return replace(
        side,
        names=[*side.names, *names],
        actions=[*side.actions, *actions],
        parent=np.append(side.parent, parents).astype(np.int32),
        node=np.append(side.node, nodes).astype(np.int32),
        origin=np.append(side.origin, np.full(len(names), -1)).astype(np.int32),
    ), landed


def _paid(
    leaf: Leaf,
    offer: Offer,
    value: Floats,
    landed: tuple[list[Indices], list[Indices]],
    node: Index,
) -> Entries:
    """What every pair of choices pays at one leaf, times chance."""
    nodes, rows, cols, paid = [], [], [], []
    for j, (s, t) in enumerate(zip(*(slots.tolist() for slots in leaf.slots), strict=True)):
        mine, yours = offer.options[0][s], offer.options[1][t]
        rows.append(np.repeat(landed[0][s], len(yours)))
        cols.append(np.tile(landed[1][t], len(mine)))
        nodes.append(np.full(len(mine) * len(yours), node[j]))
        paid.append(leaf.chance[j] * value[j][np.ix_(mine, yours)].ravel())
    return Entries(
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(rows).astype(np.int32),
        np.concatenate(cols).astype(np.int32),
        np.concatenate(paid),
    )
