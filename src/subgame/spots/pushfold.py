"""Push or fold before the flop, heads up: the equilibrium for any stack.

The small blind goes all-in or folds, the big blind calls or folds. Hands that differ only by suit
play alike, so a strategy is 169 numbers for each player. What a class wins from another when both
are all-in is exact: all pairs of hands that share no card, and all boards
(`tools/preflop_data.py`).

    >>> found = push_fold(10)
    >>> found.push["A2o"], found.push["72o"], found.call["AKs"]
    (1.0, 0.0, 1.0)
    >>> found.exploitability < 1e-3
    True
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from subgame.errors import ArgumentError, brief
from subgame.games.holdem.cards import DECK
from subgame.lazy import np
from subgame.spots.decisions import class_names, class_of
from subgame.spots.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNOUTS = 1_712_304
"""Boards that are left for two hands."""
TARGET = 1e-5
"""Big blinds that a best response may win when a solve ends."""
ITERATIONS = 20_000
DEEPEST = 100_000
"""Big blinds of the largest stack."""


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


@dataclass(frozen=True, eq=False)
class PushFold:
    """An equilibrium of push or fold. Chips are big blinds."""

    __repr__ = brief

    stack: float
    """What each player has before the blinds and antes."""
    push: dict[str, float]
    """Class of hands -> how often the small blind goes all-in."""
    call: dict[str, float]
    """Class of hands -> how often the big blind calls."""
    push_ev: dict[str, float]
    """Class -> what going all-in wins on average, beside folding."""
    call_ev: dict[str, float]
    """Class -> what calling wins on average, beside folding."""
    value: float
    """What the small blind wins on average."""
    exploitability: float
    """What a best response gains, averaged over both seats."""

    def table(self) -> Table:
        """One row per class of hands."""
        return Table(
            {
                "class": name,
                "push": self.push[name],
                "push_ev": self.push_ev[name],
                "call": self.call[name],
                "call_ev": self.call_ev[name],
            }
            for name in self.push
        )

    def to_pandas(self) -> Any:
        """A pandas data frame of `table`."""
        return self.table().to_pandas()


def push_fold(
    stack: float, *, small_blind: float = 0.5, ante: float = 0.0, target: float = TARGET
) -> PushFold:
    """The equilibrium for a stack in big blinds; `ante` is what each player adds to the pot.

    Regret matching+ with alternating updates and linear averaging, until a best response gains at
    most `target` big blinds.
    """
    if not 0 < stack <= DEEPEST:
        said = f"must be a number of big blinds above 0 and at most {DEEPEST:,}, not {stack}."
        raise ArgumentError("stack", said)
    if not 0 <= small_blind <= 1:
        raise ArgumentError("small_blind", f"must be 0 to 1 big blinds, not {small_blind}.")
    if not 0 <= ante < stack:
        raise ArgumentError("ante", f"must be at least 0 and below the stack, not {ante}.")

    from subgame.engines.arrays import regret_matching

    game = _Game.of(stack, small_blind, ante)
    count = len(class_names(DECK))
    plays = [np.full(count, 0.5), np.full(count, 0.5)]
    regrets = [np.zeros((2, count)), np.zeros((2, count))]  # [fold or not, class]
    means, weight = [np.zeros(count), np.zeros(count)], 0.0
    for t in range(1, ITERATIONS + 1):
        for p, gain in enumerate((game.push_gain, game.call_gain)):
            more = gain(plays[1 - p])
            value = plays[p] * more
            regrets[p] = np.maximum(regrets[p] + np.stack([-value, more - value]), 0)
            plays[p] = regret_matching(regrets[p], 0)[1]
            means[p] += t * plays[p]
        weight += t
        if t % 50 == 0 and game.gap(means[0] / weight, means[1] / weight) <= target:
            break
    return game.result(stack, means[0] / weight, means[1] / weight)


class _Game(NamedTuple):
    """Gains over folding, weighted by how likely the hands are."""

    share: Floats  # [class, class] the probability that the two are dealt
    won: Floats  # [class, class] what the small blind nets when both are all-in
    blinds: tuple[float, float]  # what each player has put in

    @classmethod
    def of(cls, stack: float, small: float, ante: float) -> _Game:
        table = preflop()
        blinds = min(small + ante, stack), min(1 + ante, stack)
        won = stack * (2 * table.equity - 1)
        return cls(table.pairs / table.pairs.sum(), won, blinds)

    def push_gain(self, call: Floats) -> Floats:
        """[class] what going all-in gains over folding."""
        small, big = self.blinds
        out: Floats = (self.share * (self.won * call + big * (1 - call) + small)).sum(1)
        return out

    def call_gain(self, push: Floats) -> Floats:
        """[class] what calling gains over folding."""
        out: Floats = (self.share * push[:, None] * (self.blinds[1] - self.won)).sum(0)
        return out

    def gap(self, push: Floats, call: Floats) -> float:
        """The exploitability."""
        first, second = self.push_gain(call), self.call_gain(push)
        lost = np.maximum(first, 0) - push * first, np.maximum(second, 0) - call * second
        return float(lost[0].sum() + lost[1].sum()) / 2

    def result(self, stack: float, push: Floats, call: Floats) -> PushFold:
        names = class_names(DECK)
        first, second = self.push_gain(call), self.call_gain(push)
        met = self.share.T @ push
        each = first / self.share.sum(1), second / np.where(met > 0, met, np.nan)

        def named(values: Floats) -> dict[str, float]:
            return dict(zip(names, values.tolist(), strict=True))

        value = float(push @ first) - self.blinds[0]
        gap = self.gap(push, call)
        return PushFold(stack, named(push), named(call), named(each[0]), named(each[1]), value, gap)
