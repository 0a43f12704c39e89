"""Gambit's files: games are read and written as text by `subgame.games.gambit`, and saved here."""

from __future__ import annotations

import os
from pathlib import Path

from subgame.games.base import Game
from subgame.games.gambit import GambitGame, GambitState, dumps, load, loads
from subgame.tree.files import replacing

__all__ = ["GambitGame", "GambitState", "dumps", "load", "loads", "save"]


def save(game: Game, path: str | os.PathLike[str]) -> None:
    """Write the game to a file.

    >>> import tempfile
    >>> import subgame as sg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(sg.games.load("kuhn"), f"{folder}/kuhn.efg")
    ...     load(f"{folder}/kuhn.efg").name
    'kuhn.efg'
    """
    text = dumps(game)
    with replacing(Path(path)) as new:
        new.write_text(text, encoding="utf-8", newline="\n")
