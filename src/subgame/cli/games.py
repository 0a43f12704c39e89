"""``subgame games``: list the games."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from rich.text import Text

from subgame.cli.arguments import JsonOption
from subgame.cli.common import emit, stdout

if TYPE_CHECKING:
    from subgame.games import Row


def games_command(json: JsonOption = False) -> None:
    """List the games with their parameters and defaults.

    Give parameters in parentheses after the name: [bold]'liars-dice(faces=5)'[/]. Write
    openspiel:NAME for a game of OpenSpiel, the path of the file for a Gambit game, and
    FILE.py:CLASS for a game of your own.
    """
    from subgame import games

    rows = games.catalogue()
    if json:
        emit({"games": [_as_dict(row) for row in rows]})
        return
    console = stdout()
    from subgame.cli.console import next_steps, table

    shown = table("name", "parameters and defaults", "description")
    for row in rows:
        inside = ", ".join(
            key if default is inspect.Parameter.empty else f"{key}={default}"
            for key, default in row.parameters.items()
        )
        shown.add_row(Text(row.name, style="bold cyan"), Text(inside), Text(row.summary))
    console.print(shown, end="")
    next_steps(
        console,
        ("subgame solve leduc", "solve one of the games"),
        ("subgame solve 'liars-dice(dice=1, faces=5)'", "set its parameters"),
        ("subgame solve 'openspiel:leduc_poker'", "solve a game of OpenSpiel, if it is installed"),
        ("subgame solve my-game.efg", "solve a game from a Gambit file"),
        ("subgame solve my_game.py:MyGame", "solve a game of your own"),
    )


def _as_dict(row: Row) -> dict[str, object]:
    empty = inspect.Parameter.empty
    return {
        "name": row.name,
        "summary": row.summary,
        "parameters": {k: None if v is empty else v for k, v in row.parameters.items()},
        "required": [key for key, value in row.parameters.items() if value is empty],
    }
