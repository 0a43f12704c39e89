"""Whether a solve of the turn gains by beginning with the blueprint.

    python benchmarks/turn_warm.py [--turns 8] [--seed 3] [--out FILE]

Turns are drawn as the blueprint comes to them against itself (`turn_menus.py`). They are solved
with both ranges, as the agent does: from nothing, and with regrets in proportion to the blueprint's
probabilities on all rivers (Brown & Sandholm 2016, Strategy-Based Warm Starting). After some
iterations each solution is graded, in per cent of the pot: by how much more a best response wins
from it than from a good solution, and by how much more it wins from an opponent who plays the
blueprint than the blueprint does. Both players' solutions count.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from race_commits import write_result
from subgame.engines.factory import engine
from subgame.games.holdem import hunl
from subgame.play.blueprint_agent import loaded
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.laid import Laid
from subgame.play.hunl.turn import USUAL, TurnSolver, with_likely_hands
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.public_tree import both
from subgame.tree.ranges.tree import RangeTree, range_tree
from turn_menus import Turn, turns

ITERATIONS, ENOUGH = (4, 8, 16, 32, 64, 128), 600
BEGUN = {"from nothing": 0.0, "from the blueprint": 1.0, "from the blueprint, firmly": 10.0}
"""Regrets with which a solve begins, in pots for each hand that is met."""


def laid_over(laid: Laid, here: ReachedRanges, tree: RangeTree, p: int) -> tuple[Any, Any]:
    """[q] a player's blueprint over the turn and all rivers, and how many rivers share a number."""
    sigma, rivers = np.zeros((2, tree.stored(p)), np.float32)
    left = [card for card in range(here.game.deck.size) if card not in here.board]
    for boards, street in zip(
        ([here.board], [(*here.board, card) for card in left]), tree.streets, strict=True
    ):
        for board in boards:
            for state, names in zip(street.states[p], street.actions[p], strict=True):
                _, first, stride = tree.players[p].finder.cells(board, str(state))
                cells = first[first >= 0][:, None] + stride * np.arange(len(names))
                sigma[cells], rivers[cells] = (
                    laid.rows(state, names, board)[first >= 0],
                    len(boards),
                )
    return sigma, rivers


class Graded:
    """A turn as it is solved."""

    def __init__(self, turn: Turn) -> None:
        game = TurnSolver(hunl()).menus[0][USUAL[0]]
        here = with_likely_hands(replace(turn.state.reached, game=game), 0)
        self.tree = range_tree(here.subgame.tree)
        self.on, self.pot = engine(self.tree), float(here.betting.pot)
        reach = both(lambda p: here.reach[p][here.roots(p)][None])
        self.reach = both(lambda p: reach[p] / reach[p].max())
        laid = Laid(loaded(), turn.state.hand)
        over = both(lambda p: laid_over(laid, here, self.tree, p))
        self.blueprint, self.rivers = both(lambda p: over[p][0]), both(lambda p: over[p][1])
        met = self.on.opposing(0, self.reach[1][None], 0)
        self.pairs = float((np.ravel(met)[: self.reach[0].size] * self.reach[0]).sum())

    def grades(self, sigma: Any) -> list[tuple[float, float]]:
        """By player: what a best response wins, and what is won from the blueprint."""
        out = []
        for p, o in ((0, 1), (1, 0)):
            plan = self.on.plan(p, sigma[p], self.reach[p])
            best, same = self.on.respond(o, plan), self.on.values(o, self.blueprint[o], plan)
            share = 100 / self.pairs / self.pot
            lost, kept = (float((one.roots * self.reach[o]).sum()) for one in (best, same))
            out.append((share * lost, -share * kept))
        return out

    def run(self, pots: float) -> Run:
        """A solve, begun with regrets of so many pots."""
        run = Run(self.tree, parse(self.tree.usual_schedule), reach=self.reach)
        if pots:
            mass = both(lambda p: self.reach[1 - p].sum() / np.maximum(self.rivers[p], 1))
            run.cfr.begin_with(both(lambda p: pots * self.pot * mass[p] * self.blueprint[p]))
        return run


def graded(turn: Turn) -> dict[str, Any]:
    """The grades of the solutions of a turn, means of both players."""
    at = Graded(turn)
    best = at.run(0.0)
    best.advance(ENOUGH)
    least, known = at.grades(best.strategy().probs), at.grades(at.blueprint)

    def row(sigma: Any) -> list[float]:
        rows = zip(at.grades(sigma), least, known, strict=True)
        both_grades = [(lost - few, won - own) for (lost, won), (few, _), (_, own) in rows]
        return [float(mean) for mean in np.mean(both_grades, axis=0)]

    out: dict[str, Any] = {"blueprint": row(at.blueprint), "solution": row(best.strategy().probs)}
    for name, pots in BEGUN.items():
        run = at.run(pots)
        for count in ITERATIONS:
            run.advance(count - run.iteration)
            out[f"{count} {name}"] = row(run.strategy().probs)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    agent, rows = HoldemAgent(hunl(), loaded(), seconds=None), list[dict[str, Any]]()
    for turn in turns(agent, asked.turns, asked.seed):
        rows.append({"turn": " ".join(action for _, action in turn.line), **graded(turn)})
        print(json.dumps(rows[-1]), flush=True)
    names = [name for name in rows[0] if name != "turn"]
    means = {name: np.mean([row[name] for row in rows], axis=0).tolist() for name in names}
    for name, (lost, won) in means.items():
        print(f"{name}: a best response wins {lost:.2f} % more; wins {won:.2f} %")
    result = {
        "lost and won, % of the pot": means,
        "rows": rows,
    }
    title = "Turns solved from nothing and from the blueprint"
    write_result(asked, __file__, title, result)


if __name__ == "__main__":
    main()
