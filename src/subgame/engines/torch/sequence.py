"""`TorchSequenceEngine`: sequence trees in PyTorch, on whole levels at once.

    cfr = Cfr(TorchSequenceEngine(tree, device="cuda"))
    cfr.advance(schedule.discounts(1, 101), 1)

A *level* is all of a player's infosets at one depth of the player's own decisions; its sequences
lie side by side. Up and down go level by level; regrets, averages and regret matching take all
sequences of a player at once. Sums gather what belongs to them (`Rows`), in float64, so that runs
repeat bit for bit. On CUDA an iteration is recorded as a graph.

An iteration sweeps twice, and both sweeps need both players' strategies and reach. What a player
last played is kept, and computed anew only where something that it was computed from has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.contract import Array, Both, Mode, Pair, Regrets, Response
from subgame.engines.torch.batch import room
from subgame.engines.torch.cuda_graph import RecordedGraph
from subgame.engines.torch.memory import sequence_bytes
from subgame.engines.torch.runtime import load_torch, pick_device
from subgame.engines.torch.sums import Payoffs, Put, Rows
from subgame.engines.torch.torch_ops import predicted
from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.memory import available, parse_bytes
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree, Treeplex

Floats = NDArray[np.float64]
Tensor = Any
Source = tuple[Any, int]
"""Where numbers are from: an object, and how often something was written there."""
LEAST_SUM = float(np.finfo(np.float64).tiny)
"""Sums of weights below this are subnormal and count as zero, as in the CPU kernels."""


def source(data: Tensor) -> Source:
    """The numbers that a tensor holds now. PyTorch counts what is written to it and its views."""
    return data, data._version


def same(some: list[Source], others: list[Source]) -> bool:
    """Whether they are the same numbers, which nothing has overwritten."""
    return len(some) == len(others) and all(
        a is b and m == n for (a, m), (b, n) in zip(some, others, strict=True)
    )


class Vector:
    """Numbers of one player's sequences on the device, read and written like an array.

    `copied` is where they were copied from, if they were.
    """

    def __init__(self, data: Tensor, copied: Source | None = None) -> None:
        self.data, self.copied, self.fresh = data, copied, data._version

    @property
    def source(self) -> Source:
        """Where its numbers are from: itself, or what they were copied from and still equal."""
        if self.copied is not None and self.data._version == self.fresh:
            return self.copied
        return source(self.data)

    def clone(self) -> Vector:
        """A copy on the device."""
        return Vector(self.data.clone(), self.source)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.copy().astype(dtype or np.float64, copy=False)

    def copy(self) -> Floats:
        """As an array of its own."""
        result: Floats = self.data.cpu().numpy().copy()
        return result

    def __getitem__(self, at: Any) -> Any:
        return self.copy()[at]

    def __setitem__(self, every: slice, values: Any) -> None:
        """``vector[:] = values`` overwrites all of it, as arrays do."""
        assert every == slice(None)
        self.data.copy_(load_torch().from_numpy(np.array(values, np.float64)))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    def __len__(self) -> int:
        return len(self.data)


class Block(NamedTuple):
    """Infosets with equally many actions: ``[action, infoset]`` from sequence `start` on."""

    start: int
    actions: int
    size: int

    def of(self, values: Tensor) -> Tensor:
        return values[self.start : self.start + self.actions * self.size].view(self.actions, -1)


class Level(NamedTuple):
    """A player's infosets at one depth."""

    here: slice  # their sequences
    above: slice  # those of the level above, or the root slots
    blocks: list[Block]
    parent: Tensor  # [q here] the sequence that its infoset hangs below
    up: Rows  # from sequences here to those above


