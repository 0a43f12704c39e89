"""`TorchEngine`: the operations of `RangeEngine` on whole blocks, by PyTorch or fused kernels.

    engine = TorchEngine(tree, device="cuda")
    memories = engine.memory(0), engine.memory(1)
    engine.iterate(memories, schedule.discounts(1, 101), schedule.alternating)
    strategy = Strategy(tree, tuple(engine.behaviour(p, memories[p].average) for p in (0, 1)))

Regrets and averages stay on the device as `Blocks`; strategies go to and from the layout that
`Strategy` has on every device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.gpu.layout import WARP, Level, cpu_places, lay_out
from subgame.gpu.runtime import has_triton, load_torch, pick_device
from subgame.gpu.torch_ops import BEST, FOLLOW, LEARN, RESPOND, Mind, Place, Tables, TorchOps
from subgame.tree.boards import BoardTree

Floats = NDArray[np.float64]
Stored = NDArray[np.float32]
Weights = NDArray[Any]
"""Numbers of a `Strategy`, in the layout of the CPU engine."""
Tensor = Any
SCRATCH = 4 << 30
"""Bytes that one street's lanes and values may take before its boards are cut into slices."""


class Blocks:
    """Numbers of one player's actions: a block ``[action, unit, hand]`` per street."""

    def __init__(self, engine: TorchEngine, p: int, blocks: list[Tensor]) -> None:
        self.engine, self.player, self.blocks = engine, p, blocks

    def numpy(self) -> Stored:
        """In the layout of the CPU engine and of `Strategy`."""
        return self.engine.to_cpu(self.player, self)

    def read(self, values: Weights) -> None:
        """Overwrite from that layout."""
        fresh = self.engine.from_cpu(self.player, values)
        for mine, theirs in zip(self.blocks, fresh.blocks, strict=True):
            mine.copy_(theirs)

    def copy(self) -> Stored:
        return self.numpy()

    def clone(self) -> Blocks:
        return Blocks(self.engine, self.player, [block.clone() for block in self.blocks])

    def __len__(self) -> int:
        return self.engine.tree.stored(self.player) if self.blocks else 1


class DeviceMemory(NamedTuple):
    """What a solver remembers of one player, on the device."""

    regret: Blocks
    average: Blocks
    instant: Blocks

    @property
    def sigma(self) -> Blocks:
        """The current strategy: kernels play in proportion to positive weights."""
        return self.regret

    def on(self, s: int) -> Mind:
        """On one street."""
        average, instant = self.average.blocks, self.instant.blocks
        return Mind(self.regret.blocks[s], average[s] if average else None,
                    instant[s] if instant else None)  # fmt: skip


class Plan(NamedTuple):
    """A strategy with its reach at the root."""

    sigma: Weights | Blocks
    slots: Floats


class Values(NamedTuple):
    """What a best response gets at each root slot, unnormalised."""

    slots: Floats


@dataclass
class Tape:
    """A recorded iteration: the graph, and the places it reads discounts and root reach from."""

    key: tuple[Any, ...]
    rates: Tensor
    slots: list[Tensor]
    warm: bool = False
    graph: Any = None


class Door(Protocol):
    """What stands at the root; see `solve.range_engine.Door`."""

    player: int

    def enter(self, p: int) -> Floats: ...

    def observe(self, values: Floats, rates: Floats) -> None: ...


