"""Jobs: queued, run in processes of their own, paused, cancelled, crashed, taken up again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from serving import RIVER, put, serving, wait

import subgame as sg
from subgame.serve import jobs, progress, worker
from subgame.serve.settings import Settings
from subgame.serve.spots import Spot
from subgame.serve.store import Store
from subgame.solve.limits import FIRST
from subgame.spots.endgame import Endgame, load, memory_needed
from subgame.spots.flops import Flop
from subgame.spots.report import LINES, Task, flop_row
from subgame.tree.ranges.tree import range_tree

SPOT = {"spot": RIVER, "stop": {"iterations": 200}, "schedule": "dcfr"}
LONG = {"spot": RIVER, "stop": {"iterations": 5_000_000}, "schedule": "dcfr"}
WIDE = {
    "oop": "22+,A2s+,K2s+,Q5s+,A2o+,K8o+",
    "ip": "22+,A2s+,K5s+,Q8s+,A7o+,KTo+,QJo",
    "streets": {"river": {"bets": "0.3x 0.6x 1x a", "raises": "0.5x 1x a"}},
}
ENDLESS = {"spot": RIVER | WIDE, "stop": {"iterations": 5_000_000}, "schedule": "cfr"}
"""A solve that runs for minutes: it converges too slowly to stop for want of precision."""


def test_a_spot_is_solved_paused_and_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page hears of it, and what is shown is what the package says of the saved file."""
    with serving(tmp_path, workers=1) as client:
        with client.websocket_connect("/api/live", headers={"host": "127.0.0.1:8017"}) as live:
            job = client.post("/api/spots/solve", json=ENDLESS).json()["id"]
            points: list[list[float]] = []
            while len(points) < 5:
                for row in live.receive_json()["jobs"]:
                    points = row.get("curve", points)
        answer = client.post(f"/api/jobs/{job}/pause", json={})
        assert answer.status_code == 200
        assert answer.json()["wish"] == "paused"  # said at once, before the worker has ended
        paused = wait(client, job, "paused")
        assert paused["result"]["stopped"] == "interrupted"
        done = paused["result"]["iterations"]
        shown = client.get(f"/api/jobs/{job}/decision", params={"line": "c"}).json()
        strategy = load(tmp_path / "jobs" / job / "strategy.safetensors")
        decision = Endgame.of(strategy).decision("c")
        table = decision.table()
        assert [action["id"] for action in shown["actions"]] == list(decision.actions)
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


