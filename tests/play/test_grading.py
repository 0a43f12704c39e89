"""Hands of whole hold'em, each decision graded by the blueprint and by solving."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.errors import SubgameError
from subgame.games import holdem
from subgame.games.holdem.evaluate import rank_hands
from subgame.play.hunl import grading
from subgame.play.hunl.grading import GradedDecision, HandGrader
from subgame.play.hunl.street import street_solved
from subgame.play.hunl.turn import TurnSolver
from subgame.play.protocols.seen import read_seen
from subgame.refine.ranges.reached import ReachedRanges
from subgame.serve.api_histories import agent_game

CARDS: dict[str, Any] = {"ranks": "9TJQKA", "suits": "cd"}
GAME = holdem.hunl(400, bets="all: 1x a / cap 2", **CARDS)
MENUS = ("flop: 1x a / cap 2; turn: a / cap 1; river: a / cap 1",) * 2
# Player 1 bets more than the blueprint knows on every street; player 0 calls, at last all-in.
MOVES = [
    *((0, "AcKc"), (1, "JdTd"), (1, "r200"), (0, "c"), (-1, "AdTcQd")),
    *((0, "c"), (1, "c"), (-1, "9d"), (0, "c"), (1, "c"), (-1, "9c"), (0, "c")),
    *((1, "r200"), (0, "c")),
]


class Watched(HandGrader):
    """Remembers the ranges at each decision that was graded."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seen: list[ReachedRanges] = []

    def _graded(self, streets: Any, place: Any, action: str, hand: int) -> GradedDecision:
        self.seen.append(place.reached)
        return super()._graded(streets, place, action, hand)


@pytest.fixture(scope="module")
def grader() -> Watched:
    recipe = BlueprintRecipe("tiny", "all: 1x a / cap 1", (None, 6, 6, 6), 400, **CARDS)
    trainer = Trainer(recipe)
    trainer.advance(20)
    return Watched(StoredBlueprint.of(trainer), iterations=20, menus=MENUS)


def called(reached: ReachedRanges, hand: int) -> float:
    """What calling an all-in wins beside folding, by all hands of the other player and all boards.

    Every pair of hands has as many boards, so that the mean over both is the mean over all.
    """
    deck, p, end = reached.game.deck, reached.player, reached.betting.child("c")
    paid = float(end.rules.stacks[p] - reached.betting.behind[p])
    held, won, met = set(deck.hands[hand].tolist()), 0.0, 0.0
    for other, reach in enumerate(reached.reach[1 - p].tolist()):
        theirs = set(deck.hands[other].tolist())
        if not reach or held & theirs or theirs & set(reached.board):
            continue
        left = [c for c in range(deck.size) if c not in held | theirs | set(reached.board)]
        boards = list(itertools.combinations(left, 5 - len(reached.board)))
        for more in boards:
            ranks = rank_hands((*reached.board, *more), deck)
            net = float(end.at_stake) * np.sign(int(ranks[hand]) - int(ranks[other]))
            won, met = won + reach * (net + paid), met + reach
    return won / met


def test_hands_may_be_dealt_by_chance(grader: Watched) -> None:
    dealt = [(-1, hand) for _, hand in MOVES[:2]]
    one, two = (grader.grade(GAME, [*first, *MOVES[2:4]], 0) for first in (MOVES[:2], dealt))
    assert [row.values.tolist() for row in one] == [row.values.tolist() for row in two]
    assert len(one) == 1


def test_every_street_is_graded_and_folding_is_worth_nothing(grader: Watched) -> None:
    for seat in (0, 1):
        rows = grader.grade(GAME, MOVES, seat)
        streets = [("blueprint", 0), ("depth limit", 1), ("solve", 2), ("solve", 3)]
        assert sorted({(row.by, row.betting.street) for row in rows}) == sorted(streets)
        for row in rows:
            assert row.lost >= 0
            assert row.probabilities.sum() == pytest.approx(1, abs=1e-6)
            if "f" in row.actions:
                assert row.values[row.actions.index("f")] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("street", [1, 2, 3])
