"""What bets of many pots on the flop gain against the answers of agents.

    python benchmarks/overbets.py CHECKOUT ... [--seconds S] [--spots N] [--jobs N] [--out FILE]

CHECKOUTs are folders of checkouts. A spot is a flop of a single-raised pot, on which the first
player bets 2, 4 or 8 pots. Each checkout's `limited` (one thread, values by rollouts) answers with
its whole range, in a process of its own. The game after the bet is solved to its end behind the
gadget of Resolve: for not betting, a hand gets what it wins on this flop by self-play of the
blueprint. The answer is fixed in this solution, so that what follows it is solved for the ranges
that it leads to. *Gained* is the mean over the bettor's range of what a hand wins by the bet, by a
best response to the solution, beyond what it gets without it, 0 where that is less, in pots before
the bet. It is not 0 for the solution's own answer, which is an approximation, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
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
from subgame.refine.ranges.subgames import RangeSubgame
from subgame.refine.reached import Followed
from subgame.tree.public_tree import both
from subgame.tree.ranges.probabilities import Locked

Floats = NDArray[np.float64]
POTS = (2, 4, 8)
"""Sizes of the bets, in pots."""
MENU = "flop: 0.75x / raise 1x a / cap 3; turn: 0.75x a / cap 1; river: 0.75x a / cap 1"
"""The bets of the solution."""
WARMING = ("2c7d9h", "4sTsAd")
"""Flops on which an agent answers first: what it remembers of the blueprint saves it time."""
ITERATIONS = 60
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
    for flop in (*WARMING, spot.flop):
        agent.begin(ANSWERS, 0)
        for player, action in spot._replace(flop=flop).moves:
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


@dataclass(frozen=True, eq=False)
class Answered(ReachedRanges):
    """A state at which the player to act plays fixed probabilities."""

    answer: Floats  # [hand, action]

    @classmethod
    def of(cls, here: ReachedRanges, answer: Floats) -> Answered:
        known = {field.name: getattr(here, field.name) for field in fields(here)}
        return cls(**known, answer=answer)

    @cached_property
    def subgame(self) -> RangeSubgame:
        plain = super().subgame
        cells = self.cells(plain.tree)
        assert cells is not None
        held = cells[:, 0] >= 0
        fixed = Locked(cells[held].ravel(), self.answer[held].ravel().astype(np.float32))
        locks = (fixed, None) if self.player == 0 else (None, fixed)
        tree = replace(plain.tree, locks=locks)
        return RangeSubgame(tree, plain.name, tree, plain.spot)


def gained(spot: Spot, checkouts: list[Path], seconds: float) -> dict[str, Any]:
    """What the bet gains against the solution's answer and against those of the checkouts."""
    blueprint, game = StoredBlueprint.load(), hunl()
    start = start_of(spot, game, blueprint)
    other = without_bet(start, blueprint)
    after = replace(start.after(spot.bet), game=replace(game, bets=BetSizes.parse(MENU)))
    weight, own = (after.reach[p] * after.weight(p) for p in (BETTOR, ANSWERS))
    search = Search(technique("resolve"), iterations=ITERATIONS, seconds=None, allow_worse=True)

    def row(here: ReachedRanges) -> dict[str, Any]:
        tree = here.subgame.tree
        blank = Followed(tree, both(lambda p: np.zeros(tree.stored(p), np.float32)))
        solved = Live(search, ANSWERS, here, blank, off=other).ready(Clock(None)).before
        best = here.values(solved, BETTOR, best=True)
        more = np.where(weight > 0, best - other, 0.0).clip(0)
        cells = here.cells(tree)
        assert cells is not None
        shares = own @ (np.asarray(solved.sigma[ANSWERS])[cells] * (cells >= 0)) / own.sum()
        return {
            "gained": float(weight @ more / weight.sum() / float(start.betting.pot)),
            "plays": dict(zip(here.actions, shares.round(4).tolist(), strict=True)),
        }

    rows = {"solution": row(after)}
    for checkout in checkouts:
        actions, said = asked(checkout, spot, seconds)
        answer = np.zeros((len(said), len(after.actions)))
        for action, often in zip(actions, said.T, strict=True):
            answer[:, nearest(after.actions, action)] += often
        rows[commit(checkout)] = row(Answered.of(after, answer))
    return {**spot._asdict(), **rows}


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
    sides = ("solution", *map(commit, checkouts))
    mean = {side: sum(row[side]["gained"] for row in rows) / len(rows) for side in sides}
    print("gained on average, in pots:", {side: round(mean[side], 4) for side in sides})
    if options.out:
        about = {
            "command": f"python benchmarks/overbets.py CHECKOUT ... --seconds {options.seconds:g} "
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
