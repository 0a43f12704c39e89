"""What differs between the kinds of tree: `kind_of` gives it, so that each verb is written once.

The implementations are imported where they are used: they lie above this module, and only hold'em
needs those of hold'em.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from subgame.errors import ArgumentError, SubgameError
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import SequenceTree

if TYPE_CHECKING:
    from subgame.refine.compact import Compact
    from subgame.refine.decompose import CfrD
    from subgame.refine.depth.limit import DepthLimited, Limit
    from subgame.refine.depth.play import Play, Played
    from subgame.refine.depth.ranges import RangeLimit
    from subgame.refine.gadgets import Gadget
    from subgame.refine.live.reached import Reached
    from subgame.refine.nested.mappings import ActionMapping
    from subgame.refine.nested.ranges import RangeExpansion
    from subgame.refine.nested.sequence import Expansion
    from subgame.refine.subgame import At, Subgame
    from subgame.tree.strategy import Strategy

    Weights = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class SequenceKind:
    """What the verbs do on a sequence tree: they go along histories, one subgame at a time."""

    tree: SequenceTree

    @property
    def frontier(self) -> str:
        """Where the tree is cut if nothing is said."""
        histories = self.tree.histories
        frontiers = [] if histories is None else list(histories.game.frontiers())
        known = ", ".join(repr(name) for name in (*frontiers, "depth 1", "after chance"))
        raise ArgumentError(
            "at",
            f"is missing. Say where the subgames of {self.tree.game_name} start: {known} or a "
            "public state.",
        )

    def schedule(self, gadget: Gadget) -> str:
        """The schedule that solves a gadget if none is given."""
        return "pdcfr+" if gadget.is_finite else "cfr+"

    def cut(self, at: At) -> Sequence[Subgame]:
        """The subgames at a frontier, for `cut`."""
        from subgame.refine.subgame import cut_sequence_tree

        return cut_sequence_tree(self.tree, at)

    @property
    def expansion(self) -> type[Expansion]:
        """A blueprint that grows by answers to off-tree actions, for `nest`."""
        from subgame.refine.nested.sequence import Expansion

        return Expansion

    def start(self) -> Reached:
        """The start of the game, from which agents follow play."""
        from subgame.refine.live.reached import ReachedHistories

        return ReachedHistories.start(self.tree.walked.game)

    def limit_at(self, frontier: str) -> str:
        """The depth limit for an agent that solves to the end of the game from a frontier on."""
        return frontier

    def translated(self, strategy: Strategy, how: ActionMapping, device: str | None) -> Weights:
        """Both players' weights over the tree, for `translate`."""
        from subgame.refine.nested.translation import translate_histories

        return translate_histories(self.tree, strategy, how)

    def limited(self, limit: Limit) -> DepthLimited:
        """The tree down to a limit, for `depth_limited`."""
        from subgame.refine.depth.limit import limited_tree

        return limited_tree(self.tree, limit)

    def played(self, play: Play) -> Played:
        """What is played and what was solved for it, for `play_limited`."""
        from subgame.refine.depth.play import play_histories

        return play_histories(self.tree, play)

    def decomposed(self, how: CfrD) -> Compact:
        """A trunk and the values at the roots of its subgames, for `cfr_d`."""
        from subgame.refine.decompose import cfr_d_histories

        return cfr_d_histories(self.tree, how)

    def compacted(self, strategy: Strategy, at: At) -> Compact:
        """What is kept of a strategy, for `compact`."""
        from subgame.refine.decompose import compact_histories

        return compact_histories(self.tree, strategy, at)

    @property
    def compact(self) -> type[Compact]:
        """What reads files of decompositions, for `Compact.load`."""
        from subgame.refine.decompose import SequenceCompact

        return SequenceCompact


@dataclass(frozen=True)
class RangeKind:
    """What the verbs do on a hold'em tree: they work on ranges, on all boards at once."""

    tree: RangeTree
    frontier = "root"

    def schedule(self, gadget: Gadget) -> str:
        return "dcfr"

    def cut(self, at: At) -> Sequence[Subgame]:
        from subgame.refine.range_subgame import cut_range_tree

        return cut_range_tree(self.tree, at)

    @property
    def expansion(self) -> type[RangeExpansion]:
        from subgame.refine.nested.ranges import RangeExpansion

        return RangeExpansion

    def start(self) -> Reached:
        from subgame.refine.live.ranges import ReachedRanges

        return ReachedRanges.start(self.tree.holdem)

    def limit_at(self, frontier: str) -> str:
        return frontier.replace("after", "before")

    def translated(self, strategy: Strategy, how: ActionMapping, device: str | None) -> Weights:
        from subgame.refine.nested.translate_ranges import translate_ranges

        return translate_ranges(self.tree, strategy, how, device)

    def limited(self, limit: Limit) -> RangeLimit:
        from subgame.refine.depth.ranges import limited_ranges

        return limited_ranges(self.tree, limit)

    def played(self, play: Play) -> Played:
        from subgame.refine.depth.play_ranges import play_ranges

        return play_ranges(self.tree, play)

    def decomposed(self, how: CfrD) -> Compact:
        from subgame.refine.decompose_ranges import cfr_d_ranges

        return cfr_d_ranges(self.tree, how)

    def compacted(self, strategy: Strategy, at: At) -> Compact:
        from subgame.refine.decompose_ranges import compact_ranges

        return compact_ranges(self.tree, strategy, at)

    @property
    def compact(self) -> type[Compact]:
        from subgame.refine.decompose_ranges import RangeCompact

        return RangeCompact


@singledispatch
def kind_of(tree: PublicTree) -> SequenceKind | RangeKind:
    """The kind of a tree, with the tree.

    >>> import subgame as sg
    >>> kind_of(sg.compile(sg.games.load("kuhn"))).schedule(sg.Resolve())
    'pdcfr+'
    """
    raise SubgameError(
        "The tree must be a PublicTree, as subgame.compile(game) makes it, not "
        f"{type(tree).__name__}."
    )


kind_of.register(SequenceTree, SequenceKind)


@kind_of.register
def _(tree: RangeTree) -> RangeKind:
    if tree.not_plain:
        raise SubgameError(
            f"{tree.game_name} {tree.not_plain}; safe subgame solving, nested and depth-limited "
            "solving and CFR-D need a zero-sum game in which both players may choose everywhere. "
            "Solve it as a whole instead (sg.solve, subgame endgame)."
        )
    return RangeKind(tree)
