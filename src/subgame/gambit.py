"""Gambit's files by the short name: everything in `subgame.interop.gambit`."""

from __future__ import annotations

from subgame.interop.gambit import *  # noqa: F403
from subgame.interop.gambit import __all__ as __all__
