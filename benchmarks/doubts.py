"""What an agent loses by doubting the opponent's range, against opponents that it knows.

    python benchmarks/doubts.py --minutes 35 --seconds 0.5 [--jobs 2] [--out FILE]

`early.EarlyState.doubted` adds some of every hand to the opponent's range after rare actions, which
helps against local best response. Here `limited` does so against `limited` that does not, and
against the blueprint. Estimates are those of `RangeMatch`. As many deals are begun, in order, as
the minutes allow; all of them are finished.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from subgame.games.holdem import hunl
from subgame.papers.report import provenance
from subgame.play.agent import Agent
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl import early
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.match import Estimate
from subgame.play.range_match import RangeMatch
from subgame.play.scoring import values_of
from subgame.refine.live import Rows
from subgame.solve.workers import own_cores

SEATINGS = (("limited", "without doubt"), ("limited", "blueprint"))
"""The two agents of each match."""


class Sure(HoldemAgent):
    """The agent `limited` that does not doubt ranges."""

    usual = early.TREMBLE

    def rows(self) -> Rows:
        early.TREMBLE = 0.0
        try:
            return super().rows()
        finally:
            early.TREMBLE = self.usual


@cache
def match(seating: tuple[str, str], seconds: float) -> RangeMatch:
    """A match of two agents, which are made once in a process."""
    game = hunl()
    beside = BlueprintAgent(game)
    kinds = {"limited": HoldemAgent, "without doubt": Sure}
    agents: list[Agent] = [
        kinds[name](game, beside.blueprint, limited=early.BOTH, seconds=seconds, iterations=500)
        if name in kinds
        else beside
        for name in seating
    ]
    return RangeMatch(game, agents, values_of(game, agents[0], None), seed=0)


class Deal(NamedTuple):
    """A deal of one of `SEATINGS`."""

    seating: tuple[str, str]
    number: int
    seconds: float

    def play(self) -> float:
        """What the first agent wins, in mbb/h."""
        return match(self.seating, self.seconds).pair(self.number).aivat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=35)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("doubts.json"))
    options = parser.parse_args()
    stop = time.monotonic() + 60 * options.minutes
    won: dict[tuple[str, str], list[float]] = {seating: [] for seating in SEATINGS}

    def deals() -> Iterator[list[Deal]]:
        """Some deals at a time, the same ones of all seatings."""
        number = 0
        while time.monotonic() < stop:
            numbers = range(number, number + options.jobs)
            yield [Deal(seating, k, options.seconds) for k in numbers for seating in SEATINGS]
            number += options.jobs

    with own_cores(options.jobs) as pool:
        for batch in deals():
            for deal, result in zip(batch, pool.map(Deal.play, batch), strict=True):
                won[deal.seating].append(result)
    estimates = {seating: Estimate.of(results) for seating, results in won.items()}
    for seating, estimate in estimates.items():
        print(*seating, estimate.observations, estimate, sep=", ")
    command = f"python benchmarks/doubts.py --minutes {options.minutes:g} "
    about = provenance(f"{command}--seconds {options.seconds:g} --jobs {options.jobs}")
    rows = [{"agents": names, **asdict(estimate)} for names, estimate in estimates.items()]
    deals_won = {", ".join(seating): results for seating, results in won.items()}
    report = about | {"tremble": early.TREMBLE, "unit": "mbb/h", "rows": rows, "won": deals_won}
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
