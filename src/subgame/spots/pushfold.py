"""Push or fold before the flop, heads up: the equilibrium for any stack.

The small blind goes all-in or folds, the big blind calls or folds. Hands that differ only by suit
play alike, so a strategy is 169 numbers for each player (`subgame.spots.classes`).

    >>> chart = push_fold(10)
    >>> chart.push["A2o"], chart.push["72o"], chart.call["AKs"]
    (1.0, 0.0, 1.0)
    >>> chart.exploitability < 1e-3
    True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from subgame.errors import ArgumentError, brief
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.ranges import class_names
from subgame.lazy import np
from subgame.spots.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from subgame.spots.classes import ClassSolution
    from subgame.tree.ranges.betting_tree import Street

    Floats = NDArray[np.float64]

TARGET = 1e-5
"""Big blinds that a best response may win when a solve ends."""
ITERATIONS, CHECKED = 20_000, 50
"""The most iterations, and those between checks of the exploitability."""
DEEPEST = 100_000
"""Big blinds of the largest stack."""


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

    def to_pandas(self) -> DataFrame:
        """A pandas data frame of `table`."""
        return self.table().to_pandas()


def push_fold(
    stack: float, *, small_blind: float = 0.5, ante: float = 0.0, target: float = TARGET
) -> PushFold:
    """The equilibrium for a stack in big blinds; `ante` is what each player adds to the pot.

    CFR+ runs until a best response gains at most `target` big blinds.

    >>> push_fold(10, target=0.01).stack
    10
    """
    if not 0 < stack <= DEEPEST:
        said = f"must be a number of big blinds above 0 and at most {DEEPEST:,}, not {stack}."
        raise ArgumentError("stack", said)
    if not 0 <= small_blind <= 1:
        raise ArgumentError("small_blind", f"must be 0 to 1 big blinds, not {small_blind}.")
    if not 0 <= ante < stack:
        raise ArgumentError("ante", f"must be at least 0 and below the stack, not {ante}.")

    from subgame.solve.limits import Limits
    from subgame.solve.schedule import CFRPlus
    from subgame.spots.classes import solve_by_class

    paid = min(1 + ante, stack), min(small_blind + ante, stack)
    limits = Limits(ITERATIONS, target=target, check_every=CHECKED)
    schedule = CFRPlus(skipped=1)  # without the first strategy, which plays every hand half
    return _chart(stack, solve_by_class(_betting(paid), [stack], schedule, limits))


def _betting(paid: tuple[float, float]) -> Street:
    """The small blind (player 1) folds or pushes; the big blind folds or calls.

    Rows are the root, the fold, and the push or call. `paid` is what players have put in before.
    """
    from subgame.tree.ranges.betting_tree import Ending, Street

    big, small = paid
    endings = [
        Ending((0, 1), (small, -small), showdown=False),
        Ending((1, 2), (-big, big), showdown=False),
    ]
    return Street(
        roots=[],
        index=0,
        rows=[3, 3],
        parent=([0], [0]),
        first=([1], [1]),
        actions=([("f", "c")], [("f", "a")]),
        endings=endings,
        leaf_rows=[(2, 2)],
    )


def _chart(stack: float, solution: ClassSolution) -> PushFold:
    (_, call), (_, push) = solution.sigma
    (given_up, called), (folded, pushed) = solution.gains(0), solution.gains(1)
    reach = np.stack([np.ones(len(push)), push])  # of the small blind: any hand, those it pushes
    dealt, met = solution.engine.opposing(0, reach)
    push_ev, call_ev = (
        (pushed - folded) / dealt,
        (called - given_up) / np.where(met > 0, met, np.nan),
    )
    names = class_names(DECK)

    def named(values: Floats) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    return PushFold(
        stack=stack,
        push=named(push),
        call=named(call),
        push_ev=named(push_ev),
        call_ev=named(call_ev),
        value=float(solution.values(1).sum()),
        exploitability=solution.exploitability,
    )
