"""Games are found by name, and every mistake in asking for one is answered by a sentence."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from subgame import games
from subgame.errors import SubgameError, nearest
from subgame.games.kuhn import Kuhn

GROUP = games.ENTRY_POINT_GROUP


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("kuhn", "kuhn"),
        ("kuhn_poker", "kuhn"),
        (" Leduc_Poker ", "leduc"),
        ("coin_toss", "coin-toss"),
        ("rps+", "rps-plus"),
        ("liars_dice", "liars-dice(dice=1, faces=6)"),
        ("liars-dice(dice=1, faces=5)", "liars-dice(dice=1, faces=5)"),
        ("liars-dice()", "liars-dice(dice=1, faces=6)"),
        (
            "goofspiel(cards=3, order=random)",
            "goofspiel(cards=3, order=random, returns=win-loss)",
        ),
        ("goofspiel(order='ascending')", "goofspiel(cards=4, order=ascending, returns=win-loss)"),
        ("random(public=false)", "random(seed=0, depth=6, public=False, ragged=True)"),
    ],
)
def test_load_by_name(asked: str, got: str) -> None:
    assert str(games.load(asked)) == got


def test_what_a_game_is_called_loads_it_again() -> None:
    for name in games.names():
        called = str(games.load(name))
        assert str(games.load(called)) == called


def test_parameters_by_keyword() -> None:
    assert games.load("liars-dice", faces=3).parameters == {"dice": 1, "faces": 3}
    assert games.load("liars-dice(dice=2)", faces=3).parameters == {"dice": 2, "faces": 3}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("leducc", r"There is no game called 'leducc'; did you mean 'leduc'\? Known: battleship"),
        ("tic-tac-toe-9000", r"There is no game called 'tic-tac-toe-9000'"),
        ("liars-dice(dices=2)", r"'liars-dice' has no parameter 'dices'; it takes dice=1, faces=6"),
        ("kuhn(cards=4)", r"'kuhn' has no parameter 'cards'; it takes no parameters"),
        ("liars-dice(faces=six)", r"'faces' .* must be an integer, not 'six'; it takes dice=1, f"),
        ("liars-dice(faces=true)", r"'faces' of the game 'liars-dice' must be an integer, not Tr"),
        ("goofspiel(order=3)", r"'order' of the game 'goofspiel' must be a word, not 3"),
        ("random(public=1)", r"'public' of the game 'random' must be true or false, not 1"),
        ("liars-dice(faces)", r"'liars-dice\(faces\)' is not a game; write a name"),
        ("liars-dice(", r"'liars-dice\(' is not a game; write a name"),
    ],
)
def test_mistakes(asked: str, message: str) -> None:
    with pytest.raises(SubgameError, match=message):
        games.load(asked)


def test_a_parameter_given_twice() -> None:
    with pytest.raises(SubgameError, match=r"'faces' of the game 'liars-dice' is given twice"):
        games.load("liars-dice(faces=4)", faces=5)


def test_catalogue_lists_every_game_with_its_parameters() -> None:
    rows = {row.name: row for row in games.catalogue()}
    assert list(rows) == games.names()
    assert all(row.summary for row in rows.values())
    assert rows["liars-dice"].parameters == {"dice": 1, "faces": 6}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of our own, so that tests leave no games behind."""
    monkeypatch.setattr(games, "_registered", dict(games._registered))


def stretched(width: float = 1.0) -> games.Game:
    """Kuhn, but wide."""
    game = Kuhn()
    game.name = f"kuhn of width {width}"
    return game


@pytest.mark.usefixtures("registry")
def test_register() -> None:
    games.register("wide_kuhn", stretched)
    assert str(games.load("wide-kuhn", width=2)) == "kuhn of width 2.0"
    assert games.Row("wide-kuhn", "Kuhn, but wide", {"width": 1.0}) in games.catalogue()
    with pytest.raises(SubgameError, match="already is a game called 'wide-kuhn'"):
        games.register("wide-kuhn", stretched)
    with pytest.raises(SubgameError, match="already is a game called 'kuhn'"):
        games.register("kuhn_poker", stretched)


@pytest.mark.usefixtures("registry")
def test_a_required_parameter() -> None:
    def from_file(path: str, **options: object) -> games.Game:
        return Kuhn()

    games.register("file", from_file)
    assert str(games.load("file", path="x", anything=1)) == "kuhn"
    with pytest.raises(SubgameError, match="'file' needs the parameter 'path'; it takes path"):
        games.load("file")


@pytest.mark.usefixtures("registry")
def test_a_factory_that_makes_no_game() -> None:
    games.register("nothing", lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(SubgameError, match="'nothing' made an object of type int, not a subgame"):
        games.load("nothing")


def plugin(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str]) -> None:
    entries = EntryPoints(EntryPoint(name, value, GROUP) for name, value in points)

    def entry_points(group: str) -> EntryPoints:
        return entries.select(group=group)

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(monkeypatch, ("their_kuhn", "subgame.games.kuhn:Kuhn"), ("kuhn", "no_such_module:X"))
    assert "their-kuhn" in games.names()
    assert str(games.load("their-kuhn")) == "kuhn"
    assert str(games.load("kuhn")) == "kuhn"  # a plugin cannot replace a built-in game


def test_a_broken_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(monkeypatch, ("ghost", "no_such_module:Ghost"), ("number", "math:pi"))
    message = r"'ghost' comes from the plugin 'no_such_module:Ghost', .* ModuleNotFoundError: No"
    with pytest.raises(SubgameError, match=message):
        games.load("ghost")
    with pytest.raises(SubgameError, match=r"'number' comes from the plugin 'math:pi', which is n"):
        games.load("number")
    rows = {row.name: row for row in games.catalogue()}
    assert "cannot be loaded" in rows["ghost"].summary  # and the other games are still listed
    assert rows["kuhn"].summary == "Three-card poker with one bet"


@pytest.mark.parametrize(
    ("asked", "known", "near"),
    [
        ("sovle", ["solve", "limit"], "solve"),
        ("leducc", ["leduc", "kuhn"], "leduc"),
        ("LEDUC_RANK", ["leduc", "leduc-ranks"], "leduc-ranks"),
        ("--iteration", ["--iterations", "--seconds"], "--iterations"),
        ("tictactoe", ["tic_tac_toe", "go"], "tic_tac_toe"),
        ("--dice", ["--device", "--json"], None),
        ("--ante", ["--rate"], None),
        ("--rake", ["--storage", "--stack"], None),
        ("name", ["endgame", "games"], None),
        ("nosuch", ["euchre", "kuhn"], None),
        ("", ["go", "hex"], None),
    ],
)
def test_suggestions_are_near_or_absent(asked: str, known: list[str], near: str | None) -> None:
    assert nearest(asked, known) == near
