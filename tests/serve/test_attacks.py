"""A foreign page, a forged file or a flood of requests is answered with a refusal in a sentence."""

from __future__ import annotations

import gzip
import io
import json
import math
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from serving import RIVER, serving
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from subgame.serve.jobs import FullError
from subgame.serve.settings import Settings

UNKNOWN = "0123456789ab"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    data = tmp_path_factory.mktemp("data")
    patched = pytest.MonkeyPatch()
    patched.setattr("subgame.serve.spots.PATIENCE", 0.5)
    patched.setattr("subgame.serve.public_trees.PATIENCE", 0.5)
    patched.setattr("subgame.tree.ranges.betting_tree.COUNTED", 64)
    (data.parent / "secret.txt").write_text("contents that nobody may read")
    with serving(data, workers=0, queue=3, upload=2**20) as made:
        yield made
    patched.undo()


@dataclass
class Attack:
    """A request, and the status with which it is refused."""

    name: str
    status: int
    path: str
    method: str = "POST"
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


def spot(**changes: Any) -> dict[str, Any]:
    return {"spot": {**RIVER, **changes}}


def tensors(header: dict[str, Any], rest: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + rest


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("strategy", b"\0" * 2**20)
    return out.getvalue()


def bomb(shape: list[int]) -> bytes:
    size = 4 * 10**15
    entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}
    return tensors({"__metadata__": {"board": "QsJh2h"}, "player0": entry})


def damaged() -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    header = {"__metadata__": {"board": "QsJh2h"}, "regret0": entry}
    return tensors(header, struct.pack("<ff", 1.0, math.nan))


def wide() -> bytes:
    text = json.dumps({"__metadata__": {"board": "QsJh2h"}}).encode("utf-16")
    return struct.pack("<Q", len(text)) + text


QUOTE: dict[str, Any] = {
    "path": "/api/spots/quote",
    "headers": {"content-type": "application/json"},
}
BYTES = {"content-type": "application/octet-stream"}
UPLOAD: dict[str, Any] = {"path": "/api/solutions", "headers": BYTES}
EFG = 'EFG 2 R "x" { "A" "B" } t "" 1 "" { 1, -1 }'
DEEP = "(" * 100_000

