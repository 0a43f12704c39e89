"""Rivers after a turn that was solved: what is won and lost, by the gadget that solves them.

    python benchmarks/river_gadgets.py [--turns 30] [--deals 60] [--seed 41] [--jobs 2] [--out FILE]

- `won`: what the agent of hold'em wins beyond the blueprint in its place, from the blueprint, in
  per cent of the pot. The betting of the river is enumerated with both true ranges. The blueprint
  comes to the turn against itself, and one line of the turn is drawn as the agent and the blueprint
  play.
- `lost`: what local best response to the agent (`LBR`) comes to the river with, playing a best
  response there, in pots. Its hands are not those that the agent takes it to have.

"turn" follows the turn's solution. With "solution" after the gadget's name the opponent is taken to
follow the turn's solution alone, otherwise also the blueprint; with "known" its range is known.
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from race_commits import write_result
from street_gains import ITERATIONS, SELDOM, Spot, Street, mean
from subgame.games.base import CHANCE
from subgame.games.holdem import hunl
from subgame.play.agent import Agent, Event, Policy, draw
from subgame.play.blueprint_agent import BlueprintAgent, loaded
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.turn import RIVER, with_every_hand
from subgame.play.lbr import LocalBestResponse
from subgame.refine.gadgets import Combined, Gadget, Resolve, Unsafe
from subgame.refine.live import Book, Clock, Live
from subgame.refine.ranges.reached import ReachedRanges
from turn_menus import Turn, turns

AT = "after the turn"
LBR = "2018-turn"
GADGETS: dict[str, Gadget] = {
    "resolve": Resolve(),
    "unsafe": Unsafe(),
    "unsafe, solution": Unsafe(),
    "unsafe, known": Unsafe(),
    "combined, cap 0.2, even 0.1": Combined(cap=0.2, even=0.1),
    "combined, cap 0.1, even 0.05": RIVER,
    "combined, cap 0.05, even 0.02": Combined(cap=0.05, even=0.02),
}


class Rivers(Street):
    """Rivers, with an agent that has solved the turn before them."""

    def __init__(self) -> None:
        game = hunl()
        self.agent = HoldemAgent(game, loaded(), iterations=ITERATIONS, seconds=None)
        self.agent.search = replace(self.agent.search, at=None)  # rivers are solved here
        self.other = BlueprintAgent(game, loaded())
        super().__init__(game, (self.agent, self.other), BlueprintValues(loaded()))

    def followed(self, spot: Spot, seat: int, *, solution: bool = False) -> Live:
        """Where the agent is, following the turn's solution."""
        agent = copy.copy(self.agent)
        agent.begin(seat, 0)
        for mover, action in spot.line:
            agent.observe(Event(mover, action))
        live = agent.live()
        if solution:
            key, (first, _) = list(agent.turn.roots.items())[-1]
            alone = replace(first, search=replace(first.search, instead=None))
            agent.turn.roots[key] = alone, Book()
            live = agent.live()
            agent.turn.roots[key] = first, Book()
        return live

    def by_gadget(self, spot: Spot, seat: int) -> Iterator[tuple[str, Live]]:
        """The river as it is solved behind each gadget."""
        before = self.followed(spot, seat)
        yield "turn", before
        for name, gadget in GADGETS.items():
            live = before
            if name.endswith("solution"):
                live = self.followed(spot, seat, solution=True)
            here = live.reached
            assert isinstance(here, ReachedRanges)
            if name.endswith("known"):
                true = list(here.reach)
                true[1 - seat] = spot.here.reach[1 - seat]
                here = here.with_reach((true[0], true[1]))
            search = replace(live.search, at=AT, entered=gadget)
            live = replace(live, search=search, reached=with_every_hand(here))
            yield name, live.ready(Clock(None))

    def solved(self, spot: Spot, live: Live, seat: int, seats: list[Agent]) -> float:
        """What player 0 wins on average if the agent plays what is solved."""
        here = spot.here
        if here.is_over or here.player == CHANCE:
            return self._value(here).won
        if here.player == seat:
            rows = live.rows()
            free = self.deck.compatible(here.board)[:, None]
            children = self._children(here, Policy(rows.actions, rows.probabilities * free))
        else:
            children = self.children(spot, seats)
        total, won = sum(share for _, share in children.values()), 0.0
        for name, (child, share) in children.items():
            if share > SELDOM * total:
                after = live.after(name)
                after = after if child.is_over else after.ready(Clock(None))
                there = spot.after((here.player, name), child)
                won += share / total * self.solved(there, after, seat, seats)
        return won


