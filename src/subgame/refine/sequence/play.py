"""Nested depth-limited play: a few moves ahead, and again after every move of the opponent.

Brown, Sandholm & Amos 2018, Sec. 5. The game is solved from its start to a first depth limit; what
is reached there is solved to the next limit, and so on to the end. Each of these subgames stands
behind a gadget whose alternative payoffs are *carried* from the solve before: what the opponent
could get there by the best of the continuations, against our strategy as it then was.

Play solves only the subgames it reaches. Here all of them are solved and laid over the game as one
`Strategy`, so that its exploitability is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from subgame.engines.arrays import Floats, normalise
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.base import TERMINAL
from subgame.refine.behind import LP, Technique, solve_gadget
from subgame.refine.limit import Limit, Play, Played
from subgame.refine.sequence.limit import DepthLimited, limited_tree
from subgame.refine.sequence.limited_form import descendants
from subgame.refine.sequence.subgames import SequenceSubgame, sequence_subgames
from subgame.refine.subgame import Trunk
from subgame.tree.public_tree import PublicTree, both
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.strategy import Strategy


def after_every_action(tree: PublicTree, player: int) -> list[list[str]]:
    """The public states right after the first, the second, ... action of a player.

    >>> import subgame as sg
    >>> after_every_action(sg.compile(sg.games.load("kuhn")), 1)
    [['pb']]
    """
    tree = sequence_tree(tree)
    h = tree.walked
    count = np.zeros(len(h), dtype=np.int64)
    actions: dict[int, dict[str, None]] = {}
    for at, above in enumerate(h.parent[1:].tolist(), 1):
        acted = h.player[above] == player
        count[at] = count[above] + acted
        if acted and h.player[at] != TERMINAL:
            actions.setdefault(int(count[at]), {})[tree.node_names[int(h.node[at])]] = None
    return [list(actions[n]) for n in sorted(actions)]


def play_histories(tree: SequenceTree, play: Play) -> Played:
    """What `play_limited` plays on a sequence tree; solved by linear program unless told."""
    limits = after_every_action(tree, 1 - play.player) if play.at is None else play.at
    frontiers = [sequence_subgames(tree, frontier) for frontier in limits]
    if not frontiers:
        raise SubgameError(
            "The list of frontiers is empty; give at least one frontier, such as 'after round 1'."
        )
    solving = replace(play.solving, schedule=play.solving.schedule or LP)
    how = solving.technique(play.gadget, tree)
    here = _Here(tree, play.blueprint, play, how, play.player)
    solved = tuple(here.run(frontiers))
    return here.current, solved


@dataclass(eq=False)
class _Here:
    """What is played so far."""

    tree: SequenceTree
    current: Strategy
    play: Play
    how: Technique
    p: int

    def run(self, frontiers: list[list[SequenceSubgame]]) -> Iterator[tuple[int, str]]:
        """Solve to the first frontier, and from each to the next."""
        waiting = self._to_the_limit(None, frontiers[0], None)
        yield 0, "start"
        for depth in range(1, len(frontiers) + 1):
            further: list[tuple[SequenceSubgame, Floats]] = []
            for subgame, alternative in waiting:
                below = frontiers[depth] if depth < len(frontiers) else []
                within = descendants(subgame.top, subgame.tree.walked)
                leaves = [leaf for leaf in below if np.isin(leaf.top, within).any()]
                if leaves:
                    further += self._to_the_limit(subgame, leaves, alternative)
                else:
                    self._to_the_end(subgame, alternative)
                yield depth, subgame.name
            waiting = further

    def _to_the_limit(
        self,
        within: SequenceSubgame | None,
        leaves: list[SequenceSubgame],
        alternative: Floats | None,
    ) -> list[tuple[SequenceSubgame, Floats]]:
        """Solve down to a limit; gives the subgames there with the opponent's values in them."""
        play, offered = self.play, self.play.offered(leaves)
        limit = Limit(self.current, leaves, self.p, offered, within=within, values=play.values)
        limited = limited_tree(self.tree, limit)
        gadget = None if within is None else play.gadget
        how, device = self.how, play.solving.device
        _, strategy = limited.solved(gadget, how.schedule, how.limits, alternative, device)
        self._keep(strategy.probs[self.p])
        return list(self._carried(limited))

    def _keep(self, ours: Floats) -> None:
        """Our part changes, the opponent's stays the blueprint's."""
        probs = both(lambda q: np.array(ours if q == self.p else self.current.probs[q]))
        self.current = Strategy(self.tree, probs, dict(self.current.notes))

    def _carried(self, limited: DepthLimited) -> Iterator[tuple[SequenceSubgame, Floats]]:
        """[s] what the opponent can get in each subgame at a limit by the best continuation."""
        p, o, located = self.p, 1 - self.p, self.tree.located
        plan = engine(self.tree).plan(p, self.current.probs[p])
        for leaf, values in zip(limited.leaves, limited.values, strict=True):
            weight = leaf.chance * plan[located[p][leaf.subgame.top]]  # [h]
            theirs = -values.value[:, 0, :] if p == 0 else values.value[:, :, 0]  # [h, k]
            slot, size = leaf.slots[o], len(leaf.subgame.tree.players[o].slots)
            paid = np.zeros((size, theirs.shape[1]))
            np.add.at(paid, slot, weight[:, None] * theirs)
            yield leaf.subgame, normalise(paid.max(1), np.bincount(slot, weight, size))

    def _to_the_end(self, subgame: SequenceSubgame, alternative: Floats) -> None:
        """Solve a subgame whole."""
        p, o = self.p, 1 - self.p
        if not subgame.tree.players[p].names:
            return  # we do not act any more
        device = self.play.solving.device
        trunk = Trunk(self.current, o, device=device)
        inputs, _ = trunk.inputs(subgame, self.play.gadget, alternative)
        solved = solve_gadget(self.how, subgame, inputs, device)
        ours = np.array(self.current.probs[p])
        subgame.embed(p, solved.sigma[p], ours)
        self._keep(ours)
