"""What the pages Games and Play are told, and the command that starts the server."""

from __future__ import annotations

import builtins
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import RIVER, listening, serving
from starlette.testclient import TestClient

import subgame as sg
from subgame.cli import main
from subgame.errors import SubgameError
from subgame.play import Uniform, named
from subgame.play.aivat import Aivat, value_function
from subgame.play.match import Hand
from subgame.play.protocols.seen import read_seen
from subgame.serve import story, table_views, tables
from subgame.serve.app import MAP, STATIC
from subgame.serve.spots import Spot, deadline, quote, range_view
from subgame.spots.endgame import memory_needed


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with serving(tmp_path_factory.mktemp("data"), workers=0) as made:
        yield made


def test_coin_toss_has_the_numbers_of_the_paper(client: TestClient) -> None:
    steps = {step["id"]: step for step in client.get("/api/story").json()["steps"]}
    assert steps["unsafe"]["guess"]["Heads"] == 1
    assert steps["resolve"]["rows"][1]["alternative"] == pytest.approx(0.5)
    assert steps["maxmargin"]["guess"]["Heads"] == pytest.approx(0.625)
    assert steps["optimum"]["guess"]["Tails"] == pytest.approx(0.75)


RESOLVE, INDIFFERENT = "/steps/2/", "/steps/5/first/"
"""What has many solutions: re-solving, all with margins of at least 0, and what player 1 does in an
equilibrium of the whole game."""


def test_the_numbers_of_the_first_page_are_those_that_are_computed() -> None:
    kept, computed = (numbers(part) for part in (story.story(), story.computed()))
    assert kept.keys() == computed.keys()
    margins = [key for key in kept if key.startswith(RESOLVE) and key.endswith("margin")]
    assert margins
    assert min(side[key] for side in (kept, computed) for key in margins) > -1e-6
    for key, value in computed.items():
        if not (key.startswith((RESOLVE, INDIFFERENT)) and isinstance(value, float)):
            assert kept[key] == pytest.approx(value, abs=1e-6), key


