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

from subgame.gpu import storage as keeping
from subgame.gpu.layout import SEGMENT, Frame, Level, betting
from subgame.gpu.runtime import load_torch
from subgame.gpu.storage import Block, Storage
from subgame.gpu.tape import Tape
from subgame.gpu.torch_ops import BEST, FOLLOW, LEARN, RESPOND, Mind, Place, TorchOps
from subgame.tree.forest import Street

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
            block.copy_(self.engine.street_from_cpu(self.player, s, values))

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
    ) -> None:
        self.levels, self.places, self.ops = levels, places, ops
        self.torch, self.device = load_torch(), ops.device
        self.scratch, self.graphs, self.storage = scratch, graphs, storage
        self.fused = not isinstance(ops, TorchOps)
        self.frames = [level.frame for level in levels]
        self._tape: Tape | None = None
        self._run = 0  # iterations so far
        self._rehearsed: set[Any] = set()

    def stage(self, streets: list[Street], *, storage: Storage | None = None) -> Sweeps:
        """The same boards with other betting: below any roots, down to the last street.

        What it remembers is stored as here, or as `storage` says.
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
        return Sweeps(levels, places, self.ops, scratch=self.scratch, graphs=self.graphs,
                      storage=storage or self.storage)  # fmt: skip

    def _own(self, above: Tensor) -> Tensor:
        """[u, h] every hand's own place: a first street has no other above it."""
        here = self.torch.arange(above.numel(), dtype=above.dtype, device=self.device)
        return self.torch.where(above >= 0, here.view(above.shape), -1)

    # Memory ----------------------------------------------------------------------------------
    def blank(self, p: int) -> Blocks:
        """Zeros, in this engine's storage."""
        return Blocks(self, p, [
            keeping.blank(self.storage, (frame.bets[p].edges, frame.units, frame.wide[p]),
                          self.device)
            for frame in self.frames
        ])  # fmt: skip

    def memory(self, p: int, *, predictive: bool = False) -> DeviceMemory:
        """A blank memory for player `p`."""
        instant = self.blank(p) if predictive else Blocks(self, p, [])
        return DeviceMemory(self.blank(p), self.blank(p), instant)

    def quote(self, *, predictive: bool = False) -> int:
        """Bytes that solving and judging take on the device, tables included."""
        return quoted(self.frames, self.storage, self.scratch, predictive=predictive,
                      fused=self.fused, graphs=self.graphs)  # fmt: skip

    # One sweep -------------------------------------------------------------------------------
    def _slices(self, s: int, p: int, size: int) -> Iterator[Place]:
        """A street whole, or cut so that lanes and values fit the scratch."""
        place, level = self.places[s], self.levels[s]
        whole = level.units
        if level.last:
            whole = slice_of(self.frames[s], p, size, self.scratch, self.fused)
            if self.storage == "int16" or whole > keeping.ALIGNED:
                whole = max(1, whole // keeping.ALIGNED) * keeping.ALIGNED
        for at in range(0, level.units, whole):
            units = slice(at, min(at + whole, level.units))
            if units == place.units:
                yield place
                continue
            first, second = (tables.cut(units) for tables in place.tables)
            yield Place(level, (first, second), place.weight[units], units)

    def sweep(
        self, p: int, mode: int, mine: DeviceMemory, theirs: DeviceMemory, rates: Tensor,
        ahead: Tensor, slots: tuple[Tensor | None, Tensor],
    ) -> Tensor:  # fmt: skip
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
                self.ops.settle(place, p, mode, mind, rates, ours[s], paid, result[:, cut])
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
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, from `reach` at the roots.

        With a `door`, its player enters as it says. No iterations: only compile what they need.
        """
        torch, kind = self.torch, self.torch.float32
        seeds = (self._run + np.arange(len(discounts))) % SEEDS
        table = torch.from_numpy(np.column_stack([discounts, seeds]).astype(np.float32))
        table = table.to(self.device)
        slots = [given.to(kind).contiguous().clone() for given in reach]
        key = (responder, *(bool(memory.instant.blocks) for memory in memories))
        self._rehearse(key, *(
            (p, RESPOND if responder == p else LEARN, memories[p], memories[1 - p], table[0],
             table[0], (slots[p], slots[1 - p])) for p in (0, 1)
        ))  # fmt: skip
        if len(discounts) < 2:
            return
        self._run += len(discounts) - 1
        if door is not None:
            slots[door.player].copy_(door.enter(table[0]))
        if responder == 1:  # she answers player 0's first strategy before it is played
            blind = memories[1]._replace(average=Blocks(self, 1, []))
            self.sweep(1, RESPOND, blind, memories[0], table[0], table[0], (None, slots[0]))
        once: Callable[[Tensor], None]
        if self.graphs and (door is None or door.recorded):
            once = self._recorded(memories, slots, alternating, door, responder)
        else:

            def once(rates: Tensor) -> None:
                self._turn(memories, slots, rates, alternating, door, responder)

        for t in range(len(discounts) - 1):
            once(table[t : t + 2])

    def _recorded(
        self, memories: tuple[DeviceMemory, DeviceMemory], slots: list[Tensor],
        alternating: bool, door: Door | None, responder: int,
    ) -> Callable[[Tensor], None]:  # fmt: skip
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
        self, memories: tuple[DeviceMemory, DeviceMemory], slots: list[Tensor], rates: Tensor,
        alternating: bool, door: Door | None, responder: int,
    ) -> None:  # fmt: skip
        """One iteration."""
        before, chooser = memories[0], door.player if door else -1
        if not alternating:
            before = before._replace(regret=before.regret.clone(), instant=before.instant.clone())
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


def slice_of(frame: Frame, p: int, size: int, scratch: int, fused: bool) -> int:
    """How many boards of the last street player `p` sweeps at once."""
    return max(1, min(frame.units, scratch // max(1, _per_board(frame, p, fused) * size)))


def _per_board(frame: Frame, p: int, fused: bool) -> int:
    """Numbers on one board besides those that are kept: lanes, and what they pay."""
    hers, mine = frame.bets[1 - p], frame.bets[p]
    folded = len(hers.lanes) - hers.folded
    lanes = len(hers.lanes) * frame.wide[1 - p] + hers.shown * frame.wide[p]
    if fused:
        return lanes + folded * frame.cards
    return lanes + (folded + 3 * mine.rows) * frame.wide[p] + 2 * hers.rows * frame.wide[1 - p]


def _working(frames: list[Frame], p: int, size: int, scratch: int, fused: bool) -> int:
    """Numbers that half an iteration of player `p` works with, all of them at once."""
    o, total = 1 - p, 0
    for s, frame in enumerate(frames):
        mine, hers, last = frame.bets[p], frame.bets[o], s == len(frames) - 1
        boards = slice_of(frame, p, size, scratch, fused) if last else frame.units
        total += boards * _per_board(frame, p, fused) + mine.roots * frame.units * frame.wide[p]
        total += frame.units * frame.wide[o] * len(hers.leaves)  # her reach there
        total += frame.units * frame.wide[p] * len(mine.leaves) * 2  # ours, and values
        if s > 0:  # boards of the way up, in segments
            above = frames[s - 1]
            segments = min(frame.units, above.units + frame.units // SEGMENT)
            total += mine.roots * segments * above.wide[p]
    return total


def quoted(
    frames: list[Frame], kind: str, scratch: int, *, predictive: bool, fused: bool, graphs: bool
) -> int:
    """Bytes for two memories, tables and working arrays.

    A recorded iteration keeps its working arrays; the judge needs its own, in float64, beside.
    """
    kept = sum(
        keeping.stored_bytes(kind, frame.bets[p].edges, frame.units * frame.wide[p])
        for frame in frames for p in (0, 1)
    )  # fmt: skip
    single, double = (
        size * max(_working(frames, p, size, scratch, fused) for p in (0, 1)) for size in (4, 8)
    )
    work = max(single, double) + (single if graphs else 0)
    return kept * (3 if predictive else 2) + sum(frame.tables for frame in frames) + work
