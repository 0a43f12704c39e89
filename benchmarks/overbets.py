"""What bets of many pots on the flop gain against the answers of two checkouts' agents.

    python benchmarks/overbets.py OLD NEW [--seconds S] [--spots N] [--jobs N] [--out FILE]

OLD and NEW are folders of checkouts. A spot is a flop of a single-raised pot, on which the first
player bets 2, 4 or 8 pots. Each checkout's `limited` (one thread, values by rollouts) answers with
its whole range, in a process of its own. The game after the bet is solved to its end behind the
gadget of Resolve: for not betting, a hand gets what it wins on this flop by self-play of the
blueprint. The answer is then put into this solution, in place of the solution's own, and a best
response to it is computed. *Gained* is the mean over the bettor's range of what a hand wins by the
bet beyond what it gets without it, 0 where that is less, in pots before the bet. It is not 0 for
the solution's own answer, which is an approximation, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from race_commits import commit, processor
from subgame.bench.decisions import nearest
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem import hunl
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Event
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.named import AgentOptions, named_agents
from subgame.refine.gadgets import technique
from subgame.refine.live import Clock, Live, Search
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed
from subgame.tree.public_tree import both

Floats = NDArray[np.float64]
POTS = (2, 4, 8)
"""Sizes of the bets, in pots."""
MENU = "flop: 0.75x / raise 1x a / cap 3; turn: 0.75x a / cap 1; river: 0.75x a / cap 1"
"""The bets of the solution."""
ITERATIONS = 100
BOARDS = 24
"""Whole boards by which the alternatives are computed."""
FAINT = 5e-3
"""Hands below this share of the likeliest one are left out."""
BETTOR, ANSWERS = 0, 1


class Spot(NamedTuple):
    """A flop, and a bet on it after a raise and a call."""

    flop: str
    bet: str

    @property
    def moves(self) -> list[tuple[int, str]]:
        """What both players see: (player, or -1 for chance, and the action)."""
        return [(1, "r300"), (0, "c"), (-1, self.flop), (BETTOR, self.bet)]


def spots(count: int) -> list[Spot]:
    """The first spots: random flops, with every size in turn."""
    deck, random = hunl().deck, Random(0)
    flops = [deck.name(sorted(random.sample(range(deck.size), 3))) for _ in range(count)]
    return [Spot(flop, f"r{600 * POTS[k % len(POTS)]}") for k, flop in enumerate(flops)]


def answer(spot: Spot, seconds: float, path: Path) -> None:
    """Write what the agent of this process' package does: actions, and [hand, action]."""
    how = AgentOptions(seconds=seconds, iterations=500, values="rollouts")
    agent: Any = named_agents(hunl(), ("limited", "uniform"), how)[0]
    agent.begin(ANSWERS, 0)
    for player, action in spot.moves:
        if player == ANSWERS:
            agent.rows()
        agent.observe(Event(player, action))
    rows = agent.rows()
    np.savez(path, actions=np.array(rows.actions), probabilities=rows.probabilities)


