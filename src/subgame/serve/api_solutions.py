"""The API of solved spots: decisions, next cards, two solutions, locks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from subgame.errors import FieldError, SubgameError
from subgame.serve.api_jobs import Stop, finished, parts
from subgame.serve.solutions import Opened, compared_view, opened, place_view, runouts_view
from subgame.serve.spots import Model
from subgame.serve.store import Row, checked_name
from subgame.serve.worker import STRATEGY

solutions_router = APIRouter(tags=["solutions"])
LOCKS = 100
"""Locks of one solve."""


class Locks(Model):
    """A solved spot, and all the locks with which it is solved again."""

    of: str
    locks: list[Annotated[str, Field(max_length=2000)]] = Field(max_length=LOCKS)
    stop: Stop = Stop()
    schedule: str = "dcfr"
    name: str = Field(default="", max_length=80)


@solutions_router.get("/jobs/{id}/decision")
def decision(id: str, request: Request, line: str = "", values: bool = False) -> dict[str, object]:
    """The strategy of each hand after a line of actions and cards, such as ``c c / 3c r50``.

    Where a card is to come, ``kind`` is ``card`` and the answer lists the cards. With ``values`` it
    has EV, equity, and the EV of each action, too.
    """
    solved, lock = _spot(request, id)
    with lock:
        return place_view(solved, line, values=values)


@solutions_router.get("/jobs/{id}/runouts")
def runouts(id: str, request: Request, line: str = "") -> list[dict[str, object]]:
    """Each card that can come after a line: EV, equity, and what is played on it."""
    solved, lock = _spot(request, id)
    with lock:
        return runouts_view(solved, line)


@solutions_router.get("/jobs/{id}/compare")
def compare(id: str, other: str, request: Request, line: str = "") -> dict[str, object]:
    """This solution (``one``) beside another one (``two``) at a decision."""
    if id == other:
        raise SubgameError("A solution is compared with another one, not with itself.")
    spots = {job: _spot(request, job) for job in sorted((id, other))}  # one order of locks
    first, second = spots.values()
    with first.lock, second.lock:
        return compared_view(spots[id].solved, spots[other].solved, line)


@solutions_router.post("/locks", status_code=201)
def lock(body: Locks, request: Request) -> Row:
    """Solve a spot again while some hands play fixed frequencies at some decisions.

    A lock is a text such as ``check, bet 50: KK = call 75%, fold 25%; 99-66 = fold 100%``.
    """
    from subgame.solve.schedule import parse
    from subgame.spots.locks import Lock, merging

    parse(body.schedule)
    game = _spot(request, body.of).solved.tree.holdem
    texts = [text.strip() for text in body.locks if text.strip()]
    if not texts:
        raise FieldError({"locks": "Write at least one lock."})
    for text in texts:
        try:
            merging(game, [Lock.parse(text)])
        except SubgameError as error:
            raise FieldError({"locks": error.sentence}) from None
    store, queue, _ = parts(request)
    row = finished(store, body.of)
    task = {
        "kind": "lock",
        "of": row["id"],
        "locks": texts,
        "schedule": body.schedule,
        "storage": "float32",
        **body.stop.limits(0.5),
    }
    name = checked_name(body.name) if body.name.strip() else f"{row['name']}: locked"[:80]
    return queue.submit(task, name)


def _spot(request: Request, id: str) -> Opened:
    """The solution of a job, which must be of hold'em."""
    store, _, settings = parts(request)
    row = finished(store, id)
    if "spot" not in (row.get("result") or {}):
        raise SubgameError("This solution is of a small game; look at it on the page Games.")
    return opened(store.folder(row["id"]) / STRATEGY, settings.memory_limit)
