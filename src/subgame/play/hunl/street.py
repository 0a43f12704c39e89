"""One street of whole hold'em, solved to a depth limit at its end.

Brown, Sandholm & Amos 2018, Sec. 4 and 6. At the end of the street the opponent chooses among
continuations. What they win there comes from an evaluator of leaves, by the buckets that a
blueprint has on the street: from rollouts (`subgame.play.hunl.rollouts`), from a network
(`subgame.play.hunl.flop_network`), or from your own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.arrays import as_numpy, normalise
from subgame.engines.factory import engine
from subgame.engines.numba.street_kernels import contiguous, paid, shown, summed
from subgame.engines.numba.strengths import mean_ahead
from subgame.engines.street import StreetEngine
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.spots import endgame
from subgame.play.hunl.laid import Laid, warm
from subgame.refine.accept import SHARES, best_mixture
from subgame.refine.limit import LeafEvaluator
from subgame.refine.live import MINIMUM, Rows
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run, drive
from subgame.tree.public_tree import both
from subgame.tree.ranges.betting_tree import Street, grow_street
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
FAINT = 5e-3
"""Hands below this share of the likeliest one are left out."""
EVALUATING = 0.5
"""The least share of the time for values at the limit; the rest is for solving."""
CONVERGED = 100
"""Iterations after which a street is solved better than its values are known: by 64 of them to
within half a percent of the pot. Further ones take time in which nothing is gained."""
KEPT, SOLVING = 40, 1 / 3
"""While more boards are looked at, time is kept for so many iterations, and for more of them up to
this share of the time. The values of few boards are not worth more iterations."""
SCHEDULE = "dcfr"
COMPARING = len(SHARES) + 2
"""Iterations in whose time a solution is compared with the blueprint."""
FEWEST = 2
"""Boards of rollouts below which a solution that ran out of time is not used."""


@dataclass(frozen=True)
class StreetPlan:
    """A street solved to its end: both players' strategies, by betting history."""

    rows: dict[tuple[str, ...], Rows]
    boards: int
    """Boards of which values at the limit are the mean; 0 where they are by a network."""
    iterations: int
    rejected: str = ""
    """Why the solution is not used: what the blueprint does instead is not worse."""
    share: float = 1.0
    """Of the solution in what is played; the rest is the blueprint."""
    to_end: bool = False
    """Whether the rest of the hand was solved, without a depth limit."""


def planned(
    street: Street,
    on: StreetEngine,
    played: Sequence[Any],
    by_hand: Callable[[Betting, tuple[str, ...], Floats], Floats],
) -> dict[tuple[str, ...], Rows]:
    """Both players' strategies by betting history, from [action, slot] as an engine has them.

    ``by_hand(state, actions, rows)`` makes [hand of the deck, action] of [slot, action].
    """
    rows: dict[tuple[str, ...], Rows] = {}
    for p in (0, 1):
        sigma, past = np.asarray(played[p]), on.sides[p].roots
        for state, first, names in zip(
            street.states[p], street.first[p], street.actions[p], strict=True
        ):
            here = sigma[first - past : first - past + len(names)]
            rows[state.history] = Rows(names, by_hand(state, names, here.T))
    return rows


@lru_cache(maxsize=4)
def _street_tree(
    deck: Deck, board: tuple[int, ...], street: str, held: tuple[bytes, ...]
) -> RangeTree:
    """The hands of a street, by the bits of those that each player may hold."""
    bits = [np.unpackbits(np.frombuffer(row, np.uint8), count=deck.num_hands) for row in held]
    ranges = [Range(row.astype(np.float64), deck) for row in bits]
    spot = endgame(board, 2, 1, ranges, "all: none", deck=deck, last=street)
    return compile_range_tree(spot, merge=False)


