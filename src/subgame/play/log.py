"""The log of a match: one line of JSON per hand, only ever appended to.

A line is complete or it does not count, so a match that was killed goes on at the first hand that
the log lacks.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from subgame.errors import NotSavedWarning, SubgameError, check_regular, read_text, unreadable

FORMAT = "subgame-match-1"
WANTED = "a log of subgame match"
HEAD = 1 << 20
"""Bytes of the longest first line."""


class Log:
    """A log on disk. `head` says which match it is of; a log of another match is refused."""

    def __init__(self, path: str | Path, head: dict[str, Any]) -> None:
        self.path = Path(path)
        self.head = {"format": FORMAT, **head}
        self.records: list[dict[str, Any]] = []
        """The hands that the log held when it was opened."""
        try:
            self._open()
        except OSError as error:
            raise unreadable(self.path, error, WANTED) from None

    def _open(self) -> None:
        head, data = b"", b""
        if self.path.exists():
            check_regular(self.path, WANTED, math.inf)
            with self.path.open("rb") as file:  # the rest is only read if it is a log
                head = file.readline(HEAD)
                if head.endswith(b"\n"):
                    self._check(_parsed(self.path, 1, head))
                    data = file.read()
                elif len(head) == HEAD:
                    raise unreadable(self.path, "is not a log of a match", WANTED)
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        self.records = [_parsed(self.path, k, line) for k, line in enumerate(lines, 2)]
        self.file = self.path.open("ab", buffering=0)
        # A line that was being written when the match was killed does not count.
        self.size = len(head) + whole if head.endswith(b"\n") else 0
        self.file.truncate(self.size)
        if not self.size:
            self._write(as_lines([self.head]))

    def _check(self, found: dict[str, Any]) -> None:
        if found.get("format") != FORMAT:
            raise unreadable(self.path, "is not a log of a match", WANTED)
        for key, value in self.head.items():
            if found.get(key) != value:
                raise SubgameError(
                    f"{self.path} is the log of another match: its {key} is {found.get(key)!r}, "
                    f"that of this match is {value!r}."
                )

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Add lines and hand them to the operating system.

        On a full disk the match goes on: hands that are not in the log are played again, from the
        same seed, when it is continued.
        """
        try:
            self._write(as_lines(records))
        except SubgameError as error:
            said = f"{error} The match goes on; hands that the log lacks are played again with it."
            warnings.warn(said, NotSavedWarning, stacklevel=2)

    def _write(self, text: str) -> None:
        """Write all of the text or nothing."""
        data = text.encode()
        try:
            for at in range(0, len(data), HEAD):
                piece = data[at : at + HEAD]
                if self.file.write(piece) != len(piece):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with contextlib.suppress(OSError):
                self.file.truncate(self.size)
            raise SubgameError(f"{self.path} cannot be written: {error.strerror}.") from None
        self.size += len(data)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def as_lines(records: Iterable[dict[str, Any]]) -> str:
    """Records as lines of a log."""
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)


def read_log(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head and the records of a log; a last line that was cut off does not count."""
    data = read_text(path, WANTED)
    lines = data[: data.rfind("\n") + 1].splitlines()
    records = [_parsed(Path(path), k, line.encode()) for k, line in enumerate(lines, 1)]
    if not records or records[0].get("format") != FORMAT:
        raise unreadable(path, "is not a log of a match", WANTED)
    return records[0], records[1:]


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
        if isinstance(record, dict):
            return record
    except (ValueError, RecursionError):
        pass
    raise unreadable(path, f"has a line {number} that is not a record of a hand", WANTED)
