"""How often hands are ahead of each other, beside a comparison board by board."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from subgame.engines.numba.strengths import HANDS, TILE, ahead, mean_ahead
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands

DECK = Deck("89TJQKA", "cdh")
"""Its 210 hands fill a number of tiles that is not whole."""
FLOP = tuple(DECK.parse("AcKdQh"))


@pytest.mark.parametrize("cards", [3, 4])
@pytest.mark.parametrize("strong", [1.0, 0.3])
@pytest.mark.parametrize("step", [1, 2])
def test_shares_are_those_of_a_comparison_board_by_board(
    cards: int, strong: float, step: int
) -> None:
    board = (*FLOP, DECK.parse("Jd")[0])[:cards]
    left = [card for card in range(DECK.size) if card not in board]
    total = np.zeros((DECK.num_hands, DECK.num_hands))
    boards = list(combinations(left, 5 - cards))[::step]
    kept = max(1, int(strong * comb(DECK.size - 5, 2)))
    for more in boards:
        ranks = rank_hands((*board, *more), DECK).astype(np.int64)
        free = ranks >= 0
        if strong < 1:
            free &= ranks >= np.sort(ranks[free])[-kept]
        total += np.sign(ranks[:, None] - ranks) * (free[:, None] & free) * DECK.disjoint
    wanted = total * step / comb(len(left) - 4, 5 - cards)
    result = ahead(board, 5, DECK, strong, step)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, wanted, atol=1e-6)
    assert np.abs(wanted).max() > 0.4


def test_the_deck_has_a_tile_that_is_not_full() -> None:
    free = int(DECK.compatible(FLOP).sum())
    assert free % TILE
    assert free % HANDS


def test_it_is_kept() -> None:
    assert mean_ahead(FLOP, 5, DECK) is mean_ahead(FLOP, 5, DECK)
