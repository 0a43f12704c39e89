"""`lift`: strategies of an abstraction as strategies of the whole game.

An abstraction here is a game with the same histories in the same order and coarser infosets, e.g.
`subgame.games.leduc.LeducAbstract`. A strategy of it is also a strategy of the whole game, which
has the same probabilities at all infosets that the abstraction merges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.solve.evaluate import best_response
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import sequence_tree
from subgame.tree.sequence.walk import Histories
from subgame.tree.strategy import Strategy


def lift(strategy: Strategy, tree: PublicTree) -> Strategy:
    """The strategy of the whole game, over `tree`, that plays a strategy of an abstraction.

    The two trees must have the same histories, and each infoset of `tree` must lie within one
    infoset of the abstraction.

    >>> import subgame as sg
    >>> from subgame.games.leduc import LeducAbstract
    >>> coarse = sg.compile(LeducAbstract())
    >>> tree = sg.compile(sg.games.load("leduc"))
    >>> lifted = lift(sg.solve(coarse, iterations=100).strategy, tree)
    >>> lifted["Js:cc/Qs/"] == lifted["Js:cc/Kh/"]
    True
    """
    coarse, tree = sequence_tree(strategy.tree), sequence_tree(tree)
    fine, rough = _same_histories(tree, coarse)
    probs = []
    for p in (0, 1):
        part, whole = coarse.players[p], tree.players[p]
        within = _within(tree, coarse, fine, rough, p)
        owner, roots = whole.infoset_of[len(whole.slots) :], len(whole.slots)
        action = (np.arange(roots, whole.num_sequences) - whole.first[owner]) // whole.stride[owner]
        there = np.argsort(part.origin)[within[whole.origin[owner]]]  # [q] the coarse infoset
        out = np.ones(whole.num_sequences)
        out[roots:] = strategy.probs[p][part.first[there] + part.stride[there] * action]
        probs.append(out)
    return Strategy(tree, (probs[0], probs[1]), {**strategy.notes, "abstraction": coarse.game_name})


def abstract_best_response(strategy: Strategy, tree: PublicTree) -> Strategy:
    """Each player's counterfactual best response within an abstraction, as a strategy over `tree`.

    `strategy` is one of the abstraction. With the result as ``estimate=``, `subgame.refine` takes
    as the opponent's value of a subgame the counterfactual best-response value inside the
    abstraction, the estimate of Brown & Sandholm 2017, Appendix C.
    """
    coarse = strategy.tree
    replies = [best_response(coarse, strategy, p).strategy.probs[p] for p in (0, 1)]
    return lift(Strategy(coarse, (replies[0], replies[1])), tree)


def _same_histories(tree: PublicTree, coarse: PublicTree) -> tuple[Histories, Histories]:
    """The histories of both trees, after checking that they are the same."""
    fine, rough = tree.histories, coarse.histories
    if fine is None or rough is None:
        lacking = tree if fine is None else coarse
        raise SubgameError(f"{lacking!r} keeps no histories, so the two trees cannot be compared.")
    if len(fine) != len(rough):
        raise _other(tree, coarse, f"it has {len(rough):,} histories, not {len(fine):,}")
    labels = [np.array([*h.labels, ""])[h.edge] for h in (fine, rough)]  # the start's edge is -1
    differ = (fine.parent != rough.parent) | (fine.player != rough.player)
    differ |= (labels[0] != labels[1]) | ~np.isclose(fine.chance, rough.chance, atol=1e-12)
    differ |= ~np.isclose(fine.payoff, rough.payoff, atol=1e-9)
    if differ.any():
        path = " ".join(fine.path(int(np.argmax(differ))))
        raise _other(tree, coarse, f"they differ at history '{path}'")
    return fine, rough


def _other(tree: PublicTree, coarse: PublicTree, why: str) -> SubgameError:
    return SubgameError(f"{coarse.game_name} is not an abstraction of {tree.game_name}: {why}.")


def _within(
    tree: PublicTree, coarse: PublicTree, fine: Histories, rough: Histories, p: int
) -> NDArray[np.int32]:
    """[i] for each infoset of the game, the infoset of the abstraction that contains it."""
    table, blurred = fine.tables[p], rough.tables[p]
    within = rough.infoset[table.first]
    here = np.flatnonzero(fine.player == p)
    torn = rough.infoset[here] != within[fine.infoset[here]]
    if torn.any():
        name = table.names[int(fine.infoset[here[np.argmax(torn)]])]
        raise _other(tree, coarse, f"it distinguishes histories of infoset '{name}'")
    for i, j in enumerate(within.tolist()):
        if table.actions[i] != blurred.actions[j]:
            raise _other(tree, coarse, f"infoset '{table.names[i]}' has other actions there")
    return within