def test_what_was_solved_so_far_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its way to the target a spot is saved: the file is what its result says of it."""
    said: list[dict[str, Any]] = []
    shown: list[tuple[float, float]] = []
    store = Store(tmp_path)
    how = {"schedule": "dcfr", "storage": "int16", "target": 0.5, "iterations": 1000}
    job = put(store, kind="endgame", spot=RIVER, **how)

    def tell(**message: Any) -> None:
        said.append(message)
        if message.get("so_far"):
            folder = tmp_path / "jobs" / job
            saved = json.loads((folder / worker.RESULT).read_text())
            assert saved["stopped"] == "so far"
            strategy = load(folder / worker.STRATEGY)
            shown.append((saved["exploitability"], sg.exploitability(strategy.tree, strategy).mean))

    monkeypatch.setattr(worker, "tell", tell)
    monkeypatch.setattr(progress, "tell", tell)
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    monkeypatch.setattr(worker, "SOONEST", 0.0)
    worker.run(tmp_path, job)
    assert len(shown) >= 1
    for reported, measured in shown:
        assert reported == pytest.approx(measured, rel=1e-4)
        assert 0.5 < reported <= worker.EARLY[0] * 0.5  # the pot is 100
    steps = [message for message in said if "step" in message]
    assert all(message["left"] >= 0 for message in steps)
    result = json.loads((tmp_path / "jobs" / job / worker.RESULT).read_text())
    assert result["stopped"] == "target"
    store.close()


def test_a_crashed_worker_is_reported_and_takes_nobody_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "solve")
    with serving(tmp_path, workers=2) as client:
        one, two = (client.post("/api/spots/solve", json=LONG).json()["id"] for _ in range(2))
        for _ in range(jobs.RESTARTS + 1):
            kill(client, one)
        failed = wait(client, one, "failed")
        assert "ended by the system (SIGKILL), the last of 4 times" in failed["error"]
        assert client.get(f"/api/jobs/{two}").json()["state"] == "running"
        assert client.post(f"/api/jobs/{two}/cancel", json={}).status_code == 200
        assert wait(client, two, "cancelled")["error"] == ""
        assert client.post(f"/api/jobs/{two}/pause", json={}).status_code == 400
        assert client.delete(f"/api/jobs/{two}").status_code == 204
        assert not (tmp_path / "jobs" / two).exists()


def test_a_killed_worker_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "keeps")
    with serving(tmp_path, workers=1) as client:
        job = client.post("/api/spots/solve", json=LONG).json()["id"]
        until((tmp_path / "jobs" / job / "checkpoint.safetensors").exists)
        kill(client, job)
        row = wait(client, job, "done", "failed")
    assert row["state"] == "done", row
    assert (row["result"]["went"], row["restarts"]) == ("on", 1)
    assert "by SIGKILL" in row["note"]


def kill(client: Any, job: str) -> None:
    """Kill the worker of a job once it runs, and wait until the server knows."""
    queue: Any = client.app.app.state.jobs
    until(lambda: job in queue._running)
    worker = queue._running[job]
    os.kill(worker.process.pid, signal.SIGKILL)
    until(lambda: queue._running.get(job) is not worker)


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
    saved: dict[str, Any] = json.loads((tmp_path / "jobs" / job / "result.json").read_text())
    return saved


def test_a_solution_is_refined_and_loaded_again(
    tmp_path: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spot = {"spot": RIVER, "schedule": "dcfr", "storage": "float32"}
    first, _ = inside(kind="endgame", iterations=30, **spot)
    second, _ = inside(kind="refine", of=first, technique="maxmargin", iterations=200)
    refined, before = result(tmp_path, second), result(tmp_path, first)
    assert refined["before"] == pytest.approx(before["exploitability"])
    assert refined["after"] <= refined["before"]
    assert refined["exploitability"] == pytest.approx(refined["after"])
    assert {row["player"] for row in refined["rows"]} == {0, 1}
    for row in refined["rows"]:
        assert row["margin"] == pytest.approx(row["cbv"] + row["gift"] - row["value"])
    # The file has its values, so it is shown without being evaluated.
    monkeypatch.setattr(Endgame, "of", None)
    third, _ = inside(kind="load", upload=str(tmp_path / "jobs" / second / "strategy.safetensors"))
    assert result(tmp_path, third)["ev"] == pytest.approx(refined["ev"])


def test_a_game_is_solved_and_a_mistake_is_a_sentence(tmp_path: Path, inside: Any) -> None:
    job, said = inside(kind="game", game="kuhn", schedule="cfr+", target=1e-3)
    assert result(tmp_path, job)["value"] == pytest.approx(-1 / 18, abs=1e-3)
    assert result(tmp_path, job)["exploitability"] <= 1e-3
    assert next(message["point"][0] for message in said if "point" in message) <= FIRST
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


@pytest.mark.slow
def test_a_report_over_flops_goes_on_where_it_was_interrupted(
    tmp_path: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = progress.tell

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
        report = client.get(f"/api/jobs/{job}/report").json()
        table = client.get(f"/api/jobs/{job}/report.csv").text.splitlines()
    row = report["rows"][1]
    wanted = flop_row(Task(Flop("8h8d7h"), Spot(**FLOP).on("8h8d7h"), 20, None, LINES))
    assert {**row, "seconds": 0} == pytest.approx({**wanted, "seconds": 0})
    both = [(row["weight"], row["ev_oop"]) for row in report["rows"]]
    assert report["mean"]["ev_oop"] == pytest.approx(sum(w * ev for w, ev in both) / 5)
    assert table[0].split(",")[:2] == ["flop", "weight"]
    assert [line.split(",")[0] for line in table[1:]] == ["AhKd2c", "8h8d7h"]


def test_a_report_whose_largest_flop_is_too_large_is_refused_at_once(
    inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first flop, of one suit, is smaller than the second."""
    asked: list[int] = []

    def refuse(needed: int, most: str) -> None:
        asked.append(needed)
        raise sg.SubgameError("It is too large.")

    monkeypatch.setattr(worker, "_refuse", refuse)
    names = ("AhKh2h", "8h7d2c")
    sizes = [
        memory_needed(range_tree(sg.compile(Spot(**FLOP).on(name), merge=True)), "hs-dcfr")
        for name in names
    ]
    inside(kind="report", spot=FLOP, flops="; ".join(names), target=20)
    assert asked == [sizes[1]]
    assert sizes[1] > 2 * sizes[0]


