"""`njit` for our kernels: Numba's, with a cache that cannot fail.

Where no cache can be written (another user's installation, no home folder) a temporary folder is
used, and a cache that cannot be read (cut short, or of classes that have been renamed) is emptied.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import FunctionCache, NullCache

from subgame.engines.numba.first_use import LOGGER, NO_CACHE, private_folder, tell

if TYPE_CHECKING:
    from numba.core.compiler import CompileResult
    from numba.core.cpu import CPUContext
    from numba.core.typing.templates import Signature


@cache
def watch() -> None:
    """Call `tell` when Numba starts to compile one of our kernels."""
    if multiprocessing.parent_process() is not None:
        return
    from numba.core import event

    class Tell(event.Listener):
        def on_start(self, event: event.Event) -> None:
            if str(event.data["dispatcher"].py_func.__module__).startswith("subgame."):
                tell()

        def on_end(self, event: event.Event) -> None:
            pass

    event.register("numba:compile", Tell())


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

    def load_overload(self, sig: Signature, target_context: CPUContext) -> CompileResult | None:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling may fail in any way
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Signature, data: CompileResult) -> None:
        with contextlib.suppress(OSError):  # a full disk, or a folder that is gone
            super().save_overload(sig, data)


def _cache(function: Callable[..., object]) -> LenientCache | NullCache:
    """The cache of a function, in a temporary folder if there is no other."""
    with contextlib.suppress(RuntimeError):  # "no locator available"
        return LenientCache(function)
    folder = private_folder()
    if folder is None:
        return NullCache()
    LOGGER.warning(NO_CACHE, folder)
    config: Any = numba.config
    config.CACHE_DIR = str(folder)  # for the functions that follow, too
    return LenientCache(function)
