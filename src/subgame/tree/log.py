"""A log on disk: one line of JSON per record, only ever appended to, by one process at a time.

A line is complete or it does not count, so work that was killed goes on at the first record that
the log lacks. A file that is not such a log is refused and left as it is.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from subgame.errors import NotSavedWarning, SubgameError, check_regular, read_text, unreadable
from subgame.tree.one_writer import OnlyWriter

HEAD = 1 << 20
"""Bytes of the longest first line, and of one write."""


@dataclass(frozen=True)
class Kind:
    """A kind of log."""

    of: str
    """What it is a log of: a match."""
    by: str
    """The command that writes it."""
    format: str = ""
    """The format that the first line names."""
    fields: tuple[str, ...] = ()
    """What every record has."""
    once: tuple[str, ...] = ()
    """The fields that no two records have alike, such as the number of a hand."""
    goes_on: str = ""
    """What happens where the log cannot be written."""

    @property
    def wanted(self) -> str:
        """What was expected of a file."""
        return f"a log of {self.by}"

    def foreign(self, path: str | Path) -> SubgameError:
        """The error for another file."""
        return unreadable(path, f"is not a log of a {self.of}", self.wanted)

    def records(
        self, path: str | Path, lines: Iterable[bytes], first: int = 1
    ) -> list[dict[str, object]]:
        """The records of whole lines, the first of which has this number."""
        out, seen = list[dict[str, Any]](), dict[tuple[Any, ...], int]()
        for number, line in enumerate(lines, first):
            record = parsed(line)
            if record is None or not all(name in record for name in self.fields):
                why = f"has a line {number} that is not a record of a {self.of}"
                raise unreadable(path, why, self.wanted)
            key = tuple(str(record.get(name)) for name in self.once)
            if key and key in seen:
                what = ", ".join(
                    f"{name} {value}" for name, value in zip(self.once, key, strict=True)
                )
                raise SubgameError(
                    f"{path} has {what} twice, in lines {seen[key]} and {number}; two processes "
                    f"have written it. Remove one of the lines, or give another file."
                )
            seen[key] = number
            out.append(record)
        return out


class Log:
    """A log to append to. `head`, its first line, says of what it is; another one is refused.

    Without a `head` the fields of its records tell a log from other files.
    """

    def __init__(
        self, path: str | Path, kind: Kind, head: dict[str, Any] | None, *, sync: bool = False
    ) -> None:
        """With `sync` every line is on the disk before the next one."""
        self.path, self.kind, self.sync = Path(path), kind, sync
        named = {"format": kind.format} if kind.format else {}
        self.head = None if head is None else {**named, **head}
        self.records: list[dict[str, Any]] = []
        """What the log held when it was opened."""
        self._lock = OnlyWriter(self.path)
        try:
            self._open()
        except OSError as error:
            self._lock.close()
            raise unreadable(self.path, error, kind.wanted) from None
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        self.size, self.records = self.read()
        self.file = self.path.open("ab", buffering=0)
        try:
            # A line that was being written when the process was killed does not count.
            self.file.truncate(self.size)
            if not self.size and self.head is not None:
                self._write(as_lines([self.head]))
        except BaseException:
            self.file.close()
            raise

    def read(self) -> tuple[int, list[dict[str, Any]]]:
        """The bytes of the whole lines, and the records; an error for any other file."""
        return read(self.path, self.kind, self.head)

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Add lines and hand them to the operating system.

        On a full disk the work goes on: what is not in the log is done again when it is continued.
        """
        try:
            self._write(as_lines(records))
        except SubgameError as error:
            warnings.warn(f"{error} {self.kind.goes_on}", NotSavedWarning, stacklevel=2)

    def _write(self, text: str) -> None:
        """Write all of the text or nothing."""
        data = text.encode()
        try:
            for at in range(0, len(data), HEAD):
                piece = data[at : at + HEAD]
                if self.file.write(piece) != len(piece):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self.sync:
                os.fsync(self.file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self.file.truncate(self.size)
            raise SubgameError(f"{self.path} cannot be written: {error.strerror}.") from None
        self.size += len(data)

    def close(self) -> None:
        """Close the file and let another process write it."""
        self.file.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(path: Path, kind: Kind, head: dict[str, Any] | None) -> tuple[int, list[dict[str, Any]]]:
    """The bytes of the whole lines of a log, and its records; 0 for one that is still to begin."""
    if not path.exists():
        return 0, []
    check_regular(path, kind.wanted, math.inf)
    with path.open("rb") as file:  # the rest is only read if it is a log
        start = file.readline(HEAD)
        if not start:
            return 0, []
        if not start.endswith(b"\n"):
            if head is None or not _torn(start, head):
                raise kind.foreign(path)
            return 0, []
        if head is not None:
            _check(path, kind, head, parsed(start))
        elif not all(name in (parsed(start) or {}) for name in kind.fields):
            raise kind.foreign(path)
        data = file.read()
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].split(b"\n")[:-1]
    if head is None:
        return len(start) + whole, kind.records(path, [start, *lines])
    return len(start) + whole, kind.records(path, lines, 2)


def _torn(start: bytes, head: dict[str, object]) -> bool:
    """Whether a first line without an end is the beginning of this head, cut short by a kill."""
    name = next(iter(head))
    least = as_lines([{name: head[name]}]).encode()[:-2]
    return start.startswith(least) and as_lines([head]).encode().startswith(start)


def _check(path: Path, kind: Kind, head: dict[str, object], own: dict[str, object] | None) -> None:
    if own is None or own.get("format", "") != kind.format or not head.keys() & own.keys():
        raise kind.foreign(path)
    for key, value in head.items():
        if own.get(key) != value:
            raise SubgameError(
                f"{path} is the log of another {kind.of}: its {key} is {own.get(key)!r:.200}, "
                f"that of this {kind.of} is {value!r:.200}."
            )


def read_whole(path: str | Path, kind: Kind) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The head and the records of a log; a last line that was cut off does not count."""
    data = read_text(path, kind.wanted)
    lines = data[: data.rfind("\n") + 1].split("\n")[:-1]
    head = parsed(lines[0].encode()) if lines else None
    if head is None or head.get("format", "") != kind.format:
        raise kind.foreign(path)
    return head, kind.records(path, [line.encode() for line in lines[1:]], 2)


def as_lines(records: Iterable[dict[str, Any]]) -> str:
    """Records as lines of a log."""
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)


def parsed(line: bytes) -> dict[str, object] | None:
    """A line of a log; None if it is not an object of JSON."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
