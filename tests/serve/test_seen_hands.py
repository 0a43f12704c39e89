"""Hands that people bring along: read without PokerKit, and graded by solved spots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import put, serving
from starlette.testclient import TestClient

import subgame as sg
from subgame.errors import SubgameError
from subgame.play import Always, play_hand
from subgame.play.protocols.histories import History, write_phh
from subgame.play.protocols.seen import read_seen
from subgame.serve import worker
from subgame.serve.api_histories import matched, moves
from subgame.serve.solutions import opened
from subgame.serve.store import Store
from subgame.serve.worker import STRATEGY

SPOT: dict[str, Any] = {
    "board": "QsJh2h8d3c",
    "pot": 100,
    "stacks": [200, 200],
    "oop": "AA,KQ,65s",
    "ip": "KQ,QJ,99",
    "streets": {"river": {"bets": "0.5x", "raises": "a"}},
}
# Three players; the pot on the river is 50, the stacks behind 100: half of the spot's chips.
HAND = """
variant = 'NT'
antes = [0, 0, 0]
blinds_or_straddles = [1, 2, 0]
starting_stacks = [124, 124, 124]
players = ['me', 'folds', 'other']
actions = ['d dh p1 AsAh', 'd dh p2 ????', 'd dh p3 ????', 'p3 cbr 6', 'p1 cbr 20', 'p2 f',
    'p3 cc', 'd db Jh2hQs', 'p1 cbr 4', 'p3 cc', 'd db 8d', 'p1 cc', 'p3 cc', 'd db 3c',
    'p1 cc', 'p3 cbr 27', 'p1 f']