class Side:
    """One player's treeplex on the device."""

    def __init__(self, put: Put, player: Treeplex) -> None:
        plex, slots = player.plex, len(player.slots)
        owner, parent = player.infoset_of[slots:], plex.parent
        above = parent[owner]  # [q past the slots]
        self.slots, self.size, self.start = slots, player.num_sequences, player.reach
        actions = np.bincount(owner, minlength=len(player.names))[owner]
        self.owner, self.totals = put(owner), Rows(put, owner, np.arange(len(owner)), len(parent))
        self.uniform, self.chooses = put(1.0 / np.maximum(actions, 1)), put(actions > 1)
        self.levels: list[Level] = []
        top, low, blocks = 0, slots, list[Block]()
        for b, many in enumerate(plex.block_actions.tolist()):
            lo, hi = plex.block_infoset[b : b + 2].tolist()
            blocks.append(Block(int(plex.block_sequence[b]), many, hi - lo))
            end = blocks[-1].start + many * (hi - lo)
            if hi < len(parent) and parent[hi] < low:
                continue  # the next block is as deep
            here = above[low - slots : end - slots]
            up = Rows(put, here - top, np.arange(end - low), low - top)
            self.levels.append(Level(slice(low, end), slice(top, low), blocks, put(here), up))
            top, low, blocks = low, end, []

    def descend(self, sigma: Tensor, reach: Tensor) -> None:
        """Realisation plan of a strategy; the root slots of `reach` are given."""
        for level in self.levels:
            came = reach.index_select(0, level.parent)
            load_torch().mul(came, sigma[level.here], out=reach[level.here])

    def climb(self, sigma: Tensor, value: Tensor) -> None:
        """Values of every sequence and root slot under a strategy, from those at the ends."""
        for level in reversed(self.levels):
            value[level.above].add_(level.up(sigma[level.here] * value[level.here]))

    def answer(self, sigma: Tensor, value: Tensor) -> None:
        """The same for the best strategy, which is written into `sigma`."""
        for level in reversed(self.levels):
            for block in level.blocks:
                best = block.of(value).argmax(0, keepdim=True)  # the first of equals
                block.of(sigma).zero_().scatter_(0, best, 1.0)
            value[level.above].add_(level.up(sigma[level.here] * value[level.here]))

    def shares(self, weights: Tensor, sigma: Tensor) -> None:
        """Into `sigma`: weights over their infoset's sum; uniform where that is zero.

        The root slots of `sigma` stay; `weights` are those of the sequences past them.
        """
        total = self.totals(weights).index_select(0, self.owner)
        # Rounded as the CPU kernels round, which multiply: less is left to chance at exact ties.
        exact, out = weights * (1 / total), sigma[self.slots :]
        load_torch().where(total >= LEAST_SUM, exact, self.uniform, out=out)


class Played:
    """A player's last strategy and its reach, in arrays that stay, and what they are from."""

    def __init__(self, sigma: Tensor) -> None:
        self.sigma, self.reach = sigma, sigma.clone()  # [q]
        self.forget()

    def forget(self) -> None:
        self.regrets: list[Source] = []
        """What `sigma` was matched from; nothing if it must be matched anew."""
        self.roots: list[Source] = []
        """The reach at the roots that `reach` was computed from, with `sigma`."""


