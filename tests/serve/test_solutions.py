"""Solved spots as the page Solve shows them: streets, next cards, locks, two solutions, set-up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from serving import put, serving
from starlette.testclient import TestClient

import subgame as sg
from subgame.errors import FieldError
from subgame.serve import worker
from subgame.serve.solutions import opened
from subgame.serve.spots import Spot
from subgame.serve.store import Store
from subgame.spots.compare import Comparison
from subgame.spots.decisions import Decision
from subgame.spots.endgame import Endgame

TURN: dict[str, Any] = {
    "board": "QsJh2h8d",
    "pot": 100,
    "stacks": [150, 150],
    "oop": "AA,T9s",
    "ip": "KQs,QJ",
    "streets": {
        "turn": {"bets": "0.5x", "raises": "a"},
        "river": {"bets": "1x", "donks": "0.25x", "raises": "none"},
    },
    "ip_streets": {"river": {"bets": "0.5x", "raises": "none"}},
    "dead": "2c",
    "rake": 0.05,
    "rake_cap": 3,
    "added": ["c r70"],
    "removed": ["r50 r150"],
}
LOCK = "start: AA = check 25%, bet 50 75%"


class Solved(NamedTuple):
    """A server with a spot and the same spot with a lock."""

    client: TestClient
    free: str
    locked: str
    data: Path

    def ask(self, path: str, **query: Any) -> Any:
        answer = self.client.get(f"/api/jobs/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def file(self, job: str) -> Path:
        return self.data / "jobs" / job / "strategy.safetensors"

    def open(self, job: str) -> Endgame:
        return Endgame.open(self.file(job))


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Solved]:
    data = tmp_path_factory.mktemp("data")
    store, limit = Store(data), pytest.MonkeyPatch()
    limit.setattr(worker, "limit_memory", lambda most: None)
    how = {"schedule": "dcfr", "storage": "float32", "iterations": 40}
    free = put(store, kind="endgame", spot=TURN, **how)
    worker.run(data, free)
    locked = put(store, kind="lock", of=free, locks=[LOCK], **how)
    worker.run(data, locked)
    limit.undo()
    for job in (free, locked):
        result = json.loads((data / "jobs" / job / "result.json").read_text())
        store.put("jobs", store.get("jobs", job) | {"state": "done", "result": result})
    store.close()
    with serving(data, workers=0) as client:
        yield Solved(client, free, locked, data)


@pytest.mark.parametrize("line", ["", "c", "c r70", "r50 c / 3c", "c r50 c / Ah c"])
def test_a_decision_of_any_street_is_that_of_the_package(solved: Solved, line: str) -> None:
    shown = solved.ask(f"{solved.free}/decision", line=line, values=True)
    decision: Decision = solved.open(solved.free).decision(line)
    assert (shown["line"], shown["words"]) == (decision.line, decision.words)
    assert (shown["player"], shown["frequency"]) == (
        decision.player,
        pytest.approx(decision.line_frequency, abs=1e-5),
    )
    table = {row["hand"]: row for row in decision.hand_table()}
    assert shown["hands"] == list(table)
    for k, row in enumerate(table.values()):
        values = shown["values"]
        numbers = [values["hand_ev"][k], values["hand_equity"][k], *values["action_ev"][k]]
        wanted = [row["ev"], row["equity"], *(row[f"{name} ev"] for name in decision.names)]
        np.testing.assert_allclose(np.array(numbers, float), wanted, atol=2e-5)
        np.testing.assert_allclose(shown["probs"][k], [row[n] for n in decision.names], atol=2e-5)
    assert shown["values"]["ev"] == pytest.approx(decision.ev, abs=1e-4)
    for p, spread in enumerate(shown["values"]["spread"]):
        np.testing.assert_allclose(spread["equity"], decision.spread(p)["equity"], atol=2e-5)
    other, waits = shown["values"]["opponent"], decision.range_table(1 - decision.player)
    assert other["hands"] == waits.column("hand")
    weights = {"hand_ev": decision.ev, "hand_equity": decision.equity}
    for key, both in weights.items():  # their means are those of the player who waits
        known = [(c, v) for c, v in zip(other["chance"], other[key], strict=True) if v is not None]
        mean = sum(c * v for c, v in known)
        assert mean == pytest.approx(both[1 - decision.player], abs=0.02)
    for action, row in zip(shown["actions"], decision.action_table(), strict=True):
        assert (action["name"], action["line"]) == (row["name"], row["line"])
        assert action["ev"] == pytest.approx(row["ev"], abs=1e-4)


def test_where_a_card_comes_the_cards_are_named_and_every_step_has_its_line(
    solved: Solved,
) -> None:
    card = solved.ask(f"{solved.free}/decision", line="c c")
    assert card["kind"] == "card"
    assert len(card["cards"]) == 47  # neither the board nor the dead card
    assert "2c" not in card["cards"]
    later = solved.ask(f"{solved.free}/decision", line="check, check / 3c, bet 100")
    path = [(step["line"], step.get("card") or step["name"]) for step in later["path"]]
    assert path == [
        ("", "check"),
        ("c", "check"),
        ("c c", "3c"),
        ("c c / 3c", "bet 100"),
    ]
    refused = solved.client.get(f"/api/jobs/{solved.free}/decision", params={"line": "c c / 2c"})
    assert refused.status_code == 400
    assert "has no board" in refused.json()["message"]


def test_a_solution_is_looked_at_without_being_loaded(solved: Solved) -> None:
    spot = opened(solved.file(solved.free), "1GiB").solved
    assert all(isinstance(array, np.memmap) for array in spot.strategy.probs)


@pytest.mark.slow
def test_a_large_solution_is_not_read_whole(tmp_path: Path) -> None:
    """Ten decisions of a flop are looked at while few of the file's pages are in memory."""
    streets = {s: {"bets": "0.5x a", "raises": "a"} for s in ("flop", "turn", "river")}
    ranges = dict.fromkeys(("oop", "ip"), "22+,A2s+,K9s+,Q9s+,J9s+,T9s,AT,KJ")
    spot = TURN | ranges | {"board": "QsJh2h", "streets": streets, "ip_streets": {}}
    spot |= {"dead": "", "added": [], "removed": []}
    job = put(Store(tmp_path), kind="endgame", spot=spot, schedule="dcfr", storage="float32")
    file = tmp_path / "jobs" / job / "strategy.safetensors"
    tree = sg.compile(Spot(**spot).game(), merge=True)
    Endgame.of(sg.solve(tree, "dcfr", iterations=1).strategy).save(file)
    code = """if True:
        import sys
        from pathlib import Path
        from subgame.serve.solutions import opened, place_view

        def of_files():
            lines = Path("/proc/self/status").read_text().splitlines()
            return int(dict(line.split(":", 1) for line in lines)["RssFile"].split()[0])

        spot = opened(Path(sys.argv[1]), "8GiB").solved
        place_view(spot, "")
        before = of_files()
        for first in ("", "c", "c c / 3c", "c c / 3c c c / 4d", "r50 c / 8s"):
            for line in (first, first + " c" if first else "r50"):
                place_view(spot, line)
        print(of_files() - before)"""
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert file.stat().st_size > 40 * 2**20
    assert 1024 * int(done.stdout) < file.stat().st_size / 4