class TorchEngine:
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
        self.levels = lay_out(tree)
        self.places = [self._place(level) for level in self.levels]
        self.fused = self.device.type == "cuda" and has_triton() if fused is None else fused
        self.ops: Any = TorchOps(self.device)
        if self.fused:
            from subgame.gpu.fused import FusedOps

            self.ops = FusedOps(self.device)
        self.graphs = self.fused and self.device.type == "cuda" if graphs is None else graphs
        self._tape: Tape | None = None

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

    def _blank(self, p: int) -> Blocks:
        return Blocks(self, p, [
            self.torch.zeros((level.bets[p].edges, level.units, level.hands[p].wide),
                             dtype=self.torch.float32, device=self.device)
            for level in self.levels
        ])  # fmt: skip

    def memory(self, p: int, *, predictive: bool = False) -> DeviceMemory:
        """A blank memory for player `p`."""
        instant = self._blank(p) if predictive else Blocks(self, p, [])
        return DeviceMemory(self._blank(p), self._blank(p), instant)

    def to_cpu(self, p: int, blocks: Blocks) -> Stored:
        """Blocks in the layout of `Strategy`."""
        out = np.zeros(self.tree.stored(p), dtype=np.float32)
        for level, block in zip(self.levels, blocks.blocks, strict=True):
            for e, (places, real) in enumerate(cpu_places(level, p)):
                out[places[real]] = block[e].cpu().numpy()[real]
        return out

    def from_cpu(self, p: int, values: Weights) -> Blocks:
        """Blocks on the device, from the layout of `Strategy`."""
        made = self._blank(p)
        for level, block in zip(self.levels, made.blocks, strict=True):
            for e, (places, real) in enumerate(cpu_places(level, p)):
                row = np.where(real, values[places], np.float32(0))
                block[e] = self.torch.from_numpy(row)
        return made

    # One sweep -------------------------------------------------------------------------------
    def _slots(self, p: int, reach: Floats, dtype: Any) -> Tensor:
        """[1, 1, slot] reach at the root."""
        made = self.torch.from_numpy(np.array(reach, dtype=np.float64))
        return made.to(self.device, dtype)[None, None]

    def _slices(self, s: int, p: int, size: int) -> Iterator[Place]:
        """A street whole, or cut so that lanes and values fit the scratch."""
        place, level = self.places[s], self.levels[s]
        whole = level.units
        if level.last:
            rows = [len(bet.lanes) + 2 * len(bet.ends) for bet in level.bets]
            if not self.fused:
                rows = [r + 3 * bet.rows for r, bet in zip(rows, level.bets, strict=True)]
            wide = max(hands.wide for hands in level.hands)
            whole = max(1, min(whole, self.scratch // (max(rows) * wide * size)))
        for at in range(0, level.units, whole):
            units = slice(at, min(at + whole, level.units))
            if units == place.units:
                yield place
                continue
            first, second = (tables.cut(units) for tables in place.tables)
            yield Place(level, (first, second), place.weight[units], units)

    def _sweep(
        self, p: int, mode: int, mine: DeviceMemory, theirs: DeviceMemory, rates: Tensor,
        ahead: Tensor, slots: tuple[Tensor | None, Tensor],
    ) -> Tensor:  # fmt: skip
        """[s] half an iteration; `slots` are ours and hers. Gives our values at the root."""
        o, dtype = 1 - p, slots[1].dtype
        ours: list[Tensor | None] = [slots[0]]
        hers: list[Tensor] = [slots[1]]
        lanes = []
        last = len(self.levels) - 1
        for s, place in enumerate(self.places[:last]):
            lane, leaf = self.ops.descend(place, o, theirs.on(s), ahead, hers[s])
            lanes.append(lane)
            hers.append(leaf)
            mind, own = mine.on(s) if mode != BEST else None, ours[s]
            keeps = mind is not None and mind.average is not None and own is not None
            ours.append(
                self.ops.descend(place, p, mind, rates, own, lanes=False)[1] if keeps else None
            )
        below: Tensor | None = None
        for s in range(last, -1, -1):
            level = self.levels[s]
            shape = (level.bets[p].roots, level.units, level.hands[p].wide)
            result = self.torch.empty(shape, dtype=dtype, device=self.device)
            for place in self._slices(s, p, result.element_size()):
                cut = place.units
                lane = (
                    lanes[s]
                    if s < last
                    else self.ops.descend(place, o, theirs.on(s).cut(cut), ahead, hers[s])[0]
                )
                shown, folded = self.ops.terminals(place, p, lane)
                mind = mine.on(s).cut(cut) if mode != BEST else Mind(None)
                paid = (shown, folded, below)
                result[:, cut] = self.ops.settle(place, p, mode, mind, rates, ours[s], paid)
            if s > 0:
                below = self.ops.rise(self.places[s - 1], self.places[s], p, result)
        return result[0, 0]

    # The operations --------------------------------------------------------------------------
    def iterate(
        self,
        memories: tuple[DeviceMemory, DeviceMemory],
        discounts: Floats,
        alternating: bool,
        root: Door | None = None,
        responder: int = -1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, with `root` at the door."""
        if len(discounts) < 2:
            return
        torch, kind = self.torch, self.torch.float32
        padded = np.pad(np.asarray(discounts, dtype=np.float32), ((0, 0), (0, 1)))
        table = torch.from_numpy(padded).to(self.device)  # four numbers a row: kernels like that
        slots = [
            self._slots(p, root.enter(p) if root else self.tree.players[p].reach, kind)
            for p in (0, 1)
        ]
        if responder == 1:  # she answers player 0's first strategy before it is played
            blind = memories[1]._replace(average=Blocks(self, 1, []))
            self._sweep(1, RESPOND, blind, memories[0], table[0], table[0], (None, slots[0]))
        if self.graphs and root is None:
            once = self._recorded(memories, slots, alternating, responder)
        else:

            def once(rates: Tensor, plain: Floats) -> None:
                self._turn(memories, slots, rates, plain, alternating, root, responder)

        for t in range(len(discounts) - 1):
            once(table[t : t + 2], discounts[t : t + 2])

    def _recorded(
        self, memories: tuple[DeviceMemory, DeviceMemory], slots: list[Tensor],
        alternating: bool, responder: int,
    ) -> Callable[[Tensor, Floats], None]:  # fmt: skip
        """What runs one iteration as a CUDA graph; the first one compiles and is run plainly."""
        blocks = [block.data_ptr() for m in memories for part in m for block in part.blocks]
        key = (*blocks, alternating, responder)
        if self._tape is None or self._tape.key != key:
            rates = self.torch.zeros((2, 4), device=self.device)
            self._tape = Tape(key, rates, slots)
        tape = self._tape
        for mine, given in zip(tape.slots, slots, strict=True):
            mine.copy_(given)

        def play(plain: Floats) -> None:
            self._turn(memories, tape.slots, tape.rates, plain, alternating, None, responder)

        def once(rates: Tensor, plain: Floats) -> None:
            tape.rates.copy_(rates)
            if tape.graph is None and not tape.warm:
                play(plain)
                tape.warm = True
                return
            if tape.graph is None:
                graph = self.torch.cuda.CUDAGraph()
                with self.torch.cuda.graph(graph):
                    play(plain)
                tape.graph = graph
            tape.graph.replay()

        return once

    def _turn(
        self, memories: tuple[DeviceMemory, DeviceMemory], slots: list[Tensor], rates: Tensor,
        plain: Floats, alternating: bool, root: Door | None, responder: int,
    ) -> None:  # fmt: skip
        """One iteration."""
        before, chooser = memories[0], root.player if root else -1
        if not alternating:
            before = before._replace(regret=before.regret.clone(), instant=before.instant.clone())
        for p in (0, 1):
            mode = RESPOND if responder == p else LEARN
            theirs, ahead = (before, memories[1])[1 - p], rates[p if alternating else 0]
            both = (slots[p], slots[1 - p])
            paid = self._sweep(p, mode, memories[p], theirs, rates[0], ahead, both)
            if root and p == chooser:
                root.observe(self._paid(p, paid), plain)
                if alternating:
                    slots[p].copy_(self._slots(p, root.enter(p), slots[p].dtype))
        if root and chooser >= 0 and not alternating:
            slots[chooser].copy_(self._slots(chooser, root.enter(chooser), slots[chooser].dtype))

    def _paid(self, p: int, result: Tensor) -> Floats:
        """[s] root values as expectations."""
        slots = len(self.tree.players[p].slots)
        out: Floats = result[:slots].double().cpu().numpy() / self.tree.deals
        return out

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
        return self._judge(p, FOLLOW, self._still(p, sigma), opponent_plan)

    def respond(self, p: int, opponent_plan: Plan) -> Values:
        """Counterfactual best response of player `p`, in float64."""
        return Values(self._judge(p, BEST, self._still(p, Blocks(self, p, [])), opponent_plan))

    def _still(self, p: int, sigma: Weights | Blocks) -> DeviceMemory:
        """A strategy that does not change."""
        none = Blocks(self, p, [])
        held = sigma if isinstance(sigma, Blocks) else self.from_cpu(p, sigma)
        return DeviceMemory(held, none, none)

    def _judge(self, p: int, mode: int, mine: DeviceMemory, against: Plan) -> Floats:
        theirs = self._still(1 - p, against.sigma)
        hers = self._slots(1 - p, against.slots, self.torch.float64)
        still = self.torch.ones(4, dtype=self.torch.float64, device=self.device)
        return self._paid(p, self._sweep(p, mode, mine, theirs, still, still, (None, hers)))
