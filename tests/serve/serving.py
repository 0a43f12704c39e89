"""A server inside the test process, and a spot that is solved in a moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
pytest.importorskip("httpx", reason="httpx is not installed (the extra 'dev')")

from starlette.testclient import TestClient

from subgame.serve.app import create_app
from subgame.serve.settings import Settings

HOST = "http://127.0.0.1:8017"
RIVER = {
    "board": "QsJh2h8d3c",
    "pot": 100,
    "stacks": [200, 200],
    "oop": "AA,KK,65s,T9s",
    "ip": "KQ,QJ,JT",
    "streets": {"river": {"bets": "0.5x a", "raises": "a"}},
}


@contextmanager
def serving(data: Path, **more: Any) -> Iterator[TestClient]:
    """A client of a server that keeps its files in a folder."""
    app: Any = create_app(Settings(data, **more))
    with TestClient(app, base_url=HOST, raise_server_exceptions=False) as client:
        yield client


def wait(client: TestClient, id: str, *states: str, most: float = 60) -> dict[str, Any]:
    """The job once it is in one of the states."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        row: dict[str, Any] = client.get(f"/api/jobs/{id}").json()
        if row["state"] in states:
            return row
        time.sleep(0.05)
    raise AssertionError(row)
