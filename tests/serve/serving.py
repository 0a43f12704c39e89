"""A server inside the test process, and a spot that is solved in a moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
pytest.importorskip("httpx", reason="httpx is not installed (the extra 'dev')")

import uvicorn
from starlette.testclient import TestClient

from subgame.serve.app import create_app
from subgame.serve.run import bound
from subgame.serve.settings import Settings
from subgame.serve.store import Store

HOST = "http://127.0.0.1:8017"
RIVER: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "pot": 100,
    "stacks": [200, 200],
    "oop": "AA,KK,65s,T9s",
    "ip": "KQ,QJ,JT",
    "streets": {"river": {"bets": "0.5x a", "raises": "a"}},
}


def put(store: Store, **task: Any) -> str:
    """A job that nobody has run yet: its row and its folder."""
    row = store.add("jobs", {"state": "queued", "name": "x"})
    folder = store.folder(row["id"])
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps({"memory_limit": "1GiB", **task}))
    if "upload" in task:
        (folder / "upload").write_bytes(Path(task["upload"]).read_bytes())
    return str(row["id"])


@contextmanager
def serving(data: Path, **more: Any) -> Iterator[TestClient]:
    """A client of a server that keeps its files in a folder."""
    app: Any = create_app(Settings(data, **more))
    with TestClient(app, base_url=HOST, raise_server_exceptions=False) as client:
        yield client


@contextmanager
def listening(data: Path, **more: Any) -> Iterator[str]:
    """The address of a server that listens on a free port."""
    settings = Settings(data, port=0, **more)
    socket, app = bound(settings), cast(Any, create_app(settings))
    # Its own logging would close the streams of other libraries' handlers, those of the tests too.
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        socket.close()


def wait(client: TestClient, id: str, *states: str, most: float = 600) -> dict[str, Any]:
    """The job once it is in one of the states."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        row: dict[str, Any] = client.get(f"/api/jobs/{id}").json()
        if row["state"] in states:
            return row
        time.sleep(0.05)
    raise AssertionError(row)