@dataclass(frozen=True, eq=False)
class LimitedStreet:
    """A street that is to be solved to its end for `player`. Axis: h = hand that may be held.

    The bets are those of `reached.game`. `abstract` is the blueprint's betting that stands for the
    real one.
    """

    blueprint: StoredBlueprint
    reached: ReachedRanges
    abstract: Betting | None
    player: int

    @property
    def opponent(self) -> int:
        return 1 - self.player

    @property
    def hand(self) -> FollowedBetting:
        """The betting as it is followed in the blueprint."""
        return FollowedBetting(self.reached.betting, self.abstract)

    @cached_property
    def street(self) -> Street:
        """The betting of the street."""
        return grow_street(self.reached.game, self.reached.betting)

    @cached_property
    def likely(self) -> tuple[Floats, Floats]:
        """[hand of the deck] both players' reach, 0 for hands that are left out."""

        def kept(p: int) -> Floats:
            held = self.reached.reach[p] * (self.reached.weight(p) > 0)
            likely: Floats = held * (held > FAINT * held.max())
            return likely

        return both(kept)

    @cached_property
    def held(self) -> tuple[bytes, bytes]:
        """The bits of the hands that both players may hold."""
        return both(lambda p: np.packbits(self.likely[p] > 0).tobytes())

    @cached_property
    def tree(self) -> RangeTree:
        """The hands of the street."""
        board, street = tuple(self.reached.board), STREETS[self.reached.betting.street]
        return _street_tree(self.reached.game.deck, board, street, self.held)

    @cached_property
    def hands(self) -> tuple[Ints, Ints]:
        """[h] which hands of the deck each player may hold."""
        return both(lambda p: self.tree.units[0].hands[p])

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """[1, h] each player's reach."""
        return both(lambda p: self.likely[p][self.hands[p]][None])

    @cached_property
    def buckets(self) -> tuple[Ints, Ints]:
        """The blueprint's buckets that each player's hands have here, ascending."""
        return both(lambda p: np.unique(self._buckets(p)))

    @cached_property
    def bucket_of(self) -> tuple[Ints, Ints]:
        """[h] the position of each player's hand in `buckets`."""
        return both(lambda p: np.searchsorted(self.buckets[p], self._buckets(p)))

    def _buckets(self, p: int) -> NDArray[np.int16]:
        return self.blueprint.cards.of(self.reached.board)[self.hands[p]]

    @property
    def final(self) -> int:
        """How many cards a whole board has."""
        return BOARD_CARDS[self.reached.game.rules.last_street]

    @property
    def shows_exactly(self) -> bool:
        """Whether few enough cards are to come that a showdown is looked at on all boards."""
        return self.final - len(self.reached.board) <= 2

    @cached_property
    def ahead(self) -> Singles:
        """[opponent's hand, ours] how often it wins minus loses on all boards to come."""
        board, deck = tuple(sorted(self.reached.board)), self.reached.game.deck
        won = mean_ahead(board, self.final, deck)
        return won[np.ix_(self.hands[self.opponent], self.hands[self.player])]

    @cached_property
    def laid(self) -> Laid:
        """What the blueprint does on the street."""
        return Laid(self.blueprint, self.hand)

    def by_hand(self, state: Betting, actions: tuple[str, ...], rows: Floats) -> Floats:
        """[hand of the deck, action] from [h, action]; hands left out play the blueprint."""
        out = self.laid.rows(state, actions, self.reached.board)
        out[self.hands[state.player]] = rows
        return out


class BucketValues(NamedTuple):
    """Values of leaves. Axes: k = continuation, b and c = buckets of the opponent and of us."""

    values: Singles  # [k, leaf, b, c] what the opponent wins, in chips
    boards: int = 0
    """Boards of which they are the mean; 0 where there are none."""
    unknown: frozenset[int] = frozenset()
    """Leaves without values, by their place: both players check there until the showdown."""


class StreetEnd(NamedTuple):
    """Leaves at the end of a street whose values are asked for."""

    at: LimitedStreet
    leaves: Sequence[int]
    """Which of ``at.street.leaves`` they are."""
    until: float | None = None
    """The time by which values should be there, as `now` has it."""
    now: Callable[[], float] = time.perf_counter


StreetEvaluator = LeafEvaluator[StreetEnd, BucketValues]
"""Values at the end of a street by the buckets of `LimitedStreet.buckets`, [k, leaf, b, c]."""


