"""The tables of whole blocks: what each says of one hand on one board, found the slow way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdem_games import GAMES
from subgame.engines.torch import layout
from subgame.engines.torch.layout import Hands, Level, Tables, lay_out, pow2
from subgame.games.holdem import endgame, nlfh, nlth
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

RANGES = ("AA,KK:0.5,QJ,JTs:0.3,76s,AK", "22+,A2s+,KTo+")
ALL = {
    **GAMES,
    "turn hold'em": nlth(20, 1, 2, ranks="JQKA", suits="chs"),
    "a real turn": endgame("QsJh2h8d", 100, 300, bets="all: a"),
    "a real turn with ranges": endgame("QsJh2h8d", 100, 300, RANGES, "all: a"),
    "a real river": endgame("QsJs2s8s3s", 100, 300, bets="all: a"),
    "a real flop": endgame("7c7d7h", 100, 300, bets="all: a", last="turn"),
}
TABLES = Tables._fields
RIVERS = [(43, 38, 2, 25, 4), (51, 47, 43, 39, 35), (0, 5, 10, 15, 16)]
TURNS = [(43, 38, 2, 25), (51, 47, 43, 39)]


def expected(tree: RangeTree, levels: list[Level], s: int, k: int, p: int) -> dict[str, Any]:
    """The line of board `k` of street `s` in player `p`'s tables."""
    first = int(np.flatnonzero(tree.boards.street == s)[0])
    unit, deck = tree.units[first + k], tree.holdem.deck
    level, mine, yours = levels[s], levels[s].hands[p], levels[s].hands[1 - p]
    wide, depth = mine.wide, mine.tables.lists.shape[2]
    held, theirs = (unit.hands[q].tolist() for q in (p, 1 - p))
    cards, ranks = deck.hands.tolist(), unit.ranks.tolist()
    upper: list[int] = []
    row, up = k, wide
    if unit.parent >= 0:
        upper = tree.units[unit.parent].hands[p].tolist()
        row, up = unit.parent - (first - levels[s - 1].units), levels[s - 1].hands[p].wide
    out = {name: np.array(getattr(mine.tables, name)[k]) for name in TABLES}
    for name, blank in (
        ("above", -1),
        ("below", -1),
        ("orbit", -1),
        ("cards", 0),
        ("lists", wide),
        ("bounds", 0),
        ("spots", 0),
        ("same", yours.wide),
    ):
        out[name][...] = blank
    for h, hand in enumerate(held):
        out["above"][h] = row * up + (upper.index(hand) if upper else h)
        if upper:
            out["below"][upper.index(hand)] = h
        out["cards"][h] = cards[hand]
        weaker = sum(ranks[other] < ranks[hand] for other in theirs)
        even = sum(ranks[other] <= ranks[hand] for other in theirs)
        out["bounds"][h] = weaker, even
        out["spots"][h] = [
            card * depth + sum(card in cards[other] for other in theirs[:bound])
            for card in cards[hand]
            for bound in (weaker, even)
        ]
        if hand in theirs:
            out["same"][h] = theirs.index(hand)
        if out["orbit"].size:
            images = hand_permutations(deck)[unit.symmetries][:, hand]
            orbit = sorted(held.index(image) for image in set(images.tolist()))
            out["orbit"][h, : len(orbit)] = orbit
    for card in range(deck.size):
        holding = [h for h, hand in enumerate(held) if card in cards[hand]]
        out["lists"][card, 1 : len(holding) + 1] = holding
    assert level.hands[p].held[k] == len(held)
    assert level.hands[p].store[k] == tree.boards.store_at[2 * (first + k) + p]
    return out


