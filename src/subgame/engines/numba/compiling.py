"""A word while kernels are compiled, which Numba does once per machine and takes most of a minute.

It goes to the logger ``subgame`` as a warning, so that Python shows it on stderr unless told
otherwise: ``logging.getLogger("subgame").setLevel("ERROR")`` turns it off. It is said once per
process, only when a kernel of ours is not in Numba's cache, and never by worker processes.
"""

from __future__ import annotations

import logging
import multiprocessing
from typing import Any

LOGGER = logging.getLogger("subgame")
NOTE = "Compiling kernels for this machine, once; later runs start at once."
_watching = False


def watch() -> None:
    """Have `NOTE` logged when Numba starts to compile the first of our kernels."""
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