ATTACKS = [
    Attack(
        "form of another site",
        403,
        "/api/spots/solve",
        body=spot(),
        headers={"origin": "http://evil.example"},
    ),
    Attack(
        "form without a type",
        415,
        "/api/spots/solve",
        content=b"{}",
        headers={"content-type": "text/plain"},
    ),
    Attack(
        "form of the kind that needs no permission",
        415,
        "/api/spots/solve",
        content=b"a=b",
        headers={"content-type": "application/x-www-form-urlencoded"},
    ),
    Attack(
        "origin null of a sandbox", 403, "/api/spots/quote", body=spot(), headers={"origin": "null"}
    ),
    Attack(
        "another port of this machine",
        403,
        "/api/spots/quote",
        body=spot(),
        headers={"origin": "http://127.0.0.1:9999"},
    ),
    Attack(
        "image of another site", 403, "/api/jobs", "GET", headers={"sec-fetch-site": "cross-site"}
    ),
    Attack(
        "page of the same domain", 403, "/api/jobs", "GET", headers={"sec-fetch-site": "same-site"}
    ),
    Attack("DNS rebinding", 421, "/api/jobs", "GET", headers={"host": "evil.example:8017"}),
    Attack(
        "DNS rebinding of a page", 421, "/solve", "GET", headers={"host": "127.0.0.1.evil.example"}
    ),
    Attack(
        "address that looks like ours",
        421,
        "/api/jobs",
        "GET",
        headers={"host": "127.0.0.1@evil.example"},
    ),
    Attack("traversal in a static file", 404, "/static/..%2f..%2f..%2fsecret.txt", "GET"),
    Attack("traversal in a job", 404, "/api/jobs/..%2f..%2fsecret.txt/file", "GET"),
    Attack("traversal in a table", 404, "/api/tables/..%2f..%2fsecret.txt", "GET"),
    Attack("job that does not exist", 404, f"/api/jobs/{UNKNOWN}/decision", "GET"),
    Attack(
        "comparison with a path", 404, f"/api/jobs/{UNKNOWN}/compare?other=..%2f..%2fsecret", "GET"
    ),
    Attack("traversal in hands", 404, "/api/tables/..%2f..%2fsecret.txt/hands.phhs", "GET"),
    Attack("locks of a file", 404, "/api/locks", body={"of": "../../x", "locks": ["@/etc/passwd"]}),
    Attack("locks without end", 422, "/api/locks", body={"of": UNKNOWN, "locks": [""] * 101}),
    Attack("sizes inside a line", 422, "/api/spots/quote", body=spot(added=["c; river: 1x"])),
    Attack("stack that is no number", 400, "/api/spots/quote", body=spot(stacks=[math.nan, 1])),
    Attack("rake without end", 400, "/api/spots/quote", body=spot(rake_cap=math.inf, rake=0.1)),
    Attack("path of a game file", 400, "/api/tree?game=../secret.efg", "GET"),
    Attack("code as a game", 400, "/api/tree?game=/tmp/evil.py:Game", "GET"),
    Attack("another library's game", 400, "/api/games/solve", body={"game": "openspiel:chess"}),
    Attack(
        "solution by path as an opponent",
        400,
        "/api/tables",
        body={"game": "kuhn", "opponent": "/etc/passwd.safetensors"},
    ),
    Attack(
        "traversal in the name of an opponent",
        404,
        "/api/tables",
        body={"game": "kuhn", "opponent": "job:../../secret"},
    ),
    Attack(
        "script as a name",
        400,
        "/api/spots/solve",
        body=spot() | {"name": "<script>alert(1)</script>"},
    ),
    Attack(
        "script as the name of a game",
        400,
        "/api/games",
        body={"name": "<img src=x onerror=alert(1)>", "text": EFG},
    ),
    Attack(
        "100 MB of range text",
        413,
        "/api/ranges/parse",
        content=b" ",
        headers={"content-type": "application/json", "content-length": str(10**8)},
    ),
    Attack("long range text", 422, "/api/ranges/parse", body={"text": "AA," * 10_000}),
    Attack(
        "compressed body",
        415,
        "/api/spots/quote",
        content=gzip.compress(b"0" * 10**6),
        headers={"content-type": "application/json", "content-encoding": "gzip"},
    ),
    Attack("zip as a solution", 400, content=zipped(), **UPLOAD),
    Attack(
        "safetensors with a huge header", 400, content=struct.pack("<Q", 2**62) + b"{}", **UPLOAD
    ),
    Attack("safetensors with a huge tensor", 400, content=bomb([10**15]), **UPLOAD),
    Attack("safetensors with a shape that overflows", 400, content=bomb([2**40, 2**40]), **UPLOAD),
    Attack(
        "safetensors with nested JSON",
        400,
        content=struct.pack("<Q", len(DEEP)) + DEEP.encode(),
        **UPLOAD,
    ),
    Attack(
        "safetensors of another game",
        400,
        content=tensors({"__metadata__": {"game": "evil.py:Game"}}),
        **UPLOAD,
    ),
    Attack("upload that is too large", 413, content=b"0" * (2**20 + 1), **UPLOAD),
    Attack("game without an end", 400, "/api/games", body={"name": "x", "text": "EFG 2 R " + DEEP}),
    Attack(
        "game of three players",
        400,
        "/api/games",
        body={"name": "x", "text": 'EFG 2 R "x" { "A" "B" "C" } t "" 1 "" { 1, 1, 1 }'},
    ),
    Attack("game that is too large", 400, "/api/tree?game=liars-dice(dice=5)", "GET"),
    Attack(
        "tree that is too large",
        400,
        "/api/spots/quote",
        body=spot(
            board="QsJh2h",
            stacks=[10**9, 10**9],
            oop="random",
            ip="random",
            streets={
                s: {"bets": " ".join(f"{k}x" for k in range(1, 10))}
                for s in ("flop", "turn", "river")
            },
        ),
    ),
    Attack("huge number of chips", 400, "/api/spots/quote", body=spot(pot=10**30)),
    Attack("text of 16 bits", 400, content=json.dumps(spot()).encode("utf-16"), **QUOTE),
    Attack("number that is none", 400, content=b'{"spot": {"board": "", "pot": NaN}}', **QUOTE),
    Attack("nested lists", 400, content=b"[" * 100_000, **QUOTE),
    Attack("half an object", 400, content=b'{"spot": ', **QUOTE),
    Attack("solution with NaN", 400, content=damaged(), **UPLOAD),
    Attack("solution with a header of 16 bits", 400, content=wide(), **UPLOAD),
    Attack("field that is not known", 422, "/api/spots/quote", body=spot(__class__="evil")),
    Attack("address without an end", 414, "/api/tree?game=" + "a" * 9_000, "GET"),
    Attack("verb that is not known", 422, f"/api/jobs/{UNKNOWN}/exec", body={}),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_refused(client: TestClient, attack: Attack) -> None:
    headers = {"content-type": "application/json"} if attack.content is None else {}
    if attack.body is not None:
        attack = Attack(
            **{**vars(attack), "content": json.dumps(attack.body).encode(), "body": None}
        )
    answer = client.request(
        attack.method, attack.path, content=attack.content, headers={**headers, **attack.headers}
    )
    assert answer.status_code == attack.status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.json().keys() == {"message", "fields"}
    assert len(answer.json()["message"]) < 1_000
    assert "nobody may read" not in answer.text
    assert client.get("/api/jobs").json() == []


@pytest.mark.parametrize(
    "headers",
    [{"host": "127.0.0.1:8017", "origin": "http://evil.example"}, {"host": "evil.example"}],
)
def test_websockets_of_other_sites_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect("/api/live", headers=headers),
    ):
        pass
    assert refused.value.code == 4403


