"""A tree whose hands are merged, with every hand for itself: for engines that know no other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.isomorphism import card_permutations
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

Ints = NDArray[np.int64]


class Apart(NamedTuple):
    """The plain tree of a merged one, and how the two hang together, by player."""

    tree: RangeTree
    where: tuple[Ints, Ints]  # [q] the merged tree's number for each of the plain tree's; -1: none
    slots: tuple[Ints, Ints]  # [s] the merged tree's root slot for each of the plain tree's

    def spread(self, p: int, weights: NDArray[Any]) -> NDArray[Any]:
        """[q] of the plain tree, from weights of the merged one."""
        out: NDArray[Any] = np.where(self.where[p] >= 0, weights[self.where[p]], 0)
        return out

    def gather(self, p: int, weights: NDArray[Any], size: int) -> NDArray[Any]:
        """[q] of the merged tree, from weights of the plain one; one hand speaks for all."""
        out = np.zeros(size, dtype=weights.dtype)
        real = self.where[p] >= 0
        out[self.where[p][real]] = weights[real]
        return out


def apart(merged: RangeTree) -> Apart:
    """Compile a merged tree's game again, with every hand for itself."""
    plain = compile_range_tree(merged.holdem)
    names = [{name: s for s, name in enumerate(side.slots)} for side in merged.players]
    slots = [np.array([names[p][name] for name in plain.players[p].slots]) for p in (0, 1)]
    found = {unit.cards: u for u, unit in enumerate(merged.units)}
    where = [np.full(plain.stored(p), -1, dtype=np.int64) for p in (0, 1)]
    for u, unit in enumerate(plain.units):
        k, moved = _stand_in(merged, found, unit.cards)
        for p in (0, 1):
            low, high = moved[plain.holdem.deck.hands[unit.hands[p]]].T
            hands = merged.units[k].hands[p]
            place = np.full(plain.holdem.deck.num_hands, -1)
            place[hands] = np.arange(len(hands))
            rows = place[plain.holdem.deck.hand_table[low, high]]
            mine, yours = plain.players[p], merged.players[p]
            for j in range(len(plain.streets[unit.street].states[p])):
                where[p][mine.cells(u, j)] = yours.cells(k, j)[rows]
    return Apart(plain, (where[0], where[1]), (slots[0], slots[1]))


def _stand_in(
    merged: RangeTree, found: dict[tuple[int, ...], int], cards: tuple[int, ...]
) -> tuple[int, Ints]:
    """The unit that stands for a board, and [card] what each card is there.

    Cards change places with those that are dealt in their stead, then whole suits do.
    """
    units, deck = merged.units, merged.holdem.deck
    same, first = units.cards.same, len(units[0].cards)
    moved, board = np.arange(deck.size), list(cards[:first])
    for card in cards[first:]:
        here = int(moved[card])
        there = max(c for c in np.flatnonzero(same == same[here]).tolist() if c not in board)
        swap = np.arange(deck.size)
        swap[[here, there]] = there, here
        moved = swap[moved]
        board.append(there)
    for suits in card_permutations(deck)[units[0].symmetries]:
        now = (*board[:first], *suits[board[first:]].tolist())
        if now in found:
            return found[now], suits[moved]
    raise AssertionError(f"No board stands for {deck.name(cards)}.")
