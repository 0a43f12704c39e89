"""The CPU engine of hold'em trees: the operations of `engines.contract` with Numba kernels."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.contract import Both, Floats, Mode, Numbers, Pair, Regrets, Response
from subgame.engines.numba.native import Kernel, Packed
from subgame.engines.numba.range_loop import RangeLoop
from subgame.engines.numba.range_scratch import (
    NOBODY,
    OPPOSING,
    OWN,
    PLAIN,
    STILL,
    Int16Numbers,
    Precision,
    Rows,
    Scratch,
    Workers,
    evaluation_form,
    match_form,
    none_like,
    numbers_of,
    reach_form,
    readable,
    sweep_form,
    zeros,
)
from subgame.engines.rounding import RESOLUTION, dithered
from subgame.errors import SubgameError, did_you_mean
from subgame.memory import Allowance, cores
from subgame.tree.public_tree import Reals, both
from subgame.tree.ranges.betting_tree import LANES, Street
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.stage import stage_tree
from subgame.tree.ranges.tree import RangeTree

Ints = NDArray[np.int64]
SHARE, ALONE = 50_000, 500_000
"""Actions times hands, over all boards, that a thread must have to do, and the same on a single
board, whose threads wait for one another several times in an iteration: two of them lose with
96,000 each and gain with 598,000 (docs/results/two-threads.json)."""
SMALL = 1 << 24
"""Bytes that are always there; to ask the system takes a tenth of a small river's solve."""
LOCKED = 1e30
"""Regrets of locked hands, times probabilities: whatever is learnt later is lost to rounding."""
RUN_SWEEP = Kernel("range_kernels", "run_sweep")
RUN_MATCH, RUN_REACH, RUN_OPPOSING = (
    Kernel("range_rows", name) for name in ("run_match", "run_reach", "run_opposing")
)
STORAGES = ("float32", "int16")
"""Storage of regrets and averages: four bytes per number, or a little over two."""


class _Plan(NamedTuple):
    """A strategy with its reach at the roots."""

    sigma: Numbers
    reach: Floats  # [root, infoset]


class _Views(NamedTuple):
    """Parts of a workspace: the numbers at the roots of a single board."""

    reach: tuple[Reals, Reals]  # [p][root, place]
    paid: Reals  # [root, place] the traverser's values after a sweep


