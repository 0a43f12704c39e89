"""What the agent of hold'em wins from the blueprint by its decisions on one street, without luck.

    python benchmarks/street_gains.py [--spots 30] [--seed 41] [--kind KIND] [--out FILE]

A street begins where the blueprint comes against itself. All its betting is enumerated, with both
ranges, and what follows has the values of the blueprint's self-play. The gain is what the agent
wins beyond the blueprint in its place, from the blueprint, in chips and in per cent of the pot:

- `flop`: flops solved to a depth limit;
- `turn`: turns after flops that both played by the blueprint, so that the agent knows both ranges;
- `turn after a solved flop`: one line of the flop and one card are drawn as the agent and the
  blueprint play, so that the opponent's range is not what the agent takes it for;
- `river after a solved turn`: the same, a street later.

Other streets are played by the blueprint. Noise is that of the spots, and of the values.
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from race_commits import write_result
from subgame.games.base import CHANCE
from subgame.games.holdem import hunl
from subgame.play.agent import Agent, Event
from subgame.play.blueprint_agent import BlueprintAgent, loaded
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import FLOP
from subgame.play.range_match import Children, RangeMatch
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Move
from turn_menus import turns

KINDS = ("flop", "turn", "turn after a solved flop", "river after a solved turn")
ITERATIONS, SELDOM = 100, 1e-6
"""Of a solve; how likely an action must be to be followed."""


class Spot(NamedTuple):
    """Where a street begins: how play came there, and the true ranges."""

    line: tuple[Move, ...]
    here: ReachedRanges

    def after(self, move: Move, here: ReachedRanges) -> Spot:
        return Spot((*self.line, move), here)


class Street(RangeMatch):
    """The betting of one street, enumerated."""

    def children(self, spot: Spot, seats: list[Agent]) -> Children:
        """What may follow, by the policy of the player to act."""
        player = seats[spot.here.player]
        player.begin(spot.here.player, 0)
        for mover, action in spot.line:
            player.observe(Event(mover, action))
        return self._children(spot.here, self._asked(player, spot.here))

    def won(self, spot: Spot, seats: list[Agent]) -> float:
        """What player 0 wins on average."""
        here = spot.here
        if here.is_over or here.player == CHANCE:
            return self._value(here).won
        children = self.children(spot, seats)
        total = sum(share for _, share in children.values())
        return sum(
            share / total * self.won(spot.after((here.player, name), child), seats)
            for name, (child, share) in children.items()
            if share > SELDOM * total
        )

    def drawn(self, spot: Spot, seats: list[Agent], random: Random) -> Spot | None:
        """Where the next street begins after one line; None if nothing is left to bet."""
        while not spot.here.is_over and spot.here.player != CHANCE:
            children = self.children(spot, seats)
            shares = [share for _, share in children.values()]
            name = random.choices(list(children), shares)[0]
            spot = spot.after((spot.here.player, name), children[name][0])
        if spot.here.is_over or min(spot.here.betting.behind) <= 0:
            return None
        name = self.deck.name(self._cards(spot.here, random))
        return spot.after((CHANCE, name), spot.here.child(name))

    def gain(self, spot: Spot, seat: int, agents: tuple[Agent, Agent]) -> float:
        """What the first agent wins in a seat beyond the second one, from the second one."""
        seats: list[Agent] = [copy.copy(agents[1]) for _ in (0, 1)]
        instead = self.won(spot, seats)
        seats[seat] = copy.copy(agents[0])
        return (self.won(spot, seats) - instead) * (1 if seat == 0 else -1)


def rows(kind: str, spots: int, seed: int) -> Iterator[dict[str, Any]]:
    """The gains on one kind of street."""
    game, how = hunl(), {"iterations": ITERATIONS, "seconds": None}
    limited = FLOP if "flop" in kind else None
    agent = HoldemAgent(game, loaded(), limited=limited, **how)  # type: ignore[arg-type]
    other = BlueprintAgent(game, loaded())
    match = Street(game, (agent, other), BlueprintValues(loaded()))
    for number, begun in enumerate(turns(agent, spots, seed, 1 if "flop" in kind else 2)):
        for seat in (0, 1):
            spot: Spot | None = Spot(begun.line, replace(begun.state.reached, game=game))
            assert spot is not None
            if "after" in kind:
                seats: list[Agent] = [copy.copy(other) for _ in (0, 1)]
                seats[seat] = copy.copy(agent)
                spot = match.drawn(spot, seats, Random(1000 * number + seat))
            if spot is None:
                continue
            line, pot = " ".join(action for _, action in spot.line), float(spot.here.betting.pot)
            row = {"line": line, "seat": seat, "pot": pot}
            row["won"] = match.gain(spot, seat, (agent, other))
            print(json.dumps(row), flush=True)
            yield row


def mean(values: Any) -> dict[str, float]:
    """With a 95 % interval."""
    return {
        "mean": np.mean(values),
        "interval95": 1.96 * np.std(values, ddof=1) / len(values) ** 0.5,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spots", type=int, default=30)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--kind", default="", help="how the kinds of streets begin")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    out: dict[str, Any] = {}
    for kind in [kind for kind in KINDS if kind.startswith(asked.kind)]:
        every = list(rows(kind, asked.spots, asked.seed))
        won, pots = (np.array([row[name] for row in every]) for name in ("won", "pot"))
        shares = {"chips": mean(won), "% of the pot": mean(100 * won / pots)}
        out[kind] = {**shares, "rows": every}
        print(kind, shares)
    result = {
        "iterations": ITERATIONS,
        "streets": out,
    }
    title = "What the agent wins from the blueprint by its decisions on one street"
    write_result(asked, __file__, title, result)


if __name__ == "__main__":
    main()
