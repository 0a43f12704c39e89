"""A soak of the workbench, of ten minutes: ``python benchmarks/soak.py``.

A server on the loopback has ten pages, one of them in a real browser, and fifty jobs. Workers are
killed (``kill -9``) at times that a seed fixes. Afterwards the jobs that are left may end, without
kills. Then every job has ended or says why not, every file is whole, and the memory of the server
at the start, in the middle and at the end is compared. The result is docs/results/soak.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
from websockets.asyncio.client import connect

from subgame.errors import SubgameError
from subgame.papers.report import commit, machine
from subgame.tree.files import check_finite, read_tensors

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "results" / "soak.json"
PAGES, JOBS, WORKERS = 10, 50, 2
BETWEEN = (4.0, 16.0)
"""Seconds between two kills."""
EVERY = 5.0
"""Seconds between two measurements of memory."""
RIVER: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "pot": 100,
    "stacks": [200, 200],
    "oop": "AA,KK,65s,T9s",
    "ip": "KQ,QJ,JT",
    "streets": {"river": {"bets": "0.5x a", "raises": "a"}},
}
ENDED = ("done", "failed", "cancelled")
Client = httpx.Client


# What is asked of the server -------------------------------------------------------------------
def submit(client: Client, rng: random.Random, number: int) -> bool:
    """Put one job into the queue; which one depends on its number and on the random numbers."""
    count = rng.choice((2_000, 20_000, 100_000))
    kind, body = number % 5, dict[str, Any]()
    if kind in (0, 1):
        storage = "int16" if number % 10 == 1 else "float32"
        body = {"spot": RIVER, "stop": {"iterations": count}, "schedule": "dcfr"}
        return _posted(client, "/api/spots/solve", body | {"storage": storage})
    if kind in (2, 3):
        game = rng.choice(("kuhn", "leduc", "liars-dice(faces=3)", "goofspiel(cards=4)"))
        body = {"game": game, "schedule": "cfr+", "stop": {"iterations": count}}
        return _posted(client, "/api/games/solve", body)
    done = [row["id"] for row in client.get("/api/jobs").json() if "spot" in row.get("result", {})]
    if not done:
        return False
    body = {"of": rng.choice(done), "technique": "maxmargin", "iterations": 200}
    return _posted(client, "/api/refine", body)


def _posted(client: Client, path: str, body: dict[str, Any]) -> bool:
    answer = client.post(path, json=body)
    if answer.status_code == 429:  # the queue is full
        return False
    answer.raise_for_status()
    return True


def visit(home: str, stop: threading.Event, seed: int, seen: Counter[str]) -> None:
    """One page without a browser: it asks for files, jobs and decisions, and hears of jobs."""
    asyncio.run(_visit(home, stop, random.Random(seed), seen))


async def _visit(home: str, stop: threading.Event, rng: random.Random, seen: Counter[str]) -> None:
    async def listen() -> None:
        while not stop.is_set():
            with suppress(OSError, TimeoutError):
                async with connect(f"{home.replace('http', 'ws')}/api/live") as live:
                    while not stop.is_set():
                        with suppress(TimeoutError):
                            await asyncio.wait_for(live.recv(), 1)
                            seen["messages"] += 1

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=home, timeout=120) as client:
            while not stop.is_set():
                rows = (await client.get("/api/jobs")).json()
                solved = [row["id"] for row in rows if "spot" in row.get("result", {})]
                paths = ["/games", "/solve", "/jobs", "/api/health", "/api/jobs"]
                paths += [f"/api/jobs/{id}/decision?values=true" for id in solved[:3]]
                answer = await client.get(rng.choice(paths))
                seen["requests"] += 2
                seen[f"status {answer.status_code}"] += 1
                await asyncio.sleep(rng.uniform(0.5, 2))

    await asyncio.gather(listen(), ask())


def browse(home: str, stop: threading.Event, seed: int, seen: Counter[str]) -> None:
    """One page in Chromium, if it is there."""
    sys.path.insert(0, str(ROOT / "tests" / "serve"))
    from chromium import DESKTOP, FOUND, chromium, listen

    if FOUND is None:
        seen["no browser"] += 1
        visit(home, stop, seed, seen)
        return
    rng = random.Random(seed)
    with chromium() as browser:
        page = browser.new_context(base_url=home, viewport=DESKTOP).new_page()
        errors = listen(page)
        while not stop.is_set():
            page.goto(rng.choice(("/games", "/solve", "/jobs")))
            seen["pages in the browser"] += 1
            page.wait_for_timeout(rng.uniform(2000, 6000))
        seen["errors in the browser"] += len(errors)


def kill(server: int, stop: threading.Event, rng: random.Random, kills: list[float]) -> None:
    """Kill a random worker from time to time."""
    began = time.monotonic()
    while not stop.wait(rng.uniform(*BETWEEN)):
        with suppress(psutil.Error):
            there = psutil.Process(server).children()
            workers = [
                process
                for process in there
                if "subgame.serve.worker" in " ".join(process.cmdline())
            ]
            if workers:
                os.kill(rng.choice(workers).pid, signal.SIGKILL)
                kills.append(round(time.monotonic() - began, 1))


# The run ---------------------------------------------------------------------------------------
@contextmanager
def served(data: Path) -> Iterator[tuple[int, str]]:
    """The process of a server, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "subgame", "serve", "--no-browser", "--port", str(port)]
    command += ["--data", str(data), "--workers", str(WORKERS)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    home = f"http://127.0.0.1:{port}"
    try:
        _wait(lambda: _answers(home), 120)
        yield process.pid, home
        if process.poll() is not None:
            raise SystemExit(f"The server ended by itself, with code {process.returncode}.")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)


