"""Poker with one hidden card each, in arrays: Leduc, its no-limit form, Rhode Island hold'em.

Betting does not depend on the cards, so it is read once from the game's states, with two deals: one
that player 0 wins and one that player 1 wins. Where both pay the same, somebody has folded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.games.arrays import OVER, Floats, GameArrays, Moves, Numbers, Rows
from subgame.games.base import CHANCE, TERMINAL, State


@dataclass(frozen=True)
class Deck:
    """The cards of a poker game. Chance deals a card to player 0, one to player 1, then the board.

    Cards are numbered in the order in which chance lists them.
    """

    names: tuple[str, ...]
    copies: int
    """How many there are of each card."""
    board: int
    """How many cards are dealt to the board."""
    strength: Callable[[Numbers], Numbers]
    """[k] how strong hands are, of cards [k, card]: the hidden one and the board."""
    winning: tuple[tuple[str, ...], tuple[str, ...]]
    """A deal that player 0 wins, and one that player 1 wins."""


class _Betting(NamedTuple):
    """What has been bet and how many cards were dealt: one of the betting's histories."""

    moves: Moves
    dealt: int
    path: int  # a number of the actions so far
    children: list[int]
    paid: tuple[float, float]  # to player 0 in either deal, where the game is over


class PokerArrays(GameArrays):
    """Columns: the cards dealt [k, card], counted from 1, 0 if not yet; and the betting [k].

    Axes: k = row, b = betting, m = list of moves.
    """

    def __init__(self, start: State, deck: Deck) -> None:
        self.deck, self.base = deck, len(deck.names) + 1
        bets = list[_Betting]()
        _follow(start, start, deck.winning, bets, 0, [0])
        self.dealt = np.array([bet.dealt for bet in bets])
        self.path = np.array([bet.path for bet in bets])
        self.paid = np.array([bet.paid for bet in bets])
        self.next = np.zeros((len(bets), max(len(bet.children) for bet in bets)), np.int32)
        for b, bet in enumerate(bets):
            self.next[b, : len(bet.children)] = bet.children
        acting = list(dict.fromkeys(bet.moves for bet in bets if bet.moves.player != CHANCE))
        left = _left(deck)
        self.lists = [OVER, *(moves for moves in acting if moves != OVER), *left.values()]
        number = {moves: m for m, moves in enumerate(self.lists)}
        self.acting = np.array([number.get(bet.moves, -1) for bet in bets])  # [b] -1: chance deals
        codes = np.array([self._code(np.array([cards])) for cards in left]).ravel()
        order = np.argsort(codes)
        self.codes, self.lists_of = codes[order], (len(self.lists) - len(left) + order)
        self.outcome = np.zeros((len(self.lists), len(deck.names)), np.int8)  # [m, place] the card
        place = {name: card for card, name in enumerate(deck.names, 1)}
        for m, moves in enumerate(self.lists):
            if moves.player == CHANCE:
                self.outcome[m, : len(moves.names)] = [place[name] for name in moves.names]

    def start(self) -> Rows:
        return np.zeros((1, 2 + self.deck.board), np.int8), np.zeros(1, np.int32)

    def moves(self, rows: Rows) -> Numbers:
        cards, bet = rows
        out = self.acting[bet]
        deals = np.flatnonzero(out < 0)
        out[deals] = self.lists_of[np.searchsorted(self.codes, self._code(cards[deals]))]
        return out

    def _code(self, cards: Numbers) -> NDArray[np.int64]:
        """[k] a number of the cards dealt, in any order."""
        return self._number(np.sort(cards, axis=1))

    def _number(self, cards: Numbers) -> NDArray[np.int64]:
        """[k] a number of cards [k, card] in their order."""
        return cards.astype(np.int64) @ self.base ** np.arange(cards.shape[1])

    def child(self, rows: Rows, action: Numbers) -> Rows:
        cards, bet = rows
        deals = np.flatnonzero(self.acting[bet] < 0)
        lists = self.moves((cards[deals], bet[deals]))
        cards[deals, self.dealt[bet[deals]]] = self.outcome[lists, action[deals]]
        place = action.copy()
        place[deals] = 0
        return cards, self.next[bet, place]

    def returns(self, rows: Rows) -> Floats:
        cards, bet = rows
        won, lost = self.paid[bet].T
        out = won.copy()
        shown = np.flatnonzero(won != lost)
        board = cards[shown, 2:]
        mine, yours = (
            self.deck.strength(np.column_stack([cards[shown, p], board]) - 1) for p in (0, 1)
        )
        pays = np.where(mine > yours, won[shown], lost[shown])
        out[shown] = np.where(mine == yours, 0.0, pays)
        return out

    def information_state(self, rows: Rows, player: int) -> Numbers:
        return self.public_state(rows) * self.base + rows[0][:, player]

    def public_state(self, rows: Rows) -> Numbers:
        cards, bet = rows
        return self.path[bet] * self.base**self.deck.board + self._number(cards[:, 2:])


