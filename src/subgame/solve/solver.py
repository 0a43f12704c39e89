"""`solve`: run a schedule on a tree up to a number of iterations, a time or an exploitability."""

from __future__ import annotations

import json
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import DAMAGED, ArgumentError, NotSavedWarning, SubgameError
from subgame.solve.cfr import Cfr, Rates
from subgame.solve.evaluate import Exploitability, exploitability_of, value_of
from subgame.solve.limits import Limits as Limits
from subgame.solve.limits import (
    Pace,
    SolveOptions,
    check_options,
    check_seed,
    first_slice,
    made_of,
    with_options,
)
from subgame.solve.results import Point, Progress, Result, Step
from subgame.solve.schedule import Schedule, parse
from subgame.tree import files
from subgame.tree.one_writer import only_writer
from subgame.tree.public_tree import PublicTree, both
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.engines.contract import Engine, Numbers, Wins
    from subgame.solve.cfr import Learner

Floats = NDArray[np.float64]
SLICE, LONGEST = 0.1, 1.0
"""Seconds between checks of the clock, of the progress meter and of Ctrl-C; the longest time for
`FEWEST` iterations, which cost less together than one by one."""
FEWEST = 4
LEVEL, SOONEST = 10, 1000
"""A run may be found stalled below this many times the least exploitability of its storage, and
after this many iterations."""
CERTAIN = 2e-7
"""The share of all chips by which a check in float32 must miss the target to be trusted: three
times the largest error that we found. Where it is wrong, a run goes on to the next check."""
SAVE_EVERY = 30.0
"""Seconds between checkpoints."""
signals: Any = import_module("_signal")
"""The module below `signal`, which makes enums: that takes as long as an iteration of a river."""


@with_options(SolveOptions, storage="float32")
def solve(
    tree: PublicTree,
    schedule: Schedule | str = "cfr+",
    *,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[SolveOptions],
) -> Result:
    """Solve a compiled game by counterfactual regret minimisation.

    The solve stops as soon as `iterations` are done, `seconds` are over or the exploitability is at
    most `target`; after 1,000 iterations if none is given. On hold'em trees it also stops when
    exploitability has levelled off near the least that the storage can hold; the result is then
    the best strategy that was measured. It runs on a `device`: ``"cpu"`` or ``"cuda"``.
    `SolveOptions` explains these and `check_every`, `threads` and `storage`.

    With `checkpoint` the run is written to that file now and then, at the end and on Ctrl-C; only
    a checkpoint is replaced, and only one process writes it. If the file cannot be written (a full
    disk), the run goes on with a `NotSavedWarning`; at the end the file is then written to the
    folder for temporary files.
    `resume` continues from such a file: on the same device the result is bit for bit the same, on
    another it differs by rounding. `seed` is used by sampling schedules.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> result = sg.solve(tree, sg.CFRPlus(), target=1e-3)
    >>> result.stopped, round(result.value, 2)
    ('target', -0.06)
    """
    check_options(solve, options)
    where = None if checkpoint is None else Path(checkpoint)
    if where is not None:
        files.check_checkpoint(where)
    with only_writer(where):
        run, limits = begin(tree, schedule, seed=seed, resume=resume, **options)
        return complete(run, limits, where, progress, keep=False)


def begin(
    tree: PublicTree,
    schedule: Schedule | str,
    *,
    seed: int = 0,
    resume: str | Path | None = None,
    **options: Unpack[SolveOptions],
) -> tuple[Run, Limits]:
    """A run that has not started, or that `resume` continues, and when it is to stop."""
    limits, storage = made_of(Limits, options), options.get("storage", "float32")
    check_seed(seed)
    where = (options.get("threads"), options.get("device"), storage)
    run = Run(tree, parse(schedule), int(seed), *where)
    if limits.target is not None and limits.target < run.least:
        raise ArgumentError(
            "target",
            f"must be at least {run.least:g} with the storage {storage} and the schedule "
            f"{run.schedule} on this tree, not {limits.target:g}: regrets and averages have not "
            "enough digits for less, or players tremble more.",
        )
    if resume is not None:
        run.load(resume)
    return run, limits


def complete(
    run: Run,
    limits: Limits,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    *,
    keep: bool = True,
) -> Result:
    """Run up to the limits and return the result.

    Without `keep` the run cannot go on: its regrets give their memory to the probabilities.
    """
    stopped = drive(run, limits, checkpoint, progress)
    best, run.best = run.best if stopped == "stalled" else None, None
    if not keep and best is None:
        run.release()
    played = run.played() if best is None else best.probs
    return Result(
        game=run.tree.game_name,
        schedule=str(run.schedule),
        seed=run.seed,
        strategy=run.strategy(played) if best is None else best,
        iterations=run.iteration,
        seconds=run.seconds,
        value=value_of(run.engine, played),
        exploitability=run.evaluated(played) if best is None else run.evaluate(played),
        curve=tuple(run.curve),
        stopped=stopped,
    )


