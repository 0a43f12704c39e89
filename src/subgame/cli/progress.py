"""Progress on stderr, and kernels that are compiled before the work begins."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from subgame.cli.common import iterations_text, seconds_text, stderr
from subgame.errors import MemoryLimitError, SubgameError, human_bytes

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from subgame.games.base import Game
    from subgame.solve.results import Step
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.ranges.tree import RangeTree

PATIENCE = 1.0
"""Seconds after which a progress bar appears."""
REPEAT = 10.0
"""Seconds between lines of progress where stderr is not a terminal."""


class Meter:
    """Progress on stderr: a bar for work that takes a while; lines if stderr is not a terminal."""

    def __init__(self, game: str, patience: float = PATIENCE) -> None:
        self.game = game
        self.pot = 0.0  # of a hold'em spot, of which exploitability is a share
        self.console = stderr()
        self._log = Told(self)
        self._began = time.monotonic()
        self._said = self._began + patience - REPEAT  # the first line comes with the bar
        self._lock = threading.Lock()
        self._timer = threading.Timer(patience, self._show)
        self._timer.daemon = True
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._now: tuple[str, str, float | None] = (f"Compiling {game}", "", None)

    def __enter__(self) -> Self:
        logging.getLogger("subgame").addHandler(self._log)
        if self.console.is_terminal:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        logging.getLogger("subgame").removeHandler(self._log)
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
            self._bar = None

    def saying(self, what: str) -> Self:
        """The same, with something to say from the start."""
        self._now = (what, "", None)
        return self

    def histories(self, count: int) -> None:
        """For `subgame.compile`."""
        histories = "1 history" if count == 1 else f"{count:,} histories"
        self.update(f"Compiling {self.game}", histories, None)

    def step(self, step: Step) -> None:
        """For `subgame.solve`."""
        gap = f", exploitability {step.exploitability:.3g}"
        if self.pot:
            gap = f", {100 * step.exploitability / self.pot:.3g} % of the pot"
        note = iterations_text(step.iteration) + ("" if math.isnan(step.exploitability) else gap)
        if step.left >= 1:
            note += f", about {seconds_text(step.left)} left"
        self.update(f"Solving {self.game}", note, step.share)

    def counting(self, what: str, unit: str = "") -> Callable[[int, int], None]:
        """A function that is told how many of how many are done."""

        def told(done: int, total: int) -> None:
            self.update(what, f"{done:,} of {total:,} {unit}".rstrip(), done / max(total, 1))

        return told

    def sharing(self, note: str = "") -> Callable[[str, float], None]:
        """A function that is told what is being done and which share of it is done."""
        return lambda what, share: self.update(what, note, min(share, 1.0))

    def update(self, what: str, note: str = "", share: float | None = None) -> None:
        """Say what is being done, with a note, and which share of it is done if that is known."""
        with self._lock:
            self._now = (what, note, share)
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, **self._fields())
                return
        if not self.console.is_terminal and time.monotonic() - self._said >= REPEAT:
            self._said = time.monotonic()
            done = "" if share is None else f"{share:.0%}"
            self.say(": ".join(filter(None, (what, ", ".join(filter(None, (note, done)))))))

    def say(self, line: str) -> None:
        """A line on stderr, above the bar if there is one."""
        from rich.text import Text

        self.console.print(Text(line, style="dim"), soft_wrap=True)

    def _fields(self) -> dict[str, Any]:
        what, note, share = self._now
        total = None if share is None else 1.0
        return {"description": what, "note": note, "total": total, "completed": share or 0.0}

    def _show(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[note]}", markup=False),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            fields = self._fields()
            self._task = self._bar.add_task(fields.pop("description"), **fields)
            self._bar.start()


class Told(logging.Handler):
    """Shows what the library logs, such as that kernels are being compiled."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self.meter = meter

    def emit(self, record: logging.LogRecord) -> None:
        self.meter.say(record.getMessage())


def warm_up(meter: Meter, schedule: str = "cfr+", device: str = "cpu") -> None:
    """Load the kernels before any time is measured, by solving Kuhn poker for a moment."""
    import subgame as sg

    meter.update("Loading the kernels")
    tree = sg.compile(sg.games.load("kuhn"))
    if schedule == "lp":
        sg.exploitability(tree, sg.Strategy.uniform(tree), device=device)
    # Two iterations: Ctrl-C during the first, when kernels are compiled, is then noticed.
    elif sg.solve(tree, schedule, iterations=2, device=device).stopped == "interrupted":
        raise KeyboardInterrupt


EVALUATION = """
import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.solve.solver import Run

tiny = sg.holdem.endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
tree = sg.compile(tiny)
sg.exploitability(tree, sg.Strategy.uniform(tree))
run = Run(tree, sg.CFR(), threads=1)
run.engine.behaviour(0, run.cfr.pair[0].average)
"""
"""Uses the kernels that evaluate strategies of hold'em trees."""


def load_kernels(meter: Meter, tree: RangeTree, schedule: str, storage: str = "float32") -> None:
    """Load the kernels that solve and evaluate a hold'em tree, without running them."""
    from subgame.engines.numba.first_use import Helper
    from subgame.engines.numba.native import only_loading
    from subgame.solve.schedule import parse
    from subgame.solve.solver import Run

    meter.update("Loading the kernels")
    helper = Helper(EVALUATION)  # compiles what evaluates, while we compile what solves
    with only_loading():
        run = Run(tree, parse(schedule), threads=1, storage=storage)
        run.advance(1)
        helper.wait()
        run.played()
        run.evaluate(run.played())


def warm_up_gadget(meter: Meter, schedule: str, technique: str) -> None:
    """Load the kernels that solve hold'em behind a gadget, with a tiny deck."""
    import subgame as sg
    from subgame.games.holdem.cards import Deck

    meter.update("Loading the kernels")
    tiny = sg.holdem.endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    tree = sg.compile(tiny)
    rough = sg.Strategy.uniform(tree)
    result = sg.refine(tree, rough, at="root", technique=technique, schedule=schedule, iterations=2)
    if "interrupted" in {part.stopped for part in result.parts}:
        raise KeyboardInterrupt


def range_memory(
    tree: RangeTree, schedule: str, memory_limit: str, storage: str = "float32"
) -> int:
    """Bytes that solving a hold'em tree needs; refused if they are over the limit."""
    from subgame.memory import parse_bytes
    from subgame.spots.endgame import memory_needed

    needed = memory_needed(tree, schedule, storage)
    if needed > parse_bytes(memory_limit):
        raise MemoryLimitError(
            f"Solving this spot needs {human_bytes(needed)} of memory, over the limit of "
            f"{memory_limit}. Fewer bet sizes or a cap on raises make it smaller."
        )
    return needed


def check_range_schedule(schedule: str) -> None:
    """Refuse schedules that do not solve hold'em trees."""
    from subgame.solve.schedule import parse

    if schedule.strip().lower() == "lp" or parse(schedule).sampling != "none":
        raise SubgameError(
            f"The schedule {schedule} does not solve hold'em; use dcfr, cfr+ or another schedule "
            "without sampling."
        )


@contextmanager
def compiled(game: Game, memory_limit: str) -> Iterator[tuple[Meter, PublicTree]]:
    """A game's tree, and a meter for compiling it and for the work on it."""
    import subgame as sg

    with Meter(str(game)) as meter:
        yield meter, sg.compile(game, memory_limit=memory_limit, progress=meter.histories)
