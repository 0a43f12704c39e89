"""`TorchRangeEngine`: hold'em trees on whole blocks, by PyTorch or Triton kernels.

    engine = TorchRangeEngine(tree, device="cuda")
    cfr = Cfr(engine, alternating=schedule.alternating)
    cfr.advance(schedule.discounts(1, 101), 1)
    first, second = (np.asarray(engine.behaviour(p, cfr.pair[p].average)) for p in (0, 1))
    strategy = Strategy(tree, (first, second))

Regrets and averages stay on the device as `Blocks`; strategies go to and from the layout that
`Strategy` has on every device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Array, Numbers
from subgame.engines.devices import Storage, check_storage
from subgame.engines.torch.batch import SCRATCH, Plan, RangeBatch, room
from subgame.engines.torch.buckets import check_tree, counted
from subgame.engines.torch.held import HeldHands
from subgame.engines.torch.layout import Level, Tables, frames, lay_out
from subgame.engines.torch.memory import Needs, Placement
from subgame.engines.torch.runtime import has_triton, load_torch, pick_device
from subgame.engines.torch.torch_ops import Place, TorchOps
from subgame.errors import SubgameError
from subgame.memory import parse_bytes
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.merging import unmerged as unmerged_tree
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
Tensor = Any


class TorchRangeEngine(RangeBatch):
    """Kernels on a device bound to one hold'em tree.

    `storage` is how regrets and averages are kept (see `storage`): "float32", or in
    half the memory "int16" or "bfloat16", of which the first loses less. `triton` compiles each
    street's betting into one kernel (the default on CUDA); without, plain PyTorch. `graphs` records
    iterations as CUDA graphs. `scratch` is what lanes of the last street and their values may take.

    `memory_limit` is what all of it may take on the device, by default what is free there. Where
    the tree needs more, the last street's regrets and averages are off-loaded to host memory and
    come to the device some boards at a time, with the same results; `estimate` says so. Their
    `placement` ("device" or "host") may be chosen, too.

    On streets with `buckets` (see `Buckets`) regrets and averages are kept per bucket,
    in float32 and on the device:

        engine = TorchRangeEngine(tree, buckets=abstract(tree, {"flop": 200}).buckets)

    Root infosets are those of the tree, ``[way, infoset]``. A tree with several boards on its first
    street has roots ``[way * boards + board, hand]``, as a `RangeBatch` has.
    """

    def __init__(
        self,
        tree: RangeTree,
        device: str = "cuda",
        *,
        storage: Storage = "float32",
        triton: bool | None = None,
        graphs: bool | None = None,
        scratch: int = SCRATCH,
        memory_limit: str | float | None = None,
        placement: Placement | None = None,
        buckets: Buckets | None = None,
    ) -> None:
        if not isinstance(tree, RangeTree):
            raise SubgameError(
                "TorchRangeEngine solves hold'em trees; TorchSequenceEngine is for others."
            )
        check_storage(storage)
        check_tree(buckets, tree)
        where = pick_device(device)
        unmerged = unmerged_tree(tree) if tree.merged else None
        plain = unmerged.tree if unmerged else tree
        cuda = where.type == "cuda"
        triton = cuda and has_triton() if triton is None else triton
        recorded = triton and cuda if graphs is None else graphs
        bytes_allowed = None if memory_limit is None else parse_bytes(memory_limit)
        limit = room(where) if bytes_allowed is None else bytes_allowed
        counts = counted(buckets, len(plain.streets))
        needs = Needs(frames(plain), storage, scratch, triton, recorded, counts)
        plan = needs.plan(placement, limit, str(tree.game_name), where)
        levels = lay_out(plain)
        super().__init__(
            tree,
            levels,
            [_place(level, where) for level in levels],
            _ops(where, triton),
            # Tables are known now: estimates for them were upper bounds.
            replace(needs, frames=[level.frame for level in levels]),
            boards=plan.boards,
            limit=bytes_allowed,
            buckets=buckets,
        )
        self.unmerged = unmerged
        if tree.has_locks and (self.boards or buckets is not None or storage != "float32"):
            raise SubgameError(
                f"{tree.game_name} has locked decisions, which need the storage float32 and all "
                "of it on the device, without buckets."
            )
        self.held = {
            p: HeldHands(lock, levels, p, where) for p, lock in enumerate(tree.locks) if lock
        }
        self._many = levels[0].units > 1
        self._order: list[tuple[Tensor, Tensor]] = []
        """Per player: the tree's root infoset of each hand, and the hand of each root infoset."""
        for slots in unmerged.slots if unmerged else ():
            order = self.torch.from_numpy(slots).to(where)
            self._order.append((order, order.argsort()))

    # Roots -----------------------------------------------------------------------------------
    def inside(self, p: int, reach: Tensor) -> Tensor:
        if self._order:
            reach = reach[..., self._order[p][0]]
        return super().inside(p, reach)

    def _outside(self, p: int, values: Tensor) -> Tensor:
        result = super()._outside(p, values)
        if self._many:
            return result
        result = result[:, : len(self.tree.players[p].slots)]
        return result[:, self._order[p][1]] if self._order else result.contiguous()

    def roots(self, p: int) -> Tensor:
        """[root, infoset] player `p`'s reach as the tree has it, in float32: a copy."""
        return super().roots(p) if self._many else self.array(self._reach(p))

    def _reach(self, p: int) -> Floats:
        ways = self.levels[0].bets[p].roots
        return np.repeat(self.tree.players[p].reach[None], ways, axis=0)

    def plan(self, p: int, sigma: Numbers, reach: Array = None) -> Plan:
        """A strategy with its reach [root, infoset] at the roots, by default the tree's own."""
        if reach is None and not self._many:
            reach = self._reach(p)  # in float64
        return super().plan(p, sigma, reach)


def _ops(where: Any, triton: bool) -> Any:
    """Operations on a device, by Triton or by PyTorch alone."""
    if not triton:
        return TorchOps(where)
    from subgame.engines.torch.fused import FusedOps

    return FusedOps(where)


def _place(level: Level, device: torch.device) -> Place:
    """Tables on the device; what players share goes there once."""

    def put(array: Any) -> Tensor:
        return load_torch().from_numpy(np.ascontiguousarray(array)).to(device)

    one, two = (hands.tables for hands in level.hands)
    mine = Tables(*map(put, one))
    yours = mine if two is one else Tables(*map(put, two))
    return Place(level, (mine, yours), put(level.weight), slice(0, level.units))
