"""Knowledge-limited subgames (Zhang & Sandholm 2021, "Subgame solving without common knowledge").

A public state contains everything that is common knowledge. In games where little is public, that
is nearly the whole game. A player at an infoset I knows more: the history is in I, so the opponent
is in one of the infosets that touch I. With I^1 = I, let I^(k+1) be I^k and all histories that
share an infoset of either player with one of I^k. k-KLSS keeps the histories below I^(k+1), and
holds the player to the blueprint outside I^k. So 1-KLSS solves only what lies below I, against an
opponent who cannot tell I from the player's other infosets nearby.

Only odd orders are whole: I^2 contains the opponent's infosets, and cuts the player's in parts.

Gadgets are unchanged: the opponent's root infosets are those of I^(k+1), and their alternative
payoffs count what the blueprint leaves them inside and outside I^k. What is fixed is folded into
the payoffs. One such subgame is as safe as any other. Several of one public state are not, since
two of them may change the same infoset of the opponent: the paper's safe forms are
`refine_in_turn`, where each solution becomes part of the blueprint of the next, and `apart`, which
leaves out what overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats
from subgame.errors import ArgumentError
from subgame.refine.sequence.subgames import SequenceSubgame, cut_sequence_tree
from subgame.refine.subgame import At, Subgame, Trunk
from subgame.tree.public_tree import both, embed
from subgame.tree.sequence.form import Form, FormPlayer, assemble
from subgame.tree.sequence.tree import Entries, Index, SequenceTree

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeSubgame(SequenceSubgame):
    """What a player at an infoset considers. The player's first root infoset is that one."""

    overlaps: ClassVar[bool] = True

    part: SequenceSubgame
    """The subgame of the public state."""
    player: int
    free: int
    """The player's first root infosets, where the strategy is not held to the blueprint."""
    opponents: frozenset[int]
    """The opponent's root infosets, by their numbers in `part`."""

    @cached_property
    def largest_payoff(self) -> float:
        return self.part.largest_payoff

    def serves(self, p: int) -> bool:
        """Whether it is the player's, who decides something below the infoset."""
        side = self.tree.players[p]
        return p == self.player and bool((side.slot_of[len(side.slots) :] == 0).any())

    def embed(self, p: int, sigma: Floats, into: Floats) -> None:
        """Write the strategy below the player's infoset; others are solved for themselves."""
        below = self.tree.players[p].slot_of == 0
        embed(sigma, np.where(below, self.places[p], -1), into)

    def under(self, trunk: Trunk) -> KnowledgeSubgame:
        """This subgame with what the blueprint plays outside I^k folded into the payoffs."""
        p, slots = self.player, len(self.sequence[self.player])
        if self.free == slots:
            return self
        plan = np.asarray(trunk.plans[p])
        ours = plan[self.sequence[p]]
        form = _folded(self.form, p, self.free, plan[self._in_whole(p)])
        chance = self.chance if p == 0 else self.chance.T
        fixed = ours[self.free :] @ chance[self.free :]
        chance = np.vstack([chance[: self.free], fixed])
        sequence = np.append(self.sequence[p][: self.free], 0).astype(np.int32)  # always reached
        mine, theirs = sequence, self.sequence[1 - p]
        return replace(
            self,
            tree=assemble(form),
            form=form,
            sequence=(mine, theirs) if p == 0 else (theirs, mine),
            chance=chance if p == 0 else chance.T,
            free=self.free + 1,
        )

    def _in_whole(self, p: int) -> Longs:
        """[q] the sequence of the whole tree for each sequence of the form."""
        side, whole = self.form.players[p], self.whole.players[p]
        out = [self.sequence[p].astype(np.int64)]
        out += [whole.sequences(whole.index[name]) for name in side.names]
        return np.concatenate(out)


def cut_by_knowledge(tree: SequenceTree, at: At, order: int) -> list[KnowledgeSubgame]:
    """A subgame for each root infoset of both players at a frontier; see `cut`."""
    if order < 1 or order % 2 == 0:
        raise ArgumentError(
            "knowledge", f"must be an odd order such as 1, not {order}: even ones split infosets."
        )
    return [
        _around(part, p, slot, order)
        for part in cut_sequence_tree(tree, at)
        for p in (0, 1)
        for slot in range(len(part.sequence[p]))
    ]


