"""Push or fold: exact equities, and the published limits of the Nash chart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cli_helpers import Cli, runner

import preflop_data
import subgame as sg
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.ranges import class_names, class_of
from subgame.spots.classes import preflop
from subgame.spots.pushfold import PushFold, push_fold

NAMES = class_names(DECK)


def equity(one: str, two: str) -> float:
    return float(preflop().equity[NAMES.index(one), NAMES.index(two)])


def test_equities_are_the_known_ones() -> None:
    """Exact figures that every calculator shows."""
    for one, two, want in (
        ("AA", "KK", 0.819461),
        ("AKs", "QQ", 0.460471),
        ("AKo", "22", 0.473457),
    ):
        assert equity(one, two) == pytest.approx(want, abs=2e-3)
    table = preflop()
    np.testing.assert_allclose(table.equity + table.equity.T, 1, atol=1e-12)
    np.testing.assert_allclose(np.diag(table.equity), 0.5, atol=1e-12)
    assert table.pairs.sum() == 1326 * 1225
    # A hand against all others, by both weights.
    aces = table.pairs[0] @ table.equity[0] / table.pairs[0].sum()
    assert aces == pytest.approx(0.852037, abs=1e-6)


def test_the_counts_of_a_few_boards_are_those_of_every_pair() -> None:
    """The kernel that made the file, on two boards, against brute force."""
    boards = np.array([DECK.parse("AsKsQs2d2c"), DECK.parse("9h8h7c6d2s")])
    ranks = rank_hands(boards)
    with_card = np.array([np.flatnonzero((DECK.hands == card).any(1)) for card in range(52)])
    score = np.zeros((169, 169), np.int64)
    won, met = np.zeros((2, 1, 169), np.int64)
    arguments = (ranks, np.argsort(ranks, axis=1), np.array([3, 1]), np.zeros((2, 1), np.int64))
    preflop_data._count(arguments, (class_of(DECK), DECK.hands, with_card), (score, won, met))
    want = np.zeros((169, 169), np.int64)
    for board, times in enumerate((3, 1)):
        better = np.sign(ranks[board][:, None].astype(np.int64) - ranks[board][None, :]) + 1
        free = (ranks[board] >= 0)[:, None] & (ranks[board] >= 0)[None, :] & DECK.disjoint
        np.add.at(want, np.ix_(class_of(DECK), class_of(DECK)), times * better * free)
    np.testing.assert_array_equal(score, want)
    np.testing.assert_array_equal(won[0], want.sum(1))


# The chart -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seat", "hand", "limit"),
    [("push", "T3s", 7.7), ("call", "Q2o", 5.6), ("call", "K7o", 12.4), ("call", "T2s", 4.5)],
)
def test_published_limits(seat: str, hand: str, limit: float) -> None:
    """The highest stack at which a hand is played (HoldemResources' charts of push or fold).

    T3s is played with a mixed strategy from 7.2 big blinds on.
    """
    at, above = (getattr(push_fold(limit + more), seat)[hand] for more in (-0.05, 0.25))
    assert at > 0.1
    assert above < 0.1


def test_nobody_gains_by_another_play() -> None:
    result = push_fold(10)
    assert result.exploitability <= 1e-5
    assert result.push["72o"] == 0
    assert result.push["AA"] == result.call["AA"] == 1
    for often, gain in ((result.push, result.push_ev), (result.call, result.call_ev)):
        for name in often:
            if often[name] > 0.999:
                assert gain[name] > -0.01, name
            elif often[name] < 0.001:
                assert gain[name] < 0.01, name
    with pytest.raises(sg.SubgameError, match="stack must be a number of big blinds above 0"):
        push_fold(0)
    with pytest.raises(sg.SubgameError, match="small_blind"):
        push_fold(5, small_blind=2)


def best_responses(result: PushFold) -> tuple[float, float]:
    """What each player wins by the best answer, over all pairs of classes."""
    table, stack = preflop(), result.stack
    total = table.pairs.sum()
    push, call = np.zeros(169), np.zeros(169)
    for (a, one), (b, two) in itertools.product(enumerate(NAMES), enumerate(NAMES)):
        share, won = table.pairs[a, b] / total, stack * (2 * table.equity[a, b] - 1)
        push[a] += share * (result.call[two] * won + (1 - result.call[two]) + 0.5)
        call[b] += share * result.push[one] * (1 - won)
    first = np.maximum(push, 0).sum() - 0.5
    pushed = sum(table.pairs[a].sum() / total * result.push[one] for a, one in enumerate(NAMES))
    return first, np.maximum(call, 0).sum() - pushed + 0.5 * (1 - pushed)


def test_exploitability_is_that_of_best_responses() -> None:
    result = push_fold(4, target=1e-2)
    assert sum(best_responses(result)) / 2 == pytest.approx(result.exploitability, abs=1e-9)
    assert result.exploitability > 1e-6


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


def test_the_command(cli: Cli) -> None:
    text = cli("pushfold", "--stack", "10")
    assert text.code == 0, text.err
    assert "Small blind: push" in text.out
    assert "AA  ++" in text.out
    assert cli("pushfold", "--json").json()["push"]["AA"] == 1
    lines = cli("pushfold", "--csv").out.splitlines()
    assert lines[0] == "class,push,push_ev,call,call_ev"
    assert len(lines) == 170
