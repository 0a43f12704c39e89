"""The result of a solve, and the reports of its progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from subgame.show.charts import curve
from subgame.show.html import Value, beside, block, data_frame, table
from subgame.solve.evaluate import Exploitability
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from subgame.solve.exact import Certificate


class Point(NamedTuple):
    """One point of the exploitability curve."""

    iteration: int
    seconds: float
    exploitability: float


class Step(NamedTuple):
    """A report of progress; `share` is the part of the work that is done, from 0 to 1."""

    iteration: int
    seconds: float
    exploitability: float
    share: float
    left: float = math.nan
    """About how many seconds are left; nan where nobody knows."""


Progress = Callable[[Step], None]


def gains_said(gap: Exploitability) -> dict[str, object]:
    """What JSON says of a game that is not zero-sum: each player's value and possible gain."""
    if gap.values is None or gap.gains is None:
        return {}
    return {"zero_sum": False, "values": list(gap.values), "gains": list(gap.gains)}


@dataclass(frozen=True, eq=False)
class Result:
    """A solved game: the strategy, its values, how it was made and why the solve stopped."""

    game: str
    schedule: str
    seed: int
    strategy: Strategy
    iterations: int
    seconds: float
    value: float
    """What player 0 wins on average when both play the strategy."""
    exploitability: Exploitability
    curve: tuple[Point, ...]
    stopped: str
    """"iterations", "seconds", "target", "interrupted", "stalled" (levelled off near the least
    exploitability that the storage can hold) or "optimal" (LP)."""
    certificate: Certificate | None = None
    """The equilibrium in exact fractions, if `solve_lp` was asked for it."""

    def as_dict(self) -> dict[str, Any]:
        """The fields that ``subgame solve --json`` prints."""
        return {
            "game": self.game,
            "schedule": self.schedule,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "value": self.value,
            "exploitability": self.exploitability.mean,
            "exploitability_per_seat": list(self.exploitability.per_seat),
            **gains_said(self.exploitability),
            **({"exact_value": str(self.certificate.value)} if self.certificate else {}),
            "stopped": self.stopped,
            "seed": self.seed,
        }

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the exploitability curve, both axes logarithmic."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        points = [point for point in self.curve if point.exploitability > 0]
        ax.loglog(
            [point.iteration for point in points],
            [point.exploitability for point in points],
            **{"label": self.schedule, **style},
        )
        ax.set(xlabel="iterations", ylabel="exploitability", title=self.game)
        ax.grid(visible=True, which="both", alpha=0.3)
        ax.legend()
        return ax

    def to_pandas(self) -> DataFrame:
        """The curve as a pandas data frame: iteration, seconds and exploitability."""
        return data_frame((point._asdict() for point in self.curve), Point._fields)

    def _repr_html_(self) -> str:
        """The curve and the numbers, for notebooks."""
        gap = self.exploitability
        rows: list[list[Value]] = [
            ["value for player 0", self.value],
            ["exploitability", gap.mean],
            ["a best response wins from player 0", gap.per_seat[0]],
            ["a best response wins from player 1", gap.per_seat[1]],
            ["iterations", self.iterations],
            ["seconds", self.seconds],
            ["stopped by", self.stopped],
        ]
        points = [(float(point.iteration), point.exploitability) for point in self.curve]
        drawn = curve(points, "iterations", "exploitability")
        title = f"{self.game}, solved by {self.schedule}"
        return block(title, beside(drawn, table(["", ""], rows)))

    def __repr__(self) -> str:
        return (
            f"<Result of {self.schedule} on {self.game}: value {self.value:.6g}, exploitability "
            f"{float(self.exploitability):.3g} after {self.iterations:,} iterations "
            f"in {self.seconds:.3g} s, stopped by {self.stopped}>"
        )
