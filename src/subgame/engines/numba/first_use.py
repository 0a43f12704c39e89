"""What happens when kernels are compiled for the first time: a note, and a second process.

Nothing here imports Numba. Kernels are compiled once per machine, for some seconds. The note is a
warning of the logger ``subgame``, which Python shows on stderr by default;
``logging.getLogger("subgame").setLevel("ERROR")`` turns it off. It appears at most once per
process, only if one of our kernels is not in the cache, and never in worker processes.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

LOGGER = logging.getLogger("subgame")
NOTE = "Compiling kernels for this machine, once; later runs start at once."
NO_CACHE = (
    "The cache of compiled kernels cannot be written, so they are kept in %s; set NUMBA_CACHE_DIR "
    "to choose another folder."
)
_told = False
_helpers: list[Helper] = []


def tell() -> None:
    """Log `NOTE`, once, and start the helpers: one of our kernels is about to be compiled."""
    import multiprocessing

    global _told
    if multiprocessing.parent_process() is not None:
        return
    for helper in _helpers:
        helper.start()
    if not _told:
        _told = True
        LOGGER.warning(NOTE)


class Helper:
    """A second process that compiles other kernels than this one, if any must be compiled.

    Numba compiles one kernel at a time in a process, and keeps the kernels on disk, where this
    process finds them after `wait`.
    """

    def __init__(self, code: str) -> None:
        """`code` is the Python code that uses the kernels."""
        self.code, self._process = code, None
        _helpers.append(self)

    _process: subprocess.Popen[bytes] | None

    def start(self) -> None:
        """Start, at the first kernel that is compiled; not where there is only one core."""
        import subprocess

        if self._process is None and (os.cpu_count() or 1) > 1:
            command = [sys.executable, "-c", self.code]
            quiet = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)

    def wait(self) -> None:
        """Wait for the kernels that it compiles. If it fails, this process compiles them."""
        _helpers.remove(self)
        if self._process is not None:
            self._process.wait()


def private_folder(*, make: bool = True) -> Path | None:
    """A temporary folder of this user alone, as we run what we find there; None if none."""
    import tempfile

    own = getattr(os, "getuid", lambda: 0)()
    try:
        folder = Path(tempfile.gettempdir()) / f"subgame-{own}"
        if make:
            folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if os.name == "posix" and (status.st_uid, stat.S_IMODE(status.st_mode)) != (own, 0o700):
            return Path(tempfile.mkdtemp(prefix="subgame-")) if make else None
        return folder
    except OSError:
        return None


def load_numba() -> None:
    """Import Numba without SciPy's linear algebra, which our kernels do not use.

    It would take a fifth of a second. For programs of our own only: kernels of others in the same
    process could not call ``np.dot``.
    """
    if "numba" in sys.modules or "scipy.linalg" in sys.modules:
        return
    modules: dict[str, Any] = sys.modules
    modules["scipy.linalg"] = None  # an import of it fails, which Numba allows for
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del modules["scipy.linalg"]
