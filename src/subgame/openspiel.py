"""OpenSpiel's games and policies by the short name: everything in `subgame.interop.openspiel`."""

from __future__ import annotations

from subgame.interop.openspiel import *  # noqa: F403
from subgame.interop.openspiel import __all__ as __all__
