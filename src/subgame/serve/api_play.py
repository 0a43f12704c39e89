"""The API of tables, at which a person plays against an agent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import Field

from subgame.serve.api_jobs import parts
from subgame.serve.spots import Model
from subgame.serve.store import Row

if TYPE_CHECKING:
    from subgame.serve.tables import Tables

play_router = APIRouter(tags=["play"])
_opening = threading.Lock()


class Open(Model):
    """A game, or ``job:ID`` for a solved spot; an agent, or ``job:ID`` for a solution."""

    game: str = Field(max_length=500)
    opponent: str = Field(default="uniform", max_length=40)
    seed: int | None = Field(default=None, ge=0, lt=2**31)


class Action(Model):
    """What the person does."""

    action: str = Field(max_length=80)


def tables(request: Request) -> Tables:
    """The tables of the application, made when they are asked for: agents are slow to import."""
    from subgame.serve.tables import Tables

    state = request.app.state
    with _opening:
        if state.tables is None:
            state.tables = Tables(state.store)
    result: Tables = state.tables
    return result


@play_router.get("/agents")
def agents(request: Request, game: str = "hunl") -> list[str]:
    """The agents that can play a game."""
    return tables(request).agents(game)


@play_router.get("/tables")
def listed(request: Request) -> list[Row]:
    """The newest tables."""
    return [
        {key: row[key] for key in ("id", "title", "game", "opponent", "made")}
        | {"hands": len(row["hands"])}
        for row in parts(request)[0].rows("tables", 30)
    ]


@play_router.post("/tables", status_code=201)
def open_table(body: Open, request: Request) -> dict[str, object]:
    """Open a table."""
    return tables(request).open(body.game, body.opponent, body.seed)


@play_router.get("/tables/{id}")
def table(id: str, request: Request) -> dict[str, object]:
    """What is seen at a table."""
    return tables(request).view(id)


@play_router.post("/tables/{id}/act")
def act(id: str, body: Action, request: Request) -> dict[str, object]:
    """Act; the answer comes after the opponent's move, or says that it thinks."""
    return tables(request).act(id, body.action)


@play_router.post("/tables/{id}/next")
def deal(id: str, request: Request) -> dict[str, object]:
    """Deal the next hand."""
    return tables(request).next(id)


@play_router.get("/tables/{id}/hands.phhs")
def hands(id: str, request: Request) -> PlainTextResponse:
    """The hands of a table of hold'em as PHH."""
    name = f"subgame-{parts(request)[0].get('tables', id)['id']}.phhs"
    return PlainTextResponse(
        tables(request).phh(id), headers={"content-disposition": f'attachment; filename="{name}"'}
    )