def test_every_next_card_has_the_row_of_the_package(solved: Solved) -> None:
    shown = solved.ask(f"{solved.free}/runouts", line="c c")
    runouts = solved.open(solved.free).runouts("c c")
    assert [row["card"] for row in shown] == runouts.column("river")
    for answer, row in zip(shown, runouts, strict=True):
        assert answer["ev_oop"] == pytest.approx(row["ev_oop"], abs=1e-4)
        assert answer["often"] == {
            name: pytest.approx(row[name], abs=1e-5) for name in ("check", "bet 100")
        }


def test_locked_hands_keep_their_frequencies(solved: Solved) -> None:
    free, shown = (solved.ask(f"{job}/decision") for job in (solved.free, solved.locked))
    assert (free["locks"], shown["locks"]) == ([], [LOCK])
    aces = [k for k, hand in enumerate(shown["hands"]) if hand[0] == "A"]
    np.testing.assert_allclose([shown["probs"][k] for k in aces], [[0.25, 0.75]] * 6, atol=1e-5)
    assert all(abs(free["probs"][k][0] - 0.25) > 0.01 for k in aces)


def test_two_solutions_are_compared_as_the_package_does(solved: Solved) -> None:
    shown = solved.ask(f"{solved.free}/compare", other=solved.locked, line="")
    pair = Comparison(solved.open(solved.free), solved.open(solved.locked)).at()
    assert shown["actions"] == list(pair.actions)
    wanted = pair.table(hands=False)
    assert [row["class"] for row in shown["classes"]] == wanted.column("class")
    for answer, row in zip(shown["classes"], wanted, strict=True):
        assert answer["bet 50 diff"] == pytest.approx(row["bet 50 diff"], abs=1e-5)


def test_a_lock_is_queued_or_refused_beside_its_field(solved: Solved) -> None:
    body = {"of": solved.free, "locks": [LOCK], "stop": {"iterations": 5}}
    queued = solved.client.post("/api/locks", json=body).json()
    assert (queued["kind"], queued["of"]) == ("lock", solved.free)
    for wrong, words in (
        (["start: AA = jump 100%"], "not 'jump'"),
        (["start: AA = check 50%"], "add up to 1"),
        ([" "], "at least one lock"),
    ):
        answer = solved.client.post("/api/locks", json={**body, "locks": wrong})
        assert answer.status_code == 400
        assert words in answer.json()["fields"]["locks"]


