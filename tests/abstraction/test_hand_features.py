"""Features against brute force on small decks, and their distance against SciPy's."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import subgame as sg
from subgame.abstraction.clustering import cluster
from subgame.abstraction.features import (
    equity_distribution,
    features,
    opponent_groups,
    potential,
)
from subgame.abstraction.points import Points, points
from subgame.abstraction.recipe import Recipe
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.isomorphism import count_classes

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
SMALL = Deck("TJQKA", "chs")


@cache
def shown(board: tuple[int, ...], hand: int) -> list[tuple[int, float]]:
    """Every hand that may be met at the showdown, and what is won from it."""
    ranks = rank_hands(board, SMALL)
    return [
        (other, (ranks[hand] > ranks[other]) + (ranks[hand] == ranks[other]) / 2)
        for other in range(SMALL.num_hands)
        if ranks[other] >= 0 and SMALL.disjoint[hand, other]
    ]


def runouts(board: tuple[int, ...], hand: int, showdown: int) -> list[tuple[int, ...]]:
    left = set(range(SMALL.size)) - {*board, *SMALL.hands[hand].tolist()}
    more = itertools.combinations(sorted(left), showdown - len(board))
    return [(*board, *cards) for cards in more]


def some(where: Points, seed: int) -> list[tuple[tuple[int, ...], int, int]]:
    """Boards, hands and their points, chosen by chance."""
    rng = np.random.default_rng(seed)
    free = np.argwhere(where.index >= 0)
    chosen = free[rng.permutation(len(free))[:6]].tolist()
    return [(tuple(where.boards[b].tolist()), h, int(where.index[b, h])) for b, h in chosen]


@pytest.mark.parametrize("device", [None, "torch"])
@pytest.mark.parametrize(("cards", "showdown"), [(0, 3), (3, 3), (3, 4), (3, 5), (4, 5), (5, 5)])
def test_features_are_those_of_brute_force(cards: int, showdown: int, device: str | None) -> None:
    where = points(SMALL, cards)
    groups = opponent_groups(SMALL, showdown, 3)
    result = {
        kind: features(where, Recipe(kind, opponents=3, bins=10), showdown, device=device)
        for kind in ("ehs", "ehs2", "ochs", "strength-ochs", "emd")
    }
    for board, hand, point in some(where, cards + showdown):
        boards = runouts(board, hand, showdown)
        won = [shown(runout, hand) for runout in boards]
        equity = np.array([np.mean([w for _, w in outcomes]) for outcomes in won])
        assert result["ehs"][point, 0] == pytest.approx(equity.mean(), abs=1e-6)
        assert result["ehs2"][point, 0] == pytest.approx((equity**2).mean(), abs=1e-6)
        for g, group in enumerate(groups):
            met = [[w for other, w in outcomes if group[other]] for outcomes in won]
            want = [np.mean(wins) for wins in met if wins]
            assert result["ochs"][point, g] == pytest.approx(np.mean(want) if want else 0.5, 1e-5)
        bins = np.minimum((equity.astype(np.float32) * 10).astype(int), 9)
        share = np.cumsum(np.bincount(bins, minlength=10)) / len(boards) / 10
        assert result["emd"][point] == pytest.approx(share, abs=1e-6)
    assert np.array_equal(result["strength-ochs"][:, :1], result["ehs"])
    assert np.array_equal(result["strength-ochs"][:, 1:], result["ochs"])


@pytest.mark.parametrize("device", [None, "torch"])
@pytest.mark.parametrize(("cards", "showdown"), [(3, 3), (3, 4), (3, 5), (4, 5), (5, 5)])
def test_quantiles_are_those_of_brute_force(cards: int, showdown: int, device: str | None) -> None:
    """Scores on all boards to come in ascending order, eight of them; in 256 bins."""
    where = points(SMALL, cards)
    rows = features(where, Recipe("quantiles"), showdown, device=device)
    for board, hand, point in some(where, cards + showdown):
        boards = runouts(board, hand, showdown)
        won = [[2 * w for _, w in shown(runout, hand)] for runout in boards]
        bins = sorted(int(sum(scores)) * 256 // (2 * len(scores) + 1) for scores in won)
        many = 1 if cards == showdown else 8
        chosen = [bins[(2 * k + 1) * len(bins) // (2 * many)] for k in range(many)]
        assert rows[point].tolist() == chosen


def test_distance_of_distributions_is_the_earth_movers() -> None:
    where = points(SMALL, 3)
    rows = equity_distribution(where, 5, 50).astype(np.float64)
    shares = np.diff(rows * 50, prepend=0, axis=1)
    middle = (np.arange(50) + 0.5) / 50
    for one, two in np.random.default_rng(0).integers(len(where), size=(30, 2)).tolist():
        want = wasserstein_distance(middle, middle, shares[one].clip(0), shares[two].clip(0))
        assert np.abs(rows[one] - rows[two]).sum() == pytest.approx(want, abs=1e-6)


def test_points_are_hands_up_to_suits() -> None:
    for cards in (0, 3, 4):
        where = points(SMALL, cards)
        assert len(where) == count_classes((cards, 2) if cards else (2,), SMALL)
        assert where.starts()[-1] == len(where)
    where, deck = points(SMALL, 4), SMALL
    board, suits = np.array([[1, 5, 9, 12], [9, 1, 12, 5]]), np.array([2, 0, 1])
    moved = board // 3 * 3 + suits[board % 3]
    one, two = where.of(board), where.of(moved)
    assert np.array_equal(one[0], one[1])
    for hand, (low, high) in enumerate(deck.hands.tolist()):
        image = deck.hand_index(*(card // 3 * 3 + suits[card % 3] for card in (low, high)))
        assert one[0, hand] == two[0, image]
    assert len(points(DECK, 0)) == 169


def test_bad_showdowns_are_refused() -> None:
    with pytest.raises(sg.SubgameError, match="cannot follow a board of 4 cards"):
        features(points(SMALL, 4), Recipe("ehs"), 3)
    with pytest.raises(sg.SubgameError, match="no feature called 'och'"):
        features(points(SMALL, 3), Recipe("och"), 3)
    with pytest.raises(sg.SubgameError, match="0, 3, 4 or 5 cards"):
        points(SMALL, 2)


@pytest.mark.parametrize("device", [None, "torch"])
@pytest.mark.parametrize("showdown", [4, 5])
def test_potential_is_the_earth_movers_distance_over_buckets_to_come(
    showdown: int, device: str | None
) -> None:
    """Every turn card by hand: its bucket, and the bucket's mean strength."""
    flop, turn = points(SMALL, 3), points(SMALL, 4)
    rows, strength = potential(flop, showdown, 8, device)
    below, value = potential(turn, showdown, 8, device)
    labels = cluster(below, 8, mass=turn.mass, device=device).labels
    middle = np.bincount(labels, turn.mass * value) / np.bincount(labels, turn.mass)
    result = []
    for board, hand, point in some(flop, 3):
        cards = np.array(runouts(board, hand, 4))
        result.append((point, middle[labels[turn.of(cards)[:, hand]]]))
        assert strength[point] == pytest.approx(result[-1][1].mean(), abs=1e-6)
    assert len(np.unique(np.round(middle, 6))) > 4
    for (one, mine), (two, other) in itertools.combinations(result, 2):
        want = wasserstein_distance(mine, other)
        assert np.abs(rows[one] - rows[two]).sum() == pytest.approx(want, abs=1e-5)


def test_potential_at_the_showdown_is_equity() -> None:
    river = points(SMALL, 5)
    result = potential(river, 5, 10)[0]
    assert result.tolist() == equity_distribution(river, 5, 10).tolist()