class TorchSequenceEngine(EngineBase):
    """PyTorch bound to one explicitly compiled tree; see `contract.Engine`.

    `graphs` records iterations as CUDA graphs, by default wherever the device is one. A tree of
    several subgames side by side says so by an attribute ``num_roots``, as on the CPU. A tree that
    needs more than `memory_limit`, by default what is free on the device, is refused.
    """

    def __init__(
        self,
        tree: PublicTree,
        device: str = "cuda",
        *,
        graphs: bool | None = None,
        memory_limit: str | float | None = None,
    ) -> None:
        if not isinstance(tree, SequenceTree):
            raise SubgameError("Hold'em trees have an engine of their own; see TorchRangeEngine.")
        self.device, self.torch, self.tree = pick_device(device), load_torch(), tree
        free = room(self.device) if self.device.type == "cuda" else available()
        limit = free if memory_limit is None else parse_bytes(memory_limit)
        if (need := self.estimate()) > limit:
            needs = f"{tree.game_name} needs about {human_bytes(need)} on {self.device}"
            raise MemoryLimitError(f"{needs}, and {human_bytes(limit)} are there.")
        self.graphs = self.device.type == "cuda" if graphs is None else graphs
        self.num_roots: int = getattr(tree, "num_roots", 1)
        self.sides = (Side(self.put, tree.players[0]), Side(self.put, tree.players[1]))
        self.payoffs = (Payoffs(self.put, tree, 0), Payoffs(self.put, tree, 1))
        self._played = (Played(self._ones(0)), Played(self._ones(1)))
        self._now: tuple[Tensor, int, int] | None = None
        """In `repeat`: all rates, the turn, and the address of the turn's rates."""
        self._recorded: tuple[RecordedGraph, RecordedGraph] | None = None
        """The first turn of a `repeat`, and a later one, which finds what the last one played."""

    def estimate(self) -> int:
        """Bytes that solving and evaluating need on the device, about."""
        return sequence_bytes(self.tree)

    def put(self, array: Array) -> Tensor:
        """An array on the device, copied."""
        return self.torch.from_numpy(np.array(array, order="C")).to(self.device)

    def _ones(self, p: int) -> Tensor:
        """[q] ones for player `p`."""
        return self.torch.ones(self.sides[p].size, dtype=self.torch.float64, device=self.device)

    def _data(self, values: Array) -> Tensor:
        """Numbers from wherever they are."""
        if isinstance(values, self.torch.Tensor):
            return values
        return values.data if isinstance(values, Vector) else self.array(values)

    def _like(self, source: object, made: Tensor) -> object:
        """What was given on the device stays there."""
        return Vector(made) if isinstance(source, Vector) else Vector(made).copy()

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`."""
        blank = np.zeros(self.sides[p].size)
        regret, average, instant = (Vector(self.put(blank)) for _ in range(3))
        return Regrets(regret, average, instant if predictive else None)

    def roots(self, p: int) -> Tensor:
        """[root, infoset] player `p`'s reach at the roots as the tree has it, a copy."""
        return self.array(self.sides[p].start).view(self.num_roots, -1)

    def array(self, values: Floats) -> Tensor:
        """The same numbers on the device."""
        return self.put(np.array(values, np.float64))

    def rates(self, discounts: Floats, begin: int) -> Tensor:
        """[t, 4] discounts, and how many iterations were before."""
        return self.array(np.column_stack([discounts, begin - 1 + np.arange(len(discounts))]))

    def sweep(
        self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both, paid: Any = None
    ) -> Tensor:
        """One traversal for player `p`; [root, infoset] values.

        `paid` ``[q]`` are values of the traverser's sequences besides those of the terminals.
        """
        side, o, mine, now = self.sides[p], 1 - p, pair[0], rates[0]
        self._match(o, pair[1], rates[1])
        value = self.payoffs[p](self._walk(o, reach[o]))
        if paid is not None:
            value.add_(self._data(paid))
        keeps = mode in (Mode.LEARN, Mode.RESPOND) and mine.average is not None
        matched = mode in (Mode.LEARN, Mode.EVALUATE)
        if matched or keeps:
            self._match(p, mine, now)
        own = self._walk(p, reach[p]) if keeps else None
        sigma = self._played[p].sigma if matched else self._ones(p)
        if matched:
            side.climb(sigma, value)
        else:
            side.answer(sigma, value)
        if mode == Mode.LEARN:
            self._learn(side, mine, now, sigma, value, own)
        elif mode == Mode.RESPOND:
            self._keep(side, mine, now, sigma, own)
        return value[: side.slots].view(self.num_roots, -1)

    def repeat(self, turn: Callable[[Tensor], None], rates: Tensor, key: object) -> None:
        """``turn(rates[t : t + 2])`` for every t but the last, as a graph where there are any.

        Graphs are kept of the last `key`. The first turn computes everything, because what was
        played before may have been overwritten; all others find the same things computed, so that
        one graph serves them all.
        """
        if self.graphs and not (self._recorded and self._recorded[0].belongs_to(key)):
            self._recorded = None  # gives its memory back first
            current = rates[:2].clone()
            self._recorded = (RecordedGraph(key, current), RecordedGraph(key, current))
        self._forget()
        try:
            for t in range(len(rates) - 1):
                self._turn(turn, rates, t)
        finally:
            self._now = None
            self._forget()
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)  # whoever times it sees what it took

    def _turn(self, turn: Callable[[Tensor], None], rates: Tensor, t: int) -> None:
        """Turn `t` of a `repeat`."""
        now = rates[t : t + 2]
        if not self.graphs or self._recorded is None:
            self._now = (rates, t, now.data_ptr())
            turn(now)
            return
        first, later = self._recorded
        self._now = (rates, t, first.rates.data_ptr())
        if t:
            later.run(turn, now)
        elif later.graph is None and len(rates) > 2:
            # A replay would not note what was played, which the next turn is recorded with.
            first.run_plainly(turn, now)
            later.warm = True
        else:
            first.run(turn, now)

    def current(self, p: int, regrets: Regrets, rates: Tensor) -> Vector:
        """[q] the strategy that regret matching plays now; ones at the root slots."""
        sigma = self._ones(p)
        self._match_into(sigma, p, regrets, rates)
        return Vector(sigma)

    # Inside a sweep --------------------------------------------------------------------------
    def _forget(self) -> None:
        for played in self._played:
            played.forget()

    def _sources(self, regrets: Regrets, then: Tensor) -> list[Source]:
        """What regret matching depends on; nothing where that cannot be told."""
        if self._now is None or not isinstance(regrets.regret, Vector):
            return []
        if regrets.instant is None:
            return [regrets.regret.source]
        rates, t, start = self._now
        nth, rest = divmod(then.data_ptr() - start, rates[0].nbytes)
        if rest or nth not in (0, 1):
            return []
        return [regrets.regret.source, regrets.instant.source, (rates, t + nth)]

    def _match(self, p: int, regrets: Regrets, then: Tensor) -> None:
        """Let player `p` play by regret matching, unless that is what was last played."""
        played, sources = self._played[p], self._sources(regrets, then)
        if not sources or not same(sources, played.regrets):
            self._match_into(played.sigma, p, regrets, then)
            played.regrets, played.roots = sources, []

    def _match_into(self, sigma: Tensor, p: int, regrets: Regrets, then: Tensor) -> None:
        """[q] regret matching for the iteration whose discounts are `then`; `kernels.match`."""
        side = self.sides[p]
        weights = self._data(regrets.regret)[side.slots :]
        if regrets.instant is not None:
            weights = predicted(weights, regrets.instant.data[side.slots :], then)
        side.shares(weights.clamp(min=0), sigma)

    def _walk(self, p: int, reach: Tensor) -> Tensor:
        """[q] the reach of what player `p` plays, from [root, infoset] at the roots."""
        played, sources = self._played[p], [source(reach)]
        if not played.regrets or not same(sources, played.roots):
            self._walk_into(played.reach, p, played.sigma, reach)
            played.roots = sources
        return played.reach

    def _walk_into(self, plan: Tensor, p: int, sigma: Tensor, reach: Tensor) -> None:
        """[q] realisation plan of a strategy."""
        plan[: self.sides[p].slots] = reach.reshape(-1)
        self.sides[p].descend(sigma, plan)

    def _learn(
        self,
        side: Side,
        m: Regrets,
        now: Tensor,
        sigma: Tensor,
        value: Tensor,
        reach: Tensor | None,
    ) -> None:
        """``R <- d R + r``, d by the sign of R (Brown & Sandholm 2019); ``S <- kept S + reach``.

        `reach` is None where no average is kept.
        """
        past = slice(side.slots, None)
        total = side.totals(sigma[past] * value[past])
        gain = value[past] - total.index_select(0, side.owner)
        old = m.regret.data[past]
        new = old * self.torch.where(old > 0, now[0], now[1]) + gain
        self._write(side, m.regret, new)
        if m.instant is not None:
            self._write(side, m.instant, gain)
        if m.average is not None and reach is not None:
            self._write(side, m.average, m.average.data[past] * now[2] + reach[past])

    def _keep(
        self, side: Side, m: Regrets, now: Tensor, sigma: Tensor, reach: Tensor | None
    ) -> None:
        """Write `sigma` so that regret matching plays it, whatever the discounts are.

        Add `reach`, by what was played before, to the average.
        """
        for kept in (m.regret, m.instant):
            if kept is not None:
                self._write(side, kept, sigma[side.slots :])
        if m.average is not None and reach is not None:
            m.average.data.mul_(now[2]).add_(reach)

    def _write(self, side: Side, into: Vector, new: Tensor) -> None:
        """Overwrite wherever there is a choice; nothing is kept elsewhere."""
        old = into.data[side.slots :]
        self.torch.where(side.chooses, new, old, out=old)

    # Evaluation ------------------------------------------------------------------------------
    def behaviour(self, p: int, average: Any) -> Any:
        """[q] the behaviour strategy of a realisation plan; uniform where it is never reached."""
        side = self.sides[p]
        sigma = self._ones(p)
        side.shares(self._data(average)[side.slots :], sigma)
        return self._like(average, sigma)

    def plan(self, p: int, sigma: Any, reach: Array = None) -> Any:
        """[q] realisation plan of a strategy, from `reach` at the roots, by default the tree's."""
        start = self.roots(p) if reach is None else self._data(reach)
        played = self._data(sigma)
        plan = self.torch.empty_like(played)
        self._walk_into(plan, p, played, start)
        return self._like(sigma, plan)

    def values(self, p: int, sigma: Any, opponent_plan: Any) -> Response:
        """Counterfactual values of player `p` playing `sigma` against a realisation plan."""
        value, played = self.payoffs[p](self._data(opponent_plan)), self._data(sigma)
        self.sides[p].climb(played, value)
        return self._response(p, played, value)

    def respond(self, p: int, opponent_plan: Any) -> Response:
        """Counterfactual best response of player `p` to the opponent's realisation plan."""
        value = self.payoffs[p](self._data(opponent_plan))
        sigma = self.torch.ones_like(value)
        self.sides[p].answer(sigma, value)
        return self._response(p, sigma, value)._replace(strategy=Vector(sigma).copy())

    def _response(self, p: int, sigma: Tensor, value: Tensor) -> Response:
        """What `sigma` gets, from the values of all sequences."""
        side, sequences = self.sides[p], Vector(value).copy()
        infosets = side.totals(sigma[side.slots :] * value[side.slots :])
        roots = sequences[: side.slots].reshape(self.num_roots, -1).copy()
        return Response(roots, Vector(infosets).copy(), sequences)
