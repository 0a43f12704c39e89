"""When a run stops and is measured, and how many iterations fit into the time that is left.

The command line checks limits before it loads any engine.

Keyword options that several verbs share are declared and explained once. A `TypedDict` says which
they are, for type checkers (``**options: Unpack[SolveOptions]``) and for `inspect.signature`
(`with_options`). A verb refuses others by `check_options` and passes on frozen dataclasses, which
`made_of` makes of them.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, Self, TypedDict, TypeVar, get_type_hints

from subgame.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from subgame.solve.results import Point
    from subgame.tree.public_tree import PublicTree


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class StopOptions(TypedDict, total=False):
    """When a solve stops: as soon as one is reached; after 1,000 iterations if none is given."""

    iterations: int | None
    """So many iterations, those of a resumed run included."""
    seconds: float | None
    """So many seconds."""
    target: float | None
    """An exploitability (NashConv / 2) of at most this, in the tree that is solved."""
    check_every: int | None
    """How often exploitability is measured: every so many iterations. By default at iterations 1,
    2, 4, ..., 32, then at intervals that grow by an eighth."""


class SolveOptions(StopOptions, total=False):
    """When a solve stops, and where it runs."""

    device: str | None
    """``"cpu"``, the default, or ``"cuda"`` for a GPU (``"cuda:1"`` for the second), which needs
    the extra ``gpu``. ``"torch"`` runs the GPU's code on the CPU, without Numba."""
    threads: int | None
    """CPU threads of hold'em trees, by default as many as there are cores and enough work for."""
    storage: str
    """Of regrets and averages on hold'em trees: ``"float32"``, or ``"int16"`` with scales in about
    half the memory (on ``"cuda"`` and ``"torch"`` also ``"bfloat16"``)."""


def with_options(known: Any, made: Any = None, **defaults: object) -> Callable[[F], F]:
    """Have a verb's signature show the options of a `TypedDict` in place of its ``**options``.

    `made` is the dataclass that has their defaults; `defaults` are others. The rest is None.
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    if made is not None:
        defaults = {field.name: field.default for field in fields(made)} | defaults

    def shown(verb: F) -> F:
        own = inspect.signature(verb)
        named = list(own.parameters.values())[:-1]
        more = [
            inspect.Parameter(name, keyword, default=defaults.get(name), annotation=kind)
            for name, kind in get_type_hints(known).items()
        ]
        vars(verb)["__signature__"] = own.replace(parameters=[*named, *more])
        return verb

    return shown


def check_options(verb: Callable[..., Any], options: Mapping[str, object]) -> None:
    """Refuse options that a verb does not have.

    >>> import subgame as sg
    >>> sg.solve(sg.compile(sg.games.load("kuhn")), iteration=5)
    Traceback (most recent call last):
    ...
    subgame.errors.UnknownNameError: There is no option of solve called 'iteration'; did you mean
    'iterations'? Known: check_every, checkpoint, ...
    """
    known = _parameters(verb)
    for name in options:
        if name not in known:
            raise did_you_mean(f"option of {verb.__name__}", name, known)


def made_of(kind: type[T], options: Mapping[str, object]) -> T:
    """A dataclass of those options that it has."""
    made: Any = kind  # mypy takes type[T] for something without a hash
    names = _parameters(made)
    return kind(**{name: value for name, value in options.items() if name in names})


@lru_cache
def _parameters(called: Callable[..., Any]) -> Mapping[str, object]:
    """The parameters of a verb or dataclass, which take as long as a small river's iterations."""
    return inspect.signature(called).parameters


FIRST = 18
"""The iteration after which exploitability is first measured on the way to a target."""
FARTHEST = 1000
"""Iterations after which no measurement is left out; later ones also tell whether a run stalls."""
MOST = 10**12
"""The largest count of anything, such as the iterations of a run."""
STEEP = (1.0, 3.0)
"""Exploitability is expected to fall like a power of the iterations between these two."""
USUAL = 2.5
"""The power that is expected after the first measurement. Later it is the one measured since then:
the last piece of a curve says little about the next. We tried several rules and constants on 31
curves of rivers and turns to five targets; these cost within a hundredth of the least."""
LEVEL = 0.5
"""Exploitability is never expected to fall less steeply, where the time that is left is told."""


