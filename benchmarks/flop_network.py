"""How near the network's values on the flop are to long rollouts, beside short ones.

``python benchmarks/flop_network.py`` writes ``docs/results/flop-network.json``. At some
spots of the blueprint that comes with the package the flop is solved to its end for one player.
The reference are rollouts on many boards, in two halves. An error is the root of the mean product
of the differences from both halves, which have no noise in common; pairs count as often as both
players' ranges bring them there. A strategy's loss is what the opponent wins from it beyond what
it wins from the reference's own solution, with the values of the reference. Short rollouts have as
many boards as an agent with 1.5 seconds and one thread looks at, by the CPU time of a board here;
and as many as fit into the network's own time.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.factory import engine
from subgame.engines.numba.strengths import mean_ahead
from subgame.engines.street import StreetEngine
from subgame.games.holdem import hunl
from subgame.papers.report import commit, machine
from subgame.play.agent import Event
from subgame.play.hunl import rollouts
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import FLOP
from subgame.play.hunl.flop_network import FlopNetwork, flop_pairs
from subgame.play.hunl.rollouts import StreetRollouts
from subgame.play.hunl.street import EVALUATING, SCHEDULE, BucketLeaves, LimitedStreet, evaluated
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run, drive

RESULT = Path(__file__).parent.parent / "docs" / "results" / "flop-network.json"
SEED, HALF, SECONDS, ITERATIONS = 1, 196, 1.5, 300
SPOTS = [  # the betting before the flop, and the seat that is solved for
    ("cc", 0),
    ("cc", 1),
    ("r300c", 0),
    ("r300c", 1),
    ("r200c", 0),
    ("cr300c", 1),
    ("r300r900c", 0),
    ("r200r600c", 1),
]
Floats = NDArray[np.float64]


class Seeded(StreetRollouts):
    """With rollouts on other boards for another seed."""

    def boards(self, count: int, seed: int) -> BucketLeaves:
        self.seed = seed
        rollouts.BOARDS = count
        return evaluated(self.at, lambda end: self.values(end.leaves, end.until))[0]

    @property
    def _known(self) -> rollouts._Known:
        return rollouts._Known()

    def _runouts(self) -> Any:
        reached, random = self.at.reached, Random(self.seed)
        deck, board = reached.game.deck, reached.board
        left = [card for card in range(deck.size) if card not in board]
        while True:
            yield (*board, *random.sample(left, 2))


def spot(blueprint: StoredBlueprint, line: str, seat: int, flop: tuple[int, ...]) -> Seeded:
    """The flop after a line, with the ranges that the blueprint leads to."""
    game = hunl()
    agent = HoldemAgent(game, blueprint, limited=FLOP, seconds=None)
    agent.begin(seat, 0)
    here = game.start()
    for action in [move for move in here.play(line).history if move != "/"]:
        agent.observe(Event(here.player, action))
        here = here.child(action)
    agent.observe(Event(-1, game.deck.name(flop)))
    state, _ = agent.early.follow(agent.line, agent.request())
    assert agent.planner is not None
    reached = replace(state.reached, game=agent.planner.game)
    return Seeded(LimitedStreet(blueprint, reached, state.abstract, seat))


def solution(here: Seeded, leaves: BucketLeaves) -> tuple[StreetEngine, list[Any]]:
    on = StreetEngine(engine(here.at.tree), here.at.street, leaves)
    solving = Run(here.at.tree, parse(SCHEDULE), on=on, reach=here.at.reach)
    drive(solving, Limits(ITERATIONS, None), measured=False)
    return on, list(solving.played())


def given_up(here: Seeded, on: StreetEngine, sigma: Any) -> float:
    """What the opponent wins at best from our strategy, in pots at the flop."""
    o, p, reach = here.at.opponent, here.at.player, here.at.reach
    result = on.respond(o, on.plan(p, sigma, reach[p])).roots
    met = on.opposing(o, reach[p])
    won = float((reach[o] * result).sum()) / float((reach[o] * met).sum())
    return won / float(here.at.reached.betting.pot)


def weights(here: Seeded, leaves: BucketLeaves) -> list[Floats]:
    """[b] and [c] how likely the opponent's and our buckets are."""
    out = []
    for p in (here.at.opponent, here.at.player):
        sums = np.bincount(leaves.buckets[p], here.at.reach[p][0])
        out.append(sums / sums.sum())
    return out


def root(value: float) -> float:
    return float(np.sign(value) * np.sqrt(abs(value)))


def mean(values: Any, share: Floats) -> Any:
    """[..., 1, 1] the mean over pairs."""
    return (values * share).sum((2, 3), keepdims=True)


