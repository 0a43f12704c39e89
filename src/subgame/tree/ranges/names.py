"""`InfosetIndex`: the infoset of a name on a hold'em tree, without a list of all names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from subgame.tree.ranges.boards import Seat
from subgame.tree.ranges.find import Finder, board_key


class InfosetIndex(Mapping[str, int]):
    """From an infoset's name to its number. A tree has millions, so a name is taken apart instead.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA", "KK"), "river: 1x a"))
    >>> tree.players[1].index["KsKh | Qs Jh 2h 8d 3c | r100"] >= 0
    True
    >>> "KsKh | Qs Jh 2h 8d 3c | r1" in tree.players[1].index
    False
    """

    def __init__(self, side: Seat, finder: Finder) -> None:
        self.side, self.finder = side, finder

    def __getitem__(self, name: str) -> int:
        side, finder = self.side, self.finder
        hand, cards, line = finder.parse(str(name))
        u = finder.boards[board_key(cards)]
        j = finder.decisions[int(side.units.boards.street[u])][line]
        at = np.flatnonzero(side.units[u].held(side.player)[0] == hand)
        result = side.number(u, j, int(at[0])) if len(at) else -1
        if result < 0 or side.name(result) != name:  # the same board, but written in another order
            raise KeyError(name)
        return result

    def __len__(self) -> int:
        return len(self.side.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.side.names)
