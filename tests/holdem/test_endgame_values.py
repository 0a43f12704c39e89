"""EV and equity of endgames: brute force over pairs of hands, tiny decks, the linear program."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from holdem_refining import spread
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.solve.evaluate import expected_value
from subgame.spots.browse import decision
from subgame.spots.endgame import (
    Endgame,
    equities,
    load,
    meetings,
    memory_needed,
    notes,
    save,
)
from subgame.tree.ranges.tree import RangeTree

SHORT = Deck("TJQKA", "hs")
THREE = Deck("9TJQKA", "chs")
RIVER = sg.holdem.endgame(
    "QsJh2h8d3c", 100, 200, ("66+,A8s+,KQo:0.5,T9s,54s", "QQ-22,ATo+,KJ:0.25"), "river: 0.5x 1x a"
)
TINY = {
    "river": sg.holdem.endgame(
        "QsJhThKsAh", 4, 6, ("*", "AA,KK:0.5,QJ,JTs:0.3"), "all: 1x a", deck=SHORT
    ),
    "turn": sg.holdem.endgame(
        "QsJhThKs", 4, (6, 4), ("*:0.7,AA", "AA,KJ,KTs,QJ:0.5"), "all: a", deck=SHORT
    ),
    "flop": sg.holdem.endgame(
        "Qs Kh As", 6, 4, ("AA,KK:0.5,KQ", "QQ,AcKc,JTs:0.25"), "all: a / cap 1", deck=THREE
    ),
}


def compiled(game: Holdem) -> RangeTree:
    tree = sg.compile(game)
    assert isinstance(tree, RangeTree)
    return tree


def brute_force(game: Holdem) -> tuple[float, dict[str, float], dict[str, float]]:
    """Player 0's equity in all, and each player's of each hand, pair by pair and card by card."""
    deck, (mine, yours) = game.deck, game.weights()
    masks = [int(mask) for mask in deck.hand_masks]
    left = [card for card in range(deck.size) if card not in game.board]
    won, met = np.zeros((2, deck.num_hands)), np.zeros((2, deck.num_hands))
    for rest in itertools.combinations(left, 5 - len(game.board)):
        ranks, dealt = rank_hands((*game.board, *rest), deck), deck.mask(rest)
        for a, b in itertools.product(
            np.flatnonzero(mine).tolist(), np.flatnonzero(yours).tolist()
        ):
            if masks[a] & masks[b] or (masks[a] | masks[b]) & dealt:
                continue
            share = 0.5 if ranks[a] == ranks[b] else float(ranks[a] > ranks[b])
            won[0, a] += yours[b] * share
            won[1, b] += mine[a] * (1 - share)
            met[0, a] += yours[b]
            met[1, b] += mine[a]
    by_hand = [
        {deck.hand_name(h): won[p, h] / met[p, h] for h in np.flatnonzero(met[p]).tolist()}
        for p in (0, 1)
    ]
    return float(mine @ won[0] / (mine @ met[0])), by_hand[0], by_hand[1]


@pytest.mark.parametrize("game", [RIVER, *TINY.values()], ids=["full deck", *TINY])
def test_equity_is_that_of_every_pair_and_every_runout(game: Holdem) -> None:
    tree = compiled(game)
    total, hands = equities(tree)
    want, *by_hand = brute_force(game)
    assert total == pytest.approx((want, 1 - want), abs=1e-12)
    for p in (0, 1):
        result = dict(zip(tree.players[p].slots, hands[p].tolist(), strict=True))
        assert {name: e for name, e in result.items() if not np.isnan(e)} == pytest.approx(
            by_hand[p]
        )


def test_a_flush_draw_has_its_outs() -> None:
    """Against a set: nine spades, two of which pair the board, of the 44 cards left."""
    game = sg.holdem.endgame("Ts7s4h2d", 100, 100, ("AsKs", "TdTc"), "all: none")
    assert equities(compiled(game))[0][0] == pytest.approx(7 / 44)


@pytest.mark.parametrize("name", TINY)
def test_ev_agrees_with_the_linear_program(name: str) -> None:
    game = TINY[name]
    exact = sg.solve_lp(sg.compile(game, explicit=True)).value + game.rules.pot / 2
    solved = Endgame.of(sg.solve(compiled(game), "pdcfr+", iterations=1500).strategy)
    assert solved.pot == game.rules.pot
    assert sum(solved.ev) == pytest.approx(solved.pot, abs=1e-6)
    assert solved.ev[0] == pytest.approx(exact, abs=1e-3)


def test_ev_is_that_of_the_explicit_tree_and_the_mean_of_all_hands() -> None:
    game = TINY["turn"]
    tree = compiled(game)
    strategy = sg.Strategy.random(tree, seed=1)
    solved = Endgame.of(strategy)
    explicit = sg.compile(game, explicit=True)
    value = expected_value(explicit, spread(strategy, explicit))
    assert solved.ev == pytest.approx((2 + value, 2 - value), abs=1e-6)
    for p in (0, 1):
        met = meetings(tree)[p]
        likely = tree.players[p].reach * met
        assert np.nansum(solved.hand_ev[p] * likely) == pytest.approx(solved.ev[p])
        assert likely.sum() == pytest.approx(1)
        assert (np.isnan(solved.hand_ev[p]) == (met == 0)).all()


@pytest.mark.parametrize(("p", "hand"), [(0, "JsTs"), (0, "AsAh"), (1, "KhJs")])
def test_ev_of_a_hand_is_that_of_a_range_of_this_hand_alone(p: int, hand: str) -> None:
    game = TINY["turn"]
    strategy = sg.Strategy.random(compiled(game), seed=1)
    ranges = list(game.ranges)
    ranges[p] = Range.parse(hand, SHORT)
    alone = sg.compile(replace(game, ranges=(ranges[0], ranges[1])), explicit=True)
    value = expected_value(alone, spread(strategy, alone))
    result = Endgame.of(strategy).hands(p)[hand]["ev"]
    assert result == pytest.approx(2 + (value if p == 0 else -value), abs=1e-6)


def test_without_bets_ev_is_equity() -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("66+,AK", "random"), "all: none")
    solved = Endgame.of(sg.Strategy.uniform(compiled(game)))
    assert solved.ev == pytest.approx([100 * share for share in solved.equity])
    np.testing.assert_allclose(solved.hand_ev[0], 100 * solved.hand_equity[0])


def test_a_hand_that_leaves_the_opponent_nothing_has_no_value() -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 10, 10, ("AsKs,7c6c", "AsAd,AsAc"), "river: a")
    solved = Endgame.of(sg.solve(compiled(game), "dcfr", iterations=10).strategy)
    hands = solved.hands(0)
    assert np.isnan(hands["AsKs"]["ev"])
    assert hands["7c6c"]["equity"] == 0
    assert solved.equity == (0, 1)


# Decisions -----------------------------------------------------------------------------------
def test_decisions_are_the_rows_of_the_strategy() -> None:
    tree = compiled(RIVER)
    strategy = sg.Strategy.random(tree, seed=2)
    root, faced = decision(strategy), decision(strategy, "c r50")
    assert (root.player, decision(strategy, "c").player, faced.player) == (0, 1, 0)
    assert root.names == ("check", "bet 50", "bet 100", "all-in 200")
    assert faced.names == ("fold", "call 50", "raise to 150", "all-in 200")
    name = "AhKh | Qs Jh 2h 8d 3c | cr50"
    assert faced.table()["AhKh"] == pytest.approx(strategy[f"player 0: {name}"])
    place = tree.players[0].slots.index("AhKh")
    assert faced.reach[place] == pytest.approx(root.probs[place, 0])
    assert root.frequency.sum() == pytest.approx(1)


def test_how_often_a_line_is_played_counts_both_players_hands() -> None:
    """The chance of check, bet 50, by pairs of hands."""
    game, strategy = RIVER, sg.Strategy.random(compiled(RIVER), seed=3)
    root, reply = decision(strategy), decision(strategy, "c")
    mine, yours = game.weights()
    here = decision(strategy, "c r50")
    tree = here.tree
    first, second = tree.units[0].hands
    pairs = game.deck.disjoint[np.ix_(first, second)] * np.outer(mine[first], yours[second])
    reached = pairs * np.outer(root.probs[:, 0], reply.probs[:, 1])
    np.testing.assert_allclose(here.chance, reached.sum(1) / reached.sum(), atol=1e-12)


# Files, memory -------------------------------------------------------------------------------
def test_a_saved_endgame_brings_its_own_game(tmp_path: Path) -> None:
    result = sg.solve(compiled(RIVER), "dcfr", iterations=5)
    save(result.strategy, tmp_path / "spot.safetensors")
    again = load(tmp_path / "spot.safetensors")
    assert isinstance(again.tree, RangeTree)
    assert again.tree.holdem == RIVER
    assert again.notes["iterations"] == "5"
    assert again.notes.items() >= notes(RIVER).items()
    assert Endgame.of(again).ev == Endgame.of(result.strategy).ev


def test_other_files_and_trees_are_refused(tmp_path: Path) -> None:
    tree = sg.compile(sg.games.load("kuhn"))
    path = tmp_path / "kuhn.safetensors"
    sg.Strategy.uniform(tree).save(path)
    with pytest.raises(sg.SubgameError, match="does not say which endgame"):
        load(path)
    with pytest.raises(sg.SubgameError, match="This needs hold'em"):
        Endgame.of(sg.Strategy.uniform(tree))
    whole = sg.compile(sg.holdem.nlfh(3, 1, 2, "preflop: a; flop: a", "JQKA", "hs"))
    with pytest.raises(sg.SubgameError, match="from the flop on"):
        Endgame.of(sg.Strategy.uniform(whole))


def test_memory_is_three_numbers_per_action_and_hand_or_four() -> None:
    tree = compiled(RIVER)
    numbers = tree.stored(0) + tree.stored(1)
    assert memory_needed(tree, "dcfr") == tree.nbytes + 12 * numbers
    assert memory_needed(tree, "pcfr+") == tree.nbytes + 16 * numbers
