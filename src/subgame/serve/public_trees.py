"""Games of the catalogue and uploaded ones: their public trees, strategies and best responses."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError, did_you_mean

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.sequence.tree import SequenceTree
    from subgame.tree.strategy import Strategy

UPLOADED = re.compile(r"upload-([0-9a-f]{12})")
NAMED = re.compile(r"[a-z0-9+_-]{1,40}(\([^()]{0,400}\))?", re.IGNORECASE)
EFG = 1_000_000
"""Characters of the largest Gambit file."""
DRAWN = 40
"""Public states that are drawn below the one that is looked at."""
BESIDE = 30
"""Public states that are drawn beside it and beside those that lead to it."""
LISTED = 200
"""Infosets that are listed at a public state."""
PATIENCE, MEMORY = 20.0, "1GiB"
"""What compiling a game for the page may take."""


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
            "holdem": row.name.startswith(("holdem", "nlfh", "nlth", "hunl")),
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


def compiled(game: Game) -> SequenceTree:
    """The tree of a game, if it is small enough to be looked at."""
    from subgame import compile
    from subgame.games.holdem.game import Holdem
    from subgame.tree.sequence.tree import sequence_tree

    if isinstance(game, Holdem):
        raise SubgameError(
            f"{game.name} has too many public states to draw. Spots of hold'em are shown on the "
            "page Solve."
        )
    end = time.monotonic() + PATIENCE

    def watch(histories: int) -> None:
        if time.monotonic() > end:
            raise SubgameError(
                f"{game} has more than {histories:,} histories, which is too large to be shown "
                "here; solve it with 'subgame solve'."
            )

    return sequence_tree(compile(game, memory_limit=MEMORY, progress=watch))


def overview(game: Game, tree: SequenceTree) -> dict[str, Any]:
    """What is known of a game as a whole."""
    one, two = tree.players
    title = getattr(game, "title", "") or str(game)
    return {
        "name": str(game),
        "title": title,
        "public_states": tree.num_nodes,
        "infosets": [len(one.names), len(two.names)],
        "sequences": [one.num_sequences, two.num_sequences],
        "frontiers": list(game.frontiers()),
        "blueprints": list(game.blueprints()),
    }


def children_of(tree: SequenceTree) -> list[list[int]]:
    """[n] the public states that follow each one."""
    out: list[list[int]] = [[] for _ in range(tree.num_nodes)]
    for node, parent in enumerate(tree.node_parent.tolist()):
        if parent >= 0:
            out[parent].append(node)
    return out


def acting(tree: SequenceTree) -> list[int | None]:
    """[n] who has infosets at each public state: 0, 1, 2 for both; None for chance or the end."""
    out: list[int | None] = [None] * tree.num_nodes
    for p, side in enumerate(tree.players):
        for node in set(side.node.tolist()):
            out[node] = p if out[node] is None else 2
    return out


def around(tree: SequenceTree, at: int) -> dict[str, Any]:
    """The public states to draw: those that lead to `at`, those beside them, and the next ones."""
    if not 0 <= at < tree.num_nodes:
        raise SubgameError(f"The game has the public states 0 to {tree.num_nodes - 1}.")
    below, who = children_of(tree), acting(tree)
    path, node = [at], at
    while (node := int(tree.node_parent[node])) >= 0:
        path.append(node)
    shown = list(reversed(path))
    for each in reversed(path[1:]):
        shown += below[each][:BESIDE]
    queue, most = [at], len(shown) + DRAWN
    while queue and len(shown) < most:
        more = below[queue.pop(0)]
        shown += more
        queue += more
    return {
        "at": at,
        "path": list(reversed(path)),
        "nodes": [
            {
                "id": n,
                "name": tree.node_names[n],
                "parent": int(tree.node_parent[n]),
                "chance": float(tree.node_chance[n]),
                "player": who[n],
                "children": len(below[n]),
            }
            for n in dict.fromkeys(shown)
        ],
    }


def strategies_at(tree: SequenceTree, strategy: Strategy, at: int) -> list[dict[str, Any]]:
    """The infosets of a public state: the strategy there, and what each action is worth.

    The worth of an action is that against the opponent's strategy, if the player goes on with a
    best response (Brown & Sandholm 2017 write it as a counterfactual best-response value).
    """
    import numpy as np

    from subgame.papers.coin_toss import action_values

    rows: list[dict[str, Any]] = []
    for p, side in enumerate(tree.players):
        here = np.flatnonzero(side.node == at).tolist()
        if not here:
            continue
        worth = action_values(tree, strategy, p)
        for i in here[:LISTED]:
            name, probs = side.names[i], strategy.row(p, i)
            values = worth[name]
            best = max(values.values())
            rows.append(
                {
                    "player": p,
                    "infoset": name,
                    "actions": [
                        {
                            "name": action,
                            "probability": prob,
                            "value": values[action],
                            "best": values[action] >= best - 1e-9,
                        }
                        for action, prob in probs.items()
                    ],
                }
            )
    return rows


def figures(tree: PublicTree, strategy: Strategy) -> dict[str, Any]:
    """The exploitability and the value of a strategy."""
    from subgame.solve.evaluate import expected_value, exploitability

    gap = exploitability(tree, strategy)
    return {
        "exploitability": gap.mean,
        "per_seat": list(gap.per_seat),
        "value": expected_value(tree, strategy),
    }
