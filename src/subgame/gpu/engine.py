"""`TorchEngine`: the operations of `RangeEngine` on whole blocks, by PyTorch or fused kernels.

    engine = TorchEngine(tree, device="cuda")
    memories = engine.memory(0), engine.memory(1)
    engine.iterate(memories, schedule.discounts(1, 101), schedule.alternating)
    strategy = Strategy(tree, tuple(engine.behaviour(p, memories[p].average) for p in (0, 1)))

Regrets and averages stay on the device as `Blocks`; strategies go to and from the layout that
`Strategy` has on every device.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.gpu.layout import WARP, Level, cpu_places, lay_out
from subgame.gpu.runtime import has_triton, load_torch, pick_device
from subgame.gpu.sweeps import SCRATCH, Blocks, DeviceMemory, Sweeps
from subgame.gpu.torch_ops import Place, Tables, TorchOps
from subgame.tree.boards import BoardTree

Floats = NDArray[np.float64]
Stored = NDArray[np.float32]
Weights = NDArray[Any]
"""Numbers of a `Strategy`, in the layout of the CPU engine."""
Tensor = Any


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

    def __init__(self, engine: TorchEngine, door: Door) -> None:
        self.engine, self.door, self.player = engine, door, door.player

    def enter(self, rates: Tensor) -> Tensor:
        return self.engine.slots(self.door.enter(self.player), self.engine.torch.float32)

    def observe(self, values: Tensor, rates: Tensor) -> None:
        plain = rates[:, :3].double().cpu().numpy()
        self.door.observe(self.engine.paid(self.player, values), plain)


class TorchEngine(Sweeps):
    """Kernels on a device bound to one hold'em tree.

    `fused` compiles each street's betting into one kernel (Triton; the default on CUDA); without,
    plain PyTorch. `scratch` is what working arrays may take besides regrets and averages.
    """

    def __init__(
        self,
        tree: BoardTree,
        device: str = "cuda",
        *,
        fused: bool | None = None,
        graphs: bool | None = None,
        scratch: int = SCRATCH,
        memory_limit: float | None = None,
    ) -> None:
        if not isinstance(tree, BoardTree):
            raise SubgameError("The GPU engine solves hold'em trees; others run on the CPU engine.")
        self.device, self.torch = pick_device(device), load_torch()
        self.tree, self.scratch = tree, scratch
        self.check_memory(memory_limit)
        fused = self.device.type == "cuda" and has_triton() if fused is None else fused
        ops: Any = TorchOps(self.device)
        if fused:
            from subgame.gpu.fused import FusedOps

            ops = FusedOps(self.device)
        levels = lay_out(tree)
        recorded = fused and self.device.type == "cuda" if graphs is None else graphs
        places = [self._place(level) for level in levels]
        super().__init__(levels, places, ops, scratch=scratch, graphs=recorded)

    # Memory ----------------------------------------------------------------------------------
    def quote(self, *, predictive: bool = False) -> int:
        """Bytes that solving will take on the device, before anything is allocated."""
        kept = sum(self.tree.stored(p) for p in (0, 1)) * 4 * (3 if predictive else 2)
        tables = self.tree.boards.hand.size * 48  # per hand and board, the lists of cards included
        streets = self.tree.streets
        units = np.bincount(self.tree.boards.street)
        hands = int(self.tree.boards.hands.max(initial=0)) + WARP
        work = sum(
            (2 * max(street.rows) + 2 * len(street.endings)) * int(count) * hands * 4
            for street, count in zip(streets, units, strict=True)
        )
        return int(kept + tables + min(work, self.scratch))

    def check_memory(self, limit: float | None) -> None:
        """Refuse a tree that will not fit."""
        if limit is None:
            if self.device.type != "cuda":
                return
            limit = self.torch.cuda.mem_get_info(self.device)[0]
        if self.quote() > limit:
            raise MemoryLimitError(
                f"{self.tree.game} needs about {human_bytes(self.quote())} on {self.device}, and "
                f"{human_bytes(limit)} are there."
            )

    def _place(self, level: Level) -> Place:
        def put(array: Any) -> Tensor:
            return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

        tables = tuple(
            Tables(*(put(getattr(hands, name)) for name in Tables._fields)) for hands in level.hands
        )
        return Place(level, (tables[0], tables[1]), put(level.weight), slice(0, level.units))

    def to_cpu(self, p: int, blocks: Blocks) -> Stored:
        """Blocks in the layout of `Strategy`."""
        out = np.zeros(self.tree.stored(p), dtype=np.float32)
        for level, block in zip(self.levels, blocks.blocks, strict=True):
            for e, (places, real) in enumerate(cpu_places(level, p)):
                out[places[real]] = block[e].cpu().numpy()[real]
        return out

    def from_cpu(self, p: int, values: Weights) -> Blocks:
        """Blocks on the device, from the layout of `Strategy`."""
        made = self.blank(p)
        for level, block in zip(self.levels, made.blocks, strict=True):
            for e, (places, real) in enumerate(cpu_places(level, p)):
                row = np.where(real, values[places], np.float32(0))
                block[e] = self.torch.from_numpy(row)
        return made

    # The operations --------------------------------------------------------------------------
    def slots(self, reach: Floats, dtype: Any) -> Tensor:
        """[1, 1, slot] reach at the root."""
        made = self.torch.from_numpy(np.array(reach, dtype=np.float64))
        return made.to(self.device, dtype)[None, None]

    def paid(self, p: int, result: Tensor) -> Floats:
        """[s] root values as expectations."""
        slots = len(self.tree.players[p].slots)
        out: Floats = result[0, 0, :slots].double().cpu().numpy() / self.tree.deals
        return out

    def iterate(
        self,
        memories: tuple[DeviceMemory, DeviceMemory],
        discounts: Floats,
        alternating: bool,
        root: Door | None = None,
        responder: int = -1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, with `root` at the door."""
        kind = self.torch.float32
        one, two = (
            self.slots(root.enter(p) if root else self.tree.players[p].reach, kind) for p in (0, 1)
        )
        door = _HostDoor(self, root) if root and root.player >= 0 else None
        self.run(memories, discounts, alternating, (one, two), door, responder)

    def sample(self, *args: Any) -> None:
        """Refused: whole ranges are cheap enough."""
        raise SubgameError("Hold'em trees are solved without sampling; choose another schedule.")

    def behaviour(self, p: int, plan: Blocks) -> Stored:
        """The strategy of an average, for `Strategy`: kernels play in proportion to it."""
        return plan.numpy()

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
        hers = self.slots(plan.slots, self.torch.float64)
        return self.paid(p, self.judge(p, mine, theirs, hers))
