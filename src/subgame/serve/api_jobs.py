"""The API of jobs: spots, solutions, refinements, and a websocket on which pages hear of them."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse
from pydantic import Field

from subgame.errors import FieldError, SubgameError, did_you_mean
from subgame.serve.jobs import Jobs
from subgame.serve.settings import LOOPBACK, Settings
from subgame.serve.solutions import compact_file
from subgame.serve.spots import (
    RANGE,
    SCHEDULES,
    DeckName,
    Model,
    Spot,
    imported,
    quote,
    range_view,
)
from subgame.serve.store import NotFoundError, Row, Store, checked_name
from subgame.serve.worker import RESULT, STRATEGY

jobs_router = APIRouter(tags=["jobs"])
WATCHED = 0.1
"""Seconds after which it is looked whether somebody still waits for an answer."""


class Stop(Model):
    """When a solve stops: as soon as one of these is reached."""

    target: float | None = Field(
        default=None, gt=0, description="Exploitability; in % of the pot in spots."
    )
    iterations: int | None = Field(default=None, ge=1, le=10_000_000)
    seconds: float | None = Field(default=None, gt=0, le=86_400)

    def limits(self, target: float) -> dict[str, object]:
        """The limits that are given; `target` if there is none."""
        limits = self.model_dump(exclude_none=True)
        return limits or {"target": target}


class SolveSpot(Model):
    """A spot, and how it is solved."""

    spot: Spot
    stop: Stop = Stop()
    schedule: str = "hs-dcfr"
    storage: Literal["float32", "int16"] = "float32"
    name: str = Field(default="", max_length=80)


class Refine(Model):
    """A finished job, and the technique by which it is refined."""

    of: str
    technique: str
    at: str = Field(default="", max_length=200, description="A frontier of the game.")
    line: str = Field(
        default="", max_length=400, description="In spots: what follows this line is refined."
    )
    iterations: int | None = Field(default=None, ge=1, le=10_000_000)
    seconds: float | None = Field(default=None, gt=0, le=86_400)
    schedule: str | None = Field(default=None, max_length=20)
    name: str = Field(default="", max_length=80)


class Quote(Model):
    """A spot whose size is asked for."""

    spot: Spot
    schedule: str = "hs-dcfr"


class SetUp(Model):
    """The text of a file of another solver."""

    text: str = Field(max_length=400_000)


class Text(Model):
    """The text of a range."""

    text: str = Field(max_length=RANGE)
    deck: DeckName = "full"


class SavedRange(Text):
    """A range to keep under a name."""

    name: str = Field(max_length=80)


class FilePath(Model):
    """Where a file lies on the machine of the server."""

    path: str = Field(max_length=4000)


class Name(Model):
    """A new name."""

    name: str = Field(max_length=80)


def parts(request: Request) -> tuple[Store, Jobs, Settings]:
    """What the application keeps."""
    state = request.app.state
    return state.store, state.jobs, state.settings


def light(row: Row) -> Row:
    """A job as lists show it."""
    return {key: value for key, value in row.items() if key not in ("task", "curve")}


# Spots and ranges ----------------------------------------------------------------------------
@jobs_router.post("/spots/quote")
async def quote_spot(body: Quote, request: Request) -> dict[str, object]:
    """The nodes of a spot's tree and the memory that solving it needs."""
    _check_schedule(body.schedule)
    return await quoted(request, body.spot, body.schedule)


async def quoted(request: Request, spot: Spot, schedule: str) -> dict[str, object]:
    """The size of a spot; counting ends when the page no longer waits for it."""
    gone = threading.Event()
    most = parts(request)[2].memory_limit
    counting = asyncio.create_task(asyncio.to_thread(quote, spot, schedule, most, gone.is_set))
    while not (await asyncio.wait([counting], timeout=WATCHED))[0]:
        if await request.is_disconnected():
            gone.set()
    return counting.result()


@jobs_router.post("/spots/import")
def import_spot(body: SetUp) -> dict[str, Any]:
    """The set-up in a file of PioSOLVER, TexasSolver, postflop-solver or wasm-postflop."""
    try:
        return imported(body.text)
    except SubgameError as error:
        raise FieldError({"text": error.sentence}) from None


@jobs_router.post("/ranges/parse")
def parse_range(body: Text) -> dict[str, object]:
    """A range by class of hands."""
    try:
        return range_view(body.text, body.deck)
    except SubgameError as error:
        raise FieldError({"text": error.sentence}) from None


@jobs_router.get("/ranges")
def ranges(request: Request) -> list[Row]:
    """The ranges that were kept."""
    return parts(request)[0].rows("ranges")


