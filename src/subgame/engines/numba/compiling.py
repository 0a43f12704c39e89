"""What happens while Numba compiles kernels, once per machine: a note, and help from a second core.

The note is a warning of the logger ``subgame``, which Python shows on stderr by default;
``logging.getLogger("subgame").setLevel("ERROR")`` turns it off. It appears at most once per
process, only if one of our kernels is not in Numba's cache, and never in worker processes.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
from typing import Any

LOGGER = logging.getLogger("subgame")
NOTE = "Compiling kernels for this machine, once; later runs start at once."
_watching = False
_helpers: list[Helper] = []


def watch() -> None:
    """Log `NOTE` when Numba starts to compile the first of our kernels."""
    global _watching
    if _watching or multiprocessing.parent_process() is not None:
        return
    from numba.core import event

    _watching = True

    class Tell(event.Listener):
        told = False

        def on_start(self, event: Any) -> None:
            if not _ours(event.data["dispatcher"]):
                return
            for helper in _helpers:
                helper.start()
            if not self.told:
                self.told = True
                LOGGER.warning(NOTE)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Tell())  # type: ignore[no-untyped-call]


def _ours(dispatcher: Any) -> bool:
    return str(dispatcher.py_func.__module__).startswith("subgame.")


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
        if self._process is None and (os.cpu_count() or 1) > 1:
            command = [sys.executable, "-c", self.code]
            quiet = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)

    def wait(self) -> None:
        """Wait for the kernels that it compiles. If it fails, this process compiles them."""
        _helpers.remove(self)
        if self._process is not None:
            self._process.wait()


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
