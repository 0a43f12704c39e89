"""One street of whole hold'em to a depth limit, with values by rollouts of a stored blueprint.

Brown, Sandholm & Amos 2018, Sec. 4 and 6. At the end of the street the opponent chooses among the
blueprint and the blueprint biased towards folding, calling and raising. What both players win from
there on is taken from sampled cards to come: on each of them all betting that the blueprint knows
is summed, for every pair of hands. A terminal pays ``stake * r_o(h) * r_p(j)``, after a showdown
times who is ahead, so that a board is a few matrix products (see `PairTables`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import DETERMINISTIC, FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.factory import engine
from subgame.engines.numba.strengths import mean_ahead
from subgame.engines.street import StreetEngine
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.spots import endgame
from subgame.play.hunl.below import CHOICES, Below, by_pair, what_follows
from subgame.refine.live import Rows
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run, drive
from subgame.tree.ranges.betting_tree import Street, grow_street
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

Floats = NDArray[np.float64]


Singles = NDArray[np.float32]


Ints = NDArray[np.int64]


FAINT = 5e-3
"""Hands below this share of the likeliest one are left out."""


ROLLING = 0.6
"""The share of the time for rollouts; the rest is for solving."""


FEWEST, BOARDS = 2, 49
"""Boards that are looked at, whatever time they take; and where there is no limit of time."""


SCHEDULE = "dcfr"


def planned(
    street: Street,
    on: StreetEngine,
    played: Sequence[Any],
    by_hand: Callable[[int, Floats], Floats],
) -> dict[tuple[str, ...], Rows]:
    """Both players' strategies by betting history, from [action, slot] as an engine has them.

    ``by_hand(p, rows)`` makes [hand of the deck, action] of a player's [slot, action].
    """
    rows: dict[tuple[str, ...], Rows] = {}
    for p in (0, 1):
        sigma, past = np.asarray(played[p]), on.sides[p].roots
        for state, first, names in zip(
            street.states[p], street.first[p], street.actions[p], strict=True
        ):
            here = sigma[first - past : first - past + len(names)]
            rows[state.history] = Rows(names, by_hand(p, here.T))
    return rows


@dataclass(frozen=True)
class StreetPlan:
    """A street solved to its end: both players' strategies, by betting history."""

    rows: dict[tuple[str, ...], Rows]
    boards: int
    """Boards of which values at the limit are the mean; 0 where they are by a network."""
    iterations: int


@lru_cache(maxsize=4)
def _street_tree(
    deck: Deck, board: tuple[int, ...], street: str, held: tuple[bytes, ...]
) -> RangeTree:
    """The hands of a street, by the bits of those that each player may hold."""
    bits = [np.unpackbits(np.frombuffer(each, np.uint8), count=deck.num_hands) for each in held]
    ranges = [Range(each.astype(np.float64), deck) for each in bits]
    spot = endgame(board, 2, 1, ranges, "all: none", deck=deck, last=street)
    return compile_range_tree(spot, merge=False)


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


