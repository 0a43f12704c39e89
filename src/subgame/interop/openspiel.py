"""Policies of OpenSpiel, and strategies over its games and over those that it has too.

`subgame.games.openspiel` reads its games. `pyspiel` is imported only when something here is called:
``pip install subgame[openspiel]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from subgame.errors import SubgameError, did_you_mean
from subgame.games.openspiel import (
    OpenSpielGame,
    OpenSpielReader,
    OpenSpielState,
    load,
    pyspiel_module,
)
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.walk import Histories
from subgame.tree.strategy import Strategy

__all__ = [
    "EQUIVALENT",
    "OpenSpielGame",
    "OpenSpielReader",
    "OpenSpielState",
    "load",
    "policy",
    "pyspiel_game",
    "strategy",
]


def _dark_hex(parameters: Mapping[str, Any]) -> str:
    if not parameters["abrupt"]:
        raise SubgameError(
            "OpenSpiel's classical dark hex tells players how often the opponent tried, so it has "
            "other infosets than dark-hex; the abrupt games are equal."
        )
    return f"dark_hex(num_rows={parameters['rows']},num_cols={parameters['cols']},gameversion=adh)"


EQUIVALENT: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "battleship": lambda p: (
        f"battleship(board_width={p['cols']},board_height={p['rows']},ship_sizes=[{p['ship']}],"
        f"ship_values=[1],num_shots={p['shots']},allow_repeated_shots=false)"
    ),
    "dark-hex": _dark_hex,
    "kuhn": lambda _: "kuhn_poker",
    "leduc": lambda _: "leduc_poker",
    "liars-dice": lambda p: f"liars_dice(numdice={p['dice']},dice_sides={p['faces']})",
    "goofspiel": lambda p: (
        f"goofspiel(imp_info=True,num_cards={p['cards']},points_order={p['order']},"
        f"returns_type={ {'win-loss': 'win_loss', 'points': 'point_difference'}[p['returns']] })"
    ),
}
"""Our games that OpenSpiel has too, with the same histories."""


def pyspiel_game(tree: PublicTree) -> Any:
    """The pyspiel game of a tree: the one it was loaded from, or the one equal to our game."""
    game = _histories(tree).game
    if isinstance(game, OpenSpielGame):
        return game.pyspiel_game
    if game.name not in EQUIVALENT:
        raise did_you_mean("game that OpenSpiel has too", game.name, EQUIVALENT)
    return load(EQUIVALENT[game.name](game.parameters)).pyspiel_game


def policy(strategy: Strategy) -> object:
    """A strategy as a `pyspiel.TabularPolicy`, e.g. for `pyspiel.exploitability`.

    It works for trees of games loaded from OpenSpiel, and for those of our games that OpenSpiel
    has.
    """
    table = {}
    for p, i, state in _states(strategy.tree):
        row = strategy.row(p, i).values()
        key = state.information_state_string(p)
        table[key] = list(zip(state.legal_actions(), row, strict=True))
    return pyspiel_module().TabularPolicy(table)


def strategy(tree: PublicTree, policy: Any) -> Strategy:
    """A policy of OpenSpiel (C++ or Python) as a strategy over `tree`."""
    table = {}
    for p, i, state in _states(tree):
        probabilities = dict(policy.action_probabilities(state))
        actions = tree.players[p].actions[i]
        row = dict(
            zip(actions, (probabilities.get(a, 0.0) for a in state.legal_actions()), strict=True)
        )
        table[f"player {p}: {tree.players[p].names[i]}"] = row
    return Strategy.from_table(tree, table)


def _histories(tree: PublicTree) -> Histories:
    histories = tree.histories
    if histories is None:
        raise SubgameError(f"{tree!r} is not a whole game, so OpenSpiel has no policy for it.")
    return histories


def _states(tree: PublicTree) -> Iterator[tuple[int, int, Any]]:
    """(player, infoset, pyspiel state in it) for every infoset, by replaying one history of each.

    Both games list actions and outcomes in the same order, so the path is a list of indices.
    """
    histories, root = _histories(tree), pyspiel_game(tree).new_initial_state()
    for p, side in enumerate(tree.players):
        for i, origin in enumerate(side.origin.tolist()):
            h, path = int(histories.tables[p].first[origin]), []
            while h > 0:
                path.append(int(histories.action[h]))
                h = int(histories.parent[h])
            state = root.clone()
            for a in reversed(path):
                state.apply_action(state.legal_actions()[a])
            if state.current_player() != p or len(state.legal_actions()) != len(side.actions[i]):
                raise SubgameError(
                    f"OpenSpiel's game differs from {tree.game_name} at infoset '{side.names[i]}'."
                )
            yield p, i, state
