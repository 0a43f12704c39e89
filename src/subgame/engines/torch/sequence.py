"""`TorchSequenceEngine`: sequence trees in PyTorch, on whole levels at once.

    engine = TorchSequenceEngine(tree, device="cuda")
    memories = engine.memory(0), engine.memory(1)
    engine.iterate(memories, schedule.discounts(1, 101), schedule.alternating)

A *level* is all of a player's infosets at one depth of her own decisions; its sequences lie side
by side. Up and down go level by level; regrets, averages and regret matching take all sequences of
a player at once. Sums gather what belongs to them (`Rows`), in float64, so that runs repeat bit for
bit. On CUDA an iteration is recorded as a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import Response
from subgame.engines.torch.cuda_graph import Tape
from subgame.engines.torch.doors import by_chance
from subgame.engines.torch.runtime import load_torch, pick_device
from subgame.engines.torch.sums import Payoffs, Put, Rows
from subgame.errors import SubgameError
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree, Treeplex

Floats = NDArray[np.float64]
Tensor = Any
TINY = 1e-280
"""Sums of regrets below this are rounding, as in the CPU kernels."""


class Vector:
    """Numbers of one player's sequences on the device, read and written like an array."""

    def __init__(self, data: Tensor) -> None:
        self.data = data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.copy().astype(dtype or np.float64, copy=False)

    def copy(self) -> Floats:
        """As an array of its own."""
        found: Floats = self.data.cpu().numpy().copy()
        return found

    def __getitem__(self, at: Any) -> Any:
        return self.copy()[at]

    def __setitem__(self, at: Any, values: Any) -> None:
        whole = self.copy()
        whole[at] = values
        self.data.copy_(load_torch().from_numpy(whole))

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __len__(self) -> int:
        return int(self.data.shape[0])


class Memory(NamedTuple):
    """What a solver remembers of one player, on the device; see `solve.kernels.Memory`."""

    regret: Vector
    average: Vector
    instant: Vector  # empty if the schedule does not predict
    sigma: Vector
    reach: Vector
    value: Vector


Pair = tuple[Memory, Memory]


class Root(NamedTuple):
    """What chooses a player's reach on every iteration; see `solve.kernels.Root`."""

    player: int
    rule: str
    tremble: Floats  # [t], not on the device: it goes there with the discounts
    mean: Tensor  # [s]
    spread: Tensor
    weight: Tensor
    seen: Tensor  # [3, s]


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

    def answer(self, sigma: Tensor, value: Tensor) -> list[Tensor]:
        """The same for the best strategy, which is written down; gives the choices by block."""
        choices = []
        for level in reversed(self.levels):
            for block in reversed(level.blocks):
                best = block.of(value).argmax(0, keepdim=True)  # the first of equals
                block.of(sigma).zero_().scatter_(0, best, 1.0)
                choices.append(best[0])
            value[level.above].add_(level.up(sigma[level.here] * value[level.here]))
        return choices[::-1]

    def shares(self, weights: Tensor, least: float) -> Tensor:
        """[q past the slots] weights over their infoset's sum; uniform where that is not above."""
        total = self.totals(weights).index_select(0, self.owner)
        # Rounded as the CPU kernels round, which multiply: less is left to chance at exact ties.
        return load_torch().where(total > least, weights * (1 / total), self.uniform)


