"""`TorchRangeEngine`: hold'em trees on whole blocks, by PyTorch or fused kernels.

    engine = TorchRangeEngine(tree, device="cuda")
    memories = engine.memory(0), engine.memory(1)
    engine.iterate(memories, schedule.discounts(1, 101), schedule.alternating)
    strategy = Strategy(tree, tuple(memories[p].average.numpy() for p in (0, 1)))

Regrets and averages stay on the device as `Blocks`; strategies go to and from the layout that
`Strategy` has on every device.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.torch import storage as keeping
from subgame.engines.torch.batch import SCRATCH, Blocks, DeviceMemory, Sweeps, room
from subgame.engines.torch.buckets import check_tree, counted
from subgame.engines.torch.layout import Level, frames, lay_out, stretches
from subgame.engines.torch.memory import Home, Needs
from subgame.engines.torch.runtime import has_triton, load_torch, pick_device
from subgame.engines.torch.storage import Storage
from subgame.engines.torch.torch_ops import Place, Tables, TorchOps
from subgame.errors import SubgameError
from subgame.tree.compile import parse_bytes
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.merging import apart
from subgame.tree.ranges.tree import RangeTree

Floats = NDArray[np.float64]
Stored = NDArray[np.float32]
Weights = NDArray[Any]
"""Numbers of a `Strategy`, in the layout of the CPU engine."""
Tensor = Any
MOVED = 1 << 26
"""Numbers that go to or from the device at once."""


class Plan(NamedTuple):
    """A strategy with its reach at the root."""

    sigma: Weights | Blocks
    slots: Floats


class Values(NamedTuple):
    """What a best response gets at each root slot, unnormalised."""

    slots: Floats


class Door(Protocol):
    """What stands at the root; see `solve.range_engine.Door`."""

    player: int

    def enter(self, p: int) -> Floats: ...

    def observe(self, values: Floats, rates: Floats) -> None: ...


class _HostDoor:
    """A door of the CPU engine before a tree on the device."""

    recorded = False

    def __init__(self, engine: TorchRangeEngine, door: Door) -> None:
        self.engine, self.door, self.player = engine, door, door.player

    def enter(self, rates: Tensor) -> Tensor:
        reach = self.engine.seated(self.player, self.door.enter(self.player))
        return self.engine.slots(reach, self.engine.torch.float32)

    def observe(self, values: Tensor, rates: Tensor) -> None:
        plain = rates[:, :3].double().cpu().numpy()
        self.door.observe(self.engine.paid(self.player, values), plain)


class TorchRangeEngine(Sweeps):
    """Kernels on a device bound to one hold'em tree.

    `storage` is how regrets and averages are kept (see `storage`): "float32", or in
    half the memory "int16" or "bfloat16", of which the first loses less. `fused` compiles each
    street's betting into one kernel (Triton; the default on CUDA); without, plain PyTorch.
    `scratch` is what lanes of the last street and their values may take.

    `memory_limit` is what all of it may take on the device, by default what is free there. Where
    the tree needs more, the last street's regrets and averages have their `home` in host memory
    ("host") and come to the device some boards at a time, with the same results; `quote` says so.
    `home` may be chosen, too.

    On streets with `buckets` (see `Buckets`) regrets and averages are kept per bucket,
    in float32 and on the device:

        engine = TorchRangeEngine(tree, buckets=Buckets.by_strength(tree, "flop", 200))
    """

    def __init__(
        self,
        tree: RangeTree,
        device: str = "cuda",
        *,
        storage: Storage = "float32",
        fused: bool | None = None,
        graphs: bool | None = None,
        scratch: int = SCRATCH,
        memory_limit: str | float | None = None,
        home: Home | None = None,
        buckets: Buckets | None = None,
    ) -> None:
        if not isinstance(tree, RangeTree):
            raise SubgameError(
                "TorchRangeEngine solves hold'em trees; TorchSequenceEngine is for others."
            )
        keeping.check_kind(storage)
        check_tree(buckets, tree)
        self.device, self.torch = pick_device(device), load_torch()
        self.tree = tree
        self.apart = apart(tree) if tree.merged else None
        tree = self.apart.tree if self.apart else tree
        fused = self.device.type == "cuda" and has_triton() if fused is None else fused
        recorded = fused and self.device.type == "cuda" if graphs is None else graphs
        given = None if memory_limit is None else parse_bytes(memory_limit)
        limit = room(self.device) if given is None else given
        counts = counted(buckets, len(tree.streets))
        needs = Needs(frames(tree), storage, scratch, fused, recorded, counts)
        plan = needs.plan(home, limit, str(tree.game), self.device)
        ops: Any = TorchOps(self.device)
        if fused:
            from subgame.engines.torch.fused import FusedOps

            ops = FusedOps(self.device)
        levels = lay_out(tree)
        places = [self._place(level) for level in levels]
        super().__init__(
            levels,
            places,
            ops,
            scratch=scratch,
            graphs=recorded,
            storage=storage,
            boards=plan.boards,
            limit=given,
            buckets=buckets,
        )

    # Memory ----------------------------------------------------------------------------------
    def _place(self, level: Level) -> Place:
        """Tables on the device; what players share goes there once."""
        moved: dict[int, Tensor] = {}

        def put(array: Any) -> Tensor:
            if id(array) not in moved:
                made = self.torch.from_numpy(np.ascontiguousarray(array))
                moved[id(array)] = made.to(self.device)
            return moved[id(array)]

        one, two = (Tables(*map(put, hands.tables())) for hands in level.hands)
        return Place(level, (one, two), put(level.weight), slice(0, level.units))

    def to_cpu(self, p: int, blocks: Blocks) -> Stored:
        """Blocks in the layout of `Strategy`."""
        tree = self.apart.tree if self.apart else self.tree
        out = np.zeros(tree.stored(p), dtype=np.float32)
        for level, block in zip(self.levels, blocks.blocks, strict=True):
            edges = level.bets[p].edges
            for units, start, tiles, held in stretches(level, p, MOVED):
                shape = (len(held), tiles, edges, LANES)
                some = keeping.peek(block, units)[..., : tiles * LANES]
                some = some.unflatten(2, (tiles, LANES)).permute(1, 2, 0, 3).contiguous()
                into = out[start : start + math.prod(shape)].reshape(shape)
                self.torch.from_numpy(into).copy_(some)
                padding = (tiles - 1) * LANES + np.arange(LANES) >= held[:, None]
                if padding.any():
                    into[:, -1].transpose(0, 2, 1)[padding] = 0
        return self.apart.gather(p, out, self.tree.stored(p)) if self.apart else out

    def street_from_cpu(
        self, p: int, s: int, values: Weights, within: slice | None = None
    ) -> Tensor:
        """[action, unit, hand] float32 on street `s`, from the layout of `Strategy`.

        On all boards, or `within` some.
        """
        level, torch = self.levels[s], self.torch
        values = self.apart.spread(p, values) if self.apart else values
        within = within or slice(0, level.units)
        edges, wide = level.bets[p].edges, level.hands[p].wide
        made = torch.zeros((edges, within.stop - within.start, wide), device=self.device)
        for units, start, tiles, held in stretches(level, p, MOVED, within):
            shape = (len(held), tiles, edges, LANES)
            some = np.array(values[start : start + math.prod(shape)], np.float32).reshape(shape)
            padding = (tiles - 1) * LANES + np.arange(LANES) >= held[:, None]
            if padding.any():
                some[:, -1].transpose(0, 2, 1)[padding] = 0
            put = torch.from_numpy(some).to(self.device).permute(2, 0, 1, 3)
            here = slice(units.start - within.start, units.stop - within.start)
            made[:, here, : tiles * LANES] = put.flatten(2)
        return made

    def from_cpu(self, p: int, values: Weights) -> Blocks:
        """Blocks in float32, from the layout of `Strategy`."""
        if self.boards:
            made = self.blank(p, "float32", bucketed=False)
            made.read(values)
            return made
        return Blocks(
            self, p, [self.street_from_cpu(p, s, values) for s in range(len(self.levels))]
        )

    # The operations --------------------------------------------------------------------------
    def slots(self, reach: Floats, dtype: Any) -> Tensor:
        """[1, 1, slot] reach at the root."""
        made = self.torch.from_numpy(np.array(reach, dtype=np.float64))
        return made.to(self.device, dtype)[None, None]

    def seated(self, p: int, reach: Floats) -> Floats:
        """[s] player `p`'s reach in the order that slots have on the device."""
        return reach[self.apart.slots[p]] if self.apart else reach

    def paid(self, p: int, result: Tensor) -> Floats:
        """[s] root values as expectations."""
        slots = len(self.tree.players[p].slots)
        out: Floats = result[0, 0, :slots].double().cpu().numpy() / self.tree.deals
        if self.apart:
            out = out[np.argsort(self.apart.slots[p])]
        return out

    def iterate(
        self,
        memories: tuple[DeviceMemory, DeviceMemory],
        discounts: Floats,
        alternating: bool,
        root: Door | None = None,
        responder: int = -1,
        begin: int = 1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, with `root` at the door."""
        kind = self.torch.float32
        one, two = (
            self.slots(self.seated(p, root.enter(p) if root else self.tree.players[p].reach), kind)
            for p in (0, 1)
        )
        door = _HostDoor(self, root) if root and root.player >= 0 else None
        self.run(memories, discounts, alternating, (one, two), door, responder, begin)
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)  # whoever times it sees what it took

    def sample(self, *args: Any) -> None:
        """Refused: whole ranges are cheap enough."""
        raise SubgameError("Hold'em trees are solved without sampling; choose another schedule.")

    def behaviour(self, p: int, plan: Blocks) -> Blocks:
        """The strategy of an average: itself, for kernels play in proportion to it."""
        return plan

    def plan(self, p: int, sigma: Weights | Blocks, slots: Floats | None = None) -> Plan:
        """A strategy with a reach at the root, by default the tree's own."""
        return Plan(sigma, self.tree.players[p].reach if slots is None else slots)

    def values(self, p: int, sigma: Weights | Blocks, opponent_plan: Plan) -> Floats:
        """[s] counterfactual values of player `p` playing `sigma`, in float64."""
        return self._against(p, self._blocks(p, sigma), opponent_plan)

    def respond(self, p: int, opponent_plan: Plan) -> Values:
        """Counterfactual best response of player `p`, in float64."""
        return Values(self._against(p, None, opponent_plan))

    def _blocks(self, p: int, sigma: Weights | Blocks) -> Blocks:
        return sigma if isinstance(sigma, Blocks) else self.from_cpu(p, sigma)

    def _against(self, p: int, mine: Blocks | None, plan: Plan) -> Floats:
        theirs = self._blocks(1 - p, plan.sigma)
        hers = self.slots(self.seated(1 - p, plan.slots), self.torch.float64)
        return self.paid(p, self.judge(p, mine, theirs, hers))
