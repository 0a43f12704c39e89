"""`Strategy.from_weights`: weights of any type, and those that are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import tree_of
from holdem_games import GAMES


@pytest.mark.parametrize(
    "number",
    [np.float64(1e308), np.float32(3e38), np.float16(6e4), np.int8(127), np.uint64(2**63), True],
)
def test_weights_of_any_kind_and_size(number: Any) -> None:
    """Their sums overflow neither their own type nor the tree's."""
    for tree in (tree_of("kuhn"), sg.compile(GAMES["turn"])):
        weights = [np.full(side.num_sequences, number) for side in tree.players]
        made, uniform = sg.Strategy.from_weights(tree, weights), sg.Strategy.uniform(tree)
        assert all(made.probs[p] == pytest.approx(uniform.probs[p]) for p in (0, 1))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_bad_weights_are_refused(bad: float) -> None:
    """Regrets among them, which may be negative."""
    for tree in (tree_of("kuhn"), sg.compile(GAMES["turn"])):
        one, two = (np.ones(side.num_sequences) for side in tree.players)
        two[-1] = bad
        with pytest.raises(sg.SubgameError, match="weights of player 1 must be finite and at leas"):
            sg.Strategy.from_weights(tree, (one, two))
        with pytest.raises(sg.SubgameError, match=r"Player 1 has .* sequences in this tree"):
            sg.Strategy.from_weights(tree, (one, two[1:]))
