"""How many iterations fit into the time that is left, by how long the last ones took."""

from __future__ import annotations

import time
from collections.abc import Callable

from subgame.memory import cores

PIECES = 4
"""Between two looks at the clock passes at most this part of the time that is left: on a busy
machine the next iterations may take several times as long as the last ones."""


def worked() -> float:
    """CPU seconds of this process, by core that it may use."""
    return time.process_time() / cores()


class Pace:
    """The clock of a solve. Its first iteration is always run.

    A solve ends after `seconds` of the wall clock, or of the processor on every core, whichever is
    over first. A core that is busy with other work gives it fewer CPU seconds, never more time.
    """

    def __init__(
        self,
        seconds: float | None,
        now: Callable[[], float] = time.perf_counter,
        reserve: int = 0,
        cpu: Callable[[], float] | None = None,
    ) -> None:
        """What comes after the solve takes as long as `reserve` iterations.

        `cpu` are CPU seconds by core: those of this process beside the real clock, none beside
        another one.
        """
        self.now, self.began, self.seconds, self.reserve = now, now(), seconds, reserve
        self.cpu = cpu or (worked if now is time.perf_counter else float)
        self.begun = self.cpu()
        """The CPU seconds when the solve began."""
        self.iteration = 0.0
        """Seconds of an iteration: those of the last ones, and a memory of slower ones."""

    def ran(self, count: int, seconds: float) -> None:
        """So many iterations took so many seconds."""
        last = max(seconds, 1e-9) / max(count, 1)
        self.iteration = max(last, (self.iteration + last) / 2)

    def fitting(self, spent: float, most: int) -> int:
        """How many iterations to run before the next look at the clock; 0 if none fits."""
        if self.seconds is None or not self.iteration:
            return most
        spent = max(spent, self.cpu() - self.begun)
        left = self.seconds - spent - self.reserve * self.iteration
        if left < self.iteration:
            return 0
        return max(1, min(most, int(left / (PIECES * self.iteration))))

    def run(self, most: int, step: int, advance: Callable[[int, int], None]) -> int:
        """Call ``advance(done, count)`` until the time is over or `most` are done; how many are."""
        done, count = 0, 1 if self.seconds is not None else step
        while done < most and count:
            before = self.now()
            count = min(count, most - done)
            advance(done, count)
            done += count
            self.ran(count, self.now() - before)
            count = self.fitting(self.now() - self.began, step)
        return done
