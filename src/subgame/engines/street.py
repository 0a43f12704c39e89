"""`StreetEngine`: CFR on the first street of a hold'em tree, with values given at its end.

The street's betting is small, so plain array operations do: one per decision, NumPy's or PyTorch's.
What lies below each way out of the street (a *leaf*) is a table of values by pair of hands
(`LeafTable`). With several continuations to choose from, the opponent has one more decision at each
leaf (multi-valued states, Brown, Sandholm & Amos 2018, Sec. 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import (
    Array,
    Floats,
    as_double,
    as_index,
    as_kind,
    as_numpy,
    copied,
    namespace,
    regret_matching,
    zeros,
)
from subgame.engines.base import EngineBase
from subgame.engines.contract import Both, Mode, Pair, Regrets, Response
from subgame.errors import SubgameError
from subgame.tree.public_tree import both
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.tree import RangeTree


class Decision(NamedTuple):
    """One decision of a player: the row it hangs below, and the rows of its actions."""

    parent: int
    first: int
    stop: int


class Side:
    """One player's rows of a street: ways in, own actions, and choices at the leaves."""

    def __init__(self, street: Street, p: int, choices: int, like: Array) -> None:
        """`like` is an array of the engine's library."""
        self.rows = street.rows[p]
        self.roots = self.rows - sum(map(len, street.actions[p]))
        self.decisions = [
            Decision(parent, first, first + len(names))
            for parent, first, names in zip(
                street.parent[p], street.first[p], street.actions[p], strict=True
            )
        ]
        self.leaves = [rows[p] for rows in street.leaf_rows]
        """The player's row at each leaf."""
        self.actions = self.rows
        if choices > 1:  # choice k at leaf l is row ``actions + l * choices + k``
            self.decisions += [
                Decision(row, self.rows + l * choices, self.rows + (l + 1) * choices)
                for l, row in enumerate(self.leaves)
            ]
            self.rows += len(self.leaves) * choices
        self.on_rows = _operations(self.decisions, self.roots, like)
        lanes = self.lanes = sorted({ending.rows[1 - p] for ending in street.endings})
        """The opponent's rows that end the hand."""
        self.endings = [(e.rows[p], lanes.index(e.rows[1 - p]), e.pays[p]) for e in street.endings]


class Rows(Protocol):
    """What is done with the rows of one player; a strategy is [own action, hand]."""

    def match(self, weights: Array) -> Array:
        """[own action, hand] what regret matching plays."""

    def descend(self, sigma: Array, out: Array) -> None:
        """Complete the reach [row, hand], of which that of the ways in is there."""

    def ascend(self, sigma: Array, value: Array) -> None:
        """Add to the value [row, hand] of every decision's parent what the strategy wins there."""

    def learn(self, sigma: Array, value: Array, regret: Array, rates: Array) -> None:
        """`ascend`, and the regrets of the actions; they are discounted by `rates` first."""

    def average(self, plan: Array, kept: float, out: Array) -> None:
        """Add a plan [row, hand] to the average `out` [own action, hand], discounted by `kept`."""


