"""Strangers, and a gauntlet of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from subgame.errors import SubgameError
from subgame.games import load
from subgame.games.holdem import hunl
from subgame.play import scoring
from subgame.play.agent import Always, Event
from subgame.play.aivat import CheckDown
from subgame.play.gauntlet import DEALS, Workers, check_opponents, gauntlet, scaled, stranger


@pytest.fixture(autouse=True)
def checked_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "values_of", lambda game, agent, blueprint=None: CheckDown())


@pytest.mark.parametrize(
    ("name", "first", "then"),
    [
        ("shove", "r20000", "c"),
        ("min-bet", "r200", "r500"),
        ("overbet", "r500", "r1500"),
        ("sixth", "r200", "r500"),
    ],
)
def test_bettors(name: str, first: str, then: str) -> None:
    """At the start, and facing a raise to 300 (or all-in)."""
    agent = stranger(load("hunl"), name)
    assert agent is not None
    agent.begin(1, 0)
    assert agent.act("AsKs |  | ", ()) == first
    agent.begin(0, 0)
    agent.observe(Event(1, "r20000" if then == "c" else "r300"))
    assert agent.act("AsKs |  | ", ()) == then


def test_those_who_follow_the_blueprint() -> None:
    game = load("hunl")
    limper, small = stranger(game, "limp"), stranger(game, "sizes:0.6")
    assert limper is not None
    assert small is not None
    limper.begin(1, 0)
    assert limper.act("AsAh |  | ", ()) == "c"
    raised = set()
    for seed in range(8):
        small.begin(1, seed)
        raised.add(small.act("AsAh |  | ", ()))
    assert raised <= {"c", "r200", "r220"}  # 0.6 of half the pot and of the pot
    assert "r220" in raised
    assert stranger(game, "nobody") is None
    with pytest.raises(SubgameError, match="plays hold'em, not kuhn"):
        stranger(load("kuhn"), "shove")


def test_a_gauntlet_goes_on_from_its_logs(tmp_path: Path) -> None:
    game = hunl(2000, ranks="9TJQKA", suits="cd")
    deals = {"call": 2, "shove": 1}
    first = gauntlet(game, Always("call"), deals, logs=tmp_path)
    assert [contest.opponent for contest in first] == ["call", "shove"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["call.jsonl", "shove.jsonl"]
    again = gauntlet(game, Always("call"), deals, logs=tmp_path)
    assert [c.result.aivat for c in again] == [c.result.aivat for c in first]
    assert first[0].result.hands == 4
    assert first[0].as_dict()["deals"] == 2


def test_deals_are_played_in_turn_and_up_to_a_limit(tmp_path: Path) -> None:
    game = hunl(2000, ranks="9TJQKA", suits="cd")
    deals = {"call": 3, "shove": 2}
    whole = gauntlet(game, Always("call"), deals)
    played = list[str]()
    with ThreadPoolExecutor(1) as executor:
        again = gauntlet(
            game,
            Always("call"),
            deals,
            logs=tmp_path,
            by=Workers(executor),
            progress=lambda name, done, hands: played.append(name),
        )
    assert sorted(played) == ["call", "call", "call", "shove", "shove"]
    assert [c.result.aivat for c in again] == [c.result.aivat for c in whole]
    assert [c.as_dict()["played"] for c in again] == [3, 2]
    # A limit that is over at once: what the logs have is reported, and nothing else.
    more = gauntlet(game, Always("call"), {"call": 9}, logs=tmp_path, by=Workers(seconds=-1))
    assert more[0].as_dict() | {"deals": 3} == again[0].as_dict()
    assert more[0].deals == 9


def test_names_and_numbers_of_deals() -> None:
    assert check_opponents([]) == tuple(DEALS)
    assert scaled(["blueprint", "call", "other.safetensors"], 0.01) == {
        "blueprint": 20,
        "call": 10,
        "other.safetensors": 10,
    }
    assert all(DEALS[name] == 1000 for name in DEALS if name.startswith("lbr"))
    for name in ("lbr:nothing", "nobody"):
        with pytest.raises(SubgameError):
            check_opponents([name])