@jobs_router.post("/ranges", status_code=201)
def keep_range(body: SavedRange, request: Request) -> Row:
    """Keep a range under a name."""
    store = parts(request)[0]
    if store.count("ranges") >= 200:
        raise SubgameError("200 ranges are kept already; remove some.")
    return store.add("ranges", {"name": checked_name(body.name), "text": parse_range(body)["text"]})


@jobs_router.delete("/ranges/{id}", status_code=204)
def forget_range(id: str, request: Request) -> None:
    """Forget a range."""
    parts(request)[0].remove("ranges", id)


# Jobs ----------------------------------------------------------------------------------------
@jobs_router.get("/jobs")
def jobs(request: Request) -> list[Row]:
    """The newest jobs."""
    return [light(row) for row in parts(request)[0].rows("jobs")]


@jobs_router.post("/spots/solve", status_code=201)
def solve_spot(body: SolveSpot, request: Request) -> Row:
    """Put the solve of a spot into the queue."""
    _check_schedule(body.schedule)
    game = body.spot.game()
    task = {
        "kind": "endgame",
        "spot": body.spot.model_dump(),
        "schedule": body.schedule,
        "storage": body.storage,
        **body.stop.limits(0.5),
    }
    return parts(request)[1].submit(task, checked_name(body.name, game.deck.name(game.board)))


@jobs_router.post("/refine", status_code=201)
def refine(body: Refine, request: Request) -> Row:
    """Put a refinement of a finished job into the queue."""
    from subgame.refine.gadgets import TECHNIQUES
    from subgame.solve.schedule import parse

    store, queue, settings = parts(request)
    if body.technique not in TECHNIQUES:
        raise did_you_mean("technique", body.technique[:40], TECHNIQUES)
    if body.schedule is not None and body.schedule != "lp":
        parse(body.schedule)
    row = finished(store, body.of)
    limits = {"iterations": body.iterations, "seconds": body.seconds}
    task = {
        "kind": "refine",
        "of": row["id"],
        "technique": body.technique,
        "at": body.at.strip()
        or _public_state(store.folder(row["id"]), settings, body.line.strip()),
        "schedule": body.schedule,
        **{key: value for key, value in limits.items() if value is not None},
    }
    usual = f"{row['name']}: {body.technique}" + (f" after {body.line}" if body.line else "")
    return queue.submit(task, checked_name(body.name, usual[:80]))


@jobs_router.post("/solutions", status_code=201)
async def upload(request: Request, name: str = "Uploaded solution") -> Row:
    """Read a solution that ``subgame endgame --out`` or this page saved."""
    store, queue, _ = parts(request)
    queue.check_room()
    path = store.incoming()
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                file.write(chunk)
        await asyncio.to_thread(_check_solution, path)

        return queue.submit({"kind": "load"}, checked_name(name), {"upload": path})
    finally:
        path.unlink(missing_ok=True)


@jobs_router.post("/solutions/open", status_code=201)
def open_file(body: FilePath, request: Request) -> Row:
    """Read a solution where it lies, however large it is; the file stays there, unchanged."""
    store, queue, settings = parts(request)
    if settings.host not in LOOPBACK:
        raise SubgameError(
            "Files are opened by their path only by a server that listens on this machine alone."
        )
    queue.check_room()
    path = Path(body.path.strip()).expanduser()
    if not path.is_absolute() or not path.is_file():
        raise FieldError({"path": f"There is no file {path}; write its whole path."})
    try:
        _check_solution(path)
    except SubgameError as error:
        raise FieldError({"path": error.sentence}) from None
    link = store.incoming()
    link.symlink_to(path.resolve())
    try:
        name = checked_name(re.sub(r"[^\w .,()+-]", " ", path.stem)[:80])
        return queue.submit({"kind": "load"}, name, {"upload": link})
    finally:
        link.unlink(missing_ok=True)


def _check_solution(path: Path) -> None:
    """Refuse a file that is no solution before a worker reads it."""
    from subgame.tree.files import check_finite, read_tensors

    try:
        said, tensors = read_tensors(path)
    except SubgameError:
        raise SubgameError("The file is not a safetensors file, or it was cut short.") from None
    try:
        check_finite(path, tensors)
    except SubgameError:
        raise SubgameError("The file is damaged: some of its numbers are not finite.") from None
    if "board" not in said:
        raise SubgameError("The file has no spot of hold'em; save one with endgame --out.")


@jobs_router.get("/jobs/{id}")
def job(id: str, request: Request) -> Row:
    """A job, with its curve and its result."""
    return parts(request)[0].get("jobs", id)


