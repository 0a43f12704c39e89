"""Games of the catalogue and uploaded ones: their public trees, strategies and best responses."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import MemoryLimitError, SubgameError, did_you_mean

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.serve.tree_views import View
    from subgame.tree.public_tree import PublicTree

UPLOADED = re.compile(r"upload-([0-9a-f]{12})")
NAMED = re.compile(r"[a-z0-9+_-]{1,40}(\([^()]{0,400}\))?", re.IGNORECASE)
HOLDEM = ("holdem", "nlfh", "nlth", "hunl")
EFG = 1_000_000
"""Characters of the largest Gambit file."""
PATIENCE, MEMORY, HOLDEM_MEMORY = 20.0, "1GiB", "512MiB"
"""What compiling a game for the page may take, and solving it in hold'em."""


def catalogue() -> list[dict[str, Any]]:
    """The games that can be asked for by name."""
    import inspect

    from subgame import games

    return [
        {
            "name": row.name,
            "summary": row.summary,
            "parameters": {
                key: None if value is inspect.Parameter.empty else str(value)
                for key, value in row.parameters.items()
            },
            "holdem": row.name.startswith(HOLDEM),
            **({"small": small(row.name)} if row.name.startswith(HOLDEM) else {}),
        }
        for row in games.catalogue()
    ]


def load_game(data: Path, name: str) -> Game:
    """A game of the catalogue, with parameters if need be, or one that was uploaded.

    Names that `subgame.games.load` would look for in a file or in another library are refused.
    """
    from subgame import games
    from subgame.interop import gambit

    if match := UPLOADED.fullmatch(name):
        path = data / "games" / f"{match[1]}.efg"
        if not path.is_file():
            raise SubgameError("There is no such uploaded game.")
        made = gambit.loads(path.read_text(encoding="utf-8"))
        made.name = name
        return made
    plain = name.strip()
    known = [row.name for row in games.catalogue()]
    base = plain.partition("(")[0].strip().lower().replace("_", "-")
    if NAMED.fullmatch(plain) is None or base not in {*known, *games.ALIASES}:
        raise did_you_mean("game", plain[:60], known)
    return games.load(plain)


def read_efg(text: str) -> Game:
    """The game in the text of a Gambit file, checked: two players, zero sum, perfect recall."""
    from subgame.interop import gambit

    if len(text) > EFG:
        raise SubgameError(f"A game may have {EFG:,} characters at most.")
    made = gambit.loads(text)
    compiled(made)
    return made


def compiled(game: Game) -> PublicTree:
    """The tree of a game, if it is small enough to be looked at."""
    from subgame import compile
    from subgame.games.holdem.game import Holdem

    holdem = isinstance(game, Holdem)
    end = time.monotonic() + PATIENCE

    def watch(histories: int) -> None:
        if time.monotonic() > end:
            raise SubgameError(
                f"{game} has more than {histories:,} histories, which is too large to be shown "
                "here; solve it with 'subgame solve'."
            )

    try:
        limit = HOLDEM_MEMORY if holdem else MEMORY
        return compile(game, memory_limit=limit, merge=False, progress=watch)
    except MemoryLimitError:
        if not holdem:
            raise
        raise SubgameError(
            f"{game.name} with these cards and bets is too large to be drawn: its strategies take "
            f"more than {HOLDEM_MEMORY}. Choose fewer cards or bets, as in '{small(game.name)}', "
            "set up a spot on the page Solve, or play it on the page Play."
        ) from None


def small(name: str) -> str:
    """A version of a whole game of hold'em that is small enough to be drawn.

    >>> small("nlth")
    'nlth(ranks=TJQKA,suits=cd)'
    """
    less = ",stack=300,bets=all: 1x a; cap 2" if name == "hunl" else ""
    return "holdem" if name == "holdem" else f"{name}(ranks=TJQKA,suits=cd{less})"


def view_of(game: Game) -> View[Any]:
    """The public tree of a game, as the page walks it."""
    from subgame.games.holdem.game import Holdem
    from subgame.serve.range_views import RangeView
    from subgame.serve.tree_views import SequenceView

    tree = compiled(game)
    return RangeView(tree) if isinstance(game, Holdem) else SequenceView(tree)


def overview(game: Game, tree: PublicTree) -> dict[str, Any]:
    """What is known of a game as a whole."""
    one, two = tree.players
    title = getattr(game, "title", "") or str(game)
    return {
        "name": str(game),
        "title": title,
        "public_states": tree.num_nodes,
        "infosets": [len(one.names), len(two.names)],
        "frontiers": list(game.frontiers()),
        "blueprints": list(game.blueprints()),
    }