@dataclass(frozen=True, eq=False)
class BucketLeaves:
    """Values at the leaves of a street, by the blueprint's buckets; see `engines.street.Leaves`.

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
        """What player `p` wins at the leaves; see `engines.street.Leaves.won`."""
        reach = contiguous(reach)
        by_card, by_bucket = self._sums(1 - p, reach)
        total = by_bucket.sum(2)
        held = by_bucket / np.maximum(total, 1e-100)[..., None]
        held = held.astype(np.float32)  # as the table, which is not converted then
        if p == self.opponent:
            won = (self.values @ held.transpose(1, 0, 2)[..., None])[..., 0]
        else:
            won = -(held.transpose(1, 0, 2)[:, :, None] @ self.values)[:, :, 0]
        choices = len(self.values) if p == self.opponent else 1
        out = np.empty((len(reach), choices, len(self.hands[p])))
        paid(won, total, by_card, self._cards[p], self.buckets[p], self._same[p], reach, out)
        if self._shown is not None:
            leaves, chips, tables = self._shown
            entered = reach[leaves].sum(1).astype(np.float32)
            meets = np.empty((len(leaves), len(self.hands[p])), np.float32)
            shown(entered, tables[p], meets)
            out[leaves] = (chips[:, None] * meets)[:, None]
        return out

    @cached_property
    def _shown(self) -> tuple[Ints, Floats, tuple[Singles, Singles]] | None:
        """Leaves that are shown, their chips, and by player [other's hand, hand] who is ahead."""
        if self.ahead is None:
            return None
        wins, loses = np.ascontiguousarray(self.ahead.T), np.negative(self.ahead)
        tables = both(lambda p: wins if p == self.opponent else loses)
        return np.array(list(self.shown)), np.array(list(self.shown.values())), tables

    @cached_property
    def _same(self) -> tuple[Ints, Ints]:
        """[hand] by player, the number of the hand among the other player's; -1 if it has none."""

        def numbers(p: int) -> Ints:
            of = np.full(self.deck.num_hands, -1, np.int64)
            of[self.hands[1 - p]] = np.arange(len(self.hands[1 - p]))
            return of[self.hands[p]]

        return both(numbers)

    def _sums(self, p: int, reach: Floats) -> tuple[Floats, Floats]:
        """[leaf, k, card] and [leaf, k, bucket] the sums of player `p`'s reach [leaf, k, hand]."""
        buckets = self.values.shape[2 if p == self.opponent else 3]
        by_card = np.empty((*reach.shape[:2], self.deck.size))
        by_bucket = np.empty((*reach.shape[:2], buckets))
        rows = len(reach) * reach.shape[1]
        flat = (array.reshape(rows, -1) for array in (by_card, by_bucket))
        summed(reach.reshape(rows, -1), self._cards[p], self.buckets[p], *flat)
        return by_card, by_bucket

    @cached_property
    def _cards(self) -> tuple[Ints, Ints]:
        """[2, hand] the cards of each player's hands."""
        return both(lambda p: np.ascontiguousarray(self.deck.hands[self.hands[p]].T))


@dataclass(frozen=True, eq=False)
class SolvedStreet:
    """A street solved to its end.

    `played` [own action, h] are both players' strategies, `laid` what the blueprint plays there.
    """

    at: LimitedStreet
    on: StreetEngine
    laid: tuple[Floats, Floats]
    played: tuple[Any, ...]
    boards: int
    iterations: int
    stopped: str

    @cached_property
    def by_history(self) -> dict[tuple[str, ...], Rows]:
        """Both players' strategies by betting history."""
        return planned(self.at.street, self.on, self.played, self.at.by_hand)

    def rows(self, betting: Betting) -> Rows:
        """What the player to act does with every hand of the deck."""
        return self.by_history[betting.history]

    def values(self, betting: Betting) -> Floats:
        """[hand of the deck, action] what each action wins, in chips; nan for hands left out.

        Both players go on by the solution.
        """
        at, on, p, o = self.at, self.on, betting.player, 1 - betting.player
        theirs = on.descend(o, self.played[o], on.array(at.reach[o]))
        values = on.row_values(p, theirs, self.played[p])
        j = [state.history for state in at.street.states[p]].index(betting.history)
        first, actions = at.street.first[p][j], at.street.actions[p][j]
        met = as_numpy(on.opposing(p, on.array(self._reach(o, betting)[None])))[0]
        here = as_numpy(values)[first : first + len(actions)]
        out = np.full((at.reached.game.deck.num_hands, len(actions)), np.nan)
        out[at.hands[p]] = normalise(here, met[None]).T
        return out

    def _reach(self, p: int, betting: Betting) -> Floats:
        """[h] a player's reach of a betting of the street."""
        root = self.at.reached.betting
        reach: Floats = self.at.reach[p][0].copy()
        here = root
        for action in betting.history[len(root.history) :]:
            if here.player == p:
                rows = self.rows(here)
                reach *= rows.probabilities[self.at.hands[p], rows.actions.index(action)]
            here = here.child(action)
        return reach


def street_solved(
    at: LimitedStreet,
    evaluator: StreetEvaluator,
    limits: Limits,
    now: Callable[[], float] = time.perf_counter,
) -> SolvedStreet:
    """Solve a street to its end.

    `EVALUATING` of the time goes into values there, and more if less is needed for iterations (see
    `KEPT`). Nothing is solved if there was time for the values of a few boards only.
    """
    began = now()

    def values(until: float | None) -> tuple[StreetEngine, int]:
        leaves, boards = evaluated(at, evaluator, until, now)
        return StreetEngine(engine(at.tree), at.street, leaves), boards

    def start(on: StreetEngine, laid: tuple[Floats, Floats]) -> Run:
        run = Run(at.tree, parse(SCHEDULE), on=on, reach=at.reach)
        run.cfr.begin_with(warm(on, laid, at.reach, float(at.reached.betting.pot)))
        return run

    until = None if limits.seconds is None else began + EVALUATING * limits.seconds
    on, boards = values(until)
    laid = at.laid.over_street(at.street, on, at.reached.board, at.hands)
    run = start(on, laid)
    if limits.seconds is None or until is None:
        stop = limits
    else:
        run.advance(1)  # the first iteration takes longer than others, so it says nothing of them
        before, most = now(), CONVERGED if limits.iterations is None else limits.iterations
        run.advance(1)
        pace, end = now() - before, began + limits.seconds
        most = min(most, CONVERGED)
        kept = min(most, max(KEPT, int(SOLVING * (end - now()) / pace))) + COMPARING
        left = end - kept * pace
        if boards and left > max(until, now()):
            on, boards = values(left)
            run = start(on, laid)
        if 0 < boards < FEWEST:
            why = f"values of {boards} boards are too few"
            return SolvedStreet(at, on, laid, (), boards, 0, why)
        stop = Limits(most, max(limits.seconds - (now() - began), 1e-3))
    stopped = drive(run, stop, measured=False, now=now, reserve=COMPARING)
    return SolvedStreet(at, on, laid, run.played(), boards, run.iteration, stopped)


def solve_street(
    at: LimitedStreet,
    evaluator: StreetEvaluator,
    limits: Limits,
    now: Callable[[], float] = time.perf_counter,
) -> StreetPlan:
    """Solve a street to its end, as `street_solved` does.

    A solution is rejected if it ran out of time too soon. Of others as much is played as loses
    least, see `mixture`.
    """
    solved = street_solved(at, evaluator, limits, now)
    count, boards = solved.iterations, solved.boards
    if not solved.played:
        return StreetPlan({}, boards, 0, solved.stopped)
    rejected, share = too_little(solved.stopped, count), 1.0
    if not rejected:
        played, share = mixture(solved.on, at.player, at.reach, solved.played, solved.laid)
        solved = replace(solved, played=played)
        rejected = "" if share else f"after {count:,} iterations it loses more than the blueprint"
    return StreetPlan(solved.by_history, boards, count, rejected, share)


def too_little(stopped: str, iterations: int) -> str:
    """Why a solve is not to be used that ran out of time; empty if it had enough."""
    if stopped != "seconds" or iterations >= MINIMUM:
        return ""
    return f"{iterations} iterations are too few"


def mixture(
    on: StreetEngine, p: int, reach: Sequence[Floats], solved: Sequence[Any], laid: Sequence[Any]
) -> tuple[tuple[Any, Any], float]:
    """Both players' strategies with as much of player `p`'s solution as loses least, and how much.

    The rest is the blueprint as it is `laid` over the street. It counts what a best response wins
    with the opponent's range (`subgame.refine.accept`).
    """
    past = on.sides[p].roots
    new, old = (on.descend(p, np.asarray(s[p]), reach[p])[past:] for s in (solved, laid))

    def loses(sigma: Any) -> float:
        return float((on.respond(1 - p, on.plan(p, sigma, reach[p])).roots * reach[1 - p]).sum())

    best = best_mixture(
        lambda share: solved[p] if share == 1 else on.behaviour(p, share * new + (1 - share) * old),
        loses,
        loses(laid[p]),
    )
    sigma, share = best or (solved[p], 0.0)
    return ((sigma, solved[1]) if p == 0 else (solved[0], sigma)), share


def evaluated(
    at: LimitedStreet,
    evaluator: StreetEvaluator,
    until: float | None = None,
    now: Callable[[], float] = time.perf_counter,
) -> tuple[BucketLeaves, int]:
    """The values at the leaves, and the number of boards of which they are the mean.

    A showdown without more bets pays exactly what it wins on all boards to come, if at most two
    cards are.
    """
    o, deck, every, exact = at.opponent, at.reached.game.deck, at.street.leaves, at.shows_exactly
    left = [l for l, leaf in enumerate(every) if not (exact and leaf.is_over)]
    shown = {l for l in range(len(every)) if l not in left}
    if shown:
        _ = at.ahead  # before the clock of the evaluator has run down
    result = evaluator(StreetEnd(at, left, until, now))
    shape = len(result.values), len(every), len(at.buckets[o]), len(at.buckets[1 - o])
    values: Singles = np.zeros(shape, np.float32)
    values[:, left] = result.values
    if exact:
        shown |= {left[n] for n in result.unknown}
    chips = {l: float(every[l].at_stake) for l in sorted(shown)}
    ahead = at.ahead if shown else None
    leaves = BucketLeaves(values, o, at.hands, at.bucket_of, deck, chips, ahead)
    return leaves, result.boards
