"""Slumbot's HTTP API, against a local stand-in that follows the public protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slumbot_stand_in import Change, StandIn
from subgame.errors import SubgameError
from subgame.games.holdem import Holdem, hunl
from subgame.play import Always, Uniform
from subgame.play.protocols.histories import check_hands, read_history
from subgame.play.protocols.slumbot import Slumbot, play_slumbot

pytest.importorskip("pokerkit")


@pytest.fixture(scope="module")
def game() -> Holdem:
    return hunl()


def test_hands_against_the_stand_in(game: Holdem, tmp_path: Path) -> None:
    log = tmp_path / "slumbot.jsonl"
    with StandIn() as there:
        result = play_slumbot(Uniform(), game, 40, Slumbot(there.url), log=log)
    won = [hand.won for hand in read_history(log).hands]
    assert won == there.results
    assert result.hands == 40
    assert result.result.mean == pytest.approx(sum(won) / 40 * 10)  # 1,000 mbb are 100 chips
    assert result.agents == ("uniform", "slumbot")
    assert check_hands(read_history(log)) == 40
    actions = {body["incr"][0] for name, body in there.requests if name == "act"}
    assert actions == {"b", "c", "f", "k"}
    assert "token" not in there.requests[0][1]
    tokens = [body.get("token") for name, body in there.requests if name == "new_hand"]
    assert tokens == [None, *(f"token-{k}" for k in range(1, 40))]


def test_a_run_goes_on_from_its_log(game: Holdem, tmp_path: Path) -> None:
    log = tmp_path / "slumbot.jsonl"
    with StandIn(prefix="/other/api") as there:
        for hands in (3, 5):
            play_slumbot(Always("call"), game, hands, Slumbot(there.url, "other/api/"), log=log)
            assert there.hands == hands
    assert [hand.number for hand in read_history(log).hands] == list(range(5))
    with StandIn() as other, pytest.raises(SubgameError, match="of another match: its url"):
        play_slumbot(Always("call"), game, 6, Slumbot(other.url), log=log)


def with_(**more: Any) -> Change:
    return lambda right, number: right | more if number > 2 else right


BAD: dict[str, tuple[Change, str]] = {
    "not JSON": (lambda right, number: b"<html>", "is not a JSON object"),
    "a list": (lambda right, number: [right], "is not a JSON object"),
    "nothing": (lambda right, number: b"", "is not a JSON object"),
    "a status": (lambda right, number: (500, {"error_msg": "oops"}), "the status 500: .*oops"),
    "an error": (lambda right, number: {"error_msg": "Illegal bet"}, "says: Illegal bet"),
    "no seat": (with_(client_pos=None), "must have a client_pos 0 or 1"),
    "another seat": (with_(client_pos=2), "must have a client_pos 0 or 1"),
    "no action": (with_(action=None), "must have a client_pos 0 or 1 and an action"),
    "an illegal bet": (with_(action="b101"), "between 200 and 20000"),
    "no such action": (with_(action="x"), "not an action of Slumbot"),
    "no cards": (with_(hole_cards=[]), "does not have the cards"),
    "cards that are no list": (with_(hole_cards="AsKs"), "must be a list of cards"),
    "a card twice": (with_(hole_cards=["As", "As"]), "already given"),
    "a board too early": (with_(action="b200", board=["As", "Ks", "Qs"]), "0 cards on the board"),
    "winnings too early": (with_(winnings=100), "winnings are for hands that are over|the cards"),
    "the wrong winnings": (
        lambda right, number: right | {"winnings": 7} if "winnings" in right else right,
        "we win 7 chips",
    ),
    "the wrong type of winnings": (
        lambda right, number: right | {"winnings": "7"} if "winnings" in right else right,
        "winnings are for hands",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_answers_end_the_run_with_its_log(kind: str, game: Holdem, tmp_path: Path) -> None:
    change, says = BAD[kind]
    log = tmp_path / "slumbot.jsonl"
    with StandIn(change=change) as there, pytest.raises(SubgameError, match=says):
        play_slumbot(Always("call"), game, 20, Slumbot(there.url), log=log)
    assert len(read_history(log).hands) < 20  # it can be read


def test_bad_places(game: Holdem) -> None:
    with StandIn() as there:
        gone = there.url
        with pytest.raises(SubgameError, match="the status 404"):
            play_slumbot(Always("call"), game, 1, Slumbot(there.url, "/api"))
    with pytest.raises(SubgameError, match="cannot be reached"):
        play_slumbot(Always("call"), game, 1, Slumbot(gone))
    with pytest.raises(SubgameError, match="must begin with http"):
        play_slumbot(Always("call"), game, 1, Slumbot("file:///etc/passwd"))
    with pytest.raises(SubgameError, match="stacks of 20,000 chips"):
        play_slumbot(Always("call"), hunl(stack=1000), 1, Slumbot(gone))
