"""Canonical boards and hands, counted in two ways: by enumeration and by Burnside's lemma."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from subgame.errors import SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.isomorphism import (
    canonical_boards,
    canonicalise,
    card_permutations,
    count_classes,
    hand_permutations,
)


@pytest.mark.parametrize(
    ("groups", "count"),
    [
        ((), 1),
        ((1,), 13),
        ((2,), 169),
        ((3,), 1755),
        ((4,), 16432),
        ((5,), 134459),
        ((3, 1), 63193),
        ((3, 1, 1), 2554656),
        ((2, 3), 1286792),
        ((3, 2), 1286792),
        ((2, 3, 1), 55190538),
        ((2, 3, 1, 1), 2428287420),
        ((2, 5), 123156254),
    ],
)
def test_known_counts(groups: tuple[int, ...], count: int) -> None:
    assert count_classes(groups) == count


@pytest.mark.parametrize("groups", [(), (2,), (3,), (3, 1)])
def test_enumerated_boards(groups: tuple[int, ...]) -> None:
    boards = canonical_boards(groups)
    assert len(boards.cards) == count_classes(groups)
    left, all_boards = 52, 1
    for size in groups:
        all_boards *= math.comb(left, size)
        left -= size
    assert boards.weights.sum() == all_boards
    assert boards.cards.shape == (len(boards.cards), sum(groups))
    again, permutation = canonicalise(boards.cards, groups)
    assert (again == boards.cards).all()
    assert (permutation == 0).all()
    assert (np.lexsort(boards.cards.T[::-1]) == np.arange(len(again))).all() if groups else True


@pytest.mark.parametrize("deck", [Deck("QKA", "hs"), Deck("QKA", "dhs"), Deck("TA")])
@pytest.mark.parametrize("groups", [(3,), (2, 1), (1, 1, 2)])
def test_small_decks_against_brute_force(deck: Deck, groups: tuple[int, ...]) -> None:
    counts: dict[tuple[int, ...], int] = {}
    ends = list(itertools.accumulate(groups))
    starts = [0, *ends[:-1]]
    for deal in itertools.permutations(range(deck.size), sum(groups)):
        parts = [deal[a:b] for a, b in zip(starts, ends, strict=True)]
        if any(list(part) != sorted(part) for part in parts):
            continue
        forms = [
            tuple(c for part in parts for c in sorted(int(row[card]) for card in part))
            for row in card_permutations(deck)
        ]
        counts[min(forms)] = counts.get(min(forms), 0) + 1
    boards = canonical_boards(groups, deck)
    assert [tuple(row) for row in boards.cards.tolist()] == sorted(counts)
    assert boards.weights.tolist() == [counts[form] for form in sorted(counts)]
    assert count_classes(groups, deck) == len(counts)


@pytest.mark.slow
def test_every_flop_turn_and_river() -> None:
    boards = canonical_boards((3, 1, 1))
    assert len(boards.cards) == count_classes((3, 1, 1)) == 2554656
    assert boards.weights.sum() == 22100 * 49 * 48


def test_preflop_hands() -> None:
    classes, sizes = np.unique(hand_permutations().min(0), return_counts=True)
    assert len(classes) == 169
    assert sorted(sizes.tolist()) == [4] * 78 + [6] * 13 + [12] * 78


def test_strength_is_the_same_under_the_permutation_that_leads_to_the_canonical_board() -> None:
    rng = np.random.default_rng(3)
    boards = np.array([rng.choice(52, 5, replace=False) for _ in range(40)])
    forms, permutations = canonicalise(boards, (3, 1, 1))
    there = rank_hands(forms)
    for board, permutation, ranks in zip(boards, permutations, there, strict=True):
        assert (rank_hands(board) == ranks[hand_permutations()[permutation]]).all()


def test_errors() -> None:
    with pytest.raises(SubgameError, match="take 3 cards"):
        canonicalise([1, 2], (3,))
    with pytest.raises(SubgameError, match="0 to 51"):
        canonicalise([1, 2, 60], (3,))
    with pytest.raises(SubgameError, match="Groups of cards"):
        count_classes((0,))
