"""Bucketed streets on a device: regrets and averages ``[action, bucket]``, added up over hands.

The kernels of a sweep work on hands, so a bucketed street is spread out for them, some boards at a
time, and what they find is added up again. The regret of a bucket is the sum over its hands on all
boards, each as likely as chance makes it: by its board, and by its own weight at the root, which is
no part of the counterfactual values that a sweep has. The average adds up reach times strategy.

Sums run in a fixed order: hands of a bucket lie in lines, a program adds up whole lines, and lines
of one bucket are added up in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Mode
from subgame.engines.rounding import WIDTH
from subgame.engines.torch.layout import Level
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import Kept
from subgame.engines.torch.torch_ops import (
    Paid,
    Place,
    StreetNumbers,
    Task,
    discounted,
    faded,
    predicted,
)
from subgame.errors import SubgameError
from subgame.tree.ranges.buckets import Buckets, check_not_merged
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    import torch

Tensor = Any
Ints = NDArray[np.int64]
LONGEST = 1024
"""Numbers in a line, at most; a bucket with more of them has several."""


class Line(NamedTuple):
    """Lines of equal length."""

    index: Tensor  # [line, k] what is added up; -1: no more
    first: int  # the column its first sum goes to


class Sums:
    """Adds numbers up by the bucket of their place, in a fixed order."""

    def __init__(self, of: Ints, device: torch.device | str) -> None:
        """`of` has the bucket of each place; what is negative is left out."""
        torch = load_torch()
        small = of.max(initial=0) < np.iinfo(np.int16).max  # which NumPy sorts in linear time
        order = np.argsort(of.astype(np.int16) if small else of, kind="stable")
        order = order[np.searchsorted(of[order], 0) :]
        used, start, count = np.unique(of[order], return_index=True, return_counts=True)
        parts = -(-count // LONGEST)
        bucket = np.repeat(np.arange(len(used)), parts)
        nth = np.arange(len(bucket)) - np.repeat(np.cumsum(parts) - parts, parts)
        begin = start[bucket] + nth * LONGEST
        size = np.minimum(count[bucket] - nth * LONGEST, LONGEST)
        # Lengths are powers of two, two at least: so Triton has them.
        wide = np.maximum(2, 1 << np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64))
        self.lines: list[Line] = []
        column, columns = [], 0
        for length in np.unique(wide).tolist():
            here = np.flatnonzero(wide == length)
            k = np.arange(length)
            at = order[np.minimum(begin[here, None] + k, len(order) - 1)]
            index = np.where(k < size[here, None], at, -1).astype(np.int32)
            self.lines.append(Line(torch.from_numpy(index).to(device), columns))
            columns += len(here)
            column.append(bucket[here])
        of_column = np.concatenate([np.zeros(0, np.int64), *column])
        self.columns = columns
        self.rest = Sums(of_column, device) if columns > len(used) else None
        """What adds up the lines of one bucket."""
        self.buckets: Ints = used[self.rest.buckets if self.rest else of_column]
        """[k] what the sums are of."""
        self.where = torch.from_numpy(self.buckets).to(device)

    def of(self, ops: Any, data: Tensor, weight: Tensor | None, row: Tensor | None) -> Tensor:
        """[action, k] sums of ``data[action] * weight[row[action]]``, both ``[.., place]``."""
        out = data.new_empty((data.shape[0], self.columns))
        for line in self.lines:
            ops.add_lines(data, weight, row, line.index, out[:, line.first :])
        return out if self.rest is None else self.rest.of(ops, out, None, None)


class Seats:
    """Which bucket each place of a street belongs to; players who hold the same hands share it."""

    def __init__(
        self, of: NDArray[np.int32], root: Tensor, count: int, device: torch.device | str
    ) -> None:
        torch = load_torch()
        self.host, self.root, self.count, self.device = of, root, count, device
        self.of = torch.from_numpy(np.maximum(of, 0)).to(device)  # [unit, h]
        self.real = torch.from_numpy(of >= 0).to(device)
        first, real = np.zeros(count, np.int64), np.flatnonzero(of >= 0)[::-1]
        first[of.ravel()[real]] = real
        self.first = torch.from_numpy(first).to(device)
        """[bucket] its first place."""
        self._sums: dict[tuple[int, int], Sums] = {}

    def sums(self, units: slice) -> Sums:
        """What adds up some boards; made once."""
        key = (units.start, units.stop)
        if key not in self._sums:
            self._sums[key] = Sums(self.host[units].ravel().astype(np.int64), self.device)
        return self._sums[key]


class Shares:
    """One player's buckets on one street: the shapes of blocks, and how hands are weighed."""

    def __init__(self, seats: Seats, chance: Tensor, roots_above: Ints, roots: int) -> None:
        torch, device = load_torch(), seats.device
        self.seats, self.edges = seats, len(roots_above)
        shape = (1 + roots, *seats.of.shape)
        self.weight = torch.zeros(shape, device=device)
        """[1 + root, unit, h] chance of the board alone, and with the hand's own at each root."""
        self.weight[:] = chance[:, None] * seats.real
        self.by_root = torch.from_numpy(1 + roots_above.astype(np.int32)).to(device)
        self.by_board = torch.zeros_like(self.by_root)
        self.gained = torch.zeros((2, self.edges, seats.count), device=device)
        """What an iteration adds to regrets and average, while its boards are gone through."""

    def weigh(self, reach: Tensor | None) -> None:
        """Take a player's reach at the roots, ``[root, unit, hand]``, for chance; None: all 1."""
        root = self.seats.root.flatten()
        known = 1.0 if reach is None else reach.flatten(1).index_select(1, root.clamp(min=0))
        flat = self.weight.flatten(1)
        flat[1:] = flat[:1] * known

    def blank(self) -> Bucketed:
        """Zeros."""
        values = self.weight.new_zeros((self.edges, self.seats.count))
        return Bucketed(self, values, slice(0, self.seats.of.shape[0]))

    def gain(self, ops: Any, k: int, block: Tensor, units: slice) -> None:
        """Add up numbers of some boards: regrets (0), or strategy along a reach (1)."""
        if not self.edges:
            return
        sums, row = self.seats.sums(units), (self.by_root, self.by_board)[k]
        gained = sums.of(ops, block.flatten(1), self.weight[:, units].flatten(1), row)
        self.gained[k][:, sums.where] += gained  # each bucket is there once

    def learn(self, numbers: StreetNumbers, rates: Tensor) -> None:
        """An iteration's end: all boards have been gone through."""
        regret, total = self.gained
        assert isinstance(numbers.weights, Bucketed)
        w = numbers.weights.values
        w.copy_(discounted(w, rates, regret))
        if numbers.average is not None:
            kept = numbers.average.values
            kept.copy_(faded(kept, rates, total))
        if numbers.instant is not None:
            numbers.instant.values.copy_(regret)


