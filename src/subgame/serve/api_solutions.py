"""The API of solved spots: decisions, next cards, two solutions, locks, reports on many flops."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import Field

from subgame.errors import FieldError, SubgameError
from subgame.serve.api_jobs import Stop, finished, parts, quoted
from subgame.serve.solutions import Opened, compared_view, opened, place_view, runouts_view
from subgame.serve.spots import FLOPS as LONGEST
from subgame.serve.spots import Model, Spot, chosen_flops
from subgame.serve.store import Row, checked_name
from subgame.serve.worker import FLOPS, STRATEGY

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
    return queue.submit(task, checked_name(body.name, f"{row['name']}: locked"[:80]))


def _spot(request: Request, id: str) -> Opened:
    """The solution of a job, which must be of hold'em."""
    store, _, settings = parts(request)
    row = finished(store, id)
    if "spot" not in (row.get("result") or {}):
        raise SubgameError("This solution is of a small game; look at it on the page Games.")
    return opened(store.folder(row["id"]) / STRATEGY, settings.memory_limit)


# Reports -------------------------------------------------------------------------------------
reports_router = APIRouter(tags=["reports"])


class Report(Model):
    """A spot, whose board is not used, and the flops on which it is solved."""

    spot: Spot
    flops: str = Field(
        default="25",
        max_length=LONGEST,
        description="all, 25, 49, 95, 184, or a list with a flop, and its weight, in each line.",
    )
    target: float = Field(default=0.5, gt=0, le=100, description="In % of the pot.")
    name: str = Field(default="", max_length=80)


@reports_router.post("/reports/quote")
async def quote_report(body: Report, request: Request) -> dict[str, object]:
    """The number of flops, and the nodes and the memory of the first of them."""
    flops = chosen_flops(body.flops, body.spot.deck)
    first = body.spot.model_copy(update={"board": flops[0].name})
    return await quoted(request, first, "hs-dcfr") | {"flops": len(flops)}


@reports_router.post("/reports", status_code=201)
def start(body: Report, request: Request) -> Row:
    """Put a report into the queue."""
    flops = chosen_flops(body.flops, body.spot.deck)
    body.spot.on(flops[0].name)
    task = {
        "kind": "report",
        "spot": body.spot.model_dump(),
        "flops": body.flops,
        "target": body.target,
    }
    name = checked_name(body.name, f"Report over {len(flops):,} flops")
    return parts(request)[1].submit(task, name)


@reports_router.get("/jobs/{id}/report")
def rows(id: str, request: Request) -> dict[str, object]:
    """The rows of the flops that are solved, and their weighted means."""
    from subgame.spots.report import weighted_mean

    table = _rows(request, id)
    return {
        "columns": table.columns,
        "rows": table,
        "mean": weighted_mean(table) if table else {},
    }


@reports_router.get("/jobs/{id}/report.csv")
def table(id: str, request: Request) -> PlainTextResponse:
    """The same rows as a table for other programs."""
    head = {"content-disposition": f'attachment; filename="subgame-{id}.csv"'}
    return PlainTextResponse(_rows(request, id).to_csv(), media_type="text/csv", headers=head)


def _rows(request: Request, id: str) -> Any:
    from subgame.spots.report import logged
    from subgame.spots.tables import Table

    store = parts(request)[0]
    path = store.folder(store.get("jobs", id)["id"]) / FLOPS
    return logged(path) if path.exists() else Table()
