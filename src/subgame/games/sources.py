"""Games that are not in the registry: of OpenSpiel, in Gambit files and in Python files.

| text | game |
| --- | --- |
| ``openspiel:leduc_poker`` | a game of OpenSpiel |
| ``my-game.efg`` | the game in a Gambit file |
| ``my_game.py:MyGame(cards=3)`` | a `Game` subclass, or a function that makes one, in a file |

The readers of the first two belong to a higher layer. They are loaded by name when they are asked
for, as plugins are.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from subgame.errors import SubgameError, check_regular, did_you_mean
from subgame.games.base import Game

OPENSPIEL = "openspiel:"
PYTHON = re.compile(r"\s*(?P<file>.*\.py)\s*(?::\s*(?P<name>\w*)\s*(?P<rest>.*))?", re.DOTALL)


class InFile(NamedTuple):
    """A game in a Python file: ``file.py:Name``, and what follows, such as ``(cards=3)``."""

    file: Path
    name: str
    rest: str


def elsewhere(text: str) -> Callable[..., Game] | None:
    """The reader for a game of OpenSpiel or a Gambit file; None for any other text."""
    if text.strip().lower().startswith(OPENSPIEL):
        rest = text.strip()[len(OPENSPIEL) :].strip()
        from subgame.games.openspiel import load

        return lambda **parameters: load(rest, **parameters)
    if text.strip().lower().endswith(".efg"):
        return _gambit(text.strip())
    return None


def _gambit(path: str) -> Callable[..., Game]:
    def made(**parameters: Any) -> Game:
        from subgame.games.gambit import load

        if parameters:
            raise SubgameError(f"The Gambit file {path} takes no parameters.")
        return load(path)

    return made


def in_file(text: str) -> InFile | None:
    """The parts of ``file.py:Name``; None for a text without a Python file.

    >>> in_file("my_game.py:MyGame(cards=3)")[1:], in_file("leduc")
    (('MyGame', '(cards=3)'), None)
    """
    match = PYTHON.fullmatch(text)
    if match is None:
        return None
    if not match["name"]:
        raise SubgameError(
            f"'{text}' does not say which game in the file; write {match['file']}:NAME, where NAME "
            "is a Game subclass or a function that makes a game."
        )
    return InFile(Path(match["file"]), match["name"], match["rest"])


def read_file(at: InFile) -> Callable[..., Game]:
    """What makes the game in a Python file: a `Game` subclass, a function, or a game itself."""
    module = _run(at.file)
    own = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    if at.name not in own:
        ours = [key for key, value in own.items() if _local(value, module)]
        raise did_you_mean(f"name in {at.file}", at.name, ours)
    made = own[at.name]
    if isinstance(made, Game):
        return lambda: made
    if not callable(made) or (isinstance(made, type) and not issubclass(made, Game)):
        raise SubgameError(
            f"{at.name} in {at.file} is {_kind(made)}; it must be a subclass of subgame.Game, a "
            "function that makes a game, or a game."
        )
    factory: Callable[..., Game] = made
    return factory


def _local(value: object, module: ModuleType) -> bool:
    """Whether the file itself made a value that may be a game."""
    of_module = getattr(value, "__module__", None) == module.__name__
    return isinstance(value, Game) or (callable(value) and of_module)


def _kind(value: object) -> str:
    if isinstance(value, type):
        return "another class"
    return f"an object of type {type(value).__name__}"


def _run(file: Path) -> ModuleType:
    """The module in a file. It is run again each time, because the file may have changed."""
    import hashlib

    check_regular(file, "a Python file with a game")
    file = file.resolve()
    name = f"{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(file.parent) not in sys.path:  # the file may import its neighbours, as a script may
        sys.path.append(str(file.parent))
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise SubgameError(f"{file.name} cannot be loaded: {in_one_line(error)}.") from error
    return module


def in_one_line(error: BaseException) -> str:
    """The kind and message of an exception, on one line."""
    said = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
