"""Burch, Johanson & Bowling 2014: what their three Leduc experiments share.

The trunk is the first betting round and there are five subgames, one for each way of betting in
it without a fold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import subgame as sg
from subgame.engines.factory import engine
from subgame.refine.gadget_game import gadget_form
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.refine.learners import normalise
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Run
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import assemble

Ints = NDArray[np.int64]
AT = "after round 1"
SLICE = 100_000
"""Iterations between looks at the progress; discounts are laid out for as many at a time."""


class Point(NamedTuple):
    """A re-solved strategy on the way."""

    iterations: int
    seconds: float
    """CPU seconds of the iterations alone, of all gadget games together."""
    exploitability: float


class _Game(NamedTuple):
    """A gadget game being solved, and where its strategies go: (player, from, to)."""

    run: Run
    lay: list[tuple[int, Ints, Ints]]


class Resolving:
    """All subgames of a compact strategy, re-solved in step, so that one run gives a whole curve.

    The gadget games are those of `Compact.reconstruct`; an unsafe one is solved once and serves
    both players.
    """

    def __init__(
        self,
        compact: sg.Compact,
        tree: PublicTree,
        technique: Gadget,
        schedule: Schedule | str,
        seed: int = 0,
    ) -> None:
        self.tree, self.iterations, self.seconds = tree, 0, 0.0
        self.start = (
            np.ones(tree.players[0].num_sequences),
            np.ones(tree.players[1].num_sequences),
        )
        for p in (0, 1):
            source, target = _places(compact.trunk, tree, p)
            self.start[p][target] = compact.strategy.probs[p][source]
        trunk, self.games = engine(compact.trunk), list[_Game]()
        plans = [trunk.plan(p, compact.strategy.probs[p]) for p in (0, 1)]
        for subgame, values in zip(compact.subgames(), compact.values, strict=True):
            for p in (0,) if technique.entry == "blueprint" else (0, 1):
                o, ours = 1 - p, plans[p][subgame.sequence[p]]
                weight = subgame.weight(o, ours)
                kept = normalise(values[o], weight)
                theirs = plans[o][subgame.sequence[o]]
                inputs = GadgetInputs(o, ours, theirs, weight, kept, kept)
                game = assemble(gadget_form(technique, subgame.form, inputs))
                players = (0, 1) if technique.entry == "blueprint" else (p,)
                lay = [(q, *_places(game, tree, q)) for q in players]
                own = seed * 1_000 + len(self.games)  # a sampling schedule's luck differs by game
                self.games.append(_Game(Run(game, parse(schedule), own), lay))

    def advance(self, to: int, progress: Callable[[int], None] | None = None) -> None:
        """Go on to that many iterations of each gadget game."""
        while self.iterations < to:
            count = min(SLICE, to - self.iterations)
            for game in self.games:
                began = time.process_time()
                game.run.advance(count)
                self.seconds += time.process_time() - began
            self.iterations += count
            if progress is not None:
                progress(self.iterations)

    def strategy(self) -> sg.Strategy:
        """The trunk's strategy and the re-solved ones below it, in the whole game."""
        probs = (self.start[0].copy(), self.start[1].copy())
        for game in self.games:
            found = game.run.strategy()
            for p, source, target in game.lay:
                probs[p][target] = found.probs[p][source]
        return sg.Strategy(self.tree, probs)

    def curve(
        self, counts: Sequence[int], progress: Callable[[int], None] | None = None
    ) -> list[Point]:
        """The exploitability in the whole game at each of `counts` iterations."""
        out = []
        for count in counts:
            self.advance(count, progress)
            gap = sg.exploitability(self.tree, self.strategy())
            out.append(Point(count, self.seconds, gap.mean))
        return out


def _places(part: PublicTree, tree: PublicTree, p: int) -> tuple[Ints, Ints]:
    """Sequences of a part (a trunk, a gadget game) and their places in the whole tree."""
    side, whole = part.players[p], tree.players[p]
    known = [(i, whole.index[name]) for i, name in enumerate(side.names) if name in whole.index]
    none = [np.zeros(0, dtype=np.int64)]
    return (
        np.concatenate([*(side.sequences(i) for i, _ in known), *none]),
        np.concatenate([*(whole.sequences(j) for _, j in known), *none]),
    )


def doubling(first: int, last: int) -> list[int]:
    """first, 2 first, 4 first, ... and `last`.

    >>> doubling(100, 1000)
    [100, 200, 400, 800, 1000]
    """
    out = [first]
    while out[-1] * 2 < last:
        out.append(out[-1] * 2)
    return [*out, last] if out[-1] < last else out


def slope(points: Sequence[Point], from_iteration: int = 1000) -> float:
    """The exponent of exploitability in the number of iterations: -1/2 is 1 / sqrt(T)."""
    used = [p for p in points if p.iterations >= from_iteration and p.exploitability > 0]
    if len(used) < 2:
        used = list(points)
    x = np.log([point.iterations for point in used])
    y = np.log([point.exploitability for point in used])
    return float(np.polyfit(x, y, 1)[0])
