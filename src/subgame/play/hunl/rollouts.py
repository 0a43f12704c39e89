"""Values at the end of a street by rollouts of a stored blueprint.

Brown, Sandholm & Amos 2018, Sec. 4 and 6. The opponent chooses among the blueprint and the
blueprint biased towards folding, calling and raising. What both players win is taken from sampled
cards to come: on each of them all betting that the blueprint knows is summed, for every pair of
hands. A terminal pays ``stake * r_o(h) * r_p(j)``, after a showdown times who is ahead, so that a
board is a few matrix products (see `by_pair`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import DETERMINISTIC
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.below import CHOICES, Below, by_pair, what_follows
from subgame.play.hunl.street import BucketValues, LimitedStreet, StreetEnd

Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
BOARDS = 49
"""Boards that are looked at where there is no limit of time."""
_Key = tuple[Below | None, bytes]
"""What follows a leaf, and the chips that are won there."""


@lru_cache(maxsize=2)
def _known(
    blueprint: StoredBlueprint,
    board: tuple[int, ...],
    held: tuple[bytes, ...],
    player: int,
    choices: int,
) -> dict[_Key, Singles]:
    """[k, b, c] values of leaves that were rolled out: after another bet most are the same."""
    return {}


def _counted(buckets: Ints, kinds: Ints, free: NDArray[np.bool_]) -> Singles:
    """[bucket, kind] how many hands of a bucket are of a kind, on a board that leaves some."""
    rows, columns = int(buckets.max()) + 1, int(kinds.max()) + 1
    counts = np.bincount(buckets * columns + kinds, free, rows * columns)
    return counts.reshape(rows, columns).astype(np.float32)


class _Seen(NamedTuple):
    """A whole board, and one hand of each kind there."""

    board: tuple[int, ...]
    hands: tuple[Ints, Ints]
    ranks: NDArray[np.int16]  # [hand of the deck]


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
        board = tuple(at.reached.board)
        self.known = _known(at.blueprint, board, at.held, at.player, choices)
        self.below = [self._below(leaf) for leaf in at.street.leaves]
        """What follows each leaf in the blueprint."""

    def values(self, leaves: Sequence[int], until: float | None = None) -> BucketValues:
        """The values of some leaves; see `StreetEnd`.

        Where the blueprint knows nothing, a showdown is rolled out only if it is not looked at on
        all boards anyway.
        """
        unknown = {n for n, l in enumerate(leaves) if self.below[l][0] is None}
        skipped = unknown if self.at.shows_exactly else set[int]()
        keys = [(below, chips.tobytes()) for below, chips in self.below]
        known = self.known if until is None else {}  # within a limit of time boards differ
        wanted = [l for n, l in enumerate(leaves) if n not in skipped]
        left = [l for l in wanted if keys[l] not in known]
        rolled, boards = self._rolled(left, until)
        known.update({keys[l]: table for l, table in zip(left, rolled, strict=True)})
        o, buckets = self.at.opponent, self.at.buckets
        shape = self.choices, len(leaves), len(buckets[o]), len(buckets[1 - o])
        values: Singles = np.zeros(shape, np.float32)
        for n, l in enumerate(leaves):
            if n not in skipped:
                values[:, n] = known[keys[l]]
        return BucketValues(values, boards, frozenset(unknown))

    def _rolled(self, left: Sequence[int], until: float | None) -> tuple[list[Singles], int]:
        """[k, b, c] values of some leaves, and the number of boards.

        The first board takes longest: what follows a leaf in the blueprint is then computed. If its
        time is over on the way, there are no values, which counts as one board: too few to be used.
        """
        at, o, deck = self.at, self.at.opponent, self.at.reached.game.deck
        count, boards, longest = np.zeros((1, 1), np.float32), 0, 0.0
        total = [np.zeros((1, 1, 1), np.float32) for _ in left]
        for board in self._runouts() if left else ():
            if until is not None and boards and self.now() + longest > until:
                break
            began = self.now()
            if until is None and boards >= BOARDS:
                break
            free, ranks = deck.compatible(board), rank_hands(board, deck)
            kinds = [self._kinds(board, ranks, hands) for hands in at.hands]
            mine, yours = (
                _counted(at.bucket_of[p], kinds[p][1], free[at.hands[p]]) for p in (o, 1 - o)
            )  # [bucket, kind] hands
            seen = _Seen(board, (kinds[0][0], kinds[1][0]), ranks)
            for n, l in enumerate(left):
                if until is not None and not boards and self.now() > until:
                    return [np.zeros((1, 1, 1), np.float32) for _ in left], 1
                total[n] = total[n] + mine @ (self._paid(l, seen) @ yours.T)
            count = count + np.outer(mine.sum(1), yours.sum(1))
            boards += 1
            longest = max(longest, self.now() - began)
        least = np.maximum(count, 1)
        values: list[Singles] = [(table / least).astype(np.float32) for table in total]
        return values, boards if left else BOARDS

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
        """[k, kind, kind] what the opponent wins on a board, by continuation."""
        o, p, (below, chips) = self.at.opponent, self.at.player, self.below[leaf]
        ranks = [seen.ranks[hands] for hands in seen.hands]
        ahead = np.sign(ranks[o][:, None] - ranks[p]).astype(np.float32)
        if below is None:  # all-in, or nothing the blueprint knows: both check
            return np.repeat(chips * ahead[None], self.choices, axis=0)
        theirs = below.reach(o, self.choices, seen.board, seen.hands[o])
        ours = below.reach(p, 1, seen.board, seen.hands[p])[0] * chips
        paid: Singles = by_pair(theirs, ours, below.folds, ahead)
        return paid

    def _below(self, leaf: Betting) -> tuple[Below | None, Singles]:
        """What follows a leaf in the blueprint, and [z] what the opponent wins there in real chips.

        None if all are all-in or the blueprint knows nothing; then at a showdown.
        """
        blueprint = self.at.blueprint
        there = self.at.hand.end_like(leaf, blueprint.actions, DETERMINISTIC)
        first = None if there is None else blueprint.find(there)
        if first is None or there is None:
            return None, np.array([leaf.at_stake], np.float32)
        below, most = what_follows(blueprint, first), float(min(leaf.rules.stacks))
        chips = np.clip(
            below.chips(self.at.opponent) * (float(leaf.pot) / float(there.pot)), -most, most
        )
        return below, chips.astype(np.float32)