def test_calling_all_in_is_worth_its_equity(grader: Watched, street: int) -> None:
    """The value of a call that ends the betting depends on the other player's range alone."""
    first = [*MOVES[:4], (-1, "AdTcQd")]
    checked = [(0, "c"), (1, "c")]
    later = [*checked, (-1, "9d"), *([] if street == 2 else [*checked, (-1, "9c")])]
    line = [*first, *([] if street == 1 else later), (0, "c"), (1, "r200"), (0, "c")]
    grader.seen.clear()
    row = grader.grade(GAME, line, 0)[-1]
    want = called(grader.seen[-1], GAME.deck.parse_hand("AcKc"))
    assert row.values[row.actions.index("c")] == pytest.approx(want, abs=0.02)


def test_bets_off_the_tree_are_graded_and_folding_the_best_hand_is_dear(grader: Watched) -> None:
    row = grader.grade(GAME, [*MOVES[:5], (0, "r137"), (1, "f")], 0)[-1]
    assert row.action in row.actions
    folds = grader.grade(GAME, [*MOVES[:-1], (0, "f")], 0)[-1]
    assert folds.lost == pytest.approx(float(folds.values.max()), abs=1e-4)
    # With two suits no rank comes three times, so that on Ad Tc Qd 9d 9c nothing beats this flush.
    best = [(0, "KdJd"), (1, "AcKc"), *MOVES[2:-1], (0, "f")]
    folded = grader.grade(GAME, best, 0)[-1]
    assert folded.lost == pytest.approx(600.0, abs=1e-2)  # the pot and the bet


def test_a_street_is_solved_once_whatever_was_bet(
    grader: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both players bet what no menu has; grades are finite all the same."""
    solved: list[int] = []
    limited, turn = street_solved, TurnSolver.solved

    def early(at: Any, *rest: Any) -> Any:
        solved.append(at.reached.betting.street)
        return limited(at, *rest)

    def late(solver: Any, here: Any, *rest: Any) -> Any:
        solved.append(here.betting.street)
        return turn(solver, here, *rest)

    monkeypatch.setattr(grading, "street_solved", early)
    monkeypatch.setattr(TurnSolver, "solved", late)
    line = [*MOVES[:2], (1, "c"), (0, "c"), (-1, "AdTcQd"), (0, "r101"), (1, "r250"), (0, "c")]
    line += [(-1, "9d"), (0, "c"), (1, "c"), (-1, "9c"), (0, "c"), (1, "r50"), (0, "f")]
    rows = grader.grade(GAME, line, 0)
    assert solved == [1, 2, 3]
    assert [row.action for row in rows] == ["c", "r101", "c", "c", "c", "f"]
    for row in rows:
        assert np.isfinite(row.values).all()
        assert row.lost >= 0


def test_other_stacks_are_graded_from_the_turn_on(grader: Watched) -> None:
    deep = holdem.hunl(900, bets="all: 1x a / cap 2", **CARDS)
    rows = grader.grade(deep, MOVES, 0)
    assert {row.betting.street for row in rows} == {2, 3}
    assert {row.by for row in rows} == {"solve"}


def test_a_hand_must_be_one_of_the_deck(grader: Watched) -> None:
    with pytest.raises(SubgameError, match="hand"):
        grader.grade(GAME, [(0, "9hTh"), *MOVES[1:]], 0)


PHH = """
variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
starting_stacks = [400, 500]
players = ['me', 'other']
actions = ['d dh p1 AsAh', 'd dh p2 ????', 'p2 cbr 5', 'p1 cbr 500', 'p2 f']
"""


def test_hands_are_told_in_the_agents_chips() -> None:
    """A big blind is 100, and nobody bets more than the other player has."""
    (hand,) = read_seen(PHH)
    game, moves = agent_game(hand)
    assert game.rules.stacks == (20_000, 20_000)
    assert moves == [(0, "AsAh"), (1, ""), (1, "r250"), (0, "r20000"), (1, "f")]
    third = PHH.replace("0]", "0, 0]").replace("[1, 2]", "[1, 2, 0]")
    for text, words in (
        (PHH.replace("antes = [0, 0]", "antes = [1, 1]"), "antes"),
        (third.replace("'other'", "'other', 'third'"), "two players"),
    ):
        (other,) = read_seen(text)
        with pytest.raises(SubgameError, match=words):
            agent_game(other)