@dataclass(frozen=True, eq=False)
class RolloutLeaves:
    """Values at the leaves of a street, by the blueprint's buckets there; see `street.Leaves`.

    A hand wins what its bucket wins on average from the other player's range, as far as that range
    shares no card with it. Where there are no more bets, it wins exactly what it wins on all boards
    to come: a call of an all-in of many pots depends on a percent of equity.
    Axes: k = continuation, b and c = buckets of the opponent and of us.
    """

    values: Singles  # [k, leaf, b, c] what the opponent wins, in chips
    opponent: int
    hands: tuple[Ints, Ints]  # [hand] by player, which they are in the deck
    buckets: tuple[Ints, Ints]  # [hand] by player
    deck: Deck
    shown: Mapping[int, float] = field(default_factory=dict)
    """Leaf -> what a showdown without more bets wins, in chips."""
    ahead: Singles | None = None  # [opponent's hand, ours] how often it wins minus loses

    def __len__(self) -> int:
        return len(self.values)

    def won(self, p: int, reach: Floats) -> Floats:
        """[leaf, k, hand] what player `p` wins at the leaves; see `street.Leaves.won`."""
        cards, buckets = self._sums(1 - p, reach)
        total = buckets.sum(2, keepdims=True)
        held = buckets / np.maximum(total, 1e-100)
        held = held.astype(np.float32)  # as the table, which is not converted then
        if p == self.opponent:
            won = (self.values @ held.transpose(1, 0, 2)[..., None])[..., 0]
        else:
            won = -(held.transpose(1, 0, 2)[:, :, None] @ self.values)[:, :, 0]
        low, high = self.deck.hands[self.hands[p]].T
        met = total - cards[..., low] - cards[..., high]
        mine, yours = self._same if p == 0 else self._same[::-1]
        met[..., mine] += reach[..., yours]
        found: Floats = won.transpose(1, 0, 2)[..., self.buckets[p]] * met
        if self.ahead is not None:
            ahead = self.ahead.T if p == self.opponent else -self.ahead
            for l, chips in self.shown.items():
                found[l] = chips * (reach[l].astype(np.float32) @ ahead)
        return found

    @cached_property
    def _same(self) -> tuple[Ints, Ints]:
        """The hands that both players may hold, in each one's numbers."""
        _, one, two = np.intersect1d(*self.hands, assume_unique=True, return_indices=True)
        return one, two

    def _sums(self, p: int, reach: Floats) -> tuple[Floats, Floats]:
        """[leaf, k, card] and [leaf, k, bucket] the sums of player `p`'s reach [leaf, k, hand]."""
        size = self.deck.size
        width = size + self.values.shape[2 if p == self.opponent else 3]
        at = np.stack([*self.deck.hands[self.hands[p]].T, size + self.buckets[p]])
        rows = reach.shape[0] * reach.shape[1]
        into = at[:, None] + width * np.arange(rows)[:, None]
        each = np.broadcast_to(reach.reshape(rows, -1), into.shape)
        sums = np.asarray(np.bincount(into.ravel(), each.ravel(), rows * width), np.float64)
        sums = sums.reshape(*reach.shape[:2], width)
        return sums[..., :size], sums[..., size:]


def _counted(buckets: Ints, kinds: Ints, free: NDArray[np.bool_]) -> Singles:
    """[bucket, kind] how many hands of a bucket are of a kind, on a board that leaves some."""
    rows, columns = int(buckets.max()) + 1, int(kinds.max()) + 1
    found = np.bincount(buckets * columns + kinds, free, rows * columns)
    return found.reshape(rows, columns).astype(np.float32)


class _Seen(NamedTuple):
    """A whole board, and one hand of each kind there."""

    board: tuple[int, ...]
    hands: tuple[Ints, Ints]
    ranks: NDArray[np.int16]  # [hand of the deck]


_Kinds = tuple[Ints, Ints]


class ValueNetwork(Protocol):
    """Values without rollouts; `subgame.play.hunl.flop_network.FlopNetwork` has them."""

    def values(
        self,
        flop: tuple[int, ...],
        leaves: Sequence[Betting],
        opponent: int,
        buckets: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]],
    ) -> Singles:
        """[k, leaf, b, c] what the opponent wins, in chips, by the opponent's buckets and ours."""


def solve_street(
    blueprint: StoredBlueprint,
    reached: ReachedRanges,
    abstract: Betting | None,
    player: int,
    limits: Limits,
    choices: int = CHOICES,
    network: ValueNetwork | None = None,
) -> StreetPlan:
    """Solve the street that play has reached to its end, for `player`.

    `abstract` is the blueprint's betting that stands for the real one. The bets are those of
    `reached.game`. Half of the time of `limits` or more goes into rollouts. With one of `choices`
    states have a single value, that of the blueprint. With a `network` there are no rollouts, and
    a real bet is not taken for another one.
    """
    return _Solving(blueprint, reached, abstract, player, choices, network).plan(limits)


