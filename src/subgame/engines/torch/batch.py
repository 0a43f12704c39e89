"""`Sweeps`: CFR and best responses below many roots, on all boards of a street at once.

A hold'em tree has one root on one board. A *stage* has the boards of one street side by side and
any number of roots on each: all subgames of a game, solved together. Reach and values at the roots
are ``[root, unit, hand]``; regrets, averages and strategies are `Blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.torch import offload as hosted
from subgame.engines.torch import storage as keeping
from subgame.engines.torch.buckets import BucketOps, Shares, counted, seat
from subgame.engines.torch.cuda_graph import Tape
from subgame.engines.torch.layout import Level, betting
from subgame.engines.torch.memory import Home, Needs, Quote, aligned, slice_of
from subgame.engines.torch.offload import Ferry, Hosted
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import Block, Storage
from subgame.engines.torch.torch_ops import BEST, FOLLOW, LEARN, RESPOND, Mind, Place, TorchOps
from subgame.tree.compile import parse_bytes
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.buckets import Buckets

Floats = NDArray[np.float64]
Tensor = Any
SCRATCH = 4 << 30
"""Bytes that one street's lanes and values may take before its boards are cut into slices."""
SEEDS = 1 << 24
"""Iterations whose number float32 holds: what chance draws from, see `storage`."""


class Blocks:
    """Numbers of one player's actions: a block ``[action, unit, hand]`` per street."""

    def __init__(self, engine: Any, p: int, blocks: list[Block]) -> None:
        self.engine, self.player, self.blocks = engine, p, blocks

    def numpy(self) -> NDArray[np.float32]:
        """In the layout of the CPU engine and of `Strategy`; only of a whole tree."""
        if not self.blocks:
            return np.zeros(1, np.float32)  # as the CPU engine has it
        found: NDArray[np.float32] = self.engine.to_cpu(self.player, self)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.numpy().astype(dtype or np.float32, copy=False)

    def read(self, values: NDArray[Any]) -> None:
        """Overwrite from that layout."""
        for s, block in enumerate(self.blocks):
            for units in hosted.whole_or_pieces(block):
                some = self.engine.street_from_cpu(self.player, s, values, units)
                hosted.put(block, units, some)

    def __setitem__(self, every: slice, values: NDArray[Any]) -> None:
        """``blocks[:] = values`` reads them, as arrays do."""
        assert every == slice(None)
        self.read(values)

    @property
    def shape(self) -> tuple[int]:
        """Of `numpy`."""
        return (len(self),)

    def copy(self) -> NDArray[np.float32]:
        return self.numpy()

    def clone(self) -> Blocks:
        return Blocks(self.engine, self.player, [block.clone() for block in self.blocks])

    def like(self, other: Blocks) -> bool:
        """Whether both are kept in the same way, in buckets or not."""
        return list(map(type, self.blocks)) == list(map(type, other.blocks))

    def copy_(self, other: Blocks) -> Blocks:
        for block, given in zip(self.blocks, other.blocks, strict=True):
            block.copy_(given)
        return self

    def __len__(self) -> int:
        return self.engine.tree.stored(self.player) if self.blocks else 1


class DeviceMemory(NamedTuple):
    """What a solver remembers of one player, for the device to work on."""

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
        return Mind(
            self.regret.blocks[s], average[s] if average else None, instant[s] if instant else None
        )


class Door(Protocol):
    """What stands at the roots: how the chooser enters, from regrets of her own."""

    player: int
    recorded: bool
    """Whether it works on the device alone, so that an iteration can be recorded."""

    def enter(self, rates: Tensor) -> Tensor:
        """[root, unit, hand] her reach on the coming iteration; `rates` are its discounts."""

    def observe(self, values: Tensor, rates: Tensor) -> None:
        """What she got by entering; discounts ``[2, 4]`` now and next."""


