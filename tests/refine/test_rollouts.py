"""Values at a depth limit by rollouts of a stored blueprint, beside a walk over every action."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, count, permutations
from math import comb
from typing import Any

import numpy as np
import pytest

from recipes import Walk, trained
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.base import CHANCE
from subgame.games.holdem import hunl
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import equities, rank_hands
from subgame.play.hunl import rollouts
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.rollouts import BOARDS, Rollouts, StreetRollouts, _Seen
from subgame.play.hunl.sampled import Board, Control, Mean
from subgame.play.hunl.street import (
    BucketLeaves,
    LimitedStreet,
    SolvedStreet,
    evaluated,
    solve_street,
    street_solved,
)
from subgame.refine.live import MINIMUM
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.solver import Limits

RECIPE = BlueprintRecipe(
    "tiny", "all: 1x a / cap 2", (None, 6, 6, 6), 600, ranks="9TJQKA", suits="cd"
)
FLOP = "JdTc9d"


@pytest.fixture(scope="module")
def blueprint() -> StoredBlueprint:
    return trained(RECIPE, 10)


@pytest.fixture(scope="module")
def street(blueprint: StoredBlueprint) -> LimitedStreet:
    game = hunl(600, bets="flop: 0.9x / cap 1", ranks="9TJQKA", suits="cd")
    reached = ReachedRanges.start(game)
    for action in ("c", "c", FLOP):
        reached = reached.after(action)
    assert reached.player != CHANCE
    return LimitedStreet(blueprint, reached, blueprint.game.start().play("cc"), player=1)


def test_a_board_pays_what_a_walk_over_every_action_pays(
    blueprint: StoredBlueprint, street: LimitedStreet
) -> None:
    deck = blueprint.game.deck
    board = deck.parse(FLOP + "QcKd")
    hands = (np.array([deck.parse_hand("AdKc"), deck.parse_hand("9cAc")]),) * 2
    mine = deck.parse_hand("QdTd")
    counts = np.eye(2, dtype=np.float32), np.eye(1, dtype=np.float32)  # buckets of one hand
    ranks = rank_hands(board, deck)
    ahead = np.sign(ranks[hands[0]][:, None] - ranks[[mine]]).astype(np.int8)
    pairs = np.ones((2, 1), np.float32)
    sampled = Board.of(ahead.astype(np.float32), pairs, Control.unknown(2, 1))
    seen = _Seen(board, (hands[0], np.array([mine])), ahead, counts, sampled)
    seen_turned = seen._replace(ahead=-ahead.T, counts=counts[::-1])
    # The bet of 0.9 pots is the blueprint's of 1, so that stakes there are 2.8 / 3 times its own.
    leaves = [("cc", 1.0), ("cr200c", 560 / 600), ("r200c", 560 / 600)]
    named = [str(leaf) for leaf in street.street.leaves]
    assert named == ["cc/cc/", "cc/cr180c/", "cc/r180c/"]
    rolled = StreetRollouts(street)
    turned = StreetRollouts(replace(street, player=0), choices=1)
    for l, (line, scale) in enumerate(leaves):
        there = blueprint.game.start().play("cc").play(line)
        tables = rolled.below[l].scale * rolled._paid(l, seen)
        assert len(tables) == CHOICES
        for choice, table in enumerate(tables):
            walk = Walk(blueprint, board, choice)
            wanted = [scale * walk.value(there, (int(hand), mine)) for hand in hands[0]]
            assert table[:, 0] == pytest.approx(wanted, rel=1e-4, abs=1e-3)
            if choice == 0:  # solved for player 0, the opponent is player 1
                lost = turned.below[l].scale * turned._paid(l, seen_turned)[0, 0]
                assert -lost == pytest.approx(wanted, rel=1e-4, abs=1e-3)


def test_bets_of_many_sizes_are_rolled_out_together(street: LimitedStreet) -> None:
    """As long as no stack ends what is won: then values are in proportion to the pot."""
    reached, values, leaves = street.reached, [], []
    for size in ("0.8x", "0.9x"):
        game = hunl(600, bets=f"flop: {size} / cap 1", ranks="9TJQKA", suits="cd")
        at = replace(street, reached=replace(reached, game=game))
        rolled = StreetRollouts(at)
        leaves.append(rolled.below[1])
        values.append(rolled.values([1]).values)
    one, two = leaves
    assert one.below is two.below
    assert np.array_equal(one.chips, two.chips)
    assert (one.scale, two.scale) == (520 / 600, 560 / 600)
    np.testing.assert_allclose(values[0] / one.scale, values[1] / two.scale, rtol=1e-5)


def test_luck_that_explains_all_is_taken_away() -> None:
    """What is won depends on equity and strength alone; equity is known on all boards."""
    random = np.random.default_rng(0)
    pairs = random.integers(0, 4, (5, 6)).astype(np.float32)
    won = random.uniform(-0.5, 0.5, (5, 6)).astype(np.float32)
    control = Control.of(won * pairs, pairs)
    effect = 1 + random.random((2, len(control.shapes))).astype(np.float32)
    stakes = np.tensordot(effect, control.shapes, 1)
    mean, known = Mean(), random.normal(size=(2, 5, 6)).astype(np.float32)
    for _ in range(200):
        luck = random.normal(0, 0.3, (5, 6)).astype(np.float32)
        board = Board.of((won + luck) * pairs, pairs, control)
        mean.add((known + stakes * luck) * pairs, board, control.shapes)
    there, plain = pairs > 0, mean.won / np.maximum(mean.pairs, 1)
    assert np.abs(mean.values(control.shapes) - known)[:, there].max() < 0.01
    assert np.abs(plain - known)[:, there].max() > 0.05
    none = Control.unknown(5, 6)
    alone = Mean()
    alone.add(known * pairs, Board.of(won * pairs, pairs, none), none.shapes)
    assert alone.values(none.shapes)[:, there] == pytest.approx(known[:, there], rel=1e-5)


def test_values_of_few_boards_are_nearer_to_those_of_all_without_luck(
    street: LimitedStreet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def values(boards: int, corrected: bool) -> Any:
        monkeypatch.setattr(rollouts, "_known", lambda *_: rollouts._Known())
        monkeypatch.setattr(rollouts, "BOARDS", boards)
        rolled = StreetRollouts(street)
        if not corrected:
            rolled.control = Control.unknown(*(len(street.buckets[p]) for p in (0, 1)))
        return rolled.values(range(len(street.street.leaves))).values

    deck, flop = street.reached.game.deck, street.reached.board
    left = [card for card in range(deck.size) if card not in flop]
    every = [(*flop, *cards) for cards in permutations(left, 2)]
    lost = dict[bool, float]()
    for corrected in (False, True):
        here = [values(count, corrected) for count in (4, 8, 16)]
        with monkeypatch.context() as patched:
            patched.setattr(StreetRollouts, "_runouts", lambda _: iter(every))
            truth = values(len(every), False)
        lost[corrected] = sum(float(((some - truth) ** 2).sum()) for some in here)
    assert lost[True] < 0.9 * lost[False]


@pytest.mark.parametrize("choices", [1, 3])
@pytest.mark.parametrize("opponent", [0, 1])
def test_leaves_pay_what_buckets_win_from_hands_that_share_no_card(
    opponent: int, choices: int
) -> None:
    """Beside sums over pairs of hands, one by one."""
    deck, rng = Deck("9TJQKA", "cd"), np.random.default_rng(0)
    hands = np.array([0, 3, 5, 17, 40]), np.array([3, 4, 5, 40, 41, 60, 65])
    buckets = np.array([0, 1, 1, 0, 2]), np.array([1, 0, 2, 3, 3, 0, 1])
    shape = choices, 2, 3 + opponent, 4 - opponent
    values = rng.normal(size=shape).astype(np.float32)
    leaves = BucketLeaves(values, opponent, hands, buckets, deck)
    for p in (0, 1):
        many = 1 if p == opponent else choices
        reach = rng.random((2, many, len(hands[1 - p])))
        result = leaves.won(p, reach)
        wanted = np.zeros((2, choices, len(hands[p])))
        for l, k, h in np.ndindex(*wanted.shape):
            table = values[k, l] if p == opponent else -values[k, l].T
            row = reach[l, k % many]
            mean = row @ table[buckets[p][h], buckets[1 - p]]
            meets = deck.disjoint[hands[p][h], hands[1 - p]]
            wanted[l, k, h] = mean / row.sum() * (row @ meets)
        if p != opponent:  # who does not choose wins from all continuations together
            wanted = wanted.sum(1, keepdims=True)
        assert result == pytest.approx(wanted, abs=1e-6)


def test_an_all_in_pays_what_it_wins_on_all_boards_to_come(
    blueprint: StoredBlueprint, street: LimitedStreet
) -> None:
    game = hunl(600, bets="flop: a / cap 1", ranks="9TJQKA", suits="cd")
    here = replace(street, reached=replace(street.reached, game=game))
    leaves, _ = evaluated(here, Rollouts())
    assert [str(leaf) for leaf in here.street.leaves] == ["cc/cc/", "cc/cr500c", "cc/r500c"]
    assert leaves.shown == {1: 600.0, 2: 600.0}
    deck, board = game.deck, here.reached.board
    left = [card for card in range(deck.size) if card not in board]
    boards = np.array([(*board, *cards) for cards in combinations(left, 2)])
    rng = np.random.default_rng(0)
    for p in (0, 1):
        reach = rng.random((3, 1 if p == leaves.opponent else CHOICES, len(here.hands[1 - p])))
        result = leaves.won(p, reach)
        for l, k in ((1, 0), (2, result.shape[1] - 1)):
            whole = np.zeros(deck.num_hands)
            whole[here.hands[1 - p]] = reach[l].sum(0)
            won, met = equities(boards, deck, whole[None])
            wanted = 600 * (2 * won - met)[..., 0].sum(0) / comb(len(left) - 4, 2)
            assert result[l, k] == pytest.approx(wanted[here.hands[p]], rel=1e-4, abs=1e-2)


def test_time_that_iterations_do_not_need_goes_into_more_boards(
    street: LimitedStreet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock shows one second more whenever somebody looks at it."""

    def solved(seconds: float) -> SolvedStreet:
        known = rollouts._Known()
        monkeypatch.setattr(rollouts, "_known", lambda *_: known)
        return street_solved(street, Rollouts(), Limits(seconds=seconds), count(1).__next__)

    monkeypatch.setattr(rollouts, "_known", lambda *_: rollouts._Known())
    half = evaluated(street, Rollouts(), 200, count(1).__next__)[1]
    assert half < solved(400).boards < rollouts.MOST
    assert solved(400).iterations > MINIMUM
    few = solved(12)
    assert few.stopped == "values of 1 boards are too few"
    assert not few.played