def pair_or_high(suits: int, cards: Numbers) -> Numbers:
    """[k] Leduc's strength of hands, of cards [k, 2]: a pair beats any other, then the rank counts.

    >>> pair_or_high(2, np.array([[0, 1], [4, 1]]))
    array([100,   2])
    """
    hand, board = cards.T // suits
    return (hand == board) * 100 + hand


@lru_cache(maxsize=8)
def by_table(
    names: tuple[str, ...], strength: Callable[[tuple[str, ...]], object]
) -> Callable[[Numbers], Numbers]:
    """The strength of hands of three cards, as their place among all hands that there are.

    >>> by_table(("J", "Q"), lambda cards: cards.count("Q"))(np.array([[0, 0, 0], [1, 0, 1]]))
    array([0, 2])
    """
    values = [strength(cards) for cards in product(names, repeat=3)]
    place = {value: k for k, value in enumerate(sorted(set(values)))}
    table = np.array([place[value] for value in values])
    sizes = (len(names),) * 3
    return lambda cards: table[np.ravel_multi_index(tuple(cards.T), sizes)]


def _follow(
    one: State,
    two: State,
    deals: tuple[tuple[str, ...], tuple[str, ...]],
    bets: list[_Betting],
    dealt: int,
    paths: list[int],
) -> int:
    """Add the betting from here on, which is the same with both deals; the number of its start.

    The last of `paths` is the number of the actions so far.
    """
    player, number, children = one.current_player(), len(bets), list[int]()
    names = tuple(one.legal_actions()) if player >= 0 else ()
    paid = (one.returns()[0], two.returns()[0]) if player == TERMINAL else (0.0, 0.0)
    bets.append(_Betting(Moves(player, names), dealt, paths[-1], children, paid))
    if player == CHANCE:
        below = (one.child(deals[0][dealt]), two.child(deals[1][dealt]))
        children.append(_follow(*below, deals, bets, dealt + 1, paths))
    for name in names:
        more = [*paths, len(bets)]
        children.append(_follow(one.child(name), two.child(name), deals, bets, dealt, more))
    return number


def _left(deck: Deck) -> dict[tuple[int, ...], Moves]:
    """For the cards that may have been dealt, counted from 1 and filled up with 0: what is left."""
    out, size = dict[tuple[int, ...], Moves](), 2 + deck.board
    for count in range(size):
        for cards in combinations_with_replacement(range(1, len(deck.names) + 1), count):
            held = Counter(cards)
            if max(held.values(), default=0) > deck.copies:
                continue
            left = [(name, deck.copies - held[c]) for c, name in enumerate(deck.names, 1)]
            left = [(name, copies) for name, copies in left if copies]
            total = sum(copies for _, copies in left)
            names, probs = zip(*((name, copies / total) for name, copies in left), strict=True)
            out[(*cards, *(0,) * (size - count))] = Moves(CHANCE, names, probs)
    return out
