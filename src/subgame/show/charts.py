"""Curves, bars and trees as SVG; lines and letters have the colour of the text around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from subgame.show.html import BLUE, RED, number, text

FONT = "font-family='system-ui,sans-serif' font-size='11'"
WIDTH, HEIGHT = 460, 240
LEFT, TOP, BOTTOM, RIGHT = 62, 12, 38, 14


def svg(width: float, height: float, title: str, *parts: str) -> str:
    """A drawing that is read out as its title."""
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' "
        f"width='{width:g}' height='{height:g}' role='img' style='max-width:100%;color:inherit' "
        f"fill='currentColor' {FONT}><title>{text(title, 200)}</title>{''.join(parts)}</svg>"
    )


def word(x: float, y: float, words: str, at: str = "middle", **more: str) -> str:
    """A text at a place."""
    rest = "".join(f" {key.replace('_', '-')}='{value}'" for key, value in more.items())
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{at}'{rest}>{text(words, 40)}</text>"


def line(x: float, y: float, u: float, v: float, strength: float = 0.25) -> str:
    """A straight line."""
    return (
        f"<line x1='{x:.1f}' y1='{y:.1f}' x2='{u:.1f}' y2='{v:.1f}' stroke='currentColor' "
        f"stroke-opacity='{strength}'/>"
    )


def curve(points: Sequence[tuple[float, float]], xlabel: str, ylabel: str) -> str:
    """A curve with both axes logarithmic; points that are not positive are left out.

    >>> "<polyline" in curve([(1, 0.5), (10, 0.05)], "iterations", "exploitability")
    True
    """
    logs = [(math.log10(x), math.log10(y)) for x, y in points if x > 0 and 0 < y < math.inf]
    if len(logs) < 2:
        return ""
    xs, ys = _span([x for x, _ in logs]), _span([y for _, y in logs])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - xs[0]) / (xs[1] - xs[0]) * (WIDTH - LEFT - RIGHT)
        return LEFT + across, HEIGHT - BOTTOM - (y - ys[0]) / (ys[1] - ys[0]) * (
            HEIGHT - TOP - BOTTOM
        )

    parts = []
    for k in _powers(xs):
        x, y = place(k, ys[0])
        parts += [line(x, TOP, x, y), word(x, y + 15, _power(k))]
    for k in _powers(ys):
        x, y = place(xs[0], k)
        parts += [line(x, y, WIDTH - RIGHT, y), word(x - 6, y + 4, _power(k), "end")]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*log) for log in logs))
    parts.append(f"<polyline points='{drawn}' fill='none' stroke='{BLUE}' stroke-width='2'/>")
    parts.append(word((LEFT + WIDTH) / 2, HEIGHT - 6, xlabel))
    middle = (HEIGHT - BOTTOM) / 2
    parts.append(word(12, middle, ylabel, transform=f"rotate(-90 12 {middle:g})"))
    return svg(WIDTH, HEIGHT, f"{ylabel} by {xlabel}", *parts)


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high - low > 0.2 else (low - 0.2, high + 0.2)


def _powers(span: tuple[float, float]) -> list[float]:
    """Powers of ten inside, at most six; the ends where there are less than two."""
    whole = range(math.ceil(span[0]), math.floor(span[1]) + 1)
    step = max(1, math.ceil(len(whole) / 6))
    return [float(k) for k in whole[::step]] if len(whole) >= 2 else list(span)


def _power(k: float) -> str:
    value = 10**k
    if k != int(k):
        return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
    return f"{value:,.0f}" if 0 <= k <= 5 else f"{value:g}" if -4 <= k < 0 else f"1e{k:.0f}"


def bars(names: Sequence[str], values: Sequence[float], label: str) -> str:
    """A bar per name, blue from zero on, red below; numbers in place of names if there are many."""
    if not values:
        return ""
    few, height = len(values) <= 24, 200
    low, high = min(0.0, *values), max(0.0, *values)
    span = (high - low) or 1.0
    floor = height - (78 if few else 24)
    step = (WIDTH - LEFT - RIGHT) / len(values)
    zero = TOP + high / span * (floor - TOP)
    parts = [word(LEFT - 6, TOP + 8, number(high), "end")] if high > 0 else []
    parts += [word(LEFT - 6, floor, number(low), "end")] if low < 0 else []
    for k, value in enumerate(values):
        top = TOP + (high - max(value, 0.0)) / span * (floor - TOP)
        tall = abs(value) / span * (floor - TOP)
        x, wide = LEFT + k * step, max(step * 0.8, 0.5)
        colour = BLUE if value >= -1e-9 else RED
        parts.append(
            f"<rect x='{x:.1f}' y='{top:.1f}' width='{wide:.1f}' height='{max(tall, 0.5):.1f}' "
            f"fill='{colour}'><title>{text(names[k])}: {number(value)}</title></rect>"
        )
        if few:
            x += wide / 2 + 4
            turned = f"rotate(-45 {x:.1f} {floor + 12:.1f})"
            parts.append(word(x, floor + 12, str(names[k])[-14:], "end", transform=turned))
    parts.append(line(LEFT, zero, WIDTH - RIGHT, zero, 0.8))
    parts.append(word(12, floor / 2, label, transform=f"rotate(-90 12 {floor / 2:g})"))
    return svg(WIDTH, height, f"{label} of {len(values):,} root infosets", *parts)


# Trees ---------------------------------------------------------------------------------------
class Node(NamedTuple):
    """A node of a tree to draw; `parent` is -1 at the root, and parents come first."""

    name: str
    parent: int
    note: str = ""


MOST_NODES = 40
"""Nodes that are drawn."""
STEP, ROW = 150, 20


def tree(nodes: Sequence[Node]) -> str:
    """A tree, or several, from left to right; of a large one the levels at the top.

    >>> tree([Node("start", -1), Node("Sell", 0), Node("Play", 0)]).count("<circle")
    3
    """
    depth, shown, hidden = _levels(nodes)
    children: dict[int, list[int]] = {n: [] for n in shown}
    for n in shown:
        if nodes[n].parent in children:
            children[nodes[n].parent].append(n)
    height: dict[int, float] = {}
    leaves = 0
    for root in (n for n in shown if nodes[n].parent < 0):
        for n in _depth_first(children, root):
            if not children[n]:
                height[n] = 20 + leaves * ROW
                leaves += 1
    for n in reversed(shown):
        if children[n]:
            height[n] = sum(height[c] for c in children[n]) / len(children[n])
    parts = []
    for n in shown:
        x, y = 8 + depth[n] * STEP, height[n]
        if nodes[n].parent >= 0:
            u, v = 8 + depth[nodes[n].parent] * STEP, height[nodes[n].parent]
            bend = f"M{u:.0f} {v:.1f} C{u + 50:.0f} {v:.1f} {x - 50:.0f} {y:.1f} {x:.0f} {y:.1f}"
            parts.append(
                f"<path d='{bend}' fill='none' stroke='currentColor' stroke-opacity='.35'/>"
            )
        more = f" +{hidden[n]:,}" if n in hidden else ""
        parts.append(f"<circle cx='{x:.0f}' cy='{y:.1f}' r='4' fill='{BLUE}'/>")
        label = f"{text(nodes[n].name or 'start', 16)}{more}"
        x, y = (x, y - 8) if children[n] else (x + 8, y + 4)  # lines leave inner nodes on the right
        about = f"{text(nodes[n].name, 200)} {text(nodes[n].note)}"
        parts.append(f"<text x='{x:.0f}' y='{y:.1f}'>{label}<title>{about}</title></text>")
    wide = 8 + (max(depth.values()) + 1) * STEP
    return svg(wide, 20 + max(leaves, 1) * ROW, f"a tree of {len(nodes):,} nodes", *parts)


def _levels(nodes: Sequence[Node]) -> tuple[dict[int, int], list[int], dict[int, int]]:
    """The depth of the nodes that are drawn, these nodes, and how many each of them hides."""
    depth: dict[int, int] = {}
    for n, node in enumerate(nodes):
        depth[n] = depth[node.parent] + 1 if node.parent >= 0 else 0
    sizes = [0] * (max(depth.values()) + 2)
    for d in depth.values():
        sizes[d] += 1
    level = max(d for d in range(len(sizes) - 1) if d == 0 or sum(sizes[: d + 1]) <= MOST_NODES)
    shown = [n for n in depth if depth[n] <= level]
    hidden: dict[int, int] = {}
    top = {n: n for n in shown}
    for n in depth:
        if depth[n] > level:
            top[n] = top[nodes[n].parent]
            hidden[top[n]] = hidden.get(top[n], 0) + 1
    return {n: depth[n] for n in shown}, shown, hidden


def _depth_first(children: dict[int, list[int]], root: int) -> list[int]:
    out, stack = [], [root]
    while stack:
        out.append(stack.pop())
        stack += reversed(children[out[-1]])
    return out
