"""Packages that are verbs: ``sg.refine(...)`` calls, and ``import subgame.refine.gadgets`` imports.

A package and a function of the same name would hide one another. So the package itself is called.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def callable_package(name: str, function: Callable[..., Any]) -> None:
    """Have the package `name` call `function` when it is called."""
    package = sys.modules[name]

    class Verb(ModuleType):
        __doc__ = function.__doc__
        __signature__ = inspect.signature(function)
        __wrapped__ = function

        def __call__(self, *args: Any, **options: Any) -> Any:
            return function(*args, **options)

    package.__class__ = Verb
    package.__doc__ = function.__doc__
