"""`InfosetIndex`: the infoset of a name on a hold'em tree, without a list of all names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from subgame.tree.ranges.tree import RangeSide


class InfosetIndex(Mapping[str, int]):
    """From an infoset's name to its number. A tree has millions, so a name is taken apart instead.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA", "KK"), "river: 1x a"))
    >>> tree.players[1].index["KsKh | Qs Jh 2h 8d 3c | r100"] >= 0
    True
    >>> "KsKh | Qs Jh 2h 8d 3c | r1" in tree.players[1].index
    False
    """

    def __init__(self, side: RangeSide) -> None:
        self.side = side

    @cached_property
    def _boards(self) -> dict[str, int]:
        """The number of a board by the names of its cards."""
        side = self.side
        names = np.array([side.units.deck.card_name(c) for c in range(side.units.deck.size)])
        boards = (cards for each in side.units.dealt for cards in names[each.cards].tolist())
        return {" ".join(cards): u for u, cards in enumerate(boards)}

    @cached_property
    def _decisions(self) -> list[dict[str, int]]:
        """[street] the number of a decision by its betting."""
        states = [street.states[self.side.player] for street in self.side.streets]
        return [{str(state): j for j, state in enumerate(each)} for each in states]

    @cached_property
    def _hands(self) -> dict[str, int]:
        deck = self.side.units.deck
        return {deck.hand_name(hand): hand for hand in range(deck.num_hands)}

    def __getitem__(self, name: str) -> int:
        parts = str(name).split(" | ", 2)
        if len(parts) != 3:
            raise KeyError(name)
        held, board, betting = parts
        side, u, hand = self.side, self._boards[board], self._hands[held]
        j = self._decisions[int(side.units.boards.street[u])][betting]
        at = np.flatnonzero(side.units[u].held(side.player)[0] == hand)
        if not len(at):
            raise KeyError(name)
        return side.number(u, j, int(at[0]))

    def __len__(self) -> int:
        return len(self.side.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.side.names)
