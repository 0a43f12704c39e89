"""Starting the server."""

from __future__ import annotations

import ctypes
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from subgame.errors import SubgameError
from subgame.serve.app import create_app
from subgame.serve.settings import EVERYWHERE, LOOPBACK, Settings
from subgame.serve.store import BASE, check_data
from subgame.tree.one_writer import OnlyWriter

M_ARENA_MAX, ARENAS = -8, 2
"""The parameter of glibc's `mallopt`, and its value."""


def serve(
    settings: Settings, uvicorn: object, say: Callable[[str], None], *, browser: bool = True
) -> None:
    """Listen until Ctrl-C. One server at a time uses the folder of its data."""
    check_data(settings.data)
    limit_arenas()
    with OnlyWriter(settings.data / BASE, str(settings.data)):
        _serve(settings, uvicorn, say, browser)


def limit_arenas() -> None:
    """Have threads share heaps, if this is glibc.

    It gives threads up to eight heaps for each core. Many threads answer requests, and what they
    free stays in their heaps, so that a busy server would grow.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)


def _serve(settings: Settings, uvicorn: Any, say: Callable[[str], None], browser: bool) -> None:
    listening = bound(settings)
    port = listening.getsockname()[1]
    shown = LOOPBACK[1] if settings.host in (*LOOPBACK, *EVERYWHERE) else settings.host
    address = f"http://{shown}:{port}/"
    app = create_app(replace(settings, port=port))
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        loop="asyncio",
        http="h11",
        lifespan="on",
        server_header=False,
    )
    server = uvicorn.Server(config)
    start = server.startup

    async def start_and_say(sockets: list[socket.socket]) -> None:
        """Start, then say where: from here on the server itself handles Ctrl-C."""
        await start(sockets=sockets)
        say(f"subgame is at {address} and keeps its files in {settings.data}. Ctrl-C ends it.")
        if settings.host not in LOOPBACK:
            say("Other machines may connect: whoever reaches this address can start jobs here.")
        if browser:
            threading.Thread(target=webbrowser.open, args=[address]).start()

    server.startup = start_and_say
    with listening, suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    say("The server has ended. Jobs that were running go on when it is started again.")


def bound(settings: Settings) -> socket.socket:
    """A socket on the address and port; an error if they cannot be had."""
    kind = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen(128)  # a browser that is opened at once waits instead of being refused
    except OSError as error:
        made.close()
        raise SubgameError(
            f"The server cannot listen on {settings.host}, port {settings.port} "
            f"({error.strerror or error}). Choose another --port or --host."
        ) from None
    return made
