"""The API of hands that people bring along: a list, and grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from pydantic import Field

from subgame.errors import FieldError, SubgameError
from subgame.serve.api_jobs import parts
from subgame.serve.histories import (
    Match,
    check_player,
    graded,
    graded_by_agent,
    listed,
    matched,
    players,
    total,
    why_not,
)
from subgame.serve.solutions import opened
from subgame.serve.spots import Model
from subgame.serve.worker import STRATEGY

if TYPE_CHECKING:
    from subgame.play.protocols.seen import SeenHand

histories_router = APIRouter(tags=["histories"])
MOST = 50
"""Hands that are graded by one request."""


class Hands(Model):
    """Hands in PHH, and whose decisions are meant."""

    text: str = Field(max_length=900_000)
    player: str = Field(default="", max_length=40)


class Some(Hands):
    """Some of them. With `agent` hands are graded by its solves; that takes a while for each."""

    first: int = Field(default=0, ge=0)
    count: int = Field(default=10, ge=1, le=MOST)
    agent: bool = False


def _read(text: str) -> Any:
    from subgame.play.protocols.seen import read_seen

    try:
        return read_seen(text)
    except SubgameError as error:
        raise FieldError({"text": error.sentence}) from None


def by_agent(seen: list[SeenHand], player: str) -> dict[str, Any]:
    """Some hands, graded by the agent: one after another, whoever asks."""
    rows = []
    for hand in seen:
        row = listed(hand, player) | {"why": why_not(hand, player, by_agent=True)}
        if not row["why"]:
            row |= graded_by_agent(hand, player)
        rows.append(row)
    return {"hands": rows, "score": total(rows)}


@histories_router.post("/histories")
def hands(body: Hands, request: Request) -> dict[str, Any]:
    """The hands of a PHH, without grades."""
    seen = _read(body.text)
    player = check_player(seen, body.player)
    return {
        "players": players(seen),
        "player": player,
        "hands": [listed(hand, player) | {"why": why_not(hand, player)} for hand in seen],
    }


@histories_router.post("/histories/grades")
def grade(body: Some, request: Request) -> dict[str, Any]:
    """Some hands of a PHH, each of a player's decisions graded by a spot that was solved."""
    seen = _read(body.text)
    player = check_player(seen, body.player)
    if body.agent:
        return by_agent(seen[body.first : body.first + body.count], player)
    store, _, settings = parts(request)
    spots = [
        (row["id"], row["name"], row["result"]["spot"])
        for row in store.rows("jobs")
        if "spot" in (row.get("result") or {}) and (store.folder(row["id"]) / STRATEGY).exists()
    ]
    rows = []
    for hand in seen[body.first : body.first + body.count]:
        row = listed(hand, player) | {"why": why_not(hand, player)}
        rows.append(row)
        if row["why"]:
            continue
        fits = ((id, name, matched(hand, spot)) for id, name, spot in spots)
        fit: tuple[str, str, Match] | None = next(
            ((id, name, match) for id, name, match in fits if match), None
        )
        if fit is None:
            row["why"] = "No spot that you solved has its board, pot and stacks."
            continue
        id, name, match = fit
        solved, lock = opened(store.folder(id) / STRATEGY, settings.memory_limit)
        with lock:
            row |= graded(hand, player, solved, match) | {"solution": id, "solution_name": name}
        blinds = None if row["lost"] is None else row["lost"] / match.scale / hand.big_blind
        rows[-1] = row | {"lost_blinds": blinds}
    return {"hands": rows, "score": total(rows)}
