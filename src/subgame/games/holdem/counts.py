"""How many nodes and boards a hold'em game has, counted without building anything."""

from __future__ import annotations

from collections import Counter

from subgame.games.holdem.game import Holdem
from subgame.games.holdem.isomorphism import card_permutations, count_orbits
from subgame.games.holdem.rules import NOBODY

DEALT = (3, 1, 1)
"""Cards that are dealt on the flop, the turn and the river."""


def count_nodes(game: Holdem) -> int:
    """How many nodes the public tree has: decisions, ends of the hand, and chance nodes.

    Boards that differ only in the names of the suits are one where the ranges allow it. This is
    how postflop-solver counts; after an all-in every later street has its chance nodes too.

    >>> import subgame as sg
    >>> count_nodes(sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, 100, ("AA,KQ", "QQ,AK"), "a"))
    9
    """
    per_board: Counter[int] = Counter()
    stack = [game.start()]
    while stack:
        betting = stack.pop()
        last = betting.street if betting.folded != NOBODY else game.rules.last_street
        if betting.is_over:  # chance nodes where the board is dealt out, and the end
            per_board.update(range(betting.street, last + 1))
        else:
            per_board[betting.street] += 1
        for action in game.actions(betting):
            child = betting.child(action)
            per_board[betting.street] += child.street > betting.street  # a chance node
            stack.append(child)
    boards = count_boards(game)
    return sum(nodes * boards[street] for street, nodes in per_board.items())


def count_boards(game: Holdem) -> dict[int, int]:
    """How many boards each street has, up to the symmetries of the game: street -> boards.

    >>> from subgame.games.holdem import endgame
    >>> count_boards(endgame("Qs Jh 2h", pot=200, stacks=900))
    {1: 1, 2: 36, 3: 1429}
    """
    first, symmetries = game.start().street, card_permutations(game.deck)[game.symmetries]
    return {
        street: count_orbits(symmetries, game.gone, DEALT[first:street])
        for street in range(first, game.rules.last_street + 1)
    }
