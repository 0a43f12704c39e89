"""Packages that are verbs: ``sg.refine(...)`` calls, and ``import subgame.refine.gadgets`` imports.

A package and a function of the same name would hide one another. So the package itself is called.

    >>> import inspect
    >>> import subgame as sg
    >>> import subgame.refine.gadgets
    >>> list(inspect.signature(sg.refine).parameters)[:3], subgame.refine.gadgets.__name__
    (['tree', 'blueprint', 'at'], 'subgame.refine.gadgets')
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class Verb:
    # A package that calls a function of one of its modules, which is imported when needed. It
    # stands for the package in ``sys.modules``, with the package's own names. It is no module to
    # `inspect`, so that `help` shows the function. Its docstring is the function's.

    def __init__(self, package: ModuleType, module: str, function: str) -> None:
        vars(package)["_called"] = module, function
        self.__dict__ = vars(package)

    @property
    def __wrapped__(self) -> Any:
        module, function = vars(self)["_called"]
        return getattr(import_module(module), function)

    __doc__: Any = property(lambda self: self.__wrapped__.__doc__)

    def __get__(self, instance: object, owner: type | None = None) -> Verb:
        return self  # a routine to `inspect`: it is shown by signature and docstring

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.__wrapped__(*args, **options)

    def __repr__(self) -> str:
        return f"<function {vars(self)['__name__']}>"


def callable_package(name: str, module: str, function: str) -> None:
    """Have the package `name` call a function of a module."""
    modules: dict[str, Any] = sys.modules
    modules[name] = Verb(sys.modules[name], module, function)
