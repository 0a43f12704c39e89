"""How good a flop is solved by the number of boards on which its values were rolled out.

    python benchmarks/flop_boards.py [--flops 18] [--seed 5] [--out FILE]

The agent of hold'em solves a flop to a depth limit. What leaves are worth is the mean over sampled
boards to come (`subgame.play.hunl.rollouts`); in a short decision there are few. Here each flop is
solved with the values of few boards, with and without the correction by their luck
(`subgame.play.hunl.sampled`), as much of the solution is played as the agent plays, and a
best response to it is computed in the game whose values are the mean over `MANY` boards. What it
wins beyond a best response to the solution of that game is given in per cent of the pot, beside
what it wins from the blueprint. Also given is what the solution wins from an opponent who plays the
blueprint to the end, beyond what the blueprint wins from it. "Cold" solves do not begin with the
blueprint. The first boards are the same in all games. Flops are random. Half are of single-raised
pots, the agent acts first, or the opponent has bet three quarters of the pot or three pots.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from race_commits import write_result
from subgame.engines.factory import engine
from subgame.engines.street import StreetEngine
from subgame.games.holdem import hunl
from subgame.play.agent import Event
from subgame.play.hunl import rollouts
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.early import with_bet
from subgame.play.hunl.laid import warm
from subgame.play.hunl.rollouts import StreetRollouts
from subgame.play.hunl.sampled import Control
from subgame.play.hunl.street import (
    SCHEDULE,
    BucketLeaves,
    LimitedStreet,
    evaluated,
    mixture,
)
from subgame.play.named import AgentOptions, named_agents
from subgame.solve.schedule import parse
from subgame.solve.solver import Run

COUNTS = (1, 2, 4, 6, 8, 16, 49)
MANY = 147
ITERATIONS, ENOUGH = 50, 150
"""Of a solve that is graded, and of the one that it is compared with."""
US, OPPONENT = 1, 0
RAISED, LIMPED = ((1, "r300"), (0, "c")), ((1, "c"), (0, "c"))
SPOTS = [(RAISED, bet) for bet in (None, "r450", "r1800")]
SPOTS += [(LIMPED, bet) for bet in (None, "r150", "r600")]
"""The betting before the flop, and what the opponent bets there."""


def street(
    agent: Any, flop: str, before: tuple[tuple[int, str], ...], bet: str | None
) -> tuple[LimitedStreet, Any]:
    """The flop as the agent solves it, and the opponent's range as the blueprint has it."""
    agent.begin(US, 0)
    for player, action in (*before, (-1, flop)):
        agent.observe(Event(player, action))
    state = agent.early.follow(agent.line, agent.request(), len(agent.line))[0]
    game = with_bet(agent.planner.game, state.reached.betting, bet)
    here = replace(state.doubted(US), game=game)
    at = LimitedStreet(agent.planner.blueprint, here, state.abstract, US)
    return at, state.reached.reach[OPPONENT][at.hands[OPPONENT]]


class Uncorrected(StreetRollouts):
    """Rollouts whose means keep the luck of the sample."""

    @cached_property
    def control(self) -> Control:
        return Control.unknown(*(len(self.at.buckets[p]) for p in (OPPONENT, US)))


def leaves(
    at: LimitedStreet, boards: int, by: type[StreetRollouts] = StreetRollouts
) -> BucketLeaves:
    """Values that are the mean over so many boards."""
    rollouts.BOARDS = boards
    rollouts._known.cache_clear()
    return evaluated(at, lambda end: by(at).values(end.leaves))[0]


KINDS = {"": StreetRollouts, " uncorrected": Uncorrected}


def solved(at: LimitedStreet, values: BucketLeaves, iterations: int, warmly: bool = True) -> Any:
    """What the agent plays on a street with such values at its end."""
    on = StreetEngine(engine(at.tree), at.street, values)
    run = Run(at.tree, parse(SCHEDULE), on=on, reach=at.reach)
    laid = at.laid.over_street(at.street, on, at.reached.board, at.hands)
    if warmly:
        run.cfr.begin_with(warm(on, laid, at.reach, float(at.reached.betting.pot)))
    run.advance(iterations)
    return mixture(on, US, at.reach, run.played(), laid)[0][US]


