"""Lines over a socket, with deadlines: what both ends of the ACPC protocol use."""

from __future__ import annotations

import contextlib
import math
import socket
import time

from subgame.errors import SubgameError

END = "#END"
"""A comment of our own with which our dealer says that the match is over."""
LONGEST_LINE = 4096
"""Bytes of the longest line; a longer one is thrown away as a whole."""


class LostError(SubgameError):
    """The other end has closed the connection."""


class SilentError(SubgameError):
    """The other end has sent no line in time."""


class Wire:
    """A socket as lines of text. Bytes that are not ASCII are kept as escapes."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        with contextlib.suppress(OSError):  # not every kind of socket has this
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""
        self._throwing = False  # in a line that is too long

    def send(self, line: str) -> None:
        """Send a line."""
        try:
            self.socket.settimeout(10)
            self.socket.sendall(f"{line}\r\n".encode())
        except OSError as error:
            raise LostError(f"The connection is lost ({error.strerror or error}).") from None

    def read(self, deadline: float) -> str:
        """The next line, by this time of `time.monotonic`; comments are left out.

        A line that is too long is given as its beginning.
        """
        while True:
            line, ended, rest = self._read.partition(b"\n")
            if ended:
                self._read, thrown, self._throwing = rest, self._throwing, False
                if not thrown and not line.startswith((b"#", b";")):
                    return line.rstrip(b"\r").decode("ascii", "backslashreplace")
                if line.rstrip(b"\r") == END.encode():
                    return END
                continue
            if len(self._read) > LONGEST_LINE:
                start, self._read = self._read[:80], b""
                if not self._throwing:
                    self._throwing = True
                    return start.decode("ascii", "backslashreplace")
            self._read += self._receive(deadline)

    def _receive(self, deadline: float) -> bytes:
        left = deadline - time.monotonic()
        if left <= 0:
            raise SilentError("No line came in time.")
        try:
            self.socket.settimeout(None if left == math.inf else left)
            data = self.socket.recv(1 << 16)
        except TimeoutError:
            raise SilentError("No line came in time.") from None
        except OSError as error:
            raise LostError(f"The connection is lost ({error.strerror or error}).") from None
        if not data:
            raise LostError("The connection was closed.")
        return data

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()
