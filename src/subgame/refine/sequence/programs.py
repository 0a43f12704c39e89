"""The linear programs of Moravcik et al. 2016, on the same subgame object as the gadgets.

With x our plan in the subgame and v the opponent's counterfactual best-response values,

    LP1 (endgame solving)  min  sum of the opponent's blueprint reach times v
    LP2 (re-solving)       find x with  v(I) <= CBV(I) at every root infoset I
    LP3 (max-margin)       max  m  with  CBV(I) - v(I) >= m

They share nothing with the gadget games but the subgame, and so are their oracle.

`best_completion` is the best that can be played below a frontier: it evaluates a trunk alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from subgame.engines.arrays import Floats
from subgame.engines.factory import engine
from subgame.errors import SubgameError, brief
from subgame.refine.learners import GadgetInputs
from subgame.refine.sequence.subgames import SequenceSubgame, sequence_subgames
from subgame.refine.subgame import At, Subgame, left
from subgame.solve.program import constraints, maximin
from subgame.tree.public_tree import PublicTree, both
from subgame.tree.sequence.tree import sequence_tree
from subgame.tree.strategy import Strategy


class Programme(NamedTuple):
    """A solved program: our strategy inside, the objective and the opponent's values."""

    sigma: Floats  # [q] our strategy, over the subgame's own tree
    objective: float  # LP1: the opponent's expected value; LP2: 0; LP3: the subgame margin
    values: Floats  # [s] what the opponent can get at each root infoset, normalised


def program(
    kind: Literal["lp1", "lp2", "lp3"], subgame: SequenceSubgame, inputs: GadgetInputs
) -> Programme:
    """Solve LP1, LP2 or LP3 through HiGHS. Gifts are part of the inputs' alternative payoffs."""
    from scipy.sparse import block_array, csr_array, diags_array, eye_array, hstack

    if kind not in ("lp1", "lp2", "lp3"):
        raise SubgameError(f"The program must be lp1, lp2 or lp3, not '{kind}'.")
    o = inputs.opponent
    us, them = subgame.tree.players[1 - o], subgame.tree.players[o]
    parts = constraints(subgame.tree, 1 - o, np.ones(len(us.slots)))
    # Well-scaled however seldom we come: our reach goes into the payoffs, and the opponent's values
    # are normalised by pi_{-i} of the root infoset they lie below.
    unit = np.where(inputs.weight > 0, inputs.weight, 1.0)
    payoff = (
        diags_array(1 / unit[them.slot_of])
        @ parts.payoff
        @ diags_array(inputs.our_reach[us.slot_of])
    )
    size, bounds, objective = us.num_sequences, parts.bound, inputs.opponent_reach * unit
    least, most, plan = np.zeros(size), np.full(size, np.inf), parts.plan
    if kind != "lp1":  # m - u(I) <= CBV(I) with u = -v; m is the last bound, 0 of it in LP2
        reached = np.flatnonzero(inputs.weight > 0)
        one = np.full((len(reached), 1), kind == "lp3")
        bounds = block_array([[bounds, None], [-eye_array(bounds.shape[1]).tocsr()[reached], one]])
        payoff = block_array([[payoff, None], [None, inputs.alternative[reached, None]]])
        plan = hstack([plan, csr_array((plan.shape[0], 1))])  # the right side is times one
        least, most = np.append(least, 1.0), np.append(most, 1.0)
        objective = np.append(np.zeros(bounds.shape[1] - 1), float(kind == "lp3"))
    made = parts._replace(plan=plan, payoff=payoff, bound=bounds)
    optimum = maximin(f"'{subgame.name}' ({kind.upper()})", made, objective, (least, most))
    run = engine(subgame.tree)
    sigma = run.behaviour(1 - o, np.maximum(optimum.x[:size], 0))
    values = left(run, (sigma, sigma), inputs)
    return Programme(sigma, float(optimum.fun) * (-1 if kind == "lp3" else 1), values)


class Completion(NamedTuple):
    """A trunk with the best that can be played below it."""

    strategy: Strategy
    value: float
    """What the player gets at least, whatever the opponent does."""

    def __repr__(self) -> str:
        return brief(self)


def best_completion(
    tree: PublicTree, strategy: Strategy, *, at: At | Sequence[Subgame], player: int
) -> Completion:
    """The best that `player` can play below a frontier, if held to `strategy` above it.

    A linear program over the whole game with the player's plan above the frontier fixed: what
    perfect safe re-solving of every subgame at once would reach. It evaluates a trunk alone.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("rps-plus"))
    >>> rock = sg.Strategy.from_table(tree, {"P1 to move": {"Rock": 1}})
    >>> best_completion(tree, rock, at="P2 to move", player=0).value
    -1.0
    """
    own, other, run = tree.players[player], tree.players[1 - player], engine(tree)
    free = np.zeros(own.num_sequences, dtype=bool)
    for subgame in sequence_subgames(tree, at):
        slots = len(subgame.tree.players[player].slots)
        free[subgame.places[player][slots:]] = True
    plan = run.plan(player, strategy.probs[player])
    parts = constraints(sequence_tree(tree), player)
    least, most = np.where(free, 0.0, plan), np.where(free, np.inf, plan)
    optimum = maximin(tree.game_name, parts, other.reach, (least, most))
    sigma = run.behaviour(player, np.maximum(optimum.x[: own.num_sequences], 0))
    held = strategy.probs
    probs = both(lambda p: np.where(free, sigma, held[p]) if p == player else held[p].copy())
    return Completion(Strategy(tree, probs), -float(optimum.fun))
