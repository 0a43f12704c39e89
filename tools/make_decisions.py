"""Make the situations of ``subgame bench decisions``: lines of play, solved to the end.

    python tools/make_decisions.py decisions.npz --street flop --solutions 17 --device cuda
    python tools/make_decisions.py decisions.npz --street turn --solutions 28 --device cuda
    python tools/make_decisions.py decisions.npz --street river --solutions 44 --jobs 2
    python tools/make_decisions.py decisions.npz --street preflop

Both players' ranges follow the blueprint of the package up to the street that is solved. Several
decisions of a solution are kept. Situations that the file has are not made again, so that streets
can be added later; with ``--again`` those of the street are. The others stay as they are. The file
is written after each solution. Before the flop there are open-shoves alone, with the ranges of push
or fold.

Lines that are played less often than `RARE` from a street's start are left out. Whether a solution
plays a line is known only if it is far less exploitable than that: rough ones play lines in several
percent that better ones never play.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import subgame as sg
from subgame.bench.decisions import RARE, Situation, nearest, read, write
from subgame.blueprints.follow import DETERMINISTIC, AbstractDecision, FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.arrays import as_numpy
from subgame.games.actions import kind_of
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.ranges import Range, class_names, class_of
from subgame.games.holdem.rules import Bet, Betting, total_of
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.translation import likelihood, real_action
from subgame.papers.report import commit, machine
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.solver import Run, begin, drive
from subgame.spots.browse import Explorer
from subgame.spots.lines import Walk
from subgame.spots.pushfold import push_fold
from subgame.tree.compile import compile
from subgame.tree.ranges.tree import Merge
from subgame.tree.strategy import Strategy

MENUS = {
    "river": "river: 0.17x 0.33x 0.75x 1.25x 2x a / raise 2r 1x a / raise2 a / cap 3",
    "turn": "turn: 0.17x 0.33x 0.75x 2x / raise 2r 1x / cap 3; river: 0.75x / raise 1x / cap 2; "
    "add-all-in 1.5",
    "flop": "flop: 0.17x 0.75x 2x / raise 2r 1x / cap 2; turn: 0.75x / cap 2; "
    "river: 0.75x / cap 2; add-all-in 1",
}
"""The bets of the solutions, by the street on which they begin."""
POTS = {
    "limped": "c c",
    "single-raised": "r300 c",
    "three-bet": "r300 r900 c",
    "four-bet": "r300 r900 r2700 c",
    "odd open": "r250 c",
}
FACED: dict[str, tuple[Bet, ...]] = {
    "first to act": (),
    "checked to": (Bet(0),),
    "a sixth of the pot": (Bet(0.17),),
    "an overbet": (Bet(2.0),),
    "all-in": (Bet(1e9, all_in=True),),
    "three quarters after a check": (Bet(0), Bet(0.75)),
    "a min-raise": (Bet(0), Bet(0.75), Bet(1e-9)),
}
"""What happens on the street that is solved before the agent decides."""
BETWEEN = ((Bet(0), Bet(0)), (Bet(0), Bet(0.5), Bet(0)), (Bet(1.0), Bet(0)))
"""The betting of the streets between: checks, a bet of half the pot, a lead of the pot."""
KEPT = 2
"""Decisions that are kept of a solution."""
LEAST = 1e-4
"""Hands that are rarer, beside the commonest one, are left out."""
Moves = list[tuple[int, str]]
Floats = NDArray[np.float64]


class Wanted(NamedTuple):
    """One solution, and how it is computed."""

    pot: str
    street: str
    number: int
    iterations: int
    target: float
    device: str
    threads: int | None


@cache
def loaded() -> tuple[Holdem, StoredBlueprint]:
    """The game and the blueprint that ranges follow."""
    game = sg.games.load("hunl")
    assert isinstance(game, Holdem)
    return game, StoredBlueprint.load()


def line(game: Holdem, pot: str, street: int, random: Random) -> Moves:
    """The moves up to a street, whose cards are dealt."""
    betting, moves = game.start(), Moves()
    cards = random.sample(range(game.deck.size), 3 + street - 1)
    for action in POTS[pot].split():
        moves.append((betting.player, action))
        betting = betting.child(action)
    for k in range(1, street + 1):
        dealt = cards[:3] if k == 1 else cards[k + 1 : k + 2]
        moves.append((CHANCE, game.deck.name(sorted(dealt))))
        for bet in random.choice(BETWEEN) if k < street else ():
            moves.append((betting.player, real_action(betting, bet)))
            betting = betting.child(moves[-1][1])
    return moves


def own_moves(game: Holdem, betting: Betting, kind: str) -> Moves | None:
    """What is faced on the street that is solved, by its menu; None if there is no such bet."""
    moves, street = Moves(), betting.street
    for bet in FACED[kind]:
        actions, wanted = game.actions(betting), real_action(betting, bet)
        action = actions[nearest(actions, wanted)]
        if kind_of(action) != kind_of(wanted):
            return None
        if kind_of(action) == "raise" and bet.all_in != (total_of(action) == betting.most_raise):
            return None
        moves.append((betting.player, action))
        betting = betting.child(action)
        if betting.is_over or betting.street != street:
            return None
    return moves


class Arrival(NamedTuple):
    """Where a line of the blueprint leads."""

    reached: ReachedRanges
    frequency: float
    """The least of the streets before: how often the blueprint plays its line from its start."""


def arrived(game: Holdem, blueprint: StoredBlueprint, moves: Moves) -> Arrival:
    """Both players' ranges after some moves, if they follow the blueprint."""
    reached, frequency = ReachedRanges.start(game), 1.0
    followed, began = FollowedBetting(game.start(), blueprint.game.start()), reached
    for player, action in moves:
        share, waiting = None, followed.waiting
        if player == CHANCE:
            frequency = min(frequency, met(reached) / max(met(began), 1e-300))
        elif waiting is not None:
            place = HoldemState(game, (0, 0), reached.board, waiting)
            actions, probabilities = blueprint.range_strategy(place)
            decision = AbstractDecision(waiting, actions)
            shares = decision.translated(reached.betting, action, DETERMINISTIC)
            share = likelihood(probabilities, shares)
        if player != CHANCE:
            followed = followed.after(action, blueprint.actions, DETERMINISTIC)
        if share is not None and not (reached.reach[player] * share).any():
            frequency = 0.0  # the range would stay what it was
        reached = reached.after(action, share)
        began = reached if player == CHANCE else began
    return Arrival(reached, frequency)


