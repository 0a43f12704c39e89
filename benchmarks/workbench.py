"""What the workbench takes: ``python benchmarks/workbench.py`` writes docs/results/workbench.json.

Four figures: the time to the first page, the memory with which a solution of a gigabyte is looked
at, what ten pages on a running solve take, and the time in which a grid is drawn again. It takes
about three minutes and four gigabytes of memory. Others on the machine disturb it; where that is
allowed, both times are measured ahead of them.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser

from subgame.papers.report import commit, machine

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "serve"))

from chromium import DESKTOP, chromium  # noqa: E402

OUT = ROOT / "docs" / "results" / "workbench.json"
RANGE = "22+,A2s+,K9s+,Q9s+,J9s+,T8s+,97s+,87s,76s,65s,ATo+,KTo+,QJo"
WIDE = "22+,A2s+,K5s+,Q8s+,J8s+,T8s+,97s+,86s+,76s,65s,54s,A8o+,K9o+,Q9o+,J9o+,T9o"
TURN = {
    "board": "QsJh2h8d",
    "pot": 100,
    "stacks": [500, 500],
    "oop": RANGE,
    "ip": RANGE,
    "streets": {
        "turn": {"bets": "0.5x 1x", "raises": "2.5r a"},
        "river": {"bets": "0.5x 1x", "raises": "a"},
    },
    "cap": 3,
}
FLOP = TURN | {
    "board": "QsJh2h",
    "oop": WIDE,
    "ip": WIDE,
    "stacks": [900, 900],
    "streets": {
        "flop": {"bets": "0.33x 0.75x", "raises": "2.5r"},
        "turn": {"bets": "0.5x 1x", "raises": "a"},
        "river": {"bets": "0.5x", "raises": "a"},
    },
    "cap": 2,
}
CHECKED, CALLED = "c c / 3c", "r33 c / 8s"
LINES = ("", "c", CHECKED, f"{CHECKED} c", f"{CHECKED} c c / 4d", f"{CHECKED} c c / 4d c")
CALLS = ("r33", CALLED, f"{CALLED} c", f"{CALLED} c c / Ad")
REPEATS, TABS, SPAN = 4, 10, 10.0
MIB = 2**20
FRAMES = """async () => {
  const two = () => new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)));
  const views = [...document.querySelectorAll('[aria-label="What the grid shows"] button')];
  const took = [];
  for (let k = 1; k <= 20; k += 1) {
    await two();
    const began = performance.now();
    views[k % 4].click();
    await two();
    took.push(performance.now() - began);
  }
  return took;
}"""


class Server:
    """``subgame serve`` in a process of its own."""

    def __init__(self, data: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.home, self.began = f"http://127.0.0.1:{self.port}", time.monotonic()
        words = ["serve", "--no-browser", "--port", str(self.port), "--data", data]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "subgame", *words], stdout=subprocess.DEVNULL
        )

    def listens(self) -> None:
        """Wait until it takes connections."""
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 30).close()
                return
            except OSError:
                time.sleep(0.002)

    def ask(self, path: str, body: Any = None) -> Any:
        """What the API says."""
        data = None if body is None else json.dumps(body).encode()
        head = {"content-type": "application/json"}
        asked = urllib.request.Request(self.home + path, data, head)
        with urllib.request.urlopen(asked, timeout=600) as answer:
            text = answer.read()
        return json.loads(text) if path.startswith("/api") else text

    def cpu(self) -> float:
        """Seconds of processor time so far, without its workers'."""
        answer = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(answer[11]) + int(answer[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> dict[str, float]:
        """MiB in memory: its own, and of files that are mapped."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        answer = dict(line.split(":", 1) for line in lines)
        return {
            name: int(answer[key].split()[0]) / 1024
            for name, key in (("own", "RssAnon"), ("of files", "RssFile"))
        }

    def solved(self, spot: dict[str, Any], **stop: Any) -> str:
        """A job that has ended."""
        job = str(self.ask("/api/spots/solve", {"spot": spot, "stop": stop})["id"])
        while (row := self.ask(f"/api/jobs/{job}"))["state"] in ("queued", "running"):
            time.sleep(0.2)
        assert row["state"] == "done", row["error"]
        return job


@contextmanager
def served(data: str) -> Iterator[Server]:
    server = Server(data)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


@contextmanager
def ahead() -> Iterator[None]:
    """This process and those that it starts come before others, if that is allowed."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    yield
    os.sched_setscheduler(0, *before)


def start(data: str, browser: Browser) -> dict[str, Any]:
    """Seconds from the start of the process to the first answer, and to a page that can be used."""
    answered, usable, cpu = [], [], []
    page = browser.new_page()
    for _ in range(REPEATS):
        with served(data) as server:
            server.listens()
            server.ask("/games")
            answered.append(time.monotonic() - server.began)
            cpu.append(server.cpu())
        with served(data) as server:
            server.listens()
            page.goto(server.home, wait_until="commit")
            page.locator("[rel=next]").wait_for()
            usable.append(time.monotonic() - server.began)
        page.goto("about:blank")
    return {"first_answer_s": min(answered), "usable_s": min(usable), "cpu_s": min(cpu)} | {
        "all_usable_s": usable
    }


def large(server: Server, data: str) -> dict[str, Any]:
    """Memory of the server before and after ten decisions of a large solution were looked at."""
    job = server.solved(FLOP, iterations=2)
    size = (Path(data) / "jobs" / job / "strategy.safetensors").stat().st_size
    before, took = server.memory(), []
    for line in (*LINES, *CALLS):
        began = time.monotonic()
        server.ask(f"/api/jobs/{job}/decision?line={quote(line)}")
        took.append(time.monotonic() - began)
    assert size > 1e9, size
    return {
        "file_MiB": size / MIB,
        "before_MiB": before,
        "after_ten_decisions_MiB": server.memory(),
        "first_decision_s": took[0],
        "median_of_the_others_s": statistics.median(took[1:]),
    }


def tabs(server: Server) -> dict[str, Any]:
    """The server's share of a core while a solve runs, without and with ten pages on it."""
    job = server.ask("/api/spots/solve", {"spot": TURN, "stop": {"iterations": 10**6}})["id"]
    while not server.ask(f"/api/jobs/{job}").get("iteration"):
        time.sleep(0.1)

    def share() -> float:
        cpu, began = server.cpu(), time.monotonic()
        time.sleep(SPAN)
        return (server.cpu() - cpu) / (time.monotonic() - began)

    alone = share()
    with chromium() as browser:
        for _ in range(TABS):
            browser.new_page().goto(f"{server.home}/solve/{job}")
        time.sleep(3)
        with_tabs = share()
    server.ask(f"/api/jobs/{job}/cancel", {})
    return {"pages": TABS, "server_share_alone": alone, "server_share_with_pages": with_tabs} | {
        "cost": with_tabs - alone
    }


def redraw(server: Server) -> dict[str, Any]:
    """Milliseconds from a click to the second frame after it, on a tree of over 10,000 nodes."""
    job = server.solved(TURN, iterations=20)
    server.ask(f"/api/jobs/{job}/decision?values=true")
    with ahead(), chromium() as browser:
        page = browser.new_page(viewport=DESKTOP)
        page.goto(f"{server.home}/solve/{job}")
        page.locator(".here-facts", has_text="EQR").wait_for(timeout=120_000)
        took = page.evaluate(FRAMES)
    nodes = server.ask(f"/api/jobs/{job}")["result"]["nodes"]
    assert nodes >= 10_000, nodes
    return {"nodes": nodes, "median_ms": statistics.median(took), "most_ms": max(took)}


def main() -> None:
    """Measure everything and write the file."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as data, ahead(), chromium() as browser:
        result: dict[str, Any] = {"start": start(data, browser)}
    print(result)
    with tempfile.TemporaryDirectory() as data:
        with served(data) as server:
            server.listens()
            result["redraw"] = redraw(server)
            result["ten_pages"] = tabs(server)
            print(result)
        with served(data) as server:
            server.listens()
            result["large_solution"] = large(server, data)
    print(result)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    head: dict[str, Any] = {
        "command": "python benchmarks/workbench.py",
        "commit": commit(),
        "date": now,
    }
    head |= {"machine": machine()}
    OUT.write_text(json.dumps({**head, "load_before": load, **result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
