"""The grid of hand classes: pairs on the diagonal, suited hands above it, offsuit hands below."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

from subgame.show.charts import svg
from subgame.show.html import text

Rgb = tuple[int, int, int]
SIZE = 30
"""The side of a cell."""

FOLD: Rgb = (61, 124, 184)
CALL: Rgb = (92, 184, 102)
BETS: tuple[Rgb, Rgb] = ((250, 178, 102), (201, 48, 44))
"""The smallest bet and the largest; bets between them have colours in between."""
ALL_IN: Rgb = (125, 60, 152)
HELD: Rgb = (232, 163, 23)
"""Hands of a range, without a strategy."""


class Square(NamedTuple):
    """One class of hands."""

    name: str
    weight: float  # how much of it is in the range, 0 to 1
    mix: Sequence[float]  # how often each action is played


def blend(one: Rgb, two: Rgb, share: float) -> Rgb:
    """A colour between two.

    >>> blend((0, 0, 0), (100, 200, 50), 0.5)
    (50, 100, 25)
    """
    r, g, b = (round(a + (z - a) * share) for a, z in zip(one, two, strict=True))
    return r, g, b


def in_rows(squares: Sequence[Square]) -> list[list[Square]]:
    """The squares of a grid row by row."""
    side = isqrt(len(squares))
    return [list(squares[side * row : side * (row + 1)]) for row in range(side)]


def grid(squares: Sequence[Sequence[Square]], colours: Sequence[Rgb], title: str) -> str:
    """The grid: a square is filled to the height of its weight and split by its actions.

    The largest bets are on the left, as on the command line.

    >>> grid([[Square("AA", 0.5, [0.25, 0.75])]], [CALL, ALL_IN], "river").count("<rect")
    2
    """
    parts = []
    for r, row in enumerate(squares):
        for c, square in enumerate(row):
            parts.append(_square(c * SIZE, r * SIZE, square, colours))
    side = len(squares) * SIZE
    ends = [k * SIZE + 0.5 for k in range(len(squares) + 1)]
    path = "".join(f"M{k:g} 0V{side}M0 {k:g}H{side}" for k in ends)
    parts.append(f"<path d='{path}' stroke='currentColor' stroke-opacity='.18'/>")
    inside = f"<g font-size='10' text-anchor='middle'>{''.join(parts)}</g>"
    return svg(side + 1, side + 1, title, inside)


def _square(x: int, y: int, square: Square, colours: Sequence[Rgb]) -> str:
    """The colours of a square, and its name where it can be read."""
    tall = SIZE * min(max(square.weight, 0.0), 1.0)
    if not tall:
        at = f"x='{x + SIZE / 2:g}' y='{y + 19}'"
        return f"<text {at} fill-opacity='.45'>{text(square.name)}</text>"
    parts, left = [], float(x)
    for share, colour in reversed(list(zip(square.mix, colours, strict=True))):
        wide = SIZE * share
        if wide > 0.05:
            parts.append(
                f"<rect x='{left:.4g}' y='{y + SIZE - tall:.4g}' width='{wide:.3g}' "
                f"height='{tall:.3g}' fill='{_hex(colour)}'/>"
            )
        left += wide
    light = sum(
        share * (0.299 * r + 0.587 * g + 0.114 * b)
        for share, (r, g, b) in zip(square.mix, colours, strict=True)
    )
    # The name stands on the colours if they fill more than half, and above them otherwise.
    ink = "currentColor" if tall <= SIZE / 2 else "#111" if light > 105 else "#fff"
    below = y + 19 if tall > 0.8 * SIZE else y + 11 if tall <= SIZE / 2 else y + 25
    name = f"<text x='{x + SIZE / 2:g}' y='{below}' fill='{ink}'>{text(square.name)}</text>"
    return "".join(parts) + name


def _hex(colour: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def legend(names: Sequence[str], colours: Sequence[Rgb], shares: Sequence[float]) -> str:
    """Each action with its colour and how often it is played."""
    entries = []
    for name, colour, share in zip(names, colours, shares, strict=True):
        mark = (
            f"<span style='display:inline-block;width:11px;height:11px;margin-right:5px;"
            f"background:{_hex(colour)}'></span>"
        )
        entries.append(
            f"<span style='white-space:nowrap;margin-right:14px'>{mark}{text(name)} "
            f"<b>{100 * share:.1f} %</b></span>"
        )
    return f"<div style='max-width:{13 * SIZE}px;padding-top:6px'>{''.join(entries)}</div>"
