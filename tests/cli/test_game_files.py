"""Games of users in Python files, by `games.load` and in every command that takes a game."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

import subgame as sg

GAME = '''
from __future__ import annotations

from dataclasses import dataclass

from neighbour import PAID
from subgame.games.base import TERMINAL, Game, State


@dataclass(frozen=True, slots=True)
class Guess(State):
    """Player 0 hides a number, player 1 guesses it."""

    done: tuple[str, ...] = ()
    numbers: int = 2

    def current_player(self):
        return len(self.done) if len(self.done) < 2 else TERMINAL

    def legal_actions(self):
        return tuple(str(number) for number in range(self.numbers))

    def child(self, action):
        return Guess((*self.done, action), self.numbers)

    def returns(self):
        won = PAID if self.done[0] == self.done[1] else 0.0
        return -won, won

    def information_state(self, player):
        return "hide" if player == 0 else "guess"

    def public_state(self):
        return str(len(self.done))


class Hide(Game):
    name = "hide"

    def __init__(self, numbers: int = 2):
        if numbers > 99:
            raise RuntimeError("too many")
        self.numbers = numbers

    def new_initial_state(self):
        return Guess((), self.numbers)

    def frontiers(self):
        return {"hidden": lambda state: len(state.done) == 1}


class Unfinished(Game):
    pass


made = Hide(3)
count = 7


def factory(numbers: int = 2):
    return Hide(numbers)


def wrong():
    return 7
'''
BROKEN = {
    "syntax.py": "def (",
    "raises.py": "1 / 0",
    "exits.py": "import sys; sys.exit(3)",
    "lost.py": "import no_such_module",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.delitem(sys.modules, "neighbour", raising=False)
    (tmp_path / "mine.py").write_text(GAME)
    (tmp_path / "neighbour.py").write_text("PAID = 1.0\n")
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "value", "name"),
    [
        ("mine.py:Hide", -1 / 2, "mine.py:Hide"),
        ("mine.py:Hide(numbers=4)", -1 / 4, "mine.py:Hide(numbers=4)"),
        (" mine.py : factory (numbers=4)", -1 / 4, "mine.py:factory(numbers=4)"),
        ("mine.py:made", -1 / 3, "mine.py:made"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_game_in_a_file_is_loaded_by_its_place(text: str, value: float, name: str) -> None:
    game = sg.games.load(text)
    assert str(game) == name
    assert sg.solve_lp(sg.compile(sg.games.load(str(game)))).value == pytest.approx(value)


@pytest.mark.usefixtures("folder")
def test_parameters_may_be_given_as_arguments() -> None:
    assert str(sg.games.load("mine.py:Hide", numbers=4)) == "mine.py:Hide(numbers=4)"
    with pytest.raises(sg.SubgameError, match="is given twice"):
        sg.games.load("mine.py:Hide(numbers=3)", numbers=4)


MISTAKES = [
    ("missing.py:Hide", "There is no file missing.py; expected a Python file with a game."),
    ("folder.py:Hide", "folder.py is a folder, not a file; expected a Python file"),
    ("pipe.py:Hide", "pipe.py is not a regular file; expected a Python file"),
    ("mine.py", "does not say which game in the file; write mine.py:NAME"),
    ("mine.py:", "does not say which game in the file; write mine.py:NAME"),
    ("mine.py:Hid", "There is no name in mine.py called 'Hid'; did you mean 'Hide'? Known: "),
    ("mine.py:Guess", "Guess in mine.py is another class; it must be a subclass of subgame.Game"),
    ("mine.py:count", "count in mine.py is an object of type int; it must be a subclass"),
    ("mine.py:wrong", "The game 'mine.py:wrong' made an object of type int, not a subgame Game."),
    ("mine.py:Unfinished", "mine.py:Unfinished cannot make the game: TypeError: Can't instant"),
    ("mine.py:Hide(numbers=100)", "mine.py:Hide cannot make the game: RuntimeError: too many."),
    ("mine.py:Hide(cards=2)", "The game 'mine.py:Hide' has no parameter 'cards'; it takes num"),
    ("mine.py:Hide(numbers=x)", "The parameter 'numbers' of the game 'mine.py:Hide' must be an"),
    ("mine.py:Hide(numbers", "'mine.py:Hide(numbers' is not a game"),
    ("syntax.py:Hide", "syntax.py cannot be loaded: SyntaxError: "),
    ("raises.py:Hide", "raises.py cannot be loaded: ZeroDivisionError: division by zero."),
    ("exits.py:Hide", "exits.py cannot be loaded: SystemExit: 3."),
    ("lost.py:Hide", "lost.py cannot be loaded: ModuleNotFoundError: No module named 'no_such"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES, ids=[text for text, _ in MISTAKES])
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(sg.SubgameError) as error:
        sg.games.load(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.mark.usefixtures("folder")
def test_every_command_that_takes_a_game_takes_a_file(cli: Cli) -> None:
    game, saved = "mine.py:Hide(numbers=3)", "hide.safetensors"
    answer = cli("solve", game, "--out", saved, "--json")
    assert answer.json()["game"] == game
    for words in (
        ("exploit", game, saved),
        ("refine", game, saved),
        ("limit", game, saved),
    ):
        at = () if words[0] == "exploit" else ("--at", "hidden")
        answer = cli(*words, *at, "--json")
        assert answer.code == 0, answer.err
    assert dict(sg.Strategy.load(saved)) == dict(
        sg.Strategy.load(saved, sg.compile(sg.games.load(game)))
    )
    wrong = cli("solve", "mine.py:Hid")
    assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)