"""


@pytest.mark.parametrize("seed", range(3))
def test_chips_are_those_of_the_rules(seed: int) -> None:
    """Hands of two agents that were written as PHH: pots and stacks on every street."""
    game = sg.holdem.hunl()
    agents = (Always("raise"), Always("call")) if seed else (Always("call"), Always("call"))
    hand = play_hand(game, agents, number=seed)
    (seen,) = read_seen("".join(write_phh(History(game, ("a", "b"), [hand]))))
    assert seen.held == (hand.moves[0][1], hand.moves[1][1])
    betting, street = game.start(), 0
    acts = [act for dealt in seen.streets for act in dealt.acts]
    for player, action in hand.moves[2:]:
        if player < 0:
            continue
        act = acts.pop(0)
        assert act.player == player
        assert act.action == action
        betting = betting.child(action)
        if betting.street > street and not betting.is_over:
            street = betting.street
            assert seen.streets[street].pot == betting.pot
            assert seen.streets[street].behind == betting.behind
    assert not acts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = ", "not a PHH"),
        ("x = 1", "has no hands"),
        (HAND.replace("NT", "PO"), "not no-limit hold'em"),
        (HAND.replace("antes = [0, 0, 0]", "antes = [0]"), "lacks fields"),
        (HAND.replace("'p3 cc', 'd db 3c'", "'p9 cc', 'd db 3c'"), "lacks fields"),
        (HAND.replace("8d", "Qs"), "already given"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(SubgameError, match=words):
        read_seen(text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, str, Path]]:
    """A server with a solved river."""
    import json

    data = tmp_path_factory.mktemp("data")
    store, limit = Store(data), pytest.MonkeyPatch()
    limit.setattr(worker, "limit_memory", lambda most: None)
    how = {"schedule": "dcfr", "storage": "float32", "iterations": 100}
    job = put(store, kind="endgame", spot=SPOT, **how)
    worker.run(data, job)
    limit.undo()
    result = json.loads((data / "jobs" / job / "result.json").read_text())
    store.put("jobs", store.get("jobs", job) | {"state": "done", "result": result})
    store.close()
    with serving(data, workers=0) as client:
        yield client, job, data


def test_each_decision_is_graded_by_the_solution(server: tuple[TestClient, str, Path]) -> None:
    client, job, data = server
    text = f"[1]\n{HAND}\n[2]\n{HAND.replace('3c', '4c')}\n[3]\n{HAND.replace('AsAh', 'AsKh')}"
    listed = client.post("/api/histories", json={"text": text}).json()
    assert (listed["player"], len(listed["hands"])) == ("me", 3)
    graded = client.post("/api/histories/grades", json={"text": text, "player": "me"}).json()
    one, other, outside = graded["hands"]
    assert one["solution"] == job
    assert "No spot that you solved" in other["why"]
    assert "not in the range" in outside["why"]
    solved = opened(data / "jobs" / job / STRATEGY, "1GiB").solved
    (first, second), lost = one["grades"], 0.0
    for row, line, action in ((first, "", "c"), (second, "c r50", "f")):
        here = solved.decision(line)
        values = here.action_ev[here.hand_names.index("AsAh")]
        worst = values.max() - values[here.actions.index(action)]
        assert row["lost"] == pytest.approx(worst, abs=1e-3)  # 27 into 50 counts as half of the pot
        lost += worst
    assert one["lost_blinds"] == pytest.approx(
        lost / 2 / 2, abs=1e-3
    )  # half the chips, a blind is 2
    assert graded["score"]["decisions"] == 2
    assert graded["score"]["lost"] == pytest.approx(lost, abs=1e-3)


def test_a_hand_without_a_spot_is_graded_by_the_agent(
    server: tuple[TestClient, str, Path],
) -> None:
    """Before the flop by the blueprint: aces are not folded, and there is no spot for it."""
    deal = "'d dh p1 AsAh', 'd dh p2 ????', 'p2 cbr 5', 'p1 f'"
    chips = "blinds_or_straddles = [1, 2]\nstarting_stacks = [400, 400]"
    hand = f"variant = 'NT'\n{chips}\nactions = [{deal}]"
    asked = {"text": f"[1]\n{hand}\n[2]\n{HAND}", "player": "player 1"}
    plain = server[0].post("/api/histories/grades", json=asked).json()
    assert [row["lost"] for row in plain["hands"]] == [None, None]
    graded = server[0].post("/api/histories/grades", json=asked | {"agent": True}).json()
    one, other = graded["hands"]
    (row,) = one["grades"]
    assert (row["by"], row["street"], row["action"]) == ("blueprint", "preflop", "fold")
    assert row["options"][0] == {"name": "fold", "ev": 0.0, "share": pytest.approx(0, abs=0.01)}
    assert one["lost_blinds"] > 2  # more than the pot, since aces win more than what is there
    assert not row["right"]
    assert "200 big blinds" in one["solution_name"]
    assert other["why"] == "player 1 did not play it."


def test_hands_fit_by_board_pot_and_stacks() -> None:
    (hand,) = read_seen(HAND)
    notes = {"board": "Qs Jh 2h 8d 3c", "pot": "100", "stacks": "200/200"}
    match = matched(hand, notes)
    assert match is not None
    assert (match.street, match.players, match.scale) == (3, (0, 2), 2.0)
    assert matched(hand, notes | {"stacks": "300/300"}) is None
    assert matched(hand, notes | {"board": "Qs Jh 8d 2h 3c"}) is None
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA", "KQ"), "0.5x 2x / cap 1")
    assert moves(hand, match, game)[-3:] == [(0, "c"), (1, "r50"), (0, "f")]
    far = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA", "KQ"), "2x / cap 1")
    assert moves(hand, match, far)[-1] == (1, "r27")  # what nobody can grade is the last


def test_wrong_requests_are_answered(server: tuple[TestClient, str, Path]) -> None:
    client, _, _ = server
    refused = client.post("/api/histories", json={"text": "x = "})
    assert "not a PHH" in refused.json()["fields"]["text"]
    refused = client.post("/api/histories", json={"text": HAND, "player": "nobody"})
    assert "Nobody in these hands" in refused.json()["message"]
