"""Continuations: what a player may choose to play below a depth limit.

Brown, Sandholm & Amos 2018, Sec. 4. At every leaf infoset the player picks one of K strategies for
the rest of the game, separately at each of them, so K choices at n leaf infosets stand for K^n
strategies. Here are the ways to make them that need no solving: *bias* the blueprint, or take *all
pure* strategies, which suffices for an exact solution (Proposition 1). The *self-generative* way
solves on the way: `self_generation` is its loop, and `subgame.self_generated` the verb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats
from subgame.errors import SubgameError, brief
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy


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
        every = [strategies] if isinstance(strategies, Strategy) else list(strategies)
        if player not in (0, 1):
            raise SubgameError(f"A player is 0 or 1, not {player}.")
        if not every:
            raise SubgameError("There must be at least one continuation.")
        tree = every[0].tree
        for strategy in every:
            if strategy.tree is not tree and strategy.tree.digest != tree.digest:
                raise SubgameError(
                    f"The continuations belong to different trees: {tree!r} and {strategy.tree!r}."
                )
        titles = tuple(names) or ("blueprint", *(f"strategy {k}" for k in range(1, len(every))))
        if len(titles) != len(every):
            raise SubgameError(f"{len(every)} continuations were given {len(titles)} names.")
        return cls(tree, player, titles, np.stack([strategy.probs[player] for strategy in every]))


GrownT = TypeVar("GrownT", bound=Sized)


def self_generation(first: GrownT, count: int, respond: Callable[[GrownT], GrownT]) -> GrownT:
    """`count` continuations grown by self-play from the first (2018, Sec. 4).

    `respond` solves with those found so far and adds the opponent's response to that solution.
    It ends earlier where `respond` adds nothing.
    """
    grown = first
    while len(grown) < count:
        more = respond(grown)
        if len(more) <= len(grown):
            return more
        grown = more
    return grown


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
    for kind, biased_towards in towards.items():  # in order of appearance
        weights = np.array(blueprint.probs[player])
        weights[np.concatenate(biased_towards)] *= factor
        out = out.add(f"{factor:g} x {kind}", tree.normalise(player, weights))
    return out


def _class(classes: Callable[[str], str] | Mapping[str, str], action: str) -> str:
    return classes.get(action, "") if isinstance(classes, Mapping) else classes(action)
