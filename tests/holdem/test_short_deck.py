"""Short deck (6+ hold'em): ranks, spots and files, beside slow code and PokerKit."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np
import pytest

import subgame as sg
from subgame.engines.numba.strengths import ranks as numba_ranks
from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK, DECKS, SHORT_DECK, Deck, deck_named
from subgame.games.holdem.evaluate import rank_cards, rank_hands
from subgame.games.holdem.ranges import Range, class_names
from subgame.spots.endgame import Endgame, load
from subgame.spots.flops import flops
from subgame.spots.hand_classes import draw, made_hand, made_order
from subgame.tree.ranges.tree import range_tree

RANKS = "6789TJQKA"
FIVE = (122400, 193536, 36288, 16128, 6120, 1728, 480, 288, 24)
"""376,992 sets of five cards: high card, pair, two pair, three of a kind, straight, full house,
flush, four of a kind, straight flush (the published table of 6+ hold'em)."""
CLASSES = (120, 504, 252, 252, 6, 72, 120, 72, 6)
"""Different strengths of five cards in each of these categories."""


def slow(cards: Iterable[str], *, trips: bool = False) -> tuple[int, list[int]]:
    """The category and the ranks that decide ties of five cards such as ``As``."""
    ranks = sorted((RANKS.index(card[0]) for card in cards), reverse=True)
    groups = sorted(Counter(ranks).items(), key=lambda item: (item[1], item[0]), reverse=True)
    shape, order = [many for _, many in groups], [rank for rank, _ in groups]
    flush = len({card[1] for card in cards}) == 1
    low = ranks == [8, 3, 2, 1, 0]  # A 9 8 7 6
    straight = low or (shape == [1] * 5 and ranks[0] - ranks[4] == 4)
    names = [
        (straight and flush, 8),
        (shape == [4, 1], 7),
        (flush, 6),
        (shape == [3, 2], 5),
        (shape == [3, 1, 1], 4 if trips else 3),
        (straight, 3 if trips else 4),
        (shape == [2, 2, 1], 2),
        (shape == [2, 1, 1, 1], 1),
        (True, 0),
    ]
    category = next(number for holds, number in names if holds)
    return category, [3] if low else order


def best(cards: list[str], *, trips: bool = False) -> tuple[int, list[int]]:
    return max(slow(five, trips=trips) for five in itertools.combinations(cards, 5))


def test_all_five_card_hands() -> None:
    cards = np.array(list(itertools.combinations(range(36), 5)))
    ranks, every = rank_cards(cards, SHORT_DECK), np.cumsum((0, *CLASSES))
    assert sum(FIVE) == len(ranks) == 376_992
    result, place = np.unique(ranks, return_inverse=True)
    assert len(result) == sum(CLASSES)
    assert tuple(np.add.reduceat(np.bincount(place), every[:-1])) == FIVE


@pytest.mark.parametrize("name", ["short", "short-trips"])
@pytest.mark.parametrize("count", [5, 6, 7])
def test_the_order_is_that_of_a_slow_evaluator(name: str, count: int) -> None:
    deck, draw_cards = DECKS[name], Random(count)
    sets = [draw_cards.sample(range(36), count) for _ in range(150)]
    sets += [list(deck.parse("As6h7d8c9sTsQs")[:count]), list(deck.parse("AsAhAd9c8s7s6h")[:count])]
    mine = rank_cards(sets, deck)
    theirs = [best([deck.card_name(c) for c in some], trips=name == "short-trips") for some in sets]
    for (one, a), (two, b) in itertools.combinations(zip(mine, theirs, strict=True), 2):
        assert (one > two, one == two) == (a > b, a == b)


def test_the_order_is_that_of_pokerkit() -> None:
    pokerkit = pytest.importorskip("pokerkit")
    rng = Random(1)
    sets = [rng.sample(SHORT_DECK.card_names, 7) for _ in range(100)]
    mine = rank_cards([SHORT_DECK.parse("".join(some)) for some in sets], SHORT_DECK)
    theirs = [
        pokerkit.ShortDeckHoldemHand.from_game("".join(some[:2]), "".join(some[2:]))
        for some in sets
    ]
    for (one, a), (two, b) in itertools.combinations(zip(mine, theirs, strict=True), 2):
        assert (one > two, one == two) == (a > b, a == b)


@pytest.mark.parametrize("name", ["short", "short-trips"])
def test_numba_ranks_as_numpy_does(name: str) -> None:
    deck, rng = DECKS[name], np.random.default_rng(3)
    boards = np.array([rng.choice(36, 5, replace=False) for _ in range(20)])
    assert (numba_ranks(boards, deck) == rank_hands(boards, deck)).all()


def test_decks_and_classes() -> None:
    assert (SHORT_DECK.size, SHORT_DECK.num_hands, len(class_names(SHORT_DECK))) == (36, 630, 81)
    assert Range.parse("random", SHORT_DECK).combos == 630
    with pytest.raises(SubgameError, match="no rank '2'"):
        Range.parse("22+", SHORT_DECK)
    with pytest.raises(SubgameError, match="deck"):
        deck_named("shrt")
    with pytest.raises(SubgameError, match="ranking"):
        Deck(ranking="shrt")
    assert sum(flop.weight for flop in flops("all", SHORT_DECK)) == 7140
    with pytest.raises(SubgameError, match="full deck"):
        flops("25", SHORT_DECK)


def test_equities_on_the_turn() -> None:
    """All rivers with the slow evaluator."""
    game = sg.holdem.endgame("Qs Jh 9h 8d", 10, 20, ("AhKh,TT,99", "QQ,T7s,AJo"), "a", deck="short")
    solved = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=2).strategy)
    deck, board = game.deck, ["Qs", "Jh", "9h", "8d"]
    won, met = 0.0, 0
    for other in np.flatnonzero(game.weights()[1]).tolist():
        theirs = [deck.hand_name(other)[:2], deck.hand_name(other)[2:]]
        left = set(deck.card_names) - {*board, *theirs, "Ah", "Kh"}
        if {"Ah", "Kh"} & {*theirs}:
            continue
        for card in left:
            one, two = best([*board, card, "Ah", "Kh"]), best([*board, card, *theirs])
            won += 1.0 if one > two else 0.5 if one == two else 0.0
            met += 1
    slot = [*solved.tree.players[0].slots].index("AhKh")
    assert solved.hand_equity[0][slot] == pytest.approx(won / met, abs=1e-6)


