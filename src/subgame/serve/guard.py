"""What a request must satisfy before it is looked at.

A page of another site can make a browser send requests to this server. So a request must ask for a
name that the server has (a foreign name that resolves to 127.0.0.1 is DNS rebinding), and if a
browser says which page sent it, that must be one of ours. This holds for websockets too. Bodies
have a largest size and one of two types; a compressed body is refused.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from subgame.errors import human_bytes
from subgame.serve.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY = 2**20
"""Bytes of the largest JSON body."""
BODIES = ("POST", "PUT", "PATCH")
"""Methods of requests that have a body."""
UPLOADS = ("/api/solutions",)
"""Paths that take a file of up to `Settings.upload` bytes."""
LONGEST_ADDRESS = 8_000
"""Characters of the longest path and query."""
JSON, BYTES = "application/json", "application/octet-stream"
REFUSED = 4403
"""The code with which a refused websocket is closed."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class _TooLargeError(Exception):
    """More bytes came than the request announced, and than are allowed."""


def host_name(host: str) -> str:
    """The name in a Host header, without the port.

    >>> host_name("localhost:8017"), host_name("[::1]:8017"), host_name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


class Guard:
    """The ASGI application around the application: it refuses, or adds headers to the answer."""

    def __init__(self, app: App, settings: Settings, policy: str) -> None:
        self.app, self.settings = app, settings
        self.headers = HEADERS | {"content-security-policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refused = self._refused(scope, headers)
        if scope["type"] == "websocket":
            if refused:
                await receive()
                await send({"type": "websocket.close", "code": REFUSED, "reason": refused[1][:120]})
            else:
                await self.app(scope, receive, send)
            return
        await self._limited(scope, receive, send, refused)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """The status and the sentence with which a request is refused; None if it is not."""
        host = headers.get("host", "")
        if sum(name == b"host" for name, _ in scope["headers"]) != 1 or (
            host_name(host) not in self.settings.hosts
        ):
            return 421, (
                "This server does not answer to that name; start it with --allow-host NAME to add "
                "one."
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, "Requests from pages of other sites are refused."
        moved = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") == "GET"
        if site not in ("none", "same-origin") and not (moved and not _api(scope)):
            return 403, "Requests from pages of other sites are refused."
        if len(scope["path"]) + len(scope.get("query_string", b"")) > LONGEST_ADDRESS:
            return 414, f"An address has at most {LONGEST_ADDRESS:,} characters."
        if scope["type"] == "http" and scope["method"] in BODIES:
            return self._body(scope, headers)
        return None

    def _body(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        upload = scope["path"] in UPLOADS
        kind, wanted = headers.get("content-type", "").split(";")[0].strip().lower(), JSON
        if upload:
            wanted = BYTES
        if kind != wanted:
            return 415, f"The body must be of type {wanted}."
        if headers.get("content-encoding", "identity") != "identity":
            return 415, "Compressed bodies are refused."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15:
            return 400, "The header Content-Length must be a number."
        most = self._most(scope)
        if int(length) > most:
            return 413, _too_large(scope, most)
        return None

    def _most(self, scope: Scope) -> int:
        return self.settings.upload if scope["path"] in UPLOADS else BODY

    async def _limited(
        self, scope: Scope, receive: Receive, send: Send, refused: tuple[int, str] | None
    ) -> None:
        """Refuse a request or pass it on; no more of its body is read than is allowed."""
        most, seen, started = self._most(scope), 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise _TooLargeError  # the application may answer it, which is not sent
            return message

        async def with_headers(message: Message) -> None:
            nonlocal started
            if seen > most and not started:
                return
            if message["type"] == "http.response.start":
                started = True
                names = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in self.headers.items()
                        if name.encode() not in names
                    ),
                ]
            await send(message)

        if refused:
            await refuse(with_headers, *refused)
            return
        with suppress(_TooLargeError):
            incoming: Receive = counted
            if _has_json(scope):
                body = await _whole(counted)
                if (fault := json_fault(body)) is not None:
                    await refuse(with_headers, 400, fault)
                    return
                incoming = _again(body, receive)
            await self.app(scope, incoming, with_headers)
        if seen > most and not started:
            seen = 0
            await refuse(with_headers, 413, _too_large(scope, most))


def _too_large(scope: Scope, most: int) -> str:
    """What is said of a body that is too large."""
    hint = " Open a larger file by its path." if scope["path"] in UPLOADS else ""
    return f"The body has more than {human_bytes(most)}.{hint}"


async def _whole(receive: Receive) -> bytes:
    """The body of a request; what came of it if the sender has gone."""
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = bool(message.get("more_body"))
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receives a body that was read already, then whatever comes next."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def json_fault(body: bytes) -> str | None:
    """What is wrong with a JSON body; None if nothing is, or if there is none.

    >>> json_fault(b'{"pot": 100}'), json_fault(b'{"pot": NaN}')
    (None, 'The body is not valid JSON: NaN is not a number of JSON.')
    >>> json_fault('{"pot": 100}'.encode("utf-16"))
    'The body is not valid JSON: it is not UTF-8 text.'
    """
    why = ""
    try:
        if body:
            json.loads(body.decode(), parse_constant=_no_number)
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    except RecursionError:
        why = "its lists and objects are too deep"
    except ValueError as error:
        why = str(error)
    return f"The body is not valid JSON: {why}." if why else None


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


async def refuse(send: Send, status: int, sentence: str) -> None:
    """Answer with a sentence."""
    body = json.dumps({"message": sentence, "fields": {}}).encode()
    await send_bytes(send, status, body, {"content-type": JSON})


async def send_bytes(
    send: Send, status: int, body: bytes, headers: Mapping[str, str], *, head: bool = False
) -> None:
    """Answer with a body; to a request for the headers only, without it."""
    complete = {**headers, "content-length": str(len(body))}
    raw = [(name.encode(), value.encode()) for name, value in complete.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": b"" if head else body})


def _has_json(scope: Scope) -> bool:
    """Whether a request that is not refused has a JSON body."""
    return scope["method"] in BODIES and scope["path"] not in UPLOADS


def _api(scope: Scope) -> bool:
    return str(scope["path"]).startswith("/api")
