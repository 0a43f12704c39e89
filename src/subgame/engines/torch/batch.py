"""`RangeBatch`: the engine of many hold'em subgames, on all boards of a street at once.

A hold'em tree has one root on one board. A batch has the boards of one street side by side and any
number of ways into it on each: all subgames of a game, solved together. Its roots are
``[way * boards + board, hand]``; regrets, averages and strategies are `Blocks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.contract import Array, Both, Mode, Numbers, Pair, Regrets, Response
from subgame.engines.devices import check_storage
from subgame.engines.rounding import RESOLUTION, dithered
from subgame.engines.torch import storage as keeping
from subgame.engines.torch.blocks import Behaviour, Blocks, from_numpy, matched
from subgame.engines.torch.buckets import BucketOps, Shares, counted, seat
from subgame.engines.torch.cuda_graph import RecordedGraph
from subgame.engines.torch.held import HeldHands
from subgame.engines.torch.layout import Level, betting
from subgame.engines.torch.memory import MemoryEstimate, Needs, Placement
from subgame.engines.torch.offload import OffloadedBlock, Offloader
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import Block, Storage
from subgame.engines.torch.torch_ops import Place, RowOps, StreetNumbers, TorchOps
from subgame.engines.torch.traversal import Sweep, Traversals
from subgame.memory import parse_bytes
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.merging import Unmerged
from subgame.tree.ranges.stage import stage_tree
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
Tensor = Any
SCRATCH = 4 << 30
"""Bytes that one street's lanes and values may take before its boards are cut into slices."""
SEEDS = 1 << 24
"""Iterations whose number float32 holds: what chance draws from, see `storage`."""


class Plan(NamedTuple):
    """A strategy with its reach at the roots."""

    sigma: Numbers
    reach: Array  # [root, infoset] NumPy's or PyTorch's


