"""Values at the end of a street by rollouts of a stored blueprint.

Brown, Sandholm & Amos 2018, Sec. 4 and 6. The opponent chooses among the blueprint and the
blueprint biased towards folding, calling and raising. What both players win is taken from sampled
cards to come: on each of them all betting that the blueprint knows is summed, for every pair of
hands. A terminal pays ``stake * r_o(h) * r_p(j)``, after a showdown times who is ahead, so that a
board is a few matrix products (see `by_bucket`). Means are corrected by the luck of the sample
(`subgame.play.hunl.sampled`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import DETERMINISTIC
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.below import CHOICES, Below, by_bucket, what_follows
from subgame.play.hunl.sampled import Board, Control, Mean
from subgame.play.hunl.street import BucketValues, LimitedStreet, StreetEnd

Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
BOARDS = 49
"""Boards that are looked at where there is no limit of time."""
MOST = 4 * BOARDS
"""Boards after which values are good enough: the time is better spent on solving."""
_Key = tuple[Below | None, bytes, bool]
"""What follows a leaf, the chips that are won there, and whether there is a limit of time."""


class _Seen(NamedTuple):
    """A whole board, and one hand of each kind there. Axes: h, j = kind of the opponent and us."""

    board: tuple[int, ...]
    hands: tuple[Ints, Ints]
    ahead: NDArray[np.int8]  # [h, j] 1 where h beats j, -1 where it loses
    counts: tuple[Singles, Singles]  # [bucket, kind] hands, of the opponent and of us
    sampled: Board


class _Leaf(NamedTuple):
    """A leaf as it is rolled out."""

    below: Below | None
    """What follows it in the blueprint; None: both check until the showdown."""
    chips: Singles
    """[z] what the opponent wins there, in chips of the blueprint or in real ones."""
    scale: float
    """Real chips by these."""


@dataclass(eq=False)
class _Known:
    """What was rolled out on a street before, with the same hands."""

    means: dict[_Key, Mean] = field(default_factory=dict)
    seen: dict[int, _Seen] = field(default_factory=dict)
    """The boards, by their number."""
    control: Control | None = None


@lru_cache(maxsize=4)
def _known(
    blueprint: StoredBlueprint,
    board: tuple[int, ...],
    held: tuple[bytes, ...],
    player: int,
    choices: int,
) -> _Known:
    """Leaves that were rolled out. After another bet on the street most are the same.

    Within a limit of time each solve adds boards to what earlier ones had.
    """
    return _Known()


def _counted(buckets: Ints, kinds: Ints, free: NDArray[np.bool_]) -> Singles:
    """[bucket, kind] how many hands of a bucket are of a kind, on a board that leaves some."""
    rows, columns = int(buckets.max()) + 1, int(kinds.max()) + 1
    counts = np.bincount(buckets * columns + kinds, free, rows * columns)
    return counts.reshape(rows, columns).astype(np.float32)


_Kinds = tuple[Ints, Ints]


@dataclass(frozen=True)
class Rollouts:
    """Values of the leaves of a street by rollouts; see `street.StreetEvaluator`.

    A real bet is taken for the blueprint's nearest one, unless that leaves other stacks behind (see
    `FollowedBetting.end_like`). With one of `choices` states have a single value, that of the
    blueprint.
    """

    choices: int = CHOICES

    def __call__(self, end: StreetEnd) -> BucketValues:
        return StreetRollouts(end.at, self.choices, end.now).values(end.leaves, end.until)


class StreetRollouts:
    """Rollouts from the leaves of one street."""

    def __init__(
        self,
        at: LimitedStreet,
        choices: int = CHOICES,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.at, self.choices, self.now = at, choices, now
        self.below = [self._below(leaf) for leaf in at.street.leaves]

    def values(self, leaves: Sequence[int], until: float | None = None) -> BucketValues:
        """The values of some leaves; see `StreetEnd`.

        Where the blueprint knows nothing, a showdown is rolled out only if it is not looked at on
        all boards anyway. The number of boards is the least of all leaves, and at least 1.
        """
        at, buckets = self.at, self.at.buckets
        unknown = {n for n, l in enumerate(leaves) if self.below[l].below is None}
        skipped = unknown if at.shows_exactly else set[int]()
        known, shapes = self._known.means, self.control.shapes
        means, left = dict[int, Mean](), dict[_Key, tuple[int, Mean]]()
        for n, l in enumerate(leaves):
            if n not in skipped:
                below, chips, _ = self.below[l]
                key = below, chips.tobytes(), until is not None
                means[n] = known.setdefault(key, Mean())
                left[key] = l, means[n]
        self._roll(list(left.values()), until)
        shape = self.choices, len(leaves), len(buckets[at.opponent]), len(buckets[at.player])
        values: Singles = np.zeros(shape, np.float32)
        for n, mean in means.items():
            if mean.boards:
                values[:, n] = self.below[leaves[n]].scale * mean.values(shapes)
        boards = min((mean.boards for mean in means.values()), default=BOARDS)
        return BucketValues(values, max(1, boards), frozenset(unknown))

    @property
    def _known(self) -> _Known:
        """What was rolled out on this flop before, with the same hands."""
        at = self.at
        return _known(at.blueprint, tuple(at.reached.board), at.held, at.player, self.choices)

    @cached_property
    def control(self) -> Control:
        """What buckets win from each other on all boards, if that can be looked at."""
        at = self.at
        if not at.shows_exactly:
            return Control.unknown(*(len(at.buckets[p]) for p in (at.opponent, at.player)))
        known = self._known
        if known.control is None:
            order = at.opponent, at.player
            mine, yours = (
                np.eye(len(at.buckets[p]), dtype=np.float32)[at.bucket_of[p]] for p in order
            )
            held = np.ix_(*(at.hands[p] for p in order))
            apart = at.reached.game.deck.disjoint[held]
            won = (mine.T @ at.ahead @ yours).astype(np.float32)
            known.control = Control.of(won, mine.T @ apart.astype(np.float32) @ yours)
        return known.control

    def _roll(self, left: Sequence[tuple[int, Mean]], until: float | None) -> None:
        """Add boards to the means of leaves, first to those that have the fewest.

        The first board takes longest: what follows a leaf in the blueprint is then computed.
        """
        boards, shapes = self._known.seen, self.control.shapes
        most, longest = BOARDS if until is None else MOST, 0.0
        first = min((mean.boards for _, mean in left), default=most)
        for number, board in enumerate(islice(self._runouts(), first, most), first):
            began = self.now()
            if until is not None and began + longest > until:
                return
            seen = boards.get(number) or boards.setdefault(number, self._seen(board))
            for leaf, mean in left:
                if mean.boards > number:
                    continue
                if until is not None and self.now() > until:
                    return
                mean.add(self._paid(leaf, seen), seen.sampled, shapes)
            longest = max(longest, self.now() - began)

    def _seen(self, board: tuple[int, ...]) -> _Seen:
        """A board as all leaves need it."""
        at, o, deck = self.at, self.at.opponent, self.at.reached.game.deck
        free, ranks = deck.compatible(board), rank_hands(board, deck)
        kinds = [self._kinds(board, ranks, hands) for hands in at.hands]
        mine, yours = (
            _counted(at.bucket_of[p], kinds[p][1], free[at.hands[p]]) for p in (o, 1 - o)
        )
        strength = [ranks[hands] for hands, _ in (kinds[o], kinds[1 - o])]
        ahead = np.sign(strength[0][:, None] - strength[1]).astype(np.int8)
        won, pairs = mine @ ahead.astype(np.float32) @ yours.T, np.outer(mine.sum(1), yours.sum(1))
        sampled = Board.of(won, pairs, self.control)
        return _Seen(board, (kinds[0][0], kinds[1][0]), ahead, (mine, yours), sampled)

    def _kinds(self, board: tuple[int, ...], ranks: NDArray[np.int16], hands: Ints) -> _Kinds:
        """Hands that play and win alike on a board: one hand of each kind, [hand] the kind."""
        key = ranks[hands].astype(np.int64)
        for cards in range(len(self.at.reached.board) + 1, len(board) + 1):
            buckets = self.at.blueprint.cards.of(board[:cards])[hands]
            key = key * (int(buckets.max()) + 2) + buckets + 1
        _, first, kind = np.unique(key, return_index=True, return_inverse=True)
        return hands[first], kind

    def _runouts(self) -> Iterator[tuple[int, ...]]:
        """Whole boards: every next card comes before any comes again."""
        deck, board, random = self.at.reached.game.deck, self.at.reached.board, Random(0)
        later = self.at.final - len(board) - 1
        left = [card for card in range(deck.size) if card not in board]
        for _ in range(deck.size):
            for card in random.sample(left, len(left)):
                others = random.sample([c for c in left if c != card], later)
                yield (*board, card, *others)

    def _paid(self, leaf: int, seen: _Seen) -> Singles:
        """[k, b, c] what the opponent wins on a board, by continuation, over all pairs of hands."""
        o, p, (below, chips, _) = self.at.opponent, self.at.player, self.below[leaf]
        ahead = seen.ahead.astype(np.float32)
        if below is None:  # all-in, or nothing the blueprint knows: both check
            mine, yours = seen.counts
            return np.repeat(chips * (mine @ ahead @ yours.T)[None], self.choices, axis=0)
        theirs = below.reach(o, self.choices, seen.board, seen.hands[o])
        ours = below.reach(p, 1, seen.board, seen.hands[p])[0] * chips
        return by_bucket(theirs, ours, below.folds, ahead, seen.counts)

    def _below(self, leaf: Betting) -> _Leaf:
        """What follows a leaf in the blueprint.

        Nothing if all are all-in or the blueprint knows nothing; then at a showdown. Chips of the
        blueprint are scaled to the real pot, up to the real stacks. Where all of them are, leaves
        after bets of many sizes are rolled out together.
        """
        blueprint = self.at.blueprint
        there = self.at.hand.end_like(leaf, blueprint.actions, DETERMINISTIC)
        first = None if there is None else blueprint.find(there)
        if first is None or there is None:
            return _Leaf(None, np.ones(1, np.float32), float(leaf.at_stake))
        below, most = what_follows(blueprint, first), float(min(leaf.rules.stacks))
        chips, scale = below.chips(self.at.opponent), float(leaf.pot) / float(there.pot)
        if scale * np.abs(chips).max() > most:
            chips, scale = np.clip(scale * chips, -most, most), 1.0
        return _Leaf(below, chips.astype(np.float32), scale)
