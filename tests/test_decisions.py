"""Grades of decisions: exact against what is stored, by hand on a small case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from subgame.bench.decisions import (
    CAUSES,
    RARE,
    Situation,
    asked,
    causes_of,
    graded,
    nearest,
    read,
    run,
    summary,
    table,
    write,
)
from subgame.errors import SubgameError
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.spots import hunl
from subgame.play.agent import Always, Mixed, Policy
from subgame.play.hunl.agent import HoldemAgent

GAME = hunl()
assert isinstance(GAME, Holdem)
ACES, SEVEN_TWO = GAME.deck.parse_hand("AsAh"), GAME.deck.parse_hand("7c2d")
SMALL = Situation(
    name="by hand",
    kind="first to act",
    moves=(),
    seat=1,
    street="preflop",
    pot=150.0,
    actions=("f", "c", "r300"),
    exploitability=0.0,
    frequency=1.0,
    hands=np.array([ACES, SEVEN_TWO]),
    weight=np.array([0.25, 0.75]),
    loss=np.array([[4.0, 1.0, 0.0], [0.0, 0.125, 0.5]]),
)


class Half(Mixed):
    """Raises half of the time, to a size that the solution does not have, and calls otherwise."""

    name = "half"

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        return Policy(("c", "r450"), np.full((len(infosets), 2), 0.5))


def test_a_case_by_hand() -> None:
    # aces: (1 + 0) / 2; seven-two: (0.125 + 0.5) / 2
    row = graded(Half(), GAME, SMALL)
    assert row["losses"].tolist() == [0.5, 0.3125]
    assert row["lost"] == 0.25 * 0.5 + 0.75 * 0.3125
    assert row["worst_hand"] in ("7c2d", "2d7c", "7d2c")
    assert graded(Always("fold"), GAME, SMALL)["losses"].tolist() == [4.0, 0.0]
    assert graded(Always("call"), GAME, SMALL)["lost"] == 0.25 * 1 + 0.75 * 0.125
    # Half of all hands call, half raise, and there is one size.
    assert row["mistakes"] == {
        "fold": 0.0,
        "call": 0.25 * 0.5 + 0.75 * 0.0625,
        "raise": 0.75 * 0.25,
        "size": 0.0,
    }
    assert row["cause"] == "no search"
    sizes = replace(SMALL, actions=("c", "r300", "r900"))
    assert sizes.mistakes(Half().policy(["", ""], ()))["size"] == 0.25 * 0.5 * 1.0
    both = summary([row, graded(Always("fold"), GAME, SMALL)], "all")
    assert both["mean"] == (row["lost"] + 1.0) / 2
    assert both["percentile99"] == 4.0  # an eighth of the hands lose that
    assert both["situations"] == 2


class Follows:
    """A blueprint that always calls."""

    def range_strategy(self, state: Any) -> tuple[tuple[str, ...], Any]:
        return ("c",), np.ones((state.game.deck.num_hands, 1))


def test_the_ranges_of_the_situation() -> None:
    """Who follows them decides nothing on the streets before, so their ranges are whole there."""
    moves = ((1, "c"), (0, "c"), (-1, "2c7d9h"), (0, "c"), (1, "c"), (-1, "Js"), (0, "c"), (1, "c"))
    line = (*moves, (-1, "Qd"), (0, "c"))
    here = replace(
        SMALL,
        moves=line,
        street="river",
        actions=("c", "r200"),
        pot=200.0,
        hands=np.array([ACES]),
        weight=np.ones(1),
        loss=np.zeros((1, 2)),
    )
    decided = {}
    for follow in (True, False):
        agent = HoldemAgent(GAME, Follows(), bets="river: 1x", iterations=2, seconds=None)
        asked(agent, GAME, here, follow=follow)
        decided[follow] = [len(actions) for _, actions in agent.decided.decided]
    assert decided == {True: [len(line)], False: [len(moves) - 1, len(line)]}


def test_a_loss_is_divided_by_cause() -> None:
    """The parts add up to it; with fewer solves more is lost by other causes than ranges."""
    mistakes = {"fold": 0.01, "call": 0.0, "raise": 0.0, "size": 0.02}
    own: dict[str, Any] = {"lost": 0.1}
    for said, cause in (("solved", "other"), ("few iterations",) * 2, ("not solved",) * 2):
        followed: dict[str, Any] = {"lost": 0.03, "mistakes": mistakes, "cause": said}
        causes = causes_of(own, followed)
        assert tuple(causes) == CAUSES
        assert sum(causes.values()) == pytest.approx(0.1)
        assert causes["ranges"] == pytest.approx(0.07)
        assert causes["size"] == 0.02
        assert causes[cause] == pytest.approx(0.01)


def test_a_bet_of_its_own_that_it_does_not_have() -> None:
    line = ((1, "c"), (0, "c"), (-1, "2c7d9h"), (0, "c"), (1, "c"), (-1, "Js"), (0, "c"), (1, "c"))
    for bet, has in (("r200", True), ("r150", False)):
        moves = (*line, (-1, "Qd"), (0, bet), (1, "r600"))
        here = replace(SMALL, moves=moves, seat=0, street="river", actions=("f", "c"))
        one = replace(here, hands=np.array([ACES]), weight=np.ones(1), loss=np.zeros((1, 2)))
        agent = HoldemAgent(GAME, Follows(), bets="river: 1x", iterations=2, seconds=None)
        assert asked(agent, GAME, one, follow=True).comes == has
        assert graded(agent, GAME, one, follow=True)["comes"] == has


class Bets(Mixed):
    """Opens with aces alone, and bets half of the time after the flop."""

    name = "bets"

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        if "/" in infosets[0] or "2c" in infosets[0].split(" | ")[1]:
            return Policy(("c", "r200"), np.full((len(infosets), 2), 0.5))
        aces = np.array([infoset.startswith(("AsAh", "AhAs")) for infoset in infosets], float)
        return Policy(("c", "r300"), np.stack([1 - aces, aces], axis=1))


def test_how_often_an_agent_comes_to_a_situation() -> None:
    """Of 1,326 hands one opens; a bet with half of a range counts on its own street alone."""
    opened = replace(SMALL, moves=((1, "r300"), (0, "r900")))
    assert asked(Bets(), GAME, opened).frequency == pytest.approx(1 / 1326)
    assert not asked(Bets(), GAME, opened).comes
    other = replace(SMALL, moves=((1, "r250"), (0, "r900")))
    assert asked(Bets(), GAME, other).frequency == 0
    flop = ((1, "c"), (0, "c"), (-1, "2c7d9h"), (0, "c"))
    limped = replace(SMALL, moves=(*flop, (1, "r200"), (0, "r600")))
    assert asked(Bets(), GAME, limped).frequency == pytest.approx(0.5)
    # what is not graded does not count in the means
    rows = [graded(Bets(), GAME, one) for one in (opened, limped)]
    both = summary(rows, "all")
    assert (both["situations"], both["graded"]) == (2, 1)
    assert both["mean"] == rows[1]["lost"]
    none = summary(rows[:1], "all")
    assert none["graded"] == 0
    assert none["mean"] is None


def test_the_nearest_bet() -> None:
    menu = ("f", "c", "r200", "r900", "r20000")
    assert [nearest(menu, action) for action in ("c", "r250", "r600", "r9000")] == [1, 2, 3, 4]
    assert nearest(("c", "r100"), "f") == 0  # a fold where one may check
    assert nearest(("f", "c"), "r500") == 1


def test_a_file_keeps_situations(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    write(path, [SMALL], {"runs": []})
    (again,), about = read(path)
    assert about == {"runs": []}
    for name in ("name", "kind", "moves", "seat", "street", "pot", "actions", "frequency"):
        assert getattr(again, name) == getattr(SMALL, name)
    assert again.loss.tolist() == SMALL.loss.tolist()  # these fit into 16 bits
    assert again.weight == pytest.approx(SMALL.weight, rel=1e-2)
    messages: list[str] = []
    result: dict[str, Any] = run(progress=messages.append, agent="call", file=path)
    assert result["groups"][0]["mean"] == pytest.approx(0.34375, rel=1e-2)
    assert len(messages) == 1
    both: dict[str, Any] = run(progress=messages.append, agent="call", file=path, causes=True)
    group = both["groups"][0]
    assert group["followed"] == group["mean"] == result["groups"][0]["mean"]
    assert group["causes"] == {**dict.fromkeys(CAUSES, 0.0), "other": group["mean"]}
    assert "with its ranges" in messages[-1]
    assert len(table(both).columns) == len(table(result).columns) + 2 + len(CAUSES)
    with pytest.raises(SubgameError, match="no situations 'river'"):
        run(only="river", progress=messages.append, agent="call", file=path)
    path.write_bytes(b"PK")
    with pytest.raises(SubgameError, match="has no situations"):
        read(path)


def test_the_situations_of_the_package() -> None:
    """Every line can be played, the menu is what the game allows, and some action is best."""
    situations, about = read()
    assert about["runs"]
    assert len({one.name for one in situations}) == len(situations) >= 50
    for one in situations:
        betting = GAME.start()
        for player, action in one.moves:
            if player >= 0:
                assert betting.player == player
                betting = betting.child(action)
        assert betting.player == one.seat
        assert float(betting.pot) == one.pot
        for action in one.actions:
            betting.child(action)
        assert one.loss.shape == (len(one.hands), len(one.actions))
        assert one.loss.min(1).tolist() == [0.0] * len(one.hands)
        assert one.weight.sum() == pytest.approx(1)
        assert one.exploitability < 0.02
        assert not one.frequency <= RARE


def test_situations_that_are_written_again_stay_as_they_are(tmp_path: Path) -> None:
    situations, about = read()
    path = tmp_path / "again.npz"
    write(path, situations, about)
    again, _ = read(path)
    for one, two in zip(situations, again, strict=True):
        assert np.array_equal(one.weight, two.weight)
        assert np.array_equal(one.loss, two.loss)
