"""The application: the pages, and behind them the JSON API, which is imported when it is needed.

The first page must be there within a second of the start. So its files are answered here, by plain
ASGI; FastAPI and the routes (`subgame.serve.api`) are imported by a thread at the first request
that needs them, or a moment after the start.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from subgame.serve.guard import App, Guard, Receive, Scope, Send, refuse, send_bytes
from subgame.serve.jobs import Jobs
from subgame.serve.settings import Settings
from subgame.serve.store import Store
from subgame.serve.story import STORY_FILE

if TYPE_CHECKING:
    from subgame.serve.tables import Tables

STATIC = Path(__file__).parent / "static"
MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
PAGES = ("games", "solve", "play", "hands", "jobs", "reference")
FILES = {
    **{f"/static/{path.relative_to(STATIC).as_posix()}": path for path in STATIC.rglob("*.*")},
    "/favicon.ico": STATIC / "icon.svg",
    "/api/story": STORY_FILE,  # the first page shows it
}
"""What is answered from a file. A path that is not among them reaches no file."""
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".html": "text/html; charset=utf-8",
}
LATER = 1.0
"""Seconds after the start at which the API is imported if nobody asked for it."""


class State:
    """What the application keeps while it runs."""

    tables: Tables | None = None  # agents are slow to import

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def open(self) -> None:
        """Begin: jobs that were interrupted go on."""
        self.store = Store(self.settings.data)
        self.jobs = Jobs(self.store, self.settings)

    def close(self) -> None:
        """End all threads and workers."""
        if self.tables is not None:
            self.tables.close()
        self.jobs.close()
        self.store.close()


class Front:
    """The ASGI application: pages and files at once, everything else once the API is there."""

    def __init__(self, settings: Settings, page: str) -> None:
        self.state, self.page = State(settings), page.encode()
        self._api: asyncio.Future[App] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        path, get = scope["path"], scope.get("method") in ("GET", "HEAD")
        if scope["type"] == "websocket" or path == "/openapi.json" or _routed(path):
            await (await self.api())(scope, receive, send)
        elif not get:
            await refuse(send, 405, "This address does not accept that method.")
        elif path == "/":
            await send_bytes(send, 307, b"", {"location": "/games"})
        elif path in FILES:
            await self._file(scope, send, FILES[path])
        elif path.split("/")[1] in PAGES:
            await self._bytes(scope, send, self.page, ".html")
        else:
            pages = f"{', '.join(PAGES[:-1])} and {PAGES[-1]}"
            await refuse(send, 404, f"There is nothing at this address; the pages are {pages}.")

    async def api(self) -> App:
        """The routes, imported once, by a thread."""
        if self._api is None:
            self._api = asyncio.ensure_future(asyncio.to_thread(self._imported))
        return await asyncio.shield(self._api)

    def _imported(self) -> App:
        from subgame.serve.api import build

        return build(self.state)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self.state.open()
        await send({"type": "lifespan.startup.complete"})
        soon = asyncio.ensure_future(self._later())
        await receive()
        soon.cancel()
        self.state.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _later(self) -> None:
        await asyncio.sleep(LATER)
        await self.api()

    async def _file(self, scope: Scope, send: Send, path: Path) -> None:
        await self._bytes(scope, send, path.read_bytes(), path.suffix)

    async def _bytes(self, scope: Scope, send: Send, body: bytes, suffix: str) -> None:
        """A file. A browser asks again each time, because names have no versions."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
        headers = {"cache-control": "no-cache", "etag": tag}
        known = dict(scope["headers"]).get(b"if-none-match", b"").decode("latin-1")
        if known == tag:
            await send_bytes(send, 304, b"", headers)
            return
        headers["content-type"] = TYPES.get(suffix, "text/plain; charset=utf-8")
        await send_bytes(send, 200, body, headers, head=scope["method"] == "HEAD")


def _routed(path: str) -> bool:
    return path.startswith("/api/") and path not in FILES


def policy(page: str) -> str:
    """The content security policy: only our own files, and the import map that the page has."""
    match = MAP.search(page)
    assert match is not None
    digest = base64.b64encode(hashlib.sha256(match[1].encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def create_app(settings: Settings) -> object:
    """The application with everything around it."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    return Guard(Front(settings, page), settings, policy(page))
