"""`np`: NumPy, which is imported when something of it is first used.

The command line reads cards, ranges and bets before it needs an array, and NumPy takes longer to
import than all that. Modules that check what a user has typed have ``from subgame.lazy import np``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["np"]


class LazyModule(ModuleType):
    """A module that is imported when something of it is first used.

    >>> LazyModule("math").floor(2.5)
    2
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # the next use costs no more than with an import
        return value


if not TYPE_CHECKING:
    np = LazyModule("numpy")
