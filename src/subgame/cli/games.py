"""``subgame games``: what there is to solve."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from rich.text import Text

from subgame.cli.common import JsonOption, emit, next_steps, stdout, table

if TYPE_CHECKING:
    from subgame.games import Row


def games_command(json: JsonOption = False) -> None:
    """List the games, their parameters and the defaults.

    Parameters stand in brackets after the name: [bold]subgame solve 'liars-dice(faces=5)'[/].
    Games of OpenSpiel are named openspiel:NAME, and Gambit files by their path.
    """
    from subgame import games

    rows = games.catalogue()
    if json:
        emit({"games": [_as_dict(row) for row in rows]})
        return
    console = stdout()
    shown = table("name", "parameters and defaults", "what it is")
    for row in rows:
        inside = ", ".join(
            key if default is inspect.Parameter.empty else f"{key}={default}"
            for key, default in row.parameters.items()
        )
        shown.add_row(Text(row.name, style="bold cyan"), Text(inside), Text(row.summary))
    console.print(shown, end="")
    next_steps(
        console,
        [
            ("subgame solve leduc", "solve one of them"),
            ("subgame solve 'liars-dice(dice=1, faces=5)'", "with other parameters"),
            ("subgame solve 'openspiel:leduc_poker'", "a game of OpenSpiel, if that is installed"),
            ("subgame solve my-game.efg", "a game in a Gambit file"),
        ],
    )


def _as_dict(row: Row) -> dict[str, object]:
    empty = inspect.Parameter.empty
    return {
        "name": row.name,
        "summary": row.summary,
        "parameters": {k: None if v is empty else v for k, v in row.parameters.items()},
        "required": [key for key, value in row.parameters.items() if value is empty],
    }
