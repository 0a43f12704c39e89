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
from subgame.refine.compact import Compact
from subgame.refine.gadgets import Gadget
from subgame.refine.sequence.subgames import SequenceSubgame, gadget_form
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Run
from subgame.tree.public_tree import PublicTree, embed, places
from subgame.tree.sequence.form import assemble

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
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
    """A gadget game being solved, and whose strategies are taken from it."""

    run: Run
    players: tuple[int, ...]


class Resolving:
    """All subgames of a compact strategy, re-solved in step, so that one run gives a whole curve.

    The gadget games are those of `Compact.reconstruct`; an unsafe one is solved once and serves
    both players.
    """

    def __init__(
        self,
        compact: Compact,
        tree: PublicTree,
        technique: Gadget,
        schedule: Schedule | str,
        seed: int = 0,
        subgames: Sequence[SequenceSubgame] | None = None,
    ) -> None:
        """`subgames` are those of `compact`, where several runs share them."""
        self.tree, self.iterations, self.seconds = tree, 0, 0.0
        one, two = (np.ones(side.num_sequences) for side in tree.players)
        self.start, self.games = (one, two), list[_Game]()
        self._lay(compact.strategy, self.start, (0, 1))
        both = technique.entry == "blueprint"
        for k, subgame in enumerate(compact.subgames() if subgames is None else subgames):
            assert isinstance(subgame, SequenceSubgame)
            for p in (0,) if both else (0, 1):
                inputs = compact.inputs(k, subgame, 1 - p)
                game = assemble(gadget_form(technique, subgame.form, inputs))
                own = seed * 1_000 + len(self.games)  # a sampling schedule's luck differs by game
                run = Run(game, parse(schedule), own)
                self.games.append(_Game(run, (0, 1) if both else (p,)))

    def _lay(self, part: sg.Strategy, into: Pair, players: tuple[int, ...]) -> None:
        for p in players:
            where = places(part.tree.players[p], self.tree.players[p])
            embed(part.probs[p], where, into[p])

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
            self._lay(game.run.strategy(), probs, game.players)
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


def doubling(first: int, last: int) -> list[int]:
    """first, 2 first, 4 first, ... and `last`.

    >>> doubling(100, 1000)
    [100, 200, 400, 800, 1000]
    """
    out = [first]
    while out[-1] * 2 < last:
        out.append(out[-1] * 2)
    return [*out, last] if out[-1] < last else out


def slope(points: Sequence[Point]) -> float:
    """The exponent of exploitability in the number of iterations, from 1,000 on.

    -1/2 is 1 / sqrt(T).
    """
    used = [(p.iterations, p.exploitability) for p in points if p.iterations >= 1000]
    x, y = np.log(used).T
    return float(np.polyfit(x, y, 1)[0])
