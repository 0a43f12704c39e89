"""`cut`: the subgames of a tree at a frontier; and the start from which play is followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar, cast

from subgame.errors import ArgumentError, SubgameError
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.ranges.subgames import cut_range_tree
from subgame.refine.reached import Move, Reached
from subgame.refine.sequence.knowledge import cut_by_knowledge
from subgame.refine.sequence.reached import ReachedHistories
from subgame.refine.sequence.subgames import cut_sequence_tree
from subgame.refine.subgame import At, Subgame, cut_already
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import SequenceTree

A = TypeVar("A")
B = TypeVar("B")


def by_kind(
    tree: PublicTree, sequence: Callable[[SequenceTree], A], ranges: Callable[[RangeTree], B]
) -> A | B:
    """Call the function for the kind of a tree.

    >>> import subgame as sg
    >>> kuhn = sg.compile(sg.games.load("kuhn"))
    >>> by_kind(kuhn, lambda tree: "a sequence tree", lambda tree: "a hold'em tree")
    'a sequence tree'
    """
    if isinstance(tree, SequenceTree):
        return sequence(tree)
    if not isinstance(tree, RangeTree):
        raise SubgameError(
            "The tree must be a PublicTree, as subgame.compile(game) makes it, not "
            f"{type(tree).__name__}."
        )
    if tree.not_plain:
        raise SubgameError(
            f"{tree.game_name} {tree.not_plain}; safe subgame solving, nested and depth-limited "
            "solving and CFR-D need a zero-sum game in which both players may choose everywhere. "
            "Solve it as a whole instead (sg.solve, subgame endgame)."
        )
    return ranges(tree)


def cut(tree: PublicTree, at: At, *, knowledge: int | None = None) -> list[Subgame]:
    """The subgames of a tree at a frontier, each ready to be solved.

    `at` is one of

    * a public state, by name or number (``7`` or ``"7"``), or several of them;
    * a frontier the game names, such as ``"after round 1"`` of Leduc;
    * ``"depth 2"``: the public states two steps from the root; ``"before chance"`` and
      ``"after chance"``: right before, or right after, the first public chance event on each path;
    * a function of a state: the subgame then is everything from the first histories for which it
      answers true. Refused, naming what leaks, unless closed under augmented infosets.

    Of hold'em trees: ``"root"`` (all of it), ``"after the river"`` or another street's cards, or
    public states by name.

    With `knowledge` (1, 3, ...) each public state is cut further, into one subgame for every root
    infoset of either player, by order of knowledge (`subgame.refine.sequence.knowledge`). These
    overlap, and only `refine` and `refine_in_turn` solve them.

    >>> import subgame as sg
    >>> [part.name for part in cut(sg.compile(sg.games.load("kuhn")), "depth 1")]
    ['p', 'b']
    >>> [part.name for part in cut(sg.compile(sg.games.load("kuhn")), "b", knowledge=1)][:3]
    ['b | player 0: Jb', 'b | player 0: Qb', 'b | player 0: Kb']
    """
    if knowledge is not None:
        return list(by_kind(tree, partial(cut_by_knowledge, at=at, order=knowledge), _no_knowledge))
    return list(by_kind(tree, partial(cut_sequence_tree, at=at), partial(cut_range_tree, at=at)))


def _no_knowledge(tree: PublicTree) -> list[Subgame]:
    raise ArgumentError("knowledge", f"needs histories, which {tree!r} does not have.")


def subgames_at(tree: PublicTree, at: At | Sequence[Subgame]) -> list[Subgame]:
    """The subgames at a frontier, or those that were cut already."""
    if isinstance(at, Sequence) and at and all(isinstance(place, Subgame) for place in at):
        return cut_already(tree, [place for place in at if isinstance(place, Subgame)])
    return cut(tree, cast(At, at))


def subgames_of(
    tree: PublicTree, at: At | Sequence[Subgame], player: int | None
) -> list[tuple[Subgame, int]]:
    """Each subgame at a frontier with each player, or the one asked for, who decides in it."""
    if player not in (None, 0, 1):
        raise SubgameError(f"A player is 0 or 1, not {player}.")
    subgames = subgames_at(tree, at)
    players = (0, 1) if player is None else (player,)
    return [(subgame, p) for p in players for subgame in subgames if subgame.serves(p)]


def default_frontier(tree: PublicTree) -> str:
    """Where a tree is cut if nothing is said: hold'em at its root; other games must be told."""
    return by_kind(tree, _frontier_is_missing, lambda tree: "root")


def _frontier_is_missing(tree: SequenceTree) -> str:
    frontiers = [] if tree.histories is None else list(tree.histories.game.frontiers())
    known = ", ".join(repr(name) for name in (*frontiers, "depth 1", "after chance"))
    raise ArgumentError(
        "at",
        f"is missing. Say where the subgames of {tree.game_name} start: {known} or a public state.",
    )


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