def test_the_first_iteration_plays_the_blueprint(street: LimitedStreet) -> None:
    solved = street_solved(street, Rollouts(2), Limits(iterations=1))
    laid = street.laid.over_street(street.street, solved.on, street.reached.board, street.hands)
    for p, (sigma, wanted) in enumerate(zip(solved.played, laid, strict=True)):
        played, blueprint = (
            np.asarray(solved.on.descend(p, np.asarray(s), street.reach[p]))
            for s in (sigma, wanted)
        )
        assert played == pytest.approx(blueprint, abs=1e-6)
        assert blueprint.max() > 0.1
        assert np.ptp(wanted) > 0.5  # not uniform


def test_a_street_is_solved(street: LimitedStreet) -> None:
    plan = solve_street(street, Rollouts(), Limits(iterations=20))
    assert plan.iterations == 20
    start = street.reached.betting
    assert set(plan.rows) == {start.play(line).history for line in ("", "c", "r180", "cr180")}
    for planned in plan.rows.values():
        assert planned.probabilities.sum(1) == pytest.approx(1)
    # A bet of nearly the pot is not called with what loses to everything that bets.
    facing = plan.rows[start.play("r180").history]
    folds = facing.probabilities[:, facing.actions.index("f")]
    deck = street.reached.game.deck
    assert folds[deck.parse_hand("QdKd")] < 0.01
    assert folds[street.hands[1]].max() > 0.5


