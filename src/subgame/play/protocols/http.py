"""Requests of JSON over HTTP: what clients of servers elsewhere share."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

from subgame.errors import SubgameError
from subgame.play.protocols.notation import shown

LARGEST = 1 << 20
"""Bytes of the largest answer that is read."""


class BusyError(SubgameError):
    """A server answered that it is busy."""


def check_address(url: str) -> str:
    """The address without a slash at its end; one of another protocol is refused."""
    if not url.startswith(("http://", "https://")):
        raise SubgameError(f"The address '{url}' must begin with http:// or https://.")
    return url.rstrip("/")


def post(
    where: str, body: dict[str, Any], patience: float, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object with which an address answers a POST of one."""
    try:
        kind = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(where, json.dumps(body).encode(), kind)
        with urllib.request.urlopen(request, timeout=patience) as response:
            data = response.read(LARGEST)
    except urllib.error.HTTPError as error:
        said = shown(error.read(LARGEST).decode("utf-8", "replace"), 200)
        busy = error.code in (502, 503, 504)
        raise (BusyError if busy else SubgameError)(
            f"{where} answered with the status {error.code}: {said}"
        ) from None
    except (OSError, HTTPException, ValueError) as error:  # the last for odd addresses
        why = getattr(error, "reason", error)
        raise SubgameError(f"{where} cannot be reached ({why}).") from None
    return read_answer(where, data)


def read_answer(where: str, data: bytes) -> dict[str, Any]:
    """The JSON object in an answer."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        said = shown(data[:200].decode("utf-8", "replace"))
        raise SubgameError(f"{where} answered '{said}', which is not a JSON object.")
    return answer