def numbers(value: Any, path: str = "") -> dict[str, Any]:
    """Everything in some JSON by its path."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, inner in pairs for k, v in numbers(inner, f"{path}/{key}").items()}
    return {path: value}


def test_a_public_state_has_the_values_of_best_responses(client: TestClient) -> None:
    view = client.get("/api/tree", params={"game": "kuhn", "at": 0, "strategy": "uniform"}).json()
    tree = sg.compile(sg.games.load("kuhn"))
    uniform = sg.Strategy.uniform(tree)
    values = sg.best_response(tree, uniform, 0).values
    assert [row["infoset"] for row in view["infosets_here"]] == ["J", "Q", "K"]
    for row in view["infosets_here"]:
        best = max(action["value"] for action in row["actions"])
        assert best == pytest.approx(values[row["infoset"]].normalised)
    assert view["figures"]["exploitability"] == sg.exploitability(tree, uniform).mean
    assert len(view["nodes"]) == tree.num_nodes == view["public_states"]


@pytest.mark.parametrize(
    "technique", ["maxmargin", pytest.param("resolve", marks=pytest.mark.slow)]
)
def test_a_gadget_is_watched_as_the_package_solves_it(client: TestClient, technique: str) -> None:
    asked = {"game": "leduc", "strategy": "uniform", "technique": technique, "player": 0}
    watched = client.get("/api/gadget", params=asked | {"at": "after round 1"}).json()
    tree = sg.compile(sg.games.load("leduc"))
    uniform = sg.Strategy.uniform(tree)
    assert watched["subgames"] == [subgame.name for subgame in sg.cut(tree, "after round 1")]
    refined = sg.refine(
        tree,
        uniform,
        at=sg.cut(tree, "after round 1")[:1],
        technique=technique,
        schedule="cfr+",
        iterations=128,
        player=0,
        allow_worse=True,
    )
    assert watched["alternative"] == pytest.approx([row["alternative"] for row in refined.rows()])
    assert watched["results"][-1]["margin"] == pytest.approx(refined.margin)
    assert watched["results"][-1]["best_response"] == pytest.approx(refined.after.per_seat[0])
    assert len(watched["steps"]) == 128
    for step, after in itertools.pairwise(watched["steps"][:20]):
        if technique == "resolve":  # regret matching: who gains by entering enters no less
            gains = np.array(step["value"]) - watched["alternative"]
            for k, gain in enumerate(gains):
                assert (after["enter"][k] - step["enter"][k]) * gain >= -1e-12
        else:
            assert sum(step["enter"]) == pytest.approx(1)
    wrong = client.get("/api/gadget", params=asked | {"at": "after round 1", "subgame": "x"})
    assert "no subgame called 'x'" in wrong.json()["message"]


def test_a_large_tree_is_told_in_parts(client: TestClient) -> None:
    whole = client.get("/api/tree", params={"game": "leduc", "at": 0}).json()
    assert whole["public_states"] > len(whole["nodes"])
    below = next(node["id"] for node in whole["nodes"] if node["parent"] == 0)
    part = client.get("/api/tree", params={"game": "leduc", "at": below}).json()
    assert part["path"] == [0, below]
    beside = [node for node in part["nodes"] if node["parent"] == 0]
    assert len(beside) == whole["nodes"][0]["children"]


def test_the_quote_is_that_of_the_package() -> None:
    spot = Spot(**RIVER)
    tree = sg.compile(spot.game())
    quoted = quote(spot, "dcfr", "8GiB")
    assert quoted["nodes"] == tree.num_nodes
    assert quoted["memory"]["float32"] == memory_needed(tree, "dcfr", "float32")  # type: ignore[arg-type]
    assert quoted["memory"]["int16"] < quoted["memory"]["float32"]


def test_counting_ends_when_nobody_waits_and_only_its_own_time_counts() -> None:
    watch = deadline(0.2, lambda: False)
    time.sleep(0.3)
    watch(0)  # waiting is no work
    with pytest.raises(SubgameError, match="Nobody waits"):
        quote(Spot(**RIVER | {"board": "QsJh2h"}), "dcfr", "8GiB", lambda: True)


def test_a_range_is_read_and_written(client: TestClient) -> None:
    parsed = client.post("/api/ranges/parse", json={"text": "AA,AKs:0.5,AhQh"}).json()
    assert parsed["combos"] == 9
    assert parsed["classes"] == {"AA": 1.0, "AKs": 0.5, "AQs": 0.25}
    assert sg.holdem.Range.parse(parsed["text"]).combos == 9
    kept = client.post("/api/ranges", json={"name": "Mine", "text": "AA"}).json()
    assert [row["name"] for row in client.get("/api/ranges").json()] == ["Mine"]
    client.delete(f"/api/ranges/{kept['id']}")


def test_short_deck_has_its_own_classes_and_flops(client: TestClient) -> None:
    body = {"text": "random", "deck": "short"}
    parsed = client.post("/api/ranges/parse", json=body).json()
    assert (parsed["combos"], len(parsed["classes"])) == (630, 81)
    spot = RIVER | {"board": "QsJh9h8d6c", "oop": "AA,KQs", "ip": "QQ,JJ", "deck": "short"}
    assert client.post("/api/spots/quote", json={"spot": spot}).json()["combos"] == [9, 6]
    refused = client.post("/api/spots/quote", json={"spot": spot | {"board": "QsJh2h"}})
    assert "no rank '2'" in refused.json()["fields"]["board"]
    report = {"spot": spot, "flops": "25"}
    assert "full deck" in client.post("/api/reports/quote", json=report).json()["fields"]["flops"]


# Play ----------------------------------------------------------------------------------------
def play(client: TestClient, view: dict[str, Any], action: str = "") -> dict[str, Any]:
    """A hand to its end, by one action or by the first legal one."""
    while view["state"] != "over":
        assert not view["error"]
        if view["state"] == "thinking":
            view = client.get(f"/api/tables/{view['id']}").json()
            continue
        legal = [option["id"] for option in view["legal"]]
        chosen = action if action in legal else legal[0]
        view = client.post(f"/api/tables/{view['id']}/act", json={"action": chosen}).json()
    return view


def kept(client: TestClient, view: dict[str, Any]) -> list[dict[str, Any]]:
    """The hands of a table, as they are stored."""
    app: Any = client.app
    hands: list[dict[str, Any]] = app.app.state.store.get("tables", view["id"])["hands"]
    return hands


def test_hands_are_played_and_revealed(client: TestClient) -> None:
    view = client.post("/api/tables", json={"game": "kuhn", "opponent": "call", "seed": 3}).json()
    game, total = sg.games.load("kuhn"), 0.0
    luck = Aivat(game, named.load_agent(game, "call"), value_function(game, Uniform()))
    for number in range(1, 4):
        assert view["number"] == number
        view = play(client, view, "b")
        hand = view["last"]
        state = sg.games.load("kuhn").new_initial_state()
        for _, action in hand["moves"]:
            state = state.child(action)
        assert hand["won"] == state.returns()[view["seat"]]
        total += hand["won"]
        assert view["result"]["chips"] == total
        while view["counting"]:
            view = client.get(f"/api/tables/{view['id']}").json()
        assert view["result"]["aivat"]["mean"] == pytest.approx(
            -np.mean([luck.estimate(Hand.of(record), 1) for record in kept(client, view)])
        )
        for step in hand["reveal"]:
            assert dict(step["policy"]) == {step["action"]: 1.0}
        wrong = client.post(f"/api/tables/{view['id']}/act", json={"action": "b"})
        assert wrong.json()["message"] == "It is not your turn."
        view = client.post(f"/api/tables/{view['id']}/next", json={}).json()
    assert view["result"]["interval95"] is not None


def test_any_legal_bet_may_be_made_and_the_table_survives_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path, workers=0) as client:
        opened = {"game": "hunl", "opponent": "call", "seed": 1}
        view = client.post("/api/tables", json=opened).json()
        at = f"/api/tables/{view['id']}"
        refused = client.post(f"{at}/act", json={"action": "r150"})
        assert refused.status_code == 400
        assert "r with a total from 200 to 20000" in refused.json()["message"]
        view = client.post(f"{at}/act", json={"action": "r777"}).json()
        assert view["holdem"]["pot"] == 2 * 777
        assert len(view["holdem"]["board"]) == 3
    with serving(tmp_path, workers=0) as client:
        assert client.get(at).json() == view
        view = play(client, view, "c")
        assert abs(view["last"]["won"]) in (0, 777)
        while view["counting"]:  # also where the person bet what no strategy has
            view = client.get(at).json()
        assert abs(view["result"]["aivat"]["mean"]) < 20 * 777 / 2
    with serving(tmp_path, workers=0) as client:
        assert client.get(at).json() == view  # a hand that is over is remembered, too
        assert all(len(hand) == 4 for hand in view["holdem"]["hands"])


def test_the_blueprint_of_hunl_shows_its_range_and_the_hands_are_phh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = pytest.importorskip("subgame.play.protocols.histories")
    with serving(tmp_path, workers=0) as client:
        assert client.get("/api/agents", params={"game": "hunl"}).json()[0] == "limited"
        opened = {"game": "hunl", "opponent": "blueprint", "seed": 5}
        view = play(client, client.post("/api/tables", json=opened).json(), "c")
        assert view["title"] == "hunl"
        steps = [step for step in view["last"]["reveal"] if "range" in step]
        assert len(steps) > 1
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            # Its own hand is in its range, and plays there as the agent said it would.
            shown = step["range"]
            hand = sg.holdem.Range.parse(step["infoset"].partition(" | ")[0])
            (name,) = range_view(str(hand))["classes"]
            held, *mix = shown["classes"][name]
            assert held > 0
            assert [action["id"] for action in shown["actions"]] == [a for a, _ in step["policy"]]
            assert sum(mix) == pytest.approx(1, abs=1e-3)
            if after is None:
                break
            # What it did narrows its range; the board blocks hands of its own ranks.
            k = [action["id"] for action in shown["actions"]].index(step["action"])
            board = after["infoset"].split(" | ")[1]
            for hand_class, (weight, *shares) in shown["classes"].items():
                if not {*hand_class[:2]} & {*board}:
                    left = after["range"]["classes"].get(hand_class, [0])[0]
                    assert left == pytest.approx(weight * shares[k], abs=2e-4)
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "pokerkit", None)
            text = client.get(f"/api/tables/{view['id']}/hands.phhs").text
            (seen,) = read_seen(text)
            assert seen.streets[-1].cards == "".join(view["holdem"]["board"])
        pytest.importorskip("pokerkit")
        (hand,) = histories.read_phh(text).hands
        assert [list(move) for move in hand.moves] == view["last"]["moves"]
        at = client.post(f"/api/tables/{view['id']}/next", json={}).json()
        play(client, at, "f")
        first = kept(client, view)[0]
        assert not any("range" in step for step in first["reveal"])


def test_an_agent_that_solves_while_it_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(named, "ITERATIONS", 20)
    with serving(tmp_path, workers=0) as client:
        opened = {"game": "kuhn", "opponent": "nested", "seed": 1}
        view = client.post("/api/tables", json=opened).json()
        if view["state"] == "thinking":  # it was not done within a second
            assert view["thinking"]["preparing"] or view["thinking"]["most"] == table_views.THINKS
        view = play(client, view, "b")
        assert "the agent plays" in view["last"]["reveal"][0]["why"]
        while view["counting"]:
            view = client.get(f"/api/tables/{view['id']}").json()
        assert abs(view["result"]["aivat"]["mean"]) < 2
        refused = client.post("/api/tables", json={"game": "nlfh", "opponent": "nested"})
        assert "the agents are uniform" in refused.json()["message"]


def test_tables_beyond_the_limit_are_played_again_when_asked_for(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LIVE", 1)
    views = [
        client.post(
            "/api/tables", json={"game": "kuhn", "opponent": "uniform", "seed": seed}
        ).json()
        for seed in range(3)
    ]
    assert [client.get(f"/api/tables/{view['id']}").json() for view in views] == views


def test_the_server_starts_without_what_only_solves_need() -> None:
    """The first page is there within a second, so neither NumPy nor FastAPI is imported for it."""
    code = "import sys, subgame.serve.run\nassert not {'numpy', 'fastapi'} & {*sys.modules}"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_what_the_first_page_imports_is_fetched_at_once() -> None:
    """`modulepreload` names every module that is imported, directly or not, before it is drawn."""
    page = (STATIC / "index.html").read_text()
    alias = {
        k: v.removeprefix("/static/")
        for k, v in json.loads(MAP.findall(page)[0])["imports"].items()
    }
    imported, ahead = set[str](), ["app.js"]
    while ahead:
        name = ahead.pop()
        if name in imported:
            continue
        imported.add(name)
        for module in re.findall(
            r'^import [^;]*?from ?"([^"]+)"', (STATIC / name).read_text(), re.M
        ):
            inside = os.path.normpath(Path(name).parent / module)
            ahead.append(alias.get(module, inside))
    fetched = re.findall(r'rel="modulepreload" href="/static/([^"]+)"', page)
    assert {*fetched, "app.js"} >= {name for name in imported if not name.startswith("vendor")}
    assert all((STATIC / name).exists() for name in fetched)
    assert not {"pages/solve.js", "vendor/uplot.js"} & imported


# The command ---------------------------------------------------------------------------------
def test_a_port_that_is_taken_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "--port", port, "--data", str(tmp_path), "--no-browser"]) == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name == "uvicorn":
            raise ModuleNotFoundError(name=name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["serve"]) == 2
    assert "pip install 'subgame[web]'" in capsys.readouterr().err


def test_the_script_of_the_documentation_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "serve.md"
    script = re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    with listening(tmp_path, workers=0) as home:
        exec(compile("\n".join(script), str(page), "exec"), {"HOME": home})
    nodes, state = capsys.readouterr().out.split()
    assert int(nodes) > 10
    assert state == "queued"
