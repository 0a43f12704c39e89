"""What notebooks show: numbers are those of the objects, texts are escaped, nothing is fetched."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.papers import reproduce
from subgame.papers.report import Report
from subgame.refine.report import Refinement
from subgame.refine.subgame import Trunk
from subgame.show.charts import Node, bars, curve, tree
from subgame.show.grid import ALL_IN, CALL, Square, grid
from subgame.show.html import Shaded, table
from subgame.solve.results import Result
from subgame.spots.endgame import Endgame

HOSTILE = "<script>alert('x')</script>\x1b[31m"
VOID = {"br", "hr", "img", "meta"}


class Checker(HTMLParser):
    """Every element is closed where it was opened, and none runs or fetches anything."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe", "object")
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)
        assert not any("url(" in (value or "") for _, value in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(shown: str) -> str:
    checker = Checker()
    checker.feed(shown)
    assert checker.open == []
    assert len(shown) < 60_000
    return shown


@pytest.fixture(scope="module")
def leduc() -> Result:
    return sg.solve(sg.compile(sg.games.load("leduc-ranks")), iterations=60, check_every=10)


@pytest.fixture(scope="module")
def refined(leduc: Result) -> Refinement:
    at = "after round 1"
    return sg.refine(leduc.strategy.tree, leduc.strategy, at=at, iterations=5)


@pytest.fixture(scope="module")
def river() -> Endgame:
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s,AK:0.5", "KQ,22"), "river: 1x a")
    return Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=20).strategy)


def test_everything_is_well_formed(leduc: Result, refined: Refinement, river: Endgame) -> None:
    strategy: Any = leduc.strategy
    for item in (
        strategy,
        strategy.tree,
        leduc,
        refined,
        river,
        river.decision("r100"),
        river.tree,
    ):
        checked(item._repr_html_())
    checked(sg.holdem.Range.parse("random")._repr_html_())
    assert "5/8" not in checked(reproduce("coin-toss")._repr_html_())


def test_texts_are_escaped() -> None:
    for shown in (
        table([HOSTILE], [[HOSTILE], [Shaded(HOSTILE, 0.5)]], caption=HOSTILE),
        curve([(1, 1), (2, 0.1)], HOSTILE, HOSTILE),
        bars([HOSTILE] * 3, [1.0, -1.0, 0.0], HOSTILE),
        tree([Node(HOSTILE, -1, HOSTILE), Node(HOSTILE, 0)]),
        grid([[Square(HOSTILE, 1.0, [1.0])]], [CALL], HOSTILE),
        Report(HOSTILE, "", HOSTILE, [], {}, "", 0, notes=(HOSTILE,))._repr_html_(),
    ):
        checked(shown)
        assert "&lt;script" in shown
        assert "\x1b" not in shown


# Numbers -------------------------------------------------------------------------------------
def test_a_result_shows_its_curve_and_its_numbers(leduc: Result) -> None:
    shown = leduc._repr_html_()
    points = re.findall(r"polyline points='([^']+)'", shown)[0].split()
    assert len(points) == len(leduc.curve) == 6
    heights = [float(point.split(",")[1]) for point in points]
    gaps = [point.exploitability for point in leduc.curve]
    assert np.argsort(heights).tolist() == np.argsort(gaps)[::-1].tolist()  # y grows downwards
    assert f"{leduc.exploitability.mean:.4g}" in shown
    assert curve([(1, 0.0), (2, 0.1)], "x", "y") == ""  # one point is no curve


def test_a_refinement_shows_every_margin_and_lists_the_smallest(refined: Refinement) -> None:
    shown = refined._repr_html_()
    rows = sorted(refined.rows(), key=lambda row: float(row["margin"]))
    assert shown.count("<rect") == len(rows)
    assert shown.count("<code>") == 12
    assert f"… {len(rows) - 12:,} more" in shown
    assert shown.index(f"<code>{rows[0]['infoset']}<") < shown.index(
        f"<code>{rows[11]['infoset']}<"
    )


def test_margins_below_zero_are_red_and_hang() -> None:
    shown = bars(["a", "b"], [2.0, -1.0], "margin")
    one, two = re.findall(r"y='([\d.]+)' width='[\d.]+' height='([\d.]+)' fill='(#\w+)'", shown)
    assert float(one[1]) == pytest.approx(2 * float(two[1]), rel=0.01)
    assert float(two[0]) == pytest.approx(float(one[0]) + float(one[1]), abs=0.2)
    assert (one[2], two[2]) == ("#2563eb", "#dc2626")


