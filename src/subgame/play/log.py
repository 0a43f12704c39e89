"""The log of a match: one line of JSON per hand, only ever appended to.

A line is complete or it does not count, so a match that was killed goes on at the first hand that
the log lacks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from subgame.errors import SubgameError, read_text, unreadable

FORMAT = "subgame-match-1"
WANTED = "a log of subgame match"


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
        data = self.path.read_bytes() if self.path.exists() else b""
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        if lines:
            self._check(_parsed(self.path, 1, lines[0]))
            self.records = [_parsed(self.path, k, line) for k, line in enumerate(lines[1:], 2)]
        self.file = self.path.open("ab")
        if whole < len(data):  # the line that was being written when the match was killed
            os.ftruncate(self.file.fileno(), whole)
        if not lines:
            self.append([self.head])

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
        """Add lines and hand them to the operating system."""
        text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
        self.file.write(text.encode())
        self.file.flush()

    def close(self) -> None:
        """Close the file."""
        self.file.close()


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
