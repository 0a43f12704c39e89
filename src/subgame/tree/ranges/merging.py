"""Trees with hands merged by suit symmetry, compiled again with suits distinguished."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.isomorphism import card_permutations
from subgame.tree.parts import embed, restrict
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

Ints = NDArray[np.int64]


class Unmerged(NamedTuple):
    """A tree with every hand for itself, and the merged tree's sequence for each of its own."""

    tree: RangeTree
    merged: RangeTree
    where: tuple[Ints, Ints] | None  # [q] merged tree's sequence, -1 in padding; None: same tree
    slots: tuple[Ints, Ints]  # [s] the merged tree's root infoset for each of this tree's

    def spread(self, p: int, weights: NDArray[Any]) -> NDArray[Any]:
        """[q] numbers of this tree, from those of the merged tree."""
        if self.where is None:
            return weights
        return restrict(weights, self.where[p], elsewhere=0.0)

    def gather(self, p: int, weights: NDArray[Any]) -> NDArray[Any]:
        """[q] numbers of the merged tree, from those of one hand out of each merged class."""
        if self.where is None:
            return weights
        out = np.zeros(self.merged.stored(p), dtype=weights.dtype)
        embed(weights, self.where[p], out)
        return out


def unmerged(tree: RangeTree) -> Unmerged:
    """The tree with every hand for itself; the same tree if no hands are merged in it."""
    if not tree.merged:
        one, two = (np.arange(len(side.slots)) for side in tree.players)
        return Unmerged(tree, tree, None, (one, two))
    return _compiled_again(tree)


def _compiled_again(merged: RangeTree) -> Unmerged:
    """Compile a merged tree's game again, with every hand for itself."""
    plain = compile_range_tree(merged.holdem)
    names = [{name: s for s, name in enumerate(side.slots)} for side in merged.players]
    slots = [np.array([names[p][name] for name in plain.players[p].slots]) for p in (0, 1)]
    found = {board.cards: u for u, board in enumerate(merged.units)}
    where = [np.full(plain.stored(p), -1, dtype=np.int64) for p in (0, 1)]
    for u, board in enumerate(plain.units):
        k, moved = _representative(merged, found, board.cards)
        for p in (0, 1):
            low, high = moved[plain.holdem.deck.hands[board.hands[p]]].T
            hands = merged.units[k].hands[p]
            place = np.full(plain.holdem.deck.num_hands, -1)
            place[hands] = np.arange(len(hands))
            rows = place[plain.holdem.deck.hand_table[low, high]]
            mine, yours = plain.players[p], merged.players[p]
            for j in range(len(plain.streets[board.street].states[p])):
                where[p][mine.cells(u, j)] = yours.cells(k, j)[rows]
    return Unmerged(plain, merged, (where[0], where[1]), (slots[0], slots[1]))


def _representative(
    merged: RangeTree, found: dict[tuple[int, ...], int], cards: tuple[int, ...]
) -> tuple[int, Ints]:
    """The board that represents a board, and [card] the card that each card becomes there.

    First single cards are exchanged for the equivalent cards that the merged tree deals, then whole
    suits are permuted.
    """
    units, deck = merged.units, merged.holdem.deck
    same, first = units.cards.same, len(units[0].cards)
    moved, now = np.arange(deck.size), list(cards[:first])
    for card in cards[first:]:
        here = int(moved[card])
        there = max(c for c in np.flatnonzero(same == same[here]).tolist() if c not in now)
        swap = np.arange(deck.size)
        swap[[here, there]] = there, here
        moved = swap[moved]
        now.append(there)
    for suits in card_permutations(deck)[units[0].symmetries]:
        permuted = (*now[:first], *suits[now[first:]].tolist())
        if permuted in found:
            return found[permuted], suits[moved]
    raise AssertionError(f"The tree has no board for the cards {deck.name(cards)}.")