class Run:
    """A solve in progress: regrets and averages, the iteration, and the curve measured so far."""

    def __init__(
        self,
        tree: PublicTree,
        schedule: Schedule,
        seed: int = 0,
        threads: int | None = None,
        device: str | None = None,
        storage: str = "float32",
        *,
        learner: Callable[[Engine], Learner | None] | None = None,
        reach: tuple[Floats | None, Floats | None] = (None, None),
        on: Engine | None = None,
        finish: Callable[[tuple[Numbers, Numbers]], Strategy] | None = None,
    ) -> None:
        """`learner` makes a gadget for the engine; `reach` is as in `Cfr`.

        `on` is the engine to use instead of the tree's engine on `device`. `finish` makes the
        strategy from the probabilities played, where they do not belong to the tree itself.
        """
        self.finish = finish
        self.tree, self.schedule, self.seed = tree, schedule, seed
        self.engine = engine(tree, threads, device, storage) if on is None else on
        spot = tree if isinstance(tree, RangeTree) and learner is None else None
        schedule.check(has_locks=tree.has_locks, may_tremble=spot is not None)
        self.cfr = Cfr(
            self.engine,
            predictive=schedule.predictive,
            prediction=schedule.prediction,
            alternating=schedule.alternating,
            responder=schedule.responder,
            learner=learner(self.engine) if learner is not None else None,
            reach=reach,
        )
        self._rates = Rates(self.engine, schedule)
        self.iteration, self.seconds = 0, 0.0
        self.curve: list[Point] = []
        self.best: Strategy | None = None
        """The best strategy measured near the least exploitability of the storage."""
        self.measured: tuple[int, Exploitability] | None = None
        """The last iteration after which averages were measured in float64, and what was found."""
        self.least = 0.0
        """The least exploitability that the storage of a hold'em tree can hold, in chips, or that
        can be expected where both players tremble."""
        self.doubt = 0.0
        """By how much a check in float32 must miss the target to be trusted, in chips."""
        if spot is not None and on is None:
            pot = float(spot.holdem.start().pot)
            self.doubt = CERTAIN * (pot + float(sum(spot.holdem.rules.stacks)))
            self.least = max(self.engine.resolution, schedule.tremble) * pot
        self.random = np.array([seed], dtype=np.uint64)  # the sampler's whole state
        self.own = all(entered is None for entered in reach)
        """Whether the reach at the roots is the tree's own."""
        self.about: dict[str, str] = {}
        """What a checkpoint says besides: the parameters of the game."""

    def advance(self, count: int, check: bool = False) -> Wins | None:
        """Run `count` iterations; `check` and what is returned are as in `Cfr.iterate`."""
        kind, first = self.schedule.sampling, self.iteration + 1
        wins = None
        if kind == "none":
            wins = self.cfr.iterate(self._rates.of(first, count + 1), check)
        else:
            discounts = self.schedule.discounts(first, count + 1)
            self.engine.sample(self.cfr.pair, discounts, kind, self.random)
        self.iteration += count
        return wins

    @property
    def _last(self) -> bool:
        """Whether the result is the last iterate, because the schedule keeps no average."""
        return math.isinf(self.schedule.gamma) and not self.schedule.decay

    def played(self) -> tuple[Numbers, Numbers]:
        """The average strategy or the last iterate, as the engine stores probabilities."""
        run, pair = self.engine, self.cfr.pair
        if self._last:
            ahead = self._rates.of(self.iteration + 1, 1)
            return both(lambda p: run.current(p, pair[p], ahead[0]))
        return both(lambda p: self._steady(p, run.behaviour(p, pair[p].average)))

    def _steady(self, p: int, sigma: object) -> object:
        """The probabilities of an average without the trembles that are in it."""
        if not self.schedule.tremble:
            return sigma
        least = np.float32(self.schedule.tremble)
        return self.engine.behaviour(p, np.maximum(np.asarray(sigma) - least, 0))

    def _weights(self) -> tuple[Numbers, Numbers]:
        """The same for `evaluate` alone, which needs no probabilities."""
        if self._last or self.schedule.tremble:
            return self.played()
        return both(lambda p: self.engine.weights(p, self.cfr.pair[p].average))

    def strategy(self, played: tuple[Numbers, Numbers] | None = None) -> Strategy:
        """The probabilities `played` as a `Strategy`."""
        if self.finish is not None:
            return self.finish(played or self.played())
        first, second = (np.asarray(p) for p in played or self.played())
        notes = {
            "schedule": str(self.schedule),
            "iterations": str(self.iteration),
            "seed": str(self.seed),
        }
        return Strategy(self.tree, (first, second), notes, check=False)  # the engine made them

    def release(self) -> None:
        """Give the regrets' memory to the averages that are played: the run cannot go on."""
        if not self._last:
            self.cfr.release()

    def evaluated(self, played: tuple[Numbers, Numbers]) -> Exploitability:
        """The exploitability of the averages; with locks, of what is `played`."""
        if self.measured is not None and self.measured[0] == self.iteration:
            return self.measured[1]
        return self.evaluate(played if self.tree.has_locks else self._weights())

    def evaluate(self, played: tuple[Numbers, Numbers]) -> Exploitability:
        """The exploitability of the probabilities `played`, in the game that is solved."""
        return exploitability_of(self.engine, played)

    @property
    def can_check(self) -> bool:
        """Whether `advance` can measure the averages: in hold'em without rake and locked hands."""
        plain = self.least > 0 and not self.tree.not_plain and not self.schedule.tremble
        return plain and not self._last and self.cfr.can_check and self.own

    def rough(self, wins: Wins | None, target: float | None) -> Exploitability | None:
        """A check in float32, if it is certain that the target is not reached yet; else None."""
        if wins is None or target is None:
            return None
        gap = Exploitability((wins[1], wins[0]))
        return gap if gap > target + self.doubt else None

    def measure(self, gap: Exploitability | None = None) -> Exploitability:
        """Add a point to the curve: `gap`, or what is measured now."""
        if gap is None:
            gap = self.evaluate(self._weights())
            self.measured = None if self.tree.has_locks else (self.iteration, gap)
        if gap < LEVEL * self.least and all(gap < point.exploitability for point in self.curve):
            self.best = None  # frees it first
            self.best = self.strategy()
        self.curve.append(Point(self.iteration, self.seconds, float(gap)))
        return gap

    def stalled(self) -> bool:
        """Whether exploitability has levelled off: no better by a tenth in half of the iterations.

        At least four points must lie in that half.
        """
        if self.iteration < SOONEST:
            return False
        half = self.iteration / 2
        early = [point.exploitability for point in self.curve if point.iteration <= half]
        late = [point.exploitability for point in self.curve if point.iteration > half]
        if len(late) < 4 or not early:
            return False
        if min(early) > LEVEL * self.least:
            return False
        return bool(min(late) > 0.9 * min(early))

    # Checkpoints -----------------------------------------------------------------------------
    def state(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Arrays and texts from which the run continues bit for bit."""
        self.cfr.check_whole()
        tensors = {name: np.asarray(part) for name, part in self._kept().items()}
        return tensors | {"random": self.random.view(np.int64)}, {
            "schedule": json.dumps(self.schedule.as_dict()),
            "iteration": str(self.iteration),
            "seconds": repr(self.seconds),
            "seed": str(self.seed),
            "curve": json.dumps(self.curve),
        }

    def _kept(self) -> dict[str, Numbers]:
        """Regrets, averages and predictions by the names that a checkpoint gives them."""
        return {
            f"{name}{p}": part
            for p, regrets in enumerate(self.cfr.pair)
            for name, part in regrets._asdict().items()
            if part is not None
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        tensors, state = self.state()
        about = self.about | files.describe(self.tree, files.CHECKPOINT)
        files.write_tensors(path, tensors, about | state)

    def load(self, path: str | Path) -> None:
        """Continue from a checkpoint, or from a strategy that was saved with its state."""
        header, tensors = files.read_tensors(path, files.SAVED_CHECKPOINT)
        kind = header["format"] if "state" in header else files.CHECKPOINT
        files.check_made_for(path, header, self.tree, kind)
        try:
            header = json.loads(header["state"]) if "state" in header else header
            made_by, seed = Schedule(**json.loads(header["schedule"])), int(header["seed"])
            iteration, seconds = int(header["iteration"]), float(header["seconds"])
            curve = [Point(int(t), float(s), float(e)) for t, s, e in json.loads(header["curve"])]
            if iteration < 0 or not seconds >= 0 or tensors["random"].shape != (1,):
                raise ValueError
        except DAMAGED:
            raise SubgameError(f"{path} is a damaged checkpoint.") from None
        if made_by != self.schedule:
            raise SubgameError(
                f"{path} was made by the schedule {made_by}, not by {self.schedule}; "
                "resume with the same one."
            )
        if seed != self.seed:
            raise SubgameError(
                f"{path} was made with seed {seed}, not {self.seed}; resume with it."
            )
        kept = self._kept()
        for name, into in kept.items():
            stored = tensors.get(name, np.zeros(0))
            if stored.shape != into.shape or not np.all(np.isfinite(stored)):
                raise SubgameError(f"{path} is a damaged checkpoint.")
        for name, into in kept.items():
            into[:] = tensors[name]
        self.random[:] = tensors["random"].view(np.uint64)
        self.iteration, self.seconds, self.curve = iteration, seconds, curve


_only_whole = False


@contextmanager
def whole_solves() -> Iterator[None]:
    """Have Ctrl-C raise `KeyboardInterrupt` in the solves inside, not end one of them early.

    It is for work that consists of several solves and would go on with half a solution.
    """
    global _only_whole
    before, _only_whole = _only_whole, True
    try:
        yield
    finally:
        _only_whole = before


@contextmanager
def _asked_to_stop() -> Iterator[list[bool]]:
    """Turn the first Ctrl-C into a request to stop, so that no iteration is interrupted."""
    asked: list[bool] = []
    if _only_whole or threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before: Any = signals.default_int_handler

    def ask(*_: object) -> None:
        signals.signal(signals.SIGINT, before)  # a second Ctrl-C interrupts at once
        asked.append(True)

    before = signals.signal(signals.SIGINT, ask)
    try:
        yield asked
    finally:
        signals.signal(signals.SIGINT, before)


def _save(run: Run, checkpoint: Path, *, last: bool) -> None:
    """Write a checkpoint; on a full disk the run goes on, and only the last one is rescued."""
    failed = ""
    try:
        if last:
            failed = files.rescue(checkpoint, run.save)
        else:
            run.save(checkpoint)
    except SubgameError as error:
        failed = f"{error} The run continues."
    if failed:
        warnings.warn(failed, NotSavedWarning, stacklevel=2)


def drive(
    run: Run,
    stop: Limits,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    *,
    measured: bool = True,
    now: Callable[[], float] = time.perf_counter,
    reserve: int = 0,
) -> str:
    """Run in short slices until a limit is reached; returns which one.

    The time of so many iterations in `reserve` is left for what follows.
    """
    run.advance(0)
    rough = measured and stop.target is not None and run.can_check
    if measured and (stop.seconds is not None or not rough):
        run.evaluate(run._weights())  # loads the kernels before the clock starts
    began, saved, clock = now() - run.seconds, now(), Pace(stop.seconds, now, reserve)
    pace = 1 if stop.seconds is not None else first_slice(run.tree, SLICE)
    fits, first = 1, run.curve[0].exploitability if run.curve else 0.0
    stopped = "target" if stop.reached(run.curve) else ""  # a resumed run may have reached it
    with _asked_to_stop() as asked:
        while not stopped:
            count = min(ahead := stop.next_check(run.iteration, run.curve) - run.iteration, pace)
            if stop.iterations is not None:
                count = max(0, min(count, int(stop.iterations) - run.iteration))
            checked = measured and count == ahead
            before = now()
            wins = run.advance(count, rough and checked)
            after = now()
            run.seconds = after - began
            seconds = max(after - before, 1e-9) / max(count, 1)
            few = min(FEWEST, int(LONGEST / seconds))
            pace = max(1, min(4 * pace, max(few, int(SLICE / seconds))))
            if stop.seconds is not None:
                clock.ran(count, after - before)
                fits = clock.fitting(run.seconds, pace)
                pace = max(1, fits)
            if checked:
                gap = run.measure(run.rough(wins, stop.target))
                first = first or float(gap)
            if stop.reached(run.curve):
                stopped = "target"
            elif stop.iterations is not None and run.iteration >= stop.iterations:
                stopped = "iterations"
            elif not fits or asked:
                stopped = "interrupted" if fits else "seconds"
            elif checked and run.stalled():
                stopped = "stalled"
            if progress is not None:
                last = run.curve[-1].exploitability if run.curve else float("nan")
                share = (1.0, 0.0) if not fits else stop.ahead(run, first, seconds)
                progress(Step(run.iteration, run.seconds, last, *share))
            if checkpoint is not None and (stopped or after - saved > SAVE_EVERY):
                _save(run, checkpoint, last=bool(stopped))
                saved = now()
    if measured and (not run.curve or run.curve[-1].iteration != run.iteration):
        run.measure()  # after the checkpoint, which must not contain this extra point
    return stopped
