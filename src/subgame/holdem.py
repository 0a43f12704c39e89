"""Hold'em by its short name: everything in `subgame.games.holdem`.

>>> from subgame.holdem import endgame
>>> endgame("Qs Jh 2h 8d 3c", pot=100, stacks=200).rules.pot
100
"""

from __future__ import annotations

from typing import Any

from subgame.games import holdem as _holdem
from subgame.games.holdem import *  # noqa: F403
from subgame.games.holdem import __all__ as __all__


def __getattr__(name: str) -> Any:
    """The modules of the package too, such as ``subgame.holdem.cards``."""
    return getattr(_holdem, name)
