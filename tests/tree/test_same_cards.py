"""Cards that are the same: merged trees beside trees in which every hand is for itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.engines.factory import engine
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.isomorphism import same_cards
from subgame.solve.cfr import Cfr
from subgame.solve.evaluate import expected_value
from subgame.solve.schedule import parse
from subgame.spots.endgame import load, save
from subgame.tree.ranges.merging import Unmerged, unmerged
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

SHORT = Deck("789TJQ", "cdhs")
SPOTS: dict[str, Holdem] = {
    "river": sg.holdem.endgame("QsJh2h8d3c", 100, 200, bets="all: 1x a"),
    "river with a flush": sg.holdem.endgame("QsJh2h8h3c", 100, 200, bets="all: 1x a"),
    "turn": sg.holdem.endgame("QsJh2h8d", 100, 300, bets="all: a"),
    "turn, paired": sg.holdem.endgame("QsQh2h2s", 100, 300, bets="all: a"),
    "ranges": sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("22+,AK,QJ:0.5", "TT+,A2+"), "all: a"),
    "short deck": sg.holdem.endgame("QsJh7h8d", 20, 60, bets="all: 1x", deck=SHORT),
    "short deck, flop": sg.holdem.endgame("QsJh7h", 20, 60, bets="all: 1x", deck=SHORT),
}


def both(game: Holdem) -> tuple[Unmerged, RangeTree]:
    """Every hand and every board for itself; and merged. In neither do whole suits change places,
    which only strategies that do not tell those apart would bear.
    """
    game = replace(game)
    vars(game)["symmetries"] = np.zeros(1, dtype=np.int64)
    merged = compile_range_tree(game, merge=True)
    plain = unmerged(merged)
    assert merged.merged
    assert not plain.tree.merged
    assert merged.stored(0) < plain.tree.stored(0)
    assert len(plain.tree.units) == len(compile_range_tree(game, merge=False).units)
    return plain, merged


@pytest.mark.parametrize("name", sorted(SPOTS))
def test_an_iteration_is_that_of_all_hands_for_themselves(name: str) -> None:
    """Regrets and averages are equal, from any that do not tell same hands apart."""
    (plain, _, where, _), merged = both(SPOTS[name])
    assert where is not None
    seed = int(np.random.default_rng().integers(2**32))
    rng, plan = np.random.default_rng(seed), parse("dcfr")
    runs = [Cfr(engine(tree)) for tree in (merged, plain)]
    small, large = (run.pair for run in runs)
    for p, at in enumerate(where):
        for field in ("regret", "average"):
            numbers = getattr(small[p], field)
            # Regrets so large that none changes its sign: rounding would decide about some.
            numbers[:] = (rng.random(len(numbers)) + 0.5) * (1e6 if field == "regret" else 1)
            getattr(large[p], field)[at >= 0] = numbers[at[at >= 0]]
    for run in runs:
        run.advance(plan.discounts(11, 2), 11)
    for p, at in enumerate(where):
        for field in ("regret", "average"):
            got, want = getattr(small[p], field), getattr(large[p], field)[at >= 0]
            np.testing.assert_allclose(
                got[at[at >= 0]], want, atol=1e-5 * np.abs(want).max(), rtol=0, err_msg=str(seed)
            )


@pytest.mark.parametrize("name", sorted(SPOTS))
def test_best_responses_and_values_are_those_of_all_hands_for_themselves(name: str) -> None:
    many_hands, merged = both(SPOTS[name])
    plain = many_hands.tree
    few = sg.Strategy.random(merged)
    one, two = (many_hands.spread(p, few.probs[p]) for p in (0, 1))
    many = sg.Strategy(plain, (one, two))
    ours, theirs = sg.exploitability(merged, few), sg.exploitability(plain, many)
    assert ours.per_seat == pytest.approx(theirs.per_seat, rel=1e-9)
    assert expected_value(merged, few) == pytest.approx(expected_value(plain, many), rel=1e-9)
    for p in (0, 1):
        side, other = merged.players[p], plain.players[p]
        assert sorted(side.slots) == sorted(other.slots)
        assert len(side.names) == sum(
            len(merged.streets[unit.street].states[p]) * len(unit.hands[p]) for unit in merged.units
        )
        for chosen, tree, strategy in ((side, merged, few), (other, plain, many)):
            run = engine(tree)
            values = run.respond(p, run.plan(1 - p, strategy.probs[1 - p])).roots[0]
            by_name = dict(zip(chosen.slots, values.tolist(), strict=True))
            if chosen is side:
                want = by_name
        assert [by_name[name] for name in side.slots] == pytest.approx(
            list(want.values()), abs=1e-9
        )


def test_cards_that_are_the_same_and_suits_that_change_places_go_together() -> None:
    """Only for two iterations: rounding soon tips some hand from one action to another."""
    game = SPOTS["turn, paired"]
    merged, plain = sg.compile(game), both(game)[0].tree
    assert isinstance(merged, RangeTree)
    assert merged.merged
    assert len(merged.units[0].symmetries) > 1
    gaps = [float(sg.solve(tree, "dcfr", iterations=2).exploitability) for tree in (merged, plain)]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-6)


def test_a_merged_river_is_solved_as_the_explicit_game_is() -> None:
    """Against the engine of small games, which walks every history of a short deck."""
    deck = Deck("TJQK", "cdhs")
    game = sg.holdem.endgame("QsJhTdKcTs", 20, 60, ("random", "random"), "all: 1x", deck=deck)
    merged, whole = sg.compile(game), sg.compile(game, explicit=True)
    assert isinstance(merged, RangeTree)
    assert merged.merged
    solved = sg.solve(merged, "dcfr", iterations=2000)
    exact = sg.solve_lp(whole).value
    assert expected_value(merged, solved.strategy) == pytest.approx(exact, abs=2e-3)
    assert float(sg.exploitability(merged, solved.strategy)) < 2e-3


@pytest.mark.parametrize("board", ["QsJh2h8d3c", "QsJh2h8h3c", "QsJhQh8dQc", "2s3s4s5s6s"])
def test_same_cards_make_hands_of_one_rank(board: str) -> None:
    """By the evaluator: hands that stand for one another are equally strong on a full board."""
    cards = DECK.parse(board)
    same = same_cards(cards, 0, [np.ones(DECK.num_hands)])
    low, high = same[DECK.hands].T
    twice = low == high
    kinds = low * DECK.size + high
    ranks = rank_hands(cards, DECK)
    free = DECK.compatible(cards)
    for kind in np.unique(kinds[free & ~twice]):
        assert len(np.unique(ranks[free & (kinds == kind)])) == 1
    suits, often = np.bincount(np.array(cards) % 4, minlength=4), np.bincount(same)[same]
    flush = np.arange(DECK.size) % 4 == np.argmax(suits)
    assert (often[flush] == 1).all() == (suits.max() >= 3)
    assert (often[~flush] > 1).any()


def test_ranges_that_tell_suits_apart_keep_cards_apart() -> None:
    cards = DECK.parse("QsJh2h8d3c")
    suited = np.ones(DECK.num_hands)
    suited[DECK.hand_table[DECK.parse("As")[0], DECK.parse("Ks")[0]]] = 0.5
    same = same_cards(cards, 0, [np.ones(DECK.num_hands), suited])
    spades = np.flatnonzero(np.arange(DECK.size) % 4 == DECK.parse("As")[0] % 4)
    assert (same[spades] == spades).all()
    assert len(np.unique(same)) < DECK.size
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AKs,QJo,77", "random"), "all: a")
    assert not sg.compile(game).merged  # type: ignore[attr-defined]


def test_parts_of_a_merged_tree_are_refused_and_its_root_is_not() -> None:
    game = SPOTS["short deck"]
    tree = sg.compile(game)
    strategy = sg.solve(tree, "dcfr", iterations=20).strategy
    with pytest.raises(sg.SubgameError, match="merge=False"):
        sg.refine(tree, strategy, player=0, at="after the river", technique="resolve", iterations=5)
    better = sg.refine(tree, strategy, player=0, at="root", technique="resolve", iterations=50)
    before, after = (sg.exploitability(tree, s).per_seat[0] for s in (strategy, better.strategy))
    assert after < before


@pytest.mark.parametrize(
    ("name", "at"), [("short deck", "after the river"), ("suits", "after the turn")]
)
def test_parts_of_a_tree_in_which_nothing_is_one_are_refined(name: str, at: str) -> None:
    """Each part is solved for itself, and together they are as safe as theory says."""
    game = {**SPOTS, **GAMES}[name]
    tree = sg.compile(game, merge=False)
    assert isinstance(tree, RangeTree)
    assert all(len(unit.symmetries) == 1 for unit in tree.units)
    assert len(tree.units) > len(sg.compile(game).units)  # type: ignore[attr-defined]
    whole = sg.solve(sg.compile(game), "dcfr", iterations=3)
    strategy = sg.solve(tree, "dcfr", iterations=3).strategy
    before = sg.exploitability(tree, strategy)
    assert float(before) == pytest.approx(float(whole.exploitability), rel=1e-3)
    refined = sg.refine(tree, strategy, player=0, at=at, technique="resolve", iterations=60)
    assert len(refined.parts) > 1
    assert refined.after.per_seat[0] < before.per_seat[0] + 1e-3 * game.start().pot


def test_saved_endgames_come_back_as_they_were(tmp_path: Path) -> None:
    for merge in (True, "boards", False):
        for game in (GAMES["suits"], SPOTS["turn, paired"]):
            tree = sg.compile(game, merge=merge)
            save(sg.Strategy.uniform(tree), tmp_path / "a.safetensors")
            assert load(tmp_path / "a.safetensors").tree.digest == tree.digest
    with pytest.raises(sg.SubgameError, match='merge must be True, "boards" or False'):
        sg.compile(GAMES["suits"], merge="hands")  # type: ignore[arg-type]


def test_hands_that_are_one_are_not_told_two_things() -> None:
    tree = sg.compile(SPOTS["river"])
    names = [
        next(n for n in tree.players[0].names if n.startswith(hand)) for hand in ("7d7c", "7h7c")
    ]
    both = {name: {"c": 1.0} for name in names}
    assert sg.Strategy.from_table(tree, both)[names[1]]["c"] == 1
    with pytest.raises(sg.SubgameError, match="merge=False"):
        sg.Strategy.from_table(tree, {names[0]: {"c": 1.0}, names[1]: {"r100": 1.0}})
    with pytest.raises(sg.SubgameError, match="history by history"):
        sg.best_response(tree, sg.Strategy.uniform(tree), 0)
