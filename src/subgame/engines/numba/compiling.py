"""A note to the user while Numba compiles kernels, once per machine, for most of a minute.

The note is a warning of the logger ``subgame``, which Python shows on stderr by default;
``logging.getLogger("subgame").setLevel("ERROR")`` turns it off. It appears at most once per
process, only if one of our kernels is not in Numba's cache, and never in worker processes.
"""

from __future__ import annotations

import logging
import multiprocessing
from typing import Any

LOGGER = logging.getLogger("subgame")
NOTE = "Compiling kernels for this machine, once; later runs start at once."
_watching = False


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
            if not self.told and _ours(event.data["dispatcher"]):
                self.told = True
                LOGGER.warning(NOTE)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Tell())  # type: ignore[no-untyped-call]


def _ours(dispatcher: Any) -> bool:
    return str(dispatcher.py_func.__module__).startswith("subgame.")