class NumbaRangeEngine(EngineBase):
    """CPU kernels bound to one hold'em tree; see `contract.Engine` and `contract.RangeEngine`.

    Roots are the betting roots of the first street, on each of its boards. With a single board, the
    infosets are the tree's root infosets; with several, they are the hands of each board in its
    order. Sweeps use float32 and evaluation float64; arrays at the roots are float64 in both.
    """

    fused = True

    def __init__(
        self, tree: RangeTree, threads: int | None = None, storage: str = "float32"
    ) -> None:
        if storage not in STORAGES:
            raise did_you_mean("storage on the CPU", str(storage), STORAGES)
        self.tree, self.storage, self.resolution = tree, storage, RESOLUTION[storage]
        levels = np.arange(len(tree.streets) + 1)
        self.first: Ints = np.searchsorted(tree.boards.street, levels)  # [street + 1] into boards
        self.ways, self.many = len(tree.streets[0].roots), int(self.first[1])
        self.places = [tree.units[0].held(p)[1] for p in (0, 1)]  # [infoset] of a single board
        self.stand = [np.unique(places, return_index=True)[1] for places in self.places]
        self.size = tree.stored(0) + tree.stored(1)
        self._spare: dict[int, Numbers] = {}  # memory for each player's next probabilities
        self._asked = threads
        share = ALONE if len(tree.boards.street) == 1 else SHARE
        threads = threads or min(cores(), max(1, self.size // share))
        self.workers = Workers(tree, threads)
        self._seen: dict[Precision, _Views] = {}
        self._entered: dict[tuple[Precision, int], Floats] = {}  # of a single board

    @property
    def threads(self) -> int:
        """The number of threads in use."""
        return self.workers.threads

    def set_threads(self, threads: int) -> None:
        """Use that many threads from now on."""
        self._asked = threads
        if threads != self.threads:
            self.workers.close()
            self.workers = Workers(self.tree, threads)
            self._seen, self._entered = {}, {}

    # The roots -------------------------------------------------------------------------------
    @cached_property
    def _held(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """[board, infoset] for each player: whether it is one of that board's hands."""
        hands = self.tree.boards.hands[: 2 * self.many].reshape(-1, 2)
        return both(lambda p: np.arange(int(hands[:, p].max())) < hands[:, p, None])

    def write_reach(self, dtype: Precision, p: int, reach: Floats) -> None:
        """Copy player `p`'s reach [root, infoset] into the workspace, if it is not there yet.

        The array must not be changed afterwards.
        """
        if self.many == 1:
            if self._entered.get((dtype, p)) is not reach:
                self._views(dtype).reach[p][:] = reach.take(self.stand[p], axis=1)
                self._entered[dtype, p] = reach
            return
        top, entered = self.workers.workspace(dtype).top, reach.reshape(self.ways, self.many, -1)
        into = self._at_roots(top, top.way, int(top.way_at[p]))
        into[:, :, : entered.shape[2]] = entered.transpose(1, 0, 2)
        into[:, :, entered.shape[2] :] = 0

    def _views(self, dtype: Precision) -> _Views:
        """The numbers at the roots of a single board."""
        if dtype not in self._seen:
            top = self.workers.workspace(dtype).top
            reach = both(
                lambda p: self._at_roots(top, top.way, int(top.way_at[p]))[
                    0, :, : len(self.stand[p])
                ]
            )
            paid = self._at_roots(top, top.result, int(top.result_at[0]))[0]
            self._seen[dtype] = _Views(reach, paid)
        return self._seen[dtype]

    def _at_roots(self, top: Scratch, numbers: Reals, at: int) -> Reals:
        """[board, betting root, place] numbers of a workspace at the roots, from `at` on."""
        wide = int(top.wide[0])
        return numbers[at : at + self.many * self.ways * wide].reshape(self.many, self.ways, wide)

    def _paid(self, dtype: Precision, p: int) -> Floats:
        """[root, infoset] player `p`'s values at the roots after the last sweep."""
        if self.many == 1:
            paid = self._views(dtype).paid.take(self.places[p], axis=1)
            out: Floats = paid.astype(np.float64, copy=False)
            return out / self.tree.deals
        top = self.workers.workspace(dtype).top
        paid, held = self._at_roots(top, top.result, int(top.result_at[0])), self._held[p]
        values = np.where(held[:, None], paid[:, :, : held.shape[1]], 0).astype(np.float64)
        return values.transpose(1, 0, 2).reshape(self.ways * self.many, -1) / self.tree.deals

    def run(self, kind: tuple[int, int, int], pair: Pair, rates: Floats) -> None:
        """One sweep of `kind` (traverser, mode, whose average is updated) after `write_reach`."""
        (one, mine), (two, theirs) = numbers_of(pair[0]), numbers_of(pair[1])
        items = (*kind, *mine, *theirs, rates)
        self.workers.run(np.float32, RUN_SWEEP, sweep_form(one, two), items)

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`; an error if there is no memory for them."""
        number = 2 + 4 / LANES if self.storage == "int16" else 4
        need = (3 if predictive else 2) * number * self.tree.stored(p)
        if need > SMALL:
            Allowance.of().refuse(f"{self.tree.game_name}: solving it for one player", need)
        return Regrets(self._zeros(p), self._zeros(p), self._zeros(p) if predictive else None)

    def _zeros(self, p: int) -> Numbers:
        size = self.tree.stored(p)
        return Int16Numbers(size) if self.storage == "int16" else zeros(size, np.float32)

    def recycle(self, p: int, regrets: Regrets) -> None:
        """Have the next probabilities of player `p` overwrite the regrets."""
        if self.storage == "float32":
            self._spare[p] = regrets.regret

    def roots(self, p: int) -> Floats:
        """[root, infoset] the tree's reach of player `p`; 1 for all hands of several boards."""
        return self._roots[p].copy()

    @cached_property
    def _roots(self) -> tuple[Floats, Floats]:
        reach = self._held if self.many > 1 else [side.reach for side in self.tree.players]
        return both(lambda p: np.tile(np.asarray(reach[p], np.float64), (self.ways, 1)))

    def rates(self, discounts: Floats, begin: int) -> Floats:
        """[t, 10] discounts, the number of earlier iterations, and what kernels apply."""
        return dithered(discounts, begin, self.storage)

    def sweep(self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both) -> Floats:
        """One traversal for player `p`; returns the values [root, infoset]."""
        self.hold(pair if p == 0 else pair[::-1])
        for q in (0, 1):
            self.write_reach(np.float32, q, reach[q].copy())
        learns = mode in (Mode.LEARN, Mode.RESPOND) and pair[0].average is not None
        self.run((p, int(mode), OWN if learns else NOBODY), pair, np.stack(rates))
        return self._paid(np.float32, p)

    def loop(self, pair: Pair, reach: Both | None, alternating: bool, responder: int) -> RangeLoop:
        """Iterations on the arrays of `pair`."""
        entered = self._roots if reach is None else both(lambda p: reach[p].copy())
        return RangeLoop(self, pair, entered, (alternating, responder))

    def hold(self, pair: Pair) -> bool:
        """Set the regrets of locked hands; whether there are any."""
        if not self.tree.has_locks:
            return False
        for lock, numbers in zip(self.tree.locks, pair, strict=True):
            if lock is not None:
                lock.put(numbers.regret, LOCKED)
                if numbers.instant is not None:
                    lock.put(numbers.instant, 0)
        return True

    @property
    def can_check(self) -> bool:
        """Whether a `RangeLoop` can measure the averages: one first board and one betting root."""
        return self.many == self.ways == 1

    @cached_property
    def checked(self) -> tuple[Floats, Packed]:
        """[2] where kernels write a check, and what they take for one."""
        won = np.zeros(2)
        return won, Packed((self._place_reach, won, PLAIN))

    @cached_property
    def _place_reach(self) -> tuple[Floats, Floats]:
        """[place] for each player: the reach of the hands there, which multiplies its value."""
        reach, deals = self._roots, self.tree.deals
        return both(lambda p: np.bincount(self.places[p], reach[p][0]) / deals)

    def current(self, p: int, regrets: Regrets, rates: Floats) -> NDArray[np.float32]:
        """The probabilities that regret matching plays, ``[board][tile][action][LANES]``."""
        (form, player), now = numbers_of(regrets), rates[None]
        out = self._spare.pop(p) if p in self._spare else zeros(self.tree.stored(p), np.float32)
        self.workers.run(np.float32, RUN_MATCH, match_form(form), (p, *player, now, out))
        lock = self.tree.locks[p]
        return out if lock is None else lock.put(out)

    def behaviour(self, p: int, average: Numbers) -> NDArray[np.float32]:
        """The probabilities of an average; uniform where it is zero."""
        return self.current(p, Regrets(readable(average), None, None), STILL[0])

    def weights(self, p: int, average: Numbers) -> Numbers:
        """The average itself: kernels play in proportion to it."""
        return average

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Numbers, reach: Floats | None = None) -> _Plan:
        """A strategy with its reach at the roots, by default the tree's."""
        entered = self._roots[p] if reach is None else np.array(reach, ndmin=2)
        return _Plan(readable(sigma), entered)

    def values(self, p: int, sigma: Numbers, opponent_plan: _Plan) -> Response:
        """Player `p`'s values when playing `sigma`."""
        return self._evaluated(p, sigma, opponent_plan)

    def respond(self, p: int, opponent_plan: _Plan) -> Response:
        """Player `p`'s counterfactual best response; hands that are locked play as they must."""
        return self._evaluated(p, None, opponent_plan)

    def responses(self, probs: tuple[Numbers, Numbers]) -> tuple[float, float]:
        """[p] what the opponent's best response to player p's probabilities wins."""
        if not self.can_check:
            return super().responses(probs)

        def wins(p: int) -> float:
            self._evaluate(1 - p, None, self.plan(p, probs[p]))
            reach = self._place_reach[1 - p]
            return float(np.dot(self._views(np.float64).paid[0, : len(reach)], reach))

        return both(wins)

    def _evaluated(
        self, p: int, sigma: Numbers | None, against: _Plan, rows: Rows | None = None
    ) -> Response:
        """Player `p`'s values at the roots after `_evaluate`."""
        self._evaluate(p, sigma, against, rows)
        return Response(self._paid(np.float64, p))

    def _evaluate(
        self, p: int, sigma: Numbers | None, against: _Plan, rows: Rows | None = None
    ) -> None:
        """One sweep in float64; without `sigma` the best action is taken where none is locked."""
        mode, lock = Mode.EVALUATE, self.tree.locks[p]
        if sigma is not None:
            mine = readable(sigma)
        elif lock is None:
            mode, mine = Mode.BEST, none_like(against.sigma)
        else:
            mode, mine = Mode.WITHIN, lock.put(np.zeros(self.tree.stored(p), np.float32))
        self.write_reach(np.float64, 1 - p, against.reach)
        one, me = numbers_of(Regrets(mine, None, None))
        two, opponent = numbers_of(Regrets(against.sigma, None, None))
        form = evaluation_form(p, int(mode), one, two)
        self.workers.run(np.float64, RUN_SWEEP, form, (*me, *opponent), rows)

    # Single streets --------------------------------------------------------------------------
    def stage(self, streets: list[Street]) -> NumbaRangeEngine:
        """An engine for the boards of the last ``len(streets)`` streets, with other betting."""
        return NumbaRangeEngine(stage_tree(self.tree, streets), self._asked, self.storage)

    def row_reach(self, p: int, sigma: Numbers, reach: Floats) -> list[Floats]:
        """Per street [row, board, hand]: player `p`'s reach."""
        self._check_plain()
        form, player = numbers_of(Regrets(readable(sigma), None, None))
        f = self.tree.betting_tree
        above = np.asarray(reach, dtype=np.float64).reshape(self.ways, self.many, -1)
        reached: list[Floats] = []
        for street in range(len(self.tree.streets)):
            sp, first, wide = 2 * street + p, int(self.first[street]), self._wide(p, street)
            size = (int(f.rows[sp]), int(self.first[street + 1]) - first, padded(wide))
            out = np.zeros(size)
            out[: f.roots[street], :, :wide] = self.enter(p, above, street)
            items = (p, street, first, *player, STILL, out)
            self.workers.run(np.float64, RUN_REACH, reach_form(form), items)
            reached.append(out[:, :, :wide])
            above = reached[-1][f.leaf_row[f.leaf_at[sp] : f.leaf_at[sp + 1]]]
        return reached

    def row_values(
        self, p: int, opponent_sigma: Numbers, reach: Floats, sigma: Numbers | None = None
    ) -> list[Floats]:
        """Per street [row, board, hand]: player `p`'s value of each row; see `contract`."""
        self._check_plain()
        top = self.workers.workspace(np.float64).top
        boards = np.diff(self.first)
        shapes = list(zip(self.tree.betting_tree.rows[p::2], boards, top.wide, strict=True))
        sizes = [int(np.prod(shape)) for shape in shapes]
        at = np.cumsum([0, *sizes])
        rows = Rows(np.zeros(int(at[-1])), at[:-1])
        against = self.plan(1 - p, opponent_sigma, reach)
        self._evaluated(p, sigma, against, rows=rows)
        rows.rows[:] /= self.tree.deals
        return [
            rows.rows[at[s] : at[s + 1]].reshape(shape)[:, :, : self._wide(p, s)]
            for s, shape in enumerate(shapes)
        ]

    def first_street(self, p: int, sigma: Numbers | None, opponent_plan: _Plan) -> Floats:
        """[row, infoset] player `p`'s value of each row of the first street, when playing `sigma`.

        None is a best response. The tree must have one first board. Its hands may be merged.
        """
        wide = int(self.workers.workspace(np.float64).top.wide[0])
        count, at = self.tree.streets[0].rows[p], np.full(len(self.tree.streets), -1)
        at[0] = 0
        rows = Rows(np.zeros(count * wide), at)
        self._evaluated(p, sigma, opponent_plan, rows=rows)
        values: Floats = rows.rows.reshape(count, wide)[:, self.places[p]] / self.tree.deals
        return values

    def enter(self, p: int, above: Floats, street: int) -> Floats:
        """[root, board, hand] on a street, from [leaf, board, hand] on the street before."""
        self._check_plain()
        if street == 0:
            return np.array(above, dtype=np.float64)
        place = self._above(p, street)
        out: Floats = np.asarray(above, dtype=np.float64).reshape(len(above), -1)[:, place]
        out *= place >= 0
        return out

    def rise(self, p: int, values: Floats, street: int) -> Floats:
        """[leaf, board, hand] on the street before, from [root, board, hand] on a street."""
        self._check_plain()
        b, (up, first, last) = self.tree.boards, self.first[street - 1 : street + 2]
        place, wide = self._above(p, street), self._wide(p, street - 1)
        real = place >= 0
        paid = np.asarray(values, dtype=np.float64) * b.weight[first:last, None]
        size = int(first - up) * wide
        out: Floats = np.stack(
            [
                np.bincount(place[real], values[real], size).astype(np.float64)
                for values in paid[:, :, : place.shape[1]]
            ]
        ).reshape(len(paid), -1, wide)
        for u in range(int(up), int(first)):  # hands that suits exchange have the mean of theirs
            at, many = int(b.orbit_at[2 * u + p]), int(b.orbits[2 * u + p])
            for orbit in range(at, at + many):
                hands = b.orbit_hand[b.orbit_start[orbit] : b.orbit_start[orbit + 1]]
                out[:, u - up, hands] = out[:, u - up, hands].mean(1, keepdims=True)
        return out

    def opposing(self, p: int, reach: Floats, street: int) -> Floats:
        """[k, board, hand] the opponent's reach possible with each of player `p`'s hands."""
        self._check_plain()
        first, many = int(self.first[street]), self._wide(p, street)
        opponent = np.ascontiguousarray(reach, dtype=np.float64)
        out = np.zeros((*opponent.shape[:2], many))
        tall = padded(max(self._wide(q, street) for q in (0, 1))) + LANES
        sizes = (tall, tall, self.tree.num_cards)
        space = tuple(np.zeros((self.threads, size * LANES)) for size in sizes)
        self.workers.run(np.float64, RUN_OPPOSING, OPPOSING, (p, first, opponent, out, *space))
        out /= self.tree.deals
        return out

    def _wide(self, p: int, street: int) -> int:
        """The most hands that player `p` can hold on a board of a street."""
        first, last = self.first[street : street + 2]
        return int(self.tree.boards.hands[2 * first + p : 2 * last : 2].max())

    def _above(self, p: int, street: int) -> Ints:
        """[board, hand] ``board * widest + place`` on the parent board; -1: padding."""
        b, (up, first, last) = self.tree.boards, self.first[street - 1 : street + 2]
        parent = np.repeat(np.arange(first - up), np.diff(b.child_at[up : first + 1]))
        hands, at = (table[2 * first + p : 2 * last : 2, None] for table in (b.hands, b.hand_at))
        h = np.arange(self._wide(p, street))
        places = b.above.take(np.minimum(at + h, len(b.above) - 1)).astype(np.int64)
        places += (parent * self._wide(p, street - 1))[:, None]
        return np.where(h < hands, places, -1)

    def _check_plain(self) -> None:
        if self.tree.merged:
            raise SubgameError(
                "Hands are merged by suit symmetry in this tree, so single streets cannot be "
                "evaluated; compile the game with merge=False."
            )
