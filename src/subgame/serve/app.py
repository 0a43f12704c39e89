"""The application: a JSON API under ``/api`` and the pages. ``/openapi.json`` describes the API."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from subgame import __version__
from subgame.errors import SubgameError, printable
from subgame.serve.api_games import games_router
from subgame.serve.api_jobs import jobs_router
from subgame.serve.api_play import play_router
from subgame.serve.api_solutions import solutions_router
from subgame.serve.guard import Guard
from subgame.serve.jobs import FullError, Jobs
from subgame.serve.live import live_router
from subgame.serve.settings import Settings
from subgame.serve.spots import FieldError
from subgame.serve.store import NotFoundError, Store

STATIC = Path(__file__).parent / "static"
MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)
NEEDED = (
    "subgame.games.holdem",
    "subgame.play.blueprint_agent",
    "subgame.serve.tables",
    "subgame.solve.compare",
)
"""What most requests need, and the first page does not."""
LIGHT = ("/api/jobs", "/api/story")
LONGEST = 600
"""Characters of the longest message."""


class Files(StaticFiles):
    """The front end's files, which a browser asks for again each time: they have no versions."""

    async def get_response(self, path: str, scope: Any) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["cache-control"] = "no-cache"
        return answer


def policy(page: str) -> str:
    """The content security policy: only our own files, and the import map that the page has."""
    found = MAP.search(page)
    assert found is not None
    digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


_importing = threading.Lock()


def ready(request: Request) -> None:
    """Import what requests need, in one thread: packages imported by several at once may fail."""
    if request.url.path not in LIGHT:
        with _importing:
            for name in NEEDED:
                import_module(name)


def create_app(settings: Settings) -> Guard:
    """The application with everything around it."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store(settings.data)
        app.state.settings, app.state.store = settings, store
        app.state.jobs, app.state.tables = Jobs(store, settings), None
        try:
            yield
        finally:
            if app.state.tables is not None:
                app.state.tables.close()
            app.state.jobs.close()
            store.close()

    app = FastAPI(
        title="subgame",
        version=__version__,
        summary="Solve and play two-player zero-sum imperfect-information games.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.include_router(live_router, prefix="/api")
    for router in (games_router, jobs_router, solutions_router, play_router):
        app.include_router(router, prefix="/api", dependencies=[Depends(ready)])
    _pages(app, page)
    _errors(app)
    return Guard(app, settings, policy(page))


def _pages(app: FastAPI, page: str) -> None:
    app.mount("/static", Files(directory=STATIC), name="static")

    @app.get("/api/health", tags=["server"])
    def health() -> dict[str, str]:
        """Whether the server runs, and its version."""
        return {"name": "subgame", "version": __version__}

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> FileResponse:
        return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")

    @app.get("/", include_in_schema=False)
    def home() -> RedirectResponse:
        return RedirectResponse("/games")

    @app.get("/{name}", include_in_schema=False)
    @app.get("/{name}/{rest:path}", include_in_schema=False)
    def shown(name: str, rest: str = "") -> HTMLResponse:
        if name not in ("games", "solve", "play", "jobs"):
            raise NotFoundError("There is no such page; the pages are games, solve, play and jobs.")
        return HTMLResponse(page, headers={"cache-control": "no-cache"})


def _errors(app: FastAPI) -> None:
    """Every error is a sentence, and says which fields it is about."""

    def answer(status: int, sentence: str, fields: dict[str, str] | None = None) -> JSONResponse:
        text = printable(sentence)
        short = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
        return JSONResponse({"message": short, "fields": fields or {}}, status)

    @app.exception_handler(SubgameError)
    def wrong(request: Request, error: SubgameError) -> JSONResponse:
        status = {NotFoundError: 404, FullError: 429}.get(type(error), 400)
        fields = error.fields if isinstance(error, FieldError) else None
        return answer(status, error.sentence, fields)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        fields = {
            ".".join(str(part) for part in each["loc"][1:] if part != "spot"): each["msg"]
            for each in error.errors()[:20]
        }
        told = "; ".join(f"{name or 'body'}: {said}" for name, said in fields.items())
        return answer(422, f"The request is not valid: {told}.", fields)

    @app.exception_handler(404)
    def missing(request: Request, error: Exception) -> JSONResponse:
        return answer(404, "There is nothing at this address.")

    @app.exception_handler(405)
    def method(request: Request, error: Exception) -> JSONResponse:
        return answer(405, "This address does not accept that method.")
