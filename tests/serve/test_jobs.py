"""Jobs: queued, run in processes of their own, paused, cancelled, crashed, taken up again."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import RIVER, put, serving, wait

import subgame as sg
from subgame.serve import worker
from subgame.serve.spots import Spot
from subgame.serve.store import Store
from subgame.solve.endgame import load
from subgame.solve.flops import Flop
from subgame.solve.report import LINES, Task, flop_row

SPOT = {"spot": RIVER, "stop": {"iterations": 200}, "schedule": "dcfr"}
FLOPS = (("AhKd2c", 4.0), ("8h8d7h", 1.0))
LONG = {"spot": RIVER, "stop": {"iterations": 5_000_000}, "schedule": "dcfr"}


def test_a_spot_is_solved_paused_and_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page hears of it, and what is shown is what the package says of the saved file."""
    with serving(tmp_path, workers=1) as client:
        with client.websocket_connect("/api/live", headers={"host": "127.0.0.1:8017"}) as live:
            job = client.post("/api/spots/solve", json=LONG).json()["id"]
            points: list[list[float]] = []
            while len(points) < 5:
                for row in live.receive_json()["jobs"]:
                    points = row.get("curve", points)
        assert client.post(f"/api/jobs/{job}/pause", json={}).status_code == 200
        paused = wait(client, job, "paused")
        assert paused["result"]["stopped"] == "interrupted"
        done = paused["result"]["iterations"]
        shown = client.get(f"/api/jobs/{job}/decision", params={"line": "c"}).json()
        strategy = load(tmp_path / "jobs" / job / "strategy.safetensors")
        found = sg.Endgame.of(strategy).decision("c")
        table = found.table()
        assert [action["id"] for action in shown["actions"]] == list(found.actions)
        assert set(shown["hands"]) == set(table)
        for hand, probs in zip(shown["hands"], shown["probs"], strict=True):
            np.testing.assert_allclose(probs, list(table[hand].values()), atol=1e-5)
        client.post(f"/api/jobs/{job}/resume", json={})
        wait(client, job, "running")
    # The server has stopped while it ran: the next one goes on where it was.
    with serving(tmp_path, workers=0) as client:
        assert client.get(f"/api/jobs/{job}").json()["state"] == "queued"
    task = tmp_path / "jobs" / job / "task.json"
    task.write_text(task.read_text().replace("5000000", str(done + 50)))
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    worker.run(tmp_path, job)  # as the next server's worker does
    ended = result(tmp_path, job)
    assert ended["iterations"] >= done + 50
    assert ended["exploitability_percent"] < points[0][2]


def test_a_crashed_worker_is_reported_and_takes_nobody_down(tmp_path: Path) -> None:
    with serving(tmp_path, workers=2) as client:
        one, two = (client.post("/api/spots/solve", json=LONG).json()["id"] for _ in range(2))
        jobs: Any = client.app.app.state.jobs  # type: ignore[attr-defined]
        os.kill(jobs._running[one].process.pid, signal.SIGKILL)
        failed = wait(client, one, "failed")
        assert "ended by the system (SIGKILL)" in failed["error"]
        assert client.get(f"/api/jobs/{two}").json()["state"] == "running"
        assert client.post(f"/api/jobs/{two}/cancel", json={}).status_code == 200
        assert wait(client, two, "cancelled")["error"] == ""
        assert client.post(f"/api/jobs/{two}/pause", json={}).status_code == 400
        assert client.delete(f"/api/jobs/{two}").status_code == 204
        assert not (tmp_path / "jobs" / two).exists()


def test_a_job_in_the_queue_is_cancelled_before_it_runs(tmp_path: Path) -> None:
    with serving(tmp_path, workers=0) as client:
        job = client.post("/api/spots/solve", json=SPOT).json()["id"]
        client.post(f"/api/jobs/{job}/cancel", json={})
        assert client.get(f"/api/jobs/{job}").json()["state"] == "cancelled"


@pytest.fixture
def inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """A function that runs a task as a worker does, in this process."""
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    store = Store(tmp_path)

    def run(**task: Any) -> tuple[str, list[dict[str, Any]]]:
        job = put(store, **task)
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["worker", str(tmp_path), job])
        code = worker.main()
        said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert (code == 0) == bool(said[-1].get("done"))
        return job, said

    return run


