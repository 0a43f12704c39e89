"""Packages that are verbs: ``sg.refine(...)`` calls, and ``import subgame.refine.gadgets`` imports.

A package and a function of the same name would hide one another. So the package itself is called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def callable_package(name: str, module: str, function: str) -> None:
    """Have the package `name` call a function of a module, which is imported when needed."""

    class Verb(ModuleType):
        @property
        def __wrapped__(self) -> Any:
            return getattr(import_module(module), function)

        __doc__: Any = property(lambda self: self.__wrapped__.__doc__)

        def __call__(self, *args: Any, **options: Any) -> Any:
            return self.__wrapped__(*args, **options)

    sys.modules[name].__class__ = Verb
