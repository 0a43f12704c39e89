"""The API of reports: one spot solved on many flops."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import Field

from subgame.serve.api_jobs import parts, quoted
from subgame.serve.spots import FLOPS as LONGEST
from subgame.serve.spots import Model, Spot, chosen_flops
from subgame.serve.store import Row, checked_name
from subgame.serve.worker import FLOPS

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
    name = checked_name(body.name) if body.name.strip() else f"Report over {len(flops):,} flops"
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