@jobs_router.post("/jobs/{id}/{verb}")
def act(id: str, verb: Literal["pause", "resume", "stop", "cancel"], request: Request) -> Row:
    """Change a job's course."""
    return light(parts(request)[1].act(id, verb))


@jobs_router.patch("/jobs/{id}")
def rename(id: str, body: Name, request: Request) -> Row:
    """Give a job another name."""
    return light(parts(request)[1].rename(id, checked_name(body.name)))


@jobs_router.delete("/jobs/{id}", status_code=204)
def remove(id: str, request: Request) -> None:
    """Forget a job and its files."""
    parts(request)[1].remove(id)


@jobs_router.get("/jobs/{id}/file")
def download(id: str, request: Request, rivers: bool = True) -> FileResponse:
    """The solution as a file, which ``subgame endgame`` and ``subgame refine`` read.

    With ``rivers=false`` it has no last street, which is solved again where it is looked at.
    """
    store, _, settings = parts(request)
    finished(store, id)
    return FileResponse(
        store.folder(id) / STRATEGY
        if rivers
        else compact_file(store.folder(id) / STRATEGY, settings.memory_limit),
        media_type="application/octet-stream",
        filename=f"subgame-{id}.safetensors",
    )


@jobs_router.get("/jobs/{id}/rows")
def rows(id: str, request: Request) -> Any:
    """The root infosets of a refinement: alternative payoffs, gifts and margins."""
    return _read(parts(request)[0], id, RESULT).get("rows", [])


def _public_state(folder: Path, settings: Settings, line: str) -> str:
    """The name of the public state after a line of a spot; empty without a line."""
    from subgame.serve.solutions import opened
    from subgame.spots.lines import follow_line

    if not line:
        return ""
    game = opened(folder / STRATEGY, settings.memory_limit).solved.tree.holdem
    walk = follow_line(game, line)
    if walk.betting.is_over or walk.needs_cards:
        raise SubgameError(f"Nobody acts after '{line}', so no subgame begins there.")
    return game.public_name(walk.board, walk.betting)


def finished(store: Store, id: str) -> Row:
    """A job that has a solution."""
    row = store.get("jobs", id)
    if not (store.folder(row["id"]) / STRATEGY).exists():
        raise SubgameError(f"The job is {row['state']} and has no solution yet.")
    return row


def _read(store: Store, id: str, name: str) -> Any:
    path = store.folder(store.get("jobs", id)["id"]) / name
    if not path.exists():
        raise NotFoundError("The job has no such result.")
    return json.loads(path.read_text())


def _check_schedule(schedule: str) -> None:
    if schedule not in SCHEDULES:
        raise FieldError({"schedule": f"The schedules are {', '.join(SCHEDULES)}."})


# Pages that listen ---------------------------------------------------------------------------
live_router = APIRouter()
EVERY = 0.15
"""Seconds between messages; what happens in between is told together."""
SOCKETS = 100


class Listening:
    """One page: the jobs that changed since the last message to it."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs, self.loop = jobs, asyncio.get_running_loop()
        self.changed: dict[str, Row] = {}
        self.seen: dict[str, int] = {}
        self.news = asyncio.Event()

    def hear(self, row: Row) -> None:
        """A job changed; called by the thread of a worker."""
        self.loop.call_soon_threadsafe(self._take, row)

    def _take(self, row: Row) -> None:
        self.changed[row["id"]] = row
        self.news.set()

    async def message(self) -> dict[str, object]:
        """What changed, once something has."""
        await self.news.wait()
        self.news.clear()
        changed, self.changed = self.changed, {}
        rows = []
        for id, row in changed.items():
            new = light(row)
            if self.seen.get(id) != len(row["curve"]):
                self.seen[id] = len(row["curve"])
                new["curve"] = row["curve"]
            rows.append(new)
        return {"jobs": rows}


@live_router.websocket("/live")
async def live(socket: WebSocket) -> None:
    """Tell a page of every change of a job."""
    jobs: Jobs = socket.app.state.jobs
    if len(jobs.listeners) >= SOCKETS:
        await socket.close(1013, f"{SOCKETS} pages listen already.")
        return
    await socket.accept()
    listening = Listening(jobs)
    jobs.listeners.add(listening.hear)
    closed = asyncio.ensure_future(_closed(socket))
    try:
        while not closed.done():
            ready = asyncio.ensure_future(listening.message())
            await asyncio.wait({ready, closed}, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                ready.cancel()
                break
            await socket.send_json(ready.result())
            await asyncio.sleep(EVERY)
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        closed.cancel()
        jobs.listeners.discard(listening.hear)


async def _closed(socket: WebSocket) -> None:
    """Wait until the page is gone; what it says is not needed."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
