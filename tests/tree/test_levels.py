"""Games that say their rules in arrays: the same tree as by their states, array by array."""

from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.errors import MemoryLimitError, SubgameError
from subgame.games.array_checks import check_arrays
from subgame.games.arrays import GameArrays, Numbers, Rows
from subgame.games.base import Game
from subgame.games.conformance import check
from subgame.games.liars_dice import LiarsDice
from subgame.games.liars_dice_arrays import LiarsDiceArrays
from subgame.games.rhode_island import strength
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.solve.evaluate import expected_value
from subgame.tree.sequence.form import assemble, form_of
from subgame.tree.sequence.histories import Replayed
from subgame.tree.sequence.levels import rows_at
from subgame.tree.sequence.spot_checks import estimated
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.sequence.walk import Histories, Top, walk

GAMES = [
    "leduc",
    "leduc-ranks",
    "no-limit-leduc(stack=12)",
    "no-limit-leduc(stack=5, bets=all)",
    "liars-dice(dice=1, faces=4)",
    "liars-dice(dice=2, faces=2)",
    "liars-dice(dice=1, faces=3)",
    "goofspiel(cards=2)",
    "goofspiel(cards=4)",
    "goofspiel(cards=4, order=ascending, returns=points)",
    "goofspiel(cards=3, order=random)",
    "rhode-island(ranks=4, suits=1, raises=2)",
    "rhode-island(ranks=3, suits=2, raises=1)",
]


def by_states(game: Game) -> Game:
    """The game without its arrays."""
    game.arrays = lambda: None  # type: ignore[method-assign]
    return game


def differences(one: Any, two: Any, path: str) -> list[str]:
    """Where two objects differ: fields, items, types and values of arrays."""
    if isinstance(one, np.ndarray):
        return [] if one.dtype == two.dtype and np.array_equal(one, two) else [path]
    if is_dataclass(one):
        names = [field.name for field in fields(one) if field.name != "game"]
        return [
            d for n in names for d in differences(getattr(one, n), getattr(two, n), f"{path}.{n}")
        ]
    if isinstance(one, tuple) and one and not isinstance(one[0], str):
        pairs = enumerate(zip(one, two, strict=True))
        return [d for k, (a, b) in pairs for d in differences(a, b, f"{path}[{k}]")]
    same = one == two if isinstance(one, str | int | float) else [*one] == [*two]
    return [] if same else [path]


@pytest.mark.parametrize("name", GAMES)
def test_arrays_and_states_give_the_same_histories(name: str) -> None:
    game = sg.games.load(name)
    assert game.arrays() is not None
    fast, slow = walk(game), walk(by_states(sg.games.load(name)))
    assert not differences(fast, slow, "histories")
    one, two = assemble(form_of(fast)), assemble(form_of(slow))
    for part in ("players", "terminals", "node_names", "node_parent", "node_chance", "located"):
        assert not differences(getattr(one, part), getattr(two, part), part)
    assert one.digest == two.digest


@pytest.mark.parametrize(
    "name", ["leduc", "goofspiel(cards=3)", "rhode-island(ranks=4, suits=1, raises=1)"]
)
def test_arrays_conform(name: str) -> None:
    game = sg.games.load(name)
    arrays = game.arrays()
    assert arrays is not None
    check_arrays(game, arrays)


class Wrong(LiarsDiceArrays):
    """Liar's dice in arrays, with a mistake."""

    def __init__(self, game: LiarsDice, mistake: str) -> None:
        super().__init__(game.dice, game.faces, game.legal)
        self.mistake = mistake

    def returns(self, rows: Rows) -> np.ndarray[Any, Any]:
        return super().returns(rows) * (-1 if self.mistake == "payoff" else 1)

    def information_state(self, rows: Rows, player: int) -> Numbers:
        seen = 1 - player if self.mistake == "information" else player
        return super().information_state(rows, seen)

    def public_state(self, rows: Rows) -> Numbers:
        return super().public_state(rows) // (2 if self.mistake == "public" else 1)

    def moves(self, rows: Rows) -> Numbers:
        moves = super().moves(rows)
        return np.where((moves > 2) & (self.mistake == "moves"), moves - 1, moves)


@pytest.mark.parametrize("mistake", ["payoff", "information", "public", "moves"])
def test_arrays_that_differ_from_the_states_are_refused(mistake: str) -> None:
    """By the check of all histories, and by the sample that compiling takes."""

    class Mistaken(LiarsDice):
        def arrays(self) -> GameArrays:
            return Wrong(self, mistake)

    match = {"information": "information state of player", "public": "public state"}
    with pytest.raises(SubgameError, match=match.get(mistake, mistake)):
        check(Mistaken(dice=1, faces=3))
    with pytest.raises(SubgameError, match=match.get(mistake, mistake)):
        sg.compile(Mistaken(dice=1, faces=3))


def test_names_are_made_when_they_are_asked_for() -> None:
    tree = sequence_tree(sg.compile(sg.games.load("liars-dice(dice=1, faces=3)")))
    names = tree.walked.tables[0].names
    assert "names" not in vars(names)
    assert names[0] == "1"
    assert names[-2:] == [names[len(names) - 2], names[len(names) - 1]]
    copy: SequenceTree = pickle.loads(pickle.dumps(tree))
    assert [*copy.players[1].names] == [*tree.players[1].names]


def test_a_walk_that_stops_needs_states() -> None:
    game = sg.games.load("leduc")
    part: Histories = walk(game, stop=game.frontiers()["after round 1"])
    assert 0 < len(part) < len(walk(game))


