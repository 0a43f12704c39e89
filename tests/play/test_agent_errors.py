"""An exception in a user's agent: it names the agent, hand and decision, and the log is kept."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from subgame.games.holdem import hunl
from subgame.play import AgentError, Event, Uniform, match
from subgame.play.agent import Policy
from subgame.play.lbr import LocalBestResponse
from subgame.play.log import read_log
from subgame.play.protocols.follow import Follower


class Failing(Uniform):
    """Divides by zero at its second decision in a hand with this number."""

    name = "mine"

    def __init__(self, hand: int, method: str = "act") -> None:
        self.hand, self.method = hand, method
        self.seen = self.decisions = -1

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.seen, self.decisions = self.seen + 1, 0

    def _fail(self, method: str) -> None:
        if method == self.method and self.seen >= self.hand and self.decisions > 0:
            raise ZeroDivisionError("division by zero")

    def observe(self, event: Event) -> None:
        self._fail("observe")

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        self._fail("act")
        self.decisions += 1
        return legal[-1] if "c" not in legal else "c"


class Wordless(Uniform):
    name = ""

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return None  # type: ignore[return-value]


def test_which_agent_hand_and_decision(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(AgentError) as caught:
        match("leduc", ["call", Failing(7)], hands=20, log=log)
    said = str(caught.value)
    assert said.startswith("The agent 'mine' failed in hand 7, decision 2 (act at '")
    assert "): ZeroDivisionError: division by zero. " in said
    assert said.endswith(f"{log} has the 7 hands that were played.")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert [record["hand"] for record in read_log(log)[1]] == list(range(7))
    again = match("leduc", ["call", Failing(99)], hands=20, log=log)  # a mended agent goes on
    assert again.hands == 20


def test_other_methods_and_answers_that_are_no_actions() -> None:
    with pytest.raises(AgentError, match=r"'mine' failed in hand 0, decision 2 \(observe\): Zero"):
        match("hunl", [Failing(0, "observe"), "call"], hands=1)
    says = "The agent 'Wordless' answered None in hand 0, decision 1; an action is a text"
    with pytest.raises(AgentError, match=says):
        match("hunl", ["call", Wordless()], hands=1)


class Secretive(Uniform):
    name = "mine"

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        raise ZeroDivisionError("division by zero")

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        return legal[-1]


@pytest.mark.parametrize(
    ("game", "agents"),
    [
        (hunl(), [LocalBestResponse(hunl(), Secretive()), Secretive()]),
        ("leduc", [Secretive(), "call"]),
    ],
    ids=["lbr", "aivat"],
)
def test_an_agent_that_cannot_say_its_strategy(game: Any, agents: Any) -> None:
    """Who answers best, or reduces the variance, asks for it; the agent itself is named."""
    with pytest.raises(AgentError, match="'mine' failed when it was asked for its strategy at '"):
        match(game, agents, hands=2, aivat=True)


def test_several_processes_keep_the_hands_before(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with ProcessPoolExecutor(2) as pool, pytest.raises(AgentError) as caught:
        match("leduc", ["call", Failing(40)], hands=1200, log=log, executor=pool)
    assert "The agent 'mine' failed in hand " in str(caught.value)
    assert "division by zero" in str(caught.value.__cause__)
    hands = [record["hand"] for record in read_log(log)[1]]
    assert len(hands) >= 40
    assert f"has the {len(hands):,} hands that were played" in str(caught.value)


def test_a_hand_that_somebody_else_deals() -> None:
    game = hunl()
    follower = Follower(Failing(0), game)
    hand, calls = game.deck.parse("AsKs"), game.start()
    follower.reach(3, 1, hand, (), calls)
    calls = calls.child(follower.act()).child("c")
    board = game.deck.parse("2h3h4h")
    follower.reach(3, 1, hand, board, calls.child("c"))
    with pytest.raises(AgentError, match=r"failed in hand 3, decision 2 \(act at 'AsKs"):
        follower.act()
