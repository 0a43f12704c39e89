"""`solve_lp`: both players of a tree from one linear program, or an exact equilibrium."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.solve.evaluate import exploitability_of, value_of
from subgame.solve.exact import Certificate, certify
from subgame.solve.program import constraints, maximin
from subgame.solve.results import Point, Result
from subgame.tree.public_tree import PublicTree, both
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]


def solve_lp(
    tree: PublicTree,
    *,
    method: str = "highs",
    tremble: tuple[int, float] | None = None,
    exact: bool = False,
    device: str | None = None,
) -> Result:
    """Solve a tree exactly, both players from one linear program.

    With `tremble` (player, probability) that player takes every action of the player's first
    decisions with at least that probability. The linear program is solved on the CPU; the result is
    evaluated on `device`, as in `solve`.

    With `exact` the equilibrium is one in fractions, and `Result.certificate` proves it.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> round(sg.solve_lp(tree).value * -18, 9)
    1.0
    >>> sg.solve_lp(tree, exact=True).certificate.value
    Fraction(-1, 18)
    """
    began, tree = time.perf_counter(), sequence_tree(tree)
    run = engine(tree, device=device)
    certificate, steps = None, 0
    if exact:
        if tremble:
            raise SubgameError("An exact equilibrium has no trembles; leave one of the two out.")
        certificate = certify(tree)
        plans = _as_floats(certificate)
    else:
        plans, steps = _plans(tree, method, tremble)
    strategy = Strategy(tree, both(lambda q: run.behaviour(q, plans[q])), {"schedule": "lp"})
    seconds = time.perf_counter() - began
    gap = exploitability_of(run, strategy.probs)
    return Result(
        game=tree.game_name,
        schedule="lp",
        seed=0,
        strategy=strategy,
        iterations=steps,
        seconds=seconds,
        value=value_of(run, strategy.probs),
        exploitability=gap,
        curve=(Point(steps, seconds, float(gap)),),
        stopped="optimal",
        certificate=certificate,
    )


def _as_floats(certificate: Certificate) -> tuple[Floats, Floats]:
    return both(lambda p: np.array([float(weight) for weight in certificate.plans[p]]))


def _plans(
    tree: SequenceTree, method: str, tremble: tuple[int, float] | None
) -> tuple[tuple[Floats, Floats], int]:
    """Both players' plans by the linear program of one, and the number of its steps."""
    p, least = tremble or (0, 0.0)
    own, other = tree.players[p], tree.players[1 - p]
    size = own.num_sequences
    floor = np.zeros(size)
    if least and len(own.names):
        start = own.plex.block_sequence[0]
        floor[start : start + own.plex.block_actions[0] * own.plex.block_infoset[1]] = least
    between = (floor, np.full(size, np.inf))
    solved = maximin(tree.game_name, constraints(tree, p), other.reach, between, method)
    mine = np.maximum(solved.x[:size], 0)
    theirs = np.maximum(-solved.ineqlin.marginals, 0)
    return ((mine, theirs) if p == 0 else (theirs, mine)), int(solved.nit)