def test_a_tree_shows_the_levels_that_fit() -> None:
    small = sg.compile(sg.games.load("coin-toss"))._repr_html_()
    assert small.count("<circle") == 6
    assert "Play Forfeit" in small
    large = sg.compile(sg.games.load("leduc"))
    shown = large._repr_html_()
    hidden = [int(count.replace(",", "")) for count in re.findall(r" \+([\d,]+)<title>", shown)]
    assert shown.count("<circle") + sum(hidden) == large.num_nodes


def test_parts_and_games_of_others_are_drawn_too() -> None:
    kuhn = sg.compile(sg.games.load("kuhn"))
    [part] = sg.cut(kuhn, "p")
    inputs, _ = Trunk(sg.Strategy.uniform(kuhn), 0, None, None).inputs(part, sg.Resolve())
    gadget = part.gadget_game(sg.Resolve(), inputs)
    assert gadget is not None
    derived = sg.compile(sg.games.load("random(depth=3, public=False)"))
    for shown in (part.tree, gadget.tree, derived):
        assert checked(shown._repr_html_()).count("<circle") == shown.num_nodes
    assert tree([Node("a", -1), Node("b", -1), Node("c", 1)]).count("<path") == 1


def test_squares_are_as_full_as_they_weigh(river: Endgame) -> None:
    shown = grid([[Square("AA", 0.5, [0.25, 0.75])]], [CALL, ALL_IN], "river")
    left, right = re.findall(
        r"x='([\d.]+)' y='15' width='([\d.]+)' height='15' fill='(\S+)'", shown
    )
    assert (left, right) == (("0", "22.5", "#7d3c98"), ("22.5", "7.5", "#5cb866"))
    held = sg.holdem.Range.parse("AA,AKs:0.5")._repr_html_()
    assert held.count("<rect") == 2
    assert re.findall(r"height='([\d.]+)' fill='#e8a317'", held) == ["30", "15"]
    # AKs and AKo have half the weight of AA and 65s; QsJh block two KQs and one pair of twos.
    root = river.decision()._repr_html_()
    assert set(re.findall(r"<rect [^>]*height='([\d.]+)'", root)) == {"30", "15"}
    frequency = 100 * river.decision().frequency
    assert all(f"<b>{share:.1f} %</b>" in root for share in frequency)


# Data frames ---------------------------------------------------------------------------------
def test_tables_become_data_frames(leduc: Result, refined: Refinement) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed (the extra 'notebook')")
    frame = leduc.strategy.to_pandas()
    row = frame.iloc[3]
    assert leduc.strategy[row.infoset][row.action] == row.probability
    assert len(frame) == sum(len(probs) for probs in leduc.strategy.values())
    assert leduc.to_pandas().exploitability.tolist() == [p.exploitability for p in leduc.curve]
    assert refined.to_pandas().margin.tolist() == [r["margin"] for r in refined.rows()]
    best = sg.best_response(leduc.strategy.tree, leduc.strategy, 0)
    first = best.to_pandas().iloc[0]
    assert first.normalised == best.values[first.infoset].normalised
    held = sg.holdem.Range.parse("AhKh,22:0.5").to_pandas()
    assert held.set_index("hand").weight["AhKh"] == 1
    assert len(held) == 7
    match = sg.match("kuhn", ("uniform", "call"), 20, aivat=True)
    rows = match.to_pandas().set_index("name")
    assert rows["mean"]["all"] == match.result.mean
    assert rows["hands"][["seat 0", "seat 1"]].tolist() == [10, 10]
    assert rows["interval95"]["all, by AIVAT"] < rows["interval95"]["all"]
    small, large = (sg.compile(sg.games.load("no-limit-kuhn", bets=b)) for b in ("fcpa", "all"))
    nested = sg.nest(large, sg.solve(small, iterations=20).strategy, iterations=5)
    frame = nested.to_pandas()
    assert len(frame) == sum(len(answer.infosets) for answer in nested.answers)
    assert frame.value.tolist() == [v for answer in nested.answers for v in answer.values.tolist()]
    assert list(reproduce("coin-toss").to_pandas().columns) == ["quantity", "paper", "ours", "note"]


def test_without_pandas_an_error_says_what_to_install(
    leduc: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sg.SubgameError, match="pip install pandas"):
        leduc.to_pandas()