def followed(at: LimitedStreet, on: StreetEngine, laid: Any) -> Any:
    """The opponent's blueprint over the street, which is followed behind its leaves as well."""
    sigma, street, past = laid.copy(), at.street, on.sides[OPPONENT].roots
    chosen = np.ones(len(sigma), bool)
    for first, names in zip(street.first[OPPONENT], street.actions[OPPONENT], strict=True):
        chosen[first - past : first - past + len(names)] = False
    # Behind each leaf are `CHOICES` rows, the blueprint's first.
    sigma[chosen] = np.arange(chosen.sum())[:, None] % CHOICES == 0
    return sigma


def graded(at: LimitedStreet, arriving: Any) -> dict[str, dict[str, float]]:
    """What a best response wins from each strategy, and what it wins from the blueprint, in per
    cent of the pot; `arriving` is the range of an opponent who plays the blueprint."""
    true = leaves(at, MANY)
    on = StreetEngine(engine(at.tree), at.street, true)
    met = np.asarray(on.opposing(OPPONENT, on.array(at.reach[US])))[0, : len(arriving)]
    laid = at.laid.over_street(at.street, on, at.reached.board, at.hands)
    opponent = followed(at, on, laid[OPPONENT])

    def share(values: Any, theirs: Any) -> float:
        pot = float(at.reached.betting.pot)
        return float((values[0] * theirs).sum()) / float(met @ theirs) / pot * 100

    def grades(sigma: Any) -> tuple[float, float]:
        plan = on.plan(US, sigma, at.reach[US])
        best, same = on.respond(OPPONENT, plan), on.values(OPPONENT, opponent, plan)
        return share(best.roots, at.reach[OPPONENT][0]), -share(same.roots, arriving)

    (least, won), blueprint = grades(solved(at, true, ENOUGH)), grades(laid[US])
    lost, gained = {"blueprint": blueprint[0] - least}, {"solution": won - blueprint[1]}

    def grade(name: str, sigma: Any) -> None:
        loses, wins = grades(sigma)
        lost[name], gained[name] = loses - least, wins - blueprint[1]

    for count in COUNTS:
        for name, by in KINDS.items():
            grade(f"{count}{name}", solved(at, leaves(at, count, by), ITERATIONS))
        grade(f"{count} cold", solved(at, leaves(at, count), ITERATIONS, warmly=False))
    return {"lost, % of the pot": lost, "won from the blueprint, % of the pot": gained}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flops", type=int, default=18)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    how = AgentOptions(values="rollouts")
    agent: Any = named_agents(hunl(), ("limited", "uniform"), how)[0]
    deck, random, rows = hunl().deck, Random(asked.seed), list[dict[str, Any]]()
    for k in range(asked.flops):
        flop = deck.name(sorted(random.sample(range(deck.size), 3)))
        before, bet = SPOTS[k % len(SPOTS)]
        grades = graded(*street(agent, flop, before, bet))
        line = " ".join(action for _, action in before)
        rows.append({"flop": flop, "before": line, "bet": bet, **grades})
        print(json.dumps(rows[-1]), flush=True)
    losses = [row["lost, % of the pot"] for row in rows]
    mean, gained = (
        {name: float(np.mean([row[kind][name] for row in rows])) for name in rows[0][kind]}
        for kind in ("lost, % of the pot", "won from the blueprint, % of the pot")
    )
    worse = {
        name: sum(lost[name] > lost["blueprint"] for lost in losses)
        for name in mean
        if name != "blueprint"
    }
    print("mean", mean, "worse than the blueprint", worse, "won", gained)
    result = {
        "boards of the grades": MANY,
        "iterations": ITERATIONS,
        "mean lost, % of the pot": mean,
        "mean won from the blueprint, % of the pot": gained,
        "flops on which more is lost than by the blueprint": worse,
        "rows": rows,
    }
    title = "Flops solved with the values of few boards, graded with those of many"
    write_result(asked, __file__, title, result)


if __name__ == "__main__":
    main()