class Sweeps:
    """Kernels on a device bound to the betting and the boards of some streets."""

    def __init__(
        self,
        levels: list[Level],
        places: list[Place],
        ops: Any,
        *,
        scratch: int,
        graphs: bool,
        storage: Storage = "float32",
        boards: int = 0,
        limit: float | None = None,
        ferry: Ferry | None = None,
        buckets: Buckets | None = None,
    ) -> None:
        self.levels, self.places, self.ops = levels, places, ops
        self.torch, self.device = load_torch(), ops.device
        self.scratch, self.graphs, self.storage = scratch, graphs, storage
        self.fused = not isinstance(ops, TorchOps)
        self.frames = [level.frame for level in levels]
        self.boards, self.limit, self.ferry = boards, limit, ferry or Ferry(self.device)
        self._spare: DeviceMemory | None = None
        self._tape: Tape | None = None
        self._rehearsed: set[Any] = set()
        self._counts = counted(buckets, len(levels))
        self.shares: dict[tuple[int, int], Shares] = {}
        """By street and player, where hands share buckets."""
        if buckets is not None:
            self.shares = seat(buckets, levels, places, self.device)
            self.ops = BucketOps(ops, scratch)

    def stage(
        self,
        streets: list[Street],
        *,
        storage: Storage | None = None,
        home: Home | None = None,
        memory_limit: str | float | None = None,
        buckets: Buckets | None = None,
    ) -> Sweeps:
        """The same boards with other betting: below any roots, down to the last street.

        What it remembers is stored as here, or as `storage` says; `home` and `memory_limit` are
        those of `TorchRangeEngine`, and by default what they are here. Hands share `buckets` only
        where they are given again.
        """
        keeping.check_kind(storage or self.storage)
        top = len(self.levels) - len(streets)
        pairs = list(zip(self.levels[top:], streets, strict=True))
        levels = [replace(level, bets=betting(street)) for level, street in pairs]
        places = [
            place._replace(level=level)
            for level, place in zip(levels, self.places[top:], strict=True)
        ]
        one, two = places[0].tables
        mine = self._own(one.above)
        yours = mine if two.above is one.above else self._own(two.above)
        both = one._replace(above=mine), two._replace(above=yours)
        places[0] = places[0]._replace(tables=both)
        limit = self.limit if memory_limit is None else parse_bytes(memory_limit)
        counts = counted(buckets, len(levels))
        needs = replace(
            self._needs(),
            frames=[level.frame for level in levels],
            storage=storage or self.storage,
            buckets=counts,
        )
        if home is None and self.boards and not needs.stays:
            home = "host"
        there = sum(frame.tables for frame in needs.frames)  # made already
        free = room(self.device, there) if limit is None else limit
        plan = needs.plan(home, free, "This stage", self.device)
        ops = self.ops.inner if isinstance(self.ops, BucketOps) else self.ops
        return Sweeps(
            levels,
            places,
            ops,
            scratch=self.scratch,
            graphs=self.graphs,
            storage=storage or self.storage,
            boards=plan.boards,
            limit=limit,
            ferry=self.ferry,
            buckets=buckets,
        )

    def _own(self, above: Tensor) -> Tensor:
        """[u, h] every hand's own place: a first street has no other above it."""
        here = self.torch.arange(above.numel(), dtype=above.dtype, device=self.device)
        return self.torch.where(above >= 0, here.view(above.shape), -1)

    # Memory ----------------------------------------------------------------------------------
    @property
    def home(self) -> Home:
        """Where regrets and averages of the last street lie."""
        return "host" if self.boards else "device"

    def blank(self, p: int, kind: Storage | None = None, *, bucketed: bool = True) -> Blocks:
        """Zeros, in this engine's storage or another; in its buckets, unless all is wanted."""
        kind, made = kind or self.storage, list[Block]()
        for s, (frame, level) in enumerate(zip(self.frames, self.levels, strict=True)):
            shape = (frame.bets[p].edges, frame.units, frame.wide[p])
            if bucketed and (s, p) in self.shares:
                made.append(self.shares[s, p].blank())
            elif self.boards and level.last:
                made.append(Hosted(kind, shape, self.boards, self.device))
            else:
                made.append(keeping.blank(kind, shape, self.device))
        return Blocks(self, p, made)

    def memory(self, p: int, *, predictive: bool = False, bucketed: bool = True) -> DeviceMemory:
        """A blank memory for player `p`."""
        one, two = (self.blank(p, bucketed=bucketed) for _ in range(2))
        instant = self.blank(p, bucketed=bucketed) if predictive else Blocks(self, p, [])
        return DeviceMemory(one, two, instant)

    def _needs(self) -> Needs:
        return Needs(self.frames, self.storage, self.scratch, self.fused, self.graphs, self._counts)

    def quote(self, *, predictive: bool = False, alternating: bool = True) -> Quote:
        """Bytes that solving and judging take on the device and the host, tables included."""
        return self._needs().quote(
            self.home, self.boards, predictive=predictive, alternating=alternating
        )

    # One sweep -------------------------------------------------------------------------------
    def _slices(
        self, s: int, p: int, size: int, pieces: list[slice] | None = None
    ) -> Iterator[Place]:
        """A street whole, or cut: as `pieces` are, or so that lanes and values fit the scratch."""
        place, level = self.places[s], self.levels[s]
        whole = level.units
        if level.last and pieces is None:
            whole = slice_of(self.frames[s], p, size, self.scratch, self.fused)
            whole = aligned(whole, self.storage)
        every = range(0, level.units, whole)
        for units in pieces or [slice(at, min(at + whole, level.units)) for at in every]:
            if units == place.units:
                yield place
                continue
            first, second = (tables.cut(units) for tables in place.tables)
            yield Place(level, (first, second), place.weight[units], units)

    def _visits(
        self, s: int, p: int, mode: int, mine: DeviceMemory, theirs: DeviceMemory, size: int
    ) -> Iterator[tuple[Place, Mind, Mind]]:
        """Slices of a street with both players' minds there, fetched where they lie on the host."""
        ours, hers = mine.on(s) if mode != BEST else Mind(None), theirs.on(s)
        hers = hers._replace(average=None)  # which nobody plays
        pieces = hosted.cuts((ours, hers))
        places = self._slices(s, p, size, pieces)
        if pieces is None:
            for place in places:
                yield place, ours.cut(place.units), hers.cut(place.units)
            return
        if self.boards:
            foreseen = ours.instant is not None or hers.instant is not None
            self.ferry.reserve(self._needs().staging(self.boards, predictive=foreseen))
        yield from self.ferry.carry(list(places), ours, hers, learns=mode in (LEARN, RESPOND))

    def sweep(
        self,
        p: int,
        mode: int,
        mine: DeviceMemory,
        theirs: DeviceMemory,
        rates: Tensor,
        ahead: Tensor,
        slots: tuple[Tensor | None, Tensor],
    ) -> Tensor:
        """Half an iteration; `slots` are ours and hers. Gives our values at the roots."""
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
            result: Tensor = self.torch.empty(shape, dtype=dtype, device=self.device)
            size = result.element_size()
            for place, mind, other in self._visits(s, p, mode, mine, theirs, size):
                lane = (
                    lanes[s] if s < last else self.ops.descend(place, o, other, ahead, hers[s])[0]
                )
                shown, folded = self.ops.terminals(place, p, lane)
                paid, into = (shown, folded, below), result[:, place.units]
                self.ops.settle(place, p, mode, mind, rates, ours[s], paid, into)
            if s > 0:
                below = self.ops.rise(self.places[s - 1], self.places[s], p, result)
        return result

    # The operations --------------------------------------------------------------------------
    def run(
        self,
        memories: tuple[DeviceMemory, DeviceMemory],
        discounts: Floats,
        alternating: bool,
        reach: tuple[Tensor, Tensor],
        door: Door | None = None,
        responder: int = -1,
        begin: int = 1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, from `reach` at the roots.

        With a `door`, its player enters as it says. No iterations: only compile what they need.
        """
        torch, kind = self.torch, self.torch.float32
        seeds = (begin - 1 + np.arange(len(discounts))) % SEEDS
        table = torch.from_numpy(np.column_stack([discounts, seeds]).astype(np.float32))
        table = table.to(self.device)
        slots = [given.to(kind).contiguous().clone() for given in reach]
        for (_, p), shares in self.shares.items():  # what an enterer's hands do is her own choice
            shares.weigh(None if door and door.player == p else slots[p])
        key = (responder, *(bool(memory.instant.blocks) for memory in memories))
        self._rehearse(
            key,
            *(
                (
                    p,
                    RESPOND if responder == p else LEARN,
                    memories[p],
                    memories[1 - p],
                    table[0],
                    table[0],
                    (slots[p], slots[1 - p]),
                )
                for p in (0, 1)
            ),
        )
        if len(discounts) < 2:
            return
        if door is not None:
            slots[door.player].copy_(door.enter(table[0]))
        if responder == 1:  # she answers player 0's first strategy before it is played
            blind = memories[1]._replace(average=Blocks(self, 1, []))
            self.sweep(1, RESPOND, blind, memories[0], table[0], table[0], (None, slots[0]))
        once: Callable[[Tensor], None]
        if self.graphs and not self.boards and (door is None or door.recorded):
            once = self._recorded(memories, slots, alternating, door, responder)
        else:

            def once(rates: Tensor) -> None:
                self._turn(memories, slots, rates, alternating, door, responder)

        for t in range(len(discounts) - 1):
            once(table[t : t + 2])

    def _recorded(
        self,
        memories: tuple[DeviceMemory, DeviceMemory],
        slots: list[Tensor],
        alternating: bool,
        door: Door | None,
        responder: int,
    ) -> Callable[[Tensor], None]:
        """What runs one iteration as a CUDA graph; the first one compiles and is run plainly."""
        blocks = [block.data_ptr() for m in memories for part in m for block in part.blocks]
        key = (*blocks, alternating, id(door), responder)
        if self._tape is None or self._tape.key != key:
            rates = self.torch.zeros((2, 4), device=self.device)
            self._tape = Tape(key, rates, slots, door)
        tape = self._tape
        for mine, given in zip(tape.inputs, slots, strict=True):
            mine.copy_(given)

        def play() -> None:
            self._turn(memories, tape.inputs, tape.rates, alternating, door, responder)

        def once(rates: Tensor) -> None:
            tape.rates.copy_(rates)
            tape.run(play)

        return once

    def _rehearse(self, key: Any, *halves: tuple[Any, ...]) -> None:
        """Compile the kernels of some sweeps side by side, before the first of their kind."""
        if self.device.type != "cuda" or not self.fused or key in self._rehearsed:
            return
        self._rehearsed.add(key)
        with self.ops.rehearsal():
            for half in halves:
                self.sweep(*half)

    def _turn(
        self,
        memories: tuple[DeviceMemory, DeviceMemory],
        slots: list[Tensor],
        rates: Tensor,
        alternating: bool,
        door: Door | None,
        responder: int,
    ) -> None:
        """One iteration."""
        before, chooser = memories[0], door.player if door else -1
        if not alternating:
            before = self._copied(before)
        for p in (0, 1):
            mode = RESPOND if responder == p else LEARN
            theirs, ahead = (before, memories[1])[1 - p], rates[p if alternating else 0]
            both = (slots[p], slots[1 - p])
            paid = self.sweep(p, mode, memories[p], theirs, rates[0], ahead, both)
            if door and p == chooser:
                door.observe(paid, rates)
                if alternating:
                    slots[p].copy_(door.enter(rates[1]))
        if door and not alternating:
            slots[chooser].copy_(door.enter(rates[1]))

    def _copied(self, memory: DeviceMemory) -> DeviceMemory:
        """What is played now, apart. From the host always to the same place: pinning takes long."""
        spare, played = self._spare, (memory.regret, memory.instant)
        if spare is None or not all(map(Blocks.like, played, (spare.regret, spare.instant))):
            copies = memory._replace(regret=memory.regret.clone(), instant=memory.instant.clone())
            self._spare = copies if self.boards else None
            return copies
        spare.regret.copy_(memory.regret)
        spare.instant.copy_(memory.instant)
        return spare

    def still(self, p: int, sigma: Blocks) -> DeviceMemory:
        """A strategy that does not change."""
        none = Blocks(self, p, [])
        return DeviceMemory(sigma, none, none)

    def judge(self, p: int, mine: Blocks | None, theirs: Blocks, reach: Tensor) -> Tensor:
        """[root, unit, hand] what player `p` gets by `mine`, or at best, in float64.

        `reach` is the opponent's at the roots.
        """
        mode = BEST if mine is None else FOLLOW
        ours = self.still(p, Blocks(self, p, []) if mine is None else mine)
        none = self.torch.ones(4, dtype=self.torch.float64, device=self.device)
        hers = reach.to(self.torch.float64).contiguous()
        half = (p, mode, ours, self.still(1 - p, theirs), none, none, (None, hers))
        self._rehearse((p, mode), half)
        return self.sweep(*half)

    # Inside ----------------------------------------------------------------------------------
    def reaches(self, p: int, sigma: Blocks, reach: Tensor) -> list[Tensor]:
        """Per street ``[row, unit, hand]``: player `p`'s reach of every row."""
        plain, out = TorchOps(self.device), []
        rates = self.torch.ones(4, dtype=reach.dtype, device=self.device)
        for s, place in enumerate(self.places):
            bet, mind = place.level.bets[p], Mind(sigma.blocks[s])
            out.append(plain.reach(bet, mind, rates, plain.enter(place, p, reach))[0])
            reach = out[-1][bet.leaves]
        return out

    def worths(self, p: int, theirs: Blocks, reach: Tensor) -> list[Tensor]:
        """Per street ``[row, unit, hand]``: what each row is worth to a best response of `p`.

        `reach` is the opponent's at the roots. Not cut into slices: all of it is given back.
        """
        plain, o, kind = TorchOps(self.device), 1 - p, self.torch.float64
        rates = self.torch.ones(4, dtype=kind, device=self.device)
        hers, lanes = reach.to(kind), []
        for s, place in enumerate(self.places):
            lane, hers = plain.descend(place, o, Mind(theirs.blocks[s]), rates, hers)
            lanes.append(lane)
        out: list[Tensor] = []
        below: Tensor | None = None
        for s in range(len(self.places) - 1, -1, -1):
            place = self.places[s]
            shown, folded = plain.terminals(place, p, lanes[s])
            paid = (shown, folded, below)
            out.append(plain.climb(place, p, BEST, Mind(None), rates, None, paid))
            if s > 0:
                result = out[-1][: place.level.bets[p].roots]
                below = plain.rise(self.places[s - 1], place, p, result)
        return out[::-1]

    def enter(self, p: int, above: Tensor, s: int = 0) -> Tensor:
        """[root, unit, hand] on street `s`, from numbers at the leaves above it."""
        return TorchOps(self.device).enter(self.places[s], p, above)

    def opposing(self, p: int, reach: Tensor, s: int = 0) -> Tensor:
        """[k, unit, hand] the weight of all hands that the opponent can hold beside each of ours.

        `reach` is hers, ``[k, unit, hand]`` on street `s`.
        """
        return TorchOps(self.device).opposing(self.places[s], p, reach)


def room(device: Any, there: int = 0) -> float:
    """Bytes that can still be had on a device, and those that are `there`; no end on the CPU."""
    if device.type != "cuda":
        return float("inf")
    cuda = load_torch().cuda
    cached = cuda.memory_reserved(device) - cuda.memory_allocated(device)
    return float(cuda.mem_get_info(device)[0] + cached + there)
