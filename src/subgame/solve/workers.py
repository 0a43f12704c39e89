"""Work that other processes do."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future
from typing import TypeVar

from subgame.errors import SubgameError

Result = TypeVar("Result")


def result_in(future: Future[Result]) -> Result:
    """The result of a process; an error if the process was ended before it had one."""
    try:
        return future.result()
    except BrokenExecutor:
        raise SubgameError(
            "A process that worked on this was ended by the system; it may have run out of memory. "
            "Fewer of them at the same time (--jobs) need less."
        ) from None
