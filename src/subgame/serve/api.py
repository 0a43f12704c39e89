"""The JSON API under ``/api``, as a FastAPI application. ``/openapi.json`` describes it."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any, cast

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from subgame import __version__
from subgame.errors import FieldError, SubgameError, printable
from subgame.serve.api_games import games_router
from subgame.serve.api_histories import histories_router
from subgame.serve.api_jobs import jobs_router, live_router
from subgame.serve.api_play import play_router
from subgame.serve.api_solutions import reports_router, solutions_router
from subgame.serve.guard import App
from subgame.serve.jobs import FullError
from subgame.serve.store import NotFoundError

NEEDED = (
    "subgame.games.holdem",
    "subgame.play.blueprint_agent",
    "subgame.serve.tables",
    "subgame.spots.compare",
)
"""What most requests need, and the first page does not."""
LIGHT = ("/api/jobs", "/api/health")
LONGEST = 600
"""Characters of the longest message."""
_importing = threading.Lock()


def ready(request: Request) -> None:
    """Import what requests need, in one thread: packages imported by several at once may fail."""
    if request.url.path not in LIGHT:
        with _importing:
            for name in NEEDED:
                import_module(name)


def build(state: Any) -> App:
    """The API over what the application keeps."""
    app = FastAPI(
        title="subgame",
        version=__version__,
        summary="Solve and play two-player zero-sum imperfect-information games.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state = state
    app.include_router(live_router, prefix="/api")
    for router in (
        games_router,
        jobs_router,
        reports_router,
        solutions_router,
        play_router,
        histories_router,
    ):
        app.include_router(router, prefix="/api", dependencies=[Depends(ready)])

    @app.get("/api/health", tags=["server"])
    def health() -> dict[str, str]:
        """Whether the server runs, and its version."""
        return {"name": "subgame", "version": __version__}

    _errors(app)
    return cast(App, app)


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
            ".".join(str(part) for part in problem["loc"][1:] if part != "spot"): problem["msg"]
            for problem in error.errors()[:20]
        }
        messages = "; ".join(f"{name or 'body'}: {said}" for name, said in fields.items())
        return answer(422, f"The request is not valid: {messages}.", fields)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, f"{str(error.detail).rstrip('.')}.")

    @app.exception_handler(404)
    def missing(request: Request, error: Exception) -> JSONResponse:
        return answer(404, "There is nothing at this address.")

    @app.exception_handler(405)
    def method(request: Request, error: Exception) -> JSONResponse:
        return answer(405, "This address does not accept that method.")