# Set-up --------------------------------------------------------------------------------------
def test_what_follows_a_line_is_refined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown of the root infosets, gifts too, is what the package finds."""
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    store = Store(tmp_path)
    how: dict[str, Any] = {"technique": "reach-maxmargin", "iterations": 20}
    spot = {**TURN, "rake": 0, "rake_cap": None}
    first = put(store, kind="endgame", spot=spot, schedule="dcfr", storage="float32", iterations=9)
    worker.run(tmp_path, first)
    with serving(tmp_path, workers=0) as client:
        asked = {"of": first, "line": "r50 c / 3c", **how}
        job = client.post("/api/refine", json=asked).json()
        refused = client.post("/api/refine", json=asked | {"line": "r50 c"}).json()
    assert refused["message"].startswith("Nobody acts after 'r50 c'")
    assert job["name"] == "x: reach-maxmargin after r50 c / 3c"
    worker.run(tmp_path, job["id"])
    result = json.loads((tmp_path / "jobs" / job["id"] / "result.json").read_text())
    solution = worker.read_strategy(tmp_path, first, {"memory_limit": "1GiB"})[0]
    rows = sg.refine(solution.tree, solution, at="Qs Jh 2h 8d 3c | r50c/", **how).rows()
    for row, wanted in zip(result["rows"], rows, strict=True):
        assert row["gift"] == pytest.approx(wanted["gift"])
        assert row["alternative"] == pytest.approx(wanted["cbv"] + wanted["gift"])
    assert max(row["gift"] for row in result["rows"]) > 0.1


def test_the_fields_make_the_game_of_the_text() -> None:
    text = (
        "turn: 0.5x / raise a; oop river: 1x / donk 0.25x / raise none; "
        "ip river: 0.5x / raise none; add cr70; remove r50 r150"
    )
    ranges = ("AA,T9s", "KQs,QJ")
    made = sg.holdem.endgame("QsJh2h8d", 100, 150, ranges, text, dead="2c", rake=(0.05, 3))
    assert Spot(**TURN).game() == made


@pytest.mark.parametrize(
    ("field", "change", "words"),
    [
        ("pot", {"pot": 0}, "above 0"),
        ("stacks.1", {"stacks": [150, 0.5]}, "below the smallest bet"),
        ("rake", {"rake": 1.5}, "from 0 to below 1"),
        ("rake_cap", {"rake_cap": -1}, "at least 0"),
        ("dead", {"dead": "8d"}, "on the board"),
        ("dead", {"dead": "8x"}, "card"),
        ("added", {"added": ["b50"]}, "is no line"),
        ("added", {"added": ["c r900"]}, "cannot be added"),
        ("removed", {"removed": ["r77"]}, "cannot be removed"),
        ("river.donks", {"streets": {"river": {"bets": "1x", "donks": "lots"}}}, "a size is"),
        ("ip_streets.river.donks", {"ip_streets": {"river": {"donks": "1x"}}}, "Only OOP"),
        ("ip_streets.turn.raises", {"ip_streets": {"turn": {"raises": "1y"}}}, "a size is"),
        ("oop", {"oop": "2c2h"}, "block"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    field: str, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(FieldError) as caught:
        Spot(**{**TURN, **change}).game()
    assert words in caught.value.fields[field]


def test_a_solution_is_saved_without_its_rivers(
    solved: Solved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is far smaller, is read by the page, and shows what the whole one shows."""
    small = solved.client.get(f"/api/jobs/{solved.free}/file", params={"rivers": False})
    assert small.status_code == 200
    assert len(small.content) < solved.file(solved.free).stat().st_size / 3
    kind = {"content-type": "application/octet-stream"}
    sent = solved.client.post("/api/solutions?name=small", content=small.content, headers=kind)
    again = sent.json()["id"]
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    worker.run(solved.data, again)
    store = Store(solved.data)
    result = json.loads((solved.data / "jobs" / again / "result.json").read_text())
    store.put("jobs", store.get("jobs", again) | {"state": "done", "result": result})
    store.close()
    one, two = (
        solved.ask(f"{job}/decision", line="r50 c / 3c", values=True)
        for job in (solved.free, again)
    )
    assert two["hands"] == one["hands"]
    assert two["frequency"] == pytest.approx(one["frequency"], abs=1e-4)
    assert two["values"]["ev"] == pytest.approx(one["values"]["ev"], abs=3.0)  # % of the pot
    refused = solved.client.get(f"/api/jobs/{solved.locked}/file", params={"rivers": False})
    assert (refused.status_code, "locks" in refused.json()["message"]) == (400, True)


def test_a_file_is_opened_by_its_path_only_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "notes.safetensors").write_text("nothing")
    body = {"path": str(tmp_path / "notes.safetensors")}
    with serving(tmp_path / "one", workers=0) as client:
        refused = client.post("/api/solutions/open", json=body)
        assert "not a safetensors file" in refused.json()["fields"]["path"]
        refused = client.post("/api/solutions/open", json={"path": "notes.safetensors"})
        assert "write its whole path" in refused.json()["fields"]["path"]
    with serving(tmp_path / "two", workers=0, host="0.0.0.0") as client:
        refused = client.post("/api/solutions/open", json=body)
        assert refused.status_code == 400
        assert "listens on this machine alone" in refused.json()["message"]
