"""Grades of a person's decisions beside values by hand, in the clairvoyance game."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import put, serving

import subgame as sg
from subgame.play.hunl.grading import GradedDecision
from subgame.serve import grades as grades_module
from subgame.serve import tables, worker
from subgame.serve.grades import grades, score
from subgame.spots.endgame import Endgame

CLAIRVOYANT = sg.holdem.endgame("2s2h2d7c7d", 100, 100, ("AA,QQ", "KK"), "a; ip river: none")
"""Aces win, queens lose, against kings; only OOP bets, the pot. Queens bluff half as often."""


def solved() -> Endgame:
    return Endgame.of(sg.solve(sg.compile(CLAIRVOYANT), "cfr+", iterations=5000).strategy)


def moves(*actions: tuple[int, str], oop: str, ip: str = "KsKh") -> list[tuple[int, str]]:
    return [(-1, oop), (-1, ip), *actions]


def test_the_grades_of_the_clairvoyance_game() -> None:
    """By hand: a bet of the pot is called half of the time, so aces get 150 and checking 100."""
    spot = solved()
    (row,) = grades(spot, moves((0, "c"), (1, "c"), oop="AsAh"), 0)
    assert (row["street"], row["action"], row["best"]) == ("river", "check", "all-in 100")
    assert row["lost"] == pytest.approx(50, abs=1)
    assert not row["right"]
    (row,) = grades(spot, moves((0, "r100"), (1, "c"), oop="QsQh"), 0)
    assert row["lost"] == pytest.approx(0, abs=1)  # a bluff is as good as giving up
    (row,) = grades(spot, moves((0, "r100"), (1, "f"), oop="AsAh"), 1)
    assert row["lost"] == pytest.approx(0, abs=1)  # kings are indifferent
    assert score([{"grades": [row]}])["decisions"] == 1  # type: ignore[index]


def test_what_the_solution_does_not_know_is_not_graded() -> None:
    rows = grades(solved(), moves((0, "r50"), (1, "c"), oop="AsAh"), 0)
    assert [row["lost"] for row in rows] == [None]
    assert grades(solved(), moves((0, "r50"), (1, "c"), oop="AsAh"), 1) == []
    assert score([{"grades": rows}]) is None


def test_hands_at_a_solved_spot_are_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    with serving(tmp_path, workers=0) as client:
        spot = solved()
        spot.save(tmp_path / "spot.safetensors")
        app: Any = client.app
        store = app.app.state.store
        job = put(store, kind="load", upload=str(tmp_path / "spot.safetensors"))
        worker.run(tmp_path, job)
        row = store.get("jobs", job)
        summary = {"spot": {"board": "2s2h2d7c7d"}}
        store.put(
            "jobs",
            row
            | {
                "state": "done",
                "result": summary,
                "task": {"memory_limit": "1GiB", "kind": "load"},
            },
        )
        table = client.post("/api/tables", json={"game": f"job:{job}", "opponent": "call"}).json()
        view = client.post(f"/api/tables/{table['id']}/act", json={"action": "c"}).json()
        for _ in range(200):
            if not view["counting"]:
                break
            view = client.get(f"/api/tables/{table['id']}").json()
        assert view["state"] == "over"
        (row,) = view["last"]["grades"]
        wanted = 50 if view["past"][0]["held"][0] == "A" else 0
        assert row["lost"] == pytest.approx(wanted, abs=1)
        assert view["result"]["grades"]["decisions"] == 1


def test_hands_of_whole_holdem_are_graded_while_the_next_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grading waits until the next hand has been dealt; after a restart it goes on."""
    go_on = threading.Event()
    asked: list[int] = []

    def slow(game: Any, moves: Any, seat: int) -> tuple[list[Any], str]:
        asked.append(seat)
        assert go_on.wait(600)
        row = {"street": "preflop", "lost": 50.0 * seat, "pot": 150.0, "right": not seat}
        return [row | {"action": moves[2][1]}], ""

    monkeypatch.setattr(tables, "graded_or_why", slow)
    with serving(tmp_path, workers=0) as client:
        view = client.post("/api/tables", json={"game": "hunl", "opponent": "call"}).json()
        home = f"/api/tables/{view['id']}"
        for _ in range(2):  # once in each seat
            while view["state"] != "over":
                turn = view["state"] == "your turn"
                most = view["holdem"]["most"]
                action = f"r{most}" if most else "c"
                view = (
                    client.post(f"{home}/act", json={"action": action})
                    if turn
                    else client.get(home)
                ).json()
            assert "grades" not in view["last"]
            if len(view["past"]) == 1:
                view = client.post(f"{home}/next", json={}).json()
        assert view["grading"] == 2
        assert [hand["waits"] for hand in view["past"]] == [True, True]
        assert view["result"]["grades"] is None
    go_on.set()
    with serving(tmp_path, workers=0) as client:
        while view["grading"]:
            view = client.get(home).json()
    assert sorted(set(asked)) == [0, 1]
    assert [hand["lost"] for hand in view["past"]] == [50.0 * hand["seat"] for hand in view["past"]]
    assert view["result"]["grades"] == {
        "decisions": 2,
        "right": 1,
        "lost": 50.0,
        "lost_pots": pytest.approx(1 / 6),
    }


def test_hands_that_cost_least_come_first() -> None:
    """The first one begins at once; what waits meanwhile is sorted."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        begun.set()
        assert go_on.wait(600)

    background = grades_module.Background()
    background.do(first, 5)
    assert begun.wait(600)
    for name, cost in (("turn", 2), ("preflop", 0), ("river", 3), ("fold", 0)):
        background.do(partial(order.append, name), cost)
    background.do(done.set, 9)
    go_on.set()
    assert done.wait(600)
    assert order == ["preflop", "fold", "turn", "river"]


def test_what_the_agent_itself_does_is_right() -> None:
    betting = sg.games.holdem.hunl().start()
    for share, right in ((0.5, True), (0.01, False)):
        values, shares = np.array([0.0, 20.0, 30.0]), np.array([0.0, share, 1 - share])
        actions = ("f", "c", "r300")
        decision = GradedDecision(betting, "c", actions, values, shares, "solve")
        row = grades_module.solved_grade(decision)
        assert (row["lost"], row["right"], row["best"]) == (10.0, right, "raise to 300")


def test_a_hand_that_was_graded_is_not_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a table and then from a file: the hands are the same, the deals are written otherwise."""
    solved: list[int] = []

    class Once:
        def grade(self, game: Any, moves: Any, seat: int) -> list[Any]:
            solved.append(seat)
            return []

    monkeypatch.setattr(grades_module, "grader", Once)
    monkeypatch.setattr(grades_module, "_known", OrderedDict())
    game, rest = sg.games.holdem.hunl(), [(1, "r250"), (0, "f")]
    for first in ((-1, -1), (0, 1)):
        for seat in (0, 1):
            held = [(first[0], "AsAh"), (first[1], "KdKc")]
            assert grades_module.graded_moves(game, [*held, *rest], seat) == []
    assert solved == [0, 1]


def test_work_in_the_background_goes_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    background, done = grades_module.Background(), threading.Event()
    background.do(partial(setattr, object(), "name", 0), cost=0)
    background.do(done.set, cost=1)
    assert done.wait(300)
    assert "has failed" in caplog.text