class Progressing(Protocol):
    """A run as far as it has come."""

    iteration: int
    seconds: float

    @property
    def curve(self) -> Sequence[Point]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop (by default after 1,000 iterations) and when to measure.

    >>> Limits(iterations=100).iterations, Limits().iterations
    (100, 1000)
    """

    iterations: int | None = None
    seconds: float | None = None
    target: float | None = None
    check_every: int | None = None

    def __post_init__(self) -> None:
        for name in ("iterations", "check_every"):
            count = getattr(self, name)
            if count is not None:
                check_count(name, count if not _whole(count) else int(count))
        for name in ("seconds", "target"):
            _above_0(name, getattr(self, name))
        if self.iterations is None and self.seconds is None and self.target is None:
            object.__setattr__(self, "iterations", 1000)

    @classmethod
    def to_gap(cls, iterations: int | None, seconds: float | None, gap: float | None) -> Self:
        """Limits that stop at a NashConv of `gap`, which is twice the exploitability."""
        _above_0("gap", gap)
        return cls(iterations, seconds, None if gap is None else gap / 2)

    def next_check(self, t: int, curve: Sequence[Point] = ()) -> int:
        """The first iteration after `t` at which exploitability is measured.

        On the way to a target, the next is where the target is reached if exploitability goes on
        to fall as steeply as since the first one.
        """
        if self.check_every:
            return (t // int(self.check_every) + 1) * int(self.check_every)
        expected = self._expected(curve)
        if expected:
            return max(t + 1, expected)
        step = 1
        while step <= t:
            step = step * 2 if step < 32 else step + step // 8
        return step

    def reached(self, curve: Sequence[Point]) -> bool:
        """Whether the last measurement is at the target."""
        return bool(curve and self.target is not None and curve[-1].exploitability <= self.target)

    def _expected(self, curve: Sequence[Point]) -> int:
        """The iteration at which the target may be reached, by the last points; 0: not known."""
        if self.target is None or (curve and curve[-1].iteration > FARTHEST):
            return 0
        if not curve:
            return FIRST
        now, before, steep, most = curve[-1], curve[0], USUAL, 4.0
        if min(now.exploitability, before.exploitability) <= 0:
            return 0
        if before.iteration < now.iteration:
            fell = math.log(before.exploitability / now.exploitability)
            steep = fell / math.log(now.iteration / before.iteration)
            steep, most = min(max(STEEP[0], steep), STEEP[1]), 1.5
        far = math.pow(max(1.0, now.exploitability / self.target), 1 / steep)
        least = now.iteration + 1 + now.iteration // 64
        return max(least, math.ceil(now.iteration * min(most, far)))

    def ahead(self, run: Progressing, first: float, pace: float) -> tuple[float, float]:
        """The share of the work that is done, and about how many seconds are left."""
        return self.share(run, first), self.left(run, pace)

    def left(self, run: Progressing, pace: float) -> float:
        """About how many seconds a run still takes, by the limit that is closest; nan: not known.

        `pace` is the seconds of an iteration: the first ones take longer, kernels are compiled
        then. Exploitability is expected to fall as steeply as between the last two measurements.
        """
        parts = [] if self.seconds is None else [self.seconds - run.seconds]
        if self.iterations is not None:
            parts.append((self.iterations - run.iteration) * pace)
        if self.target is not None and len(run.curve) > 1:
            before, now = run.curve[-2:]
            if min(before.exploitability, now.exploitability) > 0:
                fell = math.log(before.exploitability / now.exploitability)
                steep = fell / math.log(max(now.iteration / max(before.iteration, 1), 1.001))
                steep = min(max(LEVEL, steep), STEEP[1])
                far = max(1.0, now.exploitability / self.target) ** (1 / steep)
                parts.append((now.iteration * far - run.iteration) * pace)
        return max(0.0, min(parts)) if parts else math.nan

    def share(self, run: Progressing, first: float) -> float:
        """The share of the work that is done, by the limit that is closest."""
        parts = [0.0]
        if self.iterations:
            parts.append(run.iteration / self.iterations)
        if self.seconds:
            parts.append(run.seconds / self.seconds)
        if self.target and run.curve and run.curve[-1].exploitability > 0 and first > self.target:
            now = max(run.curve[-1].exploitability, self.target)
            parts.append(math.log(first / now) / math.log(first / self.target))
        return min(1.0, max(parts))


def check_seed(seed: int) -> None:
    """Raise an error unless the seed is valid."""
    if not (_whole(seed) and 0 <= seed < 2**63):
        raise ArgumentError("seed", f"must be a whole number from 0 to 2^63 - 1, not {seed}.")


def check_count(name: str, count: object, least: int = 1, most: int = MOST) -> None:
    """Raise an error if a count is not an integer, or too small or too large."""
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise ArgumentError(name, f"must be a whole number of at least {least}, not {count}.")
    if count > most:
        raise ArgumentError(name, f"must be at most {most:,}, not {count}.")


def _whole(value: object) -> bool:
    return isinstance(value, Real) and _number(value) and bool(value // 1 == value)


def _above_0(name: str, limit: float | None) -> None:
    if limit is not None and not (_number(limit) and 0 < limit < math.inf):
        shown = f"{limit:g}" if _number(limit) else limit
        raise ArgumentError(name, f"must be a number above 0, not {shown}.")


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


PIECES = 4
"""Between two looks at the clock passes at most this part of the time that is left: on a busy
machine the next iterations may take several times as long as the last ones."""


QUICK = 1e-7
"""A high guess of the seconds per iteration and number of a strategy."""


def first_slice(tree: PublicTree, seconds: float) -> int:
    """How many iterations to run before the first look at the clock, about so many seconds in."""
    numbers = sum(side.num_sequences for side in tree.players)
    return max(1, min(FIRST, int(seconds / (QUICK * numbers))))


class Pace:
    """The clock of a solve. Its first iteration is always run."""

    def __init__(
        self,
        seconds: float | None,
        now: Callable[[], float] = time.perf_counter,
        reserve: int = 0,
    ) -> None:
        """What comes after the solve takes as long as `reserve` iterations."""
        self.now, self.began, self.seconds, self.reserve = now, now(), seconds, reserve
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
