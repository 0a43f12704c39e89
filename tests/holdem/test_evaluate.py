"""The evaluator against exact counts, its own definition and an independent library."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.evaluate import rank_cards, rank_hands, tables

FIVE = (1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40)
SEVEN = (23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584)
CLASSES = (1277, 2860, 858, 858, 10, 1277, 156, 156, 10)
"""Different strengths of five cards, from high cards to straight flushes; 2.6 million hands."""
NUM_CLASSES = sum(CLASSES)
RNG = np.random.default_rng(7)


def random_sets(count: int, n: int) -> npt.NDArray[np.int64]:
    return np.array([RNG.choice(52, n, replace=False) for _ in range(count)])


def subsets(n: int, deck: Deck = DECK) -> npt.NDArray[np.int64]:
    every = itertools.combinations(range(deck.size), n)
    return np.fromiter(every, dtype=np.dtype((np.int64, n)), count=math.comb(deck.size, n))


def by_category(ranks: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    per_class = np.bincount(ranks, minlength=NUM_CLASSES)
    return np.add.reduceat(per_class, np.cumsum([0, *CLASSES[:-1]]))


def test_all_five_card_hands() -> None:
    ranks = rank_cards(subsets(5))
    assert len(ranks) == sum(FIVE) == 2598960
    assert tuple(by_category(ranks)) == FIVE
    assert len(np.unique(ranks)) == NUM_CLASSES
    assert (ranks.min(), ranks.max()) == (0, NUM_CLASSES - 1)


def test_table_sizes() -> None:
    plain = tables("standard").plain
    assert len(plain) == 6175 + 18395 + 49205
    assert plain.min() == 0


@pytest.mark.slow
def test_all_seven_card_hands() -> None:
    """133,784,560 hands, by their two lowest cards."""
    five = subsets(5)
    total, seen = np.zeros(9, dtype=np.int64), np.zeros(NUM_CLASSES, dtype=bool)
    for a, b in itertools.combinations(range(47), 2):
        above = five[np.searchsorted(five[:, 0], b, side="right") :]
        low = np.broadcast_to([a, b], (len(above), 2))
        ranks = rank_cards(np.concatenate([low, above], axis=1))
        total += by_category(ranks)
        seen[ranks] = True
    assert tuple(total.tolist()) == SEVEN
    assert total.sum() == 133784560
    assert seen.sum() == 4824


@pytest.mark.parametrize("n", [6, 7])
def test_more_cards_are_the_best_five_of_them(n: int) -> None:
    cards = np.concatenate([random_sets(3000, n), [DECK.parse("As2s3s4s5s6s7s")[:n]]])
    fives = np.array(list(itertools.combinations(range(n), 5)))
    assert (rank_cards(cards) == rank_cards(cards[:, fives]).max(1)).all()


def test_short_deck_with_all_its_sevens() -> None:
    """Every 7-card hand of a 20-card deck, most of them flushes, straights and quads."""
    deck = Deck("TJQKA")
    cards = subsets(7, deck)
    fives = np.array(list(itertools.combinations(range(7), 5)))
    assert (rank_cards(cards, deck) == rank_cards(cards[:, fives], deck).max(1)).all()


def test_the_order_of_some_hands() -> None:
    ladder = [
        "7s5h4d3c2s",
        "AsKhQdJc9s",
        "2s2h5d4c3s",
        "AsAhKdQcJs",
        "2s2h3d3c4s",
        "AsAhKdKcQs",
        "2s2h2d4c3s",
        "5s4h3d2cAs",
        "6s5h4d3c2s",
        "AsKhQdJcTs",
        "7s5s4s3s2s",
        "AsKsQsJs9s",
        "2s2h2d3c3s",
        "AsAhAdKcKs",
        "2s2h2d2c3s",
        "AsAhAdAcKs",
        "5s4s3s2sAs",
        "AsKsQsJsTs",
    ]
    ranks = rank_cards([DECK.parse(hand) for hand in ladder])
    assert (np.diff(ranks) > 0).all()
    # The weakest and the strongest hand of each category; the third straight is the middle one.
    first, last = np.cumsum([0, *CLASSES[:-1]]), np.cumsum(CLASSES) - 1
    assert ranks[[0, 2, 4, 6, 7, 10, 12, 14, 16]].tolist() == first.tolist()
    assert ranks[[1, 3, 5, 9, 11, 13, 15, 17]].tolist() == np.delete(last, 3).tolist()
    tie = rank_cards([DECK.parse("AsAhKdQcJs3c2d"), DECK.parse("AdAcKsQhJh5c4d")])
    assert tie[0] == tie[1]


@pytest.mark.parametrize("text", ["QsJsTs", "QsJsTs2h", "QsJsTs2h2d", "AsAhAdAcKs", "2c3c4c5c6c"])
def test_hands_on_a_board(text: str) -> None:
    board = DECK.parse(text)
    ranks = rank_hands(board)
    free = DECK.compatible(board)
    assert (ranks[~free] == -1).all()
    cards = np.concatenate(
        [DECK.hands[free], np.broadcast_to(board, (free.sum(), len(board)))], axis=1
    )
    assert (ranks[free] == rank_cards(cards)).all()


def test_many_boards_at_once() -> None:
    boards = random_sets(50, 5)
    together = rank_hands(boards)
    assert together.shape == (50, 1326)
    assert (together == np.stack([rank_hands(board.tolist()) for board in boards])).all()
    deck = Deck("TJQKA", "hs")
    assert rank_hands(deck.parse("AhKhQh"), deck).max() == NUM_CLASSES - 1


def test_agreement_with_phevaluator() -> None:
    other = pytest.importorskip("phevaluator")
    for n in (5, 6, 7):
        cards = random_sets(1500, n)
        theirs = [other.evaluate_cards(*[DECK.card_name(c) for c in row]) for row in cards]
        # 1 is their best: theirs + ours is the number of classes, where both number all of them
        assert (np.array(theirs) + rank_cards(cards) == NUM_CLASSES).all()


@pytest.mark.parametrize(
    ("cards", "says"),
    [
        ([1, 2, 3, 4], "integers, 5, 6 or 7 along"),
        ([1, 2, 3, 4, 4], "occurs twice"),
        ([1, 2, 3, 4, 52], "0 to 51"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], "integers"),
    ],
)
def test_errors(cards: list[int], says: str) -> None:
    with pytest.raises(SubgameError, match=says):
        rank_cards(cards)


@pytest.mark.parametrize(
    ("board", "says"), [([1, 2], "3, 4 or 5"), ([1, 2, 2], "twice"), ([1, 2, 99], "0 to 51")]
)
def test_board_errors(board: list[int], says: str) -> None:
    with pytest.raises(SubgameError, match=says):
        rank_hands(board)
