"""Keyword options that several verbs share: each is declared and explained once.

A `TypedDict` says which they are, for type checkers (``**options: Unpack[SolveOptions]``) and for
`inspect.signature` (`with_options`). A verb refuses others by `check_options` and passes on frozen
dataclasses, which `made_of` makes of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypedDict, TypeVar, get_type_hints

from subgame.errors import did_you_mean

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