class TorchSequenceEngine:
    """PyTorch bound to one explicitly compiled tree.

    `graphs` records iterations as CUDA graphs, by default wherever the device is one.
    """

    def __init__(
        self, tree: PublicTree, device: str = "cuda", *, graphs: bool | None = None
    ) -> None:
        if not isinstance(tree, SequenceTree):
            raise SubgameError("Hold'em trees have an engine of their own; see TorchRangeEngine.")
        self.device, self.torch, self.tree = pick_device(device), load_torch(), tree
        self.graphs = self.device.type == "cuda" if graphs is None else graphs
        self.sides = (Side(self.put, tree.players[0]), Side(self.put, tree.players[1]))
        self.payoffs = (Payoffs(self.put, tree, 0), Payoffs(self.put, tree, 1))
        self._tape: Tape | None = None

    def put(self, array: Any) -> Tensor:
        """An array on the device, copied."""
        return self.torch.from_numpy(np.array(array, order="C")).to(self.device)

    def _data(self, values: Any) -> Tensor:
        """Numbers from wherever they are."""
        return values.data if isinstance(values, Vector) else self.put(np.array(values, np.float64))

    def _like(self, given: Any, made: Tensor) -> Any:
        """What was given on the device stays there."""
        return Vector(made) if isinstance(given, Vector) else Vector(made).copy()

    # Solving ---------------------------------------------------------------------------------
    def memory(self, p: int, *, predictive: bool = False) -> Memory:
        """A blank memory for player `p`: no regrets, no average."""
        side = self.sides[p]
        reach = np.zeros(side.size)
        reach[: side.slots] = side.start
        blank = np.zeros(side.size)
        instant = blank if predictive else np.zeros(0)
        parts = (blank, blank, instant, np.ones(side.size), reach, blank)
        return Memory(*(Vector(self.put(part)) for part in parts))

    def root(
        self,
        player: int,
        *,
        rule: str = "fixed",
        mean: Floats | None = None,
        spread: Floats | None = None,
        weight: Floats | None = None,
        tremble: Floats | None = None,
    ) -> Root:
        """What chooses a player's reach at the root; see `solve.kernels.Root`."""
        none = np.zeros(0)
        a, b, c = (self.put(none if part is None else part) for part in (mean, spread, weight))
        seen = self.put(np.zeros((3, len(a))))
        return Root(player, rule, none if tremble is None else tremble, a, b, c, seen)

    def iterate(
        self,
        memories: Pair,
        discounts: Floats,
        alternating: bool,
        root: Root | None = None,
        responder: int = -1,
        begin: int = 1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, with `root` at the door.

        Which iteration they `begin` with matters only where numbers are rounded by chance.
        """
        table = self._rates(discounts, root)
        for p in (0, 1):
            self._match(p, memories[p], table[0], root)
            self.sides[p].descend(memories[p].sigma.data, memories[p].reach.data)
        if responder == 1:  # she answers player 0's first strategy before it is played
            self._pay(1, memories)
            self._respond(1, memories[1])

        def turn(rates: Tensor, _: list[Tensor]) -> None:
            self._turn(memories, rates, alternating, root, responder)

        key = (alternating, responder, *self._key(memories, root))
        once = self._recorded(key, turn, (memories, root), [])
        for t in range(len(discounts) - 1):
            once(table[t : t + 2])
        self._wait()

    def update(
        self,
        memories: Pair,
        given: tuple[Floats, Floats],
        discounts: Floats,
        root: Root | None = None,
    ) -> None:
        """One simultaneous iteration, with values `given` [q] from outside the tree added."""

        def turn(rates: Tensor, paid: list[Tensor]) -> None:
            for p in (0, 1):
                self._pay(p, memories)
                memories[p].value.data.add_(paid[p])
            for p in (0, 1):
                self._learn(p, memories[p], rates, root)

        key = ("update", *self._key(memories, root))
        paid = [self._data(values) for values in given]
        self._recorded(key, turn, (memories, root), paid)(self._rates(discounts, root))
        self._wait()

    def sample(self, *args: Any) -> None:
        """Refused: one walk at a time is nothing for a device that works on whole levels."""
        raise SubgameError("Schedules that sample run on the device cpu only; choose another.")

    # Inside an iteration ---------------------------------------------------------------------
    def _rates(self, discounts: Floats, root: Root | None) -> Tensor:
        """[t, 5] each iteration's discounts, and how much each player trembles."""
        table = np.zeros((len(discounts), 5))
        table[:, :3] = discounts
        if root is not None and len(root.tremble):
            table[: len(root.tremble), 3 + root.player] = root.tremble
        return self.put(table)

    def _key(self, memories: Pair, root: Root | None) -> tuple[Any, ...]:
        """What a recorded iteration depends on."""
        chance = root is not None and root.rule != "fixed"
        shaken = root.player if root is not None and len(root.tremble) else -1
        addresses = (part.data.data_ptr() for memory in memories for part in memory)
        return (shaken, id(root) if chance else 0, *addresses)

    def _recorded(
        self,
        key: tuple[Any, ...],
        turn: Callable[[Tensor, list[Tensor]], None],
        held: Any,
        inputs: list[Tensor],
    ) -> Callable[[Tensor], None]:
        """What runs one iteration by `turn`, as a graph where there are any."""
        if not self.graphs:
            return lambda rates: turn(rates, inputs)
        if self._tape is None or self._tape.key != key:
            rates = self.torch.zeros((2, 5), dtype=self.torch.float64, device=self.device)
            self._tape = Tape(key, rates, [given.clone() for given in inputs], held)
        tape = self._tape
        for mine, given in zip(tape.inputs, inputs, strict=True):
            mine.copy_(given)

        def once(rates: Tensor) -> None:
            tape.rates.copy_(rates)
            tape.run(lambda: turn(tape.rates, tape.inputs))

        return once

    def _wait(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)  # whoever times it sees what it took

    def _turn(
        self, memories: Pair, rates: Tensor, alternating: bool, root: Root | None, responder: int
    ) -> None:
        """One iteration; `rates` are this and the next one's."""
        for p in (0, 1):
            for side in (0, 1):  # alternating: one's own values now; else both before any moves
                if side == p if alternating else p == 0:
                    self._pay(side, memories)
            me = memories[p]
            if responder != p:
                self._learn(p, me, rates, root)
                continue
            if p == 1:
                self._collect(me, rates[0])
            self._respond(p, me)
            if p == 0:
                self._collect(me, rates[0])

    def _pay(self, p: int, memories: Pair) -> None:
        """Values where the game ends, against the opponent's reach."""
        memories[p].value.data.copy_(self.payoffs[p](memories[1 - p].reach.data))

    def _respond(self, p: int, m: Memory) -> None:
        """Play a best response from now on (CFR-BR, Johanson et al. 2012)."""
        self.sides[p].answer(m.sigma.data, m.value.data)
        self.sides[p].descend(m.sigma.data, m.reach.data)

    def _collect(self, m: Memory, now: Tensor) -> None:
        """Add the current reach to the average."""
        m.average.data.mul_(now[2]).add_(m.reach.data)

    def _first(self, p: int, root: Root | None) -> Block | None:
        """The block where player `p` trembles."""
        levels = self.sides[p].levels
        shaken = root is not None and root.player == p and len(root.tremble) and levels
        return levels[0].blocks[0] if shaken else None

    def _match(self, p: int, m: Memory, then: Tensor, root: Root | None) -> None:
        """Regret matching for the iteration whose discounts are `then`; see `kernels.match`."""
        side, torch = self.sides[p], self.torch
        weights = m.regret.data[side.slots :]
        if len(m.instant):
            ahead = weights * torch.where(weights > 0, then[0], then[1])
            weights = ahead + m.instant.data[side.slots :]
        m.sigma.data[side.slots :] = side.shares(weights.clamp(min=0), TINY)
        block = self._first(p, root)
        if block is not None:
            sigma, least = block.of(m.sigma.data), then[3 + p]
            sigma.mul_(1 - least * block.actions).add_(least)

    def _learn(self, p: int, m: Memory, rates: Tensor, root: Root | None) -> None:
        """Walk up: values, regrets, average and the next strategy; down: its reach.

        See `kernels.learn`: ``R <- d R + r`` with d by the sign of R, ``S <- kept S + reach``.
        """
        side, torch, now = self.sides[p], self.torch, rates[0]
        past = slice(side.slots, None)
        sigma, value, reach = m.sigma.data, m.value.data, m.reach.data
        side.climb(sigma, value)
        total = side.totals(sigma[past] * value[past])
        block = self._first(p, root)
        if block is not None and block.actions > 1:  # regrets are those of what is left to her
            least, mine = now[3 + p], total[: block.size]
            mine.sub_(least * block.of(value).sum(0)).div_(1 - least * block.actions)
        gain = value[past] - total.index_select(0, side.owner)
        old, average = m.regret.data[past], m.average.data[past]
        new = old * torch.where(old > 0, now[0], now[1]) + gain
        old.copy_(torch.where(side.chooses, new, old))
        average.copy_(torch.where(side.chooses, average * now[2] + reach[past], average))
        if len(m.instant):
            last = m.instant.data[past]
            last.copy_(torch.where(side.chooses, gain, last))
        self._match(p, m, rates[1], root)
        if root is not None and root.rule != "fixed" and root.player == p:
            self._enter(root, m)
        side.descend(sigma, reach)

    def _enter(self, root: Root, m: Memory) -> None:
        """Reach into each root slot under random alternative payoffs (2017, Thm. 2 and App. D)."""
        torch, met = self.torch, root.weight > 0
        slots = slice(0, len(root.mean))
        value = m.value.data[slots] / torch.where(met, root.weight, 1)
        likely = by_chance(root.rule, value, root.mean, root.spread, root.seen)
        m.reach.data[slots] = torch.where(met, likely, m.reach.data[slots])

    # Judging ---------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Any, slots: Floats | None = None) -> Any:
        """[q] realisation plan of a strategy, from the reach at the root `slots`."""
        side = self.sides[p]
        reach = self.put(np.zeros(side.size))
        reach[: side.slots] = self.put(np.array(side.start if slots is None else slots))
        side.descend(self._data(sigma), reach)
        return self._like(sigma, reach)

    def behaviour(self, p: int, plan: Any) -> Any:
        """[q] the behaviour strategy of a realisation plan; uniform where it never comes."""
        side = self.sides[p]
        sigma = self.put(np.ones(side.size))
        sigma[side.slots :] = side.shares(self._data(plan)[side.slots :], 0.0)
        return self._like(plan, sigma)

    def values(self, p: int, sigma: Any, opponent_plan: Any) -> Floats:
        """[q] counterfactual values of player `p` playing `sigma`, root slots first."""
        value = self.payoffs[p](self._data(opponent_plan))
        self.sides[p].climb(self._data(sigma), value)
        return Vector(value).copy()

    def respond(self, p: int, opponent_plan: Any) -> Response:
        """Counterfactual best response of player `p` to the opponent's realisation plan."""
        side = self.sides[p]
        value = self.payoffs[p](self._data(opponent_plan))
        sigma = self.put(np.ones(side.size))
        choices = [np.zeros(0, np.int32), *(c.cpu().numpy() for c in side.answer(sigma, value))]
        best = side.totals(sigma[side.slots :] * value[side.slots :])
        found = Vector(value).copy()
        choice = np.concatenate(choices).astype(np.int32)
        return Response(found[: side.slots].copy(), Vector(best).copy(), found, choice)