def result(tmp_path: Path, job: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "jobs" / job / "result.json").read_text())
    return found


def test_a_solution_is_refined_and_loaded_again(
    tmp_path: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spot = {"spot": RIVER, "schedule": "dcfr", "storage": "float32"}
    first, _ = inside(kind="endgame", iterations=30, **spot)
    second, _ = inside(kind="refine", of=first, technique="maxmargin", iterations=200)
    found, before = result(tmp_path, second), result(tmp_path, first)
    assert found["before"] == pytest.approx(before["exploitability"])
    assert found["after"] <= found["before"]
    assert found["exploitability"] == pytest.approx(found["after"])
    assert {row["player"] for row in found["rows"]} == {0, 1}
    for row in found["rows"]:
        assert row["margin"] == pytest.approx(row["cbv"] + row["gift"] - row["value"])
    # The file has its values, so it is shown without being evaluated.
    monkeypatch.setattr(sg.Endgame, "of", None)
    third, _ = inside(kind="load", upload=str(tmp_path / "jobs" / second / "strategy.safetensors"))
    assert result(tmp_path, third)["ev"] == pytest.approx(found["ev"])


def test_a_game_is_solved_and_a_mistake_is_a_sentence(tmp_path: Path, inside: Any) -> None:
    job, said = inside(kind="game", game="kuhn", schedule="cfr+", target=1e-3)
    assert result(tmp_path, job)["value"] == pytest.approx(-1 / 18, abs=1e-3)
    assert result(tmp_path, job)["exploitability"] <= 1e-3
    assert [each["point"][0] for each in said if "point" in each][:3] == [1, 2, 4]
    _, said = inside(kind="game", game="no-such-game", schedule="cfr+")
    assert said[-1]["error"].startswith("There is no game called 'no-such-game'")
    _, said = inside(
        kind="endgame", spot=RIVER, schedule="dcfr", storage="float32", memory_limit="1KB"
    )
    assert "over the limit of" in said[-1]["error"]


FLOP = RIVER | {
    "pot": 20,
    "stacks": [10, 10],
    "oop": "AA,KQs",
    "ip": "QQ,JTs",
    "streets": {street: {"bets": "a"} for street in ("flop", "turn", "river")},
    "cap": 1,
}


def test_a_report_over_flops_goes_on_where_it_was_interrupted(
    tmp_path: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = worker.tell

    def interrupted(**said: Any) -> None:
        tell(**said)
        if said.get("phase") == "1 of 2 flops":
            raise KeyboardInterrupt

    monkeypatch.setattr(worker, "tell", interrupted)
    task = {"kind": "report", "spot": FLOP, "flops": "AhKd2c 4; 8h8d7h", "target": 20}
    job, said = inside(**task)
    assert said[-3]["quote"]["nodes"] > 10
    assert (result(tmp_path, job)["stopped"], result(tmp_path, job)["flops"]) == ("interrupted", 1)
    monkeypatch.setattr(worker, "tell", tell)
    worker.run(tmp_path, job)
    assert (result(tmp_path, job)["stopped"], result(tmp_path, job)["flops"]) == ("done", 2)
    with serving(tmp_path, workers=0) as client:
        told = client.get(f"/api/jobs/{job}/report").json()
        table = client.get(f"/api/jobs/{job}/report.csv").text.splitlines()
    wanted = [flop_row(Task(Flop(f, w), Spot(**FLOP).on(f), 20, None, LINES)) for f, w in FLOPS]
    for row, found in zip(told["rows"], wanted, strict=True):
        assert (row["flop"], row["weight"], row["suits"]) == (
            found["flop"],
            found["weight"],
            found["suits"],
        )
        for column in ("ev_oop", "equity_ip", "oop check", "ip check"):
            assert row[column] == pytest.approx(found[column])
    assert told["mean"]["ev_oop"] == pytest.approx(
        (4 * wanted[0]["ev_oop"] + wanted[1]["ev_oop"]) / 5
    )
    assert table[0].split(",")[:2] == ["flop", "weight"]
    assert [line.split(",")[0] for line in table[1:]] == ["AhKd2c", "8h8d7h"]
