"""The CPU engine of hold'em trees: the operations of `engines.contract`, on whole ranges."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Floats, Mode, Numbers, Regrets, Response
from subgame.engines.numba.int16 import Int16Numbers
from subgame.errors import SubgameError, did_you_mean
from subgame.tree.ranges.betting_tree import LANES, Street
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.stage import stage_tree
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from subgame.engines.numba.range_scratch import Rows

Ints = NDArray[np.int64]
_NONE: NDArray[np.float32] = np.zeros(1, dtype=np.float32)
_STILL: Floats = np.ones((2, 4))
"""Rates that leave everything as it is."""
ALONE = 100_000
"""Actions times hands below which one thread is as fast as several."""
SHARE = 8_000
"""Actions times hands that a thread is worth waking for, also where more threads are asked for."""
STORAGES = ("float32", "int16")
"""What regrets and averages can be kept in: four bytes each, or two and a little."""


class _Plan(NamedTuple):
    """A strategy with its reach at the roots."""

    sigma: Numbers
    reach: Floats  # [root, infoset]


class NumbaRangeEngine:
    """CPU kernels bound to one hold'em tree; see `contract.Engine` and `contract.RangeEngine`.

    Roots are the ways into the first street, on each of its boards. The infosets of a single board
    are the tree's root infosets; those of several boards are the hands of each, in its own order.
    Sweeps are made in float32, evaluation in float64; arrays at the roots are float64 in both.
    """

    fused: bool = True

    def __init__(
        self, tree: RangeTree, threads: int | None = None, storage: str = "float32"
    ) -> None:
        from subgame.engines.numba import range_kernels, range_rows, range_scratch

        if storage not in STORAGES:
            raise did_you_mean("storage on the CPU", str(storage), STORAGES)
        self.tree, self.storage = tree, storage
        self.kernels, self.row_kernels, self.scratch = range_kernels, range_rows, range_scratch
        self.betting_tree, self.boards = tuple(tree.betting_tree), tuple(tree.boards)
        levels = np.arange(len(tree.streets) + 1)
        self.first: Ints = np.searchsorted(tree.boards.street, levels)  # [street + 1] into boards
        self.ways, self.many = len(tree.streets[0].roots), int(self.first[1])
        self.places = [tree.units[0].held(p)[1] for p in (0, 1)]  # [infoset] of a single board
        self.stand = [np.unique(places, return_index=True)[1] for places in self.places]
        self.size = tree.stored(0) + tree.stored(1)
        self._asked = threads
        threads = threads or (1 if self.size < ALONE else os.cpu_count() or 1)
        self._workers = range_scratch.Workers(tree, self._worth(threads))

    @property
    def threads(self) -> int:
        return self._workers.threads

    def set_threads(self, threads: int) -> None:
        """Use that many threads from now on, if there is work for them."""
        self._asked = threads
        threads = self._worth(threads)
        if threads != self.threads:
            self._workers.close()
            self._workers = self.scratch.Workers(self.tree, threads)

    def _worth(self, threads: int) -> int:
        return min(threads, max(1, self.size // SHARE))

    # The roots -------------------------------------------------------------------------------
    @cached_property
    def _held(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """[board, infoset] for each player: whether it is one of that board's hands."""
        hands = self.tree.boards.hands[: 2 * self.many].reshape(-1, 2)
        one, two = (np.arange(int(hands[:, p].max())) < hands[:, p, None] for p in (0, 1))
        return one, two

    def _enter(self, dtype: Any, p: int, reach: Floats) -> None:
        """Bring player `p`'s reach [root, infoset] to where kernels read it."""
        top = self._workers.room(dtype).top
        at, wide = int(top.way_at[p]), int(top.wide[0])
        into = top.way[at : at + self.many * self.ways * wide].reshape(self.many, self.ways, wide)
        given = np.asarray(reach).reshape(self.ways, self.many, -1)
        if self.many == 1:
            given = given[:, :, self.stand[p]]
        into[:, :, : given.shape[2]] = given.transpose(1, 0, 2)
        into[:, :, given.shape[2] :] = 0

    def _paid(self, dtype: Any, p: int) -> Floats:
        """[root, infoset] what the last sweep gave player `p` at the roots."""
        top = self._workers.room(dtype).top
        at, wide = int(top.result_at[0]), int(top.wide[0])
        paid = top.result[at : at + self.many * self.ways * wide]
        paid = paid.reshape(self.many, self.ways, wide)
        if self.many == 1:
            out: Floats = paid[0][:, self.places[p]].astype(np.float64) / self.tree.deals
            return out
        held = self._held[p]
        found = np.where(held[:, None], paid[:, :, : held.shape[1]], 0).astype(np.float64)
        return found.transpose(1, 0, 2).reshape(self.ways * self.many, -1) / self.tree.deals

    def _run(
        self,
        dtype: Any,
        kind: tuple[int, int, int],
        minds: tuple[Regrets, Regrets],
        rates: Floats,
        rows: Rows | None = None,
    ) -> None:
        """One sweep of `kind` (traverser, mode, whose average is kept), from what was entered."""
        both, counted = (_mind(minds[0]), _mind(minds[1])), rates + _COUNTED

        def call(me: int, threads: int, team: Any, top: Any, own: Any) -> None:
            self.kernels.run_sweep(
                self.betting_tree, self.boards, kind, both, counted, me, threads, team, top, own
            )

        self._workers.run(dtype, call, rows)

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`."""
        one, two = self._zeros(p), self._zeros(p)
        return Regrets(one, two, self._zeros(p) if predictive else None)

    def _zeros(self, p: int) -> Numbers:
        size = self.tree.stored(p)
        return Int16Numbers(size) if self.storage == "int16" else np.zeros(size, np.float32)

    def snapshot(self, regrets: Regrets) -> Regrets:
        """A copy of what is played now; it keeps no average."""
        instant = None if regrets.instant is None else regrets.instant.copy()
        return Regrets(regrets.regret.copy(), None, instant)

    def roots(self, p: int) -> Floats:
        """[root, infoset] the tree's reach of player `p`; 1 for every hand of several boards."""
        reach = self.tree.players[p].reach if self.many == 1 else self._held[p]
        return np.tile(np.asarray(reach, dtype=np.float64), (self.ways, 1))

    def array(self, values: Floats) -> Floats:
        """A copy in float64."""
        return np.array(values, dtype=np.float64)

    def rates(self, discounts: Floats, begin: int) -> Floats:
        """[t, 4] discounts, and how many iterations were before."""
        before = np.arange(begin - 1, begin - 1 + len(discounts), dtype=np.float64)
        return np.column_stack([discounts, before])

    def sweep(
        self,
        p: int,
        mode: Mode,
        mine: Regrets,
        theirs: Regrets,
        rates: Floats,
        ahead: Floats,
        reach: tuple[Floats, Floats],
    ) -> Floats:
        """One traversal for player `p`; gives the values [root, infoset]."""
        for q in (0, 1):
            self._enter(np.float32, q, reach[q])
        learns = mode in (Mode.LEARN, Mode.RESPOND) and mine.average is not None
        keep = self.kernels.OWN if learns else self.kernels.NOBODY
        self._run(np.float32, (p, int(mode), keep), (mine, theirs), np.stack([rates, ahead]))
        return self._paid(np.float32, p)

    def iterate(
        self,
        pair: tuple[Regrets, Regrets],
        discounts: Floats,
        reach: tuple[Floats, Floats],
        *,
        alternating: bool,
        responder: int,
        begin: int,
    ) -> None:
        """``len(discounts) - 1`` iterations, the first of which is number `begin`.

        A player's average is added to while the opponent's sweep walks down, so that nobody walks
        twice (see `range_kernels.keeping`).
        """
        if len(discounts) < 2:
            return
        rates, kernels = self.rates(discounts, begin), self.kernels
        for p in (0, 1):
            self._enter(np.float32, p, reach[p])
        if responder == 1:  # answers player 0's first strategy before it is played
            kind = (1, int(Mode.RESPOND), kernels.NOBODY)
            self._run(np.float32, kind, (pair[1], pair[0]), rates[[0, 0]])
        if not alternating:
            for t in range(len(discounts) - 1):
                self._together(pair, rates[[t, t]], responder)
            return
        both, counted = (_mind(pair[0]), _mind(pair[1])), rates + _COUNTED

        def call(me: int, threads: int, team: Any, top: Any, own: Any) -> None:
            kernels.run_iterations(
                self.betting_tree,
                self.boards,
                both,
                counted,
                responder,
                me,
                threads,
                team,
                top,
                own,
            )

        self._workers.run(np.float32, call)

    def _together(self, pair: tuple[Regrets, Regrets], rates: Floats, responder: int) -> None:
        """One iteration of simultaneous updates: both answer what the other played before it."""
        before = self.snapshot(pair[0])._replace(average=pair[0].average)
        for p, theirs in enumerate((pair[1], before)):
            mode = Mode.RESPOND if responder == p else Mode.LEARN
            kind = (p, int(mode), self.kernels.THEIRS)
            self._run(np.float32, kind, (pair[p], theirs), rates)

    def repeat(self, turn: Callable[[Floats], None], rates: Floats, key: object) -> None:
        """``turn(rates[t : t + 2])`` for every t but the last."""
        for t in range(len(rates) - 1):
            turn(rates[t : t + 2])

    def sample(self, *args: Any) -> NoReturn:
        """Refused: whole ranges are cheap enough."""
        raise SubgameError("Hold'em trees are solved without sampling; choose another schedule.")

    def current(self, p: int, regrets: Regrets, rates: Floats) -> NDArray[np.float32]:
        """The probabilities that regret matching plays now, ``[unit][tile][action][LANES]``."""
        mind, out = _mind(regrets), np.zeros(self.tree.stored(p), np.float32)

        def call(me: int, threads: int, *scratch: Any) -> None:
            self.row_kernels.run_match(
                self.betting_tree, self.boards, p, mind, rates, out, me, threads
            )

        self._workers.run(np.float32, call)
        return out

    def behaviour(self, p: int, average: Numbers) -> NDArray[np.float32]:
        """The probabilities of an average; uniform where the player never came."""
        return self.current(p, Regrets(_weights(average), None, None), _STILL[0])

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Numbers, reach: Floats | None = None) -> _Plan:
        """A strategy with its reach at the roots, by default the tree's own."""
        return _Plan(_weights(sigma), self.roots(p) if reach is None else np.atleast_2d(reach))

    def values(self, p: int, sigma: Numbers, opponent_plan: _Plan) -> Response:
        """Player `p`'s values when playing `sigma`."""
        return self._evaluated(p, Mode.EVALUATE, _weights(sigma), opponent_plan)

    def respond(self, p: int, opponent_plan: _Plan) -> Response:
        """Player `p`'s counterfactual best response."""
        return self._evaluated(p, Mode.BEST, _none_like(opponent_plan.sigma), opponent_plan)

    def _evaluated(
        self, p: int, mode: Mode, sigma: Numbers, against: _Plan, rows: Rows | None = None
    ) -> Response:
        """One sweep in float64."""
        self._enter(np.float64, 1 - p, against.reach)
        minds = (Regrets(sigma, None, None), Regrets(against.sigma, None, None))
        self._run(np.float64, (p, int(mode), self.kernels.NOBODY), minds, _STILL, rows)
        return Response(self._paid(np.float64, p))

    # The inside of a street ------------------------------------------------------------------
    def stage(self, streets: list[Street]) -> NumbaRangeEngine:
        """The same boards with other betting: those of the last ``len(streets)`` streets."""
        return NumbaRangeEngine(stage_tree(self.tree, streets), self._asked, self.storage)

    def row_reach(self, p: int, sigma: Numbers, reach: Floats) -> list[Floats]:
        """Per street [row, board, hand]: player `p`'s reach."""
        self._check_plain()
        mind, f = _mind(Regrets(_weights(sigma), None, None)), self.tree.betting_tree
        above = np.asarray(reach, dtype=np.float64).reshape(self.ways, self.many, -1)
        found: list[Floats] = []
        for street in range(len(self.tree.streets)):
            sp, first, wide = 2 * street + p, int(self.first[street]), self._wide(p, street)
            size = (int(f.rows[sp]), int(self.first[street + 1]) - first, padded(wide))
            out = np.zeros(size)
            out[: f.roots[street], :, :wide] = self.enter(p, above, street)
            self._descend(p, street, mind, out)
            found.append(out[:, :, :wide])
            above = found[-1][f.leaf_row[f.leaf_at[sp] : f.leaf_at[sp + 1]]]
        return found

    def _descend(self, p: int, street: int, mind: tuple[Any, ...], out: Floats) -> None:
        """Fill in the reach [row, board, place] of every own action of a street."""
        first = int(self.first[street])

        def call(me: int, threads: int, team: Any, top: Any, own: Any) -> None:
            self.row_kernels.run_reach(
                self.betting_tree, self.boards, p, street, first, mind, out, me, threads, own
            )

        self._workers.run(np.float64, call)

    def row_values(
        self, p: int, opponent_sigma: Numbers, reach: Floats, sigma: Numbers | None = None
    ) -> list[Floats]:
        """Per street [row, board, hand]: player `p`'s value of each row, by `sigma` or at best."""
        self._check_plain()
        top = self._workers.room(np.float64).top
        boards = np.diff(self.first)
        shapes = list(zip(self.tree.betting_tree.rows[p::2], boards, top.wide, strict=True))
        sizes = [int(np.prod(shape)) for shape in shapes]
        at = np.cumsum([0, *sizes])
        rows = self.scratch.Rows(np.zeros(int(at[-1])), at[:-1])
        against = self.plan(1 - p, opponent_sigma, reach)
        if sigma is None:
            self._evaluated(p, Mode.BEST, _none_like(against.sigma), against, rows)
        else:
            self._evaluated(p, Mode.EVALUATE, _weights(sigma), against, rows)
        rows.rows[:] /= self.tree.deals
        return [
            rows.rows[at[s] : at[s + 1]].reshape(shape)[:, :, : self._wide(p, s)]
            for s, shape in enumerate(shapes)
        ]

    def enter(self, p: int, above: Floats, street: int) -> Floats:
        """[way, board, hand] on a street, from [way, board, hand] at the ways out above it."""
        self._check_plain()
        if street == 0:
            return np.array(above, dtype=np.float64)
        place = self._above(p, street)
        out: Floats = np.asarray(above, dtype=np.float64).reshape(len(above), -1)[:, place]
        out *= place >= 0
        return out

    def rise(self, p: int, values: Floats, street: int) -> Floats:
        """[leaf, board, hand] at the ways out above a street, from [way, board, hand] on it."""
        self._check_plain()
        b, (up, first, last) = self.tree.boards, self.first[street - 1 : street + 2]
        place, wide = self._above(p, street), self._wide(p, street - 1)
        real = place >= 0
        paid = np.asarray(values, dtype=np.float64) * b.weight[first:last, None]
        size = int(first - up) * wide
        out: Floats = np.stack(
            [
                np.bincount(place[real], each[real], size).astype(np.float64)
                for each in paid[:, :, : place.shape[1]]
            ]
        ).reshape(len(paid), -1, wide)
        for u in range(int(up), int(first)):  # hands that suits exchange have the mean of theirs
            at, many = int(b.orbit_at[2 * u + p]), int(b.orbits[2 * u + p])
            for orbit in range(at, at + many):
                hands = b.orbit_hand[b.orbit_start[orbit] : b.orbit_start[orbit + 1]]
                out[:, u - up, hands] = out[:, u - up, hands].mean(1, keepdims=True)
        return out

    def opposing(self, p: int, reach: Floats, street: int) -> Floats:
        """[k, board, hand] the reach of the opponent's hands beside each of player `p`'s."""
        self._check_plain()
        first, many = int(self.first[street]), self._wide(p, street)
        given = np.ascontiguousarray(reach, dtype=np.float64)
        out = np.zeros((*given.shape[:2], many))
        tall = padded(max(self._wide(q, street) for q in (0, 1))) + LANES

        def call(me: int, threads: int, *scratch: Any) -> None:
            work = tuple(np.zeros(n * LANES) for n in (tall, tall, self.tree.num_cards))
            self.row_kernels.run_opposing(self.boards, p, first, given, out, me, threads, work)

        self._workers.run(np.float64, call)
        out /= self.tree.deals
        return out

    def _wide(self, p: int, street: int) -> int:
        """The most hands that player `p` can hold on a board of a street."""
        first, last = self.first[street : street + 2]
        return int(self.tree.boards.hands[2 * first + p : 2 * last : 2].max())

    def _above(self, p: int, street: int) -> Ints:
        """[board, hand] its place on the street above, ``board * widest + place``; -1: no hand."""
        b, (up, first, last) = self.tree.boards, self.first[street - 1 : street + 2]
        parent = np.repeat(np.arange(first - up), np.diff(b.child_at[up : first + 1]))
        hands, at = (each[2 * first + p : 2 * last : 2, None] for each in (b.hands, b.hand_at))
        h = np.arange(self._wide(p, street))
        found = b.above.take(np.minimum(at + h, len(b.above) - 1)).astype(np.int64)
        found += (parent * self._wide(p, street - 1))[:, None]
        return np.where(h < hands, found, -1)

    def _check_plain(self) -> None:
        if self.tree.merged:
            raise SubgameError(
                "Hands that differ only in suits are one in this tree, so its streets cannot be "
                "looked into; compile it with merge=False."
            )


_COUNTED: Floats = np.array([0.0, 0.0, 0.0, 1.0])
"""Kernels count iterations from 1."""


def _mind(regrets: Regrets) -> tuple[Any, ...]:
    """A `range_tiles.PlayerNumbers`, plain."""
    none = _none_like(regrets.regret)
    flags = np.array([each is not None for each in regrets[1:]], dtype=np.int64)
    given = [none if each is None else each for each in regrets]
    numbers = [each.ints if isinstance(each, Int16Numbers) else each for each in given]
    scales = [each.scales if isinstance(each, Int16Numbers) else _NONE for each in given]
    return *numbers, flags, *scales


def _weights(numbers: Numbers) -> Numbers:
    """Numbers as kernels read them."""
    return numbers if isinstance(numbers, Int16Numbers) else np.asarray(numbers, dtype=np.float32)


def _none_like(numbers: Numbers) -> Numbers:
    """None of a kind: kernels are compiled for kinds."""
    return Int16Numbers(1) if isinstance(numbers, Int16Numbers) else _NONE