@cache
def rivers() -> Rivers:
    """Made once in each process."""
    return Rivers()


def won(numbered: tuple[int, Turn]) -> list[dict[str, Any]]:
    """What is won from the blueprint on the rivers after a turn, in both seats."""
    number, begun = numbered
    at, out = rivers(), []
    for seat in (0, 1):
        seats: list[Agent] = [copy.copy(at.other) for _ in (0, 1)]
        seats[seat] = copy.copy(at.agent)
        spot = at.drawn(
            Spot(begun.line, replace(begun.state.reached, game=at.game)),
            seats,
            Random(1000 * number + seat),
        )
        if spot is None:
            continue
        both: list[Agent] = [copy.copy(at.other) for _ in (0, 1)]
        instead, pot = at.won(spot, both), float(spot.here.betting.pot)
        row: dict[str, Any] = {"line": " ".join(action for _, action in spot.line), "seat": seat}
        for name, live in at.by_gadget(spot, seat):
            gain = (at.solved(spot, live, seat, both) - instead) * (1 if seat == 0 else -1)
            row[name] = 100 * gain / pot
        out.append(row)
        print(json.dumps(row), flush=True)
    return out


def lost(seed: int, number: int) -> list[dict[str, Any]]:
    """What a best response wins on the river of a deal with the hands that LBR comes with."""
    at, seat, random = rivers(), number % 2, Random(1000 * seed + number)
    players: list[Agent] = [copy.copy(at.agent), copy.copy(at.agent)]
    players[1 - seat] = LocalBestResponse(at.game, at.agent, LBR)
    for p, player in enumerate(players):
        player.begin(p, number)
    spot = Spot((), ReachedRanges.start(at.game))
    while len(spot.here.board) < 5:
        here = spot.here
        if here.is_over or min(here.betting.behind) <= 0:
            return []
        if here.player == CHANCE:
            move, after = (CHANCE, at.deck.name(at._cards(here, random))), None
        else:
            children = at._children(here, at._asked(players[here.player], here))
            shares = {
                name: 0.0 if child.is_over else share * float(child.betting.pot)
                for name, (child, share) in children.items()
            }
            if sum(shares.values()) <= 0:
                return []
            name = draw(random, tuple(shares), list(shares.values()))
            move, after = (here.player, name), children[name][0]
        spot = spot.after(move, here.child(move[1]) if after is None else after)
        for player in players:
            player.observe(Event(*move))
    row: dict[str, Any] = {"line": " ".join(action for _, action in spot.line), "seat": seat}
    for name, live in at.by_gadget(spot, seat):
        weight = spot.here.reach[1 - seat] * live.reached.weight(1 - seat)
        values = live.reached.values(live.before, 1 - seat, best=True)
        row[name] = float(weight @ values / weight.sum()) / float(spot.here.betting.pot)
    print(json.dumps(row), flush=True)
    return [row]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--deals", type=int, default=60)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        begun = enumerate(turns(rivers().agent, asked.turns, asked.seed))
        rows = {
            "won": [row for some in pool.map(won, begun) for row in some],
            "lost": [
                row
                for some in pool.map(partial(lost, asked.seed), range(asked.deals))
                for row in some
            ],
        }
    names = ["turn", *GADGETS]
    means = {
        what: {name: mean([row[name] for row in every]) for name in names}
        for what, every in rows.items()
    }
    print(json.dumps(means, indent=1))
    result = {
        "iterations": ITERATIONS,
        "lbr": LBR,
        "won, % of the pot": means["won"],
        "lost, pots": means["lost"],
        "rows": rows,
    }
    title = "Rivers after a turn that was solved, by the gadget that solves them"
    write_result(asked, __file__, title, result)


if __name__ == "__main__":
    main()
