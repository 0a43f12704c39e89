"""Pictures are readable: labels do not cover curves, counts have whole ticks."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

import subgame as sg
from subgame.papers.report import INSIDE, _draw, panel


def drawn(count: int = 1, **options: object) -> Figure:
    series = [{"label": f"{k}", "x": [1, 2, 4], "y": [3.0 + k, 2.0, 1.0]} for k in range(count)]
    figure = Figure()
    _draw(figure.subplots(), panel("title", "values", "chips", series, **options))
    return figure


def ticks(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_xticklabels()]


@pytest.mark.parametrize("scale", ["linear", "log", "semilog"])
def test_counts_have_whole_ticks(scale: str) -> None:
    assert ticks(drawn(scale=scale)) == ["1", "2", "4"]


def test_levels_are_named_in_the_legend_and_not_on_the_curves() -> None:
    axes = drawn(lines=[{"label": "paper", "y": 2.0}]).axes[0]
    assert not axes.texts
    assert axes.get_legend_handles_labels()[1] == ["0", "paper"]


@pytest.mark.parametrize(("count", "outside"), [(INSIDE, False), (INSIDE + 1, True)])
def test_a_long_legend_stands_beside_the_axes(count: int, outside: bool) -> None:
    figure = drawn(count)
    figure.draw_without_rendering()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert (legend.get_window_extent().x0 >= figure.axes[0].get_window_extent().x1) == outside


def test_many_margins_are_in_order_and_few_are_named() -> None:
    leduc = sg.compile(sg.games.load("leduc"))
    many = sg.refine(leduc, sg.Strategy.uniform(leduc), at="after round 1", iterations=1)
    axes = Figure().subplots()
    many.plot(axes)
    bars = axes.containers[0]
    heights = [bar.get_height() for bar in bars]
    assert heights == sorted(heights)
    assert axes.get_xlabel().startswith(f"% of {len(many.rows())} root infosets")
    toss = sg.compile(sg.games.load("coin-toss"))
    few = sg.refine(toss, sg.Strategy.uniform(toss), at="Play", iterations=1)
    axes = Figure().subplots()
    few.plot(axes)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Heads Play", "Tails Play"]
