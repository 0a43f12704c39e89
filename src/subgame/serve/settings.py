"""What a server is told when it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")
PORT = 8017


def default_data() -> Path:
    """Where jobs and results are kept: the user's folder for data."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "subgame"


@dataclass(frozen=True)
class Settings:
    """Where the server listens, where it keeps its files and what it allows.

    >>> Settings(Path("data"), host="192.168.1.5").hosts
    ('127.0.0.1', 'localhost', '::1', '192.168.1.5')
    """

    data: Path = field(default_factory=default_data)
    host: str = LOOPBACK[0]
    port: int = PORT
    allowed: tuple[str, ...] = ()
    """Further names under which the server may be asked for."""
    workers: int = max(1, (os.cpu_count() or 2) // 2)
    """Jobs that run at the same time."""
    queue: int = 100
    """Jobs that may wait."""
    memory_limit: str = "8GiB"
    """What one job may use at most."""
    seconds: float = 6 * 3600.0
    """How long one job may run at most."""
    upload: int = 256 * 2**20
    """Bytes of the largest solution that may be uploaded."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which the server may be asked for."""
        own = () if self.host in (*LOOPBACK, *EVERYWHERE) else (self.host,)
        return (*LOOPBACK, *own, *self.allowed)
