"""The websocket on which pages hear of jobs as they run."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from subgame.serve.api_jobs import light
from subgame.serve.jobs import Jobs
from subgame.serve.store import Row

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