def met(reached: ReachedRanges) -> float:
    """How often both players' ranges meet, up to a factor that depends on the board alone."""
    one, two = (reach * reached.game.deck.compatible(reached.board) for reach in reached.reach)
    return float(one @ reached.game.facing(reached.board, two))


class Solution(Explorer):
    """A solved street; values of its decisions are computed where it was solved."""

    def __init__(self, run: Run) -> None:
        self.run, self.played = run, run.played()
        one, two = (run.engine.host(numbers, 1) for numbers in self.played)
        super().__init__(Strategy(run.tree, (one, two), check=False))
        self._rows: dict[int, Floats] = {}

    def rows(self, walk: Walk, q: int) -> Floats:
        engine: Any = self.run.engine
        if not hasattr(engine, "device"):
            return super().rows(walk, q)
        if q not in self._rows:
            theirs, ours = self.played[1 - q], self.played[q]
            rows = engine.row_values(q, theirs, engine.roots(1 - q), ours)[0]
            self._rows[q] = as_numpy(rows[:, 0, : len(self.tree.units[0].hands[q])])
        return self._rows[q]


def solved(game: Holdem, reached: ReachedRanges, wanted: Wanted) -> Solution:
    """The rest of the game from a street on."""
    one, two = (Range(reach / reach.max(), game.deck) for reach in reached.reach)
    spot = replace(game, board=reached.board, first=reached.betting, ranges=(one, two))
    merge: Merge = True if wanted.device == "cpu" else "boards"
    run, limits = begin(
        compile(spot, memory_limit=None, merge=merge),
        "hs-dcfr",
        iterations=wanted.iterations,
        target=wanted.target * float(reached.betting.pot),
        device=wanted.device,
        threads=wanted.threads,
    )
    drive(run, limits)
    run.release()
    return Solution(run)


