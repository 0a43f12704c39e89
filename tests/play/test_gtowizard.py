"""GTO Wizard's benchmark, against a local stand-in that follows the published protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slumbot_stand_in import StandIn
from subgame.errors import SubgameError
from subgame.games.holdem import Holdem, hunl
from subgame.play import Always, Uniform
from subgame.play.protocols import gtowizard
from subgame.play.protocols.gtowizard import Benchmark, play_benchmark
from subgame.tree.log import read_whole

pytest.importorskip("pokerkit")


class WizardStandIn(StandIn):
    """It is not GTO Wizard: rules and chips are PokerKit's, and it plays at random."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.requests.append((path, body))
        if len(self.requests) == self.busy:
            return 503, {"detail": "busy"}
        if path == "/hands":
            assert body == {"game_name": "HUNL 200BB"}
            self._deal()
        elif path == f"/hands/{self.hands}/act":
            self._act(body["action"] + str(body.get("amount", "")))
        else:
            return 404, {"detail": path}
        return 200, self._state()

    busy = 0

    def _state(self) -> dict[str, Any]:
        response = self._told()
        over, pieces, text = "winnings" in response, [], response["action"]
        while text:
            size = 1 + len(text[1:]) - len(text[1:].lstrip("0123456789"))
            pieces.append("_" if text[0] == "/" else text[:size])
            text = text[size:]
        shown = over and not self.line.rstrip("/").endswith("f")
        hero = {"name": "hero", "hole_cards": "".join(response["hole_cards"])}
        bot = {"name": "GTO Wizard AI", "hole_cards": None}
        if shown:
            bot["hole_cards"] = "".join(response["bot_hole_cards"])
        return {
            "hand_id": self.hands,
            "game": {"game_name": "HUNL 200BB", "starting_stack": 20000, "blinds": [100, 50]},
            "game_state": {
                "board_cards": "".join(response["board"]),
                "is_hand_over": over,
                "players": [bot, hero],
                "legal_actions": [],
                "action_history": pieces,
                "winnings": response.get("winnings"),
                "aivat_score": response["winnings"] / 10 if over else None,
            },
        }


@pytest.fixture(scope="module")
def game() -> Holdem:
    return hunl()


def test_hands_against_the_stand_in(game: Holdem, tmp_path: Path) -> None:
    log = tmp_path / "benchmark.jsonl"
    with WizardStandIn() as there:
        api = Benchmark(there.url, "a key", pause=0)
        play_benchmark(Uniform(), game, 12, api, log=log)
        there.busy = len(there.requests) + 2  # once it is busy, and asked again
        scores = play_benchmark(Uniform(), game, 30, api, log=log)
    assert scores.won == there.results
    assert scores.aivat == pytest.approx([won / 10 for won in there.results])
    plain, less = scores.estimates()
    assert less is not None
    assert less.mean == pytest.approx(plain.mean / 10)
    kinds = {body["action"] for path, body in there.requests if path.endswith("act")}
    assert kinds == {"b", "c", "f", "k"}
    assert {record["seat"] for record in read_whole(log, gtowizard.HANDS)[1]} == {0, 1}


def test_what_goes_wrong(game: Holdem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(gtowizard.KEY, raising=False)
    with pytest.raises(SubgameError, match="needs a key: set GTOW_API_KEY"):
        Benchmark()
    with WizardStandIn() as there:
        gone = Benchmark(there.url, "a key", pause=0)
        bad = Benchmark(f"{there.url}/api", "a key", pause=0)
        with pytest.raises(SubgameError, match="the status 404"):
            play_benchmark(Always("call"), game, 1, bad)
        with pytest.raises(SubgameError, match="stacks of 20,000"):
            play_benchmark(Always("call"), hunl(stack=1000), 1, gone)
        monkeypatch.setattr(there, "_state", lambda: {"hand_id": 1})
        with pytest.raises(SubgameError, match="is not one of GTO Wizard's benchmark"):
            play_benchmark(Always("call"), game, 1, gone)
    with pytest.raises(SubgameError, match="cannot be reached"):
        play_benchmark(Always("call"), game, 1, gone)
