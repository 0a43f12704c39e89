"""Make the situations of ``subgame bench decisions``: lines of play, solved to the end.

    python tools/make_decisions.py decisions.npz --street river --count 60
    python tools/make_decisions.py decisions.npz --street turn --count 4

Situations that the file has are kept, so that streets can be added later, on a GPU (--device cuda).
Both players' ranges follow the blueprint of the package up to the street that is solved.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

import subgame as sg
from subgame.bench.decisions import Situation, read, write
from subgame.blueprints.follow import DETERMINISTIC, AbstractDecision, FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Bet
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.translation import likelihood, real_action
from subgame.papers.report import commit, machine
from subgame.refine.ranges.reached import ReachedRanges
from subgame.spots.endgame import Endgame

MENUS = {
    "river": "river: 0.17x 0.33x 0.75x 1.25x 2x a / raise 2r 1x a / raise2 a / cap 3",
    "turn": "turn: 0.17x 0.5x 1x 2x / raise 2r 1x / cap 2; river: 0.75x / raise a / cap 2",
    "flop": "flop: 0.17x 0.5x 1x / raise 1x / cap 2; turn, river: 0.75x / cap 1",
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
Moves = list[tuple[int, str]]


def line(game: Holdem, pot: str, kind: str, street: int, random: Random) -> tuple[Moves, Moves]:
    """The moves up to the street, and those on it."""
    betting, before = game.start(), Moves()
    cards = random.sample(range(game.deck.size), 3 + street - 1)

    def make(bets: Sequence[Bet]) -> Moves:
        nonlocal betting
        moves = Moves()
        for bet in bets:
            if not betting.is_over:
                moves.append((betting.player, real_action(betting, bet)))
                betting = betting.child(moves[-1][1])
        return moves

    for action in POTS[pot].split():
        before.append((betting.player, action))
        betting = betting.child(action)
    for k in range(1, street + 1):
        dealt = cards[:3] if k == 1 else cards[k + 1 : k + 2]
        before.append((CHANCE, game.deck.name(sorted(dealt))))
        if k < street:
            before += make(random.choice(BETWEEN))
    return before, make(FACED[kind])


def reached_by(game: Holdem, blueprint: StoredBlueprint, moves: Moves) -> ReachedRanges:
    """Both players' ranges after some moves, if they follow the blueprint."""
    reached = ReachedRanges.start(game)
    followed = FollowedBetting(game.start(), blueprint.game.start())
    for player, action in moves:
        share, waiting = None, followed.waiting
        if player != CHANCE and waiting is not None:
            place = HoldemState(game, (0, 0), reached.board, waiting)
            actions, probabilities = blueprint.range_strategy(place)
            decision = AbstractDecision(waiting, actions)
            shares = decision.translated(reached.betting, action, DETERMINISTIC)
            share = likelihood(probabilities, shares)
        if player != CHANCE:
            followed = followed.after(action, blueprint.actions, DETERMINISTIC)
        reached = reached.after(action, share)
    return reached


def solved(
    game: Holdem, reached: ReachedRanges, own: Moves, street: str, options: argparse.Namespace
) -> tuple[Endgame, str]:
    """The rest of the game from a street on, and the line to the decision."""
    one, two = (Range(reach / reach.max(), game.deck) for reach in reached.reach)
    bets = BetSizes.parse(MENUS[street])
    betting, added = reached.betting, list[str]()
    for _, action in own:  # bets that the menu may lack
        added.append(f"{betting}{action}")
        betting = betting.child(action)
    bets, first = replace(bets, added=tuple(added)), reached.betting
    spot = replace(game, board=reached.board, first=first, ranges=(one, two), bets=bets)
    result = sg.solve(
        sg.compile(spot), "hs-dcfr", iterations=options.iterations, device=options.device
    )
    return Endgame.of(result.strategy), " ".join(action for _, action in own)


def situation(
    game: Holdem, blueprint: StoredBlueprint, name: str, options: argparse.Namespace
) -> Situation | None:
    """One situation by its name: pot, what is faced, street and number."""
    pot, kind, street, _ = name.split(", ")
    before, own = line(game, pot, kind, STREETS.index(street), Random(name))
    if len(own) < len(FACED[kind]):  # all chips are in before
        return None
    reached = reached_by(game, blueprint, before)
    nobody = not (reached.reach[0] * reached.weight(0)).any()
    if nobody or reached.is_over or reached.player == CHANCE:
        return None
    betting = reached.betting.play(" ".join(action for _, action in own))
    if betting.is_over or betting.street != reached.betting.street:  # nobody could raise
        return None
    spot, told = solved(game, reached, own, street, options)
    here = spot.decision(told)
    values, pot_here = here.action_ev, float(here.betting.pot)
    held = (here.chance > 1e-6) & np.isfinite(values).all(1)
    if not held.any() or len(here.actions) < 2:
        return None
    evs = values[held]
    most = sg.exploitability(spot.strategy.tree, spot.strategy)
    return Situation(
        name=name,
        kind=kind,
        moves=(*before, *own),
        seat=here.player,
        street=street,
        pot=pot_here,
        actions=here.actions,
        exploitability=most.mean / float(reached.betting.pot),
        hands=np.asarray(here.hands)[held],
        weight=here.chance[held] / here.chance[held].sum(),
        loss=(evs.max(1, keepdims=True) - evs) / pot_here,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--street", choices=list(MENUS), default="river")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    game, blueprint = sg.games.load("hunl"), StoredBlueprint.load()
    assert isinstance(game, Holdem)
    kept, about = read(options.file) if options.file.exists() else ([], {"runs": []})
    known = {one.name for one in kept}
    kinds = itertools.cycle(itertools.product(FACED, POTS))
    began, done = time.process_time(), 0
    for number, (kind, pot) in enumerate(kinds):
        if done >= options.count:
            break
        name = f"{pot}, {kind}, {options.street}, {number}"
        made = None if name in known else situation(game, blueprint, name, options)
        done += name in known or made is not None
        if made is not None:
            kept.append(made)
            write(options.file, kept, about)
            spent = time.process_time() - began
            print(f"{name}: {made.exploitability:.2%} of the pot, {spent:.0f} s", flush=True)
    about["runs"].append(
        {
            "street": options.street,
            "count": options.count,
            "iterations": options.iterations,
            "menu": MENUS[options.street],
            "device": options.device,
            "commit": commit(),
            "machine": machine(),
        }
    )
    write(options.file, kept, about)


if __name__ == "__main__":
    main()