class Place(NamedTuple):
    """Where a solution begins."""

    game: Holdem
    """With the bets of the solution."""
    moves: Moves
    """Up to there."""
    reached: ReachedRanges

    def lines(self, first: int = 0) -> dict[str, Moves]:
        """What may be faced, from the kind of that number on, and the moves on the street."""
        kinds = list(FACED)[first:] + list(FACED)[:first]
        lines = {kind: own_moves(self.game, self.reached.betting, kind) for kind in kinds}
        return {kind: own for kind, own in lines.items() if own is not None}


def place(wanted: Wanted) -> Place | None:
    """Where a solution begins; None if the line before is hardly ever played."""
    game, blueprint = loaded()
    name = f"{wanted.pot}, {wanted.street}, {wanted.number}"
    moves = line(game, wanted.pot, STREETS.index(wanted.street), Random(name))
    reached, frequency = arrived(game, blueprint, moves)
    if not frequency > RARE or reached.is_over or reached.player == CHANCE:
        return None
    return Place(replace(game, bets=BetSizes.parse(MENUS[wanted.street])), moves, reached)


def situations(wanted: Wanted) -> list[Situation]:
    """The decisions that are kept of one solution; none if its line is hardly ever played."""
    here, made = place(wanted), list[Situation]()
    if here is None:
        return []
    solution = solved(here.game, here.reached, wanted)
    left = solution.run.evaluated(solution.played).mean / float(here.reached.betting.pot)
    for kind, own in here.lines(2 * wanted.number % len(FACED)).items():
        one = decision(solution, own) if len(made) < KEPT else None
        if one is not None:
            named = f"{wanted.pot}, {kind}, {wanted.street}, {wanted.number}"
            moves = (*here.moves, *own)
            made.append(replace(one, name=named, kind=kind, moves=moves, exploitability=left))
    return made


def decision(solution: Solution, own: Moves) -> Situation | None:
    """A decision of a solution, without its name; None if play hardly ever arrives there."""
    here = solution.decision(" ".join(action for _, action in own))
    values, pot = here.action_ev, float(here.betting.pot)
    held = (here.chance > LEAST * here.chance.max()) & np.isfinite(values).all(1)
    if not here.line_frequency > RARE or not held.any() or len(here.actions) < 2:
        return None
    evs = values[held]
    return Situation(
        name="",
        kind="",
        moves=(),
        seat=here.player,
        street=STREETS[here.betting.street],
        pot=pot,
        actions=here.actions,
        exploitability=0.0,
        frequency=here.line_frequency,
        hands=np.asarray(here.hands)[held],
        weight=here.chance[held] / here.chance[held].sum(),
        loss=(evs.max(1, keepdims=True) - evs) / pot,
    )


