"""What a refinement did, for people: a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from subgame.show.charts import bars
from subgame.show.html import Code, Value, beside, block, table, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from subgame.refine.gadgets import Gadget
    from subgame.refine.subgame import Subgame
    from subgame.solve.evaluate import Exploitability


NUMBERS = ("reach", "cbv", "gift", "alternative", "value", "margin")
COLUMNS = ("subgame", "player", "infoset", *NUMBERS)
"""Of the account at every root infoset."""
KEPT_NAMES = 3
"""Subgames that keep the blueprint, named in a sentence."""


class AccountPart(Protocol):
    """One subgame of an account."""

    @property
    def subgame(self) -> Subgame: ...
    @property
    def player(self) -> int: ...
    @property
    def rejected(self) -> float | None: ...


class Account(Protocol):
    """What is shown of a refinement, see `subgame.refine.verbs.refine.Refinement`."""

    @property
    def game(self) -> str: ...
    @property
    def technique(self) -> Gadget: ...
    @property
    def parts(self) -> Sequence[AccountPart]: ...
    @property
    def kept(self) -> Sequence[AccountPart]: ...
    @property
    def before(self) -> Exploitability: ...
    @property
    def after(self) -> Exploitability: ...
    @property
    def bound(self) -> float: ...
    @property
    def margin(self) -> float: ...

    def rows(self) -> list[dict[str, Any]]: ...


def compared(before: Exploitability, after: Exploitability) -> dict[str, object]:
    """Two exploitabilities as JSON has them."""
    return {
        "exploitability_before": before.mean,
        "exploitability_after": after.mean,
        "exploitability_per_seat_before": list(before.per_seat),
        "exploitability_per_seat_after": list(after.per_seat),
    }


def as_text(refinement: Account, limit: int) -> str:
    """The account at every root infoset, and below it what each column means."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=repr(refinement).strip("<>"))
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("subgame", "infoset") else "right")
    rows = refinement.rows()
    for row in rows[:limit]:
        table.add_row(*(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()))
    console = Console(width=120, file=None, record=False, color_system=None)
    with console.capture() as text:
        console.print(table)
    more = f"... {len(rows) - limit} more rows\n" if len(rows) > limit else ""
    promise, kept = refinement.technique.promise, kept_text(refinement)
    return f"{text.get()}{more}" + EXPLANATION.format(
        bound=refinement.bound, margin=refinement.margin, promise=promise, kept=kept
    )


def kept_text(refinement: Account) -> str:
    """Where the blueprint is kept and why; "" if nowhere."""
    kept = refinement.kept
    if not kept:
        return ""
    names = [f"{part.subgame.name} (player {part.player})" for part in kept[:KEPT_NAMES]]
    more = f" and {len(kept) - KEPT_NAMES:,} more" if len(kept) > KEPT_NAMES else ""
    worst = min(part.rejected for part in kept if part.rejected is not None)
    return (
        f"The blueprint is kept in {len(kept):,} of {len(refinement.parts):,} parts: "
        f"{', '.join(names)}{more}. What was found there is not accurate enough (smallest margin "
        f"{worst:.4g}); it needs more iterations or seconds, or a smaller gap."
    )


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


def as_html(refinement: Account) -> str:
    """The exploitability before and after, the margins, and the smallest of them."""
    rows = sorted(refinement.rows(), key=lambda row: float(row["margin"]))
    seats: list[list[Value]] = [
        [name, gap.mean, *gap.per_seat]
        for name, gap in (("before", refinement.before), ("after", refinement.after))
    ]
    heads = ["exploitability", "mean", "of player 0", "of player 1"]
    names = [" / ".join(str(row["infoset"]).split("\n")) for row in rows]
    drawn = bars(names, [float(row["margin"]) for row in rows], "margin")
    listed: list[list[Value]] = [
        [str(row["subgame"]), Code(name), *(float(row[key]) for key in NUMBERS)]
        for name, row in zip(names[:SMALLEST], rows, strict=False)
    ]
    below = table(["subgame", "infoset", *NUMBERS], listed, more=max(len(rows) - SMALLEST, 0))
    title = f"{refinement.game}, refined by {refinement.technique.name}"
    said = f"<p>{text(refinement.technique.promise, 400)} {text(kept_text(refinement), 400)}</p>"
    return block(title, beside(table(heads, seats), drawn), said, below)


NAMED = 24
"""Up to so many root infosets are named in a picture."""


def draw(refinement: Account, ax: Axes | None = None) -> Axes:
    """Margins as bars, one per root infoset, coloured by sign."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(8, 4), layout="constrained")[1]
    rows = refinement.rows()
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
        title=f"{refinement.game}: margins of {refinement.technique.name}",
    )
    return ax
