"""`OnlyWriter`: one process at a time writes a file that can be continued.

The operating system holds the lock (`fcntl.lockf`, on Windows `msvcrt.locking`), on a hidden file
beside the one that is written. So the lock of a process that was killed is free at once, and
processes that it started do not inherit it. The hidden file says who holds the lock; it is removed
at the end. What a killed process leaves of it means nothing and is used again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from subgame.errors import SubgameError, UnlockedWarning

MARK = "subgame-lock-1"
BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
"""What the system answers where another process holds the lock."""
PLACE = 1 << 30
"""The byte that is locked: behind the text, which Windows would otherwise not let others read."""
COMMAND = 300
"""Letters of the longest command that is shown."""
PAUSE = 0.5
"""Seconds between two attempts of a process that waits."""

_own: dict[str, str] = {}
_guard = threading.Lock()


class InUseError(SubgameError):
    """Another process, or another part of this one, is writing the file."""


class OnlyWriter:
    """The right to write a file, or a folder with that file, until `close`.

    A second writer is refused, and told who the first one is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "match.jsonl"
    >>> with OnlyWriter(path):
    ...     OnlyWriter(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    subgame.tree.one_writer.InUseError: ...match.jsonl is in use by process ...
    >>> OnlyWriter(path).close()
    """

    def __init__(self, path: str | Path, name: str = "") -> None:
        """`name` is what messages call it, instead of the path."""
        real = Path(os.path.realpath(path))
        self.name, self.pid = name or str(path), os.getpid()
        self.file = real.with_name(f".{real.name}.lock")
        self._open: BinaryIO | None = None
        if not real.parent.is_dir():
            return  # the writer says so
        with _guard:
            if (holder := _own.get(str(self.file))) is not None:
                raise self._refusal(holder)
            try:
                self._open = self._locked()
            except OSError as error:
                said = f"{self.name} cannot be locked here ({error.strerror or error})."
                said += " Take care that no other process writes it."
                warnings.warn(said, UnlockedWarning, stacklevel=3)
                return
            holder = _this_process()
            _own[str(self.file)] = holder
            with contextlib.suppress(OSError):  # a full disk; the lock holds
                self._open.truncate(0)
                self._open.write(holder.encode())

    @classmethod
    def waiting(cls, path: str | Path, tell: Callable[[str], None]) -> OnlyWriter:
        """The only writer, after any other process has ended; `tell` is told which one writes."""
        while True:
            try:
                return cls(path)
            except InUseError as error:
                tell(str(error))
                time.sleep(PAUSE)

    def _locked(self) -> BinaryIO:
        while True:
            file = open(self.file, "a+b", buffering=0)  # noqa: SIM115, it stays open
            try:
                _lock(file.fileno())
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self.file)):
                    return self._checked(file)
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno in BUSY:
                    file.seek(0)
                    holder = file.read(1 << 16)
                    file.close()
                    raise self._refusal(holder.decode("utf-8", "replace")) from None
                file.close()
                raise
            file.close()  # its holder has just removed it: another one is the lock now

    def _checked(self, file: BinaryIO) -> BinaryIO:
        """The file, if it is one of ours."""
        file.seek(0)
        if (start := file.read(1 << 16)) and not start.startswith(f'{{"lock":"{MARK}"'.encode()):
            file.close()
            raise SubgameError(
                f"{self.name} cannot be locked: {self.file} is no lock of subgame. Remove it, or "
                "give another file."
            )
        return file

    def _refusal(self, holder: str) -> InUseError:
        """The error that says who holds the lock."""
        try:
            who = json.loads(holder)
            since = f"since {who['since']}: {who['command']}"
            said = f"process {who['process']} on {who['host']} {since}"
        except (ValueError, TypeError, KeyError, RecursionError):  # it has not yet said who it is
            said = "another process"
        return InUseError(f"{self.name} is in use by {said}. One process writes at a time.")

    def close(self) -> None:
        """Let another one write."""
        with _guard:
            if self._open is None or os.getpid() != self.pid:
                return
            with contextlib.suppress(OSError):
                self.file.unlink()
            self._open.close()
            if sys.platform == "win32":  # which removes no open file
                with contextlib.suppress(OSError):
                    self.file.unlink()
            self._open = None
            _own.pop(str(self.file), None)

    def __enter__(self) -> OnlyWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def only_writer(path: str | Path | None) -> AbstractContextManager[OnlyWriter | None]:
    """An `OnlyWriter` for a `with` statement; nothing for no file."""
    return nullcontext() if path is None else OnlyWriter(path)


def _this_process() -> str:
    import socket

    words = sys.argv or [""]
    command = shlex.join([os.path.basename(words[0]), *words[1:]])
    who = {
        "lock": MARK,
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "command": command[:COMMAND] + "…" * (len(command) > COMMAND),
    }
    return json.dumps(who, separators=(",", ":"))


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, PLACE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, PLACE)
