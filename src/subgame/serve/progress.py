"""What a worker reports to the server, one JSON object a line."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subgame.solve.results import Step


def tell(**message: object) -> None:
    """Report to the server; if it is gone, have the solve stop and keep what it found."""
    try:
        print(json.dumps(message), flush=True)
    except (BrokenPipeError, ValueError):
        with suppress(OSError, ValueError):
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115, it lasts as long as the process
        os.kill(os.getpid(), signal.SIGINT)


class Told(logging.Handler):
    """Passes on what the library logs, such as that kernels are being compiled."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(phase=record.getMessage())


class Reporter:
    """Reports iterations, the time that is left and new points of the exploitability curve.

    `usual` is how many iterations a solve usually takes, for the time that is left before
    exploitability was measured twice.
    """

    def __init__(self, scale: float = 1.0, usual: float = math.nan) -> None:
        self.scale, self.usual, self.last, self.points = scale, usual, math.nan, 0
        self.began: Step | None = None
        """The first report: kernels may have been compiled before it."""

    def __call__(self, step: Step) -> None:
        new = step.exploitability != self.last and not math.isnan(step.exploitability)
        self.last, self.points = step.exploitability, self.points + new
        point = [step.iteration, step.seconds, step.exploitability * self.scale]
        left, began = step.left, self.began or step
        self.began = began
        if self.points < 2 and began.iteration < step.iteration < self.usual:
            pace = (step.seconds - began.seconds) / (step.iteration - began.iteration)
            left = min((self.usual - step.iteration) * pace, math.inf if left != left else left)
        tell(
            step=[step.iteration, step.seconds, step.share],
            left=None if math.isnan(left) else left,
            **({"point": point} if new else {}),
        )
