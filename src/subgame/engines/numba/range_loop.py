"""Iterations of the CPU engine of hold'em trees, many in one call of a kernel."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from subgame.engines.contract import Both, Floats, Mode, Pair, Regrets, Wins
from subgame.engines.numba.native import Kernel, Packed
from subgame.engines.numba.range_scratch import (
    NOBODY,
    THEIRS,
    UNCHECKED,
    Job,
    Precision,
    Workers,
    iterations_form,
    numbers_of,
)

RUN_ITERATIONS = Kernel("range_kernels", "run_iterations")


class Sweeper(Protocol):
    """What a loop needs of its engine, which is a `ranges.NumbaRangeEngine`."""

    workers: Workers

    @property
    def checked(self) -> tuple[Floats, Packed]:
        """[2] where kernels write a check, and what they take for one."""

    def hold(self, pair: Pair) -> bool:
        """Set the regrets of locked hands; whether there are any."""

    def write_reach(self, dtype: Precision, p: int, reach: Floats) -> None:
        """Copy player `p`'s reach [root, infoset] into the workspace."""

    def run(self, kind: tuple[int, int, int], pair: Pair, rates: Floats) -> None:
        """One sweep."""

    def snapshot(self, regrets: Regrets) -> Regrets:
        """A copy of what is played now, without an average."""


class RangeLoop:
    """Iterations of an engine on the same arrays, whose addresses are read once; see `contract`.

    A player's average is updated in the opponent's sweep, which computes the player's reach anyway
    (see `range_kernels.keeping`).
    """

    def __init__(self, engine: Sweeper, pair: Pair, reach: Both, turns: tuple[bool, int]) -> None:
        """`turns` says whether players alternate, and who responds; `reach` must not change."""
        self.engine, self.pair, self.reach = engine, pair, reach
        self.alternating, self.responder = turns
        self._workers = engine.workers
        self._job: Job | None = None

    def __call__(self, rates: Floats, check: bool = False) -> Wins | None:
        """Run ``len(rates) - 1`` iterations.

        With `check`, where the engine `can_check`, it returns what best responses to the averages
        win, computed in float32: errors are below a millionth of all chips.
        """
        engine, pair, count = self.engine, self.pair, len(rates) - 1
        if count < 1:
            return None
        if engine.hold(pair) and count > 1 and rates[0, 3] == 0:  # its discount may be 0
            self(rates[:2])
            return self(rates[1:], check)
        for p in (0, 1):
            engine.write_reach(np.float32, p, self.reach[p])
        if self.responder == 1:  # answers player 0's first strategy before it is played
            kind = (1, int(Mode.RESPOND), NOBODY)
            engine.run(kind, (pair[1], pair[0]), rates[[0, 0]])
        if not self.alternating:
            for t in range(count):
                self._together(rates[[t, t]])
            return None
        job = self._job
        if job is None or self._workers is not engine.workers:  # it has other threads now
            job = self._bind()
        if not check:
            job(rates, self.responder, UNCHECKED)
            return None
        won, checked = engine.checked
        job(rates, self.responder, checked)
        first, second = won.tolist()
        return first, second

    def _bind(self) -> Job:
        """The kernel of alternating updates, with the arrays of this loop."""
        (one, mine), (two, theirs) = map(numbers_of, self.pair)
        self._workers = self.engine.workers
        job = self._workers.job(np.float32, RUN_ITERATIONS, iterations_form(one, two))
        self._job = job = job.bound(*mine, *theirs)
        return job

    def _together(self, rates: Floats) -> None:
        """One iteration of simultaneous updates: each plays against the other's old strategy."""
        engine, pair = self.engine, self.pair
        before = engine.snapshot(pair[0])._replace(average=pair[0].average)
        for p, theirs in enumerate((pair[1], before)):
            mode = Mode.RESPOND if self.responder == p else Mode.LEARN
            engine.run((p, int(mode), THEIRS), (pair[p], theirs), rates)