def test_with_a_single_value_the_opponent_plays_the_blueprint(street: LimitedStreet) -> None:
    """The values of one choice are the first of four, and nobody chooses at the leaves."""
    single, four = Rollouts(choices=1), Rollouts()
    one, two = (evaluated(street, choice)[0].values for choice in (single, four))
    assert one.shape[0] == 1
    assert one[0] == pytest.approx(two[0], rel=1e-4, abs=1e-3)
    plan = solve_street(street, single, Limits(20, None))
    assert all(rows.probabilities.sum(1) == pytest.approx(1) for rows in plan.rows.values())
    other = solve_street(street, four, Limits(20, None))
    assert any(
        np.abs(plan.rows[key].probabilities - other.rows[key].probabilities).max() > 1e-3
        for key in plan.rows
    )


def test_a_board_ends_when_its_time_is_over_and_the_next_solve_goes_on(
    street: LimitedStreet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows a leaf is computed on the first board, which may take longer than all there is.

    No leaf is rolled out twice on a board, and no board is left out.
    """
    looks: list[float] = []

    def now() -> float:  # each look takes a second
        looks.append(1.0)
        return sum(looks)

    class Slow(StreetRollouts):
        rolled = 0

        def _paid(self, leaf: int, seen: _Seen) -> np.ndarray[Any, np.dtype[np.float32]]:
            self.rolled += 1
            return super()._paid(leaf, seen)

    rollouts._known.cache_clear()
    slow = Slow(street, now=now)
    values = slow.values(range(3), until=2.5)  # at the start of the board, and before two leaves
    assert slow.rolled == 1
    assert values.boards == 1
    assert values.values[:, 0].any()
    assert not values.values[:, 1:].any()
    looks.clear()
    solved = solve_street(street, Rollouts(), Limits(10, 2.5), now)
    assert solved.rejected
    looks.clear()
    rollouts._known.cache_clear()
    slow.values(range(3), until=2.5)
    monkeypatch.setattr(rollouts, "MOST", BOARDS)
    slow.rolled = 0
    result, wanted = slow.values(range(3), until=1e9), StreetRollouts(street).values(range(3))
    assert slow.rolled == 3 * BOARDS - 1
    assert result.boards == wanted.boards == BOARDS
    np.testing.assert_array_equal(result.values, wanted.values)
