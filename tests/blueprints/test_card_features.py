"""Buckets from centroids: scores and quantiles by brute force, one library against the other."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from subgame.abstraction.boards import BoardIndex
from subgame.abstraction.card_buckets import CardBuckets, Lossless
from subgame.abstraction.recipe import Recipe
from subgame.abstraction.strength_tables import QUARTERS, Tables, places
from subgame.engines.numba import strengths
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.evaluate import equities, rank_hands
from subgame.games.holdem.isomorphism import canonicalise

SMALL = Deck("9TJQKA", "cd")


@pytest.fixture(scope="module")
def cards() -> CardBuckets:
    return CardBuckets.fit(SMALL, (None, 6, 7, 8), Recipe("quantiles", seed=1))


def test_every_board_finds_its_canonical_form() -> None:
    index = BoardIndex.of(DECK, 3)
    boards = np.random.default_rng(1).permuted(np.tile(np.arange(52), (50, 1)), axis=1)[:, :3]
    row, images = index.rows(boards)
    form, _ = canonicalise(boards, (3,), DECK)
    assert (index.boards[row] == form).all()
    ranks = rank_hands(boards), rank_hands(form)
    assert (ranks[0] == np.take_along_axis(ranks[1], images, axis=1)).all()
    assert index.weight.sum() == 22100


def test_scores_are_equities() -> None:
    boards = BoardIndex.of(SMALL, 5).boards[::40]
    result = np.stack([Tables.of(SMALL, 5, None).one(board) for board in boards])
    won, met = equities(boards, SMALL, np.ones((1, SMALL.num_hands)))
    free = met[..., 0] > 0
    assert (result[free] == np.rint(2 * won[..., 0][free])).all()
    assert (result[~free] == -1).all()


def test_quantiles_are_those_of_all_boards_to_come(cards: CardBuckets) -> None:
    board = SMALL.parse("9c Jd Qc")
    maker = Tables.of(SMALL, 5, None)
    result = maker.one(board)
    hand = SMALL.parse_hand("AcKd")
    left = set(range(SMALL.size)) - {*board, *SMALL.parse("AcKd")}
    bins = sorted(
        int(maker.one((*board, *more))[hand]) * 256 // (maker.most + 1)
        for more in itertools.combinations(sorted(left), 2)
    )
    assert result[hand].tolist() == [bins[at] for at in places(SMALL, 3, 5)]
    centres = cards.centres[0] / QUARTERS
    distance = ((result[hand] - centres) ** 2).sum(1)
    assert cards.of(board)[hand] == distance.argmin()
    assert (cards.of(board) < 0).sum() == SMALL.num_hands - SMALL.compatible(board).sum()


def test_tables_are_the_same_one_by_one_and_by_either_library(cards: CardBuckets) -> None:
    pytest.importorskip("torch")
    numba, torch = cards.tables(), cards.tables("torch")
    for one, two in zip(numba, torch, strict=True):
        assert (one == np.asarray(two)).all()
    for street, size in ((1, 3), (2, 4), (3, 5)):
        for k in (0, 17, 90):
            board = BoardIndex.of(SMALL, size).boards[k]
            assert (cards.of(board) == numba[street][k]).all()


def test_classes_from_a_file_warn_of_nothing(cards: CardBuckets) -> None:
    """PyTorch warns of arrays that cannot be written to, as those of a memory map."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    thresholds = cards.thresholds.copy()
    thresholds.flags.writeable = False
    maker = Tables.of(SMALL, 5, "torch")
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # else only the first time in a process
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            maker.by_score(thresholds)
    finally:
        torch.set_warn_always(before)


@pytest.mark.parametrize(
    "boards",
    ["2c2d2h2s Ac", "AcAdAh KcKd", "2c5c9cKcAc", "TsJsQsKs 9h", "3d4h5c6s7d", "AsAhAdAc", "2h3h4h"],
)
def test_kernels_rank_hands_as_the_evaluator_does(boards: str) -> None:
    board = np.array([DECK.parse(boards)])
    assert (strengths.ranks(board, DECK) == rank_hands(board)).all()


def test_the_bucket_of_one_hand_is_that_of_all_hands(cards: CardBuckets) -> None:
    one = CardBuckets.restored(SMALL, cards.centres, cards.thresholds)
    stored = cards.with_flops(cards.tables())
    exact = Lossless.of_deck(Deck("9TJQK", "cd"), 2)
    for buckets, board in itertools.product((one, stored, exact), ("", "Jd 9c Tc", "Jd 9c Tc Kc")):
        if buckets is exact and len(board) > 8:
            continue
        there = buckets.deck.parse(board)
        free = np.flatnonzero(buckets.deck.compatible(there)).tolist()
        alone = [buckets.of_hand(there, hand) for hand in free]
        assert alone == buckets.of(there)[free].tolist()
    river = SMALL.parse("Jd 9c Tc Kc Kd")
    free = np.flatnonzero(SMALL.compatible(river)).tolist()
    assert [one.of_hand(river, hand) for hand in free] == cards.of(river)[free].tolist()


def test_suit_symmetry_keeps_the_bucket(cards: CardBuckets) -> None:
    one, two = SMALL.parse("9c Tc Kd Ac"), SMALL.parse("9d Td Kc Ad")
    swapped = [SMALL.hand_index(low ^ 1, high ^ 1) for low, high in SMALL.hands]
    assert (cards.of(one) == cards.of(two)[swapped]).all()


def test_the_classes_of_the_last_street_have_about_the_same_mass(cards: CardBuckets) -> None:
    table, weight = cards.tables()[3], BoardIndex.of(SMALL, 5).weight
    held = table >= 0
    mass = np.bincount(table[held], np.broadcast_to(weight[:, None], table.shape)[held])
    assert len(mass) == len(cards.thresholds) + 1 > 5
    assert mass.max() < 2 * mass.mean()
