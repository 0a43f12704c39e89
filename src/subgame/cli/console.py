"""What is shown by Rich: the console, and lines with names and values. Loaded when one is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

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
