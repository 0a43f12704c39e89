"""Maps from hands to buckets: by strength, given by hand, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import subgame as sg
from subgame.abstraction.features import features
from subgame.abstraction.points import points
from subgame.abstraction.recipe import Recipe
from subgame.errors import MemoryLimitError
from subgame.games.holdem.cards import Deck
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")


from bucket_oracle import compiled  # noqa: E402

from gpu_check.buckets import by_strength  # noqa: E402
from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch import storage as keeping  # noqa: E402


# Maps ----------------------------------------------------------------------------------------
def test_buckets_by_strength_are_ordered_and_of_equal_mass() -> None:
    game = sg.holdem.nlfh(2000, 50, 100, "preflop: none; flop: 1x / cap 1", "89TJQKA", "chs")
    tree = compile_range_tree(game)
    grouping, where = by_strength(tree, 10).groupings[1], points(tree.holdem.deck, 3)
    strength = features(where, Recipe("ehs"), 3)[where.of(tree.units.dealt[1].cards), 0]
    held = grouping.of >= 0
    mass = np.bincount(grouping.of[held], np.repeat(grouping.weight, held.sum(1)))
    assert grouping.count == 10
    assert mass.sum() == pytest.approx(held.sum(1) @ grouping.weight)
    assert np.abs(mass / mass.mean() - 1).max() < 0.05
    for low, high in itertools.pairwise(range(10)):
        assert strength[grouping.of == low].max() <= strength[grouping.of == high].min()


def test_bad_maps_are_refused() -> None:
    tree = compiled("nlfh")
    fine = Buckets.lossless(tree).groupings
    good = fine[1].of.astype(np.int64)
    with pytest.raises(sg.SubgameError, match="did you mean 'flop'"):
        Buckets(tree, {"flopp": good})
    with pytest.raises(sg.SubgameError, match="an array of shape"):
        Buckets(tree, {"flop": good[1:]})
    with pytest.raises(sg.SubgameError, match="type float64"):
        Buckets(tree, {"flop": good * 1.0})
    with pytest.raises(sg.SubgameError, match="must count from 0"):
        Buckets(tree, {"flop": good - 1})
    with pytest.raises(sg.SubgameError, match="a suit symmetry exchanges"):
        Buckets(tree, {"preflop": np.arange(good.shape[1])[None]})
    with pytest.raises(sg.SubgameError, match="need a hold'em tree"):
        Buckets(sg.compile(sg.games.load("kuhn")), {})  # type: ignore[arg-type]
    other = Buckets.lossless(compiled("suits"))
    with pytest.raises(sg.SubgameError, match="made for another tree"):
        TorchRangeEngine(tree, "cpu", buckets=other)
    with pytest.raises(sg.SubgameError, match="boards, not for"):
        TorchRangeEngine(tree, "cpu").stage(tree.streets[1:], buckets=other)


def test_merged_hands_have_no_buckets() -> None:
    game = sg.holdem.endgame("QsJhTdKs", 4, 6, bets="all: a / cap 1", deck=Deck("TJQKA", "dhs"))
    one, plain = compile_range_tree(game, merge=True), compile_range_tree(game)
    assert one.merged
    assert not plain.merged
    buckets = Buckets.lossless(plain, ["river"])
    for refused in (
        lambda: Buckets(one, {}),
        lambda: Buckets.lossless(one),
        lambda: TorchRangeEngine(one, "cpu", buckets=buckets),
    ):
        with pytest.raises(sg.SubgameError, match="compile the game with merge="):
            refused()
    TorchRangeEngine(one, "cpu").stage(plain.streets, buckets=buckets)  # which has every hand


def test_an_estimate_knows_of_buckets() -> None:
    """Few buckets save memory on many boards; all of them are tables beside as many numbers."""
    game = sg.holdem.nlfh(bets="preflop: none; flop: 0.5x 1x / cap 2", ranks="89TJQKA", suits="chs")
    tree = compile_range_tree(game)
    few, every = by_strength(tree, 20), Buckets.lossless(tree)
    estimates = [
        TorchRangeEngine(tree, "cpu", scratch=1 << 16, buckets=buckets).estimate().device
        for buckets in (None, few, every)
    ]
    assert estimates[1] < estimates[0] < estimates[2] * 1.5
    with pytest.raises(MemoryLimitError, match="needs about"):
        TorchRangeEngine(tree, "cpu", memory_limit=estimates[1] / 2, buckets=few)
    engine = TorchRangeEngine(tree, "cpu", buckets=few, storage="int16")
    blocks = engine.regrets(0, predictive=True).regret.blocks
    assert blocks[1].values.dtype == torch.float32
    assert keeping.kind_of(blocks[1]) == "float32"
    plain = engine.estimate().device
    for options in ({"predictive": True}, {"alternating": False}):
        assert engine.estimate(**options).device > plain
