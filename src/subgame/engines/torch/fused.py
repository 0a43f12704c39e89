"""Sweeps by fused kernels: a launch per street and operation, whatever the betting.

`FusedOps` has the methods of `TorchOps`; it learns in float32 and evaluates in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from subgame.engines.contract import Array, Mode
from subgame.engines.torch import codegen
from subgame.engines.torch import triton_kernels as kernels
from subgame.engines.torch.layout import pow2
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import LINE, Block, Scaled, kind_of
from subgame.engines.torch.torch_ops import Paid, Place, Task, Tensor, cancelled
from subgame.memory import cores

if TYPE_CHECKING:
    import torch

BLOCK, WARPS = LINE, 4
"""Hands per program of a street's walk, and its warps."""
LAYOUT = kernels.gl.BlockedLayout([BLOCK // (32 * WARPS)], [32], [WARPS], [0])
"""A thread holds neighbouring hands, and so do the threads of a warp."""
COMPILERS = 8
"""Threads that compile kernels at the same time, at most. Processes took longer."""
STEP, SHOW_WARPS = 8, 4
"""Lanes per program of the showdowns one after another, and its warps."""
LINES = 1024
"""Numbers that a program adds up by bucket at once, for `STEP` actions one after another."""
_WRITTEN: dict[str, Any] = {}
"""Kernels by their text: engines share what is compiled."""


@cache
def _wake() -> None:
    """Have Triton compile something in the background, once in a process.

    It first reads all of its own files, to name those in its cache. That takes a second, in which
    an engine makes its tables.
    """
    torch, pool = load_torch(), ThreadPoolExecutor(1)
    kinds = (torch.float32, torch.int16, torch.float64, torch.int64, torch.float32)
    numbers = (16, 16, 16, 16)
    pool.submit(
        lambda: kernels.add_up.warmup(*kinds, *numbers, grid=(1, 1, 1), BLOCK=256, num_warps=4)
    )
    pool.shutdown(wait=False)


def _compile(kernel: Any, kinds: list[Any], grid: tuple[int, ...], options: Any) -> None:
    """Compile a kernel and, by a C compiler, what launches it."""
    _ = kernel.warmup(*kinds, grid=grid, **options).run


def _case(kind: Any, parameter: Any) -> Any:
    """For which type of tensor, or integers like this, Triton compiles a kernel."""
    if not isinstance(kind, int):
        return kind
    return not parameter.do_not_specialize and (kind == 1, kind % 16 == 0)


def _data(block: Block) -> tuple[Tensor, Tensor]:
    """A block's numbers and its scales; numbers without scales stand for both."""
    return (block.ints, block.scales) if isinstance(block, Scaled) else (block, block)


class FusedOps:
    """The operations of a sweep as Triton kernels, compiled once for all betting of one shape."""

    def __init__(self, device: torch.device) -> None:
        self.torch, self.device = load_torch(), device
        self.tl = kernels.tl
        self._built: dict[Any, list[tuple[Any, Tensor, Tensor]]] = {}
        self._lists: dict[int, Tensor] = {}
        self._alive: list[Any] = []  # what an id in the keys above stands for
        self._rehearsed: set[Any] = set()
        self._pool: ThreadPoolExecutor | None = None  # there while kernels are only compiled
        if device.type == "cuda":
            _wake()

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Kernels are not run meanwhile but compiled, several at a time.

        An error comes again when they are run, with all there is to say.
        """
        cuda = self.torch.cuda
        here = cuda.current_device() if self.device.index is None else self.device.index
        with ThreadPoolExecutor(min(COMPILERS, cores()), "", cuda.set_device, (here,)) as pool:
            self._pool = pool
            try:
                yield
            finally:
                self._pool = None
        self._rehearsed.clear()

    @property
    def rehearsing(self) -> bool:
        """Whether kernels are only compiled, so that nobody should learn from what they found."""
        return self._pool is not None

    def _launch(self, kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
        """Run a kernel, or have it compiled."""
        if self._pool is None:
            kernel[grid](*args, **options)
            return
        kinds = [getattr(arg, "dtype", arg) for arg in args]
        cases = map(_case, kinds, kernel.params)  # constants come after the arguments
        key = (id(kernel), *cases, *map(str, options.values()))
        if key not in self._rehearsed:
            self._rehearsed.add(key)
            self._pool.submit(_compile, kernel, kinds, grid, options)

    def _dtype(self, dtype: torch.dtype) -> Any:
        return self.tl.float64 if dtype == self.torch.float64 else self.tl.float32

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return self.torch.empty(shape, dtype=dtype, device=self.device)

    def _kernels(
        self, key: tuple[Any, ...], place: Place, p: int, foreseen: bool, storage: str
    ) -> list[tuple[Any, Tensor, Tensor]]:
        """The kernels of a street for one player, one per shape of betting, with their tables."""
        full = (id(place.level), p, foreseen, storage, *key)
        if full not in self._built:
            made = []
            for part in codegen.parts(place.level.bets[p]):
                script = codegen.Script(part.shape, foreseen=foreseen, storage=storage)
                text = script.descend(key[1]) if key[0] == "descend" else script.settle(*key[1:])
                kernel = _WRITTEN.get(text)
                if kernel is None:
                    sizes = {node.actions for node in part.shape.infosets}
                    kernel = codegen.build(text, key[0], sorted(sizes), kernels)
                    _WRITTEN[text] = kernel
                made.append((kernel, self._put(part.table), self._put(part.chips)))
            self._built[full] = made
            self._alive.append(place.level)
        return self._built[full]

    def _put(self, array: Array) -> Tensor:
        return self.torch.from_numpy(array).to(self.device)

    def descend(self, task: Task, lanes: bool = True) -> tuple[Tensor, Tensor]:
        """The player's reach in the lanes, and at the leaves."""
        place, p, numbers, rates, above = task
        level, dtype = place.level, above.dtype
        bet, wide = level.bets[p], level.hands[p].wide
        shape = (place.boards, wide)
        leaves = self._empty((len(bet.leaves), *shape), dtype)
        out = self._empty((max(1, len(bet.lanes)), *shape), dtype) if lanes else leaves
        size, kind = place.boards * wide, kind_of(numbers.weights)
        foreseen = numbers.instant is not None
        weights, scales = _data(numbers.weights)
        instant, instant_scales = _data(numbers.instant) if foreseen else (weights, scales)
        for kernel, table, chips in self._kernels(("descend", lanes), place, p, foreseen, kind):
            self._launch(
                kernel,
                (-(-size // BLOCK), len(table)),
                *(weights, scales, instant, instant_scales, above, place.tables[p].above),
                *(out, leaves, rates, table, chips, size),
                *(weights.stride(0), scales.stride(0), above.stride(0), size, size),
                BLOCK=BLOCK,
                DT=self._dtype(dtype),
                LAYOUT=LAYOUT,
                num_warps=WARPS,
            )
        return out[: len(bet.lanes) if lanes else 0], leaves

    def terminals(self, place: Place, p: int, lanes: Tensor) -> tuple[Tensor, Any]:
        """Player `p`'s values at showdowns, before chips; of folds, sums per card and the lanes."""
        bet, hands = place.level.bets[1 - p], place.level.hands
        wide, own, theirs = hands[p].wide, place.tables[p], place.tables[1 - p]
        many, (_, cards, depth) = len(bet.lanes), theirs.lists.shape
        shown = self._empty((max(1, bet.shown), place.boards, wide), lanes.dtype)
        met = self._empty((max(1, many - bet.folded), place.boards, cards), lanes.dtype)
        if many:
            self._launch(
                kernels.terminals,
                (place.boards, -(-many // STEP)),
                *(lanes, shown, met, theirs.lists, own.bounds, own.spots),
                *(many, bet.shown, bet.folded, place.boards, hands[1 - p].wide, wide),
                *(lanes.stride(0), shown.stride(0)),
                HANDS=pow2(max(hands[0].wide, hands[1].wide) + 1),
                CARDS=cards,
                DEPTH=depth,
                CANCELLED=cancelled(lanes.dtype),
                STEP=STEP,
                num_warps=SHOW_WARPS,
            )
        return shown, (met, lanes[bet.folded :])

    def settle(self, task: Task, mode: int, paid: Paid, into: Tensor) -> None:
        """The player's values up through a street, `into`; learns, or answers, on the way."""
        (place, p, numbers, rates, above), (shown, (met, lanes), below) = task, paid
        level, wide = place.level, place.level.hands[p].wide
        size = place.boards * wide
        average = mode != Mode.BEST and numbers.average is not None
        foreseen = numbers.instant is not None
        if average and above is None:
            raise AssertionError("An average is kept along a reach.")
        none, own, kind = into, place.tables[p], kind_of(numbers.weights)
        weights, scales = (none, none) if numbers.weights is None else _data(numbers.weights)
        averages = _data(numbers.average) if average else (none, none)
        instants = _data(numbers.instant) if foreseen else (none, none)
        below = none if below is None else below
        above = none if above is None else above
        key = ("settle", mode, average)
        for kernel, table, chips in self._kernels(key, place, p, foreseen, kind):
            self._launch(
                kernel,
                (-(-size // BLOCK), len(table)),
                *(weights, scales, *averages, *instants, above, own.above, shown, met, lanes),
                *(own.cards, own.same, below, into, rates, table, chips),
                *(size, place.units.start * wide),
                *(tensor.stride(0) for tensor in (weights, scales, above, shown)),
                *(tensor.stride(0) for tensor in (met, lanes, below, into)),
                *(wide, level.hands[1 - p].wide),
                CARDS=met.shape[2],
                CANCELLED=cancelled(into.dtype),
                BLOCK=BLOCK,
                DT=self._dtype(into.dtype),
                LAYOUT=LAYOUT,
                num_warps=WARPS,
            )

    def _on_device(self, array: object) -> Tensor:
        """A small table of a level, moved once."""
        if id(array) not in self._lists:
            self._lists[id(array)] = self._put(array)
            self._alive.append(array)
        return self._lists[id(array)]

    def rise(self, above: Place, place: Place, p: int, result: Tensor) -> Tensor:
        """[leaf, u, h] values at the leaves `above`, from those at the roots of `place`.

        Boards are added up in segments first, to have enough programs.
        """
        here, wide = place.level, above.level.hands[p].wide
        leaves, count, units = result.shape[0], len(here.segments), above.level.units
        part = self._empty((leaves, count, wide), result.dtype)
        block = min(256, pow2(wide))
        self._launch(
            kernels.add_up,
            (count, leaves, -(-wide // block)),
            *(result, place.tables[p].below, place.weight, self._on_device(here.segments), part),
            *(here.units, here.hands[p].wide, wide, count),
            BLOCK=block,
            num_warps=4,
        )
        out = self._empty((leaves, units, wide), result.dtype)
        orbit = above.tables[p].orbit
        block = min(64, block)
        self._launch(
            kernels.even_out,
            (units, leaves, -(-wide // block)),
            *(part, orbit, self._on_device(here.segment_at), out, units, wide, count),
            ORBIT=orbit.shape[2],
            BLOCK=block,
            num_warps=2,
        )
        return out

    def add_lines(
        self, data: Tensor, weight: Tensor | None, row: Tensor | None, index: Tensor, into: Tensor
    ) -> None:
        """Sums by bucket, see `TorchOps.add_lines`."""
        lines, length = index.shape
        weighted, rows = weight is not None, max(1, LINES // length)
        self._launch(
            kernels.add_lines,
            (-(-lines // rows), -(-len(data) // STEP)),
            data,
            weight if weighted else data,
            row if weighted else index,
            *(index, into, len(data), lines, data.stride(0)),
            *(weight.stride(0) if weight is not None else 0, into.stride(0)),
            WEIGHTED=weighted,
            LENGTH=length,
            ROWS=rows,
            STEP=STEP,
            num_warps=4,
        )
