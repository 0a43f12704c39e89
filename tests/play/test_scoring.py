"""A match against anybody is estimated while it is played, and again from its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from slumbot_stand_in import StandIn
from subgame.errors import SubgameError
from subgame.games import load
from subgame.games.base import Game
from subgame.games.holdem import hunl
from subgame.play import Always, Uniform, match
from subgame.play import scoring as scoring_module
from subgame.play.agent import Agent
from subgame.play.aivat import CheckDown, ValueFunction
from subgame.play.log import read_log
from subgame.play.match import Hand
from subgame.play.protocols.client import HANDS
from subgame.play.protocols.histories import estimated, read_history, with_policies, write_history
from subgame.play.protocols.slumbot import Slumbot, play_slumbot
from subgame.play.scoring import Recorder, Scorer, score_recorded
from subgame.tree.log import Log


@pytest.fixture(autouse=True)
def checked_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that need no blueprint."""

    def values(game: Game, agent: Agent, blueprint: str | None = None) -> ValueFunction:
        return CheckDown()

    monkeypatch.setattr(scoring_module, "values_of", values)


def test_a_match_goes_on_from_its_log_and_is_scored_again(tmp_path: Path) -> None:
    log, whole = tmp_path / "match.jsonl", load("leduc-ranks")
    few = match(whole, [Always("call"), Uniform()], hands=4, aivat=True, log=log)
    more = match(whole, [Always("call"), Uniform()], hands=8, aivat=True, log=log)
    again = match(whole, [Always("call"), Uniform()], hands=8, aivat=True)
    assert few.aivat is not None
    assert more.aivat == again.aivat != few.aivat
    hands = list(map(Hand.of, read_log(log)[1]))
    kept = [hand.policies for hand in hands if hand.policies]  # the agent may never have acted
    assert kept
    assert all(ours and not theirs for ours, theirs in kept)
    scored = score_recorded(whole, hands)
    assert [hand.estimate for hand in scored] == pytest.approx([hand.estimate for hand in hands])


def test_slumbot(tmp_path: Path) -> None:
    pytest.importorskip("pokerkit")
    log, game, agent = tmp_path / "slumbot.jsonl", hunl(), Uniform()
    scorer = Scorer(game, 0, agent, CheckDown())
    with StandIn() as there:
        player = Recorder(game, agent)
        result = play_slumbot(player, game, 3, Slumbot(there.url), log=log, scorer=scorer)
    assert result.aivat is not None
    assert result.result.mean == pytest.approx(sum(there.results) / 3 * 10)
    _, less, plain = estimated(read_history(log))
    assert less.mean == pytest.approx(result.aivat.mean)
    assert plain.mean == pytest.approx(result.result.mean)


def test_the_log_of_a_dealer_with_that_of_a_player(tmp_path: Path) -> None:
    """The dealer's log has the cards, the player's the strategy; together they are enough."""
    log, game = tmp_path / "match.jsonl", hunl(2000, ranks="9TJQKA", suits="cd")
    whole = match(game, [Uniform(), Always("call")], hands=3, aivat=True, log=log)
    history = read_history(log)
    write_history(history, tmp_path / "dealer.log")
    with_cards = read_history(tmp_path / "dealer.log", game)
    with pytest.raises(SubgameError, match="no recorded policies"):
        estimated(with_cards)
    kept = Log(tmp_path / "hands.jsonl", HANDS, {"game": "hunl", "agent": "uniform", "seed": 0})
    kept.append(
        {
            "hand": hand.number,
            "seat": hand.seats.index(0),
            "state": "",
            "won": hand.won,
            "policies": [list(policy) for policy in hand.policies[0]],
        }
        for hand in history.hands
    )
    kept.close()
    merged = with_policies(with_cards, tmp_path / "hands.jsonl")
    _, less, plain = estimated(merged)
    assert whole.aivat is not None
    assert less.mean == pytest.approx(whole.aivat.mean)
    assert plain == whole.result


def test_an_agent_without_a_strategy_is_refused() -> None:
    class Secret(Uniform):
        def policy(self, infosets, legal):  # type: ignore[no-untyped-def]
            return None

    with pytest.raises(SubgameError, match="none of these two has one"):
        match("kuhn", [Secret(), Secret()], hands=2, aivat=True)
