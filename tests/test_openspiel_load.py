"""OpenSpiel's games as ours, compared with OpenSpiel itself history by history."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

from subgame import games
from subgame.errors import SubgameError
from subgame.games import openspiel
from subgame.games.base import CHANCE, TERMINAL, Game, StateReader
from subgame.tree.sequence import walk as walking
from subgame.tree.sequence.walk import Top, walk

pyspiel: Any = pytest.importorskip("pyspiel")

GOOFSPIEL = "goofspiel(imp_info=True,num_cards=4,points_order=descending)"


def check(game: openspiel.OpenSpielGame) -> tuple[int, int]:
    """Walk ours and theirs side by side; the numbers of histories and of infosets."""
    stack = [(game.new_initial_state(), game.pyspiel_game.new_initial_state())]
    count, infosets = 0, set()
    while stack:
        ours, theirs = stack.pop()
        count += 1
        player = ours.current_player()
        assert player == theirs.current_player()
        assert ours.public_state() is None
        for seat in (0, 1):
            assert ours.information_state(seat) == theirs.information_state_string(seat)
        if player == TERMINAL:
            assert list(ours.returns()) == theirs.returns()
            assert sum(ours.returns()) == 0
            continue
        ids, actions = list(ours.action_ids.values()), ours.legal_actions()
        assert ids == theirs.legal_actions()
        assert len(set(actions)) == len(actions) == len(ids)
        if player == CHANCE:
            pairs = zip(actions, theirs.chance_outcomes(), strict=True)
            assert ours.chance_outcomes() == [(name, chance) for name, (_, chance) in pairs]
        else:
            assert ours.chance_outcomes() == []
            infosets.add((player, ours.information_state(player)))
        for number, action in zip(ids, actions, strict=True):
            child = theirs.clone()
            child.apply_action(number)
            stack.append((ours.child(action), child))
    return count, len(infosets)


@pytest.mark.parametrize(
    ("name", "parameters", "called", "size"),
    [
        ("kuhn_poker", {}, "kuhn_poker", (58, 12)),
        ("leduc_poker", {}, "leduc_poker", (9457, 936)),
        ("liars_dice", {"numdice": 1, "dice_sides": 4}, "liars_dice(dice_sides=4)", (8181, 1024)),
        (GOOFSPIEL, {}, GOOFSPIEL.replace(",", ", "), (1077, 162)),
        (
            "goofspiel(imp_info=True)",
            {"num_cards": 3},
            "goofspiel(imp_info=True, num_cards=3)",
            (418, 90),
        ),
        ("matrix_rps", {}, "matrix_rps", (13, 2)),
        ("turn_based_simultaneous_game", {"game": {"name": "matrix_mp"}}, None, (7, 2)),
    ],
)
def test_walk(
    name: str, parameters: dict[str, Any], called: str | None, size: tuple[int, int]
) -> None:
    game = openspiel.load(name, **parameters)
    assert called is None or str(game) == f"openspiel:{called}"
    assert str(games.load(str(game))) == str(game)
    assert check(game) == size


def test_only_acting_is_part_of_the_name() -> None:
    game = games.load("openspiel:liars_dice", only_acting=True)
    again = games.load(str(game))
    assert game.parameters == again.parameters == {"only_acting": True}
    assert again.new_initial_state().information_state(0) is None


def test_a_loaded_game_is_taken_as_it_is() -> None:
    game = openspiel.load(pyspiel.load_game(GOOFSPIEL))
    assert game.name == "goofspiel"
    assert game.parameters == {"imp_info": True, "num_cards": 4, "points_order": "descending"}
    assert game.pyspiel_game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    assert check(game) == (1077, 162)


def test_states_do_not_change() -> None:
    root = openspiel.load("kuhn_poker").new_initial_state()
    first = root.child(root.legal_actions()[0])
    root.child(root.legal_actions()[1])
    assert root.current_player() == CHANCE
    assert len(root.legal_actions()) == 3
    assert len(first.legal_actions()) == 2
    with pytest.raises(SubgameError, match="no action called 'Deal:9'"):
        root.child("Deal:9")


def test_only_acting() -> None:
    state = openspiel.load("kuhn_poker", only_acting=True).new_initial_state()
    assert state.information_state(0) is None
    state = state.child("Deal:0").child("Deal:1")
    assert state.information_state(0) == "0"
    assert state.information_state(1) is None
    state = state.child("Bet").child("Bet")
    assert state.current_player() == TERMINAL
    assert state.information_state(0) is None


class Shy:
    """A pyspiel state that speaks to the acting player only, and whose actions look alike."""

    def __init__(self, past: tuple[int, ...] = ()) -> None:
        self.past = past
        self.asked: list[int] = []

    def current_player(self) -> int:
        return 0 if not self.past else TERMINAL

    def legal_actions(self) -> list[int]:
        return [3, 5, 8]

    def action_to_string(self, player: int, action: int) -> str:
        return "odd" if action % 2 else "even"

    def child(self, action: int) -> Shy:
        return Shy((*self.past, action))

    def information_state_string(self, player: int) -> str:
        self.asked.append(player)
        if player != self.current_player():
            raise pyspiel.SpielError("not your turn")
        return "mine"


def test_games_that_answer_only_the_acting_player() -> None:
    shy = Shy()
    state = openspiel.OpenSpielState(shy, set())
    assert [state.information_state(seat) for seat in (0, 1, 1)] == ["mine", None, None]
    assert shy.asked == [0, 1]  # a refusal is remembered
    assert state.child("even").information_state(0) is None


def test_actions_that_look_alike_get_their_numbers() -> None:
    state = openspiel.OpenSpielState(Shy(), set())
    assert state.legal_actions() == ("odd#3", "odd#5", "even")
    assert list(state.action_ids.values()) == [3, 5, 8]
    assert state.child("odd#5").pyspiel_state.past == (5,)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("leduc_pokre", {}, "There is no OpenSpiel game called 'leduc_pokre'; .* 'leduc_poker'"),
        ("kuhn_poker", {"players": 3}, "'kuhn_poker' has 3 players, not two"),
        ("2048", {}, "'2048' has 1 player, not two"),
        ("bargaining", {}, "'bargaining' is not zero-sum but general-sum"),
        ("tiny_hanabi", {}, "'tiny_hanabi' is not zero-sum but identical"),
        ("pig", {}, "'pig' does not say what its players know"),
        ("liars_dice", {"sides": 4}, "no parameter of liars_dice called 'sides'"),
        ("liars_dice(numdice=two)", {}, r"OpenSpiel cannot load 'liars_dice\(numdice=two\)': "),
        ("liars_dice(numdice=2", {}, r"OpenSpiel cannot load .* closing bracket"),
        ("liars_dice", {"numdice": [1]}, "OpenSpiel cannot load 'liars_dice': "),
        (7, {}, "The game must be a name or a pyspiel.Game, not 7"),
    ],
)
def test_errors(name: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(SubgameError, match=message) as caught:
        openspiel.load(name, **parameters)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_walk_asks_for_names_once_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    names = openspiel.OpenSpielReader.names

    def counted(self: openspiel.OpenSpielReader, opened: Any, *rest: Any) -> tuple[str, ...]:
        asked.append(rest)
        return names(self, opened, *rest)

    monkeypatch.setattr(openspiel.OpenSpielReader, "names", counted)
    monkeypatch.setattr(walking, "NAMED_FIRST", 0)
    monkeypatch.setattr(walking, "NAMED_AGAIN", 10**6)
    game = openspiel.load("leduc_poker")
    start = game.new_initial_state()
    assert len(walk(game, tops=[Top(start)])) == 9457
    assert len(asked) == 28  # 3 lists of each player, and 1 + 6 + 15 that chance can deal
    assert start.pyspiel_state.history() == []  # the walk changed a copy of it


@pytest.mark.parametrize("name", ["leduc_poker", "hex(num_rows=2,num_cols=2)"])
def test_names_that_depend_on_the_state(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """They are asked at every infoset as soon as one differs; nothing else changes."""
    plain = walk(openspiel.load(name))
    named = openspiel.OpenSpielReader.names

    def longer(self: openspiel.OpenSpielReader, opened: Any, player: int, keys: Any) -> Any:
        if player >= 0 and opened.move_number() > 3:
            self._game.fixed.discard(player)
        return tuple(
            f"{action}@{opened.move_number()}" for action in named(self, opened, player, keys)
        )

    monkeypatch.setattr(openspiel.OpenSpielReader, "names", longer)
    result = walk(openspiel.load(name))
    assert np.array_equal(result.parent, plain.parent)
    for table in result.tables:
        for h, actions in zip(table.first.tolist(), table.actions, strict=True):
            assert {action.rpartition("@")[2] for action in actions} == {str(len(plain.path(h)))}


@pytest.mark.parametrize(
    "name", ["nim(pile_sizes=2;3)", "connect_four(rows=3,columns=3,x_in_row=3)"]
)
def test_histories_spell_what_is_known_in_games_of_perfect_information(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nobody is asked; the tree is that of a game whose players are asked everywhere."""
    game = openspiel.load(name)
    assert game.spelled
    result = walk(game)
    monkeypatch.setattr(openspiel.OpenSpielGame, "spelled", False)
    asked = walk(openspiel.load(name))
    assert np.array_equal(result.node, asked.node)
    assert np.array_equal(result.sequence, asked.sequence)
    assert [list(t.names) for t in result.tables] == [list(t.names) for t in asked.tables]
    state = game.new_initial_state()
    top = state.child(state.legal_actions()[0])
    below = walk(game, tops=[Top(top)])
    assert below.tables[1].names[0] == top.information_state(1)


