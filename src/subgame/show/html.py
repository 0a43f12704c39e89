"""Tables and blocks of HTML, and data frames of pandas, which is optional."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from subgame.errors import SubgameError, printable

BLUE, RED = "#2563eb", "#dc2626"
FONT = "font:13px system-ui,sans-serif"
LINE = "1px solid rgba(128,128,128,.3)"
LONGEST_TEXT = 60
"""Letters of the longest text in a cell or a label."""


class Shaded(NamedTuple):
    """A text on a blue background, the darker the larger `share` is (0 to 1)."""

    text: str
    share: float


class Code(NamedTuple):
    """A text in the letters of code, such as the name of an infoset."""

    text: str


Value = str | float | None | Shaded | Code


def text(words: object, longest: int = LONGEST_TEXT) -> str:
    """A text, escaped, without control characters, and cut where it is too long.

    >>> text("a & <b>"), text("x" * 99, 5)
    ('a &amp; &lt;b&gt;', 'xxxx…')
    """
    from html import escape  # with a table of entities

    said = printable(str(words))
    return escape(said if len(said) <= longest else f"{said[: longest - 1]}…")


def number(value: float) -> str:
    """A number as people read it.

    >>> number(1234567), number(-0.25), number(2.5e-11), number(float("nan")), number(3e-17)
    ('1,234,567', '-0.25', '2.5e-11', '–', '0')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return "–"
    return "0" if abs(value) < 1e-13 else f"{value:.4g}"


def table(
    heads: Sequence[str], rows: Iterable[Sequence[Value]], *, caption: str = "", more: int = 0
) -> str:
    """A table; numbers are on the right. `more` says how many rows are left out.

    >>> "<td" in table(["hand", "EV"], [["AsAh", 61.5]])
    True
    """
    out = [f"<caption style='text-align:left;padding:4px 0'>{text(caption, 200)}</caption>"]
    head = "".join(f"<th style='{_cell(left=True)}'>{text(name)}</th>" for name in heads)
    out = [*out[: bool(caption)], f"<tr>{head}</tr>"]
    out += [f"<tr>{''.join(_td(value) for value in row)}</tr>" for row in rows]
    if more:
        out.append(
            f"<tr><td colspan='{len(heads)}' style='{_cell(True)}'>… {more:,} more</td></tr>"
        )
    return f"<table style='border-collapse:collapse;{FONT}'>{''.join(out)}</table>"


def _cell(left: bool) -> str:
    return f"padding:3px 9px;border-bottom:{LINE};text-align:{'left' if left else 'right'}"


def _td(value: Value) -> str:
    style = _cell(not isinstance(value, float | int))
    if isinstance(value, Shaded):  # faint enough for the letters of a light or a dark page
        paper = f"rgba(37,99,235,{0.55 * min(max(value.share, 0.0), 1.0):.2f})"
        return f"<td style='{style};background:{paper}'>{text(value.text)}</td>"
    if isinstance(value, Code):
        return f"<td style='{style}'><code>{text(value.text)}</code></td>"
    shown = (
        number(value) if isinstance(value, float | int) else text("–" if value is None else value)
    )
    return f"<td style='{style}'>{shown}</td>"


def block(title: str, *parts: str) -> str:
    """A title and what follows it."""
    head = f"<div style='font-weight:600;padding:2px 0 6px'>{text(title, 200)}</div>"
    return f"<div style='{FONT};max-width:900px'>{head}{''.join(parts)}</div>"


def beside(*parts: str) -> str:
    """Parts next to each other, if there is room."""
    inside = "".join(f"<div>{part}</div>" for part in parts)
    return (
        f"<div style='display:flex;flex-wrap:wrap;gap:20px;align-items:flex-start'>{inside}</div>"
    )


def data_frame(
    rows: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None
) -> object:
    """A pandas data frame with a line per row; an error says what to install without pandas."""
    try:
        import pandas
    except ImportError:
        raise SubgameError(
            "A data frame needs pandas, which is not installed: pip install pandas."
        ) from None
    return pandas.DataFrame(list(rows), columns=columns)
