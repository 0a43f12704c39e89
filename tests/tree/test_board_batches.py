"""Boards laid out many at a time beside one board at a time, and boards side by side."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.errors import MemoryLimitError
from subgame.games.holdem import endgame, nlfh, nlth
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import card_permutations, hand_permutations
from subgame.tree.ranges import boards as module
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.tree import RangeSide, RangeTree, compile_range_tree

RANGES = ("AA,KK:0.5,QJ,JTs:0.3,76s,AK", "22+,A2s+,KTo+")
SMALL = {
    **GAMES,
    "turn hold'em, three suits": nlth(20, 1, 2, ranks="JQKA", suits="chs"),
    "turn hold'em, two suits": nlth(20, 1, 2, ranks="9TJQKA", suits="hs"),
}
REAL = {
    "turn": endgame("QsJh2h8d", 100, 300, bets="all: a"),
    "turn with ranges": endgame("QsJh2h8d", 100, 300, RANGES, "all: a"),
    "river": endgame("QsJs2s8s3s", 100, 300, bets="all: a"),
    "flop": endgame("7c7d7h", 100, 300, bets="all: a", last="turn"),
    "flop with ranges": endgame("QsJs2s", 100, 300, ("AA,KK,QQ:0.5,AKs", "JJ+,AQ,76s"), "all: a"),
    "flop hold'em": nlfh(),
}


# One board at a time -------------------------------------------------------------------------


def primary(pairs: Any, group: Any, size: int) -> Any:
    """Which of its two cards a hand shares with more hands of its group."""
    table = np.zeros((int(group.max(initial=0)) + 1, size), dtype=np.int64)
    np.add.at(table, (np.repeat(group, 2), pairs.ravel()), 1)
    return (table[group, pairs[:, 1]] > table[group, pairs[:, 0]]).astype(np.int64)


def part(tree: RangeTree, name: str, at: int, size: int) -> Any:
    values = getattr(tree.boards, name)[at : at + size]
    assert len(values) == size
    return values


def check_unit(tree: RangeTree, u: int, kept: list[Any]) -> None:
    """All that `BoardArrays` has of a unit; `kept` are the hands at the root."""
    b, deck, unit = tree.boards, tree.holdem.deck, tree.units[u]
    free = deck.compatible(unit.cards)
    last = unit.street == len(tree.streets) - 1
    ranks = rank_hands(unit.cards, deck) if last else np.zeros(deck.num_hands, np.int16)
    np.testing.assert_array_equal(unit.ranks, ranks)
    levels = np.unique(np.concatenate([ranks[held[free[held]]] for held in kept]))
    assert b.groups[u] == len(levels)
    for p in (0, 1):
        up = 2 * u + p
        held = kept[p][free[kept[p]]]
        group = np.searchsorted(levels, ranks[held])
        pairs, rows = deck.hands[held], np.arange(len(held))
        shared = primary(pairs, group, deck.size)
        card, other = pairs[rows, shared], pairs[rows, 1 - shared]
        order = np.lexsort((other, card, group))
        held, group, card, other = held[order], group[order], card[order], other[order]
        assert b.hands[up] == len(held)
        np.testing.assert_array_equal(unit.hands[p], held)
        assert unit.hands[p].dtype == np.int64
        for name, want in (("hand", held), ("cards", card << module.CARD_BITS | other)):
            np.testing.assert_array_equal(part(tree, name, b.hand_at[up], len(held)), want)
        places = [{hand: h for h, hand in enumerate(unit.hands[q].tolist())} for q in (0, 1)]
        none = padded(len(places[1 - p]))
        same = [places[1 - p].get(hand, none) for hand in held.tolist()]
        np.testing.assert_array_equal(part(tree, "same", b.hand_at[up], len(held)), same)
        above = rows.tolist()
        if unit.parent >= 0:
            upper = tree.units[unit.parent].hands[p].tolist()
            above = [upper.index(hand) for hand in held.tolist()]
        np.testing.assert_array_equal(part(tree, "above", b.hand_at[up], len(held)), above)
        begins = np.flatnonzero(np.diff(card, prepend=-1) | np.diff(group, prepend=-1))
        runs = len(begins) + 1
        cards, starts = np.append(card[begins], 0), np.append(begins, len(held))
        np.testing.assert_array_equal(part(tree, "run_card", b.run_at[up], runs), cards)
        np.testing.assert_array_equal(part(tree, "run_start", b.run_at[up], runs), starts)
        first = np.searchsorted(group[begins], np.arange(len(levels) + 1))
        group_runs = part(tree, "group_run", b.group_at[up], len(levels) + 1)
        np.testing.assert_array_equal(group_runs, first)
        check_orbits(tree, u, p, held, last)


def check_orbits(tree: RangeTree, u: int, p: int, held: Any, last: bool) -> None:
    b, unit, up = tree.boards, tree.units[u], 2 * u + p
    if last or len(unit.symmetries) == 1:
        assert b.orbits[up] == 0
        return
    classes = hand_permutations(tree.holdem.deck)[unit.symmetries][:, held].min(0)
    order = np.argsort(classes, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(classes[order], prepend=-1)), len(order))
    assert b.orbits[up] == len(starts) - 1
    orbit_starts = part(tree, "orbit_start", b.orbit_at[up], len(starts))
    np.testing.assert_array_equal(orbit_starts - orbit_starts[0], starts)
    np.testing.assert_array_equal(part(tree, "orbit_hand", orbit_starts[0], len(order)), order)


def check_children(tree: RangeTree, u: int) -> None:
    """The boards below: one of each kind, with how often it comes."""
    unit, deck = tree.units[u], tree.holdem.deck
    first, end = tree.boards.child_at[u : u + 2].tolist()
    below = tree.units[first:end]
    if unit.street == len(tree.streets) - 1:
        assert below == []
        return
    new = BOARD_CARDS[tree.streets[unit.street + 1].index] - len(unit.cards)
    images = card_permutations(deck)[unit.symmetries]
    kinds: dict[tuple[int, ...], int] = {}
    free = [card for card in range(deck.size) if card not in unit.cards]
    for deal in itertools.combinations(free, new):
        kind = min(tuple(sorted(image[list(deal)].tolist())) for image in images)
        kinds[kind] = kinds.get(kind, 0) + 1
    chance = 1 / math.comb(len(free) - 4, new)
    assert [child.cards for child in below] == [unit.cards + deal for deal in sorted(kinds)]
    assert [child.weight for child in below] == [kinds[deal] * chance for deal in sorted(kinds)]
    for child in below:
        deal = child.cards[len(unit.cards) :]
        stay = [sorted(image[list(deal)].tolist()) == list(deal) for image in images]
        np.testing.assert_array_equal(child.symmetries, unit.symmetries[stay])
        assert (child.parent, child.street) == (u, unit.street + 1)


def check_places(tree: RangeTree) -> None:
    """Where everything starts: one unit after another, nothing left out."""
    b = tree.boards
    assert [unit.street for unit in tree.units] == b.street.tolist()
    assert [unit.weight for unit in tree.units] == b.weight.tolist()
    hands, groups = b.hands.tolist(), np.repeat(b.groups, 2).tolist()
    np.testing.assert_array_equal(b.hand_at, np.cumsum([0, *hands])[:-1])
    np.testing.assert_array_equal(b.group_at, np.cumsum([0, *(n + 1 for n in groups)])[:-1])
    assert sum(hands) == len(b.hand) == len(b.cards) == len(b.above) == len(b.same)
    assert len(b.group_run) == sum(groups) + len(groups)
    assert len(b.run_card) == len(b.run_start)
    lines = np.append(b.orbit_at, len(b.orbit_start))
    some = np.diff(lines) > 0
    np.testing.assert_array_equal(b.orbits[some], np.diff(lines)[some] - 1)
    assert len(b.orbit_hand) == sum(n for n, moved in zip(hands, some, strict=True) if moved)
    for p in (0, 1):
        edges = [street.rows[p] - len(street.roots) for street in tree.streets]
        sizes = [edges[s] * padded(n) for s, n in zip(b.street, hands[p::2], strict=True)]
        np.testing.assert_array_equal(b.store_at[p::2], np.cumsum([0, *sizes])[:-1])
        assert tree.stored(p) == sum(sizes)


def root_hands(game: Holdem) -> list[Any]:
    return [np.flatnonzero(weight > 0) for weight in game.weights()]


def check(tree: RangeTree, kept: list[Any], some: Any = None) -> None:
    check_places(tree)
    for u in range(len(tree.units)) if some is None else some:
        check_unit(tree, u, kept)
        check_children(tree, u)


@pytest.mark.parametrize("batch", [3, 128])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_batches_are_what_one_board_at_a_time_gives(
    name: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = SMALL[name]
    tree = compile_range_tree(game)
    units = len(tree.units)
    some = range(units) if units < 100 else [0, 1, *range(2, units, units // 60), units - 1]
    if batch != module.BATCH:  # where batches are cut changes nothing
        monkeypatch.setattr(module, "BATCH", batch)
        assert compile_range_tree(game).digest == tree.digest
    else:
        check(tree, root_hands(game), some)


@pytest.mark.parametrize("name", sorted(REAL))
def test_real_boards_are_what_one_board_at_a_time_gives(name: str) -> None:
    tree = compile_range_tree(REAL[name])
    rng = np.random.default_rng(1)
    some = {0, 1, len(tree.units) - 1, *rng.integers(len(tree.units), size=12).tolist()}
    check(tree, root_hands(REAL[name]), sorted(some & set(range(len(tree.units)))))


DIGESTS = {
    "flop": "69a31bd4a3fa131a",
    "river": "4113de371843efe8",
    "suits": "3d17f036c09d28a5",
    "turn": "391967e0fb5b4186",
    "turn hold'em, whole": "cbead3ef0711f14f",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if "whole" in name else ()) for name in DIGESTS],
)
def test_trees_are_still_those_that_strategies_were_saved_for(name: str) -> None:
    bets = "preflop: 1x / cap 1; flop: 1x / cap 1; turn: 1x / cap 1"
    assert compile_range_tree(GAMES.get(name, nlth(bets=bets))).digest == DIGESTS[name]


def test_units_are_a_sequence() -> None:
    units = compile_range_tree(GAMES["flop"]).units
    assert units[-1].cards == units[len(units) - 1].cards == list(units)[-1].cards
    assert [unit.number for unit in units[2:5]] == [2, 3, 4]
    with pytest.raises(IndexError):
        units[len(units)]


def test_progress_and_the_memory_limit() -> None:
    seen: list[int] = []
    game = SMALL["turn hold'em, two suits"]
    tree = compile_range_tree(game, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == len(tree.units)
    needed = 8 * sum(tree.stored(p) for p in (0, 1))
    compile_range_tree(game, memory_limit=needed)
    with pytest.raises(MemoryLimitError, match="over the limit of"):
        compile_range_tree(game, memory_limit=needed - 1)


# Boards side by side -------------------------------------------------------------------------

RIVERS = [(43, 38, 2, 25, 4), (51, 47, 43, 39, 35), (0, 5, 10, 15, 16)]
TURNS = [(43, 38, 2, 25), (51, 47, 43, 39)]


def alone(game: Holdem, cards: tuple[int, ...]) -> RangeTree:
    """The tree of one of the boards, no suits exchanged."""
    one = endgame(cards, 100, 300, bets=game.bets)
    vars(one)["symmetries"] = np.zeros(1, dtype=np.int64)
    return compile_range_tree(one)


@pytest.mark.parametrize("boards", [RIVERS, TURNS], ids=["river", "turn"])
def test_boards_stand_side_by_side(boards: list[tuple[int, ...]]) -> None:
    game = endgame(boards[0], 100, 300, RANGES, "all: 1x a")
    tree = compile_range_tree(game, boards=boards)
    assert [unit.cards for unit in tree.units[: len(boards)]] == boards
    assert all(
        (unit.parent, unit.weight, unit.symmetries.tolist()) == (-1, 1.0, [0])
        for unit in tree.units[: len(boards)]
    )
    check(tree, [np.arange(1326)] * 2, range(0, len(tree.units), 7))
    b = tree.boards
    assert b.child_at[0] == len(boards)
    assert not b.orbits.any()
    for k, cards in enumerate(boards):
        one = alone(game, cards)
        below = list(range(b.child_at[k], b.child_at[k + 1]))
        for mine, theirs in zip([k, *below], range(len(one.units)), strict=True):
            for p in (0, 1):
                np.testing.assert_array_equal(tree.units[mine].hands[p], one.units[theirs].hands[p])
            assert tree.units[mine].cards == one.units[theirs].cards
            assert tree.units[mine].weight == one.units[theirs].weight
        assert tree.deals == one.deals
    for p in (0, 1):
        side = tree.players[p]
        assert isinstance(side, RangeSide)
        assert side.reach.tolist() == [1.0] * len(side.slots) == [1.0] * b.hands[p]
        assert side.names[0] == alone(game, boards[0]).players[p].names[0]


def test_boards_side_by_side_are_checked() -> None:
    game = endgame(RIVERS[0], 100, 300, bets="all: a")
    with pytest.raises(sg.SubgameError, match="On the river the board has 5 cards"):
        compile_range_tree(game, boards=TURNS)
    with pytest.raises(sg.SubgameError, match="one or more"):
        compile_range_tree(game, boards=[])
    with pytest.raises(sg.SubgameError, match="On the river the board has 5 cards"):
        compile_range_tree(game, boards=[RIVERS[0], TURNS[0]])
    with pytest.raises(sg.SubgameError, match="twice"):
        compile_range_tree(game, boards=[(1, 1, 2, 3, 4)])
    with pytest.raises(MemoryLimitError):
        compile_range_tree(game, boards=RIVERS, memory_limit=1000)


def test_a_street_has_any_roots() -> None:
    """As many ways into the first street as are given, each with its own betting below."""
    game = endgame(TURNS[0], 100, 300, bets="all: 1x a")
    start = game.start()
    after = [start.child(action) for action in game.actions(start)]
    tree = compile_range_tree(game, roots=after)
    assert tree.streets[0].roots == after
    whole = compile_range_tree(game)
    assert tree.streets[0].rows[1] - len(after) == whole.streets[0].rows[1] - 1
    assert len(tree.streets[0].endings) == len(whole.streets[0].endings)
    np.testing.assert_array_equal(tree.boards.hand, whole.boards.hand)
    beyond = next(state for state in whole.streets[1].roots if not state.is_over)
    with pytest.raises(sg.SubgameError, match="same street"):
        compile_range_tree(game, roots=[start, beyond])
    with pytest.raises(sg.SubgameError, match="On the river the board has 5 cards"):
        compile_range_tree(game, roots=[beyond])
    assert len(compile_range_tree(game, roots=[beyond], boards=RIVERS).units) == len(RIVERS)