class Renumbered(StateReader):
    """Reads Kuhn poker with actions that have other keys at each history of an infoset."""

    def __init__(self, renamed: bool) -> None:
        self.renamed = renamed

    def opened(self, state: Any) -> Any:
        return Marked(state)

    def names(self, opened: Any, player: int, keys: Any) -> tuple[str, ...]:
        return tuple(getattr(key, "mark", "") * self.renamed + str(key) for key in keys)


class Marked:
    """A state of Kuhn poker whose actions are marked with the other player's card."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def child(self, action: str) -> Marked:
        return Marked(self.inner.child(str(action)))

    def legal_actions(self) -> list[Key]:
        mark = self.inner.cards[1 - self.inner.current_player()]
        return [Key(key, mark) for key in self.inner.legal_actions()]


class Key(str):
    """An action that is equal to another only if their marks are."""

    mark: str
    __hash__ = str.__hash__

    def __new__(cls, text: str, mark: str) -> Key:
        key = super().__new__(cls, text)
        key.mark = mark
        return key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.mark == other.mark and str(self) == str(other)


def test_keys_may_differ_where_names_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = walk(games.load("kuhn"))
    monkeypatch.setattr(Game, "reader", lambda self: Renumbered(renamed=False))
    again = walk(games.load("kuhn"))
    assert again.tables[0].actions == plain.tables[0].actions
    assert [again.path(h) for h in range(len(again))] == [plain.path(h) for h in range(len(plain))]
    monkeypatch.setattr(Game, "reader", lambda self: Renumbered(renamed=True))
    with pytest.raises(SubgameError, match=r"offers \['Qp', 'Qb'\] at .* but \['Kp', 'Kb'\]"):
        walk(games.load("kuhn"))


def test_a_loaded_game_takes_no_parameters() -> None:
    with pytest.raises(SubgameError, match=r"'kuhn_poker.*' is already loaded"):
        openspiel.load(pyspiel.load_game("kuhn_poker"), players=2)


def test_without_openspiel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(SubgameError, match=r"pip install 'subgame\[openspiel\]'"):
        openspiel.load("kuhn_poker")


def test_importing_the_module_does_not_need_openspiel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    # A second copy under another name: the module that others hold stays as it is.
    spec = importlib.util.spec_from_file_location("openspiel_again", openspiel.__file__)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    with pytest.raises(SubgameError, match="OpenSpiel is not installed"):
        again.load("kuhn_poker")
