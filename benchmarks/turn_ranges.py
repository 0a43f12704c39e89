"""What the first solve of a turn loses by a wrong range, where local best response comes there.

    python benchmarks/turn_ranges.py FILE [--deals N] [--seconds S] [--seed N] [--out FILE]

The agent `limited` plays deals against local best response with 56 sizes (`lbr:56`), and FILE keeps
each turn they come to: the hands that LBR really has, and those that the agent takes it to have,
with the probability of its rarest action. FILE is not made again. Then each turn is solved as the
agent does, with the smallest menu, and a best response to the solution is computed: what it wins
with LBR's range, and with the range that the agent takes it to have. This is done for some values
of `early.TREMBLE`, by which the agent doubts that range, and for a solution that knows LBR's range.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from race_commits import commit, processor
from subgame.games.holdem import hunl
from subgame.games.holdem.game import Holdem
from subgame.play.gauntlet import opponent
from subgame.play.hunl import early
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import EarlyState, Request
from subgame.play.hunl.turn import ROOT, TurnSolver
from subgame.play.named import AgentOptions, named_agents
from subgame.play.range_match import RangeHand, RangeMatch
from subgame.play.scoring import values_of
from subgame.refine.live import Clock, Search
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Move

Floats = NDArray[np.float64]
Ranges = tuple[Floats, Floats]
TREMBLES = (0.0, 0.01, 0.05, 0.2)
"""Values of `TREMBLE`; with 0 the range is taken as it is known."""
ITERATIONS, KNOWING = 64, 256
"""Of a solution, and of the one that knows LBR's range."""


@dataclass(frozen=True)
class Turn:
    """A turn that the agent came to."""

    deal: int
    seat: int
    line: tuple[Move, ...]
    real: Ranges
    """Both players' ranges."""
    known: Ranges
    """Those by which the agent goes; its own is its real one."""
    rarest: float


class Watched(RangeMatch):
    """A match that remembers the turns that the agent comes to."""

    deal = 0

    def begin(self, deal: int) -> dict[tuple[int, tuple[Move, ...]], Turn]:
        """The turns of a deal from now on, by our seat and what both players saw."""
        self.deal = deal
        self.turns: dict[tuple[int, tuple[Move, ...]], Turn] = {}
        return self.turns

    def _act(self, live: Sequence[RangeHand], random: Random) -> None:
        for hand in live:
            here = hand.here
            if here.betting.street != 2 or here.betting.history[-1] != "/":
                continue
            for seat, agent in enumerate(hand.seats):
                if isinstance(agent, HoldemAgent) and min(here.betting.behind) > 0:
                    line = tuple(agent.line)
                    least = agent.decided.starved(seat, line)
                    state, _ = agent.early.follow(line, agent.request(), least)
                    known = state.reached.reach
                    self.turns[seat, line] = Turn(
                        self.deal, seat, line, here.reach, known, state.rarest
                    )
        super()._act(live, random)


def collected(game: Holdem, deals: int, seconds: float, seed: int) -> list[Turn]:
    """The turns of some deals."""
    options = AgentOptions(seconds=seconds, iterations=500, values="rollouts")
    agent = named_agents(game, ("limited", "uniform"), options)[0]
    other, turns = opponent(game, agent, "lbr:56", options), list[Turn]()
    match = Watched(game, (agent, other), values_of(game, agent, None), seed=seed)
    for deal in range(deals):
        new = match.begin(deal)
        match.pair(deal)
        turns += new.values()
        print(f"deal {deal}: {len(new)} turns", flush=True)
    return turns


def solved(
    solver: TurnSolver, turn: Turn, ranges: Ranges, tremble: float, count: int
) -> list[float]:
    """What a best response to a solution wins, in pots: with LBR's range, and with the known one.

    The solution is for some `ranges`, of which the opponent's is doubted by a `tremble`.
    """
    us, o = turn.seat, 1 - turn.seat
    start = ReachedRanges.start(solver.menus[0][0])
    for _, action in turn.line:
        start = start.after(action)
    early.TREMBLE = tremble
    here = EarlyState(start.with_reach(ranges), None, rarest=turn.rarest).doubted(us)
    search = Search(ROOT, None, None, iterations=count, seconds=None)
    live = solver.solved(here, Request(us, search, Clock(None)), 1.0)
    at = here.with_reach(turn.real)
    best = at.values(live.before, o, best=True)
    shares = (reach[o] * at.weight(o) for reach in (turn.real, turn.known))
    pot = float(here.betting.pot)
    return [float(share @ best / share.sum() / pot) for share in shares]


def rows(turns: Iterable[Turn]) -> Iterator[dict[str, Any]]:
    """What is won on each turn, by how much the known range is doubted."""
    solver = TurnSolver(hunl())
    for turn in turns:
        line = " ".join(action for _, action in turn.line)
        row: dict[str, Any] = {"deal": turn.deal, "line": line, "rarest": turn.rarest}
        for tremble in TREMBLES:
            row[f"TREMBLE {tremble:g}"] = solved(solver, turn, turn.known, tremble, ITERATIONS)
        row["LBR's range"] = solved(solver, turn, turn.real, 0.0, KNOWING)
        print(json.dumps(row), flush=True)
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--deals", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not options.file.exists():
        turns = collected(hunl(), options.deals, options.seconds, options.seed)
        options.file.write_bytes(pickle.dumps(turns))
    every = list(rows(pickle.loads(options.file.read_bytes())))
    names = [name for name in every[0] if isinstance(every[0][name], list)]
    mean = {name: np.mean([row[name] for row in every], axis=0).tolist() for name in names}
    print("won on average with LBR's range and with the known one, in pots:", mean)
    if options.out:
        about = {
            "title": "What a best response wins on turns by how much the known range is doubted",
            "command": f"python benchmarks/turn_ranges.py FILE --deals {options.deals} "
            f"--seconds {options.seconds:g} --seed {options.seed}",
            "commit": commit(Path(__file__).parent),
            "machine": processor(),
            "date": datetime.now(UTC).date().isoformat(),
            "seed": options.seed,
            "turns": len(every),
            "won, mean": mean,
            "rows": every,
        }
        options.out.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