class ArrayRows:
    """The same by operations on arrays, one for each decision, on any device."""

    def __init__(self, decisions: Sequence[Decision], past: int) -> None:
        """`past` is the first row of an action."""
        self.decisions, self.past = decisions, past
        self.runs: list[tuple[int, int, int]] = []
        """(first row, end, actions) of decisions in a row that have as many actions."""
        for width, alike in groupby(decisions, lambda decision: decision.stop - decision.first):
            held = list(alike)
            self.runs.append((held[0].first, held[-1].stop, width))

    def match(self, weights: Array) -> Array:
        out = copied(weights)
        for first, stop, width in self.runs:
            here = slice(first - self.past, stop - self.past)
            some = weights[here].reshape((stop - first) // width, width, -1)
            out[here] = regret_matching(some, 1).reshape(stop - first, -1)
        return out

    def descend(self, sigma: Array, out: Array) -> None:
        for parent, first, stop in self.decisions:
            out[first:stop] = out[parent] * sigma[first - self.past : stop - self.past]

    def ascend(self, sigma: Array, value: Array) -> None:
        for parent, first, stop in reversed(self.decisions):
            own = sigma[first - self.past : stop - self.past]
            value[parent] += (own * value[first:stop]).sum(axis=0)

    def learn(self, sigma: Array, value: Array, regret: Array, rates: Array) -> None:
        xp = namespace(value)
        for parent, first, stop in reversed(self.decisions):
            here, below = slice(first - self.past, stop - self.past), value[first:stop]
            won, old = (sigma[here] * below).sum(axis=0), regret[here]
            value[parent] += won
            regret[here] = old * xp.where(old > 0, rates[0], rates[1]) + (below - won)

    def average(self, plan: Array, kept: float, out: Array) -> None:
        out[...] = out * kept + plan[self.past :]


def _operations(decisions: Sequence[Decision], past: int, like: Array) -> Rows:
    """Those of the library of an array."""
    if not isinstance(like, np.ndarray):
        return ArrayRows(decisions, past)
    from subgame.engines.numba.street_kernels import KernelRows

    return KernelRows(np.array(decisions, np.int64).reshape(-1, 3), past)


class Leaves(Protocol):
    """What lies below the leaves of a street."""

    @property
    def opponent(self) -> int:
        """Who chooses among continuations there; -1: nobody."""

    def __len__(self) -> int:
        """How many continuations there are."""

    def won(self, p: int, reach: Array) -> Array:
        """What player `p` wins there, in chips, from the other player's reach.

        That is [leaf, k, hand] of reach [leaf, 1, hand] for the player who chooses, and
        [leaf, 1, hand] of reach [leaf, k, hand], summed over the continuations, for the other one.
        """


@dataclass(frozen=True, eq=False)
class LeafTable:
    """Values at the leaves of a street. Axes: k = continuation, h and j = hands of both players."""

    values: Array  # [k, leaf, h, j] what the opponent wins with h from us with j, in chips
    opponent: int

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def first(self, count: int) -> LeafTable:
        """With the first few continuations alone."""
        return LeafTable(self.values[:count], self.opponent)

    def won(self, p: int, reach: Array) -> Array:
        """See `Leaves.won`."""
        opponent = as_kind(reach, self.values).swapaxes(0, 1)
        if p == self.opponent:
            return (self.values @ opponent[..., None])[..., 0].swapaxes(0, 1)
        return -(opponent[:, :, None] @ self.values).sum(0)


class GivenLeaves:
    """Values at the leaves that somebody else finds, anew on every iteration."""

    opponent = -1

    def __init__(self) -> None:
        self.values: list[Array] = [None, None]
        """[player][leaf, hand] in chips."""

    def __len__(self) -> int:
        return 1

    def won(self, p: int, reach: Array) -> Array:
        """See `Leaves.won`."""
        return self.values[p][:, None]


class RootHands(Protocol):
    """The hands of one player where a street begins."""

    @property
    def slots(self) -> Sequence[object]:
        """The root infosets."""

    @property
    def reach(self) -> Floats:
        """[s] the player's reach at the root."""


class HandsTree(Protocol):
    """What `StreetEngine` reads of a tree."""

    @property
    def players(self) -> Sequence[RootHands]: ...
    @property
    def deals(self) -> float: ...


class Hands(Protocol):
    """The hands on which a street is played: what `StreetEngine` needs of a `RangeEngine`."""

    @property
    def tree(self) -> HandsTree: ...

    def array(self, values: Floats) -> Array:
        """See `contract.Engine.array`."""

    def rates(self, discounts: Floats, begin: int) -> Array:
        """See `contract.Engine.rates`."""

    def opposing(self, p: int, reach: Array, street: int) -> Array:
        """See `contract.RangeEngine.opposing`."""


class _Classes(NamedTuple):
    """A player's classes of hands."""

    slots: range
    reach: Floats


class _ClassTree(NamedTuple):
    """A street whose hands are classes."""

    players: tuple[_Classes, _Classes]
    deals: float = 1.0


class ClassHands:
    """`Hands` before the flop, where hands that differ only by suit play alike."""

    def __init__(self, pairs: Floats) -> None:
        """`pairs` [class, class] says how often two classes meet."""
        self.pairs = pairs
        side = _Classes(range(len(pairs)), np.ones(len(pairs)))
        self.tree = _ClassTree((side, side))

    def array(self, values: Floats) -> Floats:
        return np.array(values, np.float64)

    def rates(self, discounts: Floats, begin: int) -> Floats:
        return discounts

    def opposing(self, p: int, reach: Floats, street: int) -> Floats:
        """[row, board, class] the pairs of hands that meet, from the opponent's reach."""
        met: Floats = reach @ self.pairs
        return met


class StreetEngine(EngineBase):
    """The engine of a street that ends in a `LeafTable`; see `engines.contract.Engine`.

    A player's numbers are ``[own action, hand]``, ways in left out. They are few, so that all but
    the table is float64.
    """

    def __init__(self, run: Hands, street: Street, leaves: Leaves) -> None:
        if any(ending.showdown for ending in street.endings):
            raise SubgameError("A depth limit lies before the last street.")
        self.run, self.street, self.leaves = run, street, leaves
        self.tree: Any = run.tree  # a `PublicTree`, except for `ClassHands`
        self.deals = run.tree.deals
        widths = [len(side.slots) for side in run.tree.players]
        self.none = both(lambda p: as_double(run.array(np.zeros((1, widths[p])))))
        """[1, hand] zeros in float64, of the engine's library and on its device."""
        self.sides = tuple(
            Side(street, p, len(leaves) if p == leaves.opponent else 1, self.none[p])
            for p in (0, 1)
        )
        self.at_leaves = [as_index(side.leaves, self.none[0]) for side in self.sides]
        self.at_ends = [as_index(side.lanes, self.none[0]) for side in self.sides]

    # Learning --------------------------------------------------------------------------------
    def _zeros(self, p: int, rows: int, like: Array | None = None) -> Array:
        none = self.none[p] if like is None else like
        return zeros((rows, self.none[p].shape[1]), none)

    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        rows = self.sides[p].rows - self.sides[p].roots
        one, two = self._zeros(p, rows), self._zeros(p, rows)
        return Regrets(one, two, self._zeros(p, rows) if predictive else None)

    def roots(self, p: int) -> Array:
        return self.array(np.tile(self.tree.players[p].reach, (self.sides[p].roots, 1)))

    def array(self, values: Floats) -> Array:
        return as_double(self.run.array(values))

    def rates(self, discounts: Floats, begin: int) -> Array:
        return as_double(self.run.rates(discounts, begin))

    def sweep(self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both) -> Array:
        """One traversal for player `p`; gives the values [root, infoset]."""
        mine, now = pair[0], rates[0]
        their_reach = self.descend(1 - p, self._matched(1 - p, pair[1], rates[1]), reach[1 - p])
        value = self._paid(p, their_reach)
        side, past = self.sides[p], self.sides[p].roots
        sigma = None if mode == Mode.BEST else self._matched(p, mine, now)
        if sigma is not None and mine.average is not None:
            side.on_rows.average(self.descend(p, sigma, reach[p]), now[2], mine.average)
        if sigma is not None and mode == Mode.EVALUATE:
            side.on_rows.ascend(sigma, value)
        elif sigma is not None and mode == Mode.LEARN and mine.instant is None:
            side.on_rows.learn(sigma, value, mine.regret, now)
        else:
            self._ascend(p, mode, value, sigma, mine, now)
        return value[:past]

    def _ascend(
        self, p: int, mode: Mode, value: Array, sigma: Array | None, mine: Regrets, now: Array
    ) -> None:
        """Values up to the roots in the modes that are rare: best responses, predictive regrets."""
        side, past, xp = self.sides[p], self.sides[p].roots, namespace(value)
        for parent, first, stop in reversed(side.decisions):
            below, here = value[first:stop], slice(first - past, stop - past)
            if sigma is not None and mode == Mode.LEARN:
                best = (sigma[here] * below).sum(axis=0)
            else:
                best = xp.amax(below, 0)
            value[parent] += best
            if mode == Mode.LEARN:
                old, gain = mine.regret[here], below - best
                kept = xp.where(old > 0, now[0], now[1])
                mine.regret[here] = old * kept + gain
                if mine.instant is not None:
                    mine.instant[here] = gain
            elif mode == Mode.RESPOND:
                chosen = below >= best
                mine.regret[here] = 1.0 * (chosen & (chosen.cumsum(axis=0) == 1))

    def _matched(self, p: int, regrets: Regrets, rates: Array) -> Array:
        """[own action, hand] what regret matching plays."""
        weights = regrets.regret
        if regrets.instant is not None:
            kept = namespace(weights).where(weights > 0, rates[0], rates[1])
            weights = weights * kept + regrets.instant
        return self.sides[p].on_rows.match(weights)

    def descend(self, p: int, sigma: Array, reach: Array) -> Array:
        """[row, hand] player `p`'s reach."""
        side = self.sides[p]
        out = self._zeros(p, side.rows, sigma)
        out[: side.roots] = reach
        side.on_rows.descend(sigma, out)
        return out

    def row_values(self, p: int, their_reach: Array, sigma: Array | None = None) -> Array:
        """[row, hand] player `p`'s values, from the reach of the opponent's rows.

        They are those of a strategy [own action, hand], or without one those at best.
        """
        value, side = self._paid(p, their_reach), self.sides[p]
        if sigma is not None:
            side.on_rows.ascend(sigma, value)
            return value[: side.actions]
        for parent, first, stop in reversed(side.decisions):
            value[parent] += namespace(value).amax(value[first:stop], 0)
        return value[: side.actions]

    def leaf_values(self, our_reach: Array) -> Array:
        """[k, leaf, hand] what each continuation pays the opponent, from our reach of our rows."""
        o = self.leaves.opponent
        won = self.leaves.won(o, our_reach[self.at_leaves[1 - o]][:, None])
        return won.swapaxes(0, 1) / self.deals

    def opposing(self, p: int, reach: Array) -> Array:
        """[k, hand] pi_{-p}, from the opponent's reach [k, hand]; see `RangeEngine.opposing`."""
        return self.run.opposing(p, reach[:, None], 0)[:, 0, : self.none[p].shape[1]]

    def _paid(self, p: int, theirs: Array) -> Array:
        """[row, hand] player `p`'s values where the street ends, from the opponent's reach."""
        side, other = self.sides[p], self.sides[1 - p]
        value = self._zeros(p, side.rows, theirs)
        if side.endings:
            met = self.opposing(p, theirs[self.at_ends[p]])
            for row, lane, chips in side.endings:
                value[row] += chips * met[lane]
        reach, count = theirs[self.at_leaves[1 - p]][:, None], len(self.leaves)
        chooses = p == self.leaves.opponent
        if count > 1 and not chooses:
            reach = theirs[other.actions :].reshape(len(side.leaves), count, -1)
        won = as_double(self.leaves.won(p, reach) / self.deals)
        if count > 1 and chooses:
            value[side.actions :] += won.reshape(-1, won.shape[2])
            return value
        for row, paid in zip(side.leaves, won[:, 0], strict=True):
            value[row] += paid
        return value

    def over(self, tree: RangeTree, p: int, sigma: Array, below: NDArray[Any]) -> NDArray[Any]:
        """[q] a strategy of the street over a tree that has it first; `below` are the last numbers.

        A batch of the tree's last streets keeps the end of the tree's numbers.
        """
        out = np.zeros(tree.stored(p), np.float32)
        out[len(out) - len(below) :] = below
        rows, side, past = as_numpy(sigma), tree.players[p], self.sides[p].roots
        for j, names in enumerate(self.street.actions[p]):
            first = self.street.first[p][j] - past
            out[side.street_cells(0, j)] = rows[first : first + len(names)].T
        return out

    # Strategies and evaluation -----------------------------------------------------------------
    def current(self, p: int, regrets: Regrets, rates: Array) -> Array:
        return self._matched(p, regrets, rates)

    def behaviour(self, p: int, average: Array) -> Array:
        return self._matched(p, Regrets(average, None, None), ())

    def plan(self, p: int, sigma: Array, reach: Floats | None = None) -> tuple[Array, Array]:
        entered = self.roots(p) if reach is None else self.array(np.asarray(as_numpy(reach)))
        return sigma, entered.reshape(self.sides[p].roots, -1)

    def values(self, p: int, sigma: Array, opponent_plan: tuple[Array, Array]) -> Response:
        return self._evaluated(p, Mode.EVALUATE, sigma, opponent_plan)

    def respond(self, p: int, opponent_plan: tuple[Array, Array]) -> Response:
        return self._evaluated(p, Mode.BEST, None, opponent_plan)

    def _evaluated(
        self, p: int, mode: Mode, sigma: Array | None, against: tuple[Array, Array]
    ) -> Response:
        theirs, reach = against
        both = (None, reach) if p == 0 else (reach, None)
        pair = Regrets(sigma, None, None), Regrets(theirs, None, None)
        return Response(as_numpy(self.sweep(p, mode, pair, ((), ()), both)))