def check(tree: RangeTree, most: int) -> list[Level]:
    """Compare some boards of every street with what they should be."""
    levels = lay_out(tree)
    for s, level in enumerate(levels):
        assert level.units == (tree.boards.street == s).sum()
        shared = 1
        for k in np.unique(np.linspace(0, level.units - 1, most).astype(int)).tolist():
            for p in (0, 1):
                want = expected(tree, levels, s, k, p)
                for name in TABLES:
                    got = getattr(level.hands[p].tables, name)[k]
                    np.testing.assert_array_equal(got, want[name], err_msg=f"{name} {s} {k} {p}")
        for u in np.flatnonzero(tree.boards.street == s).tolist():
            for held in tree.units[u].hands:
                counts = np.bincount(tree.holdem.deck.hands[held].ravel(), minlength=1)
                shared = max(shared, int(counts.max()))
        lists = level.hands[0].tables.lists
        assert lists.shape[1:] == (pow2(tree.holdem.deck.size + 1), pow2(shared + 1))
    return levels


@pytest.mark.parametrize("name", sorted(ALL))
def test_tables_say_of_each_hand_what_they_should(name: str) -> None:
    real = name.startswith("a real")
    check(compile_range_tree(ALL[name]), 2 if real else 12)


def test_flops_are_laid_out() -> None:
    tree = compile_range_tree(nlfh(20, 1, 2, "all: a"))
    levels = check(tree, 3)
    assert [level.units for level in levels] == [1, 1755]
    orbit = levels[0].hands[0].tables.orbit
    assert orbit.shape[2] == 16  # twelve hands such as AKo, up to a power of two


@pytest.mark.parametrize("name", ["flop", "suits", "turn hold'em", "a real flop"])
def test_where_batches_are_cut_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = compile_range_tree(ALL[name])
    whole = lay_out(tree)
    monkeypatch.setattr(layout, "BATCH", 5)
    for level, again in zip(whole, lay_out(tree), strict=True):
        for mine, theirs in zip(level.hands, again.hands, strict=True):
            same(mine, theirs)


def same(one: Hands, other: Hands) -> None:
    for name, mine, yours in zip(TABLES, one.tables, other.tables, strict=True):
        np.testing.assert_array_equal(mine, yours, err_msg=name)


def test_players_with_the_same_hands_share_their_tables() -> None:
    for name, alike in (("a real turn", True), ("a real turn with ranges", False)):
        for level in lay_out(compile_range_tree(ALL[name])):
            mine, yours = level.hands
            assert (mine.tables is yours.tables) == alike


@pytest.mark.parametrize("boards", [RIVERS, TURNS], ids=["river", "turn"])
def test_boards_side_by_side_are_laid_out_as_each_alone(boards: list[tuple[int, ...]]) -> None:
    """Tables are those of each board alone; the first street's enter as themselves."""
    game = endgame(boards[0], 100, 300, RANGES, "all: 1x a")
    levels = lay_out(compile_range_tree(game, boards=boards))
    top = levels[0]
    assert top.units == len(boards)
    assert top.weight.tolist() == [1.0] * len(boards)
    h = np.arange(top.hands[0].wide)
    place = np.arange(len(boards))[:, None] * top.hands[0].wide + h
    for hands in top.hands:
        want = np.where(h < hands.held[:, None], place, -1)
        np.testing.assert_array_equal(hands.tables.above, want)
        assert hands.tables.below.shape == (len(boards), 0)
    for k, cards in enumerate(boards):
        one = endgame(cards, 100, 300, bets=game.bets)
        vars(one)["symmetries"] = np.zeros(1, dtype=np.int64)
        units = slice(k, k + 1)
        for level, single in zip(levels, lay_out(compile_range_tree(one)), strict=True):
            for p in (0, 1):
                got, alone = level.hands[p].tables.cut(units), single.hands[p].tables
                for table, want in zip(got[1:], alone[1:], strict=True):
                    np.testing.assert_array_equal(table, want)
                above = got.above - alone.above
                assert set(above[alone.above >= 0]) == {k * top.hands[p].wide}
            np.testing.assert_array_equal(level.weight[units], single.weight)
            if not level.last:
                units = slice(*level.child_at[k : k + 2].tolist())