# Limits ----------------------------------------------------------------------------------------
SOLVES = """
import json, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from subgame.serve import worker

def solve(data, folder, task):
    ahead, count = folder / worker.CHECKPOINT, 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        for count in range(10**9):
            worker.tell(step=[count, 0.0, 0.1], point=[count, 0.0, 1 / (count + 1)])
            time.sleep(0.01)
            if ahead.exists():
                return {"stopped": "target", "went": "on"}
    except KeyboardInterrupt:
        ahead.write_text(str(count))
        return {"stopped": "interrupted"}

def keeps(data, folder, task):
    if (folder / worker.CHECKPOINT).exists():
        return {"stopped": "target", "went": "on"}
    (folder / worker.CHECKPOINT).write_text("state")
    time.sleep(600)

def hang(data, folder, task):
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass

worker.KINDS["endgame"] = SOLVE
sys.exit(worker.main())
"""


def stand_in(monkeypatch: pytest.MonkeyPatch, solve: str) -> list[str]:
    """Have workers run the real worker with another solve, which takes no time to import."""
    command = [sys.executable, "-c", SOLVES.replace("= SOLVE", f"= {solve}")]
    monkeypatch.setattr(jobs, "WORKER", command)
    return command


@pytest.mark.parametrize(
    ("solve", "state", "patience"), [("solve", "done", 600), ("hang", "failed", 0.2)]
)
def test_a_job_ends_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solve: str, state: str, patience: float
) -> None:
    stand_in(monkeypatch, solve)
    monkeypatch.setattr(jobs, "PATIENCE", patience)
    with serving(tmp_path, workers=1, seconds=0.01) as client:
        job = client.post("/api/spots/solve", json=SPOT).json()["id"]
        row = wait(client, job, "done", "failed")
    assert row["state"] == state
    said = row["note"] if state == "done" else row["error"]
    assert said == "It was stopped after 0.01 s, the most for a job."
    assert state == "failed" or row["result"]["stopped"] == "interrupted"


def test_a_job_that_takes_too_much_memory_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "lambda *given: {'size': len(bytearray(5 * 2**30))}")
    with serving(tmp_path, workers=1, memory_limit="1GiB") as client:
        job = client.post("/api/spots/solve", json=SPOT).json()["id"]
        assert wait(client, job, "done", "failed")["error"] == (
            "The job ran out of the memory that it may use."
        )
        assert client.get("/api/health").json()["name"] == "subgame"


def test_a_killed_server_leaves_its_jobs_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = stand_in(monkeypatch, "solve")
    code = f"import sys; from subgame.serve import jobs; jobs.WORKER = {command!r}\n"
    code += "from subgame.cli import main; sys.exit(main(sys.argv[1:]))"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", "--port", str(port), "--data", str(tmp_path), "--no-browser", "--workers=1"]
    server = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as client:
        until(lambda: reaches(port))
        running, waiting = (
            client.post("/api/spots/solve", json=SPOT).json()["id"] for _ in range(2)
        )
        until(lambda: len(client.get(f"/api/jobs/{running}").json()["curve"]) > 2)
    server.kill()
    server.wait()
    checkpoint = tmp_path / "jobs" / running / "checkpoint.safetensors"
    until(checkpoint.exists)  # the worker notices that nobody listens
    with serving(tmp_path, workers=0) as again:
        rows = {job: again.get(f"/api/jobs/{job}").json() for job in (running, waiting)}
        assert [row["state"] for row in rows.values()] == ["queued", "queued"]
    with serving(tmp_path, workers=1) as again:
        assert wait(again, running, "done")["result"]["went"] == "on"
        again.post(f"/api/jobs/{waiting}/cancel", json={})


def test_a_job_that_is_cancelled_as_the_server_stops_is_not_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "hang")
    store = Store(tmp_path)
    queue = jobs.Jobs(store, Settings(tmp_path, workers=1))
    job = queue.submit({"kind": "endgame"}, "x")["id"]
    queue.act(job, "cancel")
    queue.close()
    assert store.get("jobs", job)["state"] == "cancelled"


def reaches(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def until(condition: Callable[[], Any], most: float = 600) -> None:
    """Wait until something holds."""
    end = time.monotonic() + most
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_thread_that_outlives_the_server_keeps_nothing_and_fails_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    row = store.add("tables", {"state": "over"})
    store.close()
    store.put("tables", row | {"state": "playing"})
    assert Store(tmp_path).get("tables", row["id"])["state"] == "over"