def asked(checkout: Path, spot: Spot, seconds: float) -> tuple[list[str], Floats]:
    """The answer of another checkout's agent, the second one: the first may compile kernels."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "NUMBA_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.npz"
        command = [sys.executable, __file__, "--child", *spot, str(path), "--seconds", f"{seconds}"]
        for _ in range(2):
            subprocess.run(command, env=environment, check=True, capture_output=True)
        with np.load(path) as made:
            return [str(action) for action in made["actions"]], made["probabilities"]


def start_of(spot: Spot, game: Holdem, blueprint: StoredBlueprint) -> ReachedRanges:
    """The flop before the bet, with the ranges of players who follow the blueprint."""
    follower = HoldemAgent(game, blueprint, seconds=None)
    follower.begin(ANSWERS, 0)
    for player, action in spot.moves[:-1]:
        follower.observe(Event(player, action))
    start = follower.followed()

    def likely(p: int) -> Floats:
        held = start.reach[p] * (start.weight(p) > 0)
        return np.where(held > FAINT * held.max(), held / held.max(), 0.0)

    return start.with_reach(both(likely))


def without_bet(start: ReachedRanges, blueprint: StoredBlueprint) -> Floats:
    """[hand] what the bettor wins by self-play of the blueprint."""
    values = BlueprintValues(blueprint)
    values.hand_boards = (BOARDS, BOARDS)
    won = np.zeros(start.game.deck.num_hands)
    for hand in np.flatnonzero(start.reach[BETTOR]).tolist():
        won[hand] = values.hand_value(start, BETTOR, hand)
    return won


def gained(spot: Spot, checkouts: list[Path], seconds: float) -> dict[str, Any]:
    """What the bet gains against the solution's answer and against those of the checkouts."""
    blueprint, game = StoredBlueprint.load(), hunl()
    start = start_of(spot, game, blueprint)
    other = without_bet(start, blueprint)
    here = replace(start.after(spot.bet), game=replace(game, bets=BetSizes.parse(MENU)))
    tree = here.subgame.tree
    blank = Followed(tree, both(lambda p: np.zeros(tree.stored(p), np.float32)))
    search = Search(technique("resolve"), iterations=ITERATIONS, seconds=None, allow_worse=True)
    solved = Live(search, ANSWERS, here, blank, off=other).ready(Clock(None)).before.sigma
    cells, names = here.cells(tree), here.actions
    assert cells is not None
    held = cells[:, 0] >= 0
    weight, own = (here.reach[p] * here.weight(p) for p in (BETTOR, ANSWERS))

    def row(probabilities: Floats) -> dict[str, Any]:
        sigma = np.array(solved[ANSWERS])
        sigma[cells[held]] = probabilities[held]
        best = here.values(Followed(tree, (solved[BETTOR], sigma)), BETTOR, best=True)
        more = np.where(weight > 0, best - other, 0.0).clip(0)
        shares = own @ probabilities / own.sum()
        return {
            "gained": float(weight @ more / weight.sum() / float(start.betting.pot)),
            "plays": dict(zip(names, shares.round(4).tolist(), strict=True)),
        }

    rows = {"solution": row(np.asarray(solved[ANSWERS])[cells] * held[:, None])}
    for checkout, side in zip(checkouts, ("old", "new"), strict=True):
        actions, said = asked(checkout, spot, seconds)
        probabilities = np.zeros((len(said), len(names)))
        for action, often in zip(actions, said.T, strict=True):
            probabilities[:, nearest(names, action)] += often
        rows[side] = row(probabilities)
    return {**spot._asdict(), "numbers": tree.stored(0) + tree.stored(1), **rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--spots", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=3)
    options = parser.parse_args()
    if options.child:
        answer(Spot(*options.child[:2]), options.seconds, Path(options.child[2]))
        return
    checkouts = [path.resolve() for path in options.checkouts]
    rows = []
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        waiting = [
            pool.submit(gained, spot, checkouts, options.seconds) for spot in spots(options.spots)
        ]
        for done in waiting:
            rows.append(done.result())
            print(json.dumps(rows[-1]), flush=True)
    sides = ("solution", "old", "new")
    mean = {side: sum(row[side]["gained"] for row in rows) / len(rows) for side in sides}
    print("gained on average, in pots:", {side: round(mean[side], 4) for side in sides})
    if options.out:
        about = {
            "command": f"python benchmarks/overbets.py OLD NEW --seconds {options.seconds:g} "
            f"--spots {options.spots} --jobs {options.jobs}",
            "commits": [commit(path) for path in checkouts],
            "machine": processor(),
            "date": datetime.now(UTC).date().isoformat(),
            "seed": 0,
            "gained, mean": mean,
            "rows": rows,
        }
        options.out.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