def _answers(home: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{home}/api/health", timeout=10).status_code == 200
    return False


def _wait(condition: Callable[[], bool], most: float) -> bool:
    end = time.monotonic() + most
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.5)
    return False


def resident(pid: int) -> float:
    """MiB of memory that a process has of its own."""
    return round(float(psutil.Process(pid).memory_info().rss) / 2**20, 1)


def listed(client: Client) -> list[dict[str, Any]]:
    """The jobs of the server."""
    return list(client.get("/api/jobs").json())


def run(data: Path, minutes: float, seed: int) -> dict[str, Any]:
    """Soak a server, and say what became of its jobs, files and memory."""
    rng, stop, kills, seen = random.Random(seed), threading.Event(), list[float](), Counter[str]()
    memory: list[float] = []
    with served(data) as (pid, home), Client(base_url=home, timeout=120) as client:
        threads = [
            threading.Thread(target=visit, args=(home, stop, seed + k, seen))
            for k in range(1, PAGES)
        ]
        threads.append(threading.Thread(target=browse, args=(home, stop, seed, seen)))
        killer = random.Random(seed + 100)
        threads.append(threading.Thread(target=kill, args=(pid, stop, killer, kills)))
        for thread in threads:
            thread.start()
        began, put = time.monotonic(), 0
        while (spent := time.monotonic() - began) < 60 * minutes:
            if put < JOBS and spent > put * 0.8 * 60 * minutes / JOBS:
                put += submit(client, rng, put) or submit(client, rng, 0)
            if spent > EVERY * len(memory):
                memory.append(resident(pid))
            time.sleep(0.2)
        stop.set()
        for thread in threads:
            thread.join(120)
        _wait(lambda: all(row["state"] in ENDED for row in listed(client)), 30 * 60)
        drained = time.monotonic() - began
        memory.append(resident(pid))
        jobs = listed(client)
    return {
        "minutes": minutes,
        "seconds_until_all_ended": round(drained, 1),
        "pages": PAGES,
        "workers": WORKERS,
        "answers": dict(sorted(seen.items())),
        **judged(jobs, kills),
        "damaged_files": damaged(data),
        "server_rss_MiB": {
            "start": memory[0],
            "middle": memory[len(memory) // 2],
            "end": memory[-1],
            "most": max(memory),
            "every_30_s": memory[:: round(30 / EVERY)],
        },
    }


def judged(jobs: list[dict[str, Any]], kills: list[float]) -> dict[str, Any]:
    """What became of the jobs."""
    return {
        "jobs": len(jobs),
        "states": dict(Counter(row["state"] for row in jobs)),
        "kills": len(kills),
        "kills_at_s": kills,
        "restarts": sum(row.get("restarts", 0) for row in jobs),
        "failures": [row["error"] for row in jobs if row["state"] == "failed"],
        "silent": [row["id"] for row in jobs if row["state"] == "failed" and not row["error"]]
        + [row["id"] for row in jobs if row["state"] not in ENDED],
    }


def damaged(data: Path) -> list[str]:
    """Files that cannot be read, or were left half written."""
    wrong = []
    for path in sorted((data / "jobs").rglob("*")):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".safetensors":
                check_finite(path, read_tensors(path)[1])
        except (ValueError, SubgameError) as error:
            wrong.append(f"{path.name}: {error}")
        if ".part" in path.name:
            wrong.append(path.name)
    with sqlite3.connect(data / "subgame.sqlite") as base:
        state = base.execute("PRAGMA integrity_check").fetchone()[0]
    return wrong + ([] if state == "ok" else [state])


def main() -> None:
    """Soak and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        result = run(Path(folder), options.minutes, options.seed)
    head = {
        "command": f"python benchmarks/soak.py --minutes {options.minutes:g} --seed {options.seed}",
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load_before": load,
        "seed": options.seed,
    }
    options.out.write_text(json.dumps({**head, **result}, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if result["silent"] or result["damaged_files"]:
        raise SystemExit("A job did not say why it failed, or a file is damaged.")


if __name__ == "__main__":
    main()
