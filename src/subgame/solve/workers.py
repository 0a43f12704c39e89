"""Work that other processes do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING, TypeVar

from subgame.errors import SubgameError

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

Task = TypeVar("Task")
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


def done_in_turn(
    do: Callable[[Task], Result],
    tasks: Iterable[Task],
    executor: Executor | None,
    more: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[Task, Result]]:
    """Tasks and their results as they are done, by an executor or in this process.

    No task begins when there is no `more` time; those that have begun are done, so that results do
    not depend on how long a task takes.
    """
    left = iter(tasks)
    if executor is None:
        while more() and (task := next(left, None)) is not None:
            yield task, do(task)
        return
    waiting: dict[Future[Result], Task] = {}
    most = 1 + (getattr(executor, "_max_workers", None) or 8)
    while True:
        while len(waiting) < most and more() and (task := next(left, None)) is not None:
            waiting[executor.submit(do, task)] = task
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            yield waiting.pop(future), result_in(future)


def own_cores(jobs: int, cores: int = 1) -> ProcessPoolExecutor:
    """So many processes, each on so many `cores` of its own where the system can do that.

    Engines start as many threads as a process has cores.
    """
    context = get_context("spawn")
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    free = sorted(allowed(0)) if allowed else []
    places = context.Queue()
    for k in range(jobs):
        places.put(free[k * cores : (k + 1) * cores])
    return ProcessPoolExecutor(jobs, context, _settle, (places,))


def _settle(places: Queue[list[int]]) -> None:
    """Take a place from those that are left."""
    own = places.get()
    if own:
        os.sched_setaffinity(0, own)


@contextmanager
def stopping(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end at once on Ctrl-C."""
    with pool:
        try:
            yield pool
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():
                process.terminate()
            raise
