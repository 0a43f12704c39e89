"""Strangers, and a gauntlet of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from subgame.errors import SubgameError
from subgame.games import load
from subgame.games.holdem import hunl
from subgame.play import gauntlet as played
from subgame.play import scoring
from subgame.play.agent import Agent, Always, Event, Watcher
from subgame.play.aivat import CheckDown
from subgame.play.contests import Series, Workers
from subgame.play.gauntlet import (
    DEALS,
    ByBlueprint,
    check_opponents,
    gauntlet,
    head,
    scaled,
    stranger,
)
from subgame.play.named import AgentOptions
from subgame.play.range_match import RangeMatch
from subgame.refine.verbs.cut import start_of


@pytest.fixture(autouse=True)
def checked_down(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (played, scoring):
        monkeypatch.setattr(module, "values_of", lambda game, agent, blueprint=None: CheckDown())


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


SMALL = hunl(2000, ranks="9TJQKA", suits="cd")


def series(path: Path, seed: int = 0) -> Series:
    return Series(path, head(SMALL, "call", seed, AgentOptions()))


@pytest.mark.parametrize("name", ["limp", "sizes:0.6", "overbet"])
def test_strangers_know_their_strategy(name: str) -> None:
    """What they do with a hand is drawn from what they say they do."""
    game = load("hunl")
    agent, legal = stranger(game, name), start_of(game).actions
    assert agent is not None
    hand, often = "AsAh |  | ", dict[str, int]()
    for seed in range(300):
        agent.begin(1, seed)
        action = agent.act(hand, legal)
        often[action] = often.get(action, 0) + 1
    agent.begin(1, 0)
    policy = agent.policy([hand], legal)
    assert policy is not None
    assert len(set(policy.actions)) == len(policy.actions)
    shares = dict(zip(policy.actions, policy.probabilities[0].tolist(), strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert all(abs(often.get(action, 0) / 300 - share) < 0.15 for action, share in shares.items())
    assert all(shares.get(action, 0.0) > 0 for action in often)


def test_a_changed_bet_is_followed_as_the_blueprints_own() -> None:
    """After a resized bet, and after a call in place of a raise, the betting goes on for both."""
    game = load("hunl")
    small, limper = stranger(game, "sizes:0.6"), stranger(game, "limp")
    assert isinstance(small, ByBlueprint)
    assert isinstance(limper, ByBlueprint)
    for agent, own, abstract in ((small, "r220", "r300"), (limper, "c", "c")):
        agent.begin(1, 0)
        agent.observe(Event(1, own))
        agent.observe(Event(0, "c"))
        assert agent.real.history[0] == own
        assert agent.abstract.history[0] == abstract


def test_a_gauntlet_goes_on_from_its_log(tmp_path: Path) -> None:
    deals, path = {"call": 2, "shove": 1}, tmp_path / "deals.jsonl"
    with series(path) as log:
        first = gauntlet(SMALL, Always("call"), deals, log=log)
    assert [contest.opponent for contest in first] == ["call", "shove"]
    assert len(path.read_text().splitlines()) == 1 + 3
    with series(path) as log:
        assert gauntlet(SMALL, Always("raise"), deals, log=log) == first  # nobody was asked
    assert first[0].as_dict()["deals"] == 2
    with pytest.raises(SubgameError, match="seed"):
        series(path, seed=1)


def test_deals_are_played_in_turn_and_up_to_a_limit(tmp_path: Path) -> None:
    deals, path = {"call": 3, "shove": 2}, tmp_path / "deals.jsonl"
    whole = gauntlet(SMALL, Always("call"), deals)
    contests = list[str]()
    with ThreadPoolExecutor(1) as executor, series(path) as log:
        again = gauntlet(
            SMALL,
            Always("call"),
            deals,
            log=log,
            by=Workers(executor),
            progress=lambda name, done, count: contests.append(name),
        )
    assert sorted(contests) == ["call", "call", "call", "shove", "shove"]
    assert again == whole
    assert [contest.played for contest in again] == [3, 2]
    # A limit that is over at once: what the log has is reported, and nothing else.
    with series(path) as log:
        more = gauntlet(SMALL, Always("call"), {"call": 9}, log=log, by=Workers(more=lambda: False))
    assert more[0].as_dict() | {"deals": 3} == again[0].as_dict()
    assert more[0].deals == 9


class Outside(Watcher, Always):
    """A caller whose strategy nobody knows."""

    def watch(self, number: int, state: object) -> None:
        pass

    def policy(self, infosets: object, legal: object) -> None:  # type: ignore[override]
        raise AssertionError("Nobody outside is asked for a strategy.")


def test_both_estimates_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """By both players' ranges, and by the agent's own against an opponent from outside."""

    def known(game: object, agent: object, name: str, options: object) -> Agent:
        return Always(name)

    def outside(game: object, agent: object, name: str, options: object) -> Agent:
        return Outside(name)

    results = []
    for make in (known, outside):
        monkeypatch.setattr(played, "opponent", make)
        played._table.cache_clear()
        results.append(gauntlet(SMALL, Always("raise"), {"call": 60})[0].aivat)
    exact, other = results
    assert exact.interval95 < other.interval95
    assert abs(exact.mean - other.mean) < 2 * (exact.interval95 + other.interval95)


def test_a_deal_is_one_of_a_range_match() -> None:
    match = RangeMatch(SMALL, (Always("raise"), Always("call")), CheckDown(), seed=3)
    mean = sum(match.pair(number).aivat for number in range(4)) / 4
    won = gauntlet(SMALL, Always("raise"), {"call": 4}, seed=3)[0]
    assert won.aivat.mean == pytest.approx(mean)


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
