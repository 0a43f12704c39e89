"""The start of a game from which play is followed, and every decision after it."""

from __future__ import annotations

from collections.abc import Iterator

from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Move, Reached
from subgame.refine.sequence.reached import ReachedHistories
from subgame.refine.verbs.cut import by_kind
from subgame.tree.public_tree import PublicTree


def start_of(game: Game | PublicTree) -> Reached:
    """The start of a game, or of that of a tree, from which play is followed.

    >>> import subgame as sg
    >>> start_of(sg.games.load("kuhn")).actions
    ('p', 'b')
    """
    if isinstance(game, PublicTree):
        return by_kind(
            game,
            lambda tree: ReachedHistories.start(tree.walked.game),
            lambda tree: ReachedRanges.start(tree.holdem),
        )
    return ReachedRanges.start(game) if isinstance(game, Holdem) else ReachedHistories.start(game)


def every_decision(tree: PublicTree, player: int) -> Iterator[tuple[tuple[Move, ...], Reached]]:
    """Every public state of a tree at which a player acts, with the moves that lead there."""
    waiting: list[tuple[tuple[Move, ...], Reached]] = [((), start_of(tree))]
    while waiting:
        line, here = waiting.pop()
        if here.is_over or not (here.weight(0) * here.reach[0]).any():  # nobody comes here
            continue
        if here.player == player:
            yield line, here
        moves = here.deals(tree) if here.player == CHANCE else here.actions
        waiting += [((*line, (here.player, name)), here.child(name)) for name in reversed(moves)]
