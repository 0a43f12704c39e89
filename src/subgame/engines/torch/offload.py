"""Regrets and averages that lie in host memory, and how slices of them come to the device.

An `OffloadedBlock` is cut into *pieces* of some boards, each ``[action, unit, hand]`` in one
stretch of bytes, which are on the device only while they are worked on. An `Offloader` brings them
there and back through a few buffers: while one piece is worked on, the next one comes and the last
one goes, by streams of their own. Only the copies between streams are ordered, each by what it has
to wait for: the bytes it reads, and whoever still uses the place it writes to. Pinned host memory
is what a device copies to and from by itself, while both of them work.
"""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from subgame.engines.torch import storage as keeping
from subgame.engines.torch.memory import BUFFERS, offloaded_bytes
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import Block, Kept, Scaled
from subgame.engines.torch.torch_ops import Place, StreetNumbers
from subgame.errors import MemoryLimitError, SubgameError, human_bytes

if TYPE_CHECKING:
    import torch


Tensor = Any


def host_bytes(count: int, device: Any) -> Tensor:
    """So many zero bytes of host memory; pinned where the device is a GPU.

    PyTorch's own pinned memory comes in powers of two, which may be twice of what is wanted. So
    pages are mapped here, touched by all threads, and then registered in one go.
    """
    torch = load_torch()
    if device.type != "cuda" or count == 0:
        return torch.zeros(count, dtype=torch.uint8)
    private = (
        {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    )
    pages = mmap.mmap(-1, count, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # large pages are quicker to pin; small ones do as well
            pages.madvise(mmap.MADV_HUGEPAGE)
    array = np.frombuffer(pages, np.uint8)
    raw = torch.from_numpy(array).zero_()
    failed = int(torch.cuda.cudart().cudaHostRegister(raw.data_ptr(), count, 0))
    if failed:
        raise MemoryLimitError(
            f"The system could not pin {human_bytes(count)} of host memory for {device} (CUDA "
            f"error {failed})."
        )
    # The finalizer holds the pages, so that they outlive their registration.
    done = weakref.finalize(array, _release, torch, device, raw.data_ptr(), pages)
    done.atexit = False  # the system takes all of it back then
    return raw


def _release(torch: Any, device: Any, at: int, pages: mmap.mmap) -> None:
    """Let go of pinned pages, when no copy is under way any more."""
    torch.cuda.synchronize(device)
    torch.cuda.cudart().cudaHostUnregister(at)
    del pages


Shape = tuple[int, int, int]


class OffloadedBlock(Kept):
    """A block ``[action, unit, hand]`` in host memory, cut after every `boards` units.

    It is read and written by actions like a tensor on the device, slowly: sweeps take its pieces.
    """

    def __init__(self, kind: str, shape: Shape, boards: int, device: torch.device) -> None:
        self.kind, self.shape, self.boards, self.device = kind, shape, boards, device
        units = shape[1]
        self.pieces = [slice(at, min(at + boards, units)) for at in range(0, units, boards)]
        self.raw = host_bytes(offloaded_bytes(kind, shape, boards), device)
        self.tensors = (self.raw,)
        self.landed: list[Any] = [None] * len(self.pieces)
        """Events: when each piece was back."""

    @property
    def stride(self) -> int:
        """Bytes from piece to piece."""
        return keeping.padded_bytes(self.kind, (self.shape[0], self.boards, self.shape[2]))

    def shape_of(self, k: int) -> Shape:
        """Of one piece."""
        units = self.pieces[k]
        return self.shape[0], units.stop - units.start, self.shape[2]

    def bytes_of(self, k: int) -> Tensor:
        """One piece, in host memory."""
        size = keeping.padded_bytes(self.kind, self.shape_of(k))
        return self.raw[k * self.stride : k * self.stride + size]

    def _rest(self) -> None:
        """Wait for all copies, before the host itself reads or writes."""
        if self.device.type == "cuda":
            load_torch().cuda.synchronize(self.device)

    def _there(self, k: int) -> tuple[Block, Tensor]:
        """A copy of one piece on the device, and its bytes."""
        raw = self.bytes_of(k).to(self.device, copy=True)
        return keeping.laid(self.kind, self.shape_of(k), raw), raw

    # As blocks on the device do --------------------------------------------------------------
    def load(self, actions: Any, dtype: torch.dtype) -> Tensor:
        """Numbers of some actions, on the device."""
        self._rest()
        parts = [keeping.load(self._there(k)[0], actions, dtype) for k in range(len(self.pieces))]
        return load_torch().cat(parts, -2)

    def __setitem__(self, actions: object, values: Tensor) -> None:
        self._rest()
        for k, units in enumerate(self.pieces):
            block, raw = self._there(k)
            block[actions] = values[..., units, :] if getattr(values, "ndim", 0) > 1 else values
            self.bytes_of(k).copy_(raw)

    def peek(self, units: slice) -> Tensor:
        """All actions on some boards, in float32 on the host."""
        self._rest()
        parts = []
        for k in range(units.start // self.boards, -(-units.stop // self.boards)):
            first, (_, many, _) = k * self.boards, self.shape_of(k)
            some = slice(max(units.start - first, 0), min(units.stop - first, many))
            block = keeping.laid(self.kind, self.shape_of(k), self.bytes_of(k))
            parts.append(keeping.peek(block, some))
        return load_torch().cat(parts, 1)

    def put(self, units: slice, values: Tensor | Scaled) -> None:
        """Overwrite a piece, from the device or the host."""
        self._rest()
        k = units.start // self.boards
        assert self.pieces[k] == units
        raw = load_torch().zeros_like(self.bytes_of(k), device=self.device)
        keeping.laid(self.kind, self.shape_of(k), raw).copy_(values)
        self.bytes_of(k).copy_(raw)

    def copy_(self, other: Block) -> OffloadedBlock:
        """Overwrite all of it."""
        there = isinstance(other, OffloadedBlock)
        if there and (other.kind, other.boards) == (self.kind, self.boards):
            self._rest()
            self.raw.copy_(other.raw)
            return self
        for units in self.pieces:
            self.put(units, other.peek(units) if there else keeping.cut(other, units))
        return self

    def clone(self) -> OffloadedBlock:
        return OffloadedBlock(self.kind, self.shape, self.boards, self.device).copy_(self)

    def zero_(self) -> Self:
        self._rest()
        return super().zero_()


def whole_or_pieces(block: Block) -> list[slice]:
    """The boards of a block that can be written at once."""
    return block.pieces if isinstance(block, OffloadedBlock) else [slice(0, block.shape[1])]


def put(block: Block, units: slice, values: Tensor) -> None:
    """Overwrite some boards: a piece, or any on the device."""
    if isinstance(block, OffloadedBlock):
        block.put(units, values)
    else:
        keeping.cut(block, units).copy_(values)


def cuts(sides: Sequence[StreetNumbers]) -> list[slice] | None:
    """How the blocks of some sides are cut; None where all of them lie on the device."""
    pieces_of = [
        block.pieces for numbers in sides for block in numbers if isinstance(block, OffloadedBlock)
    ]
    if any(pieces != pieces_of[0] for pieces in pieces_of):
        raise SubgameError(
            "Regrets and averages in host memory have different parts; make those of both players "
            "with one engine."
        )
    return pieces_of[0] if pieces_of else None


class Queue:
    """A CUDA stream; where there are none, work is done at once."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def wait(self, event: Any) -> None:
        """What comes later waits for it."""
        if self.stream is not None and event is not None:
            self.stream.wait_event(event)

    def mark(self) -> Any:
        """An event: all so far is done."""
        return None if self.stream is None else self.stream.record_event()

    def copy(self, into: Tensor, source: Tensor) -> None:
        if self.stream is None:
            into.copy_(source)
            return
        with load_torch().cuda.stream(self.stream):
            into.copy_(source, non_blocking=True)


class Offloader:
    """Brings pieces of blocks to a device and back, beside the work on others."""

    def __init__(self, device: torch.device) -> None:
        self.torch, self.device = load_torch(), device
        self.slabs: list[Tensor] = []
        """Bytes on the device, a slice in each."""
        self._free: list[Any] = []  # events: when each slab may be written to again
        self._turn = 0  # slices so far

    def _here(self) -> Queue:
        """Where the work is done."""
        cuda = self.device.type == "cuda"
        return Queue(self.torch.cuda.current_stream(self.device) if cuda else None)

    @cached_property
    def _in_and_out(self) -> tuple[Queue, Queue]:
        """Made when they are wanted, once."""
        cuda = self.device.type == "cuda"
        first, second = (self.torch.cuda.Stream(self.device) if cuda else None for _ in "io")
        return Queue(first), Queue(second)

    def reserve(self, size: int) -> None:
        """Slabs for slices of so many bytes."""
        if self.slabs and len(self.slabs[0]) >= size:
            return
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)
        self.slabs = []  # gives them back first
        self.slabs = [
            self.torch.empty(size, dtype=self.torch.uint8, device=self.device)
            for _ in range(BUFFERS)
        ]
        self._free = [self._here().mark()] * BUFFERS

    def carry(
        self, places: list[Place], mine: StreetNumbers, theirs: StreetNumbers, *, learns: bool
    ) -> Iterator[tuple[Place, StreetNumbers, StreetNumbers]]:
        """Both sides on one place after another; what is `mine` goes back where it `learns`.

        A piece is worked on until the next one is asked for.
        """
        blocks, (inward, outward) = [*mine, *theirs], self._in_and_out
        moved = {j: block for j, block in enumerate(blocks) if isinstance(block, OffloadedBlock)}
        self.reserve(sum(len(block.bytes_of(0)) for block in moved.values()))
        came: list[Any] = []

        def room(k: int) -> dict[int, Tensor]:
            """The bytes on the device where piece `k` of each block goes."""
            slab = self.slabs[(self._turn + k) % BUFFERS]
            ends = accumulate((len(block.bytes_of(k)) for block in moved.values()), initial=0)
            return {j: slab[a:b] for j, (a, b) in zip(moved, pairwise(ends), strict=True)}

        def fetch(k: int) -> None:
            inward.wait(self._free[(self._turn + k) % BUFFERS])
            for j, raw in room(k).items():
                inward.wait(moved[j].landed[k])
                inward.copy(raw, moved[j].bytes_of(k))
            came.append(inward.mark())

        fetch(0)
        for k, place in enumerate(places):
            if k + 1 < len(places):
                fetch(k + 1)
            here, slab, raws = self._here(), (self._turn + k) % BUFFERS, room(k)
            here.wait(came[k])
            there = [
                None if block is None or j in moved else keeping.cut(block, place.units)
                for j, block in enumerate(blocks)
            ]
            for j, raw in raws.items():
                there[j] = keeping.laid(moved[j].kind, moved[j].shape_of(k), raw)
            try:
                yield place, StreetNumbers(*there[: len(mine)]), StreetNumbers(*there[len(mine) :])
            finally:  # also where somebody breaks off
                self._free[slab] = here.mark()
            if learns:
                outward.wait(self._free[slab])
                back = [j for j in moved if j < len(mine)]
                for j in back:
                    outward.copy(moved[j].bytes_of(k), raws[j])
                self._free[slab] = done = outward.mark()
                for j in back:
                    moved[j].landed[k] = done
        self._turn += len(places)