@pytest.mark.parametrize("deck", ["short", "short-trips"])
def test_a_river_has_the_value_of_the_linear_program(deck: str) -> None:
    """On Q J 9 6 6 with three hearts a flush meets full houses, straights and trips."""
    ranges = ("AhKh,QQ,T8s,A6s", "JJ,Th8h,KTs,QJs,AKo")
    game = sg.holdem.endgame("Qs Jh 9h 6h 6c", 10, 20, ranges, "all: 1x a / cap 2", deck=deck)
    exact = sg.solve_lp(sg.compile(game, explicit=True)).value
    solved = sg.solve(sg.compile(game), "dcfr", iterations=400)
    assert solved.value == pytest.approx(exact, abs=5e-3)
    full = sg.holdem.endgame("Qs Jh 9h 6h 6c", 10, 20, ranges, "all: 1x a / cap 2")
    assert abs(sg.solve(sg.compile(full), "dcfr", iterations=400).value - exact) > 0.02


def test_the_ranking_is_saved_and_named(tmp_path: Path) -> None:
    game = sg.holdem.endgame("Qs Jh 9h 6h 6c", 10, 20, ("AhKh,QQ", "JJ,KTs"), "a", deck="short")
    assert sg.games.load(str(game)) == game
    solved = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=20).strategy)
    solved.save(tmp_path / "spot.safetensors")
    again = Endgame.open(tmp_path / "spot.safetensors")
    assert again.tree.holdem.deck == SHORT_DECK
    assert range_tree(load(tmp_path / "spot.safetensors").tree).holdem == game
    assert again.ev == solved.ev


@pytest.mark.parametrize(
    ("hand", "board", "made", "drawn"),
    [
        ("AsKd", "6h7c8d9c", "straight", "no draw"),
        ("AsKd", "6h7c8d", "ace high", "gutshot"),
        ("7s6d", "9h8cKd", "nothing", "open-ended"),  # an ace or a ten
        ("8s7d", "9hTcKd", "nothing", "open-ended"),
        ("8s7d", "9h6cKd", "nothing", "open-ended"),
        ("AhKh", "6h7h9hAcAd", "flush", "no draw"),
        ("AsAh", "AcKdKs", "full house", "no draw"),
    ],
)
def test_what_players_call_it(hand: str, board: str, made: str, drawn: str) -> None:
    assert made_hand(hand, board, SHORT_DECK) == made
    assert draw(hand, board, SHORT_DECK) == drawn


def test_made_hands_are_ordered_by_the_ranking() -> None:
    assert made_order(DECK)[2:5] == ("full house", "flush", "straight")
    assert made_order(SHORT_DECK)[2:5] == ("flush", "full house", "straight")
    trips = made_order(DECKS["short-trips"])
    assert trips[4:7] == ("set", "trips", "straight")
    assert made_hand("TsTd", "Th9c8d7c6s", DECKS["short-trips"]) == "set"
    assert made_hand("TsTd", "Th9c8d7c6s", SHORT_DECK) == "straight"
