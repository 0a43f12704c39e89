"""What the agent of hold'em wins from the turn on, by the sizes that it solves there.

    python benchmarks/turn_menus.py [--turns 24] [--lines 16] [--seed 5] [--jobs 2] [--out FILE]

Turns are drawn as the blueprint comes to them against itself, with both players' ranges. From there
on the agent plays the blueprint, whose bets are half the pot, the pot and all-in. Each turn is
played on some lines, in both seatings, and what the agent wins beyond the blueprint in its place is
estimated by AIVAT over both ranges (`subgame.play.range_match`). The lines are drawn with the same
seeds for every menu.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from race_commits import write_result
from subgame.games.base import CHANCE
from subgame.games.holdem import hunl
from subgame.games.holdem.game import BOARD_CARDS
from subgame.play.agent import Event
from subgame.play.blueprint_agent import BlueprintAgent, loaded
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import EarlyState
from subgame.play.match import mixed_seed
from subgame.play.range_match import RangeMatch
from subgame.refine.reached import Move

MENUS = (
    "turn: 0.75x / cap 1; river: 0.75x / cap 1; add-all-in 2.5",
    "turn: 0.75x / cap 2; river: 0.75x / cap 2; add-all-in 2.5",
    "turn: 0.5x 1x / cap 1; river: 0.5x 1x / cap 1; add-all-in 2.5",
    "turn: 0.5x 1x / raise 1x / cap 2; river: 1x / cap 1; add-all-in 2.5",
    "turn: 0.5x 1x / raise 1x / cap 2; river: 0.5x 1x / raise 1x / cap 2; add-all-in 2.5",
)
ITERATIONS = 100


class Turn(NamedTuple):
    """A turn, and how play came to it."""

    line: tuple[Move, ...]
    state: EarlyState


def turns(agent: HoldemAgent, count: int, seed: int, street: int = 2) -> list[Turn]:
    """Turns, or other streets, to which the blueprint comes against itself, with chips behind."""
    random, streets, drawn = Random(seed), agent.streets, list[Turn]()
    deck = streets.game.deck
    while len(drawn) < count:
        state, line = streets.start, list[Move]()
        while not state.reached.is_over and min(state.reached.betting.behind) > 0:
            here = state.reached
            if here.player == CHANCE:
                left = [card for card in range(deck.size) if card not in here.board]
                more = BOARD_CARDS[here.betting.street] - len(here.board)
                move = CHANCE, deck.name(sorted(random.sample(left, more)))
            elif here.betting.street == street:
                drawn.append(Turn((*line,), state))
                break
            else:
                rows = streets.followed_rows(state)
                weight = here.reach[here.player] * here.weight(here.player)
                often = (weight @ rows.probabilities).tolist()
                move = here.player, random.choices(rows.actions, often)[0]
            state = streets.after(state, move, move[0])
            line.append(move)
    return drawn


def won(menu: str, count: int, lines: int, seed: int) -> dict[str, Any]:
    """What the agent wins with a menu, in chips, by turn and line."""
    game, began = hunl(), time.process_time()
    agent = HoldemAgent(game, loaded(), bets=menu, iterations=ITERATIONS, seconds=None)
    other = BlueprintAgent(game, loaded())
    match = RangeMatch(game, (agent, other), BlueprintValues(loaded()))
    rows = []
    for number, (line, state) in enumerate(turns(agent, count, seed)):
        here, row = replace(state.reached, game=game), []
        for k in range(lines):
            for seat, players in enumerate(match.seats):
                for player in players:
                    player.begin(seat, mixed_seed(seed, number, seat))
                    for mover, action in line:
                        player.observe(Event(mover, action))
            seatings = [(match.seats[0][k], match.seats[1][1 - k]) for k in (0, 1)]
            hands = match._play(here, Random(mixed_seed(seed, number, k)), seatings)
            one, two = (hand.tally.estimate for hand in hands)
            row.append((one - two) / 2)
        betting = " ".join(action for _, action in line)
        rows.append({"turn": betting, "pot": float(here.betting.pot), "won": row})
        print(f"{menu} | {betting}: {np.mean(row):.1f} chips", flush=True)
    return summary(menu, rows) | {"core seconds": time.process_time() - began, "rows": rows}


def summary(menu: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What is won on average over turns, with the interval from turn to turn."""
    shares = [100 * float(np.mean(row["won"])) / row["pot"] for row in rows]
    return {
        "menu": menu,
        "won, % of the pot": float(np.mean(shares)),
        "interval95": float(1.96 * np.std(shares, ddof=1) / len(shares) ** 0.5),
        "turns on which it loses": sum(share < 0 for share in shares),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--lines", type=int, default=16)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    play = partial(won, count=asked.turns, lines=asked.lines, seed=asked.seed)
    with ProcessPoolExecutor(asked.jobs) as pool:
        menus = list(pool.map(play, MENUS))
    for row in menus:
        print(f"{row['menu']}: {row['won, % of the pot']:.2f} ± {row['interval95']:.2f} %")
    result = {
        "iterations": ITERATIONS,
        "menus": menus,
    }
    title = "What the agent wins from the blueprint from the turn on, by its sizes"
    write_result(asked, __file__, title, result)


if __name__ == "__main__":
    main()