class Bucketed(Kept):
    """A block ``[action, unit, hand]`` in which the hands of a bucket have the same numbers."""

    kind = "float32"

    def __init__(self, shares: Shares, values: Tensor, units: slice) -> None:
        self.shares, self.values, self.units = shares, values, units
        self.tensors = (values,)

    @property
    def shape(self) -> tuple[int, int, int]:
        return (len(self.values), *self.shares.seats.of[self.units].shape)

    def spread(self, values: Tensor, units: slice) -> Tensor:
        """Numbers of buckets ``[action, bucket]`` for the hands on some of its boards."""
        begin = self.units.start
        of = self.shares.seats.of[begin + units.start : begin + units.stop]
        return values.index_select(1, of.flatten()).unflatten(1, of.shape)

    def load(self, actions: Any, dtype: torch.dtype) -> Tensor:
        some, whole = self.values[actions], slice(0, self.shape[1])
        one = some.ndim == 1  # a number chooses one action, a slice several
        numbers = self.spread(some[None] if one else some, whole)
        return (numbers[0] if one else numbers).to(dtype)

    def peek(self, units: slice) -> Tensor:
        return self.spread(self.values, units)

    def cut(self, units: slice) -> Bucketed:
        begin = self.units.start
        return Bucketed(self.shares, self.values, slice(begin + units.start, begin + units.stop))

    def clone(self) -> Bucketed:
        return Bucketed(self.shares, self.values.clone(), self.units)

    def copy_(self, other: Bucketed | Tensor) -> Bucketed:
        """From a block like it, or from numbers that are the same within every bucket."""
        if isinstance(other, Bucketed):
            self.values.copy_(other.values)
            return self
        seats = self.shares.seats
        values = other.flatten(1).index_select(1, seats.first)
        for action in range(len(values)):  # one at a time: what comes may be large
            same = self.spread(values[action][None], slice(0, self.shape[1]))[0] == other[action]
            if not bool((same | ~seats.real).all()):
                raise SubgameError("Hands that share a bucket must have the same numbers to read.")
        self.values.copy_(values)
        return self