def open_shove() -> Situation:
    """The big blind faces all-in at once; the small blind holds what it has in push or fold."""
    game, _ = loaded()
    deck, shove = game.deck, f"r{max(game.rules.stacks)}"
    first = game.start()
    betting = first.child(shove)
    chart = push_fold(float(max(game.rules.stacks) / game.rules.blinds[1]))
    classes = [class_names(deck)[k] for k in class_of(deck)]
    pushed = np.array([chart.push[name] for name in classes])
    gain = np.array([chart.call_ev[name] for name in classes]) * float(game.rules.blinds[1])
    chance, pot = deck.facing(pushed), float(betting.pot)
    losses = np.stack([np.maximum(gain, 0), np.maximum(-gain, 0)], axis=1) / pot
    return Situation(
        name="unopened, an open-shove, preflop, 0",
        kind="an open-shove",
        moves=((first.player, shove),),
        seat=betting.player,
        street="preflop",
        pot=pot,
        actions=("f", "c"),
        exploitability=chart.exploitability * float(game.rules.blinds[1]) / pot,
        frequency=float(pushed.mean()),
        hands=np.arange(deck.num_hands),
        weight=chance / chance.sum(),
        loss=losses,
    )


def all_made(wanted: Sequence[Wanted], jobs: int) -> Iterator[list[Situation]]:
    """The situations of the solutions, in their order."""
    if jobs == 1:
        for one in wanted:
            yield situations(one)
            gc.collect()  # memory of a device is held by circles
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as executor:
        yield from executor.map(situations, wanted)


def device_name(device: str) -> str:
    """What solves the situations."""
    if not device.startswith("cuda"):
        return device
    import torch

    name: str = torch.cuda.get_device_name(device)
    return name


def without(
    street: str, kept: Sequence[Situation], about: dict[str, Any]
) -> tuple[list[Situation], dict[str, Any]]:
    """The situations of the other streets, and how they were made."""
    others = [one for one in kept if one.street != street]
    return others, about | {"runs": [run for run in about["runs"] if run["street"] != street]}


def add(
    made: Iterator[list[Situation]],
    file: Path,
    kept: Sequence[Situation],
    about: dict[str, Any],
    seconds: float,
) -> None:
    """Write situations to a file as they come, with the others; after some seconds no more.

    The last run of `about` counts what was made.
    """
    began, run, known = time.perf_counter(), about["runs"][-1], {one.name for one in kept}
    every = list(kept)
    for some in made:
        new = [one for one in some if one.name not in known]
        every += new
        run["solutions"] += 1
        run["situations"] += len(new)
        write(file, every, about)
        spent = time.perf_counter() - began
        for one in new:
            print(
                f"{one.name}: {one.exploitability:.2%} of the pot, played in {one.frequency:.2%}, "
                f"{spent:.0f} s",
                flush=True,
            )
        if spent > seconds:
            print(f"Ended after {run['solutions']} solutions.", flush=True)
            return


def options() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--street", choices=["preflop", *MENUS], default="river")
    parser.add_argument("--again", action="store_true", help="drop what the file has of the street")
    parser.add_argument("--solutions", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--target", type=float, default=5e-5, help="in shares of the pot")
    parser.add_argument("--seconds", type=float, default=math.inf, help="then none is begun")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    typed = options()
    street, file = typed.street, typed.file
    kept, about = read(file) if file.exists() else ([], {"runs": []})
    if typed.again:
        kept, about = without(street, kept, about)
    known = {(one.street, *one.name.split(", ")[:1], one.name.split(", ")[-1]) for one in kept}
    solve = (typed.iterations, typed.target, typed.device, None if typed.jobs == 1 else 1)
    pots = itertools.cycle(POTS)
    wanted = [
        Wanted(pot, street, number, *solve)
        for number, pot in zip(range(typed.solutions), pots, strict=False)
        if (street, pot, str(number)) not in known
    ]
    about["runs"].append(
        {
            "street": street,
            "solutions": 0,
            "situations": 0,
            "iterations": typed.iterations,
            "target": typed.target,
            "menu": MENUS.get(street, "all-in or fold"),
            "device": device_name(typed.device),
            "commit": commit(),
            "machine": machine(),
        }
    )
    made = iter([[open_shove()]]) if street == "preflop" else all_made(wanted, typed.jobs)
    add(made, file, kept, about, typed.seconds)


if __name__ == "__main__":
    main()
