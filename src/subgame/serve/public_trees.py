"""Games of the catalogue and uploaded ones: their public trees, strategies and best responses."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from subgame.errors import MemoryLimitError, SubgameError, did_you_mean

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

UPLOADED = re.compile(r"upload-([0-9a-f]{12})")
NAMED = re.compile(r"[a-z0-9+_-]{1,40}(\([^()]{0,400}\))?", re.IGNORECASE)
HOLDEM = ("holdem", "nlfh", "nlth", "hunl")
EFG = 1_000_000
"""Characters of the largest Gambit file."""
DRAWN = 40
"""Public states that are drawn below the one that is looked at."""
BESIDE = 30
"""Public states that are drawn beside it and beside those that lead to it."""
LISTED = 200
"""Infosets that are listed at a public state."""
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

    if found := UPLOADED.fullmatch(name):
        path = data / "games" / f"{found[1]}.efg"
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


def view_of(game: Game) -> View:
    """The public tree of a game, as the page walks it."""
    from subgame.games.holdem.game import Holdem
    from subgame.serve.range_views import RangeView

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


class View(Protocol):
    """The public states of a tree, as the page walks them."""

    about: dict[str, Any]
    """What the page is told of the whole tree."""

    @property
    def tree(self) -> PublicTree:
        """The tree."""

    def find(self, at: str) -> Any:
        """The public state of a name in an address; the first one if it is empty."""

    def parent(self, node: Any) -> Any:
        """The public state before this one, or None."""

    def children(self, node: Any) -> list[Any]:
        """The public states that follow."""

    def facts(self, node: Any) -> dict[str, Any]:
        """Id, name, chance and the acting player: 0, 1, 2 for both, None for chance or the end."""

    def strategies(self, strategy: Strategy, node: Any, hands: str) -> dict[str, Any]:
        """The infosets of a public state: the strategy there, and what each action is worth.

        The worth of an action is that against the opponent's strategy, if the player goes on with a
        best response (Brown & Sandholm 2017 write it as a counterfactual best-response value).
        """


def around(view: View, at: Any) -> dict[str, Any]:
    """The public states to draw: those that lead to `at`, those beside them, and the next ones."""
    path, node = [at], at
    while (node := view.parent(node)) is not None:
        path.insert(0, node)
    shown = list(path)
    for each in path[:-1]:
        shown += view.children(each)[:BESIDE]
    queue, most = [at], len(shown) + DRAWN
    while queue and len(shown) < most:
        more = view.children(queue.pop(0))
        shown += more
        queue += more
    known = {}
    for each in shown:
        row, above = view.facts(each), view.parent(each)
        row["parent"] = None if above is None else view.facts(above)["id"]
        known[row["id"]] = row | {"children": len(view.children(each))}
    ids = [view.facts(each)["id"] for each in path]
    return {"at": ids[-1], "path": ids, "nodes": list(known.values())}


class SequenceView:
    """The public states of a game that was compiled history by history: their numbers."""

    def __init__(self, tree: PublicTree) -> None:
        from subgame.tree.sequence.tree import sequence_tree

        self.tree = sequence_tree(tree)
        self.about = {
            "seats": ["Player 1", "Player 2"],
            "target": 1e-3,
            "sequences": [side.num_sequences for side in self.tree.players],
        }
        self._below: list[list[int]] = [[] for _ in range(self.tree.num_nodes)]
        for node, parent in enumerate(self.tree.node_parent.tolist()):
            if parent >= 0:
                self._below[parent].append(node)
        self._acting: list[int | None] = [None] * self.tree.num_nodes
        for p, side in enumerate(self.tree.players):
            for node in set(side.node.tolist()):
                self._acting[node] = p if self._acting[node] is None else 2

    def find(self, at: str) -> int:
        """The number itself."""
        if not (at or "0").isdecimal() or len(at) > 12 or int(at or 0) >= self.tree.num_nodes:
            raise SubgameError(f"The game has the public states 0 to {self.tree.num_nodes - 1}.")
        return int(at or 0)

    def parent(self, node: int) -> int | None:
        """The public state before this one, or None."""
        above = int(self.tree.node_parent[node])
        return above if above >= 0 else None

    def children(self, node: int) -> list[int]:
        """The public states that follow."""
        return self._below[node]

    def facts(self, node: int) -> dict[str, Any]:
        """Id, name, chance and the acting player."""
        return {
            "id": node,
            "name": self.tree.node_names[node],
            "chance": float(self.tree.node_chance[node]),
            "player": self._acting[node],
        }

    def strategies(self, strategy: Strategy, node: int, hands: str) -> dict[str, Any]:
        """One row per infoset; `hands` means nothing here."""
        import numpy as np

        from subgame.papers.coin_toss import action_values

        rows: list[dict[str, Any]] = []
        for p, side in enumerate(self.tree.players):
            here = np.flatnonzero(side.node == node).tolist()
            worth = action_values(self.tree, strategy, p) if here else {}
            for i in here[:LISTED]:
                name = side.names[i]
                rows.append(infoset_row(p, name, strategy.row(p, i), worth[name]))
        return {"infosets_here": rows}


def infoset_row(
    player: int,
    name: str,
    probabilities: Mapping[str, float],
    values: Mapping[str, float],
    tolerance: float = 1e-9,
) -> dict[str, Any]:
    """An infoset as the page shows it; values that are not known (nan) become None."""
    known = [value for value in values.values() if value == value]
    best = max(known, default=0.0) - tolerance
    return {
        "player": player,
        "infoset": name,
        "actions": [
            {
                "name": action,
                "probability": share,
                "value": values[action] if values[action] == values[action] else None,
                "best": values[action] >= best,
            }
            for action, share in probabilities.items()
        ],
    }


def figures(tree: PublicTree, strategy: Strategy) -> dict[str, Any]:
    """The exploitability and the value of a strategy."""
    from subgame.solve.evaluate import expected_value, exploitability

    gap = exploitability(tree, strategy)
    return {
        "exploitability": gap.mean,
        "per_seat": list(gap.per_seat),
        "value": expected_value(tree, strategy),
    }
