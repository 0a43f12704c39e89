"""The operations of a sweep in plain PyTorch: the reference of the fused kernels, on any device.

Blocks are ``[row, unit, hand]``. A *slice* of a street is some of its boards; only the last
street is ever cut, where the blocks would not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from subgame.engines.arrays import regret_matching
from subgame.engines.contract import Mode
from subgame.engines.rounding import CANCELLED
from subgame.engines.torch import storage
from subgame.engines.torch.layout import Betting, Level, Tables
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import AVERAGE, REGRET, Block, Chance

if TYPE_CHECKING:
    import torch

Tensor = Any
CELLS = 1 << 26
"""Numbers that per-card sums may take at a time."""


class StreetNumbers(NamedTuple):
    """What one player plays and keeps on one street, each ``[action, unit, hand]``.

    `weights` are regrets, or any numbers that are played in proportion.
    """

    weights: Block | None
    average: Block | None = None
    instant: Block | None = None

    def cut(self, units: slice) -> StreetNumbers:
        """Some boards of it."""
        return StreetNumbers(
            *(None if block is None else storage.cut(block, units) for block in self)
        )


class Place(NamedTuple):
    """Where an operation works: a street and some of its boards."""

    level: Level
    tables: tuple[Tables, Tables]
    weight: Tensor  # [u]
    units: slice

    @property
    def boards(self) -> int:
        return int(self.units.stop - self.units.start)

    def some(self, units: slice) -> Place:
        """Some of its boards; where the players share tables, they share those cut."""
        one, two = self.tables
        mine = one.cut(units)
        yours = mine if two is one else two.cut(units)
        return Place(self.level, (mine, yours), self.weight[units], units)


class Task(NamedTuple):
    """What one player does on some boards of a street."""

    place: Place
    p: int
    numbers: StreetNumbers
    rates: Tensor
    above: Tensor  # [root, unit, hand] the player's reach at the leaves above; None: not needed


Paid = tuple[Tensor, Any, Tensor | None]
"""Values at showdowns, after folds, and at the leaves."""


class TorchOps:
    """Sweeps made of PyTorch operations, one per decision and quantity."""

    rehearsing = False

    def __init__(self, device: torch.device) -> None:
        self.torch = load_torch()
        self.device = device

    def enter(self, place: Place, p: int, above: Tensor) -> Tensor:
        """[root, u, h] reach at the roots, from that at the leaves above ``[root, unit, hand]``."""
        index = place.tables[p].above.long()
        reach = above.flatten(1)[:, index.clamp(min=0)]
        return reach * (index >= 0)

    def _strategy(
        self, numbers: StreetNumbers, rows: slice, rates: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """[action, u, h] regret matching, on predicted regrets if there are any, with trembles."""
        w = storage.load(numbers.weights, rows, dtype)
        if numbers.instant is not None:
            w = predicted(w, storage.load(numbers.instant, rows, dtype), rates)
        return regret_matching(w, 0) * (1 - len(w) * rates[9]) + rates[9]

    def reach(
        self, bet: Betting, numbers: StreetNumbers, rates: Tensor, entry: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Reach and strategy of every row."""
        shape = (bet.rows, *entry.shape[1:])
        reach = self.torch.empty(shape, dtype=entry.dtype, device=self.device)
        sigma = self.torch.empty_like(reach)
        reach[: bet.roots] = entry
        for node in bet.infosets:
            rows = slice(node.first, node.first + node.actions)
            edges = slice(rows.start - bet.roots, rows.stop - bet.roots)
            sigma[rows] = self._strategy(numbers, edges, rates, entry.dtype)
            reach[rows] = reach[node.parent] * sigma[rows]
        return reach, sigma

    def descend(self, task: Task, lanes: bool = True) -> tuple[Tensor, Tensor]:
        """The player's reach in the lanes (if they are wanted), and at the leaves."""
        place, p, numbers, rates, above = task
        bet = place.level.bets[p]
        reach, _ = self.reach(bet, numbers, rates.to(above.dtype), self.enter(place, p, above))
        return reach[bet.lanes if lanes else []], reach[bet.leaves]

    def terminals(self, place: Place, p: int, lanes: Tensor) -> tuple[Tensor, Tensor]:
        """Player `p`'s values at showdowns and after folds, before chips, from the other's lanes.

        Hands lie by rank. With prefix sums that start at minus half of their end, those before
        and after a hand's own rank add up to weaker minus stronger; the same sums per card take
        out the hands that cannot be held beside it, and the hand itself cancels.
        """
        torch, bet = self.torch, place.level.bets[1 - p]
        wide = place.level.hands[p].wide
        units = lanes.shape[1]
        shown = lanes.new_empty((bet.shown, units, wide))
        folded = lanes.new_empty((len(bet.lanes) - bet.folded, units, wide))
        lists = place.tables[1 - p].lists
        step = max(1, CELLS // max(1, lists.numel()))
        for at in range(0, len(bet.lanes), step):
            x = torch.nn.functional.pad(lanes[at : at + step], (0, 1))
            sums = _pick(x, lists.flatten(1)).unflatten(2, lists.shape[1:]).cumsum(3)
            total, ends = x.sum(2, keepdim=True), sums[..., -1]
            own = place.tables[p]
            stop = min(at + step, bet.shown)
            if at < stop:
                some = slice(0, stop - at)
                ranks = torch.nn.functional.pad(x[some, :, :-1].cumsum(2), (1, 0)) - total[some] / 2
                cards = (sums[some] - ends[some, ..., None] / 2).flatten(2)
                value = _pick(ranks, own.bounds.flatten(1)).unflatten(2, (-1, 2)).sum(3)
                value -= _pick(cards, own.spots.flatten(1)).unflatten(2, (-1, 4)).sum(3)
                shown[at:stop] = cleared(value, total[some])
            start, stop = max(at, bet.folded), min(at + step, len(bet.lanes))
            if start < stop:
                some = slice(start - at, stop - at)
                value = _unblocked(own, x[some], ends[some])
                folded[start - bet.folded : stop - bet.folded] = value
        return shown, folded

    def opposing(self, place: Place, p: int, reach: Tensor) -> Tensor:
        """[k, u, h] the weight of the hands the opponent can hold beside each of player `p`'s."""
        lists = place.tables[1 - p].lists
        out = reach.new_empty((*reach.shape[:2], place.level.hands[p].wide))
        step = max(1, CELLS // max(1, lists.numel()))
        for at in range(0, len(reach), step):
            x = self.torch.nn.functional.pad(reach[at : at + step], (0, 1))
            ends = _pick(x, lists.flatten(1)).unflatten(2, lists.shape[1:]).sum(3)
            out[at : at + step] = _unblocked(place.tables[p], x, ends)
        return out * (place.tables[p].above >= 0)

    def settle(self, task: Task, mode: int, paid: Paid, into: Tensor) -> None:
        """The player's values up through a street, `into`; learns, or answers, on the way."""
        into.copy_(self.climb(task, mode, paid)[: len(into)])

    def climb(self, task: Task, mode: int, paid: Paid) -> Tensor:
        """What `settle` does, with the values of all rows."""
        (place, p, numbers, rates, above), (shown, folded, below) = task, paid
        bet, rates = place.level.bets[p], rates.to(shown.dtype)
        own = place.tables[p].above
        chance = Chance(rates, place.units.start * own.shape[1], own)
        sigma = shown.new_empty(0)
        if mode != Mode.BEST:
            entry = (
                shown.new_zeros((bet.roots, *shown.shape[1:]))
                if above is None
                else self.enter(place, p, above)
            )
            reach, sigma = self.reach(bet, numbers, rates, entry)
            if numbers.average is not None:
                every = slice(0, bet.edges)
                old = storage.load(numbers.average, every, shown.dtype)
                chance.keep(numbers.average, every, faded(old, rates, reach[bet.roots :]), AVERAGE)
        value = shown.new_zeros((bet.rows, place.boards, place.level.hands[p].wide))
        for end in bet.ends:
            value[end.row] += end.scale * (shown if end.showdown else folded)[end.lane]
        for k, row in enumerate(bet.leaves):
            assert below is not None
            value[row] += below[k]
        for node in reversed(bet.infosets):
            rows = slice(node.first, node.first + node.actions)
            edges = slice(rows.start - bet.roots, rows.stop - bet.roots)
            if mode in (Mode.LEARN, Mode.EVALUATE):
                best = (sigma[rows] * value[rows]).sum(0)
            else:
                best = value[rows].amax(0)
            if mode == Mode.WITHIN:  # the weights are the probabilities of locked hands, or 0
                weights = storage.load(numbers.weights, edges, shown.dtype)
                best = self.torch.where(weights.sum(0) > 0, (weights * value[rows]).sum(0), best)
            value[node.parent] += best
            if mode == Mode.LEARN:
                least, free = rates[9] * value[rows].sum(0), 1 - node.actions * rates[9]
                gain = value[rows] - (best - least) / free  # regrets are of the free choice
                old = storage.load(numbers.weights, edges, shown.dtype)
                chance.keep(numbers.weights, edges, discounted(old, rates, gain), REGRET)
                if numbers.instant is not None:
                    chance.keep(numbers.instant, edges, gain, None)
            elif mode == Mode.RESPOND:
                chosen = value[rows] >= best
                first = (chosen & (chosen.cumsum(0) == 1)).to(shown.dtype)
                chance.keep(numbers.weights, edges, first, None)
        return value

    def rise(self, above: Place, place: Place, p: int, result: Tensor) -> Tensor:
        """[leaf, u, h] values at the leaves `above`, from those at the roots of `place`."""
        torch, level = self.torch, above.level
        wide = level.hands[p].wide
        out = result.new_zeros((result.shape[0], level.units, wide))
        below, weight = place.tables[p].below, place.weight.to(result.dtype)
        step = max(1, CELLS // max(1, result.shape[0] * wide))
        for u in range(level.units):
            begin, end = level.child_at[u : u + 2].tolist()
            for at in range(begin, end, step):
                some = slice(at, min(at + step, end))
                index = below[some].long()
                values = _pick(result[:, some], index.clamp(min=0))
                scale = weight[some, None] * (index >= 0)
                out[:, u] += torch.einsum("kuh,uh->kh", values, scale)
        return self._even_out(above.tables[p].orbit, out)

    def add_lines(
        self, data: Tensor, weight: Tensor | None, row: Tensor | None, index: Tensor, into: Tensor
    ) -> None:
        """``into[action, line]``: the sum of ``data[action] * weight[row[action]]`` at a line's
        places, ``index[line]``; those that are negative are none."""
        lines, length = index.shape
        at, here = index.clamp(min=0).flatten(), index >= 0
        step = max(1, CELLS // max(1, index.numel()))
        for begin in range(0, len(data), step):
            some = slice(begin, begin + step)
            numbers = data[some].index_select(1, at)
            if weight is not None and row is not None:
                numbers = numbers * weight[row[some].long()].index_select(1, at)
            numbers = numbers.unflatten(1, (lines, length)).masked_fill(~here, 0)
            into[some, :lines] = numbers.sum(2)

    def _even_out(self, orbit: Tensor, paid: Tensor) -> Tensor:
        """Values averaged over hands that suits exchange."""
        if orbit.shape[2] == 0:
            return paid
        index = orbit.long()
        real = index >= 0
        values = _pick(paid, index.clamp(min=0).flatten(1)).unflatten(2, orbit.shape[1:])
        return (values * real).sum(3) / real.sum(2).clamp(min=1)


class RowOps(TorchOps):
    """The same, and the values of all rows are kept: by street, the last one first."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self.rows: dict[int, list[Tensor]] = {}

    def settle(self, task: Task, mode: int, paid: Paid, into: Tensor) -> None:
        rows = self.climb(task, mode, paid)
        into.copy_(rows[: len(into)])
        self.rows.setdefault(id(task.place.level), []).append(rows)


def predicted(regret: Tensor, instant: Tensor, rates: Tensor) -> Tensor:
    """Regrets as the next iteration will discount them, and those of the last one once more."""
    return regret * load_torch().where(regret > 0, rates[0], rates[1]) + instant


def faded(average: Tensor, rates: Tensor, more: Tensor) -> Tensor:
    """``kept S + more``, the average; see `engines.rounding`."""
    return average + (average * rates[8] + more)


def discounted(regret: Tensor, rates: Tensor, gain: Tensor) -> Tensor:
    """``d R + gain``, d by the sign of R; see `engines.rounding`."""
    where, above = load_torch().where, regret > 0
    fade = where(above, rates[6], rates[7])
    return regret * where(above, rates[4], rates[5]) + (regret * fade + gain)


def _unblocked(own: Tables, x: Tensor, ends: Tensor) -> Tensor:
    """Sums over all hands but those that share a card with each of the player's.

    `x` is the opponent's reach with a 0 after it, `ends` its sums by card; what has both cards
    went twice.
    """
    met = _pick(ends, own.cards.flatten(1)).unflatten(2, (-1, 2)).sum(3)
    total = x.sum(2, keepdim=True)
    return cleared(total - met + _pick(x, own.same), total)


def cancelled(dtype: torch.dtype) -> float:
    """The share of the opponent's whole reach up to which a terminal's value is rounding."""
    return CANCELLED * float(load_torch().finfo(dtype).eps)


def cleared(value: Tensor, total: Tensor) -> Tensor:
    """Values at terminals, 0 where they are `cancelled` sums of the reach `total`."""
    return value.masked_fill_(value.abs() <= cancelled(value.dtype) * total, 0)


def _pick(block: Tensor, index: Tensor) -> Tensor:
    """``block[k, u, index[u, j]]``."""
    return block.gather(2, index.long().expand(block.shape[0], -1, -1))
