"""The contests of the hold'em agent: reported, kept and resumed. The games are tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subgame.errors import SubgameError
from subgame.papers import brown2018_agent as contests
from subgame.papers import brown2018_preflop as before_flop
from subgame.papers import reproduce
from subgame.papers.cells import Cells
from subgame.papers.report import Found
from subgame.play.hunl import preflop_responses
from subgame.play.range_match import Pair

RESULTS = Path(__file__).parents[2] / "docs" / "results"


class Told:
    """A match whose results are known."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def pair(self, number: int) -> Pair:
        self.asked.append(number)
        return Pair(number, 10.0 * number, -1.0, 2 if number % 2 else None)


def result_of(match: Told, deals: int, keep: Path | None, budget: float | None = None) -> Found:
    contest = contests.Contest("one against another", ("one", "another"), deals, 570.0)
    how = contests.Settings("lbr", 100, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contests, "_match", lambda agents, iterations, seed: match)
        return contests._found([contest], how, lambda *_: None, budget, keep, 1)


def test_a_run_goes_on_from_its_log(tmp_path: Path) -> None:
    first, second = Told(), Told()
    part = result_of(first, 3, tmp_path / "kept.jsonl")
    assert first.asked == [0, 1, 2]
    assert part.rows[0]["note"].startswith("3 of 3 deals, 1 of them played twice")
    whole = result_of(second, 5, tmp_path / "kept.jsonl")
    assert second.asked == [3, 4]
    assert whole == result_of(Told(), 5, None)
    assert whole.data["contests"]["one against another"]["mean"] == pytest.approx(20)
    none: list[Any] = result_of(Told(), 9, tmp_path / "kept.jsonl", budget=-1.0).rows
    assert none[0]["note"].startswith("5 of 9 deals")


def test_contests_are_played_in_turn(tmp_path: Path) -> None:
    """A run that is stopped has the same share of each, and processes are told what to play."""
    messages = list[str]()
    some = [contests.LBR[2]._replace(deals=4), contests.LBR[3]._replace(deals=2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contests, "_match", lambda agents, iterations, seed: Told())
        how = contests.Settings("lbr", 100, 0)
        contests._found(some, how, lambda what, share: messages.append(what), None, None, 1)
    ends = [what.split(", ")[1:] for what in messages]
    first, second = "first version", "second version"
    assert ends == [
        [first, "deal 1"],
        [second, "deal 1"],
        [first, "deal 2"],
        [first, "deal 3"],
        [second, "deal 2"],
        [first, "deal 4"],
    ]
    with pytest.raises(SubgameError, match="at least 1, not 0"):
        contests._found(some, how, lambda *_: None, None, None, 0)


def test_contests_are_chosen_by_their_names() -> None:
    names = [contest.name for contest in contests.chosen(contests.TABLE1, "limited against")]
    assert names == ["limited against blueprint", "limited against single"]
    assert contests.chosen(contests.LBR, "") == list(contests.LBR)
    with pytest.raises(SubgameError, match="no contest called 'limited v blueprint'"):
        contests.chosen(contests.TABLE1, "limited v blueprint")


def test_values_before_the_flop_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny run is computed and then read; the figures of the full one are in a file."""
    pytest.importorskip("torch")
    monkeypatch.setattr(preflop_responses, "BATCHES", 1)
    steps = before_flop.Steps(2, 2, (2,), quick=True)
    cells = Cells(tmp_path / "cells.json")
    before_flop.compute(steps, cells, "cpu", lambda *_: None)
    assert [line["quantity"] for line in before_flop.compared(steps, cells).rows] == [
        "the blueprint alone, mbb/h",
        "one value, mbb/h",
        "4 values, biased, mbb/h",
        "2 values, self-generated, mbb/h",
    ]
    kept = RESULTS / "brown2018-preflop.cells.json"
    full = before_flop.run(False, 2, lambda *_: None, keep=kept)
    stored = json.loads((RESULTS / "brown2018-preflop.json").read_text())
    assert full.rows == stored["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["brown2018-table1", "brown2018-lbr"])
def test_quick_runs(key: str) -> None:
    report = reproduce(key, quick=True)
    assert report.rows
    assert report.settings["iterations"] == contests.QUICK_ITERATIONS