class RangeBatch(EngineBase, Traversals):
    """Kernels on a device bound to the betting and the boards of some streets.

    It implements `subgame.engines.contract.RangeEngine`. The loop of `subgame.solve.cfr.Cfr` runs
    above it, recorded as a CUDA graph by `repeat`.
    """

    unmerged: Unmerged | None = None
    """Where hands of the tree are merged by suit symmetry: the same tree with every hand."""

    def __init__(
        self,
        tree: RangeTree,
        levels: list[Level],
        places: list[Place],
        ops: Any,
        needs: Needs,
        *,
        boards: int = 0,
        limit: float | None = None,
        offloader: Offloader | None = None,
        buckets: Buckets | None = None,
    ) -> None:
        super().__init__(levels, places, ops, needs, boards, offloader or Offloader(ops.device))
        self.tree, self.limit, self.resolution = tree, limit, RESOLUTION[needs.storage]
        self._spare: Regrets | None = None
        self._recorded: RecordedGraph | None = None
        self.held: dict[int, HeldHands] = {}
        """By player, where hands are locked."""
        self.shares: dict[tuple[int, int], Shares] = {}
        """By street and player, where hands share buckets."""
        if buckets is not None:
            self.shares = seat(buckets, levels, places, self.device)
            self.ops = BucketOps(ops, needs.scratch)

    def stage(
        self,
        streets: list[Street],
        *,
        storage: Storage | None = None,
        placement: Placement | None = None,
        memory_limit: str | float | None = None,
        buckets: Buckets | None = None,
        units: slice | None = None,
    ) -> RangeBatch:
        """The same boards with other betting: below any roots, down to the last street.

        Regrets are stored as here, or as `storage` says; `placement` and `memory_limit` are those
        of `TorchRangeEngine`, and by default what they are here. Hands share `buckets` only where
        they are given again. The last street alone may have only some of its boards, `units`;
        iterations are then not recorded, for several such batches would keep much memory.
        """
        check_storage(storage or self.storage)
        top = len(self.levels) - len(streets)
        before, cut = self.places[top:], self.levels[top:]
        if units is not None:
            cut, before = [cut[0].some(units)], [before[0].some(units)]
        tree = stage_tree(self.unmerged.tree if self.unmerged else self.tree, streets, units)
        starts, street_of = tree.boards.store_at.reshape(-1, 2), tree.boards.street
        levels = [
            replace(level, bets=betting(street)).stored_at(*starts[street_of == s].T)
            for s, (level, street) in enumerate(zip(cut, streets, strict=True))
        ]
        places = [
            place._replace(level=level, units=slice(0, level.units))
            for level, place in zip(levels, before, strict=True)
        ]
        one, two = places[0].tables
        mine = one._replace(above=self._own(one.above))
        yours = mine if two is one else two._replace(above=self._own(two.above))
        places[0] = places[0]._replace(tables=(mine, yours))
        limit = self.limit if memory_limit is None else parse_bytes(memory_limit)
        needs = replace(
            self.needs,
            frames=[level.frame for level in levels],
            storage=storage or self.storage,
            buckets=counted(buckets, len(levels)),
            graphs=self.needs.graphs and units is None,
        )
        if placement is None and self.boards and not needs.stays:
            placement = "host"
        there = sum(frame.tables for frame in needs.frames)  # made already
        free = room(self.device, there) if limit is None else limit
        plan = needs.plan(placement, free, "This batch of subgames", self.device)
        return RangeBatch(
            tree,
            levels,
            places,
            self.ops.inner if isinstance(self.ops, BucketOps) else self.ops,
            needs,
            boards=plan.boards,
            limit=limit,
            offloader=self.offloader,
            buckets=buckets,
        )

    def _own(self, above: Tensor) -> Tensor:
        """[u, h] every hand's own place: a first street has no other above it."""
        here = self.torch.arange(above.numel(), dtype=above.dtype, device=self.device)
        return self.torch.where(above >= 0, here.view(above.shape), -1)

    # Roots -----------------------------------------------------------------------------------
    def inside(self, p: int, reach: Tensor) -> Tensor:
        """[way, board, hand] from player `p`'s ``[root, infoset]``."""
        level = self.levels[0]
        return reach.reshape(level.bets[p].roots, level.units, -1).contiguous()

    def _outside(self, p: int, values: Tensor) -> Tensor:
        """[root, infoset] values in units of the whole game, from ``[way, board, hand]``."""
        return values.flatten(0, 1) / self.tree.deals

    def roots(self, p: int) -> Tensor:
        """[root, infoset] reach 1 with every hand: a batch has no reach of its own."""
        real = (self.places[0].tables[p].above >= 0).to(self.torch.float32)
        return real.repeat(self.levels[0].bets[p].roots, 1)

    def array(self, values: Array) -> Tensor:
        """[root, infoset] numbers on the device, in float32: a copy."""
        return self.tensor(values, self.torch.float32).clone()

    def tensor(self, values: Array, dtype: torch.dtype) -> Tensor:
        """NumPy's or PyTorch's numbers on the device."""
        return self.torch.as_tensor(values).to(self.device, dtype)

    # Regrets ---------------------------------------------------------------------------------
    @property
    def placement(self) -> Placement:
        """Where regrets and averages of the last street are kept."""
        return "host" if self.boards else "device"

    def stored(self, p: int) -> int:
        """Numbers of player `p` in the layout of `Strategy`."""
        return self.tree.stored(p)

    def blank(self, p: int, kind: Storage | None = None, *, bucketed: bool = True) -> Blocks:
        """Zeros, in this engine's storage or another; in its buckets, unless all is wanted."""
        kind, made = kind or self.storage, list[Block]()
        for s, (frame, level) in enumerate(zip(self.frames, self.levels, strict=True)):
            shape = (frame.bets[p].edges, frame.units, frame.wide[p])
            if bucketed and (s, p) in self.shares:
                made.append(self.shares[s, p].blank())
            elif self.boards and level.last:
                made.append(OffloadedBlock(kind, shape, self.boards, self.device))
            else:
                made.append(keeping.blank(kind, shape, self.device))
        return Blocks(self, p, made)

    def regrets(self, p: int, *, predictive: bool = False, bucketed: bool = True) -> Regrets:
        """Zeros for player `p`; without buckets, if it is not `bucketed`."""
        one, two = (self.blank(p, bucketed=bucketed) for _ in range(2))
        return Regrets(one, two, self.blank(p, bucketed=bucketed) if predictive else None)

    def snapshot(self, regrets: Regrets) -> Regrets:
        """A copy of what is played now. From the host always to the same place: pinning is slow."""
        spare, played = self._spare, regrets._replace(average=None)
        if spare is None or [*map(_kinds, spare)] != [*map(_kinds, played)]:
            spare = Regrets(*(None if part is None else part.clone() for part in played))
            self._spare = spare if self.boards else None
            return spare
        for copied, part in zip(spare, played, strict=True):
            if part is not None:
                copied.copy_(part)
        return spare

    def estimate(self, *, predictive: bool = False, alternating: bool = True) -> MemoryEstimate:
        """Bytes that solving and evaluating take on the device and the host, tables included."""
        return self.needs.estimate(
            self.placement, self.boards, predictive=predictive, alternating=alternating
        )

    # Learning -----------------------------------------------------------------------------------
    def sweep(self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both) -> Tensor:
        """One traversal for player `p`; see `subgame.engines.contract.Engine.sweep`.

        Where hands share buckets, they are weighed as the last `prepare` said.
        """
        mine, theirs = pair
        for player, held in self.held.items():
            if mode == Mode.LEARN:
                held.hold(mine if player == p else theirs)
        keeps = mode != Mode.BEST and mine.average is not None
        own = self.inside(p, reach[p]) if keeps else None
        other = self.inside(1 - p, reach[1 - p])
        job = Sweep(p, Mode(mode), mine, theirs, *rates, own, other)
        learns = mode == Mode.LEARN and own is not None and theirs.average is not None
        if learns and self.is_new(job):
            # The opponent learns next, and then both averages are measured: all of these kernels
            # are compiled at the same time.
            self.rehearse(
                job,
                Sweep(1 - p, job.mode, theirs, mine, *rates, other, own),
                self._evaluation(p, None, theirs.average, reach[1 - p]),
                self._evaluation(1 - p, None, mine.average, reach[p]),
            )
        return self._outside(p, self.traverse(job))

    def prepare(self, reach: tuple[Tensor, Tensor], entering: int = -1) -> None:
        """Weigh the hands that share a bucket by their reach; `Cfr` calls it before it advances.

        A bucket's regret is the sum over its hands, each by its weight in the range. The player who
        is `entering` through a gadget chooses that weight: these hands count alike.
        """
        for (_, p), shares in self.shares.items():
            shares.weigh(None if p == entering else self.inside(p, reach[p]))

    def rates(self, discounts: Floats, begin: int) -> Tensor:
        """[t, 10] in float32 discounts, the number of iterations before each, below 2^24, and what
        kernels apply; see `engines.rounding.dithered`."""
        table = dithered(discounts, begin, self.storage).copy()
        table[:, 3] %= SEEDS
        return self.torch.from_numpy(table.astype(np.float32)).to(self.device)

    def repeat(self, turn: Callable[[Tensor], None], rates: Tensor, key: object) -> None:
        """``turn(rates[t : t + 2])`` for every t but the last; as a CUDA graph where that is on.

        A turn that is recorded must work on the device alone, on arrays that stay where they are.
        """
        once = turn
        if self.needs.graphs and not self.boards:
            if self._recorded is None or not self._recorded.belongs_to(key):
                self._recorded = None  # gives its memory back first
                self._recorded = RecordedGraph(key, rates[:2].clone())
            recorded = self._recorded

            def once(now: Tensor) -> None:
                recorded.run(turn, now)

        super().repeat(once, rates, key)
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)  # whoever times it sees what it took

    def release(self) -> None:
        """Give back the memory of a recorded iteration; the next one is recorded again."""
        self._recorded = None
        if self.device.type == "cuda":
            self.torch.cuda.empty_cache()

    # Strategies ------------------------------------------------------------------------------
    def current(self, p: int, regrets: Regrets, rates: Tensor) -> Blocks:
        """The strategy that regret matching plays now, as probabilities in float32."""
        return matched(self, p, regrets.regret.weights, regrets.instant, rates)

    def behaviour(self, p: int, average: Numbers | None) -> Blocks:
        """The behaviour strategy of an average, as probabilities; a view of the average."""
        return Behaviour(self.blocks(p, average))

    def host(self, sigma: Numbers, streets: int | None = None) -> Any:
        """A strategy in the layout of `Strategy`, with zeros after some `streets`."""
        return sigma.numpy(streets) if isinstance(sigma, Blocks) else np.asarray(sigma)

    def blocks(self, p: int, sigma: Numbers) -> Blocks:
        """What kernels are given of a strategy: `Blocks`, which they play in proportion to.

        `sigma` is NumPy's, in the layout of `Strategy`, or on the device already.
        """
        return sigma.weights if isinstance(sigma, Blocks) else from_numpy(self, p, sigma)

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Numbers, reach: Array = None) -> Plan:
        """A strategy with its reach [root, infoset] at the roots, by default the tree's own."""
        return Plan(sigma, self.roots(p) if reach is None else reach)

    def values(self, p: int, sigma: Numbers, opponent_plan: Plan) -> Response:
        """Player `p`'s values when playing `sigma`, in float64."""
        return Response(self.evaluate(p, sigma, *opponent_plan).cpu().numpy())

    def respond(self, p: int, opponent_plan: Plan) -> Response:
        """Player `p`'s counterfactual best response, in float64; locked hands play as they must."""
        return Response(self.evaluate(p, None, *opponent_plan).cpu().numpy())

    def evaluate(self, p: int, sigma: Numbers | None, theirs: Numbers, reach: Array) -> Tensor:
        """[root, infoset] what player `p` gets by `sigma`, or at best, on the device in float64.

        `reach` is the opponent's at the roots. At best, locked hands play as they must.
        """
        return self._outside(p, self.traverse(self._evaluation(p, sigma, theirs, reach)))

    def _evaluation(self, p: int, sigma: Numbers | None, theirs: Numbers, reach: Array) -> Sweep:
        mode = Mode.BEST if sigma is None else Mode.EVALUATE
        mine = None if sigma is None else self.blocks(p, sigma)
        if sigma is None and p in self.held:  # locked hands play as they must
            mode, mine = Mode.WITHIN, self.blank(p, "float32")
            self.held[p].put(mine.blocks)
        played = Regrets(mine, None, None), Regrets(self.blocks(1 - p, theirs), None, None)
        other = self.inside(1 - p, self.tensor(reach, self.torch.float64))
        return Sweep(p, mode, *played, self._still, self._still, None, other)

    @cached_property
    def _still(self) -> Tensor:
        """Rates without any discount, in float64."""
        return self.rates(np.ones((1, 3)), 1)[0].to(self.torch.float64)

    # Inside ----------------------------------------------------------------------------------
    def row_reach(self, p: int, sigma: Numbers, reach: Array) -> list[Tensor]:
        """Per street [row, board, hand]: player `p`'s reach, from [root, infoset] at the roots."""
        plain, out, blocks = TorchOps(self.device), [], self.blocks(p, sigma).blocks
        entry = self.inside(p, self.tensor(reach, self.torch.float64))
        for place, block in zip(self.places, blocks, strict=True):
            bet, numbers = place.level.bets[p], StreetNumbers(block)
            out.append(plain.reach(bet, numbers, self._still, plain.enter(place, p, entry))[0])
            entry = out[-1][bet.leaves]
        return out

    def row_values(
        self, p: int, opponent_sigma: Numbers, reach: Array, sigma: Numbers | None = None
    ) -> list[Tensor]:
        """Per street [row, board, hand]: player `p`'s value of each row, by `sigma` or at best.

        At best, locked hands play as they must. `reach` is the opponent's, ``[root, infoset]``.
        """
        ops = RowOps(self.device)
        self.traverse_by(ops, self._evaluation(p, sigma, opponent_sigma, reach))
        return [self.torch.cat(rows, 1) / self.tree.deals for rows in reversed(ops.rows.values())]

    def enter(self, p: int, above: object, street: int) -> Tensor:
        """[way, board, hand] on a street, from numbers at the ways out of the one above it."""
        padded = self._padded(p, above, max(street - 1, 0))
        return TorchOps(self.device).enter(self.places[street], p, padded)

    def rise(self, p: int, values: Array, street: int) -> Tensor:
        """[leaf, board, hand] at the ways out above a street, from [way, board, hand] on it."""
        padded = self._padded(p, values, street)
        above, here = self.places[street - 1 : street + 1]
        return TorchOps(self.device).rise(above, here, p, padded)

    def opposing(self, p: int, reach: Array, street: int) -> Tensor:
        """[k, board, hand] the reach of all hands that can be held beside each of player `p`'s.

        `reach` is the opponent's, ``[k, board, hand]``; in the units of `Response.roots`: pi_{-p}.
        """
        padded = self._padded(1 - p, reach, street)
        opposing = TorchOps(self.device).opposing(self.places[street], p, padded)
        return opposing / self.tree.deals

    def _padded(self, p: int, values: Array, street: int) -> Tensor:
        """[k, board, hand] in float64, up to the width of a street; also where hands are fewer."""
        tensor = self.tensor(values, self.torch.float64)
        missing = self.levels[street].hands[p].wide - tensor.shape[2]
        return self.torch.nn.functional.pad(tensor, (0, missing)) if missing > 0 else tensor


def _kinds(numbers: Blocks | None) -> list[type] | None:
    """How they are kept on each street, in buckets or not; None where nothing is kept."""
    return None if numbers is None else [type(block) for block in numbers.blocks]


def room(device: torch.device, there: int = 0) -> float:
    """Bytes that can still be had on a device, and those that are `there`; no end on the CPU."""
    if device.type != "cuda":
        return float("inf")
    cuda = load_torch().cuda
    cached = cuda.memory_reserved(device) - cuda.memory_allocated(device)
    return float(cuda.mem_get_info(device)[0] + cached + there)
