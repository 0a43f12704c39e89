"""Classes of hands before the flop: their equities, and CFR on betting that ends by equity.

Hands that differ only by suit play alike, so a strategy has 169 numbers for each action. What a
class wins from another at a showdown is exact: all pairs of hands that share no card, and all
boards (`tools/preflop_data.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.street import ClassHands, StreetEngine
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.ranges import class_names, class_of
from subgame.solve.cfr import Cfr
from subgame.solve.limits import Limits
from subgame.solve.schedule import Schedule
from subgame.tree.ranges.betting_tree import Street

Floats = NDArray[np.float64]
RUNOUTS = 1_712_304
"""Boards that are left for two hands."""


class Preflop(NamedTuple):
    """Pairs of classes of hands, in the order of `class_names`."""

    equity: Floats  # [class, class] the share of the pot that the first wins
    pairs: Floats  # [class, class] how many pairs of their hands share no card


@lru_cache(maxsize=1)
def preflop() -> Preflop:
    """Equities before the flop, exact over all boards.

    >>> table, names = preflop(), class_names(DECK)
    >>> round(float(table.equity[names.index("AA"), names.index("KK")]), 6)
    0.819461
    """
    with (files("subgame") / "data" / "preflop.npz").open("rb") as file, np.load(file) as stored:
        upper = stored["score"].astype(np.int64)
    names = class_names(DECK)
    score = np.zeros((len(names), len(names)))
    score[np.triu_indices(len(names))] = upper
    member = np.zeros((DECK.num_hands, len(names)))
    member[np.arange(DECK.num_hands), class_of(DECK)] = 1
    pairs = member.T @ DECK.disjoint @ member
    equity = score / (2 * RUNOUTS * pairs)
    low = np.tril_indices(len(names), -1)
    equity[low] = 1 - equity.T[low]
    return Preflop(equity, pairs)


class EquityLeaves:
    """Leaves where equity shares the pot; see `subgame.engines.street.Leaves`."""

    opponent = -1

    def __init__(self, net: Floats, stakes: Sequence[float]) -> None:
        """`net` [class, class] is what the first wins of a stake of 1, times how often they meet.

        `stakes` [leaf] are what each player can lose there.
        """
        self.net, self.stakes = net, np.array(stakes, np.float64)

    def __len__(self) -> int:
        return 1

    def won(self, p: int, reach: Floats) -> Floats:
        """See `Leaves.won`; both players win by the same table."""
        chips: Floats = self.stakes[:, None, None] * (reach @ self.net.T)
        return chips


@dataclass(frozen=True, eq=False)
class ClassSolution:
    """Strategies of both players by class of hands, and the engine that evaluates them."""

    engine: StreetEngine
    sigma: tuple[Floats, Floats]  # per player [own action, class]
    iterations: int

    def values(self, p: int) -> Floats:
        """[class] what player `p` wins, times how often the class is dealt."""
        plan = self.engine.plan(1 - p, self.sigma[1 - p])
        values: Floats = self.engine.values(p, self.sigma[p], plan).roots[0]
        return values

    def gains(self, p: int) -> Floats:
        """[action, class] what each action of player `p` wins, times how often it is met."""
        reach = self.engine.descend(1 - p, *self.engine.plan(1 - p, self.sigma[1 - p]))
        gains: Floats = self.engine.row_values(p, reach)[1:]
        return gains

    @property
    def exploitability(self) -> float:
        """What a best response gains, averaged over both seats."""
        return sum(self.engine.responses(self.sigma)) / 2


def solve_by_class(
    betting: Street,
    stakes: Sequence[float],
    schedule: Schedule,
    limits: Limits,
    progress: Callable[[int, float], None] | None = None,
) -> ClassSolution:
    """Solve betting that starts before the flop, with all hands, and ends by equity.

    `stakes` are what each player can lose at the leaves of `betting`. `limits` has `iterations` and
    `check_every`; `progress` is called with the iterations and the exploitability at each check.
    """
    table = preflop()
    pairs = table.pairs / table.pairs.sum()
    leaves = EquityLeaves(pairs * (2 * table.equity - 1), stakes)
    engine = StreetEngine(ClassHands(pairs), betting, leaves)
    cfr, done, most = Cfr(engine), 0, limits.iterations or 1
    while True:
        count = min(limits.check_every or most, most - done)
        cfr.advance(schedule.discounts(done + 1, count + 1), done + 1)
        done += count
        one, two = (engine.behaviour(p, cfr.pair[p].average) for p in (0, 1))
        solution = ClassSolution(engine, (one, two), done)
        gap = solution.exploitability
        if progress is not None:
            progress(done, gap)
        if done == most or (limits.target is not None and gap <= limits.target):
            return solution