def _around(part: SequenceSubgame, p: int, slot: int, order: int) -> KnowledgeSubgame:
    """The subgame around one root infoset of player `p`."""
    touch = (part.chance if p == 0 else part.chance.T) > 0  # [ours, theirs]
    mine = np.arange(len(touch)) == slot
    theirs = touch[mine].any(0)
    for _ in range(order // 2):
        mine = touch[:, theirs].any(1)
        theirs = touch[mine].any(0)
    fixed = touch[:, theirs].any(1) & ~mine
    mine[slot] = False
    ours = np.concatenate([[slot], np.flatnonzero(mine), np.flatnonzero(fixed)])
    others = np.flatnonzero(theirs)
    kept = (ours, others) if p == 0 else (others, ours)
    form = _restricted(part.form, kept)
    return KnowledgeSubgame(
        whole=part.whole,
        name=f"{part.name} | player {p}: {part.tree.players[p].slots[slot]}",
        tree=assemble(form),
        form=form,
        top=part.top,
        sequence=both(lambda q: part.sequence[q][kept[q]]),
        chance=part.chance[np.ix_(*kept)],
        part=part,
        player=p,
        free=1 + int(mine.sum()),
        opponents=frozenset(others.tolist()),
    )


def _restricted(form: Form, kept: tuple[Longs, Longs]) -> Form:
    """A form with some of its root infosets, in this order, and what lies below them."""
    (one, first), (two, second) = (_select(form.players[p], kept[p]) for p in (0, 1))
    node, row, col, value = form.entries
    inside = (first[row] >= 0) & (second[col] >= 0)
    entries = Entries(node[inside], first[row[inside]], second[col[inside]], value[inside])
    return replace(form, players=(one, two), entries=entries, histories=None)


def _select(player: FormPlayer, kept: Longs) -> tuple[FormPlayer, Index]:
    """One player's part, and [q] the new number of each sequence or -1."""
    start, slot_of = player.start, player.slot_of
    inside = np.isin(slot_of[player.parent], kept)
    stays = np.repeat(inside, np.diff(start))
    number = np.full(int(start[-1]), -1, np.int32)
    number[kept] = np.arange(len(kept))
    number[len(player.slots) :][stays] = len(kept) + np.arange(int(stays.sum()))
    which = np.flatnonzero(inside).tolist()
    side = FormPlayer(
        slots=[player.slots[s] for s in kept.tolist()],
        reach=player.reach[kept],
        names=[player.names[i] for i in which],
        actions=[player.actions[i] for i in which],
        parent=number[player.parent[inside]],
        node=player.node[inside],
        origin=player.origin[inside],
    )
    return side, number


def _folded(form: Form, p: int, free: int, plan: Floats) -> Form:
    """A form in which player `p` keeps the first `free` root infosets.

    Below the others the player follows a `plan`, [q]. Its payoffs are those of one more root
    infoset, which is always reached.
    """
    side = form.players[p]
    fixed = side.slot_of >= free
    ours, number = _select(side, np.arange(free))
    ours = replace(
        ours,
        slots=[*ours.slots, "elsewhere"],
        reach=np.append(ours.reach, 1.0),
        parent=np.where(ours.parent >= free, ours.parent + 1, ours.parent).astype(np.int32),
    )
    number = np.where(fixed, free, np.where(number >= free, number + 1, number)).astype(np.int32)
    sequence = form.entries.row if p == 0 else form.entries.col
    value = form.entries.value * np.where(fixed, plan, 1.0)[sequence]
    moved = number[sequence]
    entries = form.entries._replace(value=value, **{"row" if p == 0 else "col": moved})
    players = (ours, form.players[1]) if p == 0 else (form.players[0], ours)
    return replace(form, players=players, entries=entries)


def apart(subgames: Iterable[Subgame]) -> list[KnowledgeSubgame]:
    """The subgames that share no root infoset of the opponent with one taken before.

    Solving all of these at once is safe: none changes what the opponent gets in another's.
    """
    out, taken = list[KnowledgeSubgame](), set[tuple[str, int, int]]()
    for subgame in subgames:
        if not isinstance(subgame, KnowledgeSubgame):
            raise ArgumentError("subgames", "must be cut by knowledge; others are always apart.")
        keys = {(subgame.part.name, subgame.player, s) for s in subgame.opponents}
        if subgame.serves(subgame.player) and not keys & taken:
            out.append(subgame)
            taken |= keys
    return out