class _Solving:
    """A street that is being solved. Axes: h, j = the hands that the players may hold."""

    def __init__(
        self,
        blueprint: StoredBlueprint,
        reached: ReachedRanges,
        abstract: Betting | None,
        player: int,
        choices: int = CHOICES,
        network: ValueNetwork | None = None,
    ) -> None:
        self.choices, self.network = choices, network
        self.blueprint, self.reached, self.player, self.o = blueprint, reached, player, 1 - player
        game, street = reached.game, STREETS[reached.betting.street]
        self.street = grow_street(game, reached.betting)
        held = [reach * (reached.weight(p) > 0) for p, reach in enumerate(reached.reach)]
        kept = [each * (each > FAINT * each.max()) for each in held]
        held_by = tuple(np.packbits(each > 0).tobytes() for each in kept)
        self.tree = _street_tree(game.deck, tuple(reached.board), street, held_by)
        self.known = _known(blueprint, tuple(reached.board), held_by, player, choices)
        self.hands = self.tree.units[0].hands
        self.reach = [kept[p][self.hands[p]][None] for p in (0, 1)]
        rolled = self.street.leaves if network is None else ()
        hand = FollowedBetting(reached.betting, abstract)
        self.below = [self._below(hand, leaf) for leaf in rolled]
        """What follows each leaf in the blueprint, where there are rollouts."""

    def plan(self, limits: Limits) -> StreetPlan:
        """The solution within the limits."""
        began = time.perf_counter()
        until = None if limits.seconds is None else began + ROLLING * limits.seconds
        leaves, boards = self._leaves(until)
        on = StreetEngine(engine(self.tree), self.street, leaves)
        solving = Run(self.tree, parse(SCHEDULE), on=on, reach=(self.reach[0], self.reach[1]))
        left = None
        if limits.seconds is not None:
            left = max(limits.seconds - (time.perf_counter() - began), 1e-3)
        drive(solving, Limits(limits.iterations, left), measured=False)
        rows = planned(self.street, on, solving.played(), self._by_hand)
        return StreetPlan(rows, boards, solving.iteration)

    def _by_hand(self, p: int, rows: Floats) -> Floats:
        """[hand of the deck, action] from [hand, action]; hands left out play uniformly."""
        found = np.full((self.reached.game.deck.num_hands, rows.shape[1]), 1 / rows.shape[1])
        found[self.hands[p]] = rows
        return found

    # Values at the limit -------------------------------------------------------------------------
    def _leaves(self, until: float | None) -> tuple[RolloutLeaves, int]:
        """The values at the leaves, and the number of boards, which are looked at until a time."""
        o, deck = self.o, self.reached.game.deck
        kept = [np.unique(self.blueprint.cards.of(self.reached.board)[h]) for h in self.hands]
        bucket = [
            np.searchsorted(kept[p], self.blueprint.cards.of(self.reached.board)[self.hands[p]])
            for p in (0, 1)
        ]
        ahead, final = None, BOARD_CARDS[self.reached.game.rules.last_street]
        every = self.street.leaves
        shown = {
            l: float(leaf.at_stake)
            for l, leaf in enumerate(every)
            if leaf.is_over or (self.network is None and self.below[l][0] is None)
        }
        if shown and final - len(self.reached.board) <= 2:
            exact = mean_ahead(tuple(sorted(self.reached.board)), final, deck)
            ahead = exact[np.ix_(self.hands[o], self.hands[1 - o])]
        left = [l for l in range(len(every)) if ahead is None or l not in shown]
        values: Singles = np.zeros(
            (self.choices, len(every), len(kept[o]), len(kept[1 - o])), np.float32
        )
        boards = 0
        if self.network is None:
            boards = self._rolled_into(values, left, bucket, until)
        elif left:
            asked, held = [every[l] for l in left], (kept[o], kept[1 - o])
            found = self.network.values(self.reached.board, asked, o, held)
            values[:, left] = found[: self.choices]
        leaves = RolloutLeaves(
            values, o, (self.hands[0], self.hands[1]), (bucket[0], bucket[1]), deck, shown, ahead
        )
        return leaves, boards

    def _rolled_into(
        self, values: Singles, leaves: list[int], bucket: Sequence[Ints], until: float | None
    ) -> int:
        """Fill in some leaves of `values` [k, leaf, b, c]; gives the number of boards."""
        keys = [(below, chips.tobytes()) for below, chips in self.below]
        known = self.known if until is None else {}  # within a limit of time boards differ
        left = [l for l in leaves if keys[l] not in known]
        found, boards = self._rolled(left, bucket, until)
        known.update({keys[l]: each for l, each in zip(left, found, strict=True)})
        for l in leaves:
            values[:, l] = known[keys[l]]
        return boards

    def _rolled(
        self, left: Sequence[int], bucket: Sequence[Ints], until: float | None
    ) -> tuple[list[Singles], int]:
        """[k, b, c] values of some leaves, and the number of boards."""
        o, deck, count, boards = self.o, self.reached.game.deck, np.zeros((1, 1), np.float32), 0
        total = [np.zeros((1, 1, 1), np.float32) for _ in left]
        for board in self._runouts() if left else ():
            if until is not None and boards >= FEWEST and time.perf_counter() > until:
                break
            if until is None and boards >= BOARDS:
                break
            free, ranks = deck.compatible(board), rank_hands(board, deck)
            kinds = [self._kinds(board, ranks, hands) for hands in self.hands]
            mine, yours = (
                _counted(bucket[p], kinds[p][1], free[self.hands[p]]) for p in (o, 1 - o)
            )  # [bucket, kind] hands
            seen = _Seen(board, (kinds[0][0], kinds[1][0]), ranks)
            for n, l in enumerate(left):
                total[n] = total[n] + mine @ (self._paid(l, seen) @ yours.T)
            count = count + np.outer(mine.sum(1), yours.sum(1))
            boards += 1
        least = np.maximum(count, 1)
        values: list[Singles] = [(each / least).astype(np.float32) for each in total]
        return values, boards if left else BOARDS

    def _kinds(self, board: tuple[int, ...], ranks: NDArray[np.int16], hands: Ints) -> _Kinds:
        """Hands that play and win alike on a board: one hand of each kind, [hand] the kind."""
        key = ranks[hands].astype(np.int64)
        for cards in range(len(self.reached.board) + 1, len(board) + 1):
            buckets = self.blueprint.cards.of(board[:cards])[hands]
            key = key * (int(buckets.max()) + 2) + buckets + 1
        _, first, kind = np.unique(key, return_index=True, return_inverse=True)
        return hands[first], kind

    def _runouts(self) -> Iterator[tuple[int, ...]]:
        """Whole boards: every next card comes before any comes again."""
        deck, board, random = self.reached.game.deck, self.reached.board, Random(0)
        final = BOARD_CARDS[self.reached.game.rules.last_street]
        left = [card for card in range(deck.size) if card not in board]
        for _ in range(deck.size):
            for card in random.sample(left, len(left)):
                others = random.sample([c for c in left if c != card], final - len(board) - 1)
                yield (*board, card, *others)

    def _paid(self, leaf: int, seen: _Seen) -> Singles:
        """[k, kind, kind] what the opponent wins on a board, by continuation."""
        o, p, (below, chips) = self.o, self.player, self.below[leaf]
        ranks = [seen.ranks[hands] for hands in seen.hands]
        ahead = np.sign(ranks[o][:, None] - ranks[p]).astype(np.float32)
        if below is None:  # all-in, or nothing the blueprint knows: both check
            return np.repeat(chips * ahead[None], self.choices, axis=0)
        theirs = below.reach(o, self.choices, seen.board, seen.hands[o])
        ours = below.reach(p, 1, seen.board, seen.hands[p])[0] * chips
        return cast(Singles, by_pair(theirs, ours, below.folds, ahead))

    # What follows a leaf ---------------------------------------------------------------------
    def _below(self, hand: FollowedBetting, leaf: Betting) -> tuple[Below | None, Singles]:
        """What follows a leaf in the blueprint, and [z] what the opponent wins there in real chips.

        None if all are all-in or the blueprint knows nothing; then at a showdown.
        """
        there = next(iter(hand.standing_for(leaf, self.blueprint.actions, DETERMINISTIC)), None)
        first = None if there is None else self.blueprint.find(there)
        if first is None or there is None:
            return None, np.array([leaf.at_stake], np.float32)
        below, most = what_follows(self.blueprint, first), float(min(leaf.rules.stacks))
        chips = np.clip(below.chips(self.o) * (float(leaf.pot) / float(there.pot)), -most, most)
        return below, chips.astype(np.float32)
