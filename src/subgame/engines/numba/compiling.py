"""`njit` for our kernels, and what happens while they are compiled: a note, and a second process.

Compiled kernels are kept in Numba's cache. `njit` here is Numba's with a cache that cannot fail:
where no cache can be written (another user's installation, no home folder) a temporary folder is
used, and a cache that cannot be read (cut short, or of classes that have been renamed) is emptied.

Numba compiles once per machine, for most of a minute. The note is a warning of the logger
``subgame``, which Python shows on stderr by default;
``logging.getLogger("subgame").setLevel("ERROR")`` turns it off. It appears at most once per
process, only if one of our kernels is not in Numba's cache, and never in worker processes.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache

LOGGER = logging.getLogger("subgame")
NOTE = "Compiling kernels for this machine, once; later runs start at once."
NO_CACHE = (
    "Numba's cache cannot be written, so compiled kernels are kept in %s; set NUMBA_CACHE_DIR to "
    "choose another folder."
)
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

    event.register("numba:compile", Tell())


def _ours(dispatcher: Any) -> bool:
    return str(dispatcher.py_func.__module__).startswith("subgame.")


# The cache -----------------------------------------------------------------------------------
def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`; with ``cache=True`` by a cache that cannot fail."""
    cached = options.pop("cache", False)

    def made(function: Callable[..., Any]) -> Any:
        dispatcher: Any = numba.njit(**options)(function)
        if cached:
            dispatcher._cache = _cache(function)
        return dispatcher

    return made


class LenientCache(FunctionCache):
    """Numba's cache of a function. What cannot be read is compiled again."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling may fail in any way
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk, or a folder that is gone
            super().save_overload(sig, data)


def _cache(function: Callable[..., Any]) -> Any:
    """The cache of a function, in a temporary folder if there is no other."""
    with contextlib.suppress(RuntimeError):  # "no locator available"
        return LenientCache(function)
    folder = _private_folder()
    if folder is None:
        return NullCache()
    LOGGER.warning(NO_CACHE, folder)
    config: Any = numba.config
    config.CACHE_DIR = str(folder)  # for the functions that follow, too
    return LenientCache(function)


def _private_folder() -> Path | None:
    """A temporary folder of this user alone, as Numba runs what it finds there; None if none."""
    own = getattr(os, "getuid", lambda: 0)()
    try:
        folder = Path(tempfile.gettempdir()) / f"subgame-{own}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if os.name == "posix" and (found.st_uid, stat.S_IMODE(found.st_mode)) != (own, 0o700):
            return Path(tempfile.mkdtemp(prefix="subgame-"))
        return folder
    except OSError:
        return None


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
