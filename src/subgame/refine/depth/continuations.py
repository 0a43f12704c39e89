"""Continuations: what a player may choose to play below a depth limit.

Brown, Sandholm & Amos 2018, Sec. 4. At every leaf infoset the player picks one of K strategies for
the rest of the game, separately at each of them, so K choices at n leaf infosets stand for K^n
strategies. Here are the ways to make them that need no solving: *bias* the blueprint, or take *all
pure* strategies, which suffices for an exact solution (Proposition 1). The *self-generative* way
solves on the way and is `subgame.refine.depth.solve.self_generated`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats
from subgame.errors import SubgameError, brief
from subgame.refine.subgame import At, SequenceSubgame, Subgame, sequence_subgames
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import Treeplex, sequence_tree
from subgame.tree.strategy import Strategy

Pure = tuple[tuple[int, int], ...]
"""A reduced pure strategy: (infoset, action) wherever it comes to."""
SAME = 12
"""Plans that agree to this many digits are one continuation."""


@dataclass(frozen=True, eq=False)
class Continuations:
    """What one player may play below a depth limit. Axes: k = continuation, q = sequence."""

    __repr__ = brief

    tree: PublicTree
    player: int
    names: tuple[str, ...]  # [k]
    probs: Floats  # [k, q] strategies of the whole game, of which only what lies below is read
    blueprint_first: bool = True
    """Whether number 0 is the blueprint: what weakening and penalties measure the others by."""

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, count: slice) -> Continuations:
        """The first few of them: ``continuations[:4]``."""
        if not isinstance(count, slice) or count.start or count.step:
            raise SubgameError(
                "Only the first continuations can be selected, such as continuations[:4]."
            )
        return replace(self, names=self.names[count], probs=self.probs[count])

    def add(self, name: str, probs: Floats) -> Continuations:
        """One more to choose from."""
        return replace(self, names=(*self.names, name), probs=np.vstack([self.probs, probs]))

    @classmethod
    def of(
        cls, strategies: Strategy | Sequence[Strategy], player: int, names: Sequence[str] = ()
    ) -> Continuations:
        """A player's part of some strategies; the first one counts as the blueprint."""
        given = [strategies] if isinstance(strategies, Strategy) else list(strategies)
        if player not in (0, 1):
            raise SubgameError(f"A player is 0 or 1, not {player}.")
        if not given:
            raise SubgameError("There must be at least one continuation.")
        tree = given[0].tree
        for strategy in given:
            if strategy.tree is not tree and strategy.tree.digest != tree.digest:
                raise SubgameError(
                    f"The continuations belong to different trees: {tree!r} and {strategy.tree!r}."
                )
        titles = tuple(names) or ("blueprint", *(f"strategy {k}" for k in range(1, len(given))))
        if len(titles) != len(given):
            raise SubgameError(f"{len(given)} continuations were given {len(titles)} names.")
        return cls(tree, player, titles, np.stack([each.probs[player] for each in given]))


def biased(
    blueprint: Strategy,
    player: int,
    *,
    classes: Callable[[str], str] | Mapping[str, str] | None = None,
    factor: float = 10.0,
) -> Continuations:
    """The blueprint, and the blueprint biased towards each class of actions in turn.

    The bias approach (2018, Sec. 4 and 6.2): the probability of, say, folding is multiplied by
    `factor` wherever it is possible, then all are normalised again. `classes` gives an action's
    class (such as "fold", "call" or "raise"; "" is never biased). By default every action is a
    class of its own, which for Leduc's f, c and r is the paper's choice; in hold'em all raises are
    one class.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> biased(sg.Strategy.uniform(tree), 1).names
    ('blueprint', '10 x p', '10 x b')
    """
    if not (np.isfinite(factor) and factor > 0):
        raise SubgameError(
            f"The factor of the probabilities must be a number above 0, not {factor}."
        )
    tree = blueprint.tree
    towards: dict[str, list[NDArray[np.int64]]] = {}
    for sequences, actions in tree.players[player].decisions():
        for k, action in enumerate(actions):
            kind = tree.action_class(action) if classes is None else _class(classes, action)
            if kind:
                towards.setdefault(kind, []).append(sequences[:, k])
    out = Continuations.of(blueprint, player)
    for kind, found in towards.items():  # in order of appearance
        weights = np.array(blueprint.probs[player])
        weights[np.concatenate(found)] *= factor
        out = out.add(f"{factor:g} x {kind}", tree.normalise(player, weights))
    return out


def _class(classes: Callable[[str], str] | Mapping[str, str], action: str) -> str:
    return classes.get(action, "") if isinstance(classes, Mapping) else classes(action)


def all_pure(
    tree: PublicTree, *, at: At | Sequence[Subgame], player: int, limit: int = 4096
) -> Continuations:
    """Every reduced pure strategy below a frontier: what Proposition 1 (2018) asks for.

    As the choice is made at each leaf infoset, there need be only as many continuations as the
    richest of them has pure strategies; at the others some of these coincide and are offered
    once. Refused if there are more than `limit`.

    >>> import subgame as sg
    >>> len(all_pure(sg.compile(sg.games.load("rps-plus")), at="P2 to move", player=1))
    3
    """
    side = sequence_tree(tree).players[player]
    found: list[tuple[SequenceSubgame, list[Pure]]] = []
    for subgame in sequence_subgames(tree, at):
        inner = subgame.tree.players[player]
        below = _children(inner)
        for s in range(len(inner.slots)):
            count = _count(inner, below, s)
            if count > limit:
                raise SubgameError(
                    f"There are {count:,} pure strategies below '{inner.slots[s]}', more than the "
                    f"limit of {limit:,}; use a later depth limit or fewer continuations."
                )
            found.append((subgame, list(_pure(inner, below, s))))
    size = max((len(pures) for _, pures in found), default=1)
    probs = np.zeros((size, side.num_sequences))
    probs[:, : len(side.slots)] = 1.0
    probs[:, side.first] = 1.0  # the first action where nothing else is said
    for subgame, pures in found:
        inner, embed = subgame.tree.players[player], subgame.places[player]
        for k in range(size):
            for i, action in pures[k % len(pures)]:
                rows = embed[inner.sequences(i)]
                probs[k, rows] = 0.0
                probs[k, rows[action]] = 1.0
    names = tuple(f"pure {k}" for k in range(size))
    return Continuations(tree, player, names, probs, blueprint_first=False)


def _children(side: Treeplex) -> list[list[int]]:
    """[q] the infosets right below each sequence."""
    out: list[list[int]] = [[] for _ in range(side.num_sequences)]
    for i, parent in enumerate(side.plex.parent.tolist()):
        out[parent].append(i)
    return out


def _count(side: Treeplex, below: list[list[int]], q: int) -> int:
    """How many reduced pure strategies there are below a sequence."""
    return math.prod(
        sum(_count(side, below, r) for r in side.sequences(i).tolist()) for i in below[q]
    )


def _pure(side: Treeplex, below: list[list[int]], q: int) -> Iterator[Pure]:
    """The reduced pure strategies below a sequence."""

    def at(i: int) -> list[Pure]:
        return [
            ((i, a), *rest)
            for a, r in enumerate(side.sequences(i).tolist())
            for rest in _pure(side, below, r)
        ]

    for choice in product(*(at(i) for i in below[q])):
        yield tuple(step for part in choice for step in part)


def distinct(plans: Floats) -> NDArray[np.int64]:
    """Which rows differ from all before them: continuations that an infoset can tell apart."""
    first = np.unique(plans.round(SAME) + 0.0, axis=0, return_index=True)[1]
    return np.sort(first).astype(np.int64)
