"""Finding infosets of a range tree by name, without a table of all names.

A tree keeps one of the boards that differ only by a permutation of suits. `Finder` takes any of
them, see `locate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.isomorphism import card_permutations
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.boards import BoardList, Seat

Ints = NDArray[np.int64]
Cards = tuple[int, ...]


class Finder:
    """Sequences of one player's infosets by hand, board and betting."""

    def __init__(self, side: Seat) -> None:
        self.side, deck = side, side.holdem.deck
        self.cards = {deck.card_name(card): card for card in range(deck.size)}
        self.hands = {deck.hand_name(hand): hand for hand in range(deck.num_hands)}
        self.boards: dict[Cards, int] = {}
        for s, street in enumerate(side.units.dealt):
            first = side.units.first[s]
            for k, cards in enumerate(street.cards.tolist()):
                self.boards[board_key(cards)] = first + k
        self.decisions = [
            {str(state): j for j, state in enumerate(street.states[side.player])}
            for street in side.streets
        ]
        self.kept: dict[Cards, tuple[int, Ints]] = {}

    def board(self, cards: Sequence[int]) -> tuple[int, Ints]:
        """The tree's board, and the index there of each hand on `cards`: [hand], -1 for no hand.

        It raises a KeyError if the tree has no such board.
        """
        key = board_key(cards)
        if key not in self.kept:
            u, hands = locate(self.side.units, cards)
            held, places = self.side.units[u].held(self.side.player)
            at = np.full(self.side.holdem.deck.num_hands, -1)
            at[held] = places
            self.kept[key] = u, at[hands]
        return self.kept[key]

    def cells(self, cards: Sequence[int], line: str) -> tuple[tuple[str, ...], Ints, int]:
        """The actions of a decision, each hand's first sequence [hand], and the stride of actions.

        A hand that the player cannot hold has -1.
        """
        u, at = self.board(cards)
        side, p = self.side, self.side.player
        s = int(side.units.boards.street[u])
        street = side.streets[s]
        j = self.decisions[s][line]
        edges = street.rows[p] - len(street.roots)
        start = int(side.units.boards.store_at[2 * u + p])
        start += (street.first[p][j] - len(street.roots)) * LANES
        first = np.where(at < 0, -1, start + at // LANES * (edges * LANES) + at % LANES)
        return street.actions[p][j], first, LANES

    def parse(self, name: str) -> tuple[int, Cards, str]:
        """Hand, board and betting that an infoset's name consists of, or a KeyError."""
        parts = name.split(" | ")
        if len(parts) != 3:
            raise KeyError(name)
        return self.hands[parts[0]], tuple(self.cards[card] for card in parts[1].split()), parts[2]

    def sequences(self, name: str) -> tuple[tuple[str, ...], Ints]:
        """The actions of an infoset and its sequences, or a KeyError."""
        hand, board, line = self.parse(name)
        actions, first, stride = self.cells(board, line)
        if first[hand] < 0:
            raise KeyError(name)
        return actions, first[hand] + stride * np.arange(len(actions))


def board_key(cards: Sequence[int]) -> Cards:
    """A board in one order: the flop's cards were dealt together."""
    return (*sorted(cards[:3]), *cards[3:])


def locate(units: BoardList, cards: Sequence[int]) -> tuple[int, Ints]:
    """The tree's board that stands for `cards`, and [hand] the hand that stands for each hand.

    Street by street it takes the permutation of suits, or the equivalent card, with which the cards
    dealt are among those of the tree. It raises a KeyError if the tree has no such board.
    """
    deck, same = units.deck, units.cards.same
    images, dealt = card_permutations(deck), units.dealt
    size, moved = dealt[0].cards.shape[1], np.arange(deck.size)
    top = (np.sort(dealt[0].cards, axis=1) == np.sort(np.array(cards[:size]))).all(1)
    if not top.any():
        raise KeyError(tuple(cards))
    u = int(np.flatnonzero(top)[0])
    for s in range(1, len(dealt)):
        if size == len(cards):
            break
        wide, here = dealt[s].cards.shape[1], units[u]
        first, last = (int(units.boards.child_at[u + k]) for k in (0, 1))
        below = dealt[s].cards[first - units.first[s] : last - units.first[s], size:]
        new, size = moved[list(cards[size:wide])], wide
        for k in here.symmetries.tolist():
            image = images[k][new]
            swap = np.arange(deck.size)
            if units.cards.merged:  # the highest of the equivalent cards that are left is dealt
                alike = np.flatnonzero(same == same[image[0]])
                high = int(np.setdiff1d(alike, here.cards)[-1])
                swap[[image[0], high]] = high, image[0]
            fits = (np.sort(below, axis=1) == np.sort(swap[image])).all(1)
            if fits.any():
                moved, u = swap[images[k][moved]], first + int(np.flatnonzero(fits)[0])
                break
        else:
            raise KeyError(tuple(cards))
    if size != len(cards):
        raise KeyError(tuple(cards))
    return u, deck.hand_table[moved[deck.hands[:, 0]], moved[deck.hands[:, 1]]].astype(np.int64)


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
