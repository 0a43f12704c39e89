"""`Refinement`: a blueprint with refined subgames, and the account of it in words and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from subgame.engines.arrays import Floats
from subgame.errors import brief
from subgame.refine.gadgets import Gadget
from subgame.refine.subgame import Subgame
from subgame.show.charts import bars
from subgame.show.html import Code, Value, beside, block, data_frame, table, text
from subgame.solve.evaluate import Exploitability
from subgame.tree.public_tree import both
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

NUMBERS = ("reach", "cbv", "gift", "alternative", "value", "margin")
COLUMNS = ("subgame", "player", "infoset", *NUMBERS)
"""Of the account at every root infoset."""
KEPT_NAMES = 3
"""Subgames that keep the blueprint, named in a sentence."""
EXPLANATION = """\
infoset      a root infoset of the opponent of the refined player
reach        pi_-i: how often the player and chance bring the opponent there
cbv          what the opponent could get there against the blueprint (best response)
gift         what the opponent gave up on the way, so it may be given back (2017, Sec. 5)
alternative  what the gadget paid the opponent for not entering
value        what the opponent can get there now
margin       cbv + gift - value
smallest margin {margin:.6g}; by the margins exploitability has grown by at most {bound:.6g}
{promise}
{kept}"""
SMALLEST = 12
"""Root infosets in the table for notebooks: those with the smallest margins."""
NAMED = 24
"""Up to so many root infosets are named in a picture."""


def compared(before: Exploitability, after: Exploitability) -> dict[str, object]:
    """Two exploitabilities as JSON has them."""
    return {
        "exploitability_before": before.mean,
        "exploitability_after": after.mean,
        "exploitability_per_seat_before": list(before.per_seat),
        "exploitability_per_seat_after": list(after.per_seat),
    }


@dataclass(frozen=True, eq=False)
class Part:
    """One subgame refined for one player. Axis: s = root infoset of the opponent."""

    __repr__ = brief

    technique: Gadget
    subgame: Subgame
    player: int
    sigma: Floats  # [q] the player's strategy inside
    infosets: tuple[str, ...]  # [s]
    weight: Floats  # [s] pi_{-i}: how often the player and chance bring the opponent there
    cbv: Floats  # [s] what the opponent could get inside against the blueprint
    gifts: Floats  # [s]
    alternatives: Floats  # [s] what the gadget paid for not entering, gifts included
    values: Floats  # [s] what the opponent can get inside now
    gap: float | None  # NashConv of the gadget game; None where it is no finite game
    iterations: int
    seconds: float
    stopped: str  # why its solve stopped, see `Result.stopped`
    rejected: float | None = None
    """The margin of the strategy that was found, where the blueprint is kept instead of it."""
    share: float = 1.0
    """Of the strategy that was found in what is played; the rest is the blueprint."""

    @property
    def margins(self) -> Floats:
        """[s] CBV + gifts - what the opponent can get now (2017, eq. 1; eq. 2 without gifts)."""
        return self.cbv + self.gifts - self.values

    def rows(self) -> Iterator[tuple[object, ...]]:
        """What `COLUMNS` names, for every root infoset."""
        numbers = self.weight, self.cbv, self.gifts, self.alternatives, self.values, self.margins
        for name, *row in zip(self.infosets, *(column.tolist() for column in numbers), strict=True):
            yield self.subgame.name, self.player, name, *row

    @property
    def margin(self) -> float:
        """The smallest margin over root infosets that can be reached: the subgame margin."""
        reached = self.weight > 0
        return float(self.margins[reached].min()) if reached.any() else 0.0

    @property
    def bound(self) -> float:
        """How much more a best response can win in the whole game because of this part, at most.

        No more than the sum of what the opponent gained at each root infoset, weighted by pi_{-i}
        and by the most that the opponent can reach it with: one, or the range. Gifts are no gain
        where the technique gives them back safely.
        """
        amounts = self.gifts if self.technique.returns_gifts else 0.0
        return self._total(np.maximum(self.values - self.cbv - amounts, 0))

    @property
    def rounding(self) -> float:
        """The bound that may be due to rounding: that of numbers, and that of a linear program."""
        programme = (
            max(self.gap, 0.0) if self.gap is not None and self.stopped == "optimal" else 0.0
        )
        sizes = np.abs(self.cbv) + np.abs(self.values) + self.subgame.largest_payoff
        return programme + self.subgame.tree.precision * self._total(sizes)

    def _total(self, values: Floats) -> float:
        """Values of all root infosets, in units of the whole game."""
        return float((values * self.weight) @ self.subgame.most(1 - self.player))


@dataclass(frozen=True, eq=False)
class Refinement:
    """A blueprint with refined subgames, and the account of it."""

    game: str
    technique: Gadget
    schedule: str
    strategy: Strategy
    parts: tuple[Part, ...]
    before: Exploitability
    after: Exploitability
    seconds: float

    @property
    def margin(self) -> float:
        """The smallest margin of all parts."""
        return min((part.margin for part in self.parts), default=0.0)

    @property
    def bound(self) -> float:
        """What `after` can exceed `before` by, by the margins alone, as the mean of both seats."""
        return sum(self.bound_per_seat) / 2

    @property
    def bound_per_seat(self) -> tuple[float, float]:
        """The same for each seat."""
        return both(lambda p: sum((part.bound for part in self.parts if part.player == p), 0.0))

    @property
    def kept(self) -> tuple[Part, ...]:
        """The parts that keep the blueprint, because what was found is not shown to be as good."""
        return tuple(part for part in self.parts if part.rejected is not None)

    @property
    def kept_text(self) -> str:
        """Where the blueprint is kept and why; "" if nowhere."""
        kept = self.kept
        if not kept:
            return ""
        names = [f"{part.subgame.name} (player {part.player})" for part in kept[:KEPT_NAMES]]
        more = f" and {len(kept) - KEPT_NAMES:,} more" if len(kept) > KEPT_NAMES else ""
        worst = min(part.rejected for part in kept if part.rejected is not None)
        return (
            f"The blueprint is kept in {len(kept):,} of {len(self.parts):,} parts: "
            f"{', '.join(names)}{more}. What was found there is not accurate enough (smallest "
            f"margin {worst:.4g}); it needs more iterations or seconds, or a smaller gap."
        )

    @property
    def is_worse(self) -> bool:
        """Whether a best response wins more than before, beyond rounding, from some player."""
        return any(
            after > before + sum(part.rounding for part in self.parts if part.player == p)
            for p, (before, after) in enumerate(
                zip(self.before.per_seat, self.after.per_seat, strict=True)
            )
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per root infoset: what `text` shows."""
        return [dict(zip(COLUMNS, row, strict=True)) for part in self.parts for row in part.rows()]

    def text(self, limit: int = 60) -> str:
        """The account at every root infoset, and below it what each column means."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, title=repr(self).strip("<>"))
        for name in COLUMNS:
            table.add_column(name, justify="left" if name in ("subgame", "infoset") else "right")
        rows = self.rows()
        for row in rows[:limit]:
            table.add_row(*(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()))
        console = Console(width=120, file=None, record=False, color_system=None)
        with console.capture() as text:
            console.print(table)
        more = f"... {len(rows) - limit} more rows\n" if len(rows) > limit else ""
        promise, kept = self.technique.promise, self.kept_text
        return f"{text.get()}{more}" + EXPLANATION.format(
            bound=self.bound, margin=self.margin, promise=promise, kept=kept
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Margins as bars, one per root infoset, coloured by sign; safety is lost below zero."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(8, 4), layout="constrained")[1]
        rows = self.rows()
        few = len(rows) <= NAMED
        if not few:
            rows = sorted(rows, key=lambda row: row["margin"])
        margins = [row["margin"] for row in rows]
        colours = ["#2563eb" if margin >= -1e-9 else "#dc2626" for margin in margins]
        ax.axhline(0, color="black", linewidth=0.8)
        step = 1 if few else 100 / len(rows)  # too many for names: in order, as a share of all
        places = [step * (i + 0.5) for i in range(len(rows))]
        ax.bar(places, margins, width=0.8 if few else step, color=colours)
        if few:
            names = [" / ".join(str(row["infoset"]).split("\n")) for row in rows]
            ax.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor")
        else:
            ax.set_xlim(0, 100)
        many = f"% of {len(rows):,} root infosets, from the smallest margin to the largest"
        ax.set(
            ylabel="margin",
            xlabel="root infoset" if few else many,
            title=f"{self.game}: margins of {self.technique.name}",
        )
        return ax

    def to_pandas(self) -> DataFrame:
        """A pandas data frame with a line per root infoset, as `rows`."""
        return data_frame(self.rows())

    def _repr_html_(self) -> str:
        """The exploitability before and after, the margins, and the smallest, for notebooks."""
        rows = sorted(self.rows(), key=lambda row: float(row["margin"]))
        seats: list[list[Value]] = [
            [name, gap.mean, *gap.per_seat]
            for name, gap in (("before", self.before), ("after", self.after))
        ]
        heads = ["exploitability", "mean", "of player 0", "of player 1"]
        names = [" / ".join(str(row["infoset"]).split("\n")) for row in rows]
        drawn = bars(names, [float(row["margin"]) for row in rows], "margin")
        listed: list[list[Value]] = [
            [str(row["subgame"]), Code(name), *(float(row[key]) for key in NUMBERS)]
            for name, row in zip(names[:SMALLEST], rows, strict=False)
        ]
        below = table(["subgame", "infoset", *NUMBERS], listed, more=max(len(rows) - SMALLEST, 0))
        title = f"{self.game}, refined by {self.technique.name}"
        said = f"<p>{text(self.technique.promise, 400)} {text(self.kept_text, 400)}</p>"
        return block(title, beside(table(heads, seats), drawn), said, below)

    def as_dict(self) -> dict[str, Any]:
        """The fields that ``subgame refine --json`` prints."""
        rows = self.rows()
        many = len({(row["subgame"], row["player"]) for row in rows}) > 1

        names = [f"{r['subgame']} | {r['infoset']}" if many else r["infoset"] for r in rows]
        if len(set(names)) < len(names):  # both players' root infosets are called the same
            names = [f"player {1 - r['player']}: {n}" for r, n in zip(rows, names, strict=True)]

        def column(key: str) -> dict[str, float]:
            return {name: row[key] for name, row in zip(names, rows, strict=True)}

        inside = [part.subgame.shown(self.strategy, part.player) for part in self.parts]
        return {
            "game": self.game,
            "technique": self.technique.name,
            "schedule": self.schedule,
            "strategy": {name: row for shown in inside for name, row in shown.items()},
            "margins": column("margin"),
            "alternatives": column("alternative"),
            "gifts": column("gift"),
            **compared(self.before, self.after),
            "bound": self.bound,
            "kept": [{"subgame": part.subgame.name, "player": part.player} for part in self.kept],
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return (
            f"<Refinement of {self.game} by {self.technique.name} in {len(self.parts)} parts: "
            f"exploitability {float(self.before):.4g} -> {float(self.after):.4g}>"
        )