SUBGAMES = [
    ("leduc", "after round 1"),
    ("leduc", "after the board card"),
    ("leduc", 0),
    ("goofspiel(cards=3, order=random)", "after chance"),
    ("goofspiel(cards=3)", "depth 2"),
    ("liars-dice(dice=1, faces=3)", "after the first bid"),
    ("liars-dice(dice=1, faces=3)", ["depth 3"]),
    ("no-limit-leduc(stack=4, bets=all)", "after round 1"),
    ("rhode-island(ranks=4, suits=1, raises=1)", "after chance"),
]


@pytest.mark.parametrize(("name", "at"), SUBGAMES)
def test_subgames_by_arrays_and_by_states_are_the_same(name: str, at: Any) -> None:
    one, two = (sg.compile(game) for game in (sg.games.load(name), by_states(sg.games.load(name))))
    pairs = list(zip(sequence_subgames(one, at), sequence_subgames(two, at), strict=True))
    assert pairs
    for fast, slow in pairs:
        assert isinstance(fast.tree.walked.node_names, Replayed)  # no states below the top
        assert not isinstance(slow.tree.walked.node_names, Replayed)
        assert not differences(fast.tree.walked, slow.tree.walked, "histories")
        for part in ("name", "top", "sequence", "chance"):
            assert not differences(getattr(fast, part), getattr(slow, part), part)
        for part in ("players", "terminals", "node_names", "node_parent", "node_chance", "located"):
            assert not differences(getattr(fast.tree, part), getattr(slow.tree, part), part)
        assert fast.tree.digest == slow.tree.digest


@pytest.mark.parametrize("name", ["leduc", "liars-dice(dice=1, faces=3)", "goofspiel(cards=3)"])
def test_tops_of_several_public_states_count_as_one(name: str) -> None:
    game = sg.games.load(name)
    whole, arrays = walk(game), game.arrays()
    assert arrays is not None
    lengths = np.array([len(whole.path(h)) for h in range(len(whole))])
    here = [h for h in np.flatnonzero(lengths == 3).tolist() if whole.player[h] >= 0]
    assert len(np.unique(whole.node[here])) > 1
    tops = [Top(whole.state(h), 0.5, path=whole.path(h)) for h in here]
    fast, slow = walk(game, tops=tops, arrays=arrays), walk(game, tops=tops)
    assert isinstance(fast.node_names, Replayed)
    assert not differences(fast, slow, "histories")
    assert rows_at(arrays, [*tops, Top(whole.state(0))]) is None  # not at one level


def test_arrays_that_lack_a_move_to_a_top_are_not_used() -> None:
    """As in nested solving, where the smaller game does not offer every action of a path."""
    game = sg.games.load("leduc")
    arrays, state = game.arrays(), walk(game).state(2)
    assert arrays is not None
    tops = [Top(state, path=["nothing"])]
    assert rows_at(arrays, tops) is None
    assert not differences(walk(game, tops=tops, arrays=arrays), walk(game, tops=tops), "histories")


def test_large_games_are_refused_before_they_are_visited() -> None:
    with pytest.raises(MemoryLimitError, match="as a sample shows"):
        sg.compile(sg.games.load("rhode-island(ranks=8)"))
    with pytest.raises(MemoryLimitError, match="histories so far needs at least"):
        sg.compile(sg.games.load("liars-dice"), memory_limit="28MB")


@pytest.mark.parametrize("name", ["leduc", "goofspiel(cards=4, order=random)"])
def test_estimates_of_sizes(name: str) -> None:
    arrays = sg.games.load(name).arrays()
    assert arrays is not None
    assert estimated(arrays) == pytest.approx(len(walk(sg.games.load(name))), rel=0.1)


# Rhode Island hold'em ---------------------------------------------------------------------------


def test_rhode_island_has_the_histories_that_combinatorics_says() -> None:
    """With r raises a round has 2r + 1 ways to go on, 2r folds, and 2r + 2 decisions."""
    raises, cards = 3, 4
    on, folds, decisions = 2 * raises + 1, 2 * raises, 2 * raises + 2
    deals = [1, cards, cards * (cards - 1)]  # before any card, one and both hands
    boards = [deals[2], deals[2] * (cards - 2), deals[2] * (cards - 2) * (cards - 3)]
    # Where a round goes on, chance's turn is a history of its own; in the last the game is over.
    expected = sum(deals[:2]) + sum(
        count * on**number * (decisions + folds + on) for number, count in enumerate(boards)
    )
    assert len(walk(sg.games.load("rhode-island(ranks=4, suits=1)"))) == expected


def test_hands_of_rhode_island_rank_as_the_rules_say() -> None:
    hands = ["As Ks Qs", "2s 2h 2d", "Qs Jh Ts", "As 9s 3s", "Ah As Kd", "Ah As 2d", "As Kh Jd"]
    strengths = [strength(tuple(hand.split())) for hand in hands]
    assert strengths == sorted(strengths, reverse=True)
    assert strength(("As", "2h", "3d")) < strength(("4s", "2h", "3d"))  # aces are high only
    assert strength(("2d", "As", "Ah")) == strength(("Ah", "As", "2c"))


@pytest.mark.parametrize(
    "text", ["rhode-island(ranks=2)", "rhode-island(suits=5)", "rhode-island(ranks=3, suits=1)"]
)
def test_decks_that_cannot_be(text: str) -> None:
    with pytest.raises(SubgameError, match="Rhode Island hold'em"):
        sg.games.load(text)


def test_rhode_island_is_solved_as_its_linear_program() -> None:
    tree = sg.compile(sg.games.load("rhode-island(ranks=4, suits=1, raises=1)"))
    value = sg.solve_lp(tree).value
    result = sg.solve(tree, "cfr+", iterations=100)
    gap = result.exploitability.mean
    assert gap < 0.5  # of antes of 5
    assert abs(expected_value(tree, result.strategy) - value) <= 2 * gap + 1e-9
