"""One traversal of a hold'em tree on a device: reach down, terminals, values up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from subgame.engines.contract import Mode, Regrets
from subgame.engines.devices import check_storage
from subgame.engines.torch import offload
from subgame.engines.torch import storage as keeping
from subgame.engines.torch.blocks import on_street
from subgame.engines.torch.layout import Level
from subgame.engines.torch.memory import Needs, aligned, slice_of
from subgame.engines.torch.offload import Offloader
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.torch_ops import Place, StreetNumbers, Task

Tensor = Any


class Sweep(NamedTuple):
    """One traversal. Axes at the roots: ``[way, board, hand]``."""

    p: int
    mode: Mode
    mine: Regrets
    theirs: Regrets
    rates: Tensor
    ahead: Tensor
    own: Tensor | None
    """The traverser's reach, along which an average is kept."""
    other: Tensor
    """The opponent's reach; working arrays have its precision."""

    @property
    def kind(self) -> tuple[Any, ...]:
        """What kernels are compiled for."""
        played = None if self.mode == Mode.BEST else self.mine.regret
        numbers = (played, *self.mine[1:], *self.theirs._replace(average=None))
        kept = [
            None if number is None else tuple(map(keeping.kind_of, number.weights.blocks))
            for number in numbers
        ]
        return self.p, self.mode, self.other.dtype, *kept


class Traversals:
    """Kernels on a device bound to the betting and the boards of some streets."""

    def __init__(
        self,
        levels: list[Level],
        places: list[Place],
        ops: Any,
        needs: Needs,
        boards: int,
        offloader: Offloader,
    ) -> None:
        self.levels, self.places, self.ops, self.needs = levels, places, ops, needs
        self.torch, self.device = load_torch(), ops.device
        self.frames, self.storage = needs.frames, check_storage(needs.storage)
        self.scratch, self.triton = needs.scratch, needs.triton
        self.boards, self.offloader = boards, offloader
        self._rehearsed: set[Any] = set()

    def _slices(
        self, s: int, p: int, size: int, pieces: list[slice] | None = None
    ) -> Iterator[Place]:
        """A street whole, or cut: as `pieces` are, or so that lanes and values fit the scratch."""
        place, level = self.places[s], self.levels[s]
        whole = level.units
        if level.last and pieces is None:
            whole = slice_of(self.frames[s], p, size, self.scratch, self.triton)
            whole = aligned(whole, self.storage)
        every = range(0, level.units, whole)
        for units in pieces or [slice(at, min(at + whole, level.units)) for at in every]:
            yield place if units == place.units else place.some(units)

    def _visits(
        self, s: int, job: Sweep, size: int
    ) -> Iterator[tuple[Place, StreetNumbers, StreetNumbers]]:
        """Slices of a street with both players' numbers, fetched where they are off-loaded."""
        mine = on_street(job.mine, s) if job.mode != Mode.BEST else StreetNumbers(None)
        theirs = on_street(job.theirs, s)._replace(average=None)  # which nobody plays
        pieces = offload.cuts((mine, theirs))
        places = self._slices(s, job.p, size, pieces)
        if pieces is None:
            for place in places:
                yield place, mine.cut(place.units), theirs.cut(place.units)
            return
        if self.boards:
            predictive = mine.instant is not None or theirs.instant is not None
            self.offloader.reserve(self.needs.staging(self.boards, predictive=predictive))
        learns = job.mode in (Mode.LEARN, Mode.RESPOND)
        yield from self.offloader.carry(list(places), mine, theirs, learns=learns)

    def traverse(self, job: Sweep) -> Tensor:
        """[way, board, hand] the traverser's values; learns on the way, if that is its mode."""
        self.rehearse(job)
        return self.traverse_by(self.ops, job)

    def traverse_by(self, ops: Any, job: Sweep) -> Tensor:
        """The same with given operations, whose kernels must be compiled already."""
        p, mode, o, dtype = job.p, job.mode, 1 - job.p, job.other.dtype
        own: list[Tensor | None] = [job.own]
        other: list[Tensor] = [job.other]
        lanes = []
        last = len(self.levels) - 1
        for s, place in enumerate(self.places[:last]):
            theirs = Task(place, o, on_street(job.theirs, s), job.ahead, other[s])
            lane, leaf = ops.descend(theirs)
            lanes.append(lane)
            other.append(leaf)
            reach = None
            if own[s] is not None:
                mine = Task(place, p, on_street(job.mine, s), job.rates, own[s])
                reach = ops.descend(mine, lanes=False)[1]
            own.append(reach)
        below: Tensor | None = None
        for s in range(last, -1, -1):
            level = self.levels[s]
            shape = (level.bets[p].roots, level.units, level.hands[p].wide)
            result: Tensor = self.torch.empty(shape, dtype=dtype, device=self.device)
            for place, ours, others in self._visits(s, job, result.element_size()):
                if s == last:
                    lane, _ = ops.descend(Task(place, o, others, job.ahead, other[s]))
                else:
                    lane = lanes[s]
                paid = (*ops.terminals(place, p, lane), below)
                here = Task(place, p, ours, job.rates, own[s])
                ops.settle(here, mode, paid, result[:, place.units])
            if s > 0:
                below = ops.rise(self.places[s - 1], self.places[s], p, result)
        return result

    def is_new(self, job: Sweep) -> bool:
        """Whether kernels of a sweep may have to be compiled."""
        return self.device.type == "cuda" and self.triton and job.kind not in self._rehearsed

    def rehearse(self, *jobs: Sweep) -> None:
        """Compile the kernels of some sweeps side by side, before the first of their kind."""
        kinds = {job.kind: job for job in jobs if self.is_new(job)}
        if not kinds:
            return
        self._rehearsed.update(kinds)
        with self.ops.rehearsal():
            for job in kinds.values():
                self.traverse_by(self.ops, job)
