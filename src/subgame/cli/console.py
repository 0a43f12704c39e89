"""What is shown by Rich: the console, tables, and numbers and names in them. Loaded when shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from subgame.errors import printable


class SafeConsole(Console):
    """A console that shows control characters in names escaped instead of sending them."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text), style)


class Facts(Table):
    """Lines that have a name, a value and notes."""

    def __init__(self) -> None:
        plain = {"box": None, "show_header": False, "show_edge": False, "pad_edge": False}
        super().__init__(padding=(0, 2), collapse_padding=True, **cast(Any, plain))
        for justify, style in (("left", ""), ("right", "bold"), ("left", "dim")):
            self.add_column(justify=cast(Any, justify), style=style)

    def add(self, name: str, value: str, *notes: str) -> None:
        """One more line."""
        self.add_row(f"  {name}", Text(value), Text("; ".join(filter(None, notes))))


def strategy_table(
    rows: Iterable[tuple[int, str, Mapping[str, float]]],
    plays: str,
    left: int = 0,
    what: str = "more infosets",
) -> Table:
    """Rows of a strategy: player, infoset, probabilities; and how many are `left` out."""
    made = table("player", "infoset", plays, numbers=["player"])
    for p, name, row in rows:
        made.add_row(str(p), Text(one_line(name)), row_text(row))
    if left > 0:
        made.caption = Text(f"… and {left:,} {what}", style="dim")
    return made


def number_text(number: float) -> str:
    """A value in six digits; a rounding error is shown as zero.

    >>> number_text(-1 / 18), number_text(3e-17)
    ('-0.0555556', '0')
    """
    return f"{0.0 if abs(number) < 1e-12 else number:.6g}"


def row_text(probabilities: Mapping[str, float]) -> Text:
    """The actions of an infoset with their probabilities, the likely ones in bold."""
    text = Text()
    for action, probability in probabilities.items():
        style = "bold" if probability > 0.5 else "dim" if probability < 0.005 else ""
        text.append(f"{one_line(action)} {probability:.3f}", style=style)
        text.append("   ")
    text.rstrip()
    return text


def one_line(name: str) -> str:
    """A name of an infoset or action without line breaks, which OpenSpiel's have.

    >>> one_line("P0 hand: 1 2\\nPoints: 0")
    'P0 hand: 1 2 / Points: 0'
    """
    return " / ".join(part for part in name.splitlines() if part) or "(empty)"


def table(*columns: str, title: str | None = None, numbers: Iterable[str] = ()) -> Table:
    """A table in our style; the columns named in `numbers` are aligned to the right."""
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    right = set(numbers)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left")
    return made


def change_text(before: float, after: float) -> str:
    """How an exploitability has changed."""
    change = after - before
    return "lower" if change < -1e-12 else "higher" if change > 1e-12 else "no change"


def next_steps(console: Console, *steps: tuple[str, str]) -> None:
    """Print commands to try next, each with what it does."""
    width = min(60, max(len(command) for command, _ in steps))
    console.print()
    console.print(Text("Where to go next", style="bold"))
    for command, what in steps:
        line = Text.assemble((f"  {command:<{width}}", "cyan"), (f"  # {what}", "dim"))
        console.print(line, soft_wrap=True)