class BucketOps:
    """The operations of a sweep, by other operations, where some blocks are `Bucketed`.

    Such blocks are spread out for as many boards at a time as `scratch` bytes hold.
    """

    def __init__(self, inner: Any, scratch: int) -> None:
        self.inner, self.scratch, self.device = inner, scratch, inner.device
        self.none = load_torch().zeros(WIDTH, device=inner.device)  # nothing is kept of what was

    def __getattr__(self, name: str) -> Any:
        """What has nothing to do with buckets: `terminals`, `rise`, `rehearsal`."""
        return getattr(self.inner, name)

    def _pieces(self, place: Place, block: Bucketed, blocks: int) -> Iterator[tuple[Place, slice]]:
        """Boards for which so many blocks fit, and where they are among those of `place`."""
        actions, boards, wide = block.shape
        step = max(1, self.scratch // max(1, 4 * blocks * actions * wide))
        for at in range(0, boards, step):
            some = slice(at, min(at + step, boards))
            begin = place.units.start
            units = slice(begin + some.start, begin + some.stop)
            yield place.some(some)._replace(units=units), some

    def _spread(self, task: Task, some: slice) -> Tensor:
        """[action, u, h] weights that are played in proportion; predictions are in them."""
        numbers, rates = task.numbers, task.rates
        assert isinstance(numbers.weights, Bucketed)
        w = numbers.weights.values
        if numbers.instant is not None:
            w = predicted(w, numbers.instant.values, rates)
        return numbers.weights.spread(w, some)

    def descend(self, task: Task, lanes: bool = True) -> tuple[Tensor, Tensor]:
        tasks: Iterable[Task] = [task]
        block = task.numbers.weights
        if isinstance(block, Bucketed):  # one piece is spread at a time
            tasks = (
                task._replace(place=piece, numbers=StreetNumbers(self._spread(task, some)))
                for piece, some in self._pieces(task.place, block, 1)
            )
        made = list(map(self.inner.descend, tasks, repeat(lanes)))
        if len(made) == 1:
            return made[0]  # type: ignore[no-any-return]
        cat = load_torch().cat
        return cat([lane for lane, _ in made], 1), cat([leaf for _, leaf in made], 1)

    def settle(self, task: Task, mode: int, paid: Paid, into: Tensor) -> None:
        place, numbers, block = task.place, task.numbers, task.numbers.weights
        if not isinstance(block, Bucketed):
            self.inner.settle(task, mode, paid, into)
            return
        if mode == Mode.RESPOND:
            raise SubgameError(
                "A best response sees hands, not buckets: give its player "
                "regrets(p, bucketed=False)."
            )
        shares, learns, whole = block.shares, mode == Mode.LEARN, place.level.units
        averages = learns and numbers.average is not None
        if learns and place.units.start == 0:
            shares.gained.zero_()
        for piece, some in self._pieces(place, block, 1 + averages):
            spread = self._spread(task, some)
            total = load_torch().zeros_like(spread) if averages else None
            here = tuple(_cut(part, some) for part in paid)
            # With nothing kept of what was there, regrets and averages are this iteration's.
            rates = self.none if learns else task.rates
            self.inner.settle(
                task._replace(place=piece, numbers=StreetNumbers(spread, total), rates=rates),
                mode,
                here,
                into[:, some],
            )
            if learns:
                shares.gain(self.inner, 0, spread, piece.units)
            if total is not None:
                shares.gain(self.inner, 1, total, piece.units)
        if learns and place.units.stop == whole and not self.inner.rehearsing:
            shares.learn(numbers, task.rates)


def _cut(paid: Any, some: slice) -> Any:
    """Some boards of what terminals or leaves pay."""
    if isinstance(paid, tuple):
        return tuple(_cut(part, some) for part in paid)
    return None if paid is None else paid[:, some]


def check_tree(buckets: Buckets | None, tree: RangeTree) -> None:
    """Refuse buckets of another tree."""
    if buckets is not None and buckets.tree is not tree:
        check_not_merged(tree)
        raise SubgameError("The buckets were made for another tree.")


def counted(buckets: Buckets | None, streets: int) -> dict[int, int]:
    """How many buckets there are, by street; streets are the last ones of their tree."""
    if buckets is None:
        return {}
    top = len(buckets.tree.streets) - streets
    return {s - top: grouping.count for s, grouping in buckets.groupings.items() if s >= top}


def seat(
    buckets: Buckets, levels: list[Level], places: list[Place], device: torch.device | str
) -> dict[tuple[int, int], Shares]:
    """Per street and player how `buckets` group hands; streets are the last ones of their tree."""
    torch = load_torch()
    top = len(buckets.tree.streets) - len(levels)
    out: dict[tuple[int, int], Shares] = {}
    for p in (0, 1):
        root = places[0].tables[p].above
        for s, (level, place) in enumerate(zip(levels, places, strict=True)):
            if s > 0:
                above = place.tables[p].above
                roots = root.flatten().index_select(0, above.flatten().clamp(min=0))
                root = torch.where(above >= 0, roots.view(above.shape), -1)
            grouping = buckets.groupings.get(s + top)
            if grouping is None:
                continue
            twin = out.get((s, 0))
            if p == 1 and twin and place.tables[0] is place.tables[1]:
                seats = twin.seats
            else:
                seats = Seats(_places(buckets, s + top, p, level), root, grouping.count, device)
            chance = torch.from_numpy(grouping.weight).to(device, torch.float32)
            out[s, p] = Shares(seats, chance, _roots_above(levels, p)[s], levels[0].bets[p].roots)
    return out


def _places(buckets: Buckets, s: int, p: int, level: Level) -> NDArray[np.int32]:
    """[unit, h] buckets, after checking that they are for these boards and hands."""
    hands, units = level.hands[p], len(buckets.groupings[s].of)
    if units != level.units:
        raise SubgameError(f"These buckets are for {units:,} boards, not for {level.units:,}.")
    result = buckets.places(s, p, hands.wide)
    if not np.array_equal(result >= 0, np.arange(hands.wide) < hands.held[:, None]):
        raise SubgameError("The buckets were made for the hands of another tree.")
    return result


def _roots_above(levels: list[Level], p: int) -> list[Ints]:
    """Per street and action of player `p`: the root of the first street that it lies below."""
    here, out = list(range(levels[0].bets[p].roots)), []
    for bet in (level.bets[p] for level in levels):
        root = bet.spread(here)
        out.append(np.array(root[bet.roots :], dtype=np.int64))
        here = [root[row] for row in bet.leaves]
    return out