def compared(blueprint: StoredBlueprint, network: FlopNetwork, at: int) -> dict[str, Any]:
    """One spot."""
    line, seat = SPOTS[at]
    flop = tuple(sorted(np.random.default_rng([SEED, at]).permutation(52)[:3].tolist()))
    here = spot(blueprint, line, seat, flop)
    live = [l for l, leaf in enumerate(here.at.street.leaves) if not leaf.is_over]
    pots = np.array([float(here.at.street.leaves[l].pot) for l in live], np.float32)[:, None, None]
    halves = [here.boards(HALF, seed) for seed in (1, 2)]
    began = time.process_time()
    here.boards(20, 3)
    board = (time.process_time() - began) / 20
    table, spent = asked(blueprint, network, here, live)
    counts = [max(2, round(seconds / board)) for seconds in (EVALUATING * SECONDS, sum(spent))]
    short, shortest = (here.boards(count, 4) for count in counts)
    whole = np.zeros_like(short.values)
    whole[:, live] = table
    ways = {
        "network": replace(short, values=whole),
        "rollouts": short,
        "rollouts in the network's time": shortest,
    }
    one, two = (half.values[:, live] / pots for half in halves)
    mine, yours = weights(here, short)
    share = mine[:, None] * yours
    spread = ((one - mean(one, share)) * (two - mean(two, share)) * share).sum((2, 3)).mean()
    result: dict[str, Any] = {
        "flop": blueprint.game.deck.name(flop),
        "betting": line,
        "solved for player": seat,
        "leaves": len(live),
        "buckets": [len(mine), len(yours)],
        "boards in time": counts,
        "spread, pots": root(float(spread)),
    }
    reference = np.mean([halve.values for halve in halves], axis=0)
    on, best = solution(here, replace(short, values=reference))
    least = given_up(here, on, best[seat])
    for name, way in ways.items():
        got = way.values[:, live] / pots
        pair = ((got - one) * (got - two) * share).sum((2, 3)).mean()
        hand = (((got - one) @ yours) * ((got - two) @ yours) @ mine).mean()
        _, played = solution(here, way)
        result[name] = {
            "error of a pair, pots": root(float(pair)),
            "error of a hand against the range, pots": root(float(hand)),
            "loss of the strategy, pots": given_up(here, on, played[seat]) - least,
        }
    result["network"] |= {"CPU seconds, equities": spent[0], "CPU seconds, network": spent[1]}
    for name, count in zip(list(ways)[1:], counts, strict=True):
        result[name] |= {"CPU seconds": board * count, "boards": count}
    return result


def asked(
    blueprint: StoredBlueprint, network: FlopNetwork, here: Seeded, live: list[int]
) -> tuple[Any, tuple[float, float]]:
    """The network's values, and the CPU seconds of the flop's equities and of the rest."""
    flop, leaves = here.at.reached.board, [here.at.street.leaves[l] for l in live]
    one, two = (
        np.unique(blueprint.cards.of(flop)[here.at.hands[p]])
        for p in (here.at.opponent, here.at.player)
    )
    flop_pairs(blueprint, (0, 1, 2))
    network.values(
        (0, 1, 2), leaves, here.at.opponent, (flop_pairs(blueprint, (0, 1, 2)).buckets[:9],) * 2
    )
    mean_ahead.cache_clear()
    flop_pairs.cache_clear()
    began = time.process_time()
    flop_pairs(blueprint, tuple(sorted(flop)))
    between = time.process_time()
    table = network.values(flop, leaves, here.at.opponent, (one, two))
    return table, (between - began, time.process_time() - between)


def main() -> None:
    blueprint = StoredBlueprint.load()
    network = FlopNetwork.of(blueprint)
    spots = []
    for at in range(len(SPOTS)):
        spots.append(compared(blueprint, network, at))
        print(json.dumps(spots[-1]), flush=True)
    means = {
        way: {name: float(np.mean([row[way][name] for row in spots])) for name in spots[0][way]}
        for way in ("network", "rollouts", "rollouts in the network's time")
    }
    options = {
        "title": "Values at the end of the flop by network and by rollouts, beside long rollouts",
        "command": "OPENBLAS_NUM_THREADS=1 python benchmarks/flop_network.py",
        "commit": commit(),
        "machine": machine(("numpy", "numba", "torch"))
        | {"note": "CPU seconds of one thread; other work ran"},
        "seed": SEED,
        "results": {
            "trained": "subgame train hunl --blueprint hunl-default",
            "layers": [len(bias) for _, bias in network.layers[:-1]],
            "on flops not trained on": {
                name.removeprefix("held out: "): json.loads(value)
                for name, value in network.notes.items()
                if name.startswith("held out: ")
            },
            "boards of the reference": 2 * HALF,
            "mean of the spots": means,
            "spots": spots,
        },
    }
    RESULT.write_text(json.dumps(options, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(means, indent=1))


if __name__ == "__main__":
    main()