def test_a_body_longer_than_it_says_is_cut_off(client: TestClient) -> None:
    parts = (b"0" * 2**16 for _ in range(40))
    answer = client.post(
        "/api/ranges/parse", content=parts, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413


def test_ten_thousand_jobs_are_not_queued(tmp_path: Path) -> None:
    """As many wait as may wait; the others are refused, and leave nothing behind."""
    with serving(tmp_path, workers=0) as client:
        queue: Any = client.app.app.state.jobs  # type: ignore[attr-defined]
        refused = 0
        for _ in range(10_000):
            try:
                queue.submit({"kind": "game", "game": "kuhn"}, "x")
            except FullError:
                refused += 1
        assert refused == 10_000 - Settings(tmp_path).queue
        assert len([*(tmp_path / "jobs").iterdir()]) == Settings(tmp_path).queue
        answer = client.post("/api/spots/solve", json=spot())
        assert answer.status_code == 429
        assert "100 jobs wait" in answer.json()["message"]


def test_scripts_in_a_game_stay_text(client: TestClient) -> None:
    """A title may be anything; it is sent as JSON, and the page's policy allows no script in it."""
    evil = EFG.replace('"x"', '"<script>alert(1)</script>"')
    made = client.post("/api/games", json={"name": "Evil", "text": evil}).json()
    answer = client.get("/api/tree", params={"game": made["name"]})
    assert answer.json()["title"] == "<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = client.get("/games")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "script-src 'self' 'sha256-" in page.headers["content-security-policy"]
    client.delete(f"/api/games/{made['name']}")


def test_our_own_pages_are_answered(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusals above are not refusals of everything."""
    monkeypatch.setattr("subgame.serve.spots.PATIENCE", 60.0)
    own = {"origin": "http://127.0.0.1:8017", "sec-fetch-site": "same-origin"}
    assert client.post("/api/spots/quote", json=spot(), headers=own).status_code == 200
    moved = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/solve", headers=moved).status_code == 200
    with client.websocket_connect("/api/live", headers=own | {"host": "127.0.0.1:8017"}):
        pass
