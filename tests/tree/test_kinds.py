"""The two kinds of tree: siblings with one base, which can be copied and sent elsewhere."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import tree_of
from holdem_games import GAMES
from subgame.engines.factory import engine
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeSide, RangeTree, compile_range_tree
from subgame.tree.sequence.tree import SequenceTree, Treeplex, sequence_tree

COPIES: list[Callable[[Any], Any]] = [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]


def compiled(name: str) -> sg.PublicTree:
    return sg.compile(GAMES[name]) if name in GAMES else tree_of(name)


def test_neither_kind_is_the_other() -> None:
    for kind, other in ((SequenceTree, RangeTree), (RangeTree, SequenceTree)):
        assert issubclass(kind, PublicTree)
        assert not issubclass(kind, other)
    assert not issubclass(RangeSide, Treeplex)
    with pytest.raises(TypeError, match="abstract"):
        PublicTree("no game", ())  # type: ignore[abstract, arg-type]


def test_which_kind_a_game_gets() -> None:
    assert isinstance(tree_of("kuhn"), SequenceTree)
    assert isinstance(sg.compile(GAMES["river"], explicit=True), SequenceTree)
    tree = sg.compile(GAMES["river"])
    assert isinstance(tree, RangeTree)
    assert all(isinstance(side, RangeSide) for side in tree.players)
    assert tree.histories is None
    with pytest.raises(sg.SubgameError, match="compiled board by board"):
        sequence_tree(tree)


@pytest.mark.parametrize("name", ["leduc", "turn"])
def test_a_whole_game_has_one_root(name: str) -> None:
    assert compiled(name).num_roots == 1


def test_roots_of_boards_side_by_side() -> None:
    game = GAMES["turn"]
    other = game.deck.parse("QsJhThAs")
    tree = compile_range_tree(game, boards=[game.board, other], roots=[game.start()] * 3)
    assert tree.num_roots == 6


@pytest.mark.parametrize("duplicate", COPIES, ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("name", ["kuhn", "leduc", "turn", "suits", "nlfh"])
def test_copies_of_trees(name: str, duplicate: Callable[[Any], Any]) -> None:
    """Engines stay behind, and are made anew where they are needed."""
    tree = compiled(name)
    strategy = sg.Strategy.random(tree, 1)
    want = sg.exploitability(tree, strategy)
    assert tree.engines
    assert list(tree.players[0].names[:3])
    assert tree.players[0].actions[0]
    other = duplicate(tree)
    assert type(other) is type(tree)
    assert other is not tree
    assert other.engines == {}
    assert other.digest == tree.digest
    assert repr(other) == repr(tree)
    for one, two in zip(tree.players, other.players, strict=True):
        assert list(one.names) == list(two.names)
        assert one.actions[-1] == two.actions[-1]
        np.testing.assert_array_equal(one.reach, two.reach)
    moved = duplicate(strategy)
    assert sg.exploitability(other, moved) == want
    assert engine(other) is not engine(tree)
    assert moved.tree.engines == {}
